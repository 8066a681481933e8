"""Multi-head attention, and the layers of transformers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import ops
from ... import tensors as tg
from ...sizes import same
from ...types import show
from .. import functional as F
from .. import init
from .layers import Linear
from .module import Module
from .parameter import Parameter


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear`, under the name that torch gives the last map of attention."""


def _as_scores(mask: Any, dtype: Any) -> Any:
    """What a mask adds to scores: booleans are true where nothing is looked at."""
    if mask is None:
        return None
    if mask.dtype.kind == "b":
        return ops.where(mask, np.array(-math.inf, dtype), np.array(0.0, dtype))
    if mask.dtype.kind != "f":
        raise RuntimeError(
            f"attention: a mask holds booleans or floating-point numbers, not {mask.dtype}"
        )
    return mask


class MultiheadAttention(Module):
    """Attention in several heads: `softmax(q @ k.T / sqrt(head_dim) + masks) @ v` of projected
    queries, keys and values.

    Queries (L, N, embed_dim), keys and values (S, N, ...), with `batch_first` (N, L, ...) and (N,
    S, ...), or without N. Returns the output and, with `need_weights`, the weights (N, L, S),
    averaged over the heads unless `average_attn_weights` is False. In masks of booleans true means:
    not looked at.

    >>> import tracegrad as tg
    >>> attention = tg.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> output, weights = attention(*[tg.ones(3, 5, 8)] * 3)
    >>> output.shape, weights.shape
    ((3, 5, 8), (3, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise ValueError(
                "embed_dim must be divisible by num_heads, but they are "
                f"{embed_dim} and {num_heads}"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        options: Any = {"dtype": dtype, "device": device}

        def parameter(there: bool, *shape: int) -> Parameter | None:
            return Parameter(tg.empty(*shape, **options)) if there else None

        together = self._qkv_same_embed_dim
        for name, there, shape in (
            ("in_proj_weight", together, (3 * embed_dim, embed_dim)),
            ("q_proj_weight", not together, (embed_dim, embed_dim)),
            ("k_proj_weight", not together, (embed_dim, self.kdim)),
            ("v_proj_weight", not together, (embed_dim, self.vdim)),
            ("in_proj_bias", bias, (3 * embed_dim,)),
        ):
            self.register_parameter(name, parameter(there, *shape))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, **options)
        self.register_parameter("bias_k", parameter(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", parameter(add_bias_kv, 1, 1, embed_dim))
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def _projected(self, query: Any, key: Any, value: Any) -> list[Any]:
        n = self.embed_dim
        if self._qkv_same_embed_dim:
            weights = [self.in_proj_weight[k * n : (k + 1) * n] for k in range(3)]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        biases = [
            None if self.in_proj_bias is None else self.in_proj_bias[k * n : (k + 1) * n]
            for k in range(3)
        ]
        return [
            F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)
        ]

    def forward(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        if (
            len(query.shape) not in (2, 3)
            or len(key.shape) != len(query.shape)
            or len(value.shape) != len(query.shape)
        ):
            raise RuntimeError(
                "MultiheadAttention: query, key and value are all 3-D (batched) or all 2-D, "
                f"not {show(query.shape)}, {show(key.shape)} and {show(value.shape)}"
            )
        for what, x, size in (
            ("query", query, self.embed_dim),
            ("key", key, self.kdim),
            ("value", value, self.vdim),
        ):
            if not same(x.shape[-1], size):
                raise RuntimeError(
                    f"MultiheadAttention: the last axis of the {what} should have size {size}, "
                    f"but its shape is {show(x.shape)}"
                )
        if is_causal and attn_mask is None:
            raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
        batched = len(query.shape) == 3
        q, k, v = self._projected(query, key, value)
        if not batched:
            q, k, v = (ops.expand_dims(x, 0) for x in (q, k, v))
        elif not self.batch_first:
            q, k, v = (ops.swapaxes(x, 0, 1) for x in (q, k, v))
        batch, length = q.shape[0], q.shape[1]
        scores_dtype = q.dtype
        mask = _as_scores(attn_mask, scores_dtype)
        padding = _as_scores(key_padding_mask, scores_dtype)
        if padding is not None:
            padding = padding if batched else ops.expand_dims(padding, 0)
            if not (same(padding.shape[0], batch) and same(padding.shape[1], k.shape[1])):
                raise RuntimeError(
                    f"key_padding_mask should have shape ({batch}, {k.shape[1]}), "
                    f"not {show(padding.shape)}"
                )
        if mask is not None and len(mask.shape) == 3:
            mask = ops.reshape(mask, (batch, self.num_heads, *mask.shape[1:]))
        wide = (batch, 1, self.embed_dim)
        extra = []
        if self.bias_k is not None:
            extra.append((ops.broadcast_to(self.bias_k, wide), ops.broadcast_to(self.bias_v, wide)))
        if self.add_zero_attn:
            zeros = ops.zeros(wide, k.dtype)
            extra.append((zeros, zeros))
        for one_key, one_value in extra:
            k, v = ops.concatenate([k, one_key], 1), ops.concatenate([v, one_value], 1)
            mask, padding = _one_more(mask), _one_more(padding)

        def heads(x: Any) -> Any:
            return ops.swapaxes(
                ops.reshape(x, (batch, x.shape[1], self.num_heads, self.head_dim)), 1, 2
            )

        scores = ops.matmul(heads(q) / math.sqrt(self.head_dim), ops.swapaxes(heads(k), -1, -2))
        scores = scores if mask is None else scores + mask
        scores = (
            scores
            if padding is None
            else scores + ops.reshape(padding, (batch, 1, 1, padding.shape[1]))
        )
        weights = ops.softmax(scores, axis=-1)
        if self.training and self.dropout:
            weights = F.dropout(weights, self.dropout)
        found = ops.reshape(
            ops.swapaxes(ops.matmul(weights, heads(v)), 1, 2), (batch, length, self.embed_dim)
        )
        output = self.out_proj(found)
        if not batched:
            output = ops.squeeze(output, 0)
        elif not self.batch_first:
            output = ops.swapaxes(output, 0, 1)
        if not need_weights:
            return output, None
        weights = ops.mean(weights, axis=1) if average_attn_weights else weights
        return output, weights if batched else ops.squeeze(weights, 0)


def _one_more(mask: Any) -> Any:
    """A mask with one more key, which may be looked at."""
    if mask is None:
        return None
    return ops.concatenate([mask, ops.zeros((*mask.shape[:-1], 1), mask.dtype)], -1)


__all__ = ["MultiheadAttention"]
