"""What gradcheck compares: a function's Jacobians at a point by its rules, in both modes, and by
differences."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..devices import to_host
from ..dtypes import is_differentiable
from ..ir.levels import forward_level
from ..ops.arrays.transfer import place_of, transfer
from ..tape.batched import over_rows
from ..tape.modes import restoring
from ..tensor import Tensor
from .functions import grad
from .grad_mode import enable_grad
from .gradcheck import Function, GradcheckError

Matrix = np.ndarray[Any, Any]


NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
    "times gives different values, although analytical gradient matches numerical gradient. "
    "The tolerance for nondeterminism was {}. If the function draws random numbers, "
    "give it a generator that starts anew at each call; otherwise raise nondet_tol."
)
UNDEFINED = (
    "Expected all input grads to be undefined or zero when all output grads are undefined or zero: "
    "a rule does not multiply by a gradient that it was not given."
)


def as_tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(outs: Any) -> tuple[Any, ...]:
    return tuple([o for o in as_tuple(outs) if isinstance(o, Tensor) and o.requires_grad])


def random_matrix(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Matrix:
    values = rng.normal(size=tuple(shape))
    return np.asarray(
        values + 1j * rng.normal(size=tuple(shape)) if dtype.kind == "c" else values
    ).astype(dtype)


def _reals(x: Any) -> Matrix:
    """The components of an array as a row of real numbers: real parts, then imaginary ones."""
    flat = np.ravel(np.asarray(to_host(x)))
    return np.concatenate([flat.real, flat.imag]) if flat.dtype.kind == "c" else flat


def _directions(x: Any) -> Iterator[Matrix]:
    """The unit vectors of an array's real components."""
    for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
        for k in range(int(np.prod(x.shape, dtype=np.int64))):
            e = np.zeros(x.shape, x.dtype)
            e.flat[k] = unit
            yield e


def _numbers(x: Any, like: Any) -> Matrix:
    """A gradient or tangent as an array; zeros where there is none."""
    return (
        np.zeros(like.shape, like.dtype)
        if x is None
        else np.asarray(
            to_host(x.detach()._data if isinstance(x, Tensor) else getattr(x, "_data", x))
        )
    )


