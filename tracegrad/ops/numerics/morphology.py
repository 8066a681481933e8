"""Erosion and dilation, of grey values and of truth values, and what is made of them, under the
names of scipy.ndimage.

A structure adds to (dilation) or is taken from (erosion) what its neighbours are; the derivative
goes to the neighbour, and to the element of the structure, that is the extreme. Results are of the
array's dtype; a structure is added in double precision.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import FLOAT64
from ...errors import DTypeError, ShapeError, UnsupportedFunctionError
from ...ir.lines import user_line
from ...sizes import same
from ...types import show
from ..arrays.shape import reshape
from ..arrays.slices import flip, slice_array
from ..define import as_array, ndim_of, shape_of
from ..elementwise.arithmetic import not_equal, sub, where
from ..elementwise.comparison import maximum, minimum
from ..elementwise.derived import add, convert, mul
from ..elementwise.logic import logical_and, logical_not, logical_or, logical_xor
from .images import as_image, per_axis
from .neighbourhoods import Axes, axes_along
from .order_filters import maximum_filter, minimum_filter, window

# --- grey values ----------------------------------------------------------------------------------


def _sizes(name: str, size: Any, footprint: Any, structure: Any, count: int) -> list[int]:
    """Of the window, along each axis that it has."""
    if footprint is None and structure is None and size is None:
        raise ValueError(f"ndimage.{name}: give size, footprint or structure")
    for word, given in (("structure", structure), ("footprint", footprint)):
        shape = () if given is None else shape_of(as_array(given))
        if given is not None and len(shape) != count:
            raise ShapeError(
                f"ndimage.{name}: {word} has the shape {show(shape)}; for {count} axes it must "
                "have as many"
            )
    for given in (footprint, structure):
        if given is not None:
            return [int(n) for n in shape_of(as_array(given))]
    return [operator.index(n) for n in per_axis(name, "size", size, count)]


def _structured(
    name: str, input: Any, footprint: Any, structure: Any, output: Any, mode: Any, cval: Any,
    origin: Any, axes: Axes, up: bool,
) -> Any:  # fmt: skip
    x, s = as_array(input), as_array(structure)
    if "c" in (x.dtype.kind, s.dtype.kind):
        raise DTypeError(f"ndimage.{name}: complex numbers have no order; give real ones")
    if x.dtype.kind not in "fi" or (x.dtype.kind == "i" and s.dtype.kind == "f"):
        raise DTypeError(
            f"ndimage.{name}: {x.dtype} cannot hold what an array of it and a structure of "
            f"{s.dtype} give; convert the array with .astype(float)"
        )
    whole = np.ones([int(n) for n in shape_of(s)], bool)
    counts = whole if footprint is None else np.asarray(footprint, bool)
    if counts.shape != whole.shape:
        raise ShapeError(
            f"ndimage.{name}: footprint and structure must have one shape, not "
            f"{show(counts.shape)} and {show(shape_of(s))}"
        )
    wide = convert(x, FLOAT64)
    given = window(name, wide, None, counts, output, mode, cval, origin, axes)
    along = axes_along(name, x, axes)
    full = [1] * ndim_of(x)
    for axis, n in zip(sorted(along), shape_of(s), strict=True):
        full[axis] = int(n)
    s = reshape(convert(s, FLOAT64), full)
    combine, choose = (add, maximum) if up else (sub, minimum)
    one = (1,) * len(full)
    seen = given.shifted()
    parts = [combine(seen(at), slice_array(s, at, one, one)) for at in given.places]
    return convert(functools.reduce(choose, parts), x.dtype)


def grey_erosion(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """The smallest neighbour of each element, those of `structure` less its elements: the window
    has `size` elements along all axes, or `axes`, or the shape of `structure`, or counts where
    `footprint` is true. Differentiable by the array and by the structure. All modes of SciPy's.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.grey_erosion(np.array([1.0, 5.0, 4.0, 6.0]), 3)
    array([1., 1., 4., 4.])
    """
    along = axes_along("grey_erosion", as_array(input), axes)
    _sizes("grey_erosion", size, footprint, structure, len(along))
    if structure is not None:
        return _structured("grey_erosion", input, footprint, structure, output, mode, cval, origin,
                           axes, False)  # fmt: skip
    return minimum_filter(input, size, footprint, output, mode, cval, origin, axes=axes)


def grey_dilation(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """The largest neighbour of each element, those of `structure`, which is turned around, with
    its elements; arguments and derivatives as of `grey_erosion`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.grey_dilation(np.array([1.0, 5.0, 4.0, 6.0]), 3)
    array([5., 5., 6., 6.])
    """
    along = axes_along("grey_dilation", as_array(input), axes)
    sizes = _sizes("grey_dilation", size, footprint, structure, len(along))
    origins = _turned("grey_dilation", origin, sizes)
    if footprint is not None:
        footprint = np.flip(np.asarray(footprint))
    if structure is not None:
        turned = flip(as_array(structure), tuple(range(len(sizes))))
        return _structured("grey_dilation", input, footprint, turned, output, mode, cval, origins,
                           axes, True)  # fmt: skip
    return maximum_filter(input, size, footprint, output, mode, cval, origins, axes=axes)


def _turned(name: str, origin: Any, sizes: Sequence[int]) -> list[int]:
    """Where the middle is of a window that is turned around."""
    given = per_axis(name, "origin", origin, len(sizes))
    return [-operator.index(o) - (n % 2 == 0) for o, n in zip(given, sizes, strict=True)]


def grey_opening(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """`grey_dilation` of `grey_erosion`, both with these arguments.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.grey_opening(np.array([1.0, 5.0, 1.0, 2.0, 2.0, 2.0]), 3)
    array([1., 1., 1., 2., 2., 2.])
    """
    given = (size, footprint, structure, output, mode, cval, origin)
    return grey_dilation(grey_erosion(input, *given, axes=axes), *given, axes=axes)


def grey_closing(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """`grey_erosion` of `grey_dilation`, both with these arguments.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.grey_closing(np.array([3.0, 0.0, 3.0, 2.0, 2.0, 2.0]), 3)
    array([3., 3., 3., 2., 2., 2.])
    """
    given = (size, footprint, structure, output, mode, cval, origin)
    return grey_erosion(grey_dilation(input, *given, axes=axes), *given, axes=axes)


def _less(x: Any, y: Any) -> Any:
    """The difference; of truth values, where only one is true."""
    return logical_xor(x, y) if x.dtype.kind == "b" else sub(x, y)


def morphological_gradient(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """`grey_dilation` less `grey_erosion`, both with these arguments.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.morphological_gradient(np.array([1.0, 1.0, 4.0, 6.0]), 3)
    array([0., 3., 5., 2.])
    """
    given = (size, footprint, structure, output, mode, cval, origin)
    return sub(grey_dilation(input, *given, axes=axes), grey_erosion(input, *given, axes=axes))


def morphological_laplace(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """`grey_dilation` and `grey_erosion`, both with these arguments, less twice the array.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.morphological_laplace(np.array([1.0, 1.0, 4.0, 6.0]), 3)
    array([ 0.,  3., -1., -2.])
    """
    given = (size, footprint, structure, output, mode, cval, origin)
    both = add(grey_dilation(input, *given, axes=axes), grey_erosion(input, *given, axes=axes))
    return sub(sub(both, input), input)


def white_tophat(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """The array less its `grey_opening` with these arguments; of truth values, where only one is
    true.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.white_tophat(np.array([1.0, 5.0, 1.0, 2.0, 2.0, 2.0]), 3)
    array([0., 4., 0., 0., 0., 0.])
    """
    opened = grey_opening(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    return _less(as_array(input), opened)


def black_tophat(
    input: Any, size: int | Sequence[int] | None = None, footprint: Any = None,
    structure: Any = None, output: Any = None, mode: str | Sequence[str] = "reflect",
    cval: float = 0.0, origin: int | Sequence[int] = 0, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """The array's `grey_closing` with these arguments less the array; of truth values, where only
    one is true.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.black_tophat(np.array([3.0, 0.0, 3.0, 2.0, 2.0, 2.0]), 3)
    array([0., 3., 0., 0., 0., 0.])
    """
    closed = grey_closing(input, size, footprint, structure, output, mode, cval, origin, axes=axes)
    return _less(closed, as_array(input))


# --- truth values ---------------------------------------------------------------------------------

MOST = 1000
"""Steps that a program may have, each of its own code."""


def _cross(count: int) -> Any:
    """An element and its next ones along each axis."""
    return np.sum(np.abs(np.indices((3,) * count) - 1), 0) <= 1


def _binary(
    name: str, input: Any, structure: Any, iterations: Any, mask: Any, output: Any,
    border: Any, origin: Any, axes: Axes, up: bool,
) -> Any:  # fmt: skip
    x = as_array(input)
    if x.dtype.kind == "c":
        raise DTypeError(f"ndimage.{name}: a complex number is neither true nor false; give abs(x)")
    if output is not None:
        as_image(name, np.zeros(0), output)
    times = operator.index(iterations)
    if times < 1:
        raise UnsupportedFunctionError(
            f"{user_line()}: ndimage.{name} with iterations={times}, until nothing changes, is not "
            "supported; give how often, or use tg.while_loop"
        )
    along = axes_along(name, x, axes)
    shape = np.asarray(_cross(len(along)) if structure is None else structure, bool)
    if shape.ndim != len(along) or not shape.size:
        raise ShapeError(
            f"ndimage.{name}: structure has the shape {show(shape.shape)}; for {len(along)} axes "
            "it must have as many, and elements"
        )
    origins = per_axis(name, "origin", origin, len(along))
    if up:
        shape, origins = np.flip(shape), _turned(name, origins, shape.shape)
    if mask is not None:
        mask = as_array(mask)
        if len(shape_of(mask)) != ndim_of(x) or not all(map(same, shape_of(mask), shape_of(x))):
            raise ShapeError(
                f"ndimage.{name}: mask must have the shape {show(shape_of(x))} of the array, not "
                f"{show(shape_of(mask))}"
            )
        mask = not_equal(mask, 0)
    x = not_equal(x, 0)
    outside = bool(border)
    known = type(x) is np.ndarray
    if times > MOST and not known:
        raise UnsupportedFunctionError(
            f"{user_line()}: ndimage.{name} with iterations={times} is not supported for traced or "
            f"differentiated values; there {MOST} are the most; use tg.while_loop"
        )
    for _ in range(times):
        if shape.any():
            parts = window(
                name, x, None, shape, None, "constant", outside, origins, sorted(along)
            ).parts()
            found = functools.reduce(logical_or if up else logical_and, parts)
        else:
            found = mul(x, False) if up else logical_not(mul(x, False))
        last, x = x, found if mask is None else where(mask, found, x)
        if known and type(x) is np.ndarray and np.array_equal(x, last):
            break
    return x


def binary_erosion(
    input: Any, structure: Any = None, iterations: int = 1, mask: Any = None,
    output: Any = None, border_value: int = 0, origin: int | Sequence[int] = 0,
    brute_force: bool = False, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """Where all neighbours are true (not 0) for which `structure` is (by default an element and
    its next ones along each axis), so often; elements where `mask` is false stay as they are, and
    those beyond the ends are `border_value`. Truth values, which have no derivative. `iterations`
    is from 1 on; `brute_force` has no effect.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.binary_erosion(np.array([0.0, 1.0, 1.0, 1.0, 0.0]))
    array([False, False,  True, False, False])
    """
    return _binary("binary_erosion", input, structure, iterations, mask, output, border_value,
                   origin, axes, False)  # fmt: skip


def binary_dilation(
    input: Any, structure: Any = None, iterations: int = 1, mask: Any = None,
    output: Any = None, border_value: int = 0, origin: int | Sequence[int] = 0,
    brute_force: bool = False, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """Where some neighbour is true (not 0) for which `structure`, turned around, is; arguments as
    of `binary_erosion`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.binary_dilation(np.array([0.0, 0.0, 1.0, 0.0, 0.0]))
    array([False,  True,  True,  True, False])
    """
    return _binary("binary_dilation", input, structure, iterations, mask, output, border_value,
                   origin, axes, True)  # fmt: skip


def binary_opening(
    input: Any, structure: Any = None, iterations: int = 1, output: Any = None,
    origin: int | Sequence[int] = 0, mask: Any = None, border_value: int = 0,
    brute_force: bool = False, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """`binary_dilation` of `binary_erosion`, both with these arguments.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.binary_opening(np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0]))
    array([False, False, False,  True,  True,  True, False])
    """
    given = (structure, iterations, mask, output, border_value, origin, brute_force)
    return binary_dilation(binary_erosion(input, *given, axes=axes), *given, axes=axes)


def binary_closing(
    input: Any, structure: Any = None, iterations: int = 1, output: Any = None,
    origin: int | Sequence[int] = 0, mask: Any = None, border_value: int = 0,
    brute_force: bool = False, *, axes: Axes = None,
) -> Any:  # fmt: skip
    """`binary_erosion` of `binary_dilation`, both with these arguments.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.binary_closing(np.array([0.0, 1.0, 0.0, 1.0, 0.0]))
    array([False,  True,  True,  True, False])
    """
    given = (structure, iterations, mask, output, border_value, origin, brute_force)
    return binary_erosion(binary_dilation(input, *given, axes=axes), *given, axes=axes)


def binary_hit_or_miss(
    input: Any, structure1: Any = None, structure2: Any = None, output: Any = None,
    origin1: int | Sequence[int] = 0, origin2: int | Sequence[int] | None = None, *,
    axes: Axes = None,
) -> Any:  # fmt: skip
    """Where all neighbours of `structure1` are true and all of `structure2` (by default those that
    are none of `structure1`) are false.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.ndimage.binary_hit_or_miss(np.array([0.0, 1.0, 0.0, 1.0, 1.0]), [0, 1, 0], [1, 0, 1])
    array([False,  True, False, False, False])
    """
    x = as_array(input)
    if structure1 is None:
        structure1 = _cross(len(axes_along("binary_hit_or_miss", x, axes)))
    if structure2 is None:
        structure2 = np.logical_not(structure1)
    hit = binary_erosion(x, structure1, 1, None, output, 0, origin1, axes=axes)
    beside = origin1 if origin2 is None else origin2
    # What is false around, as the erosion of what is false; beyond the ends all is.
    miss = _binary("binary_hit_or_miss", logical_not(not_equal(x, 0)), structure2, 1, None, None, 1,
                   beside, axes, False)  # fmt: skip
    return logical_and(hit, miss)


__all__ = [
    "binary_closing", "binary_dilation", "binary_erosion", "binary_hit_or_miss", "binary_opening",
    "black_tophat", "grey_closing", "grey_dilation", "grey_erosion", "grey_opening",
    "morphological_gradient", "morphological_laplace", "white_tophat",
]  # fmt: skip
