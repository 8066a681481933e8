"""NumPy's functions, ufuncs and their methods, called on Tensors and on ndarrays that are
differentiated."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracegrad as tg
from tracegrad.faces.dispatch import IGNORED
from tracegrad.faces.numpy.lookup import MODULES, counterpart_of
from tracegrad.faces.numpy.numpy_functions import FUNCTIONS
from tracegrad.faces.numpy.ufuncs import KNOWN

from . import things
from .examples import NUMPY
from .target import Target, parameters_of, target
from .things import Maker, boxed

OTHER_FUNCTIONS: dict[str, Callable[..., Any] | None] = {
    "tg.getitem": operator.getitem,
    "tg.neg": np.negative,
    **dict.fromkeys(("tg.linspace", "tg.select", "tg.set_printoptions")),  # torch's of that name
    # What these hold is not defined: an empty array, 1 // 0, the signs of singular vectors.
    **dict.fromkeys(("tg.empty_like", "tg.reciprocal", "tg.linalg.svd")),
    **dict.fromkeys(("np.empty_like", "np.reciprocal", "np.linalg.svd")),
}
"""Where NumPy's function of a name is not what to compare with."""


def supported() -> Iterator[tuple[str, Callable[..., Any]]]:
    """What the library takes of NumPy, by its own tables."""
    for prefix, module, _ in MODULES:
        for name in sorted(vars(module)):
            function = getattr(module, name)
            if (
                callable(function)
                and not isinstance(function, type)
                and not name.startswith("_")
                and hasattr(function, "__name__")
            ):
                known = (
                    function in KNOWN
                    if isinstance(function, np.ufunc)
                    else function in FUNCTIONS or counterpart_of(function)[0]
                )
                if known and (
                    isinstance(function, np.ufunc) or hasattr(function, "_implementation")
                ):
                    yield f"{prefix}.{name}", function


def with_box(function: Callable[..., Any], of: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function, with its first array in a box."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        box, args = boxed(args, of)
        if not box:
            raise things.Nothing("no array among the arguments")
        return function(*args, **kwargs)

    return call


def functions() -> Iterator[Target]:
    for name, function in supported():
        if not isinstance(function, np.ufunc):
            made = (
                target(name, lambda f=function: with_box(f, tg.Tensor))
                if name not in NUMPY
                else given(name, function)
            )
            yield made._replace(
                reference=OTHER_FUNCTIONS.get(name, function),
                options=tuple(o for o in made.options if o not in UNREAD),
            )


UNREAD = IGNORED | {
    "max_work",
    "optimize",
    "max_line_width",
    "precision",
    "suppress_small",
    "separator",
    "prefix",
    "style",
    "formatter",
}
UNREAD |= {"threshold", "edgeitems", "sign", "floatmode", "suffix", "legacy"}
"""Options that change nothing about values, which are not looked at."""


def given(name: str, function: Callable[..., Any]) -> Target:
    args, options = NUMPY[name], ()
    parameters = parameters_of(function)
    if parameters is not None:
        options = tuple(
            p.name for p in parameters if p.default is not p.empty and p.name not in dict(args)
        )
    return Target(name, lambda: with_box(function, tg.Tensor), args, options)


def ufunc_arguments(name: str, function: Any) -> tuple[tuple[str, Maker], ...]:
    if name in NUMPY:
        return NUMPY[name]
    one = (
        (lambda: np.array([[0.5, 0.25], [0.25, 0.75]]))
        if takes_reals(function)
        else (lambda: np.array([[1, 2], [3, 1]]))
    )
    return tuple((f"operand {k}", one) for k in range(function.nin))


def ufuncs() -> Iterator[Target]:
    for name, function in supported():
        if isinstance(function, np.ufunc):
            args = ufunc_arguments(name, function)
            options = ("out", "where", "dtype", "casting", "signature")
            yield Target(
                name,
                lambda f=function: with_box(f, tg.Tensor),
                args,
                options,
                reference=OTHER_FUNCTIONS.get(name, function),
            )
            if function.nin == 2 and function.nout == 1 and function.signature is None:
                for method, more in METHODS.items():
                    yield Target(
                        f"{name}.{method}",
                        lambda f=function, m=method: with_box(getattr(f, m), tg.Tensor),
                        (args[0], *more),
                        OPTIONS[method],
                        reference=getattr(function, method),
                    )


METHODS: dict[str, Any] = {
    "reduce": (("axis", lambda: 0),),
    "accumulate": (("axis", lambda: 0),),
    "reduceat": (("indices", lambda: [0, 1]), ("axis", lambda: 0)),
    "outer": (("other", lambda: np.array([1, 2])),),
    "at": (("indices", lambda: [0, 1]), ("values", lambda: 1)),
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "reduce": ("dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("dtype", "out"),
    "reduceat": ("dtype", "out"),
    "outer": ("out", "dtype"),
    "at": (),
}


def takes_reals(function: Any) -> bool:
    try:
        function.resolve_dtypes((*[np.dtype(float)] * function.nin, *[None] * function.nout))
    except TypeError:
        return False
    return True


def plain() -> Iterator[Target]:
    """NumPy's functions and ufuncs as they are."""
    for name, function in supported():
        if not isinstance(function, np.ufunc):
            made = (
                target(name, lambda f=function: f) if name not in NUMPY else given(name, function)
            )
            yield made._replace(make=lambda f=function: f)
        else:
            yield Target(
                name, lambda f=function: f, ufunc_arguments(name, function), reference=function
            )


GROUPS = {"NumPy functions": functions, "ufuncs": ufuncs}
