"""Layers with parameters: linear maps, lookups, convolutions and normalisation."""

from __future__ import annotations

import math
from typing import Any

from ... import tensors as tg
from .. import functional as F
from .. import init
from ..functional.convolution import Sizes
from .affine import Affine, Convolution
from .module import Module
from .parameter import Parameter
from .tables import NOT_OF_TABLES, EmbeddingTable


class Identity(Module):
    """Its input, whatever it is made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Affine):
    """`input @ weight.T + bias`; weight (out, in) and bias (out) start uniform within 1 / sqrt(in).

    >>> import tracegrad as tg
    >>> tg.nn.Linear(3, 2)(tg.ones(4, 3)).shape
    (4, 2)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self._make((out_features, in_features), out_features, bias, device, dtype)

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Bilinear(Module):
    """`x1 @ weight[o] @ x2 + bias[o]` for each output."""

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(
            tg.empty(out_features, in1_features, in2_features, dtype=dtype, device=device)
        )
        self.register_parameter(
            "bias", Parameter(tg.empty(out_features, dtype=dtype, device=device)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Any, input2: Any) -> Any:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class Embedding(EmbeddingTable):
    """Rows of a table (num_embeddings, embedding_dim) at integers; the row `padding_idx` starts at
    0 and stays."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise NotImplementedError(NOT_OF_TABLES.format("Embedding"))
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """The table `embeddings`, whose memory is shared; it is trained unless `freeze`.

        >>> import tracegrad as tg
        >>> tg.nn.Embedding.from_pretrained(tg.eye(2))(tg.tensor([1]))
        tensor([[0., 1.]])
        """
        if len(embeddings.shape) != 2:
            raise ValueError(
                "Embeddings parameter is expected to be 2-dimensional, "
                f"not of shape {tuple(embeddings.shape)}"
            )
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            embeddings,
            freeze,
        )

    def forward(self, input: Any) -> Any:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class _Convolution(Convolution):
    padding_modes = ("zeros", "reflect", "replicate", "circular")

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(
            (in_channels, out_channels, groups),
            kernel_size,
            stride,
            padding,
            dilation,
            padding_mode,
        )
        if self.padding == "same" and any(s != 1 for s in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        self._make(
            (out_channels, in_channels // groups, *self.kernel_size),
            out_channels,
            bias,
            device,
            dtype,
        )

    def forward(self, input: Any) -> Any:
        padding: Any = self.padding
        if self.padding_mode != "zeros" and padding != "valid":
            sums = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            sides = (
                [(n // 2, n - n // 2) for n in sums]
                if padding == "same"
                else [(int(n), int(n)) for n in padding]
            )
            input = F.pad(input, [n for pair in reversed(sides) for n in pair], self.padding_mode)
            padding = 0
        return type(self).function(
            input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups
        )


class Conv1d(_Convolution):
    """`functional.conv1d` with a weight (out, in / groups, k) and a bias (out)."""

    axes, function = 1, F.conv1d


class Conv2d(_Convolution):
    """`functional.conv2d` with a weight (out, in / groups, k1, k2) and a bias (out).

    >>> import tracegrad as tg
    >>> tg.nn.Conv2d(1, 4, 3, padding=1)(tg.ones(2, 1, 5, 5)).shape
    (2, 4, 5, 5)
    """

    axes, function = 2, F.conv2d


class Conv3d(_Convolution):
    """`functional.conv3d` with a weight (out, in / groups, k1, k2, k3) and a bias (out)."""

    axes, function = 3, F.conv3d


__all__ = ["Bilinear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "Identity", "Linear"]
