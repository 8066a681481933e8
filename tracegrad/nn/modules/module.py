"""`Module`: parameters, buffers and other modules under names, as torch has it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from ...autograd.grad_mode import no_grad
from ...checks import REFUSED, explained
from ...devices import Device
from ...faces.tensor.casts import dtype_and_device
from ...holders import ModuleHolder
from ...staging.session import LEARNT, entered
from ...tape.hooks import RemovableHandle, add_hook
from ...tensor import Tensor
from .parameter import Parameter, clear


class Incompatible(NamedTuple):
    """What `load_state_dict` returns."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"_IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


class Module(ModuleHolder):
    """Base of all layers and models: define `forward`, and assign parameters and other modules in
    `__init__`.

    >>> import tracegrad as tg
    >>> class Line(tg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.slope = tg.nn.Parameter(tg.tensor([2.0]))
    ...
    ...     def forward(self, x):
    ...         return self.slope * x
    >>> line = Line()
    >>> line(tg.tensor([3.0]))
    tensor([6.], grad_fn=<MulBackward0>)
    >>> [name for name, _ in line.named_parameters()]
    ['slope']
    """

    training: bool
    _parameters: dict[str, Tensor | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Module | None]
    _non_persistent: set[str]
    _forward_hooks: dict[int, tuple[Callable[..., Any], bool]]
    _forward_pre_hooks: dict[int, tuple[Callable[..., Any], bool]]

    def __init__(self) -> None:
        found: dict[str, Any] = {
            "training": True,
            "_parameters": {},
            "_buffers": {},
            "_modules": {},
            "_non_persistent": set(),
        }
        for name, value in (found | {"_forward_hooks": {}, "_forward_pre_hooks": {}}).items():
            object.__setattr__(self, name, value)

    # --- attributes -------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        # Called only where ordinary look-up failed.
        own = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            if kind in own and name in own[kind]:
                return own[kind][name]
        if name in own.get("_computed", ()):
            return own["_computed"][name](self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if name in own.get("_computed", ()):
            own["_computed"][name].assign(self, value)
            return
        if isinstance(value, (Parameter, Module)):
            kind = "_parameters" if isinstance(value, Parameter) else "_modules"
            if kind not in own:
                what = "parameters" if kind == "_parameters" else "module"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            for other in ("_parameters", "_buffers", "_modules"):
                if other != kind:
                    own[other].pop(name, None)
            own.pop(name, None)
            own[kind][name] = value
            return
        for kind, what in (
            ("_parameters", "parameter"),
            ("_buffers", "buffer"),
            ("_modules", "child module"),
        ):
            if kind in own and name in own[kind]:
                wanted: Any = {"_parameters": Parameter, "_buffers": Tensor, "_modules": Module}[
                    kind
                ]
                if value is not None and not isinstance(value, wanted):
                    raise TypeError(
                        f"cannot assign '{type(value).__name__}' object to {what} '{name}' "
                        f"({wanted.__name__} or None required)"
                    )
                own[kind][name] = value
                return
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        held = (self._parameters, self._buffers, self._modules, self.__dict__.get("_computed", ()))
        return sorted({*super().__dir__(), *[name for kind in held for name in kind]})

    def _compute(self, name: str, how: Any) -> None:
        """Let `how(self)` be the value of a name that nothing else has, and `how.assign(self,
        value)` what an assignment does; None: no longer."""
        computed = self.__dict__.setdefault("_computed", {})
        if how is None:
            del computed[name]
        else:
            computed[name] = how

    def _check_name(self, what: str, name: Any) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if not name:
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and not any(
            name in self.__dict__[kind] for kind in ("_parameters", "_buffers", "_modules")
        ):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter; None keeps the name for one that is not there."""
        self._check_name("parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                "(Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a Tensor that belongs to the state but is not trained; `persistent=False` keeps it
        out of `state_dict`."""
        self._check_name("buffer", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                "(Tensor or None required)"
            )
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        self._check_name("module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"add_module: {type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    # --- walks ------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """(name, module) of the modules directly below."""
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly below."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(name, module) of this module and all below it."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        if remove_duplicate:
            seen.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    seen, f"{prefix}.{name}" if prefix else name, remove_duplicate
                )

    def modules(self) -> Iterator[Module]:
        """This module and all below it."""
        return (module for _, module in self.named_modules())

    def _named(
        self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        whole = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in whole:
            for name, value in module.__dict__[kind].items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(name, parameter) of this module and (`recurse`) of those below."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of this module and (`recurse`) of those below, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """(name, buffer) of this module and (`recurse`) of those below."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of this module and (`recurse`) of those below."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as "encoder.0"."""
        module: Module = self
        for name in target.split(".") if target else ():
            found = module._modules.get(name)
            if found is None:
                raise AttributeError(
                    f"get_submodule: {type(module).__name__} has no submodule `{name}`"
                )
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as "encoder.0.weight"."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if not isinstance(found, Parameter):
            raise AttributeError(f"get_parameter: there is no parameter `{target}`")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._buffers.get(name)
        if found is None:
            raise AttributeError(f"get_buffer: there is no buffer `{target}`")
        return found

    # --- calls ------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; every subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks:
            args, kwargs = self._prepared(args, kwargs)
        try:
            result = (entered(self.forward) if LEARNT else self.forward)(*args, **kwargs)
        except REFUSED as error:
            raise explained(
                error, type(self).__name__, type(self).forward, (self, *args), kwargs
            ) from error.__cause__
        for hook, with_kwargs in tuple(self._forward_hooks.values()):
            changed = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            result = result if changed is None else changed
        return result

    def _prepared(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        for hook, with_kwargs in tuple(self._forward_pre_hooks.values()):
            changed = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if changed is not None and with_kwargs:
                args, kwargs = changed
            elif changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args, result)` after each forward; what it returns, unless None, takes
        the result's place."""
        return _register(self, "_forward_hooks", (hook, with_kwargs), prepend)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; what it returns, unless None, takes the
        arguments' place."""
        return _register(self, "_forward_pre_hooks", (hook, with_kwargs), prepend)

    # --- state ------------------------------------------------------------------------------------

    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """Name -> Tensor of all parameters and persistent buffers, without history (unless
        `keep_vars`); the memory is shared."""
        found: dict[str, Any] = OrderedDict() if destination is None else destination
        for name, value in (*self._parameters.items(), *self._buffers.items()):
            if value is not None and name not in self._non_persistent:
                found[prefix + name] = value if keep_vars else value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=found, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Incompatible:
        """Copy values into parameters and buffers of these names (or, with `assign`, take the
        Tensors themselves).

        A RuntimeError lists names that are missing or unexpected (if `strict`), and shapes that
        differ.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict).__name__}."
            )
        places = {}
        for path, module in self.named_modules(remove_duplicate=False):
            for kind in (module._parameters, module._buffers):
                for name, value in kind.items():
                    if value is not None and name not in module._non_persistent:
                        places[f"{path}.{name}" if path else name] = (kind, name, value)
        missing = [key for key in places if key not in state_dict]
        unexpected = [key for key in state_dict if key not in places]
        errors = []
        if strict and unexpected:
            errors.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}.")
        if strict and missing:
            errors.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}.")
        for key, (_, _, value) in places.items():
            if key in state_dict and tuple(np.shape(state_dict[key])) != tuple(value.shape):
                errors.append(
                    f"size mismatch for {key}: copying a param with shape "
                    f"{tuple(np.shape(state_dict[key]))} from checkpoint, the shape in current "
                    f"model is {tuple(value.shape)}."
                )
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        with no_grad():
            for key, (kind, name, value) in places.items():
                if key not in state_dict:
                    continue
                new = state_dict[key]
                if not assign:
                    value.copy_(new if isinstance(new, Tensor) else np.asarray(new))
                elif isinstance(value, Parameter):
                    kind[name] = (
                        new if isinstance(new, Parameter) else Parameter(new, value.requires_grad)
                    )
                else:
                    kind[name] = new
        return Incompatible(missing, unexpected)

    def train(self, mode: bool = True) -> Self:
        """Set `training` here and below: dropout and batch normalisation behave differently."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """`train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether the parameters are trained."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zeros."""
        for p in self.parameters():
            clear(p, set_to_none)

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with each module below and then this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Bring the parameters and buffers to a device, and those of floating-point numbers into a
        dtype. They stay the same objects."""
        dtype, device = dtype_and_device(args, kwargs.get("dtype"), kwargs.get("device"))
        for module in self.modules():
            for kind in (module._parameters, module._buffers):
                for value in kind.values():
                    if value is None:
                        continue
                    wanted = dtype if value.dtype.kind in "fc" else None
                    value.data = value.detach().to(dtype=wanted, device=device)
                    if value.grad is not None:
                        value._grad = value.grad.detach().to(dtype=wanted, device=device)
        return self

    def double(self) -> Self:
        """`to(float64)`."""
        return self.to(np.float64)

    def float(self) -> Self:
        """`to(float32)`."""
        return self.to(np.float32)

    def cpu(self) -> Self:
        """`to("cpu")`."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None) -> Self:
        """`to("cuda")`, or to the GPU of this number."""
        return self.to(device=Device("cuda" if device is None else device))

    # --- text -------------------------------------------------------------------------------------

    def extra_repr(self) -> str:
        """What the module's line shows between its parentheses."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        lines = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        extra = self.extra_repr()
        if not lines:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}({extra}\n  " + "\n  ".join(lines) + "\n)"


def _register(
    module: Module, kind: str, entry: tuple[Callable[..., Any], bool], prepend: bool
) -> RemovableHandle:
    hooks: dict[int, Any] = module.__dict__[kind]
    others = dict(hooks)
    handle = add_hook(hooks, entry[0])
    hooks[next(reversed(hooks))] = entry
    if prepend:
        # In the same dict, which the handles of the others know.
        for key in others:
            hooks[key] = hooks.pop(key)
    return handle


__all__ = ["Incompatible", "Module"]
