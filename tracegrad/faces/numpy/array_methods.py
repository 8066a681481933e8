"""ndarray's methods, with NumPy's signatures and defaults, for values with NumPy's face."""

from __future__ import annotations

import builtins
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import describe
from ...ir.dispatch import Value
from ...ir.operands import plain_array
from ...ops.define import shape_of
from ...sizes import INTEGRAL, numel
from ..dispatch import call_numpy
from ..operators import Operators, operand
from ..printing import array_repr
from . import laying, results
from .counting import refuse_way
from .flat import Flat
from .refusals import inside_library
from .writes import put


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is NumPy's function of the same name with the array as its first argument."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call_numpy(function, (self, *args), kwargs)

    method.__name__, method.__doc__ = (
        function.__name__,
        f"As np.{function.__name__}, of this array.",
    )
    return method


def _shape_arguments(args: tuple[Any, ...]) -> Any:
    """`f(2, 3)` and `f((2, 3))` mean the same."""
    return args[0] if len(args) == 1 and not isinstance(args[0], INTEGRAL) else args


def _augmented(function: Callable[[Any, Any], Any]) -> Any:
    """`x += y`: written into an array. What has no axes is a number in NumPy, which is replaced,
    and stays what it was under other names."""
    write = getattr(Operators, f"__i{function.__name__.strip('_')}__")

    def method(self: Any, other: Any) -> Any:
        return write(self, other) if self.writes_numbers or self.shape else function(self, other)

    method.__name__ = write.__name__
    return method


def _of_memory(name: str) -> property:
    """What only an array in memory has. hasattr says so; a library that asks gets the call to write
    in its place."""

    def refused(self: Any) -> Any:
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}: a traced or differentiated "
            f"array lies nowhere in memory. {inside_library()}".strip()
        )

    return property(refused)


