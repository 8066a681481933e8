"""Losses, with torch's signatures, reductions and rules for weights and ignored targets."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import ops
from ...sizes import same, same_shape
from ...types import show
from .common import alike, known, reduced, reduction_of, titled

# --- differences ----------------------------------------------------------------------------------


def _weighted(losses: Any, weight: Any, reduction: str) -> Any:
    """Losses by element with weights; their mean is divided by the sum of the weights."""
    if weight is None:
        return reduced(losses, reduction)
    total = losses * weight
    return (
        ops.sum(total) / ops.sum(ops.broadcast_to(weight, losses.shape))
        if reduction == "mean"
        else reduced(total, reduction)
    )


def mse_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The squares of the differences, their mean or their sum.

    >>> import tracegrad as tg
    >>> tg.nn.functional.mse_loss(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 4.0]))
    tensor(2.)
    """
    kind = reduction_of(size_average, reduce, reduction)
    alike("mse_loss", input, target)
    return titled(_weighted(ops.square(input - target), weight, kind), "MseLoss", input)


def l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """The absolute differences, their mean or their sum."""
    kind = reduction_of(size_average, reduce, reduction)
    alike("l1_loss", input, target)
    return _weighted(ops.absolute(input - target), weight, kind)


def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """`0.5 * d**2 / beta` where |d| < beta, else `|d| - 0.5 * beta`."""
    kind = reduction_of(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError(
            f"smooth_l1_loss does not support negative values for beta, which is {beta}"
        )
    alike("smooth_l1_loss", input, target)
    if beta == 0:
        return reduced(ops.absolute(input - target), kind)
    d = input - target
    size = ops.absolute(d)
    return titled(
        reduced(ops.where(size < beta, d * d * (0.5 / beta), size - 0.5 * beta), kind),
        "SmoothL1Loss",
        d,
    )


def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Any:
    """`0.5 * d**2` where |d| <= delta, else `delta * (|d| - 0.5 * delta)`."""
    kind = reduction_of(None, None, reduction)
    if delta <= 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta, which is {delta}"
        )
    alike("huber_loss", input, target)
    d = input - target
    size = ops.absolute(d)
    return titled(
        _weighted(
            ops.where(size <= delta, 0.5 * d * d, delta * (size - 0.5 * delta)), weight, kind
        ),
        "HuberLoss",
        d,
    )


# --- classes --------------------------------------------------------------------------------------


def _class_axis(name: str, input: Any) -> int:
    if not input.shape:
        raise ValueError(f"{name}: the input needs an axis of classes, but it has no axes")
    return 0 if len(input.shape) == 1 else 1


def _checked_targets(name: str, input: Any, target: Any, axis: int, ignore_index: int) -> None:
    """Errors for targets that are no class indices of the input."""
    shape = input.shape
    expected = (*shape[:axis], *shape[axis + 1 :])
    if len(shape) > 1 and target.shape and not same(shape[0], target.shape[0]):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size "
            f"({target.shape[0]})."
        )
    if not same_shape(expected, target.shape):
        raise RuntimeError(
            f"{name}: for an input of shape {show(shape)} the class indices must have shape "
            f"{show(expected)}, not {show(target.shape)}"
        )
    if target.dtype.kind not in "iu":
        raise RuntimeError(
            f"{name}: class indices must be integers, but the target's dtype is {target.dtype}. "
            "Convert it with .long()."
        )
    numbers, classes = known(target), shape[axis]
    if numbers is not None and isinstance(classes, int):
        wrong = numbers[((numbers < 0) | (numbers >= classes)) & (numbers != ignore_index)]
        if wrong.size:
            raise IndexError(
                f"Target {wrong.flat[0]} is out of bounds: there are {classes} classes."
            )


def _class_weight(name: str, weight: Any, classes: Any) -> None:
    if weight is not None and (len(weight.shape) != 1 or not same(weight.shape[0], classes)):
        raise RuntimeError(
            f"{name}: weight must have one number for each of the {classes} classes, "
            f"but its shape is {show(weight.shape)}"
        )


