"""`weight_norm` and `spectral_norm` as parametrizations (`nn.utils.parametrize`)."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from .. import functional as F
from ..modules.module import Module
from . import norms
from .parametrize import check_module, register_parametrization


class _WeightNorm(Module):
    def __init__(self, dim: int | None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, g: Any, v: Any) -> Any:
        return norms.of_length(v, g, self.dim)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        return norms._length(weight, self.dim), weight


class _SpectralNorm(Module):
    def __init__(self, weight: Any, times: int, dim: int, eps: float) -> None:
        super().__init__()
        norms.check_times(times)
        self.dim, self.n_power_iterations, self.eps = dim, times, eps
        if len(weight.shape) > 1:
            with no_grad():
                matrix = norms.as_matrix(weight.detach(), dim)
                u, v = norms.first_vectors(matrix, eps)
                self.register_buffer("_u", u)
                self.register_buffer("_v", v)
                norms.iterate(matrix.T, v, u, 15, eps)

    def forward(self, weight: Any) -> Any:
        if len(weight.shape) == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        u, v = self._buffers["_u"], self._buffers["_v"]
        if self.training:
            matrix = norms.as_matrix(weight.detach(), self.dim)
            norms.iterate(matrix.T, v, u, self.n_power_iterations, self.eps)
        return norms.divided(weight, u, v, self.dim)

    def right_inverse(self, value: Any) -> Any:
        return value


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Let a weight be `g * v / norm(v)`, with a length g for each entry along `dim` (None: one for
    all): `original0` and `original1` of `module.parametrizations[name]`. The module is returned.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.parametrizations.weight_norm(tg.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()][1:]
    ['parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    check_module("weight_norm", module, name)
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Let a weight be divided by its largest singular value, as far as the power method has found
    it: fifteen steps at first, and so many more each time the weight is read while training. A
    vector is divided by its length. The module is returned.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.parametrizations.spectral_norm(tg.nn.Linear(3, 2)).eval()
    >>> bool(abs(tg.linalg.svdvals(layer.weight)[0] - 1.0) < 0.05)
    True
    """
    weight = getattr(check_module("spectral_norm", module, name), name, None)
    if weight is None or not hasattr(weight, "shape"):
        raise ValueError(f"spectral_norm: {type(module).__name__} has no parameter {name!r}")
    made = _SpectralNorm(weight, n_power_iterations, norms.axis_of(module, dim), eps)
    return register_parametrization(module, name, made)


__all__ = ["spectral_norm", "weight_norm"]
