"""What Numba makes of functions besides compiled ones, where traced values are given:
`numba.vectorize`, `numba.guvectorize`, `numba.stencil`, `numba.typed.List` and `Dict`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control import mapping
from ..dtypes import module_of
from ..errors import ConcretizationError, TracegradError
from ..faces.operators import array_of, operand
from ..ir.trace import user_line
from ..sizes import at_most
from ..types import show
from .constructors import new_array
from .lists import Grown
from .places import any_in, followed
from .session import Session

Function = Callable[..., Any]


def _is(x: Any, module: str, name: str) -> bool:
    return type(x).__name__ == name and module_of(type(x)).startswith(module)


def is_vectorized(function: Any) -> bool:
    """Whether `numba.vectorize` made it."""
    return _is(function, "numba.np.ufunc", "DUFunc")


def is_generalized(function: Any) -> bool:
    """Whether `numba.guvectorize` made it."""
    return _is(function, "numba.np.ufunc", "GUFunc")


def is_of_numba(function: Any) -> bool:
    """Whether it is one of the things that this file knows."""
    return (
        _is(function, "numba.stencils", "StencilFunc")
        or _is(function, "numba.experimental.jitclass", "JitClassType")
        or _container(function) is not None
    )


def _container(function: Any) -> Any:
    """What stands for a call that makes one of Numba's containers; None of other calls."""
    empty = getattr(function, "__name__", "") in ("empty", "empty_list")
    made = getattr(function, "__self__", None) if empty else function
    if not isinstance(made, type) or not module_of(made).startswith("numba.typed."):
        return None
    kind = {"List": Grown, "Dict": dict}.get(made.__name__)
    return (lambda *types: kind()) if kind is not None and empty else kind


def by_python(session: Session, function: Any, args: Any, kwargs: Any) -> Any:
    """A call of one with traced values, or in a branch or loop on them; None of others."""
    if (container := _container(function)) is not None:
        return container(*args)
    if not any_in(args, followed):
        return None
    if isinstance(function, type):
        raise ConcretizationError(
            f"{user_line()}: {function.__name__} is a class that numba.experimental.jitclass "
            "compiles, whose fields hold plain numbers; take the class without that decorator"
        )
    return _stencil(session, function, args, kwargs)


class Vectorized:
    """A `numba.vectorize` as `np.vectorize` is: its function, and the dtypes it was given."""

    signature, excluded = None, frozenset[Any]()

    def __init__(self, function: Any, args: Sequence[Any]) -> None:
        self.pyfunc = function._dispatcher.py_func
        self.otypes, self.itypes = "", None
        if function.types:
            given = [array_of(operand(x)).dtype for x in args]
            found = function.ufunc.resolve_dtypes((*given, *[None] * function.nout))
            self.itypes, out = found[: len(given)], found[len(given) :]
            self.otypes = "".join(d.char for d in out)


class Generalized:
    """A `numba.guvectorize` as an `np.vectorize` with a signature is: its function writes into the
    last of its arguments, of which each call makes some."""

    excluded = frozenset[Any]()

    def __init__(self, session: Session, function: Any, args: Sequence[Any]) -> None:
        self.signature = function.signature
        made = function.gufunc_builder
        self.otypes = ""
        ufunc, given = function.ufunc, [array_of(operand(x)).dtype for x in args]
        declared = made._sigs[0] if function.types else None
        found = [np.result_type(*given)] * function.nout
        if declared is not None:
            found = list(ufunc.resolve_dtypes((*given, *[None] * ufunc.nout))[len(given) :])
        f = session.version(made.py_func)

        def core(*values: Any) -> Any:
            sizes: dict[str, Any] = {}
            for names, x in zip(made.sin, values, strict=True):
                sizes.update(zip(names, x.shape, strict=True))
            inner = [
                ops.reshape(x, 1) if not names and _is_array(declared, k) else x
                for k, (names, x) in enumerate(zip(made.sin, values, strict=True))
            ]
            outs = [
                new_array(tuple([sizes[n] for n in names]) or (1,), dtype)
                for names, dtype in zip(made.sout, found, strict=True)
            ]
            f(*inner, *outs)
            results = [
                x if names else ops.reshape(x, ()) for names, x in zip(made.sout, outs, strict=True)
            ]
            return tuple(results) if len(results) > 1 else results[0]

        self.pyfunc = core


