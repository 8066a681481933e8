"""Random numbers as a function of a key, a counter and the element's position: the same stream
eager and compiled.

A `Generator` owns two 0-d uint64 arrays, its key and its counter. Every draw reads the counter and
raises it by one; element i of a draw is Philox4x32-10 of (counter, i) under the key, so elements
never depend on each other, on threads or on the shape.

Inside a trace the generator captures both arrays by reference, like any array of the surroundings,
and its raised counter is a traced value. `draws(trace)` gives these values when the trace is
finished: they are further outputs of the graph, and after each run `Generator.store` takes the new
counter back (into the array, or into the enclosing trace).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..devices import to_host
from ..dtypes import FLOAT32, FLOAT64, INT64, UINT64, check
from ..errors import DTypeError, ShapeError, TracegradError
from ..ir.dispatch import STATE, Value, bind
from ..ir.trace import Trace, user_line
from ..sizes import INTEGRAL, SYMBOLIC, numel
from ..types import Int, Shape, broadcast_shapes
from .arrays.creation import iota
from .arrays.shape import reshape
from .arrays.slices import slice_array
from .define import ndim_of, shape_of
from .elementwise.arithmetic import div, less, neg, sub
from .elementwise.comparison import minimum
from .elementwise.derived import add, convert, mul
from .elementwise.elementary import log, log1p, sqrt
from .elementwise.logic import right_shift
from .elementwise.pointwise import pointwise
from .elementwise.remainders import mod
from .elementwise.trigonometric import cos
from .places.along import take
from .totals.scans import cumsum
from .totals.sorting import argsort, searchsorted

_M0, _M1, _W0, _W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(key: Any, counter: Any, index: Any, *, word: int) -> Any:
    """64 of the 128 bits of Philox4x32-10 for the counter words (index, counter)."""
    key = np.asarray(key, np.uint64)
    counter = np.asarray(counter, np.uint64)
    index = np.asarray(index, np.uint64)
    c0, c1, c2, c3 = index & _LOW, index >> _HALF, counter & _LOW, counter >> _HALF
    k0, k1 = key & _LOW, key >> _HALF
    for _ in range(10):
        p0, p1 = np.uint64(_M0) * c0, np.uint64(_M1) * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + np.uint64(_W0)) & _LOW, (k1 + np.uint64(_W1)) & _LOW
    return c0 | c1 << _HALF if word == 0 else c2 | c3 << _HALF


random_bits_op = pointwise(
    "random_bits",
    ("key", "counter", "index"),
    numpy=philox,
    code=lambda p: f"philox_words({{key}}, {{counter}}, {{index}})[{p['word']}]",
    partials=None,
    result="promote",
    kinds="u",
    cost=30,
    doc="64 random bits for (key, counter, index); `word` chooses the half of the block.",
)

Size = int | Sequence[Int] | None


def _float_bits(bits: Any, dtype: np.dtype[Any]) -> Any:
    """Uniform numbers in [0, 1): as many of the upper bits as the dtype holds exactly."""
    if dtype == FLOAT32:
        return mul(convert(right_shift(bits, np.uint64(40)), FLOAT32), 2.0**-24)
    return mul(convert(right_shift(bits, np.uint64(11)), FLOAT64), 2.0**-53)


def _float_dtype(dtype: Any) -> np.dtype[Any]:
    kind = check(np.dtype(dtype))
    if kind not in (FLOAT32, FLOAT64):
        raise DTypeError(
            f"random numbers are drawn as float32 or float64, not {kind}. "
            "Convert the result with .astype."
        )
    return kind


class Generator:
    """A stream of random numbers; the same seed gives the same numbers, in eager and in compiled
    code.

    >>> import tracegrad as tg
    >>> rng = tg.ops.Generator(0)
    >>> rng.uniform(size=3).shape
    (3,)
    """

    def __init__(self, seed: int | Sequence[int] | None = None) -> None:
        key = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        self.counter: Any = np.array(0, np.uint64)
        self._traced: list[tuple[Trace, Any]] = []
        self.key: Any = np.array(key)
        if STATE.traces:
            # Made inside a traced function, it starts anew at every call: its state is the trace's
            # own, and nothing goes back.
            self.key = key
            self._traced.append((STATE.traces[-1], np.uint64(0)))

    def __repr__(self) -> str:
        return f"Generator(key={int(self.key):#x}, counter={int(self.counter)})"

    def seed(self, seed: int | Sequence[int] | None) -> Generator:
        """Start the stream of this seed. A TracegradError in a traced function, for a generator
        that was not made in it."""
        key = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        if type(self.key) is not np.ndarray and STATE.traces:
            self.key, self._traced = key, [(STATE.traces[-1], np.uint64(0))]
            return self
        self.at_each_call("seeding a generator")
        self.key[...] = key
        self.counter[...] = 0
        return self

    def at_each_call(self, what: str) -> None:
        """A TracegradError where `what` would be done once, while a function is traced."""
        if type(self.key) is np.ndarray and any(t.watch or t.repeated for t in STATE.traces):
            raise TracegradError(
                f"{user_line()}: {what} in a traced function is done once, while it is traced, and "
                "not at each call or pass. Do it outside of the function, or draw from a generator "
                "that the function makes: default_rng(seed) starts anew at each call."
            )

    def spawn(self, count: int) -> list[Generator]:
        """Independent generators, whose keys are drawn from this one."""
        keys = np.asarray(self.bits((count,)))
        children = [Generator(0) for _ in range(count)]
        for child, key in zip(children, keys, strict=True):
            child.key[...] = key
        return children

    # --- the counter ------------------------------------------------------------------------------

    def current(self) -> Any:
        """The counter of the next draw: the array itself, or its value in the innermost open trace
        that drew."""
        open_traces = STATE.traces
        # An entry of a trace that is not open was left behind by an error in the traced function.
        self._traced = [(t, v) for t, v in self._traced if t in open_traces]
        return self._traced[-1][1] if self._traced else self.counter

    def store(self, value: Any) -> None:
        """Make `value` the counter of the next draw."""
        self.current()
        if not STATE.traces:
            self.counter[...] = np.asarray(
                to_host(value._data) if isinstance(value, Value) else value
            )
            return
        trace = STATE.traces[-1]
        if self._traced and self._traced[-1][0] is trace:
            self._traced.pop()
        else:
            _DREW.setdefault(trace, []).append(self)
        self._traced.append((trace, value))

    def _advance(self) -> Any:
        counter = self.current()
        if not STATE.traces:
            counter = np.uint64(counter)
        self.store(add(counter, np.uint64(1)))
        return counter

    # --- draws ------------------------------------------------------------------------------------

    def _blocks(self, shape: Shape, words: Sequence[int]) -> list[Any]:
        counter = self._advance()
        index = reshape(iota(numel(shape), UINT64), shape)
        key = self.key if STATE.traces else np.uint64(self.key)
        return [bind(random_bits_op, [key, counter, index], {"word": w}) for w in words]

    def bits(self, size: Size = None) -> Any:
        """64 random bits per element (uint64)."""
        return self._blocks(_shape_of_size(size), (0,))[0]

    def random(self, size: Size = None, dtype: Any = float) -> Any:
        """Uniform numbers in [0, 1), float64 or float32."""
        kind = _float_dtype(dtype)
        return _float_bits(self._blocks(_shape_of_size(size), (0,))[0], kind)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Size = None, dtype: Any = float
    ) -> Any:
        """Uniform numbers in [low, high), which broadcast with `size` and may be differentiated."""
        # Python's operator keeps the difference of two Python numbers weak, so that float32 stays
        # float32.
        return add(low, mul(high - low, self.random(_joint(size, low, high), dtype)))

    def standard_normal(self, size: Size = None, dtype: Any = float) -> Any:
        """Normal numbers of mean 0 and variance 1."""
        kind = _float_dtype(dtype)
        first, second = self._blocks(_shape_of_size(size), (0, 1))
        radius = sqrt(mul(log(sub(1, _float_bits(first, kind))), -2))
        return mul(radius, cos(mul(_float_bits(second, kind), 2 * math.pi)))

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None, dtype: Any = float
    ) -> Any:
        """Normal numbers; mean and standard deviation broadcast with `size` and may be
        differentiated."""
        return add(loc, mul(scale, self.standard_normal(_joint(size, loc, scale), dtype)))

    def exponential(self, scale: Any = 1.0, size: Size = None, dtype: Any = float) -> Any:
        """Exponentially distributed numbers with this mean."""
        return mul(scale, neg(log1p(neg(self.random(_joint(size, scale), dtype)))))

    def bernoulli(self, p: Any = 0.5, size: Size = None) -> Any:
        """Booleans that are true with probability `p`."""
        return less(self.random(_joint(size, p)), p)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """Integers in [low, high), or in [0, low) where `high` is None; `endpoint` includes `high`.
        The bias is below range / 2**64."""
        if high is None:
            low, high = 0, low
        span = convert(sub(add(high, 1) if endpoint else high, low), INT64)
        bits = self.bits(_joint(size, low, high))
        return convert(add(convert(mod(bits, convert(span, UINT64)), INT64), low), dtype)

    def permutation(self, x: Any) -> Any:
        """0 ... x-1 in random order, or an array's slices along its first axis in random order."""
        if isinstance(x, INTEGRAL):
            return argsort(self.bits((_length(x),)))
        return take(x, argsort(self.bits(shape_of(x)[0])), 0)

    def choice(self, a: Any, size: Size = None, replace: bool = True, p: Any = None) -> Any:
        """Elements of the vector `a` (or of 0 ... a-1), equally probable or with probabilities `p`;
        each once at most unless `replace`."""
        count = shape_of(a)[0] if ndim_of(a) else a
        shape = _shape_of_size(size)
        total = numel(shape)
        if not replace:
            if total > count:
                raise ShapeError(f"cannot choose {total} of {count} elements without replacement")
            # The order of exponential waiting times, each with rate p, is an order of draws without
            # replacement.
            keys = self.bits(count) if p is None else div(self.exponential(size=count), p)
            index = reshape(slice_array(argsort(keys), (0,), (total,), (1,)), shape)
        elif p is None:
            index = self.integers(0, count, shape)
        else:
            cumulative = cumsum(p)
            scaled = mul(self.random(shape), take(cumulative, count - 1))
            index = minimum(searchsorted(cumulative, scaled, side="right"), count - 1)
        return take(a, index, 0) if ndim_of(a) else index

    def shuffle(self, x: Any) -> None:
        """Bring the slices of `x` along its first axis into random order, in place."""
        x[...] = self.permutation(x)


