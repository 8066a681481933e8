"""The methods of ufuncs on boxed values: `reduce`, `accumulate`, `reduceat`, `outer` and `at`, with
NumPy's arguments.

Where an operation combines many elements at once (a sum, a maximum), that is taken; any other
reduction goes from element to element as NumPy's does, over at most `FOLDED` of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import ops
from ...errors import DTypeError, ShapeError
from ...ir.dispatch import STATE
from ...ir.lines import user_line
from ...ops.define import ndim_of, shape_of
from ...ops.elementwise.elementary import LN2
from ...ops.places.combining import max_at, min_at, mul_at
from ...ops.places.gathering import add_at
from ...ops.places.indexing import written
from ...ops.totals.axes import kept, normalize_axes
from ...sizes import known_less
from ...types import normalize_axis, show
from ..operators import operand
from .lookup import boxes_in, has_written, plain, store_exactly, tracked, unsupported
from .ufuncs import NO_VALUE, by_numpy, call, counterpart, kind_of, name_of, resolved, unknown

FOLDED = 1000
"""As many elements are combined one by one; more would make graphs of which nobody has a use."""

Reduction = Callable[[Any, tuple[int, ...]], Any]
AT_ONCE: dict[Any, Reduction] = {
    np.add: ops.sum,
    np.multiply: ops.prod,
    np.maximum: ops.max,
    np.minimum: ops.min,
    np.fmax: ops.nanmax,
    np.fmin: ops.nanmin,
    np.logical_and: ops.all,
    np.logical_or: ops.any,
    np.logical_xor: lambda x, axes: ops.equal(ops.remainder(ops.sum(x, axes), 2), 1),
    np.logaddexp: ops.logsumexp,
    np.logaddexp2: lambda x, axes: ops.div(ops.logsumexp(ops.mul(x, LN2), axes), LN2),
}
RUNNING: dict[Any, Callable[[Any, int], Any]] = {
    np.add: ops.cumsum,
    np.multiply: ops.cumprod,
    np.maximum: lambda x, axis: ops.cummax(x, axis)[0],
    np.minimum: lambda x, axis: ops.cummin(x, axis)[0],
}
COMBINED: dict[Any, tuple[Callable[..., Any], Callable[..., Any]]] = {
    np.add: (add_at, ops.add),
    np.subtract: (add_at, ops.add),
    np.multiply: (mul_at, ops.mul),
    np.maximum: (max_at, ops.maximum),
    np.minimum: (min_at, ops.minimum),
}
"""What combines at index arrays, of which some name a place several times, and elsewhere."""
IN_ANY_ORDER = {*AT_ONCE, np.hypot, np.bitwise_and, np.bitwise_or, np.bitwise_xor}
"""The ufuncs that NumPy reduces over several axes."""
ORDERED = (np.maximum, np.minimum, np.fmax, np.fmin)


def apply_method(ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """A method of a ufunc with arguments of which one is boxed, spelled as NumPy spells them."""
    name = name_of(ufunc, method)
    if method == "at":
        return _at(ufunc, name, *inputs)
    boxes = boxes_in(inputs) + boxes_in(options)
    if (
        not STATE.traces
        and not any(tracked(b) for b in boxes)
        and all(type(b._data) is np.ndarray for b in boxes)
    ):
        return by_numpy(getattr(ufunc, method), lambda: unknown(ufunc, method), inputs, options)
    target = counterpart(ufunc)
    if target is None:
        raise unknown(ufunc, method)
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ValueError(
            f"{user_line()}: {name} is defined only for functions of two numbers with one result"
        )
    if method == "outer":
        x, y = operand(inputs[0]), operand(inputs[1])
        return call(ufunc, [ops.reshape(x, (*shape_of(x), *[1] * ndim_of(y))), y], options)
    names = _POSITIONAL[method]
    options = {**dict(zip(names, inputs[1:], strict=False)), **options}
    x, out = operand(inputs[0]), options.pop("out", None)
    if isinstance(out, tuple):
        (out,) = out
    x, kind = _converted(ufunc, name, x, options.pop("dtype", None), out)
    result = _METHODS[method](_Combining(ufunc, name, target), x, **options)
    result = ops.convert(result, kind)
    return result if out is None else store_exactly(out, result, "unsafe")


_POSITIONAL = {
    "reduce": ("axis", "dtype", "out", "keepdims", "initial", "where"),
    "accumulate": ("axis", "dtype", "out"),
    "reduceat": ("indices", "axis", "dtype", "out"),
}


def _converted(ufunc: Any, name: str, x: Any, dtype: Any, out: Any) -> tuple[Any, np.dtype[Any]]:
    """The elements in the dtype in which NumPy combines them, and the dtype of the result."""
    signature = None if dtype is None else (np.dtype(dtype), None, None)
    kind = kind_of(x)
    first = None if out is None or dtype is not None else out.dtype
    found = resolved(
        ufunc,
        name,
        (first, kind if isinstance(kind, np.dtype) else np.dtype(kind), None),
        signature=signature,
        reduction=True,
        casting="unsafe",
    )
    if ufunc in ORDERED and found[1].kind == "c":
        raise DTypeError(
            f"{user_line()}: {name} of complex numbers is not defined; "
            "take it of their absolute value or real part"
        )
    return ops.convert(x, found[1]), found[2]


class _Combining:
    """A ufunc whose method is called."""

    def __init__(self, ufunc: Any, name: str, target: Callable[..., Any]) -> None:
        self.ufunc, self.name, self.target = ufunc, name, target

    def size(self, x: Any, axis: int) -> int:
        """How many elements are to be combined one by one."""
        count = int(shape_of(x)[axis])
        if count > FOLDED:
            raise unsupported(
                self.name,
                "",
                f"{self.name} over {count} elements would be as many operations "
                f"(at most {FOLDED} are written out). Use tg.scan, or tg.associative_scan, "
                "with the function of two elements",
            )
        return count

    def fold(self, x: Any, axis: int, start: Any, mask: Any) -> list[Any]:
        """What the elements up to each one combine to, from `start` on where there is one; `mask`
        says which of them take part."""
        ahead = (slice(None),) * axis
        total, found = start, []
        for k in range(self.size(x, axis)):
            item = x[(*ahead, k)]
            if total is None:
                total = item
            else:
                new = self.target(total, item)
                total = new if mask is None else ops.where(mask[(*ahead, k)], new, total)
            found.append(total)
        return found

    def identity(self, initial: Any) -> Any:
        """What stands for no elements at all; None where nothing does."""
        return self.ufunc.identity if initial is NO_VALUE else initial


def _reduce(
    self: _Combining,
    x: Any,
    axis: Any = 0,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    shape, ndim = shape_of(x), ndim_of(x)
    axes = () if ndim == 0 and axis in (0, -1, None) else normalize_axes(axis, ndim)
    if len(axes) > 1 and self.ufunc not in IN_ANY_ORDER:
        raise ShapeError(
            f"{user_line()}: {self.name} depends on the order of the elements, "
            f"so it goes over one axis, not over {axes}"
        )
    neutral, mask = self.identity(initial), None
    if where is not True and where is not NO_VALUE:
        if neutral is None:
            raise ShapeError(
                f"{user_line()}: {self.name} with where= needs initial=, "
                "the result where nothing is selected"
            )
        mask = ops.broadcast_to(ops.convert(operand(where), bool), shape)
    given = initial is not NO_VALUE and initial is not None
    if neutral is not None:
        neutral = ops.convert(operand(neutral), x.dtype)
    empty = any(known_less(shape[a], 1) for a in axes)
    if empty and neutral is None:
        raise ShapeError(
            f"{user_line()}: {self.name} of no elements: "
            f"axes {axes} of an array of shape {show(shape)} are empty"
        )
    if empty:
        left = tuple(n for k, n in enumerate(shape) if k not in axes)
        result = ops.broadcast_to(neutral, left)
    elif self.ufunc in AT_ONCE:
        if mask is not None:
            fill = neutral if self.ufunc in ORDERED else ops.convert(self.ufunc.identity, x.dtype)
            x = ops.where(mask, x, fill)
        result = AT_ONCE[self.ufunc](x, axes)
        result = (
            self.target(neutral, result)
            if given or (mask is not None and self.ufunc in ORDERED)
            else result
        )
    else:
        result = x
        for k, a in enumerate(reversed(axes)):
            start = neutral if k == 0 and (given or mask is not None) else None
            if start is not None:
                start = ops.broadcast_to(
                    start, tuple(n for b, n in enumerate(shape_of(result)) if b != a)
                )
            result = self.fold(result, a, start, mask if k == 0 else None)[-1]
            # Of one element and 0 it is not that element.
            alone = self.ufunc is np.hypot and int(shape[a]) == 1
            if start is None and alone and neutral is not None:
                result = self.target(neutral, result)
    return (
        ops.reshape(result, kept(shape, axes)) if keepdims and keepdims is not NO_VALUE else result
    )


def _accumulate(self: _Combining, x: Any, axis: Any = 0) -> Any:
    if ndim_of(x) == 0:
        raise ShapeError(
            f"{user_line()}: {self.name} needs an array with an axis, not a single number"
        )
    axes = normalize_axes(axis, ndim_of(x))
    if len(axes) != 1:
        raise ShapeError(f"{user_line()}: {self.name} goes along one axis, not along {axes}")
    if self.ufunc in RUNNING:
        return RUNNING[self.ufunc](x, axes[0])
    found = self.fold(x, axes[0], None, None)
    return ops.stack(found, axes[0]) if found else x


def _reduceat(self: _Combining, x: Any, indices: Any, axis: Any = 0) -> Any:
    if any(tracked(b) for b in boxes_in(indices)):
        raise unsupported(self.name, " with traced indices")
    starts = np.asarray(plain(indices))
    place = normalize_axis(int(axis), ndim_of(x))
    count = int(shape_of(x)[place])
    if starts.ndim != 1 or (starts.size and starts.dtype.kind not in "iu"):
        raise ShapeError(
            f"{user_line()}: {self.name} takes a vector of integers as indices, "
            f"not {starts.dtype} of shape {starts.shape}"
        )
    if starts.size and (starts.min() < 0 or starts.max() >= count):
        raise IndexError(
            f"{user_line()}: {self.name}: indices must lie in [0, {count}), "
            f"got {starts.min()} to {starts.max()}"
        )
    starts = starts.astype(np.int64)
    # Where the next start is not larger, the part is a single element.
    ends = np.maximum(np.append(starts[1:], count), starts + 1)
    if self.ufunc is np.add or not starts.size:
        positions = np.concatenate(
            [np.arange(a, b) for a, b in zip(starts, ends, strict=True)] or [starts]
        )
        parts = np.repeat(np.arange(len(starts)), ends - starts)
        zeros = ops.zeros((*shape_of(x)[:place], len(starts), *shape_of(x)[place + 1 :]), x.dtype)
        return ops.index_add(zeros, place, parts, ops.take(x, positions, place))
    ahead = (slice(None),) * place
    return ops.stack(
        [
            # A part of one element is that element.
            _reduce(self, x[(*ahead, slice(int(a), int(b)))], place, initial=None)
            for a, b in zip(starts, ends, strict=True)
        ],
        place,
    )


SPELLED: dict[str, Callable[..., Any]] = {
    "reduce": lambda array, axis=0, dtype=None, out=None, keepdims=False, initial=NO_VALUE,
        where=True: None,
    "accumulate": lambda array, axis=0, dtype=None, out=None: None,
    "reduceat": lambda array, indices, axis=0, dtype=None, out=None: None,
    "outer": lambda x1, x2, /, *, out=None, where=True, casting="same_kind", order="K", dtype=None,
        subok=True: None,
    "at": lambda a, indices, b=None, /: None,
}  # fmt: skip
"""How NumPy spells the methods of every ufunc."""
_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
}


def _at(ufunc: Any, name: str, array: Any, index: Any, *values: Any) -> None:
    if has_written(name, ufunc.at, array, index, *values):
        return
    target = counterpart(ufunc)
    if target is None:
        raise unknown(ufunc, "at")
    if ufunc.nout != 1 or ufunc.signature is not None or len(values) != ufunc.nin - 1:
        raise ValueError(
            f"{user_line()}: {name} takes {ufunc.nin - 1} operands beside the array "
            f"and the index, got {len(values)}"
        )
    box: Any = array
    operands = [operand(v) for v in values]
    traced = any(tracked(b) for b in boxes_in(index)) or not all(
        isinstance(n, int) for n in shape_of(box)
    )
    combine = COMBINED.get(ufunc)
    # What is rounded to integers is rounded behind each operation.
    kinds = [kind_of(v) for v in operands]
    exact = all(k is int or np.can_cast(k, box.dtype, "same_kind") for k in kinds)
    if combine is not None and exact and (traced or ufunc is not np.multiply):
        value = ops.neg(operands[0]) if ufunc is np.subtract else operands[0]
        box._update(written, index, value, *combine)
        return
    if traced:
        raise unsupported(name, " with traced indices")
    places = np.arange(int(np.prod(shape_of(box)))).reshape(shape_of(box))[plain(index)]
    flat = places.reshape(-1)
    # An element that is named twice is changed twice: in one round after the other.
    order = np.argsort(flat, kind="stable")
    ranks = np.empty(len(flat), np.int64)
    ranks[order] = np.arange(len(flat)) - np.searchsorted(flat[order], flat[order])
    rounds = int(ranks.max(initial=-1)) + 1
    if rounds > FOLDED:
        raise unsupported(name, f" with an element that is named {rounds} times")
    spread = [ops.reshape(ops.broadcast_to(v, places.shape), (-1,)) for v in operands]

    def changed(old: Any) -> Any:
        new = ops.reshape(old, (-1,))
        for k in range(rounds):
            (chosen,) = np.nonzero(ranks == k)
            at = flat[chosen]
            new = ops.index_update(
                new,
                at,
                ops.convert(target(new[at], *[ops.take(v, chosen) for v in spread]), old.dtype),
            )
        return ops.reshape(new, shape_of(old))

    box._update(changed)
