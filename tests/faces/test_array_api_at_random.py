"""The array API standard at random: operators, operators in place, indices, reductions and the
rearranging functions, of all dtypes and of shapes with empty axes, compared with array-api-strict
on Tensors and on Tensors that require grad; and the signatures of all functions."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import array_api as xp

BOOL, INTS = ["bool"], ["int8", "int16", "int32", "int64"]
UINTS, FLOATS = ["uint8", "uint16", "uint32", "uint64"], ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REAL, WHOLE = INTS + UINTS + FLOATS, BOOL + INTS + UINTS
NUMBERS, ALL = REAL + COMPLEX, BOOL + REAL + COMPLEX
BINARY: dict[str, list[str]] = {
    "add": NUMBERS, "sub": NUMBERS, "mul": NUMBERS, "truediv": FLOATS + COMPLEX, "eq": ALL,
    "ne": ALL, "lt": REAL, "le": REAL, "gt": REAL, "ge": REAL, "floordiv": REAL, "mod": REAL,
    "and_": WHOLE, "or_": WHOLE, "xor": WHOLE, "matmul": NUMBERS,
}  # fmt: skip
IN_PLACE = {
    "iadd": NUMBERS, "isub": NUMBERS, "imul": NUMBERS, "itruediv": FLOATS + COMPLEX,
    "ifloordiv": REAL, "imod": REAL, "iand": WHOLE, "ior": WHOLE, "ixor": WHOLE,
}  # fmt: skip
Drawn = tuple[list[np.ndarray[Any, Any]], Callable[..., Any]]


class Draw:
    """Random arrays, axes and indices."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def of(self, choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def shape(self, least: int = 0) -> tuple[int, ...]:
        return tuple(
            0 if self.chance(0.1) else int(self.rng.integers(1, 4))
            for _ in range(self.rng.integers(least, 4))
        )

    def array(self, shape: Any, dtype: str) -> Any:
        kind = np.dtype(dtype).kind
        if kind in "biu":
            return self.rng.integers(0 if kind != "i" else -6, 7, size=shape).astype(dtype)
        x = np.round(self.rng.normal(size=shape) * 3, 1)
        odd = self.rng.choice([np.nan, np.inf, -np.inf, -0.0], size=shape)
        x = np.where(self.rng.random(shape) < 0.1, odd, x)
        return np.asarray(x + (1j * self.rng.normal(size=shape) if kind == "c" else 0)).astype(
            dtype
        )

    def scalar(self, dtype: str) -> Any:
        kind = np.dtype(dtype).kind
        return self.of({"b": [True, False], "i": [1, -3], "u": [2, 5], "f": [1.5, 2, np.inf],
                        "c": [2j, 1.5, 3]}[kind])  # fmt: skip

    def partner(self, dtype: str, pool: list[str]) -> str:
        """A dtype that the standard promotes with this one."""
        sort = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 2}
        found = [d for d in pool if sort[np.dtype(d).kind] == sort[np.dtype(dtype).kind]]
        wide = [d for d in found if "uint64" not in (d, dtype) or d[0] == dtype[0]]
        return str(self.of(wide))

    def index(self, shape: tuple[int, ...]) -> Any:
        if self.chance(0.15) and shape:
            return self.rng.random(shape) < 0.5
        keys: list[Any] = []
        for n in shape:
            ends = [None, *range(-n, n + 1)]
            whole = slice(self.of(ends), self.of(ends), self.of([None, 1, 2, -1, -2]))
            keys.append(int(self.rng.integers(-n, n)) if n and self.chance(0.4) else whole)
        if self.chance(0.4):
            keys = [*keys[: self.rng.integers(0, len(keys) + 1)], ...]
        return tuple(keys)


def operators(draw: Draw) -> Drawn:
    name = draw.of(list(BINARY))
    function, dtype = getattr(operator, name), draw.of(BINARY[name])
    other = draw.partner(dtype, BINARY[name])
    shape = draw.shape()
    few = tuple(1 if draw.chance(0.3) else n for n in shape[draw.rng.integers(0, len(shape) + 1) :])
    if name == "matmul":
        shape, few = (*shape, 2, 3), (3, 2)
    x, y = draw.array(shape, dtype), draw.array(few, other)
    if name in ("floordiv", "mod") and y.dtype.kind in "iu":
        y = np.where(y == 0, 1, y).astype(other)
    if name != "matmul" and draw.chance(0.4):
        number = draw.scalar(dtype)
        if name not in ("truediv", "floordiv", "mod") and draw.chance(0.5):
            return [x], lambda space, x: function(number, x)
        return [x], lambda space, x: function(x, number or 1)
    return [x, y], lambda space, x, y: function(x, y)


def in_place(draw: Draw) -> Drawn:
    name = draw.of(list(IN_PLACE))
    function, dtype, shape = getattr(operator, name), draw.of(IN_PLACE[name]), draw.shape()
    x = draw.array(shape, dtype)
    y = draw.array(shape[draw.rng.integers(0, len(shape) + 1) :], dtype)
    if name in ("ifloordiv", "imod") and y.dtype.kind in "iu":
        y = np.where(y == 0, 1, y).astype(dtype)
    return [x, y], lambda space, x, y: function(space.asarray(x, copy=True), y)


