"""NumPy's and SciPy's ufuncs on boxed values.

A ufunc is recognised by identity: whoever else makes one (`numba.vectorize`, `np.frompyfunc`) may
give it any name. The dtypes of a call that asks for some (`dtype=`, `signature=`, `casting=`), and
of every reduction, are what NumPy resolves for that ufunc.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...devices import share_memory
from ...errors import DTypeError, UnsupportedFunctionError
from ...ir.dispatch import STATE, Value
from ...ir.graph import Var
from ...ir.lines import user_line
from ...ops.scipy_special import functions as special_functions
from ...sizes import OF_SHAPES
from ...weak import KINDS, WEAK
from ..operators import operand
from .in_turn import refuse_twice
from .lookup import boxes_in, find, plain, store, tracked, unsupported

NO_VALUE = np._NoValue
KNOWN: dict[Any, Callable[..., Any]] = {
    ufunc: target
    for ufunc in vars(np).values()
    if isinstance(ufunc, np.ufunc) and (target := find(ufunc.__name__)) is not None
}
"""The operation that each ufunc of NumPy is; those of SciPy join when one is first met."""
SCIPY = tuple(
    sorted(set(special_functions.__all__) - {
        "comb", "diric", "factorial", "ivp", "jvp", "kvp", "lambertw", "log_softmax", "logsumexp",
        "multigammaln", "perm", "polygamma", "sinc", "softmax", "softplus", "sph_harm_y",
        "spherical_in", "spherical_jn", "spherical_kn", "spherical_yn", "yvp", "zeta",
    } | {"round"})
)  # fmt: skip
"""The ufuncs of scipy.special that are operations here, under the same name."""


def counterpart(ufunc: Any) -> Callable[..., Any] | None:
    """The operation that a ufunc is, or None."""
    found = KNOWN.get(ufunc)
    if found is None and _home(ufunc) == "scipy.special" and ufunc.__name__ in SCIPY:
        home = ops if ufunc.__name__ == "round" else special_functions
        found = KNOWN[ufunc] = getattr(home, ufunc.__name__)
    return found


def _home(ufunc: Any) -> str:
    """Whose ufunc it is: "np", "scipy.special", or "" where it is somebody else's."""
    for name, module in (("np", np), ("scipy.special", sys.modules.get("scipy.special"))):
        if getattr(module, ufunc.__name__, None) is ufunc:
            return name
    return ""


def name_of(ufunc: Any, method: str = "__call__") -> str:
    """What messages call a ufunc or its method."""
    home = _home(ufunc)
    name = f"{home}.{ufunc.__name__}" if home else f"the ufunc {ufunc.__name__!r}"
    return name if method == "__call__" else f"{name}.{method}"


def unknown(ufunc: Any, method: str) -> UnsupportedFunctionError:
    """The refusal of a ufunc without a counterpart."""
    if _home(ufunc):
        return unsupported(name_of(ufunc, method))
    behind = getattr(sys.modules.get("scipy.special"), ufunc.__name__.removeprefix("_"), None)
    if str(getattr(behind, "__module__", "")).startswith("scipy.special"):
        # A function of SciPy's in Python, whose ufunc is its name's with an underscore.
        return unsupported(f"scipy.special.{ufunc.__name__.removeprefix('_')}")
    error = UnsupportedFunctionError(
        f"{user_line()}: {name_of(ufunc, method)} is neither NumPy's nor SciPy's (numba.vectorize "
        "and np.frompyfunc make such functions), so its derivative is not known "
        "and it cannot be traced. Write its formula with NumPy's functions; for running code, "
        "give it a derivative with tg.custom_vjp or tg.custom_jvp."
    )
    # Where a rewritten function calls it, its Python function may be known.
    error.of_python = method == "__call__"
    return error


def by_numpy(
    function: Callable[..., Any],
    refusal: Callable[[], Exception],
    args: Any,
    kwargs: dict[str, Any],
) -> Any:
    """NumPy itself for what has no counterpart, where nothing is lost by it: no trace, no
    gradient."""
    boxes = boxes_in(args) + boxes_in(kwargs)
    if STATE.traces or any(tracked(b) for b in boxes):
        raise refusal()
    out = kwargs.pop("out", None)
    face: Any = type(boxes[0]) if boxes else type(None)
    if out is not None:
        # Into the memory itself, or into a copy of what a box holds.
        targets = [plain(o).copy() if isinstance(o, Value) else o for o in as_tuple(out)]
        function(
            *plain(args), **plain(kwargs), out=targets[0] if len(targets) == 1 else tuple(targets)
        )
        for o, t in zip(as_tuple(out), targets, strict=True):
            if isinstance(o, Value):
                store(o, t)
        return out[0] if isinstance(out, tuple) and len(out) == 1 else out
    result = function(*plain(args), **plain(kwargs))

    def boxed(r: Any) -> Any:
        if isinstance(r, (np.ndarray, np.generic)) and boxes:
            if not face.boxes_everything and any(share_memory(r, b._data) for b in boxes):
                raise refusal()  # a view that would not see what is written later
            return face._make(r)
        return type(r)(map(boxed, r)) if type(r) in (list, tuple) else r

    return boxed(result)


