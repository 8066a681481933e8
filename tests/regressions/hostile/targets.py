"""What is public and can be called, by groups that go into a process each."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracegrad as tg
import tracegrad.torch as torch

from . import distributions, inside, numpy_calls, objects, operators
from .examples import MADE, OF
from .numpy_calls import OTHER_FUNCTIONS
from .scipy_names import HANGS, THEIRS
from .target import Target, target

NAMESPACES = {
    "tg": tg,
    "tg.linalg": tg.linalg,
    "tg.fft": tg.fft,
    "tg.signal": tg.signal,
    "tg.special": tg.special,
    "tg.stats": tg.stats,
    "tg.ndimage": tg.ndimage,
    "tg.interpolate": tg.interpolate,
    "tg.integrate": tg.integrate,
    "tg.scale": tg.scale,
    "tg.scipy": tg.scipy,
    "tg.interfaces": tg.interfaces,
    "tg.jax": tg.jax,
    "tg.pytensor": tg.pytensor,
    "tg.tree": tg.tree,
    "tg.sparse": tg.sparse,
    "tg.array_api": tg.array_api,
    "tg.array_api.fft": tg.array_api.fft,
    "tg.array_api.linalg": tg.array_api.linalg,
    "tg.func": tg.func,
    "tg.nn": tg.nn,
    "tg.nn.functional": tg.nn.functional,
    "tg.nn.init": tg.nn.init,
    "tg.nn.utils": tg.nn.utils,
    "tg.nn.utils.parametrizations": tg.nn.utils.parametrizations,
    "tg.nn.utils.parametrize": tg.nn.utils.parametrize,
    "tg.nn.utils.rnn": tg.nn.utils.rnn,
    "tg.optim": tg.optim,
    "tg.optim.lr_scheduler": tg.optim.lr_scheduler,
    "tg.autograd": tg.autograd,
    "tg.autograd.functional": tg.autograd.functional,
    "tg.autograd.forward_ad": tg.autograd.forward_ad,
    "tg.autograd.graph": tg.autograd.graph,
    "tg.autograd.profiler": tg.autograd.profiler,
    "tg.utils.checkpoint": tg.utils.checkpoint,
    "tg.cuda": tg.cuda,
    "torch": torch,
    "torch.autograd": torch.autograd,
    "torch.distributions": torch.distributions,
    "torch.fft": torch.fft,
    "torch.linalg": torch.linalg,
    "torch.random": torch.random,
    "torch.special": torch.special,
    "torch.utils.data": torch.utils.data,
}
SAME = {
    "torch.autograd.forward_ad": "tg.autograd.forward_ad",
    "torch.autograd.functional": "tg.autograd.functional",
    "torch.autograd.graph": "tg.autograd.graph",
    "torch.autograd.profiler": "tg.autograd.profiler",
    "torch.cuda": "tg.cuda",
    "torch.func": "tg.func",
    "torch.nn": "tg.nn",
    "torch.nn.functional": "tg.nn.functional",
    "torch.nn.init": "tg.nn.init",
    "torch.nn.utils": "tg.nn.utils",
    "torch.nn.utils.parametrizations": "tg.nn.utils.parametrizations",
    "torch.optim": "tg.optim",
    "torch.optim.lr_scheduler": "tg.optim.lr_scheduler",
    "torch.utils.checkpoint": "tg.utils.checkpoint",
}
"""Namespaces of torch's that hold the objects of one of ours, which are called there."""


WITHIN = ("tg.tree.input_names", "tg.tree.later")
"""What only the library itself calls."""


def named(prefix: str) -> dict[str, Any]:
    """What a namespace has that is public and can be called."""
    module = NAMESPACES[prefix]
    names = set(getattr(module, "__all__", ()))
    if module is tg:
        names |= {n for n in dir(tg) if not n.startswith("_")} - {"annotations"}
    found = {name: getattr(module, name) for name in sorted(names)}
    return {
        name: value
        for name, value in found.items()
        if callable(value)
        and not isinstance(value, types.ModuleType)
        and f"{prefix}.{name}" not in WITHIN
        and not (
            isinstance(value, type)
            and (issubclass(value, (Exception, np.generic)) or value is np.dtype)
        )
    }


def public(prefix: str) -> Iterator[tuple[str, Any]]:
    """The same, but for what torch's namespace has from ours."""
    ours = (
        {id(value) for p in NAMESPACES if p.startswith("tg") for value in named(p).values()}
        if prefix.startswith("torch")
        else set()
    )
    for name, value in named(prefix).items():
        if id(value) not in ours:
            yield f"{prefix}.{name}", value


SAID = (
    "forward rule",
    "backward rule",
    "traced function returned",
    "cotangents?",
    "rule returned",
    "index",
    "indices",
    "grad",
    "jacobian",
    "axis",
)
"""What messages call functions that users gave, and what is asked of results."""


def made() -> Iterator[Target]:
    for name, (make, args) in MADE.items():
        yield Target(name, make, args, whole=True, words=SAID)


def usual() -> Any:
    return tg.tensor([[0.5, 0.25], [0.25, 0.75]])


def methods(kind: type, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    for method in sorted(dir(kind)):
        if method.startswith("_"):
            continue
        value = getattr(kind, method, None)
        if callable(value) and not isinstance(value, type):
            made = OF.get(f"{name}.{method}", usual)
            yield f"{name}.{method}", lambda method=method, made=made: getattr(made(), method)


def of_numpy(name: str) -> Callable[..., Any] | None:
    """NumPy's function of our name."""
    if name in OTHER_FUNCTIONS:
        return OTHER_FUNCTIONS[name]
    if name in HANGS:
        return None
    prefix, _, last = name.rpartition(".")
    return getattr(THEIRS.get(prefix), last, None)


def of(name: str, function: Callable[..., Any]) -> Target:
    """The target that a function is. Of a key messages speak as of an index."""
    words = ("index", "indices", "indexed") if name == "tg.getitem" else ()
    return target(name, lambda: function)._replace(words=words)


def targets(group: str) -> Iterator[Target]:
    """All that is public in a group, with arguments that work. They are found by calls, which may
    change settings of the process."""
    if group == "what they return":
        yield from made()
    elif group in OTHERS:
        yield from OTHERS[group]()
    elif group == "Tensor":
        for name, make in methods(tg.Tensor, "Tensor"):
            yield target(name, make)
    else:
        for name, value in public(group):
            scipys = group in THEIRS and THEIRS[group].__name__.startswith("scipy")
            yield of(name, value)._replace(reference=of_numpy(name), scipys=scipys)


OF_RULES = ("tg.embed", "tg.iota", "tg.slice_array", "tg.slice_put", "tg.sum_axes")


def operations() -> Iterator[Target]:
    """Our functions of arrays, at whose first array a trace may stand, but for those that only
    rules call."""
    for name, value in public("tg"):
        if name.removeprefix("tg.") in tg.ops.__all__ and name not in OF_RULES:
            yield of(name, value)


OTHERS: dict[str, Callable[[], Iterator[Target]]] = {
    **operators.GROUPS,
    **numpy_calls.GROUPS,
    **objects.GROUPS,
    **distributions.GROUPS,
    **{
        f"operations in {transform}": lambda t=transform: inside.inside(t, operations)
        for transform in inside.TRANSFORMS
    },
    **{
        f"NumPy functions in {transform}": lambda t=transform: inside.inside(t, numpy_calls.plain)
        for transform in inside.TRANSFORMS
    },
}
GROUPS = (*NAMESPACES, "Tensor", "what they return", *OTHERS)