def indices(draw: Draw) -> Drawn:
    dtype, shape = draw.of(ALL), draw.shape()
    x, key, number = draw.array(shape, dtype), draw.index(shape), draw.scalar(dtype)
    mask = [key] if isinstance(key, np.ndarray) else []
    value = [] if mask else [draw.array(np.shape(x[key]), dtype)]

    def read(space: Any, x: Any, *more: Any) -> Any:
        return x[more[0] if mask else key]

    def write(space: Any, x: Any, *more: Any) -> Any:
        x = space.asarray(x, copy=True)
        x[more[0] if mask else key] = number if mask else more[0]
        return x

    return ([x, *mask], read) if draw.chance(0.5) else ([x, *mask, *value], write)


def totals(draw: Draw) -> Drawn:
    names = {"sum": NUMBERS, "prod": NUMBERS, "mean": FLOATS + COMPLEX, "var": FLOATS, "any": ALL,
             "all": ALL, "max": REAL, "min": REAL, "std": FLOATS, "count_nonzero": ALL}  # fmt: skip
    name = draw.of(list(names))
    shape = tuple(n or 1 for n in draw.shape()) if name in ("max", "min") else draw.shape()
    options: dict[str, Any] = {"keepdims": draw.chance(0.5)}
    if draw.chance(0.7):
        places = draw.rng.permutation(len(shape))[: draw.rng.integers(0, len(shape) + 1)]
        options["axis"] = tuple(int(p) - len(shape) * draw.chance(0.5) for p in places)
    if name in ("var", "std") and draw.chance(0.5):
        options["correction"] = draw.of([1, 0.5])
    x = draw.array(shape, draw.of(names[name]))
    return [x], lambda space, x: getattr(space, name)(x, **options)


def moves(draw: Draw) -> Drawn:
    shape = draw.shape(1)
    axis, n = int(draw.rng.integers(-len(shape), len(shape))), int(draw.rng.integers(-5, 6))
    dtype = draw.of(ALL)
    x, y = draw.array(shape, dtype), draw.array(shape, draw.partner(dtype, ALL))
    turned = tuple(int(k) for k in draw.rng.permutation(len(shape)))
    return [x, y], draw.of(
        [
            lambda space, x, y: space.concat([x, y], axis=axis),
            lambda space, x, y: space.stack([x, y], axis=axis),
            lambda space, x, y: space.expand_dims(x, axis=axis),
            lambda space, x, y: space.flip(x, axis=axis),
            lambda space, x, y: space.permute_dims(x, turned),
            lambda space, x, y: space.roll(x, n, axis=axis),
            lambda space, x, y: space.repeat(x, abs(n), axis=axis),
            lambda space, x, y: space.tile(x, (2, 1)),
            lambda space, x, y: list(space.unstack(x, axis=axis)),
            lambda space, x, y: space.where(space.astype(x, space.bool), x, y),
            lambda space, x, y: space.full_like(x, True if dtype == "bool" else 3),
            lambda space, x, y: space.result_type(x, y) == space.result_type(y, x.dtype),
        ]
    )


def plain(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple)):
        return [y for part in found for y in plain(part)]
    return [found.detach().numpy() if isinstance(found, tg.Tensor) else np.asarray(found)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [operators, in_place, indices, totals, moves])
def test_calls_at_random(kind: Callable[[Draw], Drawn], pytestconfig: pytest.Config) -> None:
    strict = pytest.importorskip("array_api_strict")
    wrong, count = [], 0
    for seed in range(150 * max(1, pytestconfig.getoption("soak") or 0)):
        arrays, call = kind(Draw(seed))
        try:
            want = plain(call(strict, *[strict.asarray(a, copy=True) for a in arrays]))
        except (TypeError, OverflowError):
            continue  # none of the standard
        for grad in (False, True):
            count += 1
            given = [tg.tensor(a, requires_grad=grad and a.dtype.kind in "fc") for a in arrays]
            found = plain(call(xp, *given))
            for f, w in zip(found, want, strict=True):
                same = f.dtype == w.dtype and f.shape == w.shape
                if not same or not np.allclose(f, w, 1e-5, 1e-6, equal_nan=True):
                    kinds = [f"{a.dtype}{a.shape}" for a in arrays]
                    wrong.append(f"{seed} {kinds}: {f.dtype} {f.ravel()[:3]}, {w.ravel()[:3]}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:20])
    assert count > 200


def test_signatures() -> None:
    """Each argument of each function can be given as the standard gives it. (array-api-strict takes
    the axis of expand_dims by place, too.)"""
    strict, wrong = pytest.importorskip("array_api_strict"), []
    for ours, theirs in ((xp, strict), (xp.linalg, strict.linalg), (xp.fft, strict.fft)):
        for name in sorted(set(ours.__all__) & set(dir(theirs)) - {"expand_dims"}):
            if not inspect.isfunction(getattr(theirs, name)):
                continue
            mine = inspect.signature(getattr(ours, name)).parameters
            places = [p for p in mine.values() if p.kind != p.KEYWORD_ONLY]
            for k, p in enumerate(inspect.signature(getattr(theirs, name)).parameters.values()):
                free = p.default is not p.empty
                if p.kind == p.KEYWORD_ONLY:
                    fits = p.name in mine and (mine[p.name].default is not p.empty) >= free
                elif places and places[-1].kind == p.VAR_POSITIONAL and k >= len(places) - 1:
                    fits = True
                else:
                    fits = (
                        k < len(places)
                        and (places[k].default is not p.empty) >= free
                        and (p.kind != p.POSITIONAL_OR_KEYWORD or places[k].name == p.name)
                    )
                if not fits:
                    wrong.append(f"{name}: {p}")
    assert not wrong, wrong
