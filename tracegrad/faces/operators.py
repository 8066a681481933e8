"""Python's operators, indexing and iteration, the same on both faces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import ops
from ..checks import REFUSED, array, describe, explained, fault_of_array
from ..dtypes import INT64, is_flag, of_another_library
from ..ir.dispatch import NO_PARAMS, SPECIAL, STATE, Value
from ..ir.forms import of_python
from ..ir.graph import Var
from ..ir.lines import unpacked_to, user_line
from ..ir.op import WEAK as WEAK_KINDS
from ..ir.op import Op
from ..ir.operands import PLAIN, plain_operand, stands_for_array
from ..ops.define import of_list
from ..ops.elementwise.arithmetic import number
from ..ops.elementwise.derived import convert_op, fitted
from ..ops.elementwise.remainders import check_quotient, may_be_python
from ..ops.exponents import power_of_numbers
from ..ops.matrices.products import IN_ONE_STEP, matmul_op
from ..ops.places.keys import reading
from ..ops.sparse.operand import SparseArray, as_sparse, is_scipy
from ..sizes import SYMBOLIC, Size
from ..tape.eager_text import REFLECTED, write_out
from ..weak import KINDS
from .numpy import results
from .numpy.refusals import without_modulus

OPERANDS = (Value, float, int, np.ndarray, np.generic, complex, *SYMBOLIC)


def operand(x: Any) -> Any:
    """`x` as an operand of an operation: lists and tuples become arrays, stacked where they hold
    boxed values."""
    if type(x) in PLAIN or isinstance(x, Value):
        return x
    return plain_operand(x) if isinstance(x, OPERANDS) else array_of(x)


def array_of(x: Any) -> Any:
    """An array of nested lists and tuples, which may hold boxed values."""
    if isinstance(x, (list, tuple)):
        return of_list(x)
    return x if isinstance(x, Value) else array(plain_operand(x))


Function = Callable[..., Any]


def ufunc_of(function: Function | None) -> np.ufunc | None:
    """NumPy's function for one that does nothing but apply an operation with two operands."""
    op = None if function is None else ops.APPLIED_BY.get(function)
    return (
        op.evaluate
        if op is not None and len(op.inputs) == 2 and isinstance(op.evaluate, np.ufunc)
        else None
    )


_OF_SPARSE = {
    ops.add: "add", ops.sub: "sub", ops.mul: "mul", ops.matmul: "matmul", ops.div: "truediv",
}  # fmt: skip


def _unknown(
    other: Any, self: Any = None, function: Function | None = None, swapped: bool = False
) -> Any:
    """What an operator answers to an operand that it does not know: an array of another library
    would be asked next, and could only say that two classes called Tensor do not go together.
    SciPy's sparse arrays are asked as what they are in traced functions."""
    if function in _OF_SPARSE and is_scipy(other):
        name = f"__{'' if swapped else 'r'}{_OF_SPARSE[function]}__"
        return getattr(SparseArray, name)(as_sparse(other), self)
    foreign = of_another_library(other)
    if foreign:
        raise TypeError(f"an operand is {foreign}")
    if function in (ops.equal, ops.not_equal) and not self.boxes_everything:
        if stands_for_array(other):
            # Python would compare the two objects.
            said = _NO_OPERAND.format(function.__name__, describe(other))
            raise TypeError(f"{user_line()}: {said} (np.asarray(x))")
    return NotImplemented


def counts(x: Any) -> bool:
    """Whether a list times this value is the list repeated, as it is for integers of Python, NumPy
    and torch, and is not for NumPy's arrays."""
    return x.shape == () and x.dtype.kind in "iu" and (x.boxes_everything or not x.writes_numbers)


_MISSING: Any = object()
_NO_OPERAND = "{}: an operand is {}; it must be an array, a Tensor or a number"


def _of_list(function: Function, other: Any) -> Any:
    """The operand that a list or a tuple stands for."""
    try:
        return array_of(other)
    except REFUSED as error:
        what = f"{describe(other)}{fault_of_array(other).rstrip()}"
        raise TypeError(_NO_OPERAND.format(function.__name__, what)) from error


_ORDER: dict[Function, str] = {
    ops.less: "<", ops.less_equal: "<=", ops.greater: ">", ops.greater_equal: ">=",
}  # fmt: skip


