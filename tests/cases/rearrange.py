"""Splitting, joining, repeating, padding, rolling and diagonals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import ShapeError
from tracegrad.ops.arrays.windows import overlap, windows

X = np.arange(12.0).reshape(3, 4)
EMPTY = np.zeros((0, 3))


def matrix(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(3, 4)),)


def cube(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 3, 4)),)


def vector(rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.normal(size=4),)


def number(rng: np.random.Generator) -> tuple[Any, ...]:
    return (np.asarray(rng.normal()),)


def vectors(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=3), rng.normal(size=3)


def matrices(rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.normal(size=(2, 3)), rng.normal(size=(2, 3))


def same(
    name: str,
    function: str,
    inputs: Callable[..., Any],
    *args: Any,
    special: Any = (),
    errors: Any = (),
    **params: Any,
) -> Case:
    """One function under its NumPy name with these further arguments."""
    return Case(
        name,
        lambda x: getattr(ops, function)(x, *args, **params),
        inputs,
        lambda x: getattr(np, function)(x, *args, **params),
        special=special,
        errors=errors,
    )


def joined(name: str, inputs: Callable[..., Any]) -> Case:
    return Case(
        f"{name} {inputs.__name__}",
        lambda x, y: getattr(ops, name)([x, y]),
        inputs,
        lambda x, y: getattr(np, name)([x, y]),
    )


def embedded(x: Any) -> Any:
    out = np.zeros((9, 8), x.dtype)
    out[8:1:-3, 1:8:2] = x
    return out


PADS: tuple[tuple[str, Any], ...] = (
    ("one", 2),
    ("pair", (1, 2)),
    ("per axis", ((0, 2), (3, 0))),
    ("long", ((7, 4), (9, 10))),
    ("none", 0),
)

CASES: tuple[Case, ...] = (
    Case(
        "reshape",
        lambda x: ops.reshape(x, (4, -1, 1)),
        cube,
        lambda x: x.reshape(4, -1, 1),
        ("reshape",),
        errors=(((np.ones(3),), ShapeError, "reshape"),),
    ),
    Case(
        "transpose",
        lambda x: ops.transpose(x, (-1, 0, 1)),
        cube,
        lambda x: x.transpose(-1, 0, 1),
        ("transpose",),
        errors=(((np.ones(3),), ShapeError, "axis"),),
    ),
    Case(
        "moveaxis",
        lambda x: ops.moveaxis(x, (0, 2), (1, 0)),
        cube,
        lambda x: np.moveaxis(x, (0, 2), (1, 0)),
        ("transpose",),
    ),
    Case("swapaxes", lambda x: ops.swapaxes(x, 0, -1), cube, lambda x: np.swapaxes(x, 0, -1)),
    Case(
        "expand_dims",
        lambda x: ops.expand_dims(x, (0, -1)),
        matrix,
        lambda x: np.expand_dims(x, (0, -1)),
    ),
    Case(
        "squeeze",
        lambda x: ops.squeeze(x[:, :1, None]),
        matrix,
        lambda x: np.squeeze(x[:, :1, None]),
    ),
    Case(
        "broadcast_to",
        lambda x: ops.broadcast_to(x, (2, 3, 4)),
        matrix,
        lambda x: np.broadcast_to(x, (2, 3, 4)),
        ("broadcast_to",),
        errors=(((np.ones(3),), ShapeError, "broadcast"),),
    ),
    Case("flip", ops.flip, cube, np.flip, ("slice",)),
    Case(
        "flip axes", lambda x: ops.flip(x, (0, -1)), cube, lambda x: np.flip(x, (0, -1)), ("slice",)
    ),
    Case(
        "slice_array",
        lambda x: ops.slice_array(x, (1, 3, 2), (1, 2, 2), (1, -2, -1)),
        lambda rng: (rng.normal(size=(2, 4, 3)),),
        lambda x: x[1:2, 3:0:-2, 2:0:-1],
        ("slice",),
    ),
    Case(
        "embed",
        lambda x: ops.embed(x, (9, 8), (8, 1), (-3, 2)),
        matrix,
        lambda x: embedded(x),
        ("embed",),
    ),
    Case(
        "concatenate",
        lambda x, y: ops.concatenate([x, y[:1], x], 0),
        matrices,
        lambda x, y: np.concatenate([x, y[:1], x], 0),
        ("concatenate",),
        special=((np.ones((0, 3), np.float32), np.ones((1, 3), np.int8)),),
        errors=(((np.ones((2, 3)), np.ones((2, 4))), ShapeError, "concatenate"),),
    ),
    Case(
        "concatenate flat",
        lambda x, y: ops.concatenate([x, y], None),
        matrices,
        lambda x, y: np.concatenate([x, y], None),
        ("concatenate",),
    ),
    Case(
        "stack",
        lambda x, y: ops.stack([x, y], -1),
        matrices,
        lambda x, y: np.stack([x, y], -1),
        ("concatenate",),
        errors=(((np.ones(2), np.ones(3)), ShapeError, "one shape"),),
    ),
    *(
        same(f"diag {name} {k}", "diag", inputs, k)
        for name, inputs in (("vector", vector), ("matrix", matrix))
        for k in (0, 1, -2)
    ),
    Case(
        "diag errors",
        ops.diag,
        vector,
        np.diag,
        (),
        2,
        errors=(((np.ones((1, 1, 1)),), ShapeError, "vector or a matrix"),),
    ),
    same("diagflat", "diagflat", matrix, 1),
    Case(
        "diag_embed",
        lambda x: ops.diag_embed(x, -1),
        matrix,
        lambda x: np.stack([np.diag(row, -1) for row in x]),
    ),
    same("ravel", "ravel", cube, special=((EMPTY,), (np.float64(3),))),
    Case("flatten", lambda x: ops.flatten(x, 1), cube, lambda x: x.reshape(2, 12)),
    Case("flatten number", ops.flatten, number, lambda x: x.reshape(1)),
    Case("permute", lambda x: ops.permute(x, (2, 0, 1)), cube, lambda x: x.transpose(2, 0, 1)),
    Case(
        "expand",
        lambda x: ops.expand(x, (2, -1, 5)),
        lambda rng: (rng.normal(size=(3, 1)),),
        lambda x: np.broadcast_to(x, (2, 3, 5)),
    ),
    Case("unbind", lambda x: ops.unbind(x, 1), cube, lambda x: tuple(x[:, k] for k in range(3))),
    *(
        same(f"atleast_{n}d {x.__name__}", f"atleast_{n}d", x)
        for n in (1, 2, 3)
        for x in (number, vector, matrix, cube)
    ),
    *(
        same(f"split {n} {axis}", "array_split", cube, n, axis)
        for n in (2, 3, [1, 3], [-1], [])
        for axis in (1, -1)
    ),
    Case("split equal", lambda x: ops.split(x, 2, 2), cube, lambda x: np.split(x, 2, 2)),
    Case("split at", lambda x: ops.split(x, [1, 2]), matrix, lambda x: np.split(x, [1, 2])),
    Case(
        "split errors",
        lambda x: ops.split(x, 3, -1),
        lambda rng: (np.ones((2, 3)),),
        lambda x: np.split(x, 3, -1),
        (),
        0,
        errors=(((X,), ShapeError, "equal parts"),),
    ),
    same("hsplit", "hsplit", matrix, 2),
    same("hsplit vector", "hsplit", vector, 2),
    same("vsplit", "vsplit", matrix, 3),
    *(
        joined(name, inputs)
        for name in ("hstack", "vstack", "dstack", "column_stack")
        for inputs in (vectors, matrices)
    ),
    *(
        same(f"roll {s} {axis}", "roll", cube, s, axis, special=((EMPTY[:, :, None],),))
        for s, axis in ((1, None), (-5, 1), ((1, -2), (0, 2)), (3, 1), (2, (0, 1)))
    ),
    same("fliplr", "fliplr", matrix),
    same("flipud", "flipud", vector),
    *(same(f"rot90 {k}", "rot90", matrix, k) for k in (0, 1, 2, 3, -1)),
    same("rot90 axes", "rot90", cube, 1, (2, 0), errors=()),
    *(same(f"tile {reps}", "tile", matrix, reps) for reps in (2, (2, 3), (2, 1, 3), (0, 1))),
    same("tile number", "tile", number, (2, 2)),
    *(
        same(f"repeat {reps} {axis}", "repeat", matrix, reps, axis)
        for reps, axis in ((2, None), (3, 1), (0, 0), ([1, 0, 2], 0), ([2, 1, 0, 3], -1))
    ),
    Case(
        "one_hot",
        lambda i: ops.one_hot(i, 4),
        lambda rng: (rng.integers(0, 4, size=(2, 3)),),
        lambda i: np.eye(4)[i],
        (),
        0,
    ),
    *(
        same(f"pad {mode} {name}", "pad", matrix, width, mode)
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
        for name, width in PADS
    ),
    same(
        "pad values",
        "pad",
        matrix,
        ((1, 2), (0, 1)),
        "constant",
        constant_values=((1.5, 2.0), (3.0, 4.0)),
    ),
    same(
        "pad value ints",
        "pad",
        lambda rng: (np.arange(3.0),),
        2,
        constant_values=7,
        special=((np.arange(3),),),
    ),
    *(
        replace(same(f"pad {mode} {k}", "pad", matrix, ((1, 2), (0, 7)), mode, **options), order=1)
        for mode, ways in (
            ("mean", ({}, {"stat_length": (1, 9)})),
            ("median", ({},)),
            ("maximum", ({"stat_length": 2},)),
            ("minimum", ({},)),
            ("linear_ramp", ({}, {"end_values": ((1.0, 2.0), (3.0, 4.0))})),
            ("reflect", ({"reflect_type": "odd"},)),
            ("symmetric", ({"reflect_type": "odd"},)),
        )
        for k, options in enumerate(ways)
    ),
    same("pad reflect single", "pad", lambda rng: (rng.normal(size=(1, 2)),), 3, "reflect"),
    Case(
        "pad errors",
        lambda x: ops.pad(x, 1, "edge"),
        matrix,
        lambda x: np.pad(x, 1, "edge"),
        (),
        2,
        errors=(((EMPTY,), ShapeError, "empty axis"),),
    ),
    Case(
        "pad negative",
        lambda x: ops.pad(x, [(0, 1)] * 2),
        matrix,
        lambda x: np.pad(x, [(0, 1)] * 2),
        errors=(((np.ones(3),), ShapeError, "pad_width"),),
    ),
    Case(
        "windows",
        lambda x: windows(x, 1, 3),
        matrix,
        lambda x: np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, 3, axis=1), 2, 1),
        ("shear",),
        special=((EMPTY,), (np.arange(8).reshape(2, 4),)),
    ),
    Case(
        "windows steps and holes",
        lambda x: windows(x, 0, 2, 2, 3),
        lambda rng: (rng.normal(size=(9, 2)),),
        lambda x: np.stack([x[0:6:2], x[3:9:2]]),
        ("shear",),
    ),
    Case(
        "overlap",
        lambda x: overlap(x, 0, 5, 2, 2),
        lambda rng: (rng.normal(size=(2, 2, 3)),),
        lambda x: np.stack([x[0, 0], 0 * x[0, 0], x[0, 1] + x[1, 0], 0 * x[0, 0], x[1, 1]]),
        ("shear",),
    ),
)
