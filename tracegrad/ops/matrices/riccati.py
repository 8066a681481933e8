"""Riccati's algebraic equations with SciPy's names, by the stable subspace of a matrix (Laub, "A
Schur method for solving algebraic Riccati equations", 1979), and that subspace as an operation.

Its rule is the implicit function theorem: of a matrix s with blocks (a b; c d) the subspace [I; y]
solves c + d y = y (a + b y), which is Sylvester's equation in a change of y. So derivatives of
every order are solutions of that, whatever the equation was from which s was made.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from ..._codegen import loading
from ...errors import ShapeError
from ...ir.dispatch import bind
from ...ir.op import Op, Types, op
from ...sizes import same
from ...types import ArrayType, broadcast_shapes, show
from ..arrays.concatenation import concatenate
from ..arrays.creation import eye, zeros
from ..arrays.shape import broadcast_to
from ..arrays.slices import slice_array
from ..define import shape_of
from ..elementwise.arithmetic import neg, sub
from ..elementwise.derived import add, convert, mul
from .functions_of_matrices import sylvester_stack
from .products import adjoint, product
from .stacks import (
    Values,
    as_matrix,
    as_stack,
    batch_stacks,
    from_stack,
    in_lapack_dtype,
    routine,
    square_stack,
)
from .systems import solve_stack

UNEVEN = 1e-3
"""How far a solution may be from Hermitian, which it is but for rounding."""
NO_SOLUTION = (
    "The equation has no stabilizing solution (or eigenvalues of its matrix are too close to the "
    "boundary of stability)"
)


def _slope_infer(s: Any, *, count: int) -> Types:
    kind = square_stack("stable_slope", s)
    b, n, _ = kind.shape
    return (ArrayType(kind.dtype, (b, n - count, count)),)


def _slope_evaluate(s: Any, *, count: int) -> Any:
    out = np.empty((len(s), s.shape[1] - count, count), s.dtype)
    if out.size:
        for m, y in zip(s, out, strict=True):
            y[...] = _slope(m, count)
    return out


def _slope(m: Any, count: int) -> Any:
    if np.isfinite(m).all():
        form = "complex" if m.dtype.kind == "c" else "real"
        t, u, stable = loading.imported("scipy.linalg").schur(m, form, sort="lhp")
        # So near to 0 the sign of a real part is not known.
        least = 10 * np.finfo(m.dtype).eps * np.abs(m).sum(0).max()
        if stable == count and np.abs(np.diag(t).real).min() > least:
            with contextlib.suppress(np.linalg.LinAlgError):
                y = np.linalg.solve(u[:count, :count].T, u[count:, :count].T).T
                apart = y[:count] - y[:count].conj().T
                if np.abs(apart).sum(0).max() <= UNEVEN * np.abs(y[:count]).sum(0).max():
                    return y
    raise np.linalg.LinAlgError(NO_SOLUTION)


def _parts(s: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """[-y, I], [I; y], and the matrices of Sylvester's equation."""
    b, k, m = shape_of(y)
    one, other = (broadcast_to(eye(n, dtype=s.dtype), (b, n, n)) for n in (m, k))
    left, right = concatenate([neg(y), other], 2), concatenate([one, y], 1)
    beside = slice_array(product(left, s), (0, 0, m), (b, k, k), (1, 1, 1))
    inside = slice_array(product(s, right), (0, 0, 0), (b, m, m), (1, 1, 1))
    return left, right, beside, neg(inside)


def _slope_vjp(ct: Any, s: Any, out: Any, *, count: int) -> Any:
    left, right, first, second = _parts(s, out)
    w = sylvester_stack(adjoint(first), adjoint(second), ct)
    return neg(product(adjoint(left), product(w, adjoint(right))))


def _slope_jvp(tangents: Values, inputs: Values, outs: Values, *, count: int) -> list[Any]:
    left, right, first, second = _parts(inputs[0], outs[0])
    return [sylvester_stack(first, second, neg(product(left, product(tangents[0], right))))]


stable_slope_op: Op = op(
    "stable_slope",
    ("s",),
    evaluate=_slope_evaluate,
    infer=_slope_infer,
    vjp=[_slope_vjp],
    jvp=_slope_jvp,
    batch=batch_stacks(lambda: stable_slope_op),
    lowering=routine("stable_slope", failure=NO_SOLUTION),
    doc=(
        "The y for which [I; y] spans the subspace of the eigenvalues with negative real parts, "
        "of which there are `count`, where the first `count` rows of y are Hermitian."
    ),
)


