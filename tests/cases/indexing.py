"""Indexing, writes through keys, taking along axes, sorting and searching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import DTypeError, ShapeError
from tracegrad.ir.dispatch import bind
from tracegrad.ops.arrays.slices import select_op

I = np.array([1, 0, 1])  # noqa: E741 - the name of index arrays
J = np.array([[2], [0]])
MASK = np.arange(24).reshape(2, 3, 4) % 3 == 0
ROWS = np.array([True, False, True])
EMPTY_INDEX = np.zeros(0, int)
ALL = slice(None)
X = np.arange(24.0).reshape(2, 3, 4)

KEYS: dict[str, Any] = {
    "int": 1,
    "negative int": (-1, -3),
    "all ints": (1, 2, 3),
    "ellipsis": (..., 1),
    "only ellipsis": ...,
    "newaxis": (None, 0, ..., None),
    "slices": (ALL, slice(1, 3), slice(0, 4, 2)),
    "reversed": (slice(None, None, -1), ..., slice(3, 0, -2)),
    "out of range slice": (slice(5, 9), slice(-100, 100)),
    "array": I,
    "list": ([-1, 0],),
    "empty array": EMPTY_INDEX,
    "two arrays": (I, I),
    "broadcast arrays": (I, J),
    "later axis": (ALL, I),
    "last axis": (..., I),
    "later axes": (ALL, J, I),
    "separated arrays": (I, ALL, I),
    "separated by newaxis": (I, None, I),
    "int beside array": (ALL, 0, I),
    "int apart from array": (0, ALL, I),
    "array and slice": (slice(1, 2), I, slice(None, None, 2)),
    "three arrays": (I, I, I),
    "zero-dimensional": (np.array(1), ALL, np.array(-1)),
    "unsigned": (np.array([1, 0], np.uint8), 1),
    "mask": MASK,
    "mask of an axis": (ALL, ROWS),
    "mask beside array": (0, ROWS, [1, 2]),
    "mask and newaxis": (None, ALL, ROWS, ..., None),
    "false mask": np.zeros((2, 3), bool),
}


def cube(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 3, 4)),)


def wide(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 1, 2, 2, 3)),)


def three(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=3),)


def lanes(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=(2, 3, 4)), rng.integers(-3, 3, size=(2, 5, 4))


def lanes_and_values(rng: np.random.Generator) -> tuple[Any, ...]:
    return (
        rng.normal(size=(2, 3, 4)),
        np.argsort(rng.normal(size=(2, 3, 4)), 1)[:, :2],
        rng.normal(size=(2, 2, 4)),
    )


def repeated_lanes(rng: np.random.Generator) -> tuple[Any, ...]:
    return (
        rng.normal(size=(2, 3, 4)),
        rng.integers(0, 3, size=(2, 5, 4)),
        rng.normal(size=(2, 5, 4)),
    )


def key_and_index(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=(4, 3)), rng.integers(-4, 4, size=(2, 2)), np.asarray(rng.integers(0, 3))


def set_at(x: Any, key: Any, value: Any) -> Any:
    x = x.copy()
    x[key] = value
    return x


def add_at(x: Any, key: Any, value: Any) -> Any:
    x = x.copy()
    np.add.at(x, key, value)
    return x


def put_lanes(x: Any, index: Any, value: Any, axis: int) -> Any:
    x = x.copy()
    np.put_along_axis(x, index, value, axis)
    return x


def add_lanes(x: Any, index: Any, value: Any) -> Any:
    x = x.copy()
    for b in range(index.shape[0]):
        for i in range(index.shape[1]):
            for k in range(index.shape[2]):
                x[b, index[b, i, k], k] += value[b, i, k]
    return x


def target_and_values(key: Any) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: (rng.normal(size=(2, 3, 4)), rng.normal(size=X[key].shape))


def covers(kind: str, key: Any) -> tuple[str, ...]:
    arrays = [k for k in (key if isinstance(key, tuple) else (key,)) if isinstance(k, np.ndarray)]
    return (
        (f"{kind}{len(arrays) if len(arrays) > 1 else ''}",)
        if arrays and all(a.dtype != bool for a in arrays)
        else ()
    )


CASES: tuple[Case, ...] = (
    *(
        Case(
            f"getitem {name}",
            lambda x, k=k: ops.getitem(x, k),
            cube,
            lambda x, k=k: x[k],
            covers("gather", k),
            special=((X.astype(np.float32),), (X.astype(np.int8),), (X * 1j,)),
        )
        for name, k in KEYS.items()
    ),
    Case(
        "getitem traced",
        lambda x, i, j: ops.getitem(x, (i, j)),
        key_and_index,
        lambda x, i, j: x[i, j],
        ("gather2",),
    ),
    Case(
        "getitem traced scalar",
        lambda x, i, j: ops.getitem(x, (slice(1, 3), j)),
        key_and_index,
        lambda x, i, j: x[1:3, j],
        ("gather",),
    ),
    Case(
        "getitem four",
        lambda x: ops.getitem(x, (I, [0], I, [0, 1, 1])),
        wide,
        lambda x: x[I, [0], I, [0, 1, 1]],
        ("gather4",),
    ),
    Case(
        "getitem five",
        lambda x: ops.getitem(x, (I, [0], I, [0, 1, 1], [-1, 0, 2])),
        wide,
        lambda x: x[I, [0], I, [0, 1, 1], [-1, 0, 2]],
        ("gather",),
    ),
    Case(
        "select",
        lambda x: bind(
            select_op,
            (x,),
            {"start": (1, 2, 0), "size": (1, 1, 2), "step": (1, -1, 2), "shape": (1, 2)},
        ),
        cube,
        lambda x: x[1, 2, None, 0:4:2],
        ("select",),
    ),
    Case(
        "getitem zero-dim",
        lambda x: ops.getitem(x, (..., None)),
        lambda rng: (np.asarray(rng.normal()),),
        lambda x: x[..., None],
    ),
    Case(
        "getitem bool",
        lambda x: ops.getitem(x, True) + ops.sum(ops.getitem(x, (False, 0))),
        three,
        lambda x: x[True],
    ),
    Case(
        "getitem errors",
        lambda x, k: ops.getitem(x, k),
        lambda rng: (X, 0),
        lambda x, k: x[k],
        (),
        0,
        vmap=False,
        jit=False,
        errors=(
            ((X, 2), IndexError, "index 2 is out of bounds for axis 0 with size 2"),
            ((X, (0, 0, 0, 0)), IndexError, "too many"),
            ((X, (..., ...)), IndexError, "ellips"),
            ((X, np.array([0.5])), IndexError, "integer"),
            ((X, ROWS), IndexError, "boolean index did not"),
            ((X, np.array([7])), IndexError, "index 7 is out of bounds"),
        ),
    ),
    *(
        Case(
            f"index_update {name}",
            lambda x, v, k=k: ops.index_update(x, k, v),
            target_and_values(k),
            lambda x, v, k=k: set_at(x, k, v),
            covers("index_put", k),
        )
        for name, k in KEYS.items()
    ),
    *(
        Case(
            f"index_add_at {name}",
            lambda x, v, k=k: ops.index_add_at(x, k, v),
            target_and_values(k),
            lambda x, v, k=k: add_at(x, k, v),
            covers("index_add", k),
        )
        for name, k in KEYS.items()
    ),
    Case(
        "index_update four",
        lambda x, v: ops.index_update(x, (I, [0], I, [0, 1, 1]), v),
        lambda rng: (*wide(rng), rng.normal(size=(3, 3))),
        lambda x, v: set_at(x, (I, [0], I, [0, 1, 1]), v),
        ("index_put4",),
    ),
    Case(
        "index_add_at four",
        lambda x, v: ops.index_add_at(x, (I, [0], I, [0, 1, 1]), v),
        lambda rng: (*wide(rng), rng.normal(size=(3, 3))),
        lambda x, v: add_at(x, (I, [0], I, [0, 1, 1]), v),
        ("index_add4",),
    ),
    Case(
        "index_update five",
        lambda x, v: ops.index_update(x, (I, [0], I, [0, 1, 1], [-1, 0, 2]), v),
        lambda rng: (*wide(rng), rng.normal(size=3)),
        lambda x, v: set_at(x, (I, [0], I, [0, 1, 1], [-1, 0, 2]), v),
        ("index_put",),
    ),
    Case(
        "index_update number",
        lambda x: ops.index_update(x, (0, I), 7),
        cube,
        lambda x: set_at(x, (0, I), 7),
    ),
    Case(
        "index_update broadcast",
        lambda x, v: ops.index_update(x, (..., slice(0, 2)), v),
        lambda rng: (*cube(rng), rng.normal(size=(1, 3, 1))),
        lambda x, v: set_at(x, (..., slice(0, 2)), v),
        ("slice_put",),
    ),
    Case(
        "index_update mask row",
        lambda x, v: ops.index_update(x, MASK[:, 0] if x.ndim == 2 else MASK[:, :, 0], v),
        lambda rng: (*cube(rng), rng.normal(size=4)),
        lambda x, v: set_at(x, MASK[:, :, 0], v),
    ),
    Case(
        "index_update traced mask",
        lambda x, v: ops.index_update(x, x > 0, v),
        lambda rng: (*cube(rng), np.asarray(rng.normal())),
        lambda x, v: set_at(x, x > 0, v),
    ),
    Case(
        "index_update traced",
        lambda x, i, j: ops.index_update(x, (slice(1, 3), j), ops.sum(x, 1)[1:3]),
        key_and_index,
        lambda x, i, j: set_at(x, (slice(1, 3), j), np.sum(x, 1)[1:3]),
    ),
    Case(
        "index_update dtype",
        lambda x: ops.index_update(x, 0, 1.7),
        lambda rng: (np.arange(3),),
        lambda x: set_at(x, 0, 1.7),
        (),
        0,
        special=((np.arange(3, dtype=np.float32),),),
    ),
    Case(
        "index_update errors",
        lambda x, v: ops.index_update(x, 0, v),
        lambda rng: (X, np.ones(4)),
        lambda x, v: set_at(x, 0, v),
        (),
        0,
        errors=(((X, np.ones(5)), ShapeError, "cannot be written"),),
    ),
    Case("take", lambda x: ops.take(x, J, 1), cube, lambda x: np.take(x, J, 1), ("gather",)),
    Case("take flat", lambda x: ops.take(x, 5), cube, lambda x: np.take(x, 5)),
    Case(
        "take wrap",
        lambda x, i: ops.take(x, i * 3, 1, "wrap"),
        lanes,
        lambda x, i: np.take(x, i * 3, 1, mode="wrap"),
    ),
    Case(
        "take clip",
        lambda x, i: ops.take(x, i * 3, 0, "clip"),
        lanes,
        lambda x, i: np.take(x, i * 3, 0, mode="clip"),
    ),
    Case(
        "take_along_axis",
        lambda x, i: ops.take_along_axis(x, i, 1),
        lanes,
        lambda x, i: np.take_along_axis(x, i, 1),
        ("gather",),
        errors=(((X, I), ShapeError, "rank"), ((X, X), IndexError, "integers")),
    ),
    Case(
        "take_along_axis broadcast",
        lambda x, i: ops.take_along_axis(x, i[:1, :, :1], 1),
        lanes,
        lambda x, i: np.take_along_axis(x, i[:1, :, :1], 1),
    ),
    Case(
        "take_along_axis narrow source",
        lambda x, i: ops.take_along_axis(x[:1], i, 1),
        lanes,
        lambda x, i: np.take_along_axis(x[:1], i, 1),
    ),
    Case(
        "take_along_axis flat",
        lambda x, i: ops.take_along_axis(x, i[0, 0], None),
        lanes,
        lambda x, i: np.take_along_axis(x, i[0, 0], None),
    ),
    Case(
        "put_along_axis",
        lambda x, i, v: ops.put_along_axis(x, i, v, 1),
        lanes_and_values,
        lambda x, i, v: put_lanes(x, i, v, 1),
        ("index_put",),
    ),
    Case(
        "put_along_axis repeated",
        lambda x, i, v: ops.put_along_axis(x, i, v, 1),
        repeated_lanes,
        lambda x, i, v: put_lanes(x, i, v, 1),
        ("index_put",),
    ),
    Case(
        "gather",
        lambda x, i: ops.gather(x, 1, i[:1, :, :2]),
        lanes,
        lambda x, i: np.take_along_axis(x[:1, :, :2], i[:1, :, :2], 1),
        ("gather",),
        errors=(((X, np.zeros((1, 2, 0, 3), int)), ShapeError, "rank"),),
    ),
    Case(
        "scatter",
        lambda x, i, v: ops.scatter(x, 1, i[:, :, :3], v),
        lanes_and_values,
        lambda x, i, v: np.concatenate(
            [put_lanes(x[:, :, :3], i[:, :, :3], v[:, :, :3], 1), x[:, :, 3:]], 2
        ),
        ("index_put", "slice_put"),
    ),
    Case(
        "scatter number",
        lambda x, i, v: ops.scatter(x, 1, i, 2.5),
        lanes_and_values,
        lambda x, i, v: put_lanes(x, i, 2.5, 1),
        wrt=(0,),
    ),
    Case(
        "scatter_add",
        lambda x, i, v: ops.scatter_add(x, 1, i, v),
        repeated_lanes,
        add_lanes,
        ("index_add",),
    ),
    Case("index_select", lambda x: ops.index_select(x, 1, I), cube, lambda x: np.take(x, I, 1)),
    Case(
        "index_add",
        lambda x, v: ops.index_add(x, 1, I, v, alpha=2),
        lambda rng: (*cube(rng), rng.normal(size=(2, 3, 4))),
        lambda x, v: add_at(x, (ALL, I), 2 * v),
        ("index_add",),
    ),
    Case(
        "index_copy",
        lambda x, v: ops.index_copy(x, 1, np.array([2, 0]), v),
        lambda rng: (*cube(rng), rng.normal(size=(2, 2, 4))),
        lambda x, v: set_at(x, (ALL, [2, 0]), v),
    ),
    Case("nonzero", ops.nonzero, lambda rng: (MASK,), np.nonzero, (), 0, vmap=False, jit=False),
    Case(
        "argsort",
        ops.argsort,
        cube,
        np.argsort,
        ("argsort",),
        0,
        special=((np.array([1.0, np.nan, -np.inf, 1.0]),), (np.array([2, 1, 2, 1]),)),
        errors=(((X * 1j,), DTypeError, "complex"),),
    ),
    Case(
        "argsort axis",
        lambda x: ops.argsort(x, 0),
        cube,
        lambda x: np.argsort(x, 0),
        ("argsort",),
        0,
    ),
    Case(
        "argsort descending",
        lambda x: ops.argsort(x, 1, descending=True),
        cube,
        lambda x: np.argsort(-x, 1, kind="stable"),
        ("argsort",),
        0,
        special=((np.array([[1, 2, 1, 2]]),),),
    ),
    Case(
        "sort",
        ops.sort,
        cube,
        np.sort,
        ("argsort",),
        special=(
            (np.array([1.0, np.nan, -np.inf]),),
            (np.array([], np.float32),),
            (np.array([True, False]),),
        ),
    ),
    Case("sort axis", lambda x: ops.sort(x, 0), cube, lambda x: np.sort(x, 0), ("argsort",)),
    Case(
        "sort flat",
        lambda x: ops.sort(x, None, descending=True),
        cube,
        lambda x: np.sort(x, None)[::-1],
        ("argsort",),
    ),
    Case(
        "topk",
        lambda x: ops.topk(x, 2, 1)[0],
        cube,
        lambda x: np.sort(x, 1)[:, :0:-1],
        errors=(((np.ones((1, 1, 1)),), ShapeError, "topk"),),
    ),
    Case(
        "topk smallest",
        lambda x: ops.topk(x, 2, largest=False)[1],
        cube,
        lambda x: np.argsort(x, -1)[..., :2],
        (),
        0,
    ),
    Case(
        "searchsorted",
        lambda a, v: ops.searchsorted(np.sort(a) if isinstance(a, np.ndarray) else ops.sort(a), v),
        lambda rng: (rng.normal(size=5), rng.normal(size=(2, 3))),
        lambda a, v: np.searchsorted(np.sort(a), v),
        ("searchsorted",),
        0,
        special=((np.array([1.0, 2.0, 2.0, np.nan]), np.array([2.0, np.nan, 0.0, np.inf])),),
        errors=(((np.ones((2, 2)), np.ones(2)), ShapeError, "vector"),),
    ),
    Case(
        "searchsorted right",
        lambda a, v: ops.searchsorted(ops.sort(a), v, "right"),
        lambda rng: (rng.normal(size=5), rng.normal(size=3)),
        lambda a, v: np.searchsorted(np.sort(a), v, "right"),
        ("searchsorted",),
        0,
        special=((np.array([1, 2, 2, 3]), np.array([2, 5, 0])),),
    ),
    Case(
        "interp",
        lambda x, p, f: ops.interp(x, ops.cumsum(p), f),
        lambda rng: (rng.uniform(0, 6, 7), rng.uniform(0.5, 1.5, 5), rng.normal(size=5)),
        lambda x, p, f: np.interp(x, np.cumsum(p), f),
        special=((np.array([1.0, 3.0, 5.0]), np.ones(5), np.arange(5.0)),),
    ),
    Case(
        "interp ends",
        lambda x: ops.interp(x, [1.0, 2.0], [3.0, 5.0], left=-1.0, right=9.0),
        lambda rng: (np.array([0.5, 1.5, 2.5]),),
        lambda x: np.interp(x, [1.0, 2.0], [3.0, 5.0], left=-1.0, right=9.0),
    ),
)
