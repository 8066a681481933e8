"""Linear maps, lookups, distances and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import ops
from ...ops.define import shape_of
from ...ops.totals.statistics import stop_gradient
from ...sizes import same
from ...types import broadcast_shapes, show
from .common import as_integers, in_place, known, titled


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias` for an input (..., in) and a weight (out, in) or (in).

    >>> import tracegrad as tg
    >>> tg.nn.functional.linear(tg.ones(3), tg.ones(2, 3), tg.tensor([0.0, 1.0]))
    tensor([3., 4.])
    """
    if (
        len(weight.shape) > 2
        or not weight.shape
        or not input.shape
        or not same(input.shape[-1], weight.shape[-1])
    ):
        raise RuntimeError(
            f"linear: an input of shape {show(input.shape)} and a weight of shape "
            f"{show(weight.shape)} do not fit; the last axis of both has one entry "
            "for each input feature"
        )
    product = ops.matmul(input, ops.transpose(weight))
    return (
        titled(product, "Linear", input, weight)
        if bias is None
        else titled(ops.add(product, bias), "Addmm", product)
    )


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """`sum_ij input1[..., i] * weight[o, i, j] * input2[..., j] + bias[o]`."""
    if len(weight.shape) != 3:
        raise RuntimeError(
            f"bilinear: weight must have shape (out, in1, in2), not {show(weight.shape)}"
        )
    result = ops.einsum("...i,oij,...j->...o", input1, weight, input2)
    return result if bias is None else result + bias


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of `weight` (rows, features) at the integers of `input` (...): (..., features). Row
    `padding_idx` gets no gradient.

    An index that is negative or too large is an IndexError. `max_norm` and the options of sparse
    gradients are not supported.
    """
    if max_norm is not None or scale_grad_by_freq or sparse:
        raise NotImplementedError(
            "embedding: max_norm, scale_grad_by_freq and sparse are not supported; "
            "normalise the weight under no_grad instead"
        )
    if len(weight.shape) != 2:
        raise RuntimeError(f"embedding: 'weight' must be 2-D, not of shape {show(weight.shape)}")
    indices = as_integers("embedding", input)
    rows = weight.shape[0]
    numbers = known(indices)
    if (
        numbers is not None
        and isinstance(rows, int)
        and numbers.size
        and not (numbers.min() >= 0 and numbers.max() < rows)
    ):
        wrong = numbers[(numbers < 0) | (numbers >= rows)].flat[0]
        raise IndexError(
            f"index out of range in embedding: {wrong}, where the weight has {rows} rows"
        )
    found = ops.take(weight, ops.where(indices < 0, rows, indices), 0)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise ValueError(
                f"Padding_idx must be within num_embeddings: {padding_idx} is not, for {rows} rows"
            )
        padding = ops.expand_dims(
            indices == (padding_idx + rows * (padding_idx < 0)), len(indices.shape)
        )
        found = ops.where(padding, stop_gradient(found), found)
    return titled(found, "Embedding", weight)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Integers (...) as rows (..., num_classes) with a 1 at their place; -1 stands for the largest
    of them plus 1 (known values only).

    >>> import tracegrad as tg
    >>> tg.nn.functional.one_hot(tg.tensor([1, 0]), 3)
    tensor([[0, 1, 0],
            [1, 0, 0]])
    """
    indices = as_integers("one_hot", tensor)
    numbers = known(indices)
    if numbers is None:
        if num_classes == -1:
            raise RuntimeError(
                "one_hot: inside jit, num_classes must be given, because the size of the "
                "result depends on it"
            )
    else:
        if numbers.size and numbers.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            if not numbers.size:
                raise RuntimeError("Can not infer total number of classes from empty tensor.")
            num_classes = int(numbers.max()) + 1
        elif numbers.size and numbers.max() >= num_classes:
            raise RuntimeError(
                "Class values must be smaller than num_classes: "
                f"{numbers.max()} is not smaller than {num_classes}."
            )
    return ops.one_hot(indices, num_classes, np.int64)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """`input / max(norm, eps)`, with p-norms along `dim`."""
    return input / _at_least(ops.vector_norm(input, p, dim, keepdims=True), eps)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along `dim`; norms count as at least `eps`.

    >>> import tracegrad as tg
    >>> tg.nn.functional.cosine_similarity(tg.tensor([1.0, 0.0]), tg.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    # `dim` is an axis of what they make together.
    shape = broadcast_shapes(shape_of(x1), shape_of(x2))
    first, second = (
        x / _at_least(ops.vector_norm(x, 2, dim, keepdims=True), eps)
        for x in (ops.broadcast_to(x, shape) for x in (x1, x2))
    )
    return ops.sum(first * second, axis=dim)


def _at_least(x: Any, least: float) -> Any:
    return ops.where(x < least, least, x)  # NaN stays


def _probability(name: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: the probability p has to be between 0 and 1, but it is {p}")


def _dropped(x: Any, p: float, shape: Any) -> Any:
    if p == 1.0:
        return x * 0.0
    # Drawn as float32, which has enough steps for a probability and takes half the time.
    kept = ops.random.DEFAULT.random(shape, np.float32) >= p
    return titled(ops.where(kept, x * (1.0 / (1.0 - p)), 0.0), "Dropout", x)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """While training each element is 0 with probability `p` and else divided by `1 - p`; afterwards
    x itself.

    Numbers come from the library's generator (`tg.manual_seed`), the same ones eagerly and
    compiled.
    """
    _probability("dropout", p)
    if not training or p == 0.0:
        return input
    return in_place(lambda x: _dropped(x, p, x.shape), input, inplace)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """As `dropout`, of whole channels: of the last axis of (N, C, L) or (C, L)."""
    return _dropout_of_channels(input, p, training, inplace, 1)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """As `dropout`, of whole channels: of the last two axes of (N, C, H, W) or (C, H, W)."""
    return _dropout_of_channels(input, p, training, inplace, 2)


def _dropout_of_channels(input: Any, p: float, training: bool, inplace: bool, axes: int) -> Any:
    _probability("dropout", p)
    if not training or p == 0.0:
        return input
    return in_place(lambda x: _dropped(x, p, (*x.shape[:-axes], *[1] * axes)), input, inplace)


__all__ = [
    "bilinear",
    "cosine_similarity",
    "dropout",
    "dropout1d",
    "dropout2d",
    "embedding",
    "linear",
    "normalize",
    "one_hot",
]
