"""Layers that normalise: over a batch, over places, over features, over groups of channels."""

from __future__ import annotations

from typing import Any

from ... import tensors as tg
from .. import functional as F
from .. import init
from .module import Module
from .parameter import Parameter


class _BatchNorm(Module):
    dimensions: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter(
            "weight",
            Parameter(tg.ones(num_features, dtype=dtype, device=device)) if affine else None,
        )
        self.register_parameter(
            "bias",
            Parameter(tg.zeros(num_features, dtype=dtype, device=device)) if affine else None,
        )
        self.register_buffer(
            "running_mean",
            tg.zeros(num_features, dtype=dtype, device=device) if track_running_stats else None,
        )
        self.register_buffer(
            "running_var",
            tg.ones(num_features, dtype=dtype, device=device) if track_running_stats else None,
        )
        self.register_buffer(
            "num_batches_tracked", tg.tensor(0, device=device) if track_running_stats else None
        )

    def reset_running_stats(self) -> None:
        """Forget what was seen."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Start anew."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        if len(input.shape) not in self.dimensions:
            raise ValueError(
                f"expected {' or '.join(f'{n}D' for n in self.dimensions)} input (got "
                f"{len(input.shape)}D input)"
            )
        average: Any = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                average = 1.0 / self.num_batches_tracked
        by_batch = self.training or self.running_mean is None
        moved = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if moved else None,
            self.running_var if moved else None,
            self.weight,
            self.bias,
            by_batch,
            average,
            self.eps,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """`functional.batch_norm` of (N, C) or (N, C, L); the running statistics are buffers."""

    dimensions = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`functional.batch_norm` of (N, C, H, W); the running statistics are buffers."""

    dimensions = (4,)


class BatchNorm3d(_BatchNorm):
    """`functional.batch_norm` of (N, C, D, H, W); the running statistics are buffers."""

    dimensions = (5,)


class _InstanceNorm(_BatchNorm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Any) -> Any:
        unbatched, batched = self.dimensions
        if len(input.shape) not in (unbatched, batched):
            raise ValueError(
                f"expected {unbatched}D or {batched}D input (got {len(input.shape)}D input)"
            )
        x = input if len(input.shape) == batched else input.unsqueeze(0)
        own = self.training or not self.track_running_stats
        result = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            own,
            self.momentum or 0.0,
            self.eps,
        )
        return result if x is input else result.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """`functional.instance_norm` of (N, C, L) or (C, L)."""

    dimensions = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`functional.instance_norm` of (N, C, H, W) or (C, H, W).

    >>> import tracegrad as tg
    >>> tg.nn.InstanceNorm2d(3)(tg.rand(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    dimensions = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`functional.instance_norm` of (N, C, D, H, W) or (C, D, H, W)."""

    dimensions = (4, 5)


class _OverLastAxes(Module):
    """What is normalized over the last axes, with a weight of their sizes."""

    def _build(
        self,
        normalized_shape: int | tuple[int, ...] | list[int],
        eps: float | None,
        elementwise_affine: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps: Any = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight",
            Parameter(tg.ones(self.normalized_shape, dtype=dtype, device=device))
            if elementwise_affine
            else None,
        )

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LayerNorm(_OverLastAxes):
    """`functional.layer_norm` over the last axes, with a weight and a bias of their sizes."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...] | list[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(normalized_shape, eps, elementwise_affine, device, dtype)
        self.register_parameter(
            "bias",
            Parameter(tg.zeros(self.normalized_shape, dtype=dtype, device=device))
            if elementwise_affine and bias
            else None,
        )

    def forward(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_OverLastAxes):
    """`functional.rms_norm` over the last axes, with a weight of their sizes."""

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...] | list[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._build(normalized_shape, eps, elementwise_affine, device, dtype)

    def forward(self, input: Any) -> Any:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class LocalResponseNorm(Module):
    """`functional.local_response_norm`."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Any) -> Any:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class GroupNorm(Module):
    """`functional.group_norm` with a weight and a bias for each channel."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter(
            "weight",
            Parameter(tg.ones(num_channels, dtype=dtype, device=device)) if affine else None,
        )
        self.register_parameter(
            "bias",
            Parameter(tg.zeros(num_channels, dtype=dtype, device=device)) if affine else None,
        )

    def forward(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LocalResponseNorm",
    "RMSNorm",
]