class JacobianCheck:
    """A function at a point: what was checked about the inputs, its outputs there, and the
    comparisons."""

    def __init__(
        self, func: Function, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float
    ) -> None:
        self.func, self.inputs, self.eps, self.atol, self.rtol = func, inputs, eps, atol, rtol
        self.places = [k for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
        if not self.places:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, "
                "but none of them have requires_grad=True."
            )
        for k in self.places:
            x = inputs[k]
            if x.dtype not in (np.float64, np.complex128):
                warnings.warn(
                    f"Input #{k} requires gradient and is not a double precision floating point "
                    "or complex. This check will likely fail if all the inputs are not of double "
                    "precision floating point or complex.",
                    UserWarning,
                    stacklevel=4,
                )
            if x._data.size and any(
                stride == 0 and size > 1
                for stride, size in zip(x._data.strides, x.shape, strict=True)
            ):
                raise RuntimeError(
                    f"The {k}th input has a dimension with stride 0. "
                    "gradcheck only supports inputs that are non-overlapping to be able to compute "
                    "the numerical gradients correctly. You should call .contiguous on the input "
                    "before passing it to gradcheck."
                )
        self.points = [np.array(to_host(inputs[k]._data), order="K") for k in self.places]
        self.devices = [place_of(inputs[k]) for k in self.places]
        self.leaves = [inputs[k] for k in self.places]
        with enable_grad():
            self.whole = as_tuple(func(*inputs))
        self.outputs = _differentiable(self.whole)
        self.rng = np.random.default_rng(0)

    # --- the function elsewhere ---

    def at(self, points: Sequence[Any]) -> tuple[Any, ...]:
        """All results of the function for other values of the checked inputs."""
        args = list(self.inputs)
        for k, p in zip(self.places, points, strict=True):
            args[k] = p
        with enable_grad():
            return as_tuple(self.func(*args))

    def fresh(self, moved: int = -1, by: Any = 0.0) -> list[Any]:
        """New leaves at the point, one of them moved."""
        moved_to = [
            np.array(p + by if k == moved else p, order="K") for k, p in enumerate(self.points)
        ]
        return [
            transfer(Tensor(p), d).requires_grad_()
            for p, d in zip(moved_to, self.devices, strict=True)
        ]

    def difference(self, k: int, direction: Matrix) -> list[Matrix]:
        """Central differences of all floating-point results along a direction of input k, without
        the derivative's own rules."""
        results = [
            [
                np.array(to_host(o._data))
                for o in self.at(self.fresh(k, step * direction))
                if isinstance(o, Tensor) and is_differentiable(o.dtype)
            ]
            for step in (self.eps, -self.eps)
        ]
        for a, b in zip(*results, strict=True):
            if a.shape != b.shape or a.dtype != b.dtype:
                raise GradcheckError(
                    "Expected `func` to return outputs with the same shape "
                    f"and dtype when inputs are perturbed by {self.eps}, but got: "
                    f"{a.dtype}{list(a.shape)} and {b.dtype}{list(b.shape)}."
                )
        return [(a - b) / (2 * self.eps) for a, b in zip(*results, strict=True)]

    def floating(self) -> list[int]:
        """Which of the floating-point results are differentiable: places of `outputs` among what
        `difference` gives."""
        results = [o for o in self.whole if isinstance(o, Tensor) and is_differentiable(o.dtype)]
        return [k for k, o in enumerate(results) if o.requires_grad]

    def numerical(self, k: int) -> list[Matrix]:
        """Per output the real Jacobian with respect to input k: rows are directions of the input,
        columns components of the output."""
        kept = self.floating()
        rows = [self.difference(k, e) for e in _directions(self.points[k])]
        outs = self.outputs
        empty = [np.zeros((0, _reals(o._data).size)) for o in outs]
        return [np.stack([_reals(row[place]) for row in rows]) for place in kept] if rows else empty

    # --- reverse mode ---

    def pulled(self, o: Any, ct: Matrix) -> list[Matrix]:
        found = grad(
            [o],
            self.leaves,
            [transfer(Tensor(ct), place_of(o))],
            retain_graph=True,
            allow_unused=True,
        )
        for g, x in zip(found, self.leaves, strict=True):
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if g is not None and (g.dtype.kind == "c") != (x.dtype.kind == "c"):
                raise GradcheckError(
                    f"Gradient has dtype mismatch: {g.dtype} for an input of {x.dtype}"
                )
        return [_numbers(g, x) for g, x in zip(found, self.leaves, strict=True)]

    def analytical(self, o: Any, nondet_tol: float) -> list[Matrix]:
        """Per input the real Jacobian of an output, from one backward pass for each component; each
        is run twice."""
        columns: list[list[Matrix]] = [[] for _ in self.leaves]
        for e in _directions(o._data):
            once, again = self.pulled(o, e), self.pulled(o, e)
            self.same(once, again, nondet_tol)
            for column, g in zip(columns, once, strict=True):
                column.append(_reals(g))
        return [
            np.stack(c, axis=1) if c else np.zeros((_reals(p).size, 0))
            for c, p in zip(columns, self.points, strict=True)
        ]

    @staticmethod
    def same(once: Sequence[Matrix], again: Sequence[Matrix], nondet_tol: float) -> None:
        if any(
            np.max(np.abs(a - b), initial=0.0) > nondet_tol
            for a, b in zip(once, again, strict=True)
        ):
            raise GradcheckError(NOT_REENTRANT.format(nondet_tol))

    def backward(self, fast: bool, nondet_tol: float, dtypes: bool, undefined: bool) -> None:
        if not self.outputs:
            self.without_derivative()
            return
        if not fast or not self.projected_backward(nondet_tol):
            found = [self.analytical(o, nondet_tol) for o in self.outputs]
            for j in range(len(self.leaves)):
                for i, numerical in enumerate(self.numerical(j)):
                    self.compare(numerical, found[i][j], i, j, forward=False)
        zeros = [transfer(Tensor(np.zeros(o.shape, o.dtype)), place_of(o)) for o in self.outputs]
        for g, x in zip(
            grad(self.outputs, self.leaves, zeros, retain_graph=True, allow_unused=True),
            self.leaves,
            strict=True,
        ):
            if g is not None and np.any(_numbers(g, x) != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if dtypes and g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype mismatch: {g.dtype} for an input of {x.dtype}"
                )
        for k in range(len(self.outputs)) if undefined and len(self.outputs) > 1 else ():
            rest = [
                (o, z) for i, (o, z) in enumerate(zip(self.outputs, zeros, strict=True)) if i != k
            ]
            partly = grad(
                [o for o, _ in rest],
                self.leaves,
                [z for _, z in rest],
                retain_graph=True,
                allow_unused=True,
            )
            if any(
                g is not None and np.any(_numbers(g, x) != 0)
                for g, x in zip(partly, self.leaves, strict=True)
            ):
                raise GradcheckError(UNDEFINED)

    def projected_backward(self, nondet_tol: float) -> bool:
        """Whether products with random vectors agree."""
        kept = self.floating()
        moves = [random_matrix(self.rng, p.shape, p.dtype) for p in self.points]
        moved = [self.difference(k, u) for k, u in enumerate(moves)]
        for i, o in enumerate(self.outputs):
            v = random_matrix(self.rng, o.shape, o.dtype)
            once, again = self.pulled(o, v), self.pulled(o, v)
            self.same(once, again, nondet_tol)
            for g, u, difference in zip(once, moves, moved, strict=True):
                if not self.close(
                    _reals(v) @ _reals(difference[kept[i]]), _reals(g) @ _reals(u), u, v
                ):
                    return False
        return True

    def close(self, numerical: Any, analytical: Any, u: Matrix, v: Matrix) -> bool:
        """Whether two products agree to what the tolerance of single elements adds up to."""
        atol = self.atol * float(np.sum(np.abs(_reals(u)))) * float(np.sum(np.abs(_reals(v))))
        return bool(
            np.isclose(
                analytical,
                numerical,
                rtol=self.rtol,
                atol=min(atol, 10 * self.atol),
                equal_nan=False,
            )
        )

    # --- forward mode ---

    @restoring
    def pushed(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the differentiable results, None where there is none; a tangent that is
        None is left out."""
        with forward_level() as level:
            duals = [
                x if t is None else Tensor._dual(x, t, level)
                for x, t in zip(self.fresh(), tangents, strict=True)
            ]
            results = [
                o for o in self.at(duals) if isinstance(o, Tensor) and is_differentiable(o.dtype)
            ]
            return [(results[k]._tangents or {}).get(level) for k in self.floating()]

    def only(self, k: int, t: Any) -> list[Any]:
        return [t if j == k else np.zeros(p.shape, p.dtype) for j, p in enumerate(self.points)]

    def forward(self, fast: bool, dtypes: bool, undefined: bool) -> None:
        if not self.outputs:
            return
        for j, p in enumerate(self.points):
            if fast and self.projected_forward(j):
                continue
            rows = [
                [
                    _numbers(t, o)
                    for t, o in zip(self.pushed(self.only(j, e)), self.outputs, strict=True)
                ]
                for e in _directions(p)
            ]
            for i, numerical in enumerate(self.numerical(j)):
                columns = [_reals(row[i]) for row in rows]
                self.compare(
                    numerical, np.stack(columns) if columns else numerical, i, j, forward=True
                )
        for t, o in (
            zip(self.pushed(self.random_tangents()), self.outputs, strict=True) if dtypes else ()
        ):
            if t is not None and t.dtype != o.dtype:
                raise GradcheckError(
                    f"Forward AD gradient has dtype mismatch: {t.dtype} for an output of {o.dtype}"
                )
        for j in range(len(self.points)) if undefined else ():
            tangents: list[Any] = self.random_tangents()
            tangents[j] = np.zeros_like(self.points[j])
            with_zero = self.pushed(tangents)
            tangents[j] = None
            for i, (a, b, o) in enumerate(
                zip(with_zero, self.pushed(tangents), self.outputs, strict=True)
            ):
                if not np.allclose(_numbers(a, o), _numbers(b, o), equal_nan=True):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output {i} where input {j} has no "
                        "tangent, and where it is zero."
                    )

    def random_tangents(self) -> list[Any]:
        return [random_matrix(self.rng, p.shape, p.dtype) for p in self.points]

    def projected_forward(self, j: int) -> bool:
        u = random_matrix(self.rng, self.points[j].shape, self.points[j].dtype)
        difference, kept = self.difference(j, u), self.floating()
        for i, (t, o) in enumerate(zip(self.pushed(self.only(j, u)), self.outputs, strict=True)):
            v = random_matrix(self.rng, o.shape, o.dtype)
            if not self.close(
                _reals(v) @ _reals(difference[kept[i]]), _reals(v) @ _reals(_numbers(t, o)), u, v
            ):
                return False
        return True

    # --- batches ---

    def batched_backward(self) -> None:
        for i, o in enumerate(self.outputs):
            cts = np.stack([random_matrix(self.rng, o.shape, o.dtype) for _ in range(3)])
            try:
                whole = grad(
                    [o],
                    self.leaves,
                    [transfer(Tensor(cts), place_of(o))],
                    retain_graph=True,
                    allow_unused=True,
                    is_grads_batched=True,
                )
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            single = [self.pulled(o, ct) for ct in cts]
            for j, (g, p) in enumerate(zip(whole, self.points, strict=True)):
                found = np.zeros((3, *p.shape)) if g is None else _numbers(g, p)
                self.batches(
                    found, np.stack([row[j] for row in single]), i, j, "vmap over a backward pass"
                )

    def batched_forward(self) -> None:
        for j, p in enumerate(self.points):
            us = np.stack([random_matrix(self.rng, p.shape, p.dtype) for _ in range(3)])
            try:
                whole = over_rows(
                    lambda rows, j=j: self.pushed(self.only(j, rows[0])),  # type: ignore[misc]
                    [us],
                    aside=True,
                )
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            single = [self.pushed(self.only(j, u)) for u in us]
            for i, (t, o) in enumerate(zip(whole, self.outputs, strict=True)):
                found = np.zeros((3, *o.shape)) if t is None else _numbers(t, o)
                self.batches(
                    found,
                    np.stack([_numbers(row[i], o) for row in single]),
                    i,
                    j,
                    "vmap over forward mode",
                )

    @staticmethod
    def batches(found: Matrix, expected: Matrix, i: int, j: int, what: str) -> None:
        if not np.allclose(found, expected, equal_nan=True):
            raise GradcheckError(
                f"For output {i} and input {j}: {what} gives\n"
                f"{found}\n"
                "where single passes give\n"
                f"{expected}"
            )

    # --- verdicts ---

    def without_derivative(self) -> None:
        """Where no result requires grad the numbers must not depend on the inputs."""
        for k, p in enumerate(self.points):
            for e in _directions(p):
                if any(np.max(np.abs(d), initial=0.0) > self.eps for d in self.difference(k, e)):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def compare(self, numerical: Matrix, analytical: Matrix, i: int, j: int, forward: bool) -> None:
        if np.allclose(analytical, numerical, rtol=self.rtol, atol=self.atol):
            return
        n, o = self.points[j], self.outputs[i]
        parts: list[tuple[str, Matrix, Matrix]] = [("", numerical, analytical)]
        if n.dtype.kind == "c" or o.dtype.kind == "c":
            # Shown as torch does: for the real and the imaginary part of the output the derivative
            # by the conjugate of the input.
            half = numerical.shape[0] // 2 if n.dtype.kind == "c" else None
            shown = [
                m if half is None else m[:half] + 1j * m[half:] for m in (numerical, analytical)
            ]
            middle = shown[0].shape[1] // 2 if o.dtype.kind == "c" else shown[0].shape[1]
            names = [
                f"While considering the {part} part of complex outputs only, "
                for part in ("real", "imaginary")
            ]
            parts = [
                (name, shown[0][:, cut], shown[1][:, cut])
                for name, cut in zip(names, (slice(middle), slice(middle, None)), strict=True)
            ]
            parts = [
                part
                for part in parts
                if not np.allclose(part[2], part[1], rtol=self.rtol, atol=self.atol)
            ]
            if o.dtype.kind != "c":
                parts = [("", *part[1:]) for part in parts]
        prefix, left, right = parts[0]
        kind = "Jacobian computed with forward mode mismatch" if forward else "Jacobian mismatch"
        text = (
            f"{kind} for output {i} with respect to input {j},\n"
            f"numerical:{left}\n"
            f"analytical:{right}\n"
        )
        raise GradcheckError(prefix + text)
