"""Squares of as many rows as a vector has lanes: turned, so that columns become rows, between
memory and the lanes of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature

from ..bridge import primitive
from ..by_address import REGISTER

__all__ = [
    "by_root", "from_lanes", "from_neighbours", "join_two", "part_two", "rotate", "to_lanes",
    "to_neighbours", "turn",
]  # fmt: skip

FUSED = ("contract",)


class _Tile:
    """Vectors of the elements of a pointer."""

    def __init__(self, context: Any, builder: Any, pointer_type: Any) -> None:
        self.builder = builder
        element = context.get_value_type(pointer_type.dtype)
        self.size = context.get_abi_sizeof(element)
        self.lanes = REGISTER // self.size
        self.vector = ir.VectorType(element, self.lanes)
        self.word = ir.IntType(64)

    def number(self, value: int) -> Any:
        return ir.Constant(self.word, value)

    def place(self, base: Any, at: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(base, [at]), self.vector.as_pointer())

    def load(self, base: Any, at: Any) -> Any:
        value = self.builder.load(self.place(base, at))
        value.align = self.size
        return value

    def store(self, value: Any, base: Any, at: Any) -> None:
        self.builder.store(value, self.place(base, at)).align = self.size

    def after(self, at: Any, count: int) -> Any:
        return self.builder.add(at, self.number(count))

    def row(self, at: Any, step: Any, k: int) -> Any:
        return self.builder.add(at, self.builder.mul(step, self.number(k)))

    def turned(self, rows: list[Any]) -> list[Any]:
        """Columns as rows: blocks beside the diagonal change places, then those inside of them."""
        rows, n = list(rows), self.lanes
        kind = ir.VectorType(ir.IntType(32), n)
        d = n // 2
        while d:
            above = ir.Constant(kind, [k if not k & d else n + k - d for k in range(n)])
            below = ir.Constant(kind, [k + d if not k & d else n + k for k in range(n)])
            for i in range(n):
                if not i & d:
                    a, b = rows[i], rows[i | d]
                    rows[i] = self.builder.shuffle_vector(a, b, above)
                    rows[i | d] = self.builder.shuffle_vector(a, b, below)
            d //= 2
        return rows

    def spread(self, base: Any, at: Any, vector: Any) -> Any:
        """One element in all lanes."""
        b, word = self.builder, ir.IntType(32)
        undefined = ir.Constant(vector, ir.Undefined)
        first = b.insert_element(undefined, b.load(b.gep(base, [at])), ir.Constant(word, 0))
        zeros = ir.Constant(ir.VectorType(word, self.lanes), [0] * self.lanes)
        return b.shuffle_vector(first, undefined, zeros)

    def times(self, a: Any, c: Any, u: Any, v: Any) -> tuple[Any, Any]:
        """Real and imaginary part of (a + c i) (u + v i)."""
        b = self.builder

        def product(p: Any, q: Any) -> Any:
            return b.fmul(p, q, flags=FUSED)

        return (
            b.fsub(product(a, u), product(c, v), flags=FUSED),
            b.fadd(product(a, v), product(c, u), flags=FUSED),
        )

    def offsets(self, bases: Any, more: Any) -> list[Any]:
        b = self.builder
        return [
            b.add(b.load(b.gep(bases, [self.number(lane)])), more) for lane in range(self.lanes)
        ]


Lower = Callable[[_Tile, Any], None]


def _tiles(count: int, lower: Lower) -> Callable[..., None]:
    """A function of pointers and of `count` indices; the first argument says how wide vectors
    are."""

    def function(*args: Any) -> None:
        raise TypeError("compiled code only")

    def typer(*args: Any) -> Any:
        pointers = [a for a in args if isinstance(a, types.CPointer)]
        numbers = [types.uintp] * (count - len(pointers))
        return signature(types.none, *pointers, *numbers)

    def lowered(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lower(_Tile(context, builder, sig.args[0]), args)
        return context.get_dummy_value()

    names = ", ".join(f"a{k}" for k in range(count))
    primitive(function, eval(f"lambda {names}: typer({names})", {"typer": typer}))(lowered)
    return function


def _to_lanes(t: _Tile, args: Any) -> None:
    x, bases, lanes, more, at, even, odd = args
    rows = t.turned([t.load(x, o) for o in t.offsets(bases, more)])
    for k, value in enumerate(rows):
        t.store(value, lanes, t.after(t.builder.add(at, odd if k % 2 else even), k // 2 * t.lanes))


def _from_lanes(t: _Tile, args: Any) -> None:
    x, bases, lanes, more, at, even, odd = args
    rows = [
        t.load(lanes, t.after(t.builder.add(at, odd if k % 2 else even), k // 2 * t.lanes))
        for k in range(t.lanes)
    ]
    for value, o in zip(t.turned(rows), t.offsets(bases, more), strict=True):
        t.store(value, x, o)


def _picked(t: _Tile, first: Any, second: Any, places: list[int]) -> Any:
    """The elements at these places of two vectors in a row."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), t.lanes), places)
    return t.builder.shuffle_vector(first, second, mask)


def _to_neighbours(t: _Tile, args: Any) -> None:
    x, lanes, here, even, odd = args
    first, second = t.load(x, here), t.load(x, t.after(here, t.lanes))
    for k, at in enumerate((even, odd)):
        t.store(_picked(t, first, second, list(range(k, 2 * t.lanes, 2))), lanes, at)