def _picked(values: Any, target: Any, axis: int, weight: Any, ignore_index: int) -> tuple[Any, Any]:
    """`values` at the target's classes, and the targets' weights: 0 for those that are ignored."""
    classes = values.shape[axis]
    counted = ops.not_equal(target, ignore_index)
    # A negative target must not count from the end: as a class that does not exist it is refused,
    # in compiled code as well.
    place = ops.where(counted, ops.where(target < 0, classes, target), 0)
    found = ops.squeeze(ops.take_along_axis(values, ops.expand_dims(place, axis), axis), axis)
    each = (
        ops.convert(counted, values.dtype)
        if weight is None
        else ops.where(counted, ops.take(weight, place, 0), 0.0)
    )
    return ops.where(counted, found, 0.0), each


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Minus the log-probability (C), (N, C) or (N, C, d1, ...) of the target class; the mean is
    over the weights of the targets.

    Targets equal to `ignore_index` count for nothing; others outside 0..C-1 are an IndexError.
    """
    kind = reduction_of(size_average, reduce, reduction)
    axis = _class_axis("nll_loss", input)
    _checked_targets("nll_loss", input, target, axis, ignore_index)
    _class_weight("nll_loss", weight, input.shape[axis])
    found, each = _picked(input, target, axis, weight, ignore_index)
    return titled(_weighted_mean(-found * each, each, kind), "NllLoss", input)


def _weighted_mean(losses: Any, weights: Any, reduction: str) -> Any:
    return ops.sum(losses) / ops.sum(weights) if reduction == "mean" else reduced(losses, reduction)


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """Cross-entropy of unnormalised log-probabilities (C), (N, C) or (N, C, d1, ...).

    Targets are class indices (integers, one axis fewer), or probabilities of the input's shape.
    `weight` has one number a class; targets equal to `ignore_index` count for nothing;
    `label_smoothing` mixes the target with the uniform distribution.

    >>> import tracegrad as tg
    >>> tg.nn.functional.cross_entropy(tg.tensor([[0.0, 0.0]]), tg.tensor([1]))
    tensor(0.6931)
    """
    kind = reduction_of(size_average, reduce, reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = _class_axis("cross_entropy", input)
    classes = input.shape[axis]
    _class_weight("cross_entropy", weight, classes)
    across = (
        None
        if weight is None
        else ops.reshape(weight, (classes, *[1] * (len(input.shape) - axis - 1)))
    )
    if len(target.shape) == len(input.shape):
        return titled(
            _against_probabilities(input, target, across, axis, kind, label_smoothing),
            "CrossEntropy",
            input,
        )
    _checked_targets("cross_entropy", input, target, axis, ignore_index)
    log_p = ops.log_softmax(input, axis=axis)
    found, each = _picked(log_p, target, axis, weight, ignore_index)
    loss = _weighted_mean(-found * each, each, kind)
    if label_smoothing > 0.0:
        all_of = -ops.sum(log_p if across is None else log_p * across, axis=axis)
        all_of = ops.where(ops.not_equal(target, ignore_index), all_of, 0.0)
        smooth = _weighted_mean(all_of, each, kind)
        loss = (1.0 - label_smoothing) * loss + (label_smoothing / classes) * smooth
    return titled(loss, "NllLoss", input)


def _against_probabilities(
    input: Any, target: Any, weight: Any, axis: int, reduction: str, smoothing: float
) -> Any:
    if not same_shape(input.shape, target.shape):
        raise RuntimeError(
            "cross_entropy: probabilities as targets must have the input's shape "
            f"{show(input.shape)}, not {show(target.shape)}"
        )
    if target.dtype.kind != "f":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype}"
        )
    classes = input.shape[axis]
    if smoothing > 0.0:
        target = target * (1.0 - smoothing) + smoothing / classes
    terms = ops.log_softmax(input, axis=axis) * target
    losses = -ops.sum(terms if weight is None else terms * weight, axis=axis)
    return reduced(losses, reduction)


# --- probabilities --------------------------------------------------------------------------------

_LOWEST_LOG = -100.0


def _log(x: Any) -> Any:
    """log(x), at least -100; the slope at 0 is 1e12."""
    there = x > math.exp(_LOWEST_LOG)
    return ops.where(there, ops.log(ops.where(there, x, 1.0)), x * 1e12 + _LOWEST_LOG)


def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Cross-entropy of probabilities of a binary choice; logarithms are limited to -100, as in
    torch."""
    kind = reduction_of(size_average, reduce, reduction)
    if not same_shape(input.shape, target.shape):
        raise ValueError(
            f"binary_cross_entropy: the target's size {show(target.shape)} differs from the "
            f"input's size {show(input.shape)}. Give them the same size."
        )
    p = known(input)
    if p is not None and p.size and not (np.min(p) >= 0 and np.max(p) <= 1):
        raise RuntimeError(
            "all elements of input should be between 0 and 1; "
            "use binary_cross_entropy_with_logits for unbounded numbers"
        )
    losses = (target - 1.0) * _log(1.0 - input) - target * _log(input)
    return titled(
        reduced(losses if weight is None else losses * weight, kind), "BinaryCrossEntropy", input
    )


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:
    """`binary_cross_entropy(sigmoid(input), target)` without overflow; `pos_weight` multiplies the
    loss of positive targets.

    >>> import tracegrad as tg
    >>> tg.nn.functional.binary_cross_entropy_with_logits(tg.zeros(2), tg.ones(2))
    tensor(0.6931)
    """
    kind = reduction_of(size_average, reduce, reduction)
    if not same_shape(input.shape, target.shape):
        raise ValueError(
            f"Target size ({show(target.shape)}) must be the same as input size "
            f"({show(input.shape)})"
        )
    if pos_weight is None:
        losses = ops.softplus(input) - input * target
    else:
        losses = (1.0 - target) * input + ((pos_weight - 1.0) * target + 1.0) * ops.softplus(-input)
    return titled(
        reduced(losses if weight is None else losses * weight, kind),
        "BinaryCrossEntropyWithLogits",
        input,
    )


def kl_div(
    input: Any,
    target: Any,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """The divergence of `target` (probabilities, or their logarithms) from exp(input); "batchmean"
    divides the sum by the first size."""
    kind = reduction_of(size_average, reduce, reduction, ("none", "batchmean", "mean", "sum"))
    if kind == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size "
            "and the support size. 'batchmean' divides only by the batch size, "
            "and aligns with the KL math definition.",
            UserWarning,
            stacklevel=2,
        )
    losses = (
        ops.exp(target) * (target - input)
        if log_target
        else target * (ops.log(ops.where(ops.equal(target, 0), 1.0, target)) - input)
    )
    if kind == "batchmean":
        return ops.sum(losses) / input.shape[0] if input.shape else ops.sum(losses)
    return reduced(losses, kind)


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "mse_loss",
    "nll_loss",
    "smooth_l1_loss",
]
