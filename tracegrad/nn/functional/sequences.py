"""Sums of embeddings, and the loss of labels whose places in a sequence are not known."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...control.scan import scan
from ...ops.places.along import index_add
from ...sizes import numel
from ...types import show
from .common import as_integers, known, reduced, reduction_of
from .dense import embedding

MODES = ("sum", "mean", "max")


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """The sum, mean or maximum of the rows of `weight` at each bag of integers: (bags, features)
    for an input (bags, length). An input that is a vector has bags which begin at `offsets` (with
    `include_last_offset` the last of these is its length); "max" of such bags is not supported.
    Entries that are `padding_idx` are left out, and so are bags of nothing (zeros).

    >>> import tracegrad as tg
    >>> table = tg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> tg.nn.functional.embedding_bag(tg.tensor([0, 2, 1]), table, tg.tensor([0, 2]), mode="sum")
    tensor([[6., 8.],
            [3., 4.]])
    """
    if mode not in MODES:
        raise ValueError(f"mode has to be one of sum, mean or max, not {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f'embedding_bag: per_sample_weights go with "sum", not {mode!r}')
    indices = as_integers("embedding_bag", input)
    if len(indices.shape) not in (1, 2) or (len(indices.shape) == 1) != (offsets is not None):
        raise ValueError(
            "embedding_bag: input has to be a matrix without offsets, or a vector with them, not "
            f"of shape {show(indices.shape)}"
        )
    found = embedding(indices, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    rows = weight.shape[0]
    present = (
        ops.ones_like(indices, dtype=bool)
        if padding_idx is None
        else indices != (padding_idx + rows * (padding_idx < 0))
    )
    if per_sample_weights is not None:
        found = found * ops.expand_dims(per_sample_weights, -1)
    if mode == "max":
        if offsets is not None:
            raise NotImplementedError('embedding_bag: "max" with offsets; give a matrix of bags')
        low = ops.where(ops.expand_dims(present, -1), found, -np.inf)
        most = ops.max(low, axis=1) if numel(indices.shape) else ops.sum(found, axis=1)
        return ops.where(ops.expand_dims(ops.any(present, axis=1), -1), most, 0.0)
    found = ops.where(ops.expand_dims(present, -1), found, 0.0)
    if offsets is None:
        total, count = ops.sum(found, axis=1), ops.sum(present, axis=1)
    else:
        starts = as_integers("embedding_bag", offsets)
        starts = starts[:-1] if include_last_offset else starts
        bags, places = starts.shape[0], ops.arange(indices.shape[0])
        bag = ops.searchsorted(starts, places, "right") - 1
        total = index_add(ops.zeros((bags, weight.shape[1]), found.dtype), 0, bag, found)
        count = index_add(ops.zeros((bags,), np.int64), 0, bag, ops.convert(present, np.int64))
    if mode == "sum":
        return total
    return total / ops.convert(ops.expand_dims(ops.maximum(count, 1), -1), total.dtype)


def _labels(targets: Any, lengths: Any, batch: int) -> Any:
    """The labels of each sequence in a row, whatever stands behind them; `targets` may be all of
    them in one vector."""
    targets = as_integers("ctc_loss", targets)
    if len(targets.shape) == 2:
        return targets
    if batch == 1:
        return ops.reshape(targets, (1, -1))
    sizes = known(lengths)
    if sizes is None:
        raise NotImplementedError(
            "ctc_loss: target_lengths of targets in one vector have to be known; give the targets "
            "as a matrix (sequences, labels)"
        )
    starts = np.cumsum(sizes) - sizes
    places = starts[:, None] + np.arange(int(sizes.max(initial=0)))
    return ops.take(targets, np.minimum(places, max(int(targets.shape[0]) - 1, 0)), 0)


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """Minus the logarithm of the probability that a sequence of labels, each of them repeated or
    followed by blanks as often as it likes, is what was said (Graves et al. 2006). log_probs (time,
    batch, classes) or (time, classes), as of log_softmax; targets (batch, labels), or all labels in
    a vector. "mean" divides each loss by its number of labels first. Where the labels do not fit
    into the time it is infinite, or 0 with `zero_infinity`.

    Gradients are those of the formula; torch's are those after a log_softmax, of which each row
    sums to 0. Behind a log_softmax both are the same.

    >>> import tracegrad as tg
    >>> even = tg.log_softmax(tg.zeros(3, 1, 2), -1)
    >>> tg.nn.functional.ctc_loss(even, tg.tensor([[1]]), [3], [1], reduction="sum")
    tensor(0.2877)
    """
    kind = reduction_of(None, None, reduction)
    single = len(log_probs.shape) == 2
    logs = ops.expand_dims(log_probs, 1) if single else log_probs
    time, batch, classes = logs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank is {blank}; it must be a class, from 0 to {classes}")
    times, counts = (
        ops.reshape(as_integers("ctc_loss", lengths), -1)
        for lengths in (input_lengths, target_lengths)
    )
    labels = _labels(targets, counts, batch)
    width = 2 * labels.shape[1] + 1
    # A blank before, between and after the labels.
    between = ops.reshape(ops.stack([labels * 0 + blank, labels], 2), (batch, width - 1))
    states = ops.concatenate([between, ops.full((batch, 1), blank, between.dtype)], 1)
    said = ops.take_along_axis(
        logs, ops.broadcast_to(ops.expand_dims(states, 0), (time, batch, width)), 2
    )
    # From a label to the next one without a blank, where they differ.
    may_skip = ops.concatenate(
        [
            ops.zeros((batch, 2), bool),
            ops.logical_and(states[:, 2:] != states[:, :-2], states[:, 2:] != blank),
        ],
        1,
    )
    never = ops.full((batch, 2), -np.inf, logs.dtype)
    first = ops.arange(width) < 2
    start = ops.where(first, said[0], -np.inf)

    def step(before: Any, now: Any) -> Any:
        said, moment = now
        shifted = ops.concatenate([never, before], 1)
        skipped = ops.where(may_skip, shifted[:, :-2], -np.inf)
        after = ops.logsumexp(ops.stack([before, shifted[:, 1:-1], skipped], 0), 0) + said
        after = ops.where(ops.expand_dims(moment < times, 1), after, before)
        return after, ()

    last, _ = scan(step, start, (said[1:], ops.arange(1, time)))
    ends = ops.stack([2 * counts, ops.maximum(2 * counts - 1, 0)], 1)
    two = ops.take_along_axis(last, ends, 1)
    one_end = ops.logical_and(counts[:, None] == 0, ops.arange(2) == 1)
    losses = -ops.logsumexp(ops.where(one_end, -np.inf, two), 1)
    if zero_infinity:
        losses = ops.where(ops.isinf(losses), 0.0, losses)
    if kind == "mean":
        losses = losses / ops.convert(ops.maximum(counts, 1), losses.dtype)
    if single and kind == "none":
        return losses[0]
    return reduced(losses, kind)


__all__ = ["ctc_loss", "embedding_bag"]
