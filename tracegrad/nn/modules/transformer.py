"""Transformers as torch has them: layers of attention and dense maps, stacks of them, and both ends
together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, ClassVar

from ... import tensors as tg
from .. import functional as F
from .. import init
from .activation import Dropout
from .attention import MultiheadAttention
from .containers import ModuleList
from .layers import Linear
from .module import Module
from .normalization import LayerNorm


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
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
