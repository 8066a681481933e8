"""Modules that hold others: in sequence, as a list, as a dict; and lists of parameters."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from ...checks import describe
from ...checks.ranges import out_of_range
from ...tensor import Tensor
from .module import Module
from .parameter import Parameter


class _Indexed(Module):
    """Modules under the names "0", "1", ..."""

    def _place(self, index: Any) -> str:
        k = operator.index(index)
        if not -len(self) <= k < len(self):
            raise out_of_range(f"index {k} is out of range for {len(self)} modules")
        return list(self._modules)[k]

    def _renumber(self, modules: Iterable[Any]) -> None:
        self.__dict__["_modules"] = {str(k): m for k, m in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._place(index), module)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before another."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, index: Any = -1) -> Any:
        """Take a module out."""
        found = self[index]
        del self[index]
        return found

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            chosen = list(self._modules.items())[index]
            made = type(self)()
            if isinstance(self, Sequential):
                made.__dict__["_modules"] = dict(chosen)
            else:
                made._renumber(m for _, m in chosen)
            return made
        return self._modules[self._place(index)]

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._place(index)]
        for name in names:
            del self._modules[name]
        self._renumber(self._modules.values())


class Sequential(_Indexed):
    """Modules one after the other, given one by one or as an ordered dict.

    >>> import tracegrad as tg
    >>> tg.nn.Sequential(tg.nn.Linear(2, 3), tg.nn.ReLU())
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = (
            args[0].items()
            if len(args) == 1 and isinstance(args[0], Mapping)
            else ((str(k), m) for k, m in enumerate(args))
        )
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input


class ModuleList(_Indexed):
    """A list whose modules are found by `parameters()`, `to()` and so on."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(() if modules is None else modules)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        """Modules of one text stand in one line each with their number, as in torch."""
        runs: list[list[Any]] = []
        for k, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = k
            else:
                runs.append([k, k, text])
        lines = [f"({a}): {t}" if a == b else f"({a}-{b}): {b - a + 1} x {t}" for a, b, t in runs]
        inner = "\n".join(lines).replace("\n", "\n  ")
        return f"{self._get_name()}(\n  {inner}\n)" if lines else f"{self._get_name()}()"


def pairs_of(named: Any, what: str) -> list[tuple[Any, Any]]:
    """The items of a dict, or (name, value) pairs."""
    items = named.items() if hasattr(named, "items") else named
    pairs: list[Any] = list(items) if isinstance(items, Iterable) else [None]
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
        raise TypeError(
            f"{what} is {describe(named)}; it must be a dict or a sequence of (name, value) pairs"
        )
    return [(name, value) for name, value in pairs]


class ModuleDict(Module):
    """A dict whose modules are found by `parameters()`, `to()` and so on."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update({} if modules is None else modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take a module out."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """(name, module)."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules of a dict or of (name, module) pairs."""
        for name, module in pairs_of(modules, "modules"):
            self[name] = module


class ParameterList(Module):
    """A list of parameters; other Tensors in it become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(() if values is None else values)

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._parameters.values())

    def __getitem__(self, index: Any) -> Any:
        found = list(self._parameters.values())[index]
        return ParameterList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, list(self._parameters)[index], _parameter(value))

    def append(self, value: Any) -> Self:
        """Add a parameter at the end."""
        self.register_parameter(str(len(self)), _parameter(value))
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end."""
        for value in list(values):
            self.append(value)
        return self

    def __repr__(self) -> str:
        lines = [
            f"  ({k}): Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]"
            for k, p in enumerate(self)
        ]
        return "\n".join(["ParameterList(", *lines, ")"])


class ParameterDict(Module):
    """A dict of parameters; other Tensors in it become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        for name, value in pairs_of({} if parameters is None else parameters, "parameters"):
            self[name] = value

    def __getitem__(self, key: str) -> Any:
        return self._parameters[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, _parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def keys(self) -> Any:
        """The names."""
        return self._parameters.keys()

    def items(self) -> Any:
        """(name, parameter)."""
        return self._parameters.items()

    def values(self) -> Any:
        """The parameters."""
        return self._parameters.values()


def _parameter(value: Any) -> Parameter:
    if isinstance(value, Parameter):
        return value
    if not isinstance(value, Tensor):
        raise TypeError(f"expected a Parameter or a Tensor, got {type(value).__name__}")
    return Parameter(value)


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
