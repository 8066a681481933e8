"""`objective`: a function of one real result, with the derivatives that SciPy's minimizers take."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..bridges.standing import compiled
from ..compiled.jit import jit
from ..derivatives.jacobians import hessian
from ..derivatives.reverse import hvp, value_and_grad
from ..sparse.derivatives import sparse_hessian
from .unknowns import Adapter, Function, matrix_of


class Objective(Adapter):
    """A function as SciPy's minimizers take it; see `objective`."""

    def __init__(
        self,
        f: Function,
        like: Any = None,
        who: str = "objective: like",
        sparse: bool = False,
    ) -> None:
        super().__init__(f, like, who, sparse)
        self._compiled = (
            jit(self._f) if self._unknowns is None else compiled(self._of_vector(), self._f)
        )
        self._both = value_and_grad(self._compiled)
        made = sparse_hessian if self._sparse else hessian
        self._hessian = matrix_of(made(self._compiled))
        self._last = _Last()

    def fun(self, x: Any, *args: Any) -> float:
        """The value at x, a float."""
        return float(self._part("fun", x, args))

    def jac(self, x: Any, *args: Any) -> np.ndarray[Any, Any]:
        """The gradient at x, an array of x's shape."""
        return np.asarray(self._part("jac", x, args))

    def fun_and_jac(self, x: Any, *args: Any) -> tuple[float, np.ndarray[Any, Any]]:
        """Value and gradient at x: for `jac=True`."""
        value, gradient = self._both(self._x(x, "fun_and_jac"), *args)
        return float(value), np.asarray(gradient)

    def hess(self, x: Any, *args: Any) -> Any:
        """The Hessian at x, an array of shape (n, n) or such a `csr_array`."""
        return self._hessian(self._x(x, "hess"), *args)

    def hessp(self, x: Any, p: Any, *args: Any) -> np.ndarray[Any, Any]:
        """The product of the Hessian at x and the vector p, without the Hessian."""
        x = self._x(x, "hessp")
        return np.asarray(hvp(self._compiled, x, np.asarray(p, x.dtype), *args))

    def _part(self, name: str, x: Any, args: tuple[Any, ...]) -> Any:
        x = self._x(x, name)
        key = (x.tobytes(), x.shape, x.dtype)
        found = self._last.take(name, key, args)
        if found is None:
            value, gradient = self._both(x, *args)
            self._last.keep(key, args, {"fun": value, "jac": gradient})
            found = self._last.take(name, key, args)
        return found


class _Last(threading.local):
    """What a thread's last evaluation found and nobody has asked for yet.

    Each part is handed out once. Who asks for the same part again has it evaluated again, so that
    what the function reads around it may change between two runs, and nobody shares a gradient.
    """

    key: Any = None
    args: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}

    def take(self, name: str, key: Any, args: tuple[Any, ...]) -> Any:
        same = self.key == key and len(args) == len(self.args)
        if same and all(a is b for a, b in zip(args, self.args, strict=True)):
            return self.parts.pop(name, None)
        return None

    def keep(self, key: Any, args: tuple[Any, ...], parts: dict[str, Any]) -> None:
        self.key, self.args, self.parts = key, args, parts


def objective(f: Function, like: Any = None, sparse: bool = False) -> Objective:
    """The function `f(x, *args)` of one real result as SciPy's minimizers take it: an object with
    `fun`, `jac`, `hess` and `hessp`, compiled.

    f      returns one real number; it is traced, a jitted function as it is
    like   None: f takes the array that SciPy hands to it. Otherwise a number, an array of any shape
           or a tree of them, floating-point or complex: f takes such a tree, `pack` makes SciPy's
           vector of float64 of one, and `unpack` a tree of the vector
    sparse whether `hess` is a sparse array; its pattern is found as by `tg.sparse_hessian`

    `fun(x)` and `jac(x)` at the same x are one call of compiled code, whichever comes first: the
    other half is kept until it is asked for, by thread, and compared with x bit by bit, so x may be
    written to in between. (Arrays that f reads besides x must not be, between these two calls.)
    `hess` is an (n, n) array; `hessp(x, p)` costs a small multiple of a gradient, whatever n is.
    NaN and infinity are returned as they are. Raises a ShapeError where f returns something else
    than one number, or x has not the size of `like`.

    >>> import numpy as np
    >>> import scipy.optimize
    >>> import tracegrad as tg
    >>> problem = tg.scipy.objective(lambda x, a: np.sum(np.cosh(x) - a * x))
    >>> found = scipy.optimize.minimize(
    ...     problem.fun, np.zeros(2), 1.0, "Newton-CG", problem.jac, hessp=problem.hessp
    ... )
    >>> bool(np.allclose(found.x, np.arcsinh(1.0)))
    True
    """
    return Objective(f, like, sparse=sparse)


__all__ = ["Objective", "objective"]