def _is_array(declared: Any, k: int) -> bool:
    """Whether the declared types say that this argument is an array."""
    return declared is not None and hasattr(declared.args[k], "ndim")


# --- stencils -------------------------------------------------------------------------------------


class _Near:
    """An array as the kernel of a stencil sees it: by places that are relative to an element."""

    def __init__(self, read: Callable[[tuple[int, ...]], Any], ndim: int) -> None:
        self.read, self.ndim = read, ndim

    def __getitem__(self, key: Any) -> Any:
        places = key if isinstance(key, tuple) else (key,)
        if len(places) != self.ndim or not all(isinstance(k, (int, np.integer)) for k in places):
            raise ConcretizationError(
                f"{user_line()}: a stencil is read at integers that are known, one for each of "
                f"the {self.ndim} axes"
            )
        return self.read(tuple(map(int, places)))


def _stencil(session: Session, stencil: Any, args: Any, kwargs: Any) -> Any:
    """A call of a `numba.stencil`: its kernel, applied to slices that are shifted against each
    other; the border gets `cval`."""
    options = stencil.options
    if kwargs:
        raise ConcretizationError(
            f"{user_line()}: a stencil with out= cannot be differentiated; use its result"
        )
    kernel = session.version(stencil.kernel_ir.func_id.func)
    names = stencil.kernel_ir.arg_names
    plain = options.get("standard_indexing", ())
    arrays = {
        k: array_of(operand(x))
        for k, (x, name) in enumerate(zip(args, names, strict=False))
        if getattr(x, "ndim", 0) and name not in plain
    }
    first = arrays[0]
    for x in arrays.values():
        if x.ndim != first.ndim:
            raise ValueError(
                f"{user_line()}: a stencil's arrays have equally many axes, not shapes "
                f"{show(tuple(first.shape))} and {show(tuple(x.shape))}"
            )
    met: dict[tuple[int, tuple[int, ...]], None] = {}

    def run(read: Callable[[int, tuple[int, ...]], Any]) -> Any:
        def near(k: int, at: tuple[int, ...]) -> Any:
            met[k, at] = None
            return read(k, at)

        given = [
            _Near(functools.partial(near, k), first.ndim) if k in arrays else x
            for k, x in enumerate(args)
        ]
        return array_of(operand(kernel(*given)))

    dtype = run(lambda k, at: ops.zeros((), arrays[k].dtype)).dtype
    while True:
        # A branch that is taken later may read at further places.
        known = len(met)
        found = _applied(run, arrays, list(met), options, dtype)
        if len(met) == known:
            return found


def _applied(run: Any, arrays: Any, met: list[Any], options: Any, dtype: Any) -> Any:
    """The kernel at all places where it reads inside of the arrays."""
    shape = tuple(arrays[0].shape)
    around = options.get("neighborhood") or [
        (min(0, *[at[d] for _, at in met]), max(0, *[at[d] for _, at in met]))
        for d in range(len(shape))
    ]
    value = options.get("cval", 0)
    if any(at_most(n, hi - lo) for n, (lo, hi) in zip(shape, around, strict=True)):
        return ops.full(shape, value, dtype)
    inner = [slice(-lo, n - hi) for n, (lo, hi) in zip(shape, around, strict=True)]

    def shifted(k: int, at: tuple[int, ...]) -> Any:
        where = [slice(s.start + a, s.stop + a) for s, a in zip(inner, at, strict=True)]
        return arrays[k][tuple(where)]

    try:
        found = run(shifted)
    except (TracegradError, ValueError):
        # A kernel with branches sees one element.
        flat = tuple([ops.reshape(shifted(k, at), (-1,)) for k, at in met])

        def one(values: Any) -> Any:
            return run(
                lambda k, at: (
                    values[met.index((k, at))] if (k, at) in met else ops.zeros((), arrays[k].dtype)
                )
            )

        found = ops.reshape(mapping.map(one, flat), tuple(s.stop - s.start for s in inner))
    return ops.pad(
        ops.convert(found, dtype), [(-lo, hi) for lo, hi in around], constant_values=value
    )


__all__ = [
    "Generalized",
    "Vectorized",
    "by_python",
    "is_generalized",
    "is_of_numba",
    "is_vectorized",
]
