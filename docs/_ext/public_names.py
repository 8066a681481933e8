"""What is public, by namespace, found in the code."""

from __future__ import annotations

import functools
import importlib
import types
from typing import Any

import tracegrad as tg

NAMESPACES = (
    "tracegrad",
    "tracegrad.autograd",
    "tracegrad.autograd.forward_ad",
    "tracegrad.autograd.functional",
    "tracegrad.autograd.graph",
    "tracegrad.autograd.profiler",
    "tracegrad.cuda",
    "tracegrad.fft",
    "tracegrad.func",
    "tracegrad.integrate",
    "tracegrad.interpolate",
    "tracegrad.jax",
    "tracegrad.linalg",
    "tracegrad.nn",
    "tracegrad.nn.functional",
    "tracegrad.nn.init",
    "tracegrad.nn.utils",
    "tracegrad.nn.utils.parametrizations",
    "tracegrad.nn.utils.parametrize",
    "tracegrad.nn.utils.rnn",
    "tracegrad.optim",
    "tracegrad.optim.lr_scheduler",
    "tracegrad.pytensor",
    "tracegrad.scale",
    "tracegrad.scipy",
    "tracegrad.ndimage",
    "tracegrad.signal",
    "tracegrad.sparse",
    "tracegrad.special",
    "tracegrad.stats",
    "tracegrad.torch",
    "tracegrad.array_api",
    "tracegrad.tree",
    "tracegrad.utils.checkpoint",
)
INSIDE = {"annotations", "OPS"}


def namespace(name: str) -> Any:
    """The module, or what stands for one (`tracegrad.jax` is a module of the bridges)."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return functools.reduce(getattr, name.split(".")[1:], tg)


@functools.cache
def names(place: str) -> dict[str, Any]:
    """Public things of a namespace that are functions or classes."""
    module = namespace(place)
    listed = set(getattr(module, "__all__", ()))
    if module is tg or not listed:
        listed |= {n for n in dir(module) if not n.startswith("_")}
    found = {n: getattr(module, n) for n in sorted(listed - INSIDE, key=str.casefold)}
    return {
        n: x
        for n, x in found.items()
        if not isinstance(x, types.ModuleType)
        and (module is tg or getattr(x, "__module__", "").startswith("tracegrad"))
    }


@functools.cache
def everywhere() -> frozenset[str]:
    """Names in full of all that has a page."""
    import api_pages

    return frozenset(f"{place}.{n}" for place in api_pages.WITH_PAGES for n in names(place))


def full(name: str, place: str) -> str:
    """What a name in the text of `place` is called in full, or "" where it is not public."""
    bare = name.removesuffix("()").removeprefix("tracegrad.").removeprefix("tg.")
    for prefix in (place, "tracegrad"):
        if f"{prefix}.{bare}" in everywhere():
            return f"{prefix}.{bare}"
    return ""
