"""Losses of distances, margins and distributions' parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from .activation import logsigmoid
from .common import as_integers, reduced, reduction_of


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Any:
    """The p-norms of `x1 - x2 + eps` along the last axis.

    >>> import tracegrad as tg
    >>> tg.nn.functional.pairwise_distance(tg.tensor([[3.0, 4.0]]), tg.zeros(1, 2), eps=0.0)
    tensor([5.])
    """
    return ops.vector_norm(x1 - x2 + eps, p, -1, keepdims=keepdim)


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """`max(0, -target * (input1 - input2) + margin)` for targets 1 and -1."""
    kind = reduction_of(size_average, reduce, reduction)
    return reduced(ops.relu(-target * (input1 - input2) + margin), kind)


def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The input where the target is 1, `max(0, margin - input)` where it is -1."""
    kind = reduction_of(size_average, reduce, reduction)
    below = ops.where(target == 1, 0.0, ops.relu(margin - input))
    return reduced(below + ops.where(target == -1, 0.0, input), kind)


def soft_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """`log(1 + exp(-target * input))` for targets 1 and -1, without overflow."""
    kind = reduction_of(size_average, reduce, reduction)
    return reduced(-logsigmoid(target * input), kind)


def cosine_embedding_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """1 minus the cosine of the angle between two vectors where the target is 1, `max(0, cosine -
    margin)` where it is -1."""
    kind = reduction_of(size_average, reduce, reduction)
    tiny = 1e-12
    product = ops.sum(input1 * input2, axis=-1)
    scale = (ops.sum(input1 * input1, axis=-1) + tiny) * (ops.sum(input2 * input2, axis=-1) + tiny)
    cosine = product / ops.sqrt(scale)
    losses = ops.where(target == 1, 1 - cosine, 0.0) + ops.where(
        target == -1, ops.relu(cosine - margin), 0.0
    )
    return reduced(losses, kind)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """`max(0, d(anchor, positive) - d(anchor, negative) + margin)`, with `swap` for the smaller of
    the negative's two distances."""
    kind = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return reduced(ops.relu(margin + near - far), kind)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """`triplet_margin_loss` of any distance (`pairwise_distance` where none is given)."""
    kind = reduction_of(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return reduced(ops.relu(margin + near - far), kind)


def multi_margin_loss(
    input: Any,
    target: Any,
    p: int = 1,
    margin: float = 1.0,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over the other classes of `max(0, margin - input[target] + input)**p`, times the
    weight of the target's class: for inputs (samples, classes) or (classes)."""
    kind = reduction_of(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    target = as_integers("multi_margin_loss", target)
    place = ops.expand_dims(target, -1)
    above = ops.relu(margin - ops.take_along_axis(input, place, -1) + input)
    above = above if p == 1 else above * above
    if weight is not None:
        above = above * ops.expand_dims(ops.take(weight, target, 0), -1)
    classes = input.shape[-1]
    others = ops.where(ops.arange(classes) == place, 0.0, above)
    return reduced(ops.sum(others, axis=-1) / classes, kind)


def multilabel_margin_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean of `max(0, 1 - input[j] + input[k])` over pairs of a class j that is meant and a
    class k that is not; `target` lists the classes that are meant, up to the first -1."""
    kind = reduction_of(size_average, reduce, reduction)
    target = as_integers("multilabel_margin_loss", target)
    classes = input.shape[-1]
    listed = ops.cumsum(ops.convert(target < 0, np.int64), -1) == 0
    hits = ops.expand_dims(target, -1) == ops.arange(classes)
    meant = ops.any(ops.logical_and(hits, ops.expand_dims(listed, -1)), axis=-2)
    wanted = ops.take_along_axis(input, ops.maximum(target, 0), -1)
    above = ops.relu(1 - ops.expand_dims(wanted, -1) + ops.expand_dims(input, -2))
    counts = ops.logical_and(ops.expand_dims(listed, -1), ops.expand_dims(~meant, -2))
    return reduced(ops.sum(ops.where(counts, above, 0.0), axis=(-2, -1)) / classes, kind)


def poisson_nll_loss(
    input: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Minus the logarithm of a Poisson probability without constants; `full` adds Stirling's
    formula for those of targets over 1."""
    kind = reduction_of(size_average, reduce, reduction)
    losses = ops.exp(input) - target * input if log_input else input - target * ops.log(input + eps)
    if full:
        safe = ops.where(target > 1, target, 1.0)
        stirling = safe * ops.log(safe) - safe + 0.5 * ops.log(2 * math.pi * safe)
        losses = losses + ops.where(target > 1, stirling, 0.0)
    return reduced(losses, kind)


def gaussian_nll_loss(
    input: Any,
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """`0.5 * (log(var) + (input - target)**2 / var)`, with `full` plus half the logarithm of 2 pi;
    `var` counts as at least `eps` (which is not differentiated)."""
    kind = reduction_of(None, None, reduction)
    if not hasattr(var, "shape"):
        var = ops.full_like(input, float(var))
    if len(var.shape) == len(input.shape) - 1:
        var = ops.expand_dims(var, -1)
    spread = var + ops.statistics.stop_gradient(ops.maximum(var, eps) - var)
    losses = 0.5 * (ops.log(spread) + ops.square(input - target) / spread)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, kind)


def multilabel_soft_margin_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The mean over classes (the last axis) of the binary cross entropies of logits."""
    kind = reduction_of(size_average, reduce, reduction)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    losses = losses if weight is None else losses * weight
    return reduced(ops.mean(losses, axis=-1), kind)


__all__ = [
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
