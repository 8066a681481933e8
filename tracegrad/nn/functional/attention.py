"""Attention: values averaged with weights that queries and keys decide."""

from __future__ import annotations

import math
from typing import Any

from ... import ops
from ...sizes import same
from ...types import show
from .common import titled
from .dense import dropout


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """`softmax(query @ key.T * scale + mask) @ value` for queries (..., L, E), keys (..., S, E) and
    values (..., S, V): (..., L, V).

    attn_mask   broadcast to (..., L, S): booleans, true where a query may look, or numbers that are
                added to the scores
    is_causal   query i looks at keys up to i
    scale       1 / sqrt(E) by default
    enable_gqa  queries have a multiple of the heads (axis -3) of keys and values

    >>> import tracegrad as tg
    >>> q = tg.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> tg.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)[0]
    tensor([1., 0.])
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = ops.repeat(key, times, -3), ops.repeat(value, times, -3)
    if not same(query.shape[-1], key.shape[-1]) or not same(key.shape[-2], value.shape[-2]):
        raise RuntimeError(
            f"scaled_dot_product_attention: queries {show(query.shape)}, "
            f"keys {show(key.shape)} and values {show(value.shape)} do not fit: "
            "queries and keys have one number of features, keys and values one number of places"
        )
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = ops.matmul(query * factor, ops.swapaxes(key, -1, -2))
    if is_causal:
        attn_mask = ops.tril(ops.full((query.shape[-2], key.shape[-2]), True))
    weights = _weights(scores, attn_mask)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return titled(ops.matmul(weights, value), "ScaledDotProductAttentionMath", query, key, value)


def _weights(scores: Any, mask: Any) -> Any:
    """The softmax of scores under a mask; a query that may look nowhere gets zeros."""
    if mask is None:
        return ops.softmax(scores, axis=-1)
    if mask.dtype.kind != "b":
        return ops.softmax(scores + mask, axis=-1)
    somewhere = ops.any(mask, axis=-1, keepdims=True)
    masked = ops.where(ops.logical_or(mask, ops.logical_not(somewhere)), scores, -math.inf)
    return ops.where(somewhere, ops.softmax(masked, axis=-1), 0.0)


__all__ = ["scaled_dot_product_attention"]