def _length(x: Any) -> Any:
    return x if isinstance(x, SYMBOLIC) else int(x)


def _shape_of_size(size: Size) -> Shape:
    if size is None:
        return ()
    return (size,) if isinstance(size, INTEGRAL) else tuple(size)


def _joint(size: Size, *parameters: Any) -> Shape:
    return (
        broadcast_shapes(*[shape_of(p) for p in parameters])
        if size is None
        else _shape_of_size(size)
    )


_DREW: dict[Trace, list[Generator]] = {}


def draws(trace: Trace) -> list[tuple[Generator, Any]]:
    """The generators that drew in this trace, each with its raised counter; they forget the trace.
    Call it once, when tracing ends."""
    result = []
    for generator in _DREW.pop(trace, []):
        for k, (owner, value) in enumerate(generator._traced):
            if owner is trace:
                del generator._traced[k]
                result.append((generator, value))
                break
    return result


def has_drawn(trace: Trace) -> bool:
    """Whether random numbers were drawn in this open trace."""
    return trace in _DREW


def default_rng(seed: int | Sequence[int] | None = None) -> Generator:
    """A new generator; without a seed it starts somewhere unpredictable.

    >>> import tracegrad as tg
    >>> bool(tg.ops.default_rng(3).random() == tg.ops.default_rng(3).random())
    True
    """
    return Generator(seed)


DEFAULT = Generator()
"""The generator behind `manual_seed`."""


def manual_seed(seed: int) -> Generator:
    """Seed the shared generator and return it.

    >>> import tracegrad as tg
    >>> tg.ops.manual_seed(1).integers(10, size=2).shape
    (2,)
    """
    return DEFAULT.seed(seed)


OPS = (random_bits_op,)