def _from_neighbours(t: _Tile, args: Any) -> None:
    x, lanes, here, even, odd = args
    first, second = t.load(lanes, even), t.load(lanes, odd)
    pairs = [k // 2 + k % 2 * t.lanes for k in range(2 * t.lanes)]
    t.store(_picked(t, first, second, pairs[: t.lanes]), x, here)
    t.store(_picked(t, first, second, pairs[t.lanes :]), x, t.after(here, t.lanes))


def _turn(t: _Tile, args: Any) -> None:
    x, y, at, to = args
    rows = t.turned([t.load(x, t.after(at, k * t.lanes)) for k in range(t.lanes)])
    for k, value in enumerate(rows):
        t.store(value, y, t.after(to, k * t.lanes))


def _rotate(t: _Tile, args: Any) -> None:
    x, roots, root, at, plane, at_roots, at_root = args
    b = t.builder
    wide = ir.VectorType(ir.DoubleType(), t.lanes)

    def doubles(at: Any) -> Any:
        value = b.load(b.bitcast(b.gep(roots, [at]), wide.as_pointer()))
        value.align = 8
        return value

    c, s = t.times(
        doubles(at_roots), doubles(t.after(at_roots, t.lanes)), t.spread(root, at_root, wide),
        t.spread(root, t.after(at_root, 1), wide),
    )  # fmt: skip
    if t.size == 4:
        c, s = b.fptrunc(c, t.vector), b.fptrunc(s, t.vector)
    there = b.add(at, plane)
    real, imag = t.times(t.load(x, at), t.load(x, there), c, s)
    t.store(real, x, at)
    t.store(imag, x, there)


def _by_root(t: _Tile, args: Any) -> None:
    x, roots, at, plane, at_root, to, to_imag = args
    c, s = (t.spread(roots, here, t.vector) for here in (at_root, t.after(at_root, 1)))
    real, imag = t.times(t.load(x, at), t.load(x, t.builder.add(at, plane)), c, s)
    t.store(real, x, to)
    t.store(imag, x, to_imag)


def _four(t: _Tile, args: Any) -> tuple[Any, ...]:
    """The two complex vectors of a pair, and the root."""
    x, roots, low, high, plane, at = args
    a, c = t.load(x, low), t.load(x, high)
    b, d = (t.load(x, t.builder.add(k, plane)) for k in (low, high))
    return a, b, c, d, t.spread(roots, at, t.vector), t.spread(roots, t.after(at, 1), t.vector)


def _store_two(t: _Tile, args: Any, values: list[Any]) -> None:
    x, _, low, high, plane, _ = args
    places = (low, t.builder.add(low, plane), high, t.builder.add(high, plane))
    for value, place in zip(values, places, strict=True):
        t.store(value, x, place)


def _join_two(t: _Tile, args: Any) -> None:
    b = t.builder
    re, im, re_high, im_high, u, v = _four(t, args)
    half = ir.Constant(t.vector, [0.5] * t.lanes)
    even_re = b.fmul(b.fadd(re, re_high), half)
    even_im = b.fmul(b.fsub(im, im_high), half)
    turned_re, turned_im = t.times(b.fadd(im, im_high), b.fsub(re_high, re), u, v)
    _store_two(t, args, [
        b.fadd(even_re, turned_re), b.fadd(even_im, turned_im),
        b.fsub(even_re, turned_re), b.fsub(turned_im, even_im),
    ])  # fmt: skip


def _part_two(t: _Tile, args: Any) -> None:
    b = t.builder
    re, im, re_high, im_high, u, v = _four(t, args)
    total, gap = b.fadd(re, re_high), b.fsub(im, im_high)
    turned_re, turned_im = t.times(b.fsub(re, re_high), b.fadd(im, im_high), u, v)
    _store_two(t, args, [
        b.fadd(turned_re, gap), b.fsub(total, turned_im),
        b.fsub(turned_re, gap), b.fadd(total, turned_im),
    ])  # fmt: skip


to_lanes = _tiles(7, _to_lanes)
"""`to_lanes(x, bases, lanes, more, at, even, odd)`: elements from `more` on of the lines that begin
at `bases`, those at even places to `at + even` and on, those at odd ones to `at + odd` and on."""
from_lanes = _tiles(7, _from_lanes)
"""The same backwards."""
to_neighbours = _tiles(5, _to_neighbours)
"""`to_neighbours(x, lanes, here, even, odd)`: elements of lines that lie beside each other, two
vectors from x[here] on: those at even places to lanes[even], those at odd ones to lanes[odd]."""
from_neighbours = _tiles(5, _from_neighbours)
"""The same backwards."""
turn = _tiles(4, _turn)
"""`turn(x, y, at, to)`: the square of vectors from x[at] on, as columns from y[to] on."""
rotate = _tiles(7, _rotate)
"""`rotate(x, roots, root, at, plane, at_roots, at_root)`: the complex vector at x[at] and
x[at + plane] times a vector of roots and one root, both given in doubles."""
by_root = _tiles(7, _by_root)
"""`by_root(x, roots, at, plane, at_root, to, to_imag)`: the complex vector at x[at] and
x[at + plane] times the number at roots[at_root], to x[to] and x[to_imag]."""
join_two = _tiles(6, _join_two)
"""`join_two(x, roots, low, high, plane, at_root)`: of the spectrum of pairs of real elements, as
complex ones, the vectors at x[low] and x[high] become those of the elements, in place; the root at
roots[at_root] is halved."""
part_two = _tiles(6, _part_two)
"""The same backwards, with real and imaginary parts exchanged and the conjugate of the root."""
