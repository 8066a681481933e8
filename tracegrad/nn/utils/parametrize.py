"""Parameters of modules that are functions of others: `module.weight` is computed, where it is
read, from what is trained in its place."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...checks import describe
from ...tensor import Tensor
from ...types import show
from ..modules.containers import ModuleDict, ModuleList
from ..modules.module import Module
from ..modules.parameter import Parameter

HOLDER = "parametrizations"


class ParametrizationList(ModuleList):
    """The parametrizations of one Tensor, in the order in which they are applied, and what they
    start from: `original`, or `original0`, `original1`, ..."""

    def __init__(self, modules: list[Module], original: Any) -> None:
        super().__init__(modules)
        start = original
        with no_grad():
            for module in reversed(modules):
                inverse = getattr(module, "right_inverse", None)
                start = start if inverse is None else inverse(start)
        self.is_tensor = isinstance(start, Tensor)
        self._count = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            if start is not original:
                with no_grad():
                    original.data = start.detach()
            self._keep("original", original, isinstance(original, Parameter))
        else:
            for k, part in enumerate(start):
                self._keep(f"original{k}", part, isinstance(original, Parameter))

    def _keep(self, name: str, value: Any, trained: bool) -> None:
        if not trained:
            self.register_buffer(name, value)
        elif isinstance(value, Parameter):
            self.register_parameter(name, value)
        else:
            self.register_parameter(name, Parameter(value.detach()))

    def originals(self) -> list[Any]:
        """What the value is computed from."""
        names = ["original"] if self.is_tensor else [f"original{k}" for k in range(self._count)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Any:
        """The value."""
        first, *others = self
        value = first(*self.originals())
        for module in others:
            value = module(value)
        return value

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that they give this value."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"{type(module).__name__} has no right_inverse, so what it computes cannot "
                        "be assigned"
                    )
                value = module.right_inverse(value)
            parts = [value] if self.is_tensor else list(value)
            for old, new in zip(self.originals(), parts, strict=True):
                old.copy_(new)


class Parametrized:
    """How a module finds the value of a name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any) -> Any:
        return module.parametrizations[self.name]()

    def assign(self, module: Any, value: Any) -> None:
        module.parametrizations[self.name].right_inverse(value)


def check_module(who: str, module: Any, name: Any) -> Module:
    """The module; a TypeError where it is none, or the name no string."""
    if not isinstance(module, Module):
        raise TypeError(f"{who}: module is {describe(module)}; it must be a Module")
    if not isinstance(name, str):
        raise TypeError(f"{who}: the name is {describe(name)}; it must be a string")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of this name.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.parametrizations.weight_norm(tg.nn.Linear(2, 2))
    >>> parametrize = tg.nn.utils.parametrize
    >>> parametrize.is_parametrized(layer, "weight"), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    held = check_module("is_parametrized", module, tensor_name or "")._modules.get(HOLDER)
    if held is None:
        return False
    return len(held._modules) > 0 if tensor_name is None else tensor_name in held._modules


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let `module.tensor_name` be what a module computes from the parameter (or buffer) of this
    name, which becomes `module.parametrizations[tensor_name].original`; the module is returned.

    A `right_inverse` of the parametrization gives the first original, or a tuple of several, out of
    the present value. Several parametrizations of one name are applied one after the other.
    ValueError where the name is none of the module's parameters or buffers, or where the value
    changes its shape or dtype (not with `unsafe`).

    >>> import tracegrad as tg
    >>> class Symmetric(tg.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = tg.nn.Linear(3, 3)
    >>> layer = tg.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    if not isinstance(parametrization, Module):
        raise TypeError(
            f"register_parametrization: parametrization is {describe(parametrization)}; "
            "it must be a Module"
        )
    check_module("register_parametrization", module, tensor_name)
    if is_parametrized(module, tensor_name):
        held: Any = module._modules[HOLDER]
        before = held[tensor_name]
        if not unsafe:
            _check(tensor_name, before(), parametrization)
        before.append(parametrization)
        return module
    kinds = [kind for kind in (module._parameters, module._buffers) if tensor_name in kind]
    original = kinds[0][tensor_name] if kinds else None
    if original is None:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    shape, dtype = original.shape, original.dtype
    made = ParametrizationList([parametrization], original)
    value = made()
    if not unsafe and (value.shape != shape or value.dtype != dtype):
        raise ValueError(
            f"Registering a parametrization may not change the shape or dtype of the tensor: "
            f"{show(shape)} {dtype} became {show(value.shape)} {value.dtype}"
        )
    del kinds[0][tensor_name]
    if HOLDER not in module._modules:
        module.add_module(HOLDER, ModuleDict())
    holder: Any = module._modules[HOLDER]
    holder[tensor_name] = made
    module._compute(tensor_name, Parametrized(tensor_name))
    return module


def _check(name: str, value: Any, parametrization: Any) -> None:
    with no_grad():
        after = parametrization(value)
    if after.shape != value.shape or after.dtype != value.dtype:
        raise ValueError(
            f"Registering a parametrization may not change the shape or dtype of the tensor: "
            f"{name} of {show(value.shape)} {value.dtype} became {show(after.shape)} {after.dtype}"
        )


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a plain parameter of a name again: of its present value, or of the original.

    >>> import tracegrad as tg
    >>> layer = tg.nn.utils.parametrizations.weight_norm(tg.nn.Linear(2, 2))
    >>> layer = tg.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'weight']
    """
    check_module("remove_parametrizations", module, tensor_name)
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"Module {type(module).__name__}() does not have a parametrization on {tensor_name}"
        )
    held: Any = module._modules[HOLDER]
    found = held[tensor_name]
    if not leave_parametrized and not found.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    originals = found.originals()
    trained = isinstance(originals[0], Parameter)
    with no_grad():
        value = found().detach() if leave_parametrized else originals[0].detach()
    module._compute(tensor_name, None)
    del held._modules[tensor_name]
    if not held._modules:
        del module._modules[HOLDER]
    if not trained:
        module.register_buffer(tensor_name, value)
    elif found.is_tensor:
        originals[0].data = value
        module.register_parameter(tensor_name, originals[0])
    else:
        module.register_parameter(tensor_name, Parameter(value))
    return module


__all__ = [
    "ParametrizationList",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
]
