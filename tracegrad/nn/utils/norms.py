"""Weights of a given size: by a length of their own (Salimans and Kingma 2016), or divided by their
largest singular value (Miyato et al. 2018)."""

from __future__ import annotations

from typing import Any

from ... import ops
from ... import tensors as tg
from ...autograd.grad_mode import no_grad
from ...types import normalize_axis
from .. import functional as F
from ..modules.module import Module
from ..modules.parameter import Parameter


def _length(v: Any, dim: int | None) -> Any:
    """The norms of the slices along an axis, or of the whole."""
    if dim is None or dim == -1:
        return ops.vector_norm(v, 2)
    axes = tuple(k for k in range(len(v.shape)) if k != normalize_axis(dim, len(v.shape)))
    return ops.vector_norm(v, 2, axes, keepdims=True) if axes else ops.absolute(v)


def of_length(v: Any, g: Any, dim: int | None) -> Any:
    """v with slices of the lengths g."""
    return v * (g / _length(v, dim))


def as_matrix(weight: Any, dim: int) -> Any:
    """A row for each entry along an axis."""
    turned = ops.moveaxis(weight, dim, 0) if dim else weight
    return ops.reshape(turned, (turned.shape[0], -1))


def iterate(matrix: Any, u: Any, v: Any, times: int, eps: float) -> None:
    """Steps of the power method, written into v and then into u."""
    with no_grad():
        for _ in range(times):
            v.copy_(F.normalize(ops.matmul(matrix.T, u), dim=0, eps=eps))
            u.copy_(F.normalize(ops.matmul(matrix, v), dim=0, eps=eps))


def first_vectors(matrix: Any, eps: float) -> list[Any]:
    """Random vectors of length 1 for its rows and its columns."""
    return [
        F.normalize(tg.randn(int(n), dtype=matrix.dtype, device=matrix.device), dim=0, eps=eps)
        for n in matrix.shape
    ]


def divided(weight: Any, u: Any, v: Any, dim: int) -> Any:
    """The weight over what u and v make of its largest singular value."""
    u, v = u.detach().clone(), v.detach().clone()
    return weight / ops.sum(u * ops.matmul(as_matrix(weight, dim), v))


def _weight(what: str, module: Module, name: str) -> Parameter:
    found = module._parameters.get(name)
    if not isinstance(found, Parameter):
        if name in module.__dict__.get("_computed", ()):
            raise RuntimeError(f"Cannot register two {what} hooks on the same parameter {name}")
        raise ValueError(f"{what}: {type(module).__name__} has no parameter {name!r}")
    return found


class _Computed:
    """How a module computes a weight from parameters and buffers of its own."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, dim

    def __call__(self, module: Any) -> Any:
        raise NotImplementedError

    def assign(self, module: Any, value: Any) -> None:
        raise AttributeError(
            f"{self.name} is computed from {self.name}_{self.parts}; assign to these"
        )

    parts = ""


class WeightNorm(_Computed):
    parts = "g and _v"

    def __call__(self, module: Any) -> Any:
        v, g = (getattr(module, f"{self.name}_{letter}") for letter in "vg")
        return of_length(v, g, self.dim)


class SpectralNorm(_Computed):
    parts = "orig"

    def __init__(self, name: str, dim: int, times: int, eps: float) -> None:
        super().__init__(name, dim)
        self.axis, self.times, self.eps = dim, times, eps
        self.handle: Any = None

    def vectors(self, module: Any) -> tuple[Any, Any]:
        return getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")

    def __call__(self, module: Any) -> Any:
        original = getattr(module, f"{self.name}_orig")
        return divided(original, *self.vectors(module), self.axis)

    def before(self, module: Any, args: Any) -> None:
        """Before each forward, while training."""
        if module.training:
            matrix = as_matrix(getattr(module, f"{self.name}_orig").detach(), self.axis)
            iterate(matrix, *self.vectors(module), self.times, self.eps)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Let a weight be `g * v / norm(v)`, with a length g for each entry along `dim` (None: one for
    all), and train `name_g` and `name_v` in its place; the module is returned.
    `parametrizations.weight_norm` is torch's newer form.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.weight_norm(tg.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    weight = _weight("weight_norm", module, name)
    del module._parameters[name]
    module._compute(name, WeightNorm(name, dim))
    with no_grad():
        module.register_parameter(f"{name}_g", Parameter(_length(weight, dim).detach()))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    return module


def _forget(what: str, kind: type[_Computed], module: Module, name: str) -> Any:
    found = module.__dict__.get("_computed", {}).get(name)
    if not isinstance(found, kind):
        raise ValueError(f"{what} of '{name}' not found in {module}")
    with no_grad():
        value = Parameter(found(module).detach())
    module._compute(name, None)
    return value


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make a plain parameter of a weight again.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.weight_norm(tg.nn.Linear(3, 2))
    >>> sorted(name for name, _ in tg.nn.utils.remove_weight_norm(layer).named_parameters())
    ['bias', 'weight']
    """
    value = _forget("weight_norm", WeightNorm, module, name)
    del module._parameters[f"{name}_g"], module._parameters[f"{name}_v"]
    module.register_parameter(name, value)
    return module


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Let a weight be `weight_orig` over its largest singular value, as far as the power method has
    found it: so many steps before each forward while training, kept in the buffers `weight_u` and
    `weight_v`. Rows of the matrix are the entries along `dim` (0; 1 of transposed convolutions).
    The module is returned. `parametrizations.spectral_norm` is torch's newer form.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.spectral_norm(tg.nn.Linear(3, 2), n_power_iterations=50)
    >>> y = layer(tg.ones(1, 3))
    >>> round(tg.linalg.svdvals(layer.weight)[0].item(), 6)
    1.0
    """
    axis = axis_of(module, dim)
    weight = _weight("spectral_norm", module, name)
    check_times(n_power_iterations)
    del module._parameters[name]
    computed = SpectralNorm(name, axis, n_power_iterations, eps)
    module._compute(name, computed)
    module.register_parameter(f"{name}_orig", weight)
    with no_grad():
        for letter, vector in zip(
            "uv", first_vectors(as_matrix(weight.detach(), axis), eps), strict=True
        ):
            module.register_buffer(f"{name}_{letter}", vector)
    computed.handle = module.register_forward_pre_hook(computed.before)
    return module


def axis_of(module: Module, dim: int | None) -> int:
    """The axis of the outputs, where none is given."""
    return (
        int(getattr(module, "transposed", "ConvTranspose" in type(module).__name__))
        if (dim is None)
        else dim
    )


def check_times(n_power_iterations: int) -> None:
    """A ValueError for no steps, or more than can be waited for."""
    if not 0 < n_power_iterations < 2**31:
        raise ValueError(
            "Expected n_power_iterations to be positive and less than 2**31, "
            f"but got n_power_iterations={n_power_iterations}"
        )


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make a plain parameter of a weight again.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.spectral_norm(tg.nn.Linear(3, 2))
    >>> sorted(tg.nn.utils.remove_spectral_norm(layer).state_dict())
    ['bias', 'weight']
    """
    computed = module.__dict__.get("_computed", {}).get(name)
    value = _forget("spectral_norm", SpectralNorm, module, name)
    computed.handle.remove()
    del module._parameters[f"{name}_orig"]
    for letter in "uv":
        del module._buffers[f"{name}_{letter}"]
    module.register_parameter(name, value)
    return module


__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
