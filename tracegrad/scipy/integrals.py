"""`quad`: SciPy's, of compiled integrands, differentiable by limits and parameters."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import scipy.integrate

from .. import ops
from ..bridges.standing import compiled, plain, run, standing_for
from ..compiled.entry import Entry
from ..compiled.jitted import Jitted
from ..custom.rules import custom_jvp
from ..derivatives.reverse import grad
from ..errors import ConcretizationError
from ..interfaces import NativeFunction
from ..ir.dispatch import STATE
from ..ir.trace import user_line
from ..ops.places.along import take
from ..sizes import numel
from ..tensor import Boxed
from ..tree import flatten, orders, unflatten
from .unknowns import Function

_scipys: Any = scipy.integrate.quad


class Integrand:
    """A function of x and the numbers of parameters as SciPy calls it from C."""

    def __init__(self, f: Function, spec: Any, shapes: tuple[tuple[int, ...], ...]) -> None:
        self.count = sum(map(numel, shapes))

        def of_numbers(x: Any, numbers: Any) -> Any:
            leaves, start = [], 0
            for shape in shapes:
                size = numel(shape)
                leaves.append(ops.reshape(numbers[start : start + size], shape))
                start += size
            return run(f, x, *unflatten(spec, leaves))

        self.function: Jitted[..., Any] = compiled(of_numbers, f, same=False)
        self._f, self._of_vector = f, lambda v: of_numbers(v[0], v[1:])
        self._native: tuple[Entry, NativeFunction, Any] | None = None
        self._slope: Integrand | None = None

    @property
    def slope(self) -> Integrand:
        """The derivative by the parameter whose number is the last argument."""
        if self._slope is None:
            by_numbers, n = grad(self.function, 1), self.count

            def part(x: Any, numbers: Any) -> Any:
                return take(by_numbers(x, numbers[:n]), ops.convert(numbers[n], np.int64))

            standing_for(part, self.function, "_slope")
            self._slope = Integrand(part, flatten((0.0,))[1], ((n + 1,),))
        return self._slope

    def integral(self, a: float, b: float, numbers: Any, options: dict[str, Any]) -> Any:
        """What SciPy returns. An error inside of the integrand is raised."""
        made, called = self._current()
        # With all of its output SciPy hands over its warning, which an error comes before.
        asked = {**options, "full_output": 1}
        found = _scipys(called, a, b, args=tuple(numbers), **asked)
        if np.isnan(found[0]):
            # Of a failure, too.
            failed = made.last_status(clear=True)
            if failed is not None and not isinstance(failed.error, FloatingPointError):
                raise failed.error
        if options.get("full_output"):
            return found
        if len(found) > 3:
            warnings.warn(found[3], scipy.integrate.IntegrationWarning, stacklevel=4)
        return found[:2]

    def _current(self) -> tuple[NativeFunction, Any]:
        """The C function, with what the integrand reads around it as that is now, and how SciPy
        takes it."""
        made = self._native
        if made is None or _outdated(*made[:2]):
            traced, example = (
                compiled(self._of_vector, self._f, same=False),
                np.ones(1 + self.count),
            )
            native = traced.cfunc(example, signature="double (int, double *)")
            made = traced._entry((example,), {}).entry, native, native.scipy
            self._native = made
        return made[1:]


def _outdated(entry: Entry, native: NativeFunction) -> bool:
    """Whether something that the function reads around it is not what it was."""
    if not entry.holds():
        return True
    if not entry.places:
        return False
    now = entry.captured()
    if now is None or entry.outdated(now):
        return True
    return not all(map(np.array_equal, native.captures.values(), now))


@functools.lru_cache(maxsize=128)
def _integrand(
    f: Function, spec: Any, order: tuple[Any, ...], shapes: tuple[tuple[int, ...], ...]
) -> Integrand:
    return Integrand(f, spec, shapes)


def quad(f: Function, a: Any, b: Any, args: Any = (), **options: Any) -> Any:
    """`scipy.integrate.quad` of the compiled integrand `f(x, *args)`, which SciPy calls without
    Python.

    f         returns one real number for a number x; it is traced
    a, b      the limits, finite or not
    args      parameters: numbers, arrays and trees of them (of float64 in f), or one number
    options   SciPy's other arguments (`limit`, `epsabs`, `points`, `weight`, `full_output`, ...)

    Returns what SciPy does: the integral, an estimate of its error, and more with `full_output`.

    The integral can be differentiated by limits and parameters in eager code, in both modes and to
    any order: the derivative by a limit is the integrand there, that by a parameter the integral of
    the integrand's derivative (Leibniz's rule; one integral for each parameter). The limits must
    not depend on it where the integrand jumps. Where something is differentiated by, `weight` and
    `full_output` raise a ValueError; inside of `jit`, where SciPy cannot be called, a
    ConcretizationError.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> bell = lambda x, rate: np.exp(-rate * x * x)
    >>> value, error = tg.scipy.quad(bell, -np.inf, np.inf, args=(2.0,))
    >>> round(value - np.sqrt(np.pi / 2), 9)
    np.float64(0.0)
    >>> slope = tg.grad(lambda rate: tg.scipy.quad(bell, 0.0, np.inf, args=(rate,))[0])(2.0)
    >>> bool(np.isclose(slope, -np.sqrt(np.pi / 2) / 8))
    True
    """
    leaves, spec = flatten(args if isinstance(args, tuple) else (args,))
    if STATE.traces:
        raise ConcretizationError(
            f"{user_line()}: quad: SciPy cannot be called while a function is traced; call quad "
            "outside of jit, or integrate in it by tg.odeint or a sum"
        )
    integrand = _integrand(plain(f), spec, orders(args), tuple([np.shape(x) for x in leaves]))
    if not any(isinstance(x, Boxed) for x in (a, b, *leaves)):
        numbers = np.concatenate([np.ravel(x) for x in leaves]).tolist() if leaves else []
        return integrand.integral(a, b, numbers, options)
    if unfit := {"weight", "full_output", "complex_func"} & set(options):
        raise ValueError(
            f"{user_line()}: quad: where it is differentiated there is no {sorted(unfit)[0]}"
        )
    parts = [ops.reshape(ops.convert(x, np.float64), (-1,)) for x in leaves]
    numbers = ops.concatenate(parts) if parts else np.zeros(0)
    moved = isinstance(a, Boxed), isinstance(b, Boxed), isinstance(numbers, Boxed)
    return _differentiable(integrand, a, b, numbers, options, moved)


def _differentiable(
    integrand: Integrand, a: Any, b: Any, numbers: Any, options: Any, moved: tuple[bool, ...]
) -> Any:
    errors: list[float] = []

    @custom_jvp
    def integral(a: Any, b: Any, numbers: Any) -> Any:
        found, error = integrand.integral(float(a), float(b), np.asarray(numbers).tolist(), options)
        errors[:] = [error]
        return np.float64(found)

    def rule(primals: Any, tangents: Any) -> Any:
        a, b, numbers = primals
        along_a, along_b, along = tangents
        value = _differentiable(integrand, a, b, numbers, options, moved)[0]
        total: Any = 0.0
        if moved[0]:
            total = total - integrand.function(a, numbers) * along_a
        if moved[1]:
            total = total + integrand.function(b, numbers) * along_b
        if moved[2]:
            for k in range(integrand.count):
                more = ops.concatenate([numbers, np.full(1, float(k))])
                slope = _differentiable(integrand.slope, a, b, more, options, moved)[0]
                total = total + slope * along[k]
        return value, total

    integral.defjvp(rule)
    return integral(a, b, numbers), errors[0]


__all__ = ["quad"]