def _given(name: str, a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> tuple[Any, ...]:
    """The matrices as stacks in double precision, as SciPy solves for them, q and r as their
    Hermitian parts, and what makes a result of a solution."""
    words = {"a": a, "b": b, "q": q, "r": r, "e": e, "s": s}
    there = [w for w, x in words.items() if x is not None]
    full = in_lapack_dtype(*[as_matrix(name, words[w], w not in "bs") for w in there])
    shapes = {w: shape_of(x)[-2:] for w, x in zip(there, full, strict=True)}
    m, n = shapes["b"]
    if not isinstance(m, int) or not isinstance(n, int):
        raise ShapeError(f"{name}: the sizes of the matrices must be known; mark them static")
    wanted = {"a": (m, m), "b": (m, n), "q": (m, m), "r": (n, n), "e": (m, m), "s": (m, n)}
    for w in there:
        if not all(same(x, y) for x, y in zip(shapes[w], wanted[w], strict=True)):
            raise ShapeError(
                f"{name}: {w} has the shape {show(shapes[w])}; with b of shape {show((m, n))} it "
                f"must be {show(wanted[w])}"
            )
    kind = full[0].dtype
    wide = np.result_type(kind, np.float64)
    batch = broadcast_shapes(*[shape_of(x)[:-2] for x in full])
    stacks = {
        w: as_stack(broadcast_to(convert(x, wide), (*batch, *wanted[w])))
        for w, x in zip(there, full, strict=True)
    }  # fmt: skip
    for w in ("q", "r"):
        stacks[w] = _hermitian(stacks[w])
    finish = lambda x: from_stack(convert(_hermitian(x), kind), batch)  # noqa: E731
    return (*[stacks.get(w) for w in words], finish)


def _hermitian(x: Any) -> Any:
    return mul(add(x, adjoint(x)), 0.5)


def _block(rows: list[list[Any]]) -> Any:
    return concatenate([concatenate(row, 2) for row in rows], 1)


def _divided(x: Any, e: Any) -> Any:
    """x e^-1."""
    return adjoint(solve_stack(adjoint(e), adjoint(x)))


def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The stabilizing x of `a^H x + x a - x b r^-1 b^H x + q = 0`, or with e and s of
    `e^H x a + a^H x e - (e^H x b + s) r^-1 (b^H x e + s^H) + q = 0` (Riccati's equation in
    continuous time), Hermitian. Matrices a, q, e of shape (..., m, m), b and s (..., m, n), r
    (..., n, n), real or complex, solved in double precision; of q and r the Hermitian parts count.
    `balanced` is there for SciPy's sake, and has no effect. LinAlgError where r or e is singular,
    and where there is no such x. The derivative is Sylvester's equation, by the implicit function
    theorem (Kao and Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic
    Riccati equations", 2020).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> one = np.eye(1)
    >>> tg.linalg.solve_continuous_are(0 * one, one, 4 * one, one)
    array([[2.]])
    >>> tg.grad(lambda q: tg.linalg.solve_continuous_are(0 * one, one, q, one)[0, 0])(4 * one)
    array([[0.25]])
    """
    a, b, q, r, e, s, finish = _given("solve_continuous_are", a, b, q, r, e, s)
    if e is not None:
        a, b = solve_stack(e, a), solve_stack(e, b)
    weighted = adjoint(solve_stack(r, adjoint(b)))  # b r^-1
    if s is not None:
        a = sub(a, product(weighted, adjoint(s)))
        q = sub(q, _hermitian(product(s, solve_stack(r, adjoint(s)))))
    around = _hermitian(product(weighted, adjoint(b)))
    matrix = _block([[a, neg(around)], [neg(q), neg(adjoint(a))]])
    x = bind(stable_slope_op, [matrix], {"count": int(shape_of(a)[-1])})
    if e is not None:
        x = _divided(adjoint(_divided(x, e)), e)
    return finish(x)


def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The stabilizing x of `a^H x a - x - a^H x b (r + b^H x b)^-1 b^H x a + q = 0`, or with e and
    s of `a^H x a - e^H x e - (a^H x b + s) (r + b^H x b)^-1 (b^H x a + s^H) + q = 0` (Riccati's
    equation in discrete time), Hermitian. Shapes, dtypes and errors as of `solve_continuous_are`,
    but r may be singular. The pencil of the equation goes by Cayley's transformation to a matrix
    whose stable subspace has x in it; so the derivative is Sylvester's equation here, too.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> one = np.eye(1)
    >>> tg.linalg.solve_discrete_are(one, one, one, one).round(6)
    array([[1.618034]])
    """
    a, b, q, r, e, s, finish = _given("solve_discrete_are", a, b, q, r, e, s)
    count, m, n = shape_of(b)
    if e is not None:
        turned = adjoint(e)
        a, q = _divided(a, e), _hermitian(solve_stack(turned, _divided(q, e)))
        s = None if s is None else solve_stack(turned, s)
    one = broadcast_to(eye(m, dtype=a.dtype), (count, m, m))
    none = {(i, j): zeros((count, i, j), dtype=a.dtype) for i in (m, n) for j in (m, n)}
    s = none[m, n] if s is None else s
    here = _block([
        [a, none[m, m], b], [neg(q), one, neg(s)], [adjoint(s), none[n, m], r],
    ])  # fmt: skip
    there = _block([
        [one, none[m, m], none[m, n]],
        [none[m, m], adjoint(a), none[m, n]],
        [none[n, m], neg(adjoint(b)), none[n, n]],
    ])  # fmt: skip
    matrix = solve_stack(add(here, there), sub(here, there))
    y = bind(stable_slope_op, [matrix], {"count": int(m)})
    return finish(slice_array(y, (0, 0, 0), (count, m, m), (1, 1, 1)))


OPS = (stable_slope_op,)
__all__ = ["solve_continuous_are", "solve_discrete_are"]