def _check_order(function: Function, *operands: Any) -> None:
    """Python's complex numbers have no order, as NumPy's have."""
    kinds = [
        WEAK_KINDS[x.dtype.kind] if hasattr(x, "dtype") else type(x)
        for x in operands
        if _is_number(x)
    ]
    if len(kinds) == len(operands) and complex in kinds:
        names = [f"'{'int' if kind in SYMBOLIC else kind.__name__}'" for kind in kinds]
        raise TypeError(
            f"{user_line()}: '{_ORDER[function]}' not supported between instances of "
            f"{' and '.join(names)}. Compare their real parts, or abs() of them."
        )


def _operands(function: Function | None, *operands: Any) -> Any:
    """The operands of an operator: where all are truth values of Python's, which are integers of
    its, as such. A quotient of Python's numbers asks whether the divisor is 0."""
    if not STATE.traces:
        return operands
    if function is ops.div and all(map(may_be_python, operands)):
        check_quotient(*operands)
    if function not in _OF_INTEGERS or not all(map(_is_truth, operands)):
        return operands
    return [int(x) if type(x) is bool else number(convert_op(x, dtype=INT64)) for x in operands]


def _applied(function: Function, *operands: Any) -> Any:
    """What an operator gives."""
    result = function(*_operands(function, *operands))
    return of_python(result, *operands) if STATE.traces else result


def _is_truth(x: Any) -> bool:
    return is_flag(x) and _is_number(x)


def _binary(function: Function) -> Any:
    times = function is ops.mul

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            if function in _ORDER and STATE.traces:
                _check_order(function, self, other)
            return _applied(function, self, other)
        if isinstance(other, (list, tuple)):
            return (
                other * self.__index__()
                if times and counts(self)
                else function(self, _of_list(function, other))
            )
        if times and isinstance(other, (str, bytes, bytearray)) and not counts(self):
            # Python would ask how often to repeat the text.
            raise TypeError(_NO_OPERAND.format(function.__name__, describe(other)))
        return _unknown(other, self, function)

    method.__name__ = function.__name__
    return (
        method
        if function not in ops.APPLIED_BY
        else Direct(ops.APPLIED_BY[function], lambda x, y, params: method(x, y))
    )


def _reflected(function: Function) -> Any:
    title, times = (
        REFLECTED.get(ops.APPLIED_BY[function]) if function in ops.APPLIED_BY else None,
        function is ops.mul,
    )

    def method(self: Any, other: Any) -> Any:
        if isinstance(other, OPERANDS):
            result = _applied(function, other, self)
            if (
                title is not None
                and isinstance(other, (int, float))
                and getattr(result, "_grad_fn", None) is not None
            ):
                result._grad_fn.title = title
            return result
        if isinstance(other, (list, tuple)):
            return (
                other * self.__index__()
                if times and counts(self)
                else function(_of_list(function, other), self)
            )
        if times and isinstance(other, (str, bytes, bytearray)) and not counts(self):
            # Python would ask how often to repeat the text.
            raise TypeError(_NO_OPERAND.format(function.__name__, describe(other)))
        return _unknown(other, self, function, True)

    method.__name__ = function.__name__
    return (
        method
        if function not in ops.APPLIED_BY
        else Direct(ops.APPLIED_BY[function], lambda x, y, params: method(x, y), swapped=True)
    )


def _written_by(function: Function, self: Any, other: Any) -> Any:
    """What NumPy's operators in place answer to an object: they leave it to its own `+` only where
    its `__array_priority__` says so; else another name of the array would not be written."""
    kind, ufunc = type(other), ufunc_of(function)
    protocol = getattr(kind, "__array_ufunc__", _MISSING)
    if protocol is None:
        raise TypeError(f"operand '{kind.__name__}' does not support ufuncs (__array_ufunc__=None)")
    if protocol is not _MISSING and ufunc is not None:
        return ufunc(self, other, out=self)
    if protocol is _MISSING and hasattr(kind, "__array_priority__"):
        return NotImplemented
    raise TypeError(_NO_OPERAND.format(function.__name__, describe(other)))


def _in_place(function: Function) -> Function:
    ufunc = ufunc_of(function)

    def augmented(self: Any, other: Any) -> Any:
        if ufunc is not None and self._update_at_once(ufunc, other):
            return self
        if not isinstance(other, (*OPERANDS, list, tuple)):
            answer = _unknown(other)
            return answer if self.boxes_everything else _written_by(function, self, other)
        try:
            return self._update(function, operand(other))
        except REFUSED as error:
            raise explained(
                error, function.__name__, function, (self, other), {}
            ) from error.__cause__

    augmented.__name__ = function.__name__
    return augmented


