"""Pooling and its undoing, as modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .. import functional as F
from ..functional.convolution import Sizes, per_axis
from .activation import Fixed
from .module import Module


class _Pool(Fixed):
    """A pooling whose windows lie side by side where no stride is given."""

    kernel_size: Sizes
    stride: Sizes | None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.stride is None:
            self.stride = self.kernel_size


class _MaxPool(_Pool):
    options: ClassVar[dict[str, Any]] = {
        "kernel_size": ...,
        "stride": None,
        "padding": 0,
        "dilation": 1,
        "return_indices": False,
        "ceil_mode": False,
    }
    shown = (
        "kernel_size={kernel_size}, stride={stride}, padding={padding}, "
        "dilation={dilation}, ceil_mode={ceil_mode}"
    )


class _AvgPool(_Pool):
    options: ClassVar[dict[str, Any]] = {
        "kernel_size": ...,
        "stride": None,
        "padding": 0,
        "ceil_mode": False,
        "count_include_pad": True,
        "divisor_override": None,
    }
    shown = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


class _LPPool(Fixed):
    options: ClassVar[dict[str, Any]] = {
        "norm_type": ...,
        "kernel_size": ...,
        "stride": None,
        "ceil_mode": False,
    }


class _AdaptiveAvgPool(Fixed):
    options: ClassVar[dict[str, Any]] = {"output_size": ...}


class _AdaptiveMaxPool(Fixed):
    options: ClassVar[dict[str, Any]] = {"output_size": ..., "return_indices": False}
    shown = "output_size={output_size}"


class _MaxUnpool(Module):
    """Windows that lie side by side where no stride is given."""

    axes: ClassVar[int]
    function: ClassVar[Any]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        name, axes = type(self).__name__, self.axes
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes)
        stride = self.kernel_size if stride is None else stride
        self.stride = per_axis(name, "stride", stride, axes)
        self.padding = per_axis(name, "padding", padding, axes)

    def forward(self, input: Any, indices: Any, output_size: Sequence[Any] | None = None) -> Any:
        return type(self).function(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool1d(_MaxPool):
    """`functional.max_pool1d`."""

    function = F.max_pool1d


class MaxPool2d(_MaxPool):
    """`functional.max_pool2d`."""

    function = F.max_pool2d


class MaxPool3d(_MaxPool):
    """`functional.max_pool3d`."""

    function = F.max_pool3d


class AvgPool1d(_Pool):
    """`functional.avg_pool1d`."""

    function = F.avg_pool1d
    options: ClassVar[dict[str, Any]] = {
        "kernel_size": ...,
        "stride": None,
        "padding": 0,
        "ceil_mode": False,
        "count_include_pad": True,
    }
    shown = "kernel_size=({kernel_size},), stride=({stride},), padding=({padding},)"


class AvgPool2d(_AvgPool):
    """`functional.avg_pool2d`."""

    function = F.avg_pool2d


class AvgPool3d(_AvgPool):
    """`functional.avg_pool3d`."""

    function = F.avg_pool3d


class LPPool1d(_LPPool):
    """`functional.lp_pool1d`."""

    function = F.lp_pool1d


class LPPool2d(_LPPool):
    """`functional.lp_pool2d`."""

    function = F.lp_pool2d


class LPPool3d(_LPPool):
    """`functional.lp_pool3d`."""

    function = F.lp_pool3d


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """`functional.adaptive_avg_pool1d`."""

    function = F.adaptive_avg_pool1d


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """`functional.adaptive_avg_pool2d`."""

    function = F.adaptive_avg_pool2d


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """`functional.adaptive_avg_pool3d`."""

    function = F.adaptive_avg_pool3d


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """`functional.adaptive_max_pool1d`."""

    function = F.adaptive_max_pool1d


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """`functional.adaptive_max_pool2d`."""

    function = F.adaptive_max_pool2d


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """`functional.adaptive_max_pool3d`."""

    function = F.adaptive_max_pool3d


class MaxUnpool1d(_MaxUnpool):
    """`functional.max_unpool1d`."""

    axes = 1
    function = F.max_unpool1d


class MaxUnpool2d(_MaxUnpool):
    """`functional.max_unpool2d`."""

    axes = 2
    function = F.max_unpool2d


class MaxUnpool3d(_MaxUnpool):
    """`functional.max_unpool3d`."""

    axes = 3
    function = F.max_unpool3d


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]
