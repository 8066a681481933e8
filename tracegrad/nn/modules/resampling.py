"""Layers that change the number of places: transposed convolutions, interpolation, padding,
channels made into places."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional as F
from ..functional.convolution import Sizes, per_axis
from .activation import Fixed
from .affine import Convolution
from .module import Module


class _Transposed(Convolution):
    padding_modes = ("zeros",)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
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
        self.output_padding = per_axis(
            type(self).__name__, "output_padding", output_padding, self.axes
        )
        self._make(
            (in_channels, out_channels // groups, *self.kernel_size),
            out_channels,
            bias,
            device,
            dtype,
        )

    def _more(self, input: Any, output_size: Any) -> tuple[int, ...]:
        """The output padding that gives `output_size`."""
        if output_size is None:
            return self.output_padding
        wanted = [int(n) for n in output_size][-self.axes :]
        found = []
        for k, n in enumerate(input.shape[-self.axes :]):
            least = (
                (n - 1) * self.stride[k]
                - 2 * self.padding[k]
                + self.dilation[k] * (self.kernel_size[k] - 1)
                + 1
            )
            if not least <= wanted[k] < least + self.stride[k]:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes of axis {k} "
                    f"range from {least} to {least + self.stride[k] - 1} (for an input of "
                    f"{list(input.shape)})"
                )
            found.append(wanted[k] - least)
        return tuple(found)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        more = self._more(input, output_size)
        return type(self).function(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            more,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_Transposed):
    """`functional.conv_transpose1d` with a weight (in, out / groups, k) and a bias (out)."""

    axes, function = 1, F.conv_transpose1d


class ConvTranspose2d(_Transposed):
    """`functional.conv_transpose2d` with a weight (in, out / groups, k1, k2) and a bias (out).

    >>> import tracegrad as tg
    >>> tg.nn.ConvTranspose2d(3, 4, 2, stride=2)(tg.ones(1, 3, 5, 5)).shape
    (1, 4, 10, 10)
    """

    axes, function = 2, F.conv_transpose2d


class ConvTranspose3d(_Transposed):
    """`functional.conv_transpose3d` with a weight (in, out / groups, k1, k2, k3) and a bias
    (out)."""

    axes, function = 3, F.conv_transpose3d


class Fold(Fixed):
    """`functional.fold`."""

    function = F.fold
    options: ClassVar[dict[str, Any]] = {
        "output_size": ...,
        "kernel_size": ...,
        "dilation": 1,
        "padding": 0,
        "stride": 1,
    }


class Unfold(Fixed):
    """`functional.unfold`."""

    function = F.unfold
    options: ClassVar[dict[str, Any]] = {
        "kernel_size": ...,
        "dilation": 1,
        "padding": 0,
        "stride": 1,
    }


class Upsample(Module):
    """`functional.interpolate` to a size, or by a factor.

    >>> import tracegrad as tg
    >>> tg.nn.Upsample(scale_factor=2, mode="bilinear")(tg.ones(1, 1, 3, 3)).shape
    (1, 1, 6, 6)
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor
        several = isinstance(scale_factor, (tuple, list))
        self.scale_factor: tuple[float, ...] | float | None
        if several:
            self.scale_factor = tuple(map(float, scale_factor))
        elif scale_factor is None:
            self.scale_factor = None
        else:
            self.scale_factor = float(scale_factor)

    def forward(self, input: Any) -> Any:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        by = (
            f"scale_factor={self.scale_factor!r}"
            if self.scale_factor is not None
            else f"size={self.size!r}"
        )
        return f"{by}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` to the nearest place."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` with bilinear interpolation between corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Fixed):
    """`functional.pixel_shuffle`."""

    function = F.pixel_shuffle
    options: ClassVar[dict[str, Any]] = {"upscale_factor": ...}


class PixelUnshuffle(Fixed):
    """`functional.pixel_unshuffle`."""

    function = F.pixel_unshuffle
    options: ClassVar[dict[str, Any]] = {"downscale_factor": ...}


class ChannelShuffle(Fixed):
    """`functional.channel_shuffle`."""

    function = F.channel_shuffle
    options: ClassVar[dict[str, Any]] = {"groups": ...}


class _Pad(Module):
    axes: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        widths = (padding,) * (2 * self.axes) if isinstance(padding, int) else tuple(padding)
        if len(widths) != 2 * self.axes:
            raise ValueError(
                f"{type(self).__name__}: padding is one number or {2 * self.axes}, not {padding}"
            )
        self.padding = widths

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_Pad):
    """`functional.pad` with the reflection of (N, C, L)."""

    axes, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """`functional.pad` with the reflection of (N, C, H, W)."""

    axes, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """`functional.pad` with the reflection of (N, C, D, H, W)."""

    axes, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """`functional.pad` with the outermost values of (N, C, L)."""

    axes, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """`functional.pad` with the outermost values of (N, C, H, W)."""

    axes, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """`functional.pad` with the outermost values of (N, C, D, H, W)."""

    axes, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """`functional.pad` with what stands at the other end of (N, C, L)."""

    axes, mode = 1, "circular"


class CircularPad2d(_Pad):
    """`functional.pad` with what stands at the other ends of (N, C, H, W)."""

    axes, mode = 2, "circular"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """`functional.pad` with one value, of the last axis."""

    axes = 1


class ConstantPad2d(_ConstantPad):
    """`functional.pad` with one value, of the last two axes."""

    axes = 2


class ConstantPad3d(_ConstantPad):
    """`functional.pad` with one value, of the last three axes."""

    axes = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Sizes) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    """`functional.pad` with zeros, of the last axis."""

    axes = 1


class ZeroPad2d(_ZeroPad):
    """`functional.pad` with zeros, of the last two axes.

    >>> import tracegrad as tg
    >>> tg.nn.ZeroPad2d((1, 0, 0, 1))(tg.ones(1, 2, 2))[0]
    tensor([[0., 1., 1.],
            [0., 1., 1.],
            [0., 0., 0.]])
    """

    axes = 2


class ZeroPad3d(_ZeroPad):
    """`functional.pad` with zeros, of the last three axes."""

    axes = 3


__all__ = [
    "ChannelShuffle",
    "CircularPad1d",
    "CircularPad2d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Fold",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2d",
    "UpsamplingNearest2d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]