def _unary(function: Function) -> Any:
    def method(self: Any) -> Any:
        return _applied(function, self)

    method.__name__ = function.__name__
    return (
        method
        if function not in ops.APPLIED_BY
        else Direct(ops.APPLIED_BY[function], lambda x, params: method(x))
    )


class Direct:
    """A method that does nothing but apply an operation: at its first use it is written out and
    takes its own place in the class.

    The use is a call, never that it is looked up: Python takes any error of looking a comparison up
    (Ctrl-C, too deep a recursion) for a comparison that is not there, and goes on with identity.
    """

    def __init__(self, op: Op, otherwise: Function, swapped: bool = False) -> None:
        self.op, self.otherwise, self.swapped = op, otherwise, swapped

    def __set_name__(self, owner: type, name: str) -> None:
        def first(*operands: Any, params: Any = NO_PARAMS) -> Any:
            if STATE.traces:
                # A function that is only traced needs no text for running it, a millisecond each.
                return self.otherwise(*operands, params)
            if vars(owner)[name] is first:
                setattr(owner, name, write_out(self.op, self.otherwise, self.swapped))
            return vars(owner)[name](*operands, params=params)

        first.__name__ = name
        setattr(owner, name, first)


_matmul = _binary(ops.matmul)


def assigned(x: Any, index: Any, /, value: Any) -> None:
    """`x[index] = value` as a function, for messages; what an index may be is said where it is
    read."""


def _is_number(x: Any) -> bool:
    """Whether this stands for a Python number."""
    if isinstance(x, Value):
        return type(x._data) in KINDS or (isinstance(x._data, Var) and x._data.type.weak)
    return type(x) in (bool, int, float, complex, Size)


def as_number(result: Any, *operands: Any) -> Any:
    """What Python's operator gives of these: of Python's numbers alone such a number, where NumPy's
    function, which is the same operation, gives an array's."""
    if isinstance(result, Value) and all(map(_is_number, operands)) and not _is_number(result):
        return number(result)
    return of_python(result, *operands) if STATE.traces else result


def as_scalar(result: Any) -> Any:
    """What NumPy's function gives, of Python's numbers too: an array's number."""
    return convert_op(result, dtype=result.dtype) if _is_number(result) else result


def _power(x: Any, y: Any) -> Any:
    if STATE.traces and type(y) in (int, float) and y < 0 and may_be_python(x):
        check_quotient(1, x)
    if not (_is_number(x) and _is_number(y)):
        return ops.power(x, y)
    return as_number(power_of_numbers(x, y), x, y)


def _absolute(x: Any) -> Any:
    return as_number(ops.absolute(x), x)


_power.__name__, _absolute.__name__ = "power", "absolute"
_OF_INTEGERS = frozenset(
    (
        *(ops.add, ops.sub, ops.mul, ops.floor_divide, ops.remainder, ops.left_shift),
        *(ops.right_shift, ops.neg, ops.positive, _absolute, _power),
    )
)
"""Operators that Python applies to truth values as integers; `~`, of which both results would be
true, is NumPy's."""


def _items(x: Any) -> Iterator[Any]:
    """The parts along the first axis; of `a, b = x` they have these names in graphs."""
    names: tuple[str, ...] = ()
    for k in range(len(x)):
        item = x[k]
        names = names or (() if k else unpacked_to(sys._getframe(1)))
        if k < len(names) and STATE.traces:
            STATE.traces[-1].call(item, names[k])
        yield item


