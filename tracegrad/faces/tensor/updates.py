"""torch's in-place methods, whose names end in an underscore.

Nearly all are the method without the underscore, written back: see `_update` in `writing`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import ops
from ...checks import REFUSED, explained_here, quick
from ...errors import DTypeError
from ...ir.dispatch import Value
from ..operators import operand, ufunc_of
from .casts import titled

NAMES = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div"}


def _in_place(name: str) -> Callable[..., Any]:
    """The method `name`, in place."""

    ufunc = ufunc_of(getattr(ops, NAMES.get(name, name), None))

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            if (
                ufunc is not None
                and len(arguments) == 1
                and not options
                and self._update_at_once(ufunc, arguments[0])
            ):
                return self
            return self._update(getattr(type(self), name), *arguments, **options)
        except REFUSED as error:
            raise explained_here(error) from error.__cause__

    method.__name__, method.__doc__ = name + "_", f"As `{name}`, in place."
    return quick(method)


def _turned(name: str) -> Callable[..., Any]:
    """The method `name`, which gives a view, in place."""

    def method(self: Any, *arguments: Any) -> Any:
        return self._turn(getattr(type(self), name), *arguments)

    method.__name__, method.__doc__ = (
        name + "_",
        f"As `{name}`, in place: the same memory under another shape.",
    )
    return method


class TensorUpdates(Value):
    """Each writes through `_update`: views and their bases see it, the tape counts it."""

    __slots__ = ()

    add_, sub_, subtract_, mul_, multiply_ = map(
        _in_place, ("add", "sub", "subtract", "mul", "multiply")
    )
    div_, divide_, true_divide_, pow_ = map(_in_place, ("div", "divide", "true_divide", "pow"))
    remainder_, fmod_, floor_divide_, float_power_ = map(
        _in_place, ("remainder", "fmod", "floor_divide", "float_power")
    )
    exp_, exp2_, expm1_, log_, log1p_, log2_, log10_ = map(
        _in_place, ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10")
    )
    sqrt_, rsqrt_, square_, reciprocal_, neg_, negative_ = map(
        _in_place, ("sqrt", "rsqrt", "square", "reciprocal", "neg", "negative")
    )
    abs_, absolute_, sign_, sgn_, frac_, fix_ = map(
        _in_place, ("abs", "absolute", "sign", "sgn", "frac", "fix")
    )
    floor_, ceil_, trunc_, round_ = map(_in_place, ("floor", "ceil", "trunc", "round"))
    sin_, cos_, tan_, sinh_, cosh_, tanh_ = map(
        _in_place, ("sin", "cos", "tan", "sinh", "cosh", "tanh")
    )
    asin_, acos_, atan_, asinh_, acosh_, atanh_ = map(
        _in_place, ("asin", "acos", "atan", "asinh", "acosh", "atanh")
    )
    arcsin_, arccos_, arctan_, arcsinh_, arccosh_, arctanh_ = (
        asin_,
        acos_,
        atan_,
        asinh_,
        acosh_,
        atanh_,
    )
    atan2_, hypot_, copysign_, heaviside_, xlogy_ = map(
        _in_place, ("atan2", "hypot", "copysign", "heaviside", "xlogy")
    )
    arctan2_ = atan2_
    sigmoid_, logit_, relu_, erf_, erfc_, erfinv_ = map(
        _in_place, ("sigmoid", "logit", "relu", "erf", "erfc", "erfinv")
    )
    lgamma_, digamma_, polygamma_, sinc_, deg2rad_, rad2deg_ = map(
        _in_place, ("lgamma", "digamma", "polygamma", "sinc", "deg2rad", "rad2deg")
    )
    nan_to_num_, maximum_, minimum_ = map(_in_place, ("nan_to_num", "maximum", "minimum"))
    clamp_, clip_, clamp_min_, clamp_max_ = map(
        _in_place, ("clamp", "clip", "clamp_min", "clamp_max")
    )
    lerp_, addcmul_, addcdiv_, cumsum_, cumprod_ = map(
        _in_place, ("lerp", "addcmul", "addcdiv", "cumsum", "cumprod")
    )
    addmm_, addmv_, addr_, baddbmm_, tril_, triu_ = map(
        _in_place, ("addmm", "addmv", "addr", "baddbmm", "tril", "triu")
    )
    eq_, ne_, lt_, le_, gt_, ge_ = map(_in_place, ("eq", "ne", "lt", "le", "gt", "ge"))
    not_equal_, less_, less_equal_, greater_, greater_equal_ = ne_, lt_, le_, gt_, ge_
    logical_and_, logical_or_, logical_xor_, logical_not_ = map(
        _in_place, ("logical_and", "logical_or", "logical_xor", "logical_not")
    )
    bitwise_and_, bitwise_or_, bitwise_xor_, bitwise_not_ = map(
        _in_place, ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
    )
    bitwise_left_shift_, bitwise_right_shift_ = map(
        _in_place, ("bitwise_left_shift", "bitwise_right_shift")
    )
    masked_fill_, masked_scatter_, put_ = map(_in_place, ("masked_fill", "masked_scatter", "put"))
    index_add_, index_copy_, index_fill_, index_put_ = map(
        _in_place, ("index_add", "index_copy", "index_fill", "index_put")
    )
    scatter_, scatter_add_, scatter_reduce_, index_reduce_ = map(
        _in_place, ("scatter", "scatter_add", "scatter_reduce", "index_reduce")
    )

    t_, transpose_, unsqueeze_, squeeze_ = map(_turned, ("t", "transpose", "unsqueeze", "squeeze"))
    swapaxes_ = swapdims_ = transpose_

    def _put(self: Any, source: Any, title: str) -> Any:
        """Take the (broadcast) elements of `source`; the old ones keep their place on the tape,
        with a gradient of 0."""
        memory = self._plain(source)
        if memory is not None and not (
            isinstance(source, complex) or getattr(source, "dtype", memory.dtype).kind == "c"
        ):
            raw = source._data if isinstance(source, Value) else source
            if np.shape(raw) == () or np.shape(raw) == memory.shape:
                self._assign(memory, raw)
                return self
        source = ops.convert(source, self.dtype)

        def taken(x: Any, source: Any) -> Any:
            if x._requires_grad or getattr(source, "_requires_grad", False):
                return titled(ops.where(False, x, source), title + "Backward0", x, source)
            return ops.broadcast_to(source, x.shape)

        return self._update(taken, source)

    def zero_(self: Any) -> Any:
        """Set all elements to 0."""
        return self._put(0, "Zero")

    def fill_(self: Any, value: Any) -> Any:
        """Set all elements to one value: a number, or a tensor of one element without
        dimensions."""
        if np.ndim(value) if not isinstance(value, Value) else value.ndim:
            raise RuntimeError(
                "fill_ only supports a value without dimensions, but got one of shape "
                f"{tuple(np.shape(value))}; use copy_"
            )
        if isinstance(value, complex) and self.dtype.kind != "c":
            raise DTypeError(
                f"a complex value cannot fill a tensor of {self.dtype}; take its real part"
            )
        return self._put(operand(value), "Fill")

    def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
        """Take the (broadcast) elements of `src`."""
        return self._put(operand(src), "Copy")

    def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
        """Set the elements on the diagonal of a matrix; with `wrap`, that of a tall matrix begins
        anew below its end."""
        if self.ndim < 2:
            raise RuntimeError("fill_diagonal_ needs a tensor of at least 2 dimensions")
        size = self.shape[-1]
        if self.ndim > 2 or (wrap and self.shape[0] > size):
            mask = np.zeros(self.shape, np.bool_)
            np.fill_diagonal(mask, True, wrap=wrap)
            return self.masked_fill_(mask, fill_value)
        self.diagonal().fill_(fill_value)
        return self

    def random_(self: Any, low: int = 0, high: int | None = None, *, generator: Any = None) -> Any:
        """Fill with random integers from [low, high); of one number, from [0, that)."""
        source = ops.random.DEFAULT if generator is None else generator
        if high is None:
            # As many as the dtype counts exactly.
            largest = (
                2 ** (np.finfo(self.dtype).nmant + 1)
                if self.dtype.kind == "f"
                else np.iinfo(self.dtype).max
                if self.dtype.kind != "b"
                else 2
            )
            low, high = (0, low) if low else (0, largest)
        return self._put(source.integers(low, high, self.shape), "Random")

    def uniform_(
        self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None, **bounds: float
    ) -> Any:
        """Fill with uniform random numbers from [low, high), which torch calls `from` and `to`."""
        low, high = bounds.get("from", low), bounds.get("to", high)
        return self._put(
            (ops.random.DEFAULT if generator is None else generator).uniform(low, high, self.shape),
            "Uniform",
        )

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with normal random numbers."""
        return self._put(
            (ops.random.DEFAULT if generator is None else generator).normal(mean, std, self.shape),
            "Normal",
        )

    def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with exponential random numbers of rate `lambd`."""
        return self._put(
            (ops.random.DEFAULT if generator is None else generator).exponential(
                1.0 / lambd, self.shape
            ),
            "Exponential",
        )

    def bernoulli_(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
        """Fill with 1 with probability `p` (a number, or a tensor of them), else 0."""
        chance = p.detach() if isinstance(p, Value) else p
        return self._put(
            (ops.random.DEFAULT if generator is None else generator).random(self.shape) < chance,
            "Bernoulli",
        )
