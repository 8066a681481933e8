"""Products of vectors and matrices, and Einstein sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case
from tracegrad import ops
from tracegrad.errors import ShapeError

Shape = tuple[int, ...]


def normal(*shapes: Shape, dtype: type = float) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """Random arrays of these shapes."""

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        return tuple(
            rng.normal(size=s) + (1j * rng.normal(size=s) if dtype is complex else 0)
            for s in shapes
        )

    return inputs


def whole(*shapes: Shape, dtype: type = np.int8) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    return tuple(rng.integers(-9, 9, s).astype(dtype) for s in shapes)


A, B = np.ones((3, 4)), np.ones(5)
SHAPES: dict[str, tuple[Shape, Shape]] = {
    "": ((3, 4), (4, 2)),
    "vectors": ((4,), (4,)),
    "matrix vector": ((3, 4), (4,)),
    "vector matrix": ((4,), (4, 3)),
    "stack matrix": ((2, 3, 4), (4, 5)),
    "matrix stack": ((3, 4), (2, 4, 5)),
    "stacks": ((2, 3, 4), (2, 4, 1)),
    "broadcast stacks": ((2, 1, 3, 4), (3, 4, 2)),
    "vector stack": ((4,), (2, 4, 3)),
    "stack vector": ((2, 3, 4), (4,)),
    "outer": ((3, 1), (1, 4)),
    "large": ((12, 9), (9, 11)),
    "single": ((1, 3, 4), (4, 2)),
}
SPECIAL: dict[str, tuple[tuple[Any, ...], ...]] = {
    "": (
        (np.zeros((0, 3)), np.ones((3, 2))),
        (np.ones((2, 0)), np.ones((0, 3))),
        whole((3, 4), (4, 2)),
        whole((3, 4), (4, 2), dtype=bool),
        (np.ones((3, 4), np.float32), np.ones((4, 2))),
        (np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)),
        whole((20, 30), (30, 9)),
        (np.ones((2, 3), int), np.full((3, 2), 1j)),
        (np.full((2, 2), np.inf), np.eye(2)),
        whole((5, 3, 4), (5, 4, 2), dtype=np.uint16),
        (np.ones((4, 6)).T, np.asfortranarray(np.arange(20.0).reshape(4, 5))),
    ),
    "vectors": (whole((4,), (4,)), whole((4,), (4,), dtype=bool), (np.zeros(0), np.zeros(0))),
}
MATMUL = tuple(
    Case(
        f"matmul {name}".strip(),
        ops.matmul,
        normal(*shapes),
        np.matmul,
        ("matmul", "dot", "mv"),
        special=SPECIAL.get(name, ()),
    )
    for name, shapes in SHAPES.items()
)
EINSUM: dict[str, tuple[Shape, ...]] = {
    "ij,jk": ((2, 3), (3, 4)),
    "ij,kj->ki": ((2, 3), (4, 3)),
    "ii": ((3, 3),),
    "iij->ji": ((3, 3, 2),),
    "i,i": ((3,), (3,)),
    "i,j": ((3,), (4,)),
    "...ij,...jk->...ik": ((2, 1, 2, 3), (3, 3, 4)),
    "bij,bj->bi": ((2, 2, 3), (2, 3)),
    "abcd,cdef->feba": ((2, 3, 2, 2), (2, 2, 2, 3)),
    "ij,jk,kl->il": ((2, 3), (3, 4), (4, 2)),
    "ba": ((2, 3),),
    "i...->...": ((2, 3),),
    ",ij": ((), (2, 3)),
    "ij,jk ": ((2, 1), (3, 4)),
    "bhqd,bhkd->bhqk": ((2, 2, 3, 2), (2, 2, 4, 2)),
    "iii->i": ((2, 2, 2),),
    "ij,ij->j": ((1, 3), (2, 3)),
    "ii,ijj,j->": ((2, 2), (2, 3, 3), (3,)),
    "ijk->kij": ((2, 3, 4),),
}


def einsum_row(text: str, shapes: tuple[Shape, ...]) -> Case:
    special = tuple(tuple(np.ones(s, d) for s in shapes) for d in (bool, np.int8, np.float32))
    return Case(
        f"einsum {text}",
        lambda *xs: ops.einsum(text, *xs),
        normal(*shapes),
        lambda *xs: np.einsum(text, *xs),
        ("matmul",),
        special=special,
    )


CASES = (
    *MATMUL,
    Case(
        "matmul complex", ops.matmul, normal((2, 3), (3, 2), dtype=complex), np.matmul, ("matmul",)
    ),
    Case(
        "matmul complex real",
        lambda a, b: ops.matmul(a, b.real),
        normal((2, 3), (3, 2), dtype=complex),
        lambda a, b: np.matmul(a, b.real),
        ("matmul",),
    ),
    Case(
        "matmul transposed",
        lambda a, b: ops.matmul(ops.transpose(a), ops.transpose(b)),
        normal((7, 9), (8, 7)),
        lambda a, b: a.T @ b.T,
        ("matmul",),
    ),
    Case(
        "matmul errors",
        ops.matmul,
        normal((2, 2), (2, 2)),
        np.matmul,
        ("matmul",),
        order=0,
        errors=(
            (
                (A, B),
                ShapeError,
                r"shapes \(3, 4\) and \(5,\) do not fit: the last axis of the first \(4\) must "
                r"equal the only axis of the second \(5\)",
            ),
            ((A, A), ShapeError, "the second-to-last axis of the second"),
            ((A, np.float64(2)), ShapeError, r"use x \* y"),
            ((np.ones((2, 3, 4)), np.ones((3, 4, 2))), ShapeError, "cannot be broadcast"),
        ),
    ),
    Case(
        "dot",
        ops.dot,
        normal((2, 3), (4, 3, 2)),
        np.dot,
        special=((2.0, np.ones(3)), (np.ones(3), np.ones(3)), whole((2, 3), (3,))),
        errors=(((A, A), ShapeError, "dot: shapes"),),
    ),
    Case("dot vectors", ops.dot, normal((3,), (3,)), np.dot),
    Case(
        "dot of a vector with itself",
        lambda x: ops.dot(x, x),
        normal((3,)),
        lambda x: np.dot(x, x),
        ("dot",),
    ),
    Case(
        "matmul of a matrix with its row",
        lambda x: (ops.matmul(x, x[0]), ops.matmul(x[1], x)),
        normal((3, 3)),
        lambda x: (x @ x[0], x[1] @ x),
        ("mv",),
    ),
    Case(
        "vdot",
        ops.vdot,
        normal((2, 2), (4,), dtype=complex),
        np.vdot,
        errors=(((A, B), ShapeError, "do not fit"),),
    ),
    Case(
        "vecdot",
        ops.vecdot,
        normal((2, 3), (3,), dtype=complex),
        np.vecdot,
        errors=(((A, B), ShapeError, "vecdot"),),
    ),
    Case(
        "inner",
        ops.inner,
        normal((2, 3), (4, 3)),
        np.inner,
        special=((np.ones((2, 3, 2)), np.ones((4, 2))), (np.ones(2), 3.0)),
        errors=(((A, B), ShapeError, "inner"),),
    ),
    Case(
        "outer",
        ops.outer,
        normal((2, 2), (3,)),
        np.outer,
        special=((np.zeros(0), np.ones(2)), (2.0, 3.0)),
    ),
    Case(
        "tensordot",
        lambda x, y: ops.tensordot(x, y, ((1, 2), (1, 0))),
        normal((2, 3, 4), (4, 3, 2)),
        lambda x, y: np.tensordot(x, y, ((1, 2), (1, 0))),
        errors=(((A, np.ones((2, 2, 2))), ShapeError, "axis|axes"),),
    ),
    Case(
        "tensordot 0",
        lambda x, y: ops.tensordot(x, y, 0),
        normal((2,), (3, 2)),
        lambda x, y: np.tensordot(x, y, 0),
    ),
    Case("tensordot all", ops.tensordot, normal((2, 3), (2, 3)), np.tensordot),
    Case(
        "kron",
        ops.kron,
        normal((2, 3), (3, 2)),
        np.kron,
        special=((np.ones(2), np.ones((2, 2))), (2.0, np.ones(3))),
    ),
    Case(
        "cross",
        ops.cross,
        normal((2, 3), (3,)),
        np.cross,
        errors=(((A, A), ShapeError, "2 or 3 components"),),
    ),
    Case(
        "cross axis",
        lambda x, y: ops.cross(x, y, axis=0),
        normal((3, 2), (3, 2)),
        lambda x, y: np.cross(x, y, axis=0),
    ),
    Case(
        "multi_dot",
        lambda *xs: ops.multi_dot(xs),
        normal((2, 5), (5, 3), (3, 4), (4,)),
        lambda *xs: np.linalg.multi_dot(xs),
        errors=(
            ((A,), ShapeError, "at least two"),
            ((A, np.ones((2, 2, 2)), A), ShapeError, "must be a matrix"),
        ),
    ),
    Case("mv", ops.mv, normal((2, 3), (3,)), np.matmul, errors=(((A, A), ShapeError, "mv takes"),)),
    Case("mm", ops.mm, normal((2, 3), (3, 2)), np.matmul),
    Case("bmm", ops.bmm, normal((2, 2, 3), (2, 3, 2)), np.matmul),
    Case(
        "matrix_transpose",
        ops.matrix_transpose,
        normal((2, 3, 4)),
        np.matrix_transpose,
        errors=(((B,), ShapeError, "two axes"),),
    ),
    Case(
        "diagonal",
        ops.diagonal,
        normal((3, 3)),
        np.diagonal,
        errors=(((B,), ShapeError, "two axes"),),
    ),
    Case(
        "diagonal offset",
        lambda x: ops.diagonal(x, 1, -1, 0),
        normal((2, 3, 4)),
        lambda x: np.diagonal(x, 1, -1, 0),
        special=((np.ones((1, 2, 1)),), (np.zeros((0, 2, 3)),)),
    ),
    Case(
        "trace",
        ops.trace,
        normal((3, 4)),
        np.trace,
        special=(whole((3, 3)), whole((2, 2), dtype=bool)),
    ),
    *[einsum_row(text, shapes) for text, shapes in EINSUM.items()],
    Case(
        "einsum lists",
        lambda x, y: ops.einsum(x, [0, 1], y, [1, 2], [2, 0]),
        normal((2, 3), (3, 4)),
        lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]),
    ),
    Case(
        "einsum errors",
        lambda text, *xs: ops.einsum(text, *xs),
        lambda rng: ("ij->", rng.normal(size=(2, 2))),
        np.einsum,
        order=0,
        vmap=False,
        jit=False,
        errors=(
            (("ij,jk", A, A), ShapeError, "the index 'j' of 'ij,jk' has sizes 4 and 3"),
            (("ij", B), ShapeError, "names 2"),
            (("ij->kk", A), ShapeError, "twice"),
            (("ij->k", A), ShapeError, "which no operand has"),
            (("i,j", B), ShapeError, "2 operands, but 1"),
            (("i$", A), ShapeError, "one letter"),
            (("...i->i", A), ShapeError, r"needs '\.\.\.' too"),
        ),
    ),
)