class ArrayMethods(Value):
    """NumPy's names."""

    __slots__ = ()
    strides, flags = _of_memory("strides"), _of_memory("flags")
    __iadd__, __isub__, __imul__ = (
        _augmented(operator.add),
        _augmented(operator.sub),
        _augmented(operator.mul),
    )
    __itruediv__, __ifloordiv__ = _augmented(operator.truediv), _augmented(operator.floordiv)
    __imod__, __ipow__ = _augmented(operator.mod), _augmented(operator.pow)
    __iand__, __ior__, __ixor__ = (
        _augmented(operator.and_),
        _augmented(operator.or_),
        _augmented(operator.xor),
    )
    __ilshift__, __irshift__ = _augmented(operator.lshift), _augmented(operator.rshift)

    # reductions and running sums
    sum, mean, std, var, prod = (
        _method(np.sum),
        _method(np.mean),
        _method(np.std),
        _method(np.var),
        _method(np.prod),
    )
    max, min, argmax, argmin = (
        _method(np.max),
        _method(np.min),
        _method(np.argmax),
        _method(np.argmin),
    )
    all, any, cumsum, cumprod = (
        _method(np.all),
        _method(np.any),
        _method(np.cumsum),
        _method(np.cumprod),
    )
    trace, dot, nonzero = _method(np.trace), _method(np.dot), _method(np.nonzero)
    # order and choice
    argsort, argpartition, searchsorted = (
        _method(np.argsort),
        _method(np.argpartition),
        _method(np.searchsorted),
    )
    take, choose, compress, repeat = (
        _method(np.take),
        _method(np.choose),
        _method(np.compress),
        _method(np.repeat),
    )
    # shape
    squeeze, swapaxes, diagonal = _method(np.squeeze), _method(np.swapaxes), _method(np.diagonal)

    def reshape(self: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The same elements under another shape."""
        return results.in_order(self, _shape_arguments(shape), order)

    def ravel(self: Any, order: str = "C") -> Any:
        """One axis, without a copy where possible."""
        return laying.in_one_row(self, results.in_order(self, -1, order))

    def flatten(self: Any, order: str = "C") -> Any:
        """A copy with one axis."""
        return ops.positive(results.in_order(self, -1, order))

    def transpose(self: Any, *axes: Any) -> Any:
        """The axes in the given order (reversed by default)."""
        order = _shape_arguments(axes) if axes and axes != (None,) else None
        return results.transpose(self, order)

    @property
    def T(self: Any) -> Any:
        """The axes in reverse order."""
        return results.transpose(self)

    @property
    def mT(self: Any) -> Any:
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return ops.swapaxes(self, -1, -2)

    @property
    def flat(self: Any) -> Flat:
        """The elements in C order, to be read and written by number."""
        return Flat(self)

    @flat.setter
    def flat(self: Any, value: Any) -> None:
        self.flat[:] = value

    @property
    def size(self: Any) -> Any:
        """The number of elements."""
        return numel(self.shape)

    @property
    def itemsize(self: Any) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize  # type: ignore[no-any-return]

    @property
    def nbytes(self: Any) -> Any:
        """Bytes of all elements."""
        return self.size * self.itemsize

    # elements
    @property
    def real(self: Any) -> Any:
        """Real part: a view."""
        return results.real(self)

    @real.setter
    def real(self: Any, value: Any) -> None:
        results.REAL.set(self, value)

    @property
    def imag(self: Any) -> Any:
        """Imaginary part: a view of a complex array's."""
        return results.imag(self)

    @imag.setter
    def imag(self: Any, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError(
                f"an array of {self.dtype} has no imaginary part to set; make it complex first"
            )
        results.IMAG.set(self, value)

    def conj(self: Any) -> Any:
        """Complex conjugate."""
        return ops.conj(self)

    conjugate = conj

    def astype(
        self: Any,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """The numbers in another dtype; gradients come back in this one."""
        target = np.dtype(dtype)
        if not np.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {self.dtype} to {target} according "
                f"to the rule {casting!r}"
            )
        if self.dtype.kind == "c" and target.kind not in "cb":
            what = "Casting complex values to real discards the imaginary part"
            warnings.warn(what, np.exceptions.ComplexWarning, stacklevel=2)
        return results.converted(self, target, order, copy)

    def copy(self: Any, order: str = "C") -> Any:
        """An array of its own: writes to it do not reach this one."""
        return results.as_source(self, laying.copied(self, order))

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None) -> Any:
        """The elements limited to [min, max]."""
        result = ops.clip(
            self, None if min is None else operand(min), None if max is None else operand(max)
        )
        return result if out is None else _stored(out, result)

    def round(self: Any, decimals: int = 0, out: Any = None) -> Any:
        """The elements rounded to `decimals`."""
        result = ops.round(self, decimals)
        return result if out is None else _stored(out, result)

    # writes
    def fill(self: Any, value: Any) -> None:
        """Set every element; of a number NumPy sets that of a copy."""
        if shape_of(value := operand(value)):
            raise ValueError(f"fill: the value is {describe(value)}; it must be a number")
        if self.shape or self.writes_numbers:
            self._update(ops.index_update, (), value)

    def sort(
        self: Any,
        axis: int = -1,
        kind: str | None = None,
        order: Any = None,
        *,
        stable: bool | None = None,
    ) -> None:
        """Sort in place."""
        refuse_way(np.sort, kind, order, stable)
        self._update(lambda old: ops.sort(old, axis))

    def put(self: Any, indices: Any, values: Any, mode: str = "raise") -> None:
        """Set elements by their flat positions; of a number NumPy sets that of a copy."""
        if self.shape or self.writes_numbers:
            put(self, indices, values, mode)

    def view(self: Any, dtype: Any = None, type: Any = None) -> Any:
        """This array again; another dtype is refused, since no derivative goes through
        reinterpreted bits."""
        for kind in (dtype, type):
            if isinstance(kind, builtins.type) and issubclass(kind, np.ndarray):
                plain_array(np.empty(0).view(kind), "a traced or differentiated array would become")
                return results.own_view(self, self)
        if dtype is not None and np.dtype(dtype) != self.dtype:
            raise TypeError(
                "the bits of a traced or differentiated array cannot be viewed in another dtype; "
                "use astype for a conversion"
            )
        return results.own_view(self, self)

    def resize(self, *shape: Any, **_: Any) -> None:
        raise TypeError(
            "a traced or differentiated array cannot be resized in place; "
            "use np.pad, np.concatenate or reshape"
        )

    def partition(self, *_: Any, **__: Any) -> None:
        raise TypeError(
            "partition in place has no counterpart for traced or differentiated arrays; use sort"
        )

    def __repr__(self) -> str:
        return array_repr(self)


def _stored(out: Any, result: Any) -> Any:
    return call_numpy(np.copyto, (out, result), {}) or out
