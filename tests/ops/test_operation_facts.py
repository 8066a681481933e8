"""What operations say of themselves (`parity`, `commutes`) holds for NumPy's values and for
compiled ones, and nothing that holds is left unsaid."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen import lowering

import tracegrad as tg
from tracegrad.errors import DTypeError
from tracegrad.ir.dispatch import bind
from tracegrad.ir.op import Op
from tracegrad.registry import ALL_OPS

PARAMS: dict[str, list[dict[str, Any]]] = {
    "integer_pow": [{"n": 2}, {"n": 3}, {"n": 7}],
    "inverse_pow": [{"n": 1}, {"n": 2}, {"n": 5}],
    "sinc": [{"n": 0}, {"n": 1}, {"n": 2}],
    "polygamma": [{"n": 1}, {"n": 2}],
    "power_log": [{"n": 1}, {"n": 2}],
    "convert": [{"dtype": np.dtype(np.float32)}],
    "outside": [{"low": -2, "high": None}, {"low": None, "high": 3}, {"low": -1, "high": 3}],
}
INTEGRAL = {
    "angle",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "invert",
    "lambertw",
    "left_shift",
    "right_shift",
    "random_bits",
    "wofz",
}
"""What takes no real floats."""
REAL = (np.float64, np.float32)
RNG = np.random.default_rng(5)
SAMPLES = np.concatenate(
    [
        [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            1.5,
            2.0,
            -2.5,
            3.0,
            1e-3,
            40.0,
            -700.0,
            1e30,
            1e-30,
            np.inf,
            -np.inf,
            np.nan,
        ],
        RNG.normal(size=10),
        RNG.normal(size=4) * 100,
        RNG.uniform(-1, 1, 6),
    ]
)


def applications() -> list[tuple[Op, dict[str, Any]]]:
    """Every elementwise operation that takes real floats, with parameters."""
    found = []
    for op in ALL_OPS:
        if isinstance(op.lowering, lowering.Pointwise) and op.inputs and op.name != "pow_below":
            for params in PARAMS.get(op.name, [{}]):
                try:
                    with np.errstate(all="ignore"):
                        op.evaluate(*[np.ones(1)] * len(op.inputs), **params)
                except (DTypeError, TypeError):
                    assert op.name in INTEGRAL, op
                else:
                    found.append((op, params))
    return found


APPLICATIONS = applications()


def unsigned_zeros(x: Any) -> Any:
    return np.where(x == 0, x.dtype.type(0), x)


def label(application: tuple[Op, dict[str, Any]]) -> str:
    op, params = application
    return " ".join([op.name, *[f"{k}={v}" for k, v in params.items()]])


def operands(count: int, dtype: Any) -> list[Any]:
    few = SAMPLES if count < 3 else SAMPLES[::3]
    return [x.ravel().astype(dtype) for x in np.meshgrid(*[few] * count, indexing="ij")]


def equal(x: Any, y: Any) -> bool:
    """Elementwise the same numbers; NaN is NaN, and zeros are zeros."""
    return bool(np.all((x == y) | ((x != x) & (y != y))))


def values(count: int, dtype: Any, changes: dict[Any, Any]) -> dict[Any, tuple[list[Any], Any]]:
    """By change of the operands what NumPy and what compiled code gives for each operation on so
    many operands."""
    ours = [a for a in APPLICATIONS if len(a[0].inputs) == count]
    compiled = tg.jit(lambda *xs: [bind(op, list(xs), params) for op, params in ours])
    xs = operands(count, dtype)
    found = {}
    for name, change in changes.items():
        changed = change(xs)
        with np.errstate(all="ignore"):
            found[name] = (
                [op.evaluate(*changed, **params) for op, params in ours],
                compiled(*changed),
            )
    return found


def on(count: int) -> list[tuple[str, Op, dict[str, Any]]]:
    return [(label(a), *a) for a in APPLICATIONS if len(a[0].inputs) == count]


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_parity(count: int, dtype: Any) -> None:
    kinds = list(itertools.product((1, -1), repeat=count))
    changes = {
        (signs, zeros): lambda xs, signs=signs, zeros=zeros: [
            zeros(-x) if s < 0 else x for s, x in zip(signs, xs, strict=True)
        ]
        for signs in kinds
        for zeros in (np.positive, unsigned_zeros)
    }
    found = values(count, dtype, changes)
    wrong, unsaid = [], []
    for k, (name, op, params) in enumerate(on(count)):
        plain = found[(1,) * count, np.positive]
        pairs = {
            s: [
                (plain[way][k], found[s, zeros][way][k])
                for way in (0, 1)
                for zeros in (np.positive, unsigned_zeros)
            ]
            for s in kinds
        }
        for signs in kinds[1:]:
            said = None if op.parity is None else op.parity(*signs, **params)
            possible = (1,) if pairs[signs][0][0].dtype.kind == "b" else (1, -1)
            holds = [
                s for s in possible if all(equal(b, a if s > 0 else -a) for a, b in pairs[signs])
            ]
            if said is not None and said not in holds:
                wrong.append((name, signs, said))
            if said is None and holds and count == 1:
                unsaid.append((name, holds))
    assert (wrong, unsaid) == ([], [])


def test_commutes() -> None:
    found = values(2, np.float64, {"as given": lambda xs: xs, "swapped": lambda xs: xs[::-1]})
    wrong = []
    for k, (name, op, _) in enumerate(on(2)):
        holds = all(equal(found["as given"][way][k], found["swapped"][way][k]) for way in (0, 1))
        if holds != op.commutes:
            wrong.append((name, holds))
    assert wrong == []


def test_operations_on_integers_commute() -> None:
    x, y = np.meshgrid(np.arange(-5, 6), np.arange(-5, 6))
    for op in ALL_OPS:
        if op.commutes and len(op.inputs) == 2:
            assert equal(op.evaluate(x, y), op.evaluate(y, x)), op


def test_symmetric_matrices_are_so_to_the_last_bit() -> None:
    rng = np.random.default_rng(4)
    for op in ALL_OPS:
        if op.symmetric:
            for n in (5, 70):
                operands = [rng.normal(size=(2, n, n)) + 9 * np.eye(n) for _ in op.inputs]
                for f in (op.evaluate, tg.jit(lambda *xs, op=op: bind(op, xs))):
                    found = np.asarray(f(*operands))
                    np.testing.assert_array_equal(found, found.swapaxes(1, 2))


# --- nobody asks for names ------------------------------------------------------------------------

BY_NAME = {
    "tracegrad/tape/names.py": "a dictionary from our words to torch's",
}


def _asks(tree: ast.AST) -> Iterator[int]:
    """Lines in which the name of an operation is compared, matched or looked up."""

    def is_name(x: ast.AST) -> bool:
        if isinstance(x, ast.Call):
            return is_name(x.func)
        if not isinstance(x, ast.Attribute):
            return False
        owner = x.value
        ours = (isinstance(owner, ast.Attribute) and owner.attr in ("op", "operation")) or (
            isinstance(owner, ast.Name) and owner.id == "op"
        )
        return (x.attr == "name" and ours) or is_name(x.value)

    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            asked = [node.subject]
        elif isinstance(node, ast.Subscript):
            asked = [node.slice]
        elif isinstance(node, ast.Call):
            looks_up = isinstance(node.func, ast.Attribute) and node.func.attr == "get"
            asked = [node.func, *(node.args if looks_up else ())]
        if any(map(is_name, asked)):
            yield node.lineno


def test_nobody_asks_for_the_name_of_an_operation() -> None:
    """What is to be known of an operation is a fact on it, or a comparison with the operation
    itself."""
    root = Path(tg.__file__).parent
    found: dict[str, list[int]] = {}
    for path in [*root.rglob("*.py"), *(root.parent / "codegen").rglob("*.py")]:
        lines = list(_asks(ast.parse(path.read_text())))
        if lines:
            found[path.relative_to(root.parent).as_posix()] = lines
    assert set(found) == set(BY_NAME), found


def test_words_of_torch_are_those_of_operations() -> None:
    from tracegrad.tape import names

    x = tg.ones(2, 2, requires_grad=True)
    known = {op.name for op in ALL_OPS} | {
        x.unbind()[0].grad_fn.op.name,
        x.diagonal().grad_fn.op.name,
    }
    tables = (
        names.TITLES,
        names.ON_STACKS,
        names.OVERLOADS,
        names.INPUTS,
        names.RESULTS,
        names.SIZED,
        names.CONSTANTS,
    )
    assert {word for table in tables for word in table} <= known
