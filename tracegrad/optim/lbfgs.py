"""L-BFGS: steps along a quasi-Newton direction from the last gradients, with a line search that
keeps the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..autograd.grad_mode import enable_grad, no_grad
from ..errors import ConcretizationError
from ..ir.dispatch import STATE
from .optimizer import Closure, Group, Optimizer, write
from .rules import as_reals, not_negative

Vector = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Point:
    """A step length with the loss, the gradient and the slope along the direction there."""

    t: float
    loss: float
    gradient: Vector
    slope: float


def _flat(x: Any) -> Vector:
    """The elements as a vector of the host, parts of complex ones behind each other: what is chosen
    by their values is chosen there."""
    found: Vector = as_reals(x.detach().cpu()._data).ravel()
    return found


class LBFGS(Optimizer):
    """L-BFGS over all parameters as one vector, as in torch; `step` needs a closure that computes
    loss and gradients anew.

    What it does next depends on values, so it runs eagerly; jit what the closure calls instead. One
    group of parameters only.

    >>> import tracegrad as tg
    >>> w = tg.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = tg.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1.0) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> _ = optimizer.step(closure)
    >>> w
    tensor([1.0000, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        not_negative(lr=lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported as line_search_fn")
        options: dict[str, Any] = {
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
        }
        options |= {
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, {"lr": lr, **options})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    # --- all parameters as one vector ---

    def _gradient(self) -> Vector:
        params = self.param_groups[0]["params"]
        return np.concatenate([0 * _flat(p) if p.grad is None else _flat(p.grad) for p in params])

    def _values(self) -> Vector:
        return np.concatenate([_flat(p) for p in self.param_groups[0]["params"]])

    def _set(self, values: Vector) -> None:
        at = 0
        with no_grad():
            for p in self.param_groups[0]["params"]:
                parts = (2,) if p.dtype.kind == "c" else ()
                count = p._data.size * math.prod(parts)
                write(p, values[at : at + count].reshape(*p.shape, *parts))
                at += count

    # --- the step ---

    def step(self, closure: Closure | None = None) -> Any:
        """Up to `max_iter` iterations; the loss before the first one is returned."""
        if STATE.traces:
            raise ConcretizationError(
                "LBFGS.step chooses its next evaluation by the values of the last one, "
                "which are not known inside jit. Call it outside, and jit the function "
                "that its closure calls."
            )
        if closure is None:
            raise TypeError(
                "LBFGS.step needs a closure that clears the gradients, computes the loss, "
                "calls backward() and returns the loss"
            )
        group = self.param_groups[0]
        assert isinstance(group, Group)
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        lr, most, change = group["lr"], group["max_eval"], group["tolerance_change"]

        def evaluate() -> tuple[float, Vector]:
            with enable_grad():
                loss = float(closure().detach())
            return loss, self._gradient()

        with enable_grad():
            first = closure()
        loss, gradient = float(first.detach()), self._gradient()
        evaluations = 1
        state["func_evals"] += 1
        iterations = 0
        if np.max(np.abs(gradient), initial=0.0) <= group["tolerance_grad"]:
            return first
        d, t = state.get("d"), state.get("t", lr)
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            d = self._direction(state, d, t, gradient, group["history_size"])
            before_loss = loss
            t = min(1.0, 1.0 / float(np.sum(np.abs(gradient)))) * lr if state["n_iter"] == 1 else lr
            slope = float(gradient @ d)
            if slope > -change:
                break
            used = 0
            if group["line_search_fn"] is not None:
                origin = self._values()

                def at(t: float, origin: Vector = origin, d: Vector = d) -> Point:
                    self._set(origin + origin.dtype.type(t) * d)
                    loss, gradient = evaluate()
                    return Point(t, loss, gradient, float(gradient @ d))

                found, used = strong_wolfe(
                    at,
                    t,
                    float(np.max(np.abs(d))),
                    Point(0.0, loss, gradient, slope),
                    max_ls=most - evaluations,
                )
                t, loss, gradient = found.t, found.loss, found.gradient
                self._set(origin + origin.dtype.type(t) * d)
            else:
                self._set(self._values() + gradient.dtype.type(t) * d)
                if iterations != group["max_iter"]:
                    loss, gradient = evaluate()
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                iterations == group["max_iter"]
                or evaluations >= most
                or np.max(np.abs(gradient), initial=0.0) <= group["tolerance_grad"]
                or np.max(np.abs(d * t), initial=0.0) <= change
                or abs(loss - before_loss) < change
            ):
                break
        state["d"], state["t"] = d, t
        return first

    @staticmethod
    def _direction(
        state: dict[str, Any], d: Vector | None, t: float, gradient: Vector, most: int
    ) -> Vector:
        """Minus the gradient times an estimate of the inverse Hessian, by the two-loop recursion
        over the last steps."""
        if state["n_iter"] == 1 or d is None:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0, prev_flat_grad=gradient)
            return -gradient
        changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = gradient - state["prev_flat_grad"], d * gradient.dtype.type(t)
        state["prev_flat_grad"] = gradient
        curvature = float(y @ s)
        if curvature > 1e-10:
            if len(changes) == most:
                for kept in (changes, steps, inverse):
                    kept.pop(0)
            changes.append(y)
            steps.append(s)
            inverse.append(1.0 / curvature)
            state["H_diag"] = curvature / float(y @ y)
        q: Vector = -gradient
        weights = [0.0] * len(changes)
        kind = gradient.dtype.type
        for k in reversed(range(len(changes))):
            weights[k] = float(steps[k] @ q) * inverse[k]
            q = q - kind(weights[k]) * changes[k]
        q = q * kind(state["H_diag"])
        for k in range(len(changes)):
            q = q + steps[k] * kind(weights[k] - float(changes[k] @ q) * inverse[k])
        return q

    # --- state: vectors and numbers under the first parameter, as torch keeps them ---

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        first = self.param_groups[0]["params"][0]
        for entries in state_dict["state"].values():
            self.state[first] = {k: _copied(x) for k, x in entries.items()}
        self.param_groups[0].update(
            {k: v for k, v in state_dict["param_groups"][0].items() if k != "params"}
        )


def _copied(x: Any) -> Any:
    """An array, or a list of them, that shares no memory with what was given."""
    if isinstance(x, list):
        return [np.array(v) for v in x]
    return np.array(x) if isinstance(x, np.ndarray) else x


def minimum_of_cubic(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is smallest, within bounds; their middle
    where it has no minimum."""
    low, high = bounds or (min(a.t, b.t), max(a.t, b.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    if a.t <= b.t:
        place = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        place = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(place, low), high)


def strong_wolfe(
    at: Callable[[float], Point],
    t: float,
    longest: float,
    start: Point,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Point, int]:
    """A point along a direction that keeps the strong Wolfe conditions (Nocedal and Wright,
    algorithms 3.5 and 3.6), and the evaluations.

    `longest` is the largest element of the direction: an interval in which no element moves by
    `tolerance_change` is left.
    """

    def falls(p: Point) -> bool:
        return not p.loss > start.loss + c1 * p.t * start.slope

    def flat(p: Point) -> bool:
        return abs(p.slope) <= -c2 * start.slope

    # Bracket: go on until an interval holds a good point.
    before, now, used = start, at(t), 1
    tries, bracket = 0, None
    while tries < max_ls:
        if not falls(now) or (tries > 1 and now.loss >= before.loss):
            bracket = [before, now]
            break
        if flat(now):
            return now, used
        if now.slope >= 0:
            bracket = [before, now]
            break
        step = minimum_of_cubic(before, now, (now.t + 0.01 * (now.t - before.t), now.t * 10))
        before, now = now, at(step)
        used += 1
        tries += 1
    if bracket is None:
        bracket = [start, now]
    # Zoom: make the interval smaller.
    low, high = (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)
    stuck = done = False
    while not done and tries < max_ls:
        if abs(bracket[1].t - bracket[0].t) * longest < tolerance_change:
            break
        step = minimum_of_cubic(bracket[0], bracket[1])
        left, right = min(p.t for p in bracket), max(p.t for p in bracket)
        margin = 0.1 * (right - left)
        if min(right - step, step - left) < margin:
            # Twice too near to one end: keep away from it.
            if stuck or step >= right or step <= left:
                step = right - margin if abs(step - right) < abs(step - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        now = at(step)
        used += 1
        tries += 1
        if not falls(now) or now.loss >= bracket[low].loss:
            bracket[high] = now
            low, high = (0, 1) if bracket[0].loss <= bracket[1].loss else (1, 0)
        else:
            done = flat(now)
            if not done and now.slope * (bracket[high].t - bracket[low].t) >= 0:
                bracket[high] = replace(bracket[low])
            bracket[low] = now
    return bracket[low], used


__all__ = ["LBFGS", "Point", "minimum_of_cubic", "strong_wolfe"]