class Operators(Value):
    """Operators as methods. In-place forms go through `_update`, which each face defines by its own
    rules of writing."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = _binary(ops.add), _reflected(ops.add), _in_place(ops.add)
    __sub__, __rsub__, __isub__ = _binary(ops.sub), _reflected(ops.sub), _in_place(ops.sub)
    __mul__, __rmul__, __imul__ = _binary(ops.mul), _reflected(ops.mul), _in_place(ops.mul)
    __truediv__, __rtruediv__, __itruediv__ = (
        _binary(ops.div),
        _reflected(ops.div),
        _in_place(ops.div),
    )
    __floordiv__, __rfloordiv__, __ifloordiv__ = (
        _binary(ops.floor_divide),
        _reflected(ops.floor_divide),
        _in_place(ops.floor_divide),
    )
    __mod__, __rmod__, __imod__ = (
        _binary(ops.remainder),
        _reflected(ops.remainder),
        _in_place(ops.remainder),
    )
    __pow__ = without_modulus(_binary(_power))
    __rpow__, __ipow__ = _reflected(_power), _in_place(ops.power)
    __rmatmul__, __imatmul__ = _reflected(ops.matmul), _in_place(ops.matmul)
    __and__, __rand__, __iand__ = (
        _binary(ops.bitwise_and),
        _reflected(ops.bitwise_and),
        _in_place(ops.bitwise_and),
    )
    __or__, __ror__, __ior__ = (
        _binary(ops.bitwise_or),
        _reflected(ops.bitwise_or),
        _in_place(ops.bitwise_or),
    )
    __xor__, __rxor__, __ixor__ = (
        _binary(ops.bitwise_xor),
        _reflected(ops.bitwise_xor),
        _in_place(ops.bitwise_xor),
    )
    __lshift__, __rlshift__, __ilshift__ = (
        _binary(ops.left_shift),
        _reflected(ops.left_shift),
        _in_place(ops.left_shift),
    )
    __rshift__, __rrshift__, __irshift__ = (
        _binary(ops.right_shift),
        _reflected(ops.right_shift),
        _in_place(ops.right_shift),
    )
    __lt__, __le__, __gt__, __ge__ = (
        _binary(ops.less),
        _binary(ops.less_equal),
        _binary(ops.greater),
        _binary(ops.greater_equal),
    )
    __eq__ = _binary(ops.equal)
    __ne__ = _binary(ops.not_equal)
    __neg__, __pos__, __abs__, __invert__ = (
        _unary(ops.neg),
        _unary(ops.positive),
        _unary(_absolute),
        _unary(ops.invert),
    )
    # Where __eq__ is defined, Python drops the hash: boxed values are hashed by identity.
    __hash__ = object.__hash__

    def __divmod__(self: Any, other: Any) -> Any:
        known = isinstance(other, (*OPERANDS, list, tuple))
        return (self // other, self % other) if known else _unknown(other)

    def __rdivmod__(self: Any, other: Any) -> Any:
        known = isinstance(other, (*OPERANDS, list, tuple))
        return (other // self, other % self) if known else _unknown(other)

    def __matmul__(self: Any, other: Any) -> Any:
        if isinstance(other, Value):
            x, y = self._data, other._data
            if (
                type(x) is np.ndarray
                and type(y) is np.ndarray
                and x.dtype is y.dtype
                and not (SPECIAL and STATE.special)
            ):
                op = matmul_op if x.ndim == 2 == y.ndim else IN_ONE_STEP.get((x.ndim, y.ndim))
                if op is not None and op.eager is not None:
                    return op.eager(self, other)
        return _matmul(self, other)

    def __getitem__(self: Any, index: Any) -> Any:
        if (
            type(index) is tuple
            and len(index) > len(self._data.shape)  # so perhaps one element, with an ellipsis
            and not self.boxes_everything
            and any(e is ... for e in index)
        ):
            return results.shown(self, index)
        if not (SPECIAL and STATE.special):
            if self._base is not None:
                self._refresh()
            data = self._data
            if type(data) is np.ndarray and data.shape:
                found = reading(data.shape, index)
                if found is not None:
                    op, params, key = found
                    if op.eager is not None:
                        return op.eager(self, params, data[key])
        return results.getitem(self, index)

    def __setitem__(self: Any, index: Any, value: Any) -> None:
        if isinstance(value, Value) and self._holds(index, value):
            # The second half of `x[index] += y`, whose first half has written through the view.
            return
        if type(value) is list or type(value) is tuple:
            fitted(value, self.dtype, "a write")
        try:
            self._update(
                ops.index_update,
                index,
                value if isinstance(value, Value) else plain_operand(operand(value)),
            )
        except REFUSED as error:
            raise explained(
                error, "x[index] = value", assigned, (self, index, value), {}
            ) from error.__cause__

    def __delitem__(self, index: Any) -> None:
        raise TypeError(
            "elements of an array cannot be deleted; build a new one with np.delete or by indexing"
        )

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return _items(self) if STATE.traces else (self[k] for k in range(len(self)))

    def __contains__(self: Any, item: Any) -> bool:
        return bool(ops.any(self == item))

    def __round__(self: Any, ndigits: int | None = None) -> Any:
        return ops.round(self, ndigits or 0)

    def __trunc__(self: Any) -> Any:
        return ops.trunc(self)

    def __floor__(self: Any) -> Any:
        return ops.floor(self)

    def __ceil__(self: Any) -> Any:
        return ops.ceil(self)
