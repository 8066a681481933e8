"""What linear maps, convolutions and transposed convolutions share: a weight and a bias, and
windows."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from ... import tensors as tg
from .. import init
from ..functional.convolution import Sizes, per_axis
from .module import Module
from .parameter import Parameter


class Affine(Module):
    """A weight and perhaps a bias, which start uniform within 1 / sqrt(fan_in), all axes of the
    weight but one."""

    weight: Parameter
    bias: Parameter | None

    def _make(
        self, shape: tuple[int, ...], outputs: int, bias: bool, device: Any, dtype: Any
    ) -> None:
        self.weight = Parameter(tg.empty(*shape, dtype=dtype, device=device))
        self.register_parameter(
            "bias", Parameter(tg.empty(outputs, dtype=dtype, device=device)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = math.prod(self.weight.shape[1:])
        if self.bias is not None and fan_in > 0:
            init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))


class Convolution(Affine):
    """Windows over the last axes: their sizes, steps, padding and holes, channels and groups of
    channels."""

    axes: ClassVar[int]
    function: ClassVar[Any]
    padding_modes: ClassVar[tuple[str, ...]]

    def _build(
        self,
        channels: tuple[int, int, int],
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str,
        dilation: Sizes,
        padding_mode: str,
    ) -> None:
        """`channels`: of the input, of the output, and how many groups of each there are."""
        self.in_channels, self.out_channels, self.groups = channels
        if self.groups < 1 or self.in_channels % self.groups or self.out_channels % self.groups:
            raise ValueError(
                "in_channels and out_channels must be divisible by groups, "
                f"but they are {self.in_channels}, {self.out_channels} and {self.groups}"
            )
        name, axes = type(self).__name__, self.axes
        if padding_mode not in self.padding_modes:
            modes = ", ".join(self.padding_modes)
            raise ValueError(
                f"{name}: padding_mode must be one of {modes}, "
                f"but got padding_mode='{padding_mode}'"
            )
        self.padding_mode = padding_mode
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes)
        self.stride = per_axis(name, "stride", stride, axes)
        self.padding = (
            padding if isinstance(padding, str) else per_axis(name, "padding", padding, axes)
        )
        self.dilation = per_axis(name, "dilation", dilation, axes)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        zeros, ones = (0,) * self.axes, (1,) * self.axes
        usual = {"padding": zeros, "dilation": ones, "output_padding": zeros, "groups": 1}
        for name, value in usual.items():
            if getattr(self, name, value) != value:
                text += f", {name}={getattr(self, name)}"
        text = text if self.bias is not None else text + ", bias=False"
        return (
            text if self.padding_mode == "zeros" else text + f", padding_mode={self.padding_mode}"
        )


__all__ = ["Affine", "Convolution"]
