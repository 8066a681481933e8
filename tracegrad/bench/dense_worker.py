"""Factorisations of large matrices and their derivatives in tracegrad and in torch, and the process
that times them.

This module uses no other part of tracegrad than is asked for, so that it also runs in the
interpreter of another environment.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .measure import least
from .worker import first_line, pin, tell

HYPERPARAMETERS = np.array([0.1, 0.2, -1.0])
"""Logarithms of the length, the size and the noise of a Gaussian process."""

Calls = dict[str, Callable[[], Any]]


def data(n: int, dtype: str) -> dict[str, Any]:
    """A matrix, a positive definite one, a vector, another matrix, and points."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(n, n))
    made = {
        "a": a,
        "s": a @ a.T / n + np.eye(n),
        "b": rng.normal(size=n),
        "c": rng.normal(size=(n, n)),
        "x": rng.normal(size=(n, 3)),
        "h": HYPERPARAMETERS,
    }
    return {name: value.astype(dtype) for name, value in made.items()}


def with_tracegrad(n: int, dtype: str) -> Calls:
    """The calls by name, compiled."""
    tg, given = import_module("tracegrad"), data(n, dtype)
    a, s, b, c, x, h = (given[k] for k in "asbcxh")

    def process(h: Any) -> Any:
        z = x / np.exp(h[0])
        apart = np.sum((z[:, None] - z[None]) ** 2, -1)
        k = np.exp(2 * h[1] - 0.5 * apart) + np.exp(2 * h[2]) * np.eye(n, dtype=dtype)
        factor = np.linalg.cholesky(k)
        w = tg.linalg.triangular_solve(factor, b)
        return 0.5 * np.sum(w * w) + np.sum(np.log(np.diagonal(factor)))

    def call(f: Callable[..., Any], *args: Any) -> Callable[[], Any]:
        compiled = tg.jit(f)
        return lambda: compiled(*args)

    def by_factor(s: Any) -> Any:
        return np.sum(np.log(np.diagonal(np.linalg.cholesky(s))))

    return {
        "product": call(np.matmul, a, c),
        "Cholesky factor": call(np.linalg.cholesky, s),
        "solve, one vector": call(np.linalg.solve, a, b),
        "solve, n vectors": call(np.linalg.solve, a, c),
        "inverse": call(np.linalg.inv, a),
        "sign and log det": call(np.linalg.slogdet, a),
        "QR": call(np.linalg.qr, a),
        "eigenvalues and vectors": call(np.linalg.eigh, s),
        "eigenvalues": call(np.linalg.eigvalsh, s),
        "singular values": call(lambda a: np.linalg.svd(a, compute_uv=False), a),
        "gradient of log det by Cholesky": call(tg.grad(by_factor), s),
        "gradient of log det by LU": call(tg.grad(lambda a: np.linalg.slogdet(a)[1]), a),
        "gradient of solve": call(tg.grad(lambda a: np.sum(np.linalg.solve(a, b) ** 2)), a),
        "Gaussian process, value and gradient": call(tg.value_and_grad(process), h),
        "Gaussian process, Hessian": call(tg.hessian(process), h),
    }


def with_torch(n: int, dtype: str) -> Calls:
    """The same calls, eagerly: compiling leaves factorisations what they are."""
    torch = import_module("torch")
    torch.set_num_threads(1)
    linalg, given = torch.linalg, {k: torch.from_numpy(v) for k, v in data(n, dtype).items()}
    a, s, b, c, x, h = (given[k] for k in "asbcxh")

    def process(h: Any) -> Any:
        z = x / torch.exp(h[0])
        apart = ((z[:, None] - z[None]) ** 2).sum(-1)
        k = torch.exp(2 * h[1] - 0.5 * apart) + torch.exp(2 * h[2]) * torch.eye(n, dtype=x.dtype)
        factor = linalg.cholesky(k)
        w = linalg.solve_triangular(factor, b[:, None], upper=False)[:, 0]
        return 0.5 * (w * w).sum() + torch.log(torch.diagonal(factor)).sum()

    def gradient(f: Callable[..., Any], given: Any) -> Callable[[], Any]:
        def run() -> Any:
            leaf = given.detach().requires_grad_()
            return torch.autograd.grad(f(leaf), leaf)[0]

        return run

    def hessian() -> Any:
        leaf = h.detach().requires_grad_()
        (first,) = torch.autograd.grad(process(leaf), leaf, create_graph=True)
        rows = [torch.autograd.grad(first[k], leaf, retain_graph=True)[0] for k in range(3)]
        return torch.stack(rows)

    return {
        "product": lambda: a @ c,
        "Cholesky factor": lambda: linalg.cholesky(s),
        "solve, one vector": lambda: linalg.solve(a, b),
        "solve, n vectors": lambda: linalg.solve(a, c),
        "inverse": lambda: linalg.inv(a),
        "sign and log det": lambda: linalg.slogdet(a),
        "QR": lambda: linalg.qr(a),
        "eigenvalues and vectors": lambda: linalg.eigh(s),
        "eigenvalues": lambda: linalg.eigvalsh(s),
        "singular values": lambda: linalg.svdvals(a),
        "gradient of log det by Cholesky": gradient(
            lambda s: torch.log(torch.diagonal(linalg.cholesky(s))).sum(), s
        ),
        "gradient of log det by LU": gradient(lambda a: linalg.slogdet(a)[1], a),
        "gradient of solve": gradient(lambda a: (linalg.solve(a, b) ** 2).sum(), a),
        "Gaussian process, value and gradient": gradient(process, h),
        "Gaussian process, Hessian": hessian,
    }


LIBRARIES = {"tracegrad": with_tracegrad, "torch": with_torch}
SIGNS = ("QR", "eigenvalues and vectors")
"""Results whose signs are free."""


def main(library: str) -> None:
    """A line with a size and a dtype is answered by the names of the calls. With seconds and a name
    behind them, by the least processor time of that call that is seen in so long, and a sum of its
    results, by which libraries can be compared."""
    pin(1)
    try:
        import_module(library)
    except ImportError:
        tell(missing=f"{library} is not installed here")
        return
    tell(ready=True)
    calls: dict[tuple[int, str], Calls] = {}
    for line in sys.stdin:
        size, dtype, *asked = line.rstrip().split(maxsplit=3)
        key = int(size), dtype
        if key not in calls:
            calls[key] = LIBRARIES[library](*key)
        if not asked:
            tell(names=list(calls[key]))
            continue
        seconds, name = asked
        call = calls[key][name]
        try:
            tell(sum=checksum(call(), name in SIGNS), seconds=least(call, float(seconds)))
        except Exception as error:
            # Whatever a library raises belongs into the report.
            tell(failed=f"{type(error).__name__}: {first_line(error)}")


def checksum(results: Any, signs_are_free: bool) -> float:
    """The root of the mean square of the last result, or of its sizes' fourth powers."""
    last = results[-1] if isinstance(results, (tuple, list)) else results
    values = np.asarray(last.detach() if hasattr(last, "detach") else last, dtype=float)
    return float(np.sqrt(np.mean(np.abs(values) ** (4 if signs_are_free else 2))))


if __name__ == "__main__":
    main(sys.argv[1])