def as_tuple(out: Any) -> tuple[Any, ...]:
    """What `out=` names, one or several."""
    return out if isinstance(out, tuple) else (out,)


def kind_of(x: Any) -> Any:
    """An operand as NumPy's resolution of dtypes takes it: a dtype, or the type of a Python
    number."""
    if isinstance(x, Value):
        data = x._data
        if type(data) in KINDS:
            return data.python
        if isinstance(data, Var) and data.type.weak:
            return {"i": int, "f": float, "c": complex}.get(data.type.dtype.kind, data.type.dtype)
        return data.dtype
    if isinstance(x, OF_SHAPES) and not isinstance(x, bool):
        return int
    if isinstance(x, WEAK):
        return x.python
    return type(x) if type(x) in (float, complex) else np.asarray(x).dtype


def resolved(
    ufunc: Any, name: str, kinds: Sequence[Any], casting: Any = "same_kind", **options: Any
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of operands and results with which NumPy would call the ufunc."""
    exact = casting in ("no", "equiv")
    try:
        # NumPy 2.4 crashes on what these two forbid.
        found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes(
            tuple(kinds),
            casting="unsafe" if exact else casting,
            **{k: v for k, v in options.items() if v is not None},
        )
    except TypeError as error:
        raise DTypeError(f"{user_line()}: {name}: {error}") from None
    for given, made in zip(kinds, found, strict=False):
        known = isinstance(given, np.dtype)  # not one of Python's numbers
        if exact and known and not np.can_cast(given, made, casting):
            raise DTypeError(
                f"{user_line()}: {name}: an operand of dtype {given} cannot be cast to "
                f"{made} by the rule {casting!r}"
            )
    return found


def call(ufunc: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A ufunc of operands of which one is boxed."""
    name, target = name_of(ufunc), counterpart(ufunc)
    out, where = _destination(options.pop("out", None)), options.pop("where", True)
    refuse_twice(name, out)
    if where is not True and out is None:
        raise unsupported(
            name, " with where= and without out= (its other elements would be undefined)"
        )
    if target is None:
        given = {"out": out, "where": where} if out is not None else {}
        return by_numpy(ufunc, lambda: unknown(ufunc, "__call__"), inputs, {**options, **given})
    operands = [operand(x) for x in inputs]
    dtype = options.pop("dtype", None)
    for key in ("casting", "signature"):
        if key in options and options[key] is None:
            raise TypeError(f"{name}: {key} is None; it must be given in words, or left out")
    signature = options.pop("signature", options.pop("sig", None))
    casting = options.pop("casting", "same_kind")
    for key in ("order", "subok", "extobj"):  # nothing about values
        options.pop(key, None)
    options = {k: v for k, v in options.items() if v is not NO_VALUE}
    if options and not (ufunc is np.vecdot and set(options) <= {"axis"}):
        raise unsupported(name, f" with {next(iter(options))}=")
    results = None
    if dtype is not None or signature is not None or casting != "same_kind":
        if signature is None and dtype is not None:
            signature = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
        kinds = (*map(kind_of, operands), *[None] * ufunc.nout)
        found = resolved(ufunc, name, kinds, signature=signature, casting=casting)
        operands = [ops.convert(x, kind) for x, kind in zip(operands, found, strict=False)]
        results = found[ufunc.nin :]
    result = target(*operands, **options)
    if results is not None:
        single = ufunc.nout == 1
        parts = [
            ops.convert(r, kind)
            for r, kind in zip((result,) if single else result, results, strict=True)
        ]
        result = parts[0] if single else tuple(parts)
    return result if out is None else store(out, result, where, casting)


def _destination(out: Any) -> Any:
    """What `out=` names, in a tuple of which it makes no difference whether NumPy put it there."""
    return None if isinstance(out, tuple) and all(o is None for o in out) else out
