"""Multi-head attention, and the layers of transformers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ... import tensors as tg
from ...types import same, show
from .. import functional as F
from .. import init
from .activation import Dropout
from .containers import ModuleList
from .layers import LayerNorm, Linear
from .module import Module, Parameter


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
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        if embed_dim % num_heads:
            raise ValueError(
                f"embed_dim must be divisible by num_heads, but they are {embed_dim} and {num_heads}"
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = (
            embed_dim if kdim is None else kdim,
            embed_dim if vdim is None else vdim,
        )
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
                f"MultiheadAttention: query, key and value are all 3-D (batched) or all 2-D, not {show(query.shape)}, {show(key.shape)} "
                f"and {show(value.shape)}"
            )
        for what, x, size in (
            ("query", query, self.embed_dim),
            ("key", key, self.kdim),
            ("value", value, self.vdim),
        ):
            if not same(x.shape[-1], size):
                raise RuntimeError(
                    f"MultiheadAttention: the last axis of the {what} should have size {size}, but its shape is {show(x.shape)}"
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
        mask, padding = (
            _as_scores(attn_mask, scores_dtype),
            _as_scores(key_padding_mask, scores_dtype),
        )
        if padding is not None:
            padding = padding if batched else ops.expand_dims(padding, 0)
            if not (same(padding.shape[0], batch) and same(padding.shape[1], k.shape[1])):
                raise RuntimeError(
                    f"key_padding_mask should have shape ({batch}, {k.shape[1]}), not {show(padding.shape)}"
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
        output = (
            ops.squeeze(output, 0)
            if not batched
            else output
            if self.batch_first
            else ops.swapaxes(output, 0, 1)
        )
        if not need_weights:
            return output, None
        weights = ops.mean(weights, axis=1) if average_attn_weights else weights
        return output, weights if batched else ops.squeeze(weights, 0)


def _one_more(mask: Any) -> Any:
    """A mask with one more key, which may be looked at."""
    if mask is None:
        return None
    return ops.concatenate([mask, ops.zeros((*mask.shape[:-1], 1), mask.dtype)], -1)


def _activation(activation: str | Callable[[Any], Any]) -> Callable[[Any], Any]:
    if callable(activation):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


class _Layer(Module):
    """What the layers of encoders and decoders share: two maps with an activation, norms and
    dropout by number."""

    attentions: ClassVar[tuple[str, ...]]
    """The names of the attentions, in the order in which they come; the two maps come last."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: Any = {"dtype": dtype, "device": device}
        for name in self.attentions:
            setattr(
                self,
                name,
                MultiheadAttention(
                    d_model, nhead, dropout, bias, batch_first=batch_first, **options
                ),
            )
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first, self.activation = norm_first, _activation(activation)
        sublayers = range(1, len(self.attentions) + 2)
        for k in sublayers:
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, **options))
        for k in sublayers:
            setattr(self, f"dropout{k}", Dropout(dropout))

    def _run(self, x: Any, sources: tuple[tuple[Any, Any, Any], ...]) -> Any:
        """Each attention, to a source (None: to what comes in itself) with its mask and padding,
        then the two maps: each with dropout, a residual and a norm."""

        def attend(name: str, memory: Any, mask: Any, padding: Any) -> Callable[[Any], Any]:
            def attended(x: Any) -> Any:
                source = x if memory is None else memory
                attention = getattr(self, name)
                return attention(
                    x, source, source, key_padding_mask=padding, need_weights=False, attn_mask=mask
                )[0]

            return attended

        def feed_forward(x: Any) -> Any:
            return self.linear2(self.dropout(self.activation(self.linear1(x))))

        attends = [
            attend(name, *source) for name, source in zip(self.attentions, sources, strict=True)
        ]
        for k, sublayer in enumerate([*attends, feed_forward], 1):
            norm, dropout = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
            x = (
                x + dropout(sublayer(norm(x)))
                if self.norm_first
                else norm(x + dropout(sublayer(x)))
            )
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear maps, each with a residual, dropout and a layer norm
    (`norm_first`: before it).

    >>> import tracegrad as tg
    >>> tg.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(tg.ones(3, 5, 8)).shape
    (3, 5, 8)
    """

    attentions = ("self_attn",)

    def forward(
        self,
        src: Any,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Any:
        return self._run(src, ((None, src_mask, src_key_padding_mask),))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to `memory`, and two linear maps, each with a residual, dropout and
    a layer norm."""

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        to_itself = None, tgt_mask, tgt_key_padding_mask
        to_memory = memory, memory_mask, memory_key_padding_mask
        return self._run(tgt, (to_itself, to_memory))


class _Stack(Module):
    """`num_layers` copies of a layer one after the other, and a last norm."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def _run(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        for layer in self.layers:
            x = layer(x, *args, **kwargs)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """`num_layers` copies of a layer one after the other, and a last norm. All start from the same
    values, as in torch."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Any,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Any:
        return self._run(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask)


class TransformerDecoder(_Stack):
    """`num_layers` copies of a layer one after the other, and a last norm. All start from the same
    values, as in torch."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        return self._run(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )


class Transformer(Module):
    """An encoder and a decoder, whose matrices start as Xavier and Glorot proposed.

    >>> import tracegrad as tg
    >>> model = tg.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(tg.ones(3, 5, 8), tg.ones(3, 4, 8)).shape
    (3, 4, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Any], Any] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        of_layers: Any = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def last() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*of_layers), num_encoder_layers, last()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*of_layers), num_decoder_layers, last()
        )
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """A mask (sz, sz) to be added to scores: minus infinity above the diagonal, where the
        future is."""
        return tg.full((sz, sz), -math.inf, dtype=dtype, device=device).triu(1)


__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
