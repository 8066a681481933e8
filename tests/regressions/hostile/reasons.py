"""Why a result may differ from SciPy's, or be there where SciPy refuses: each reason is a question
that is asked of the call and of both results, every time one is met.

A reason that no call of its group has any more fails `test_hostile_input`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

from tests.exact_distributions import exact, is_quantile

from .target import Target


class Call(NamedTuple):
    """A call whose result is not SciPy's. `theirs` is an error where SciPy refused it."""

    target: Target
    what: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    ours: Any
    theirs: Any

    @property
    def place(self) -> int | str:
        """Where the wrong thing stands."""
        name, _, _ = self.what.partition(" = ")
        names = [n for n, _ in self.target.args]
        return names.index(name) if name in names else self.what.partition("=")[0]

    @property
    def wrong(self) -> Any:
        return self.args[self.place] if isinstance(self.place, int) else self.kwargs[self.place]

    def instead(self, thing: Any) -> Any:
        """Ours of another thing in the place of the wrong one."""
        return self.again(self.target.make(), thing)

    def again(self, function: Any, thing: Any) -> Any:
        args, kwargs, place = list(self.args), dict(self.kwargs), self.place
        if isinstance(place, int):
            args[place] = thing
        else:
            kwargs[place] = thing
        return function(*args, **kwargs)


def elements(call: Call) -> Iterator[tuple[list[Any], Any, Any]]:
    """The arguments, and both results, element by element."""
    given = np.broadcast_arrays(*[np.asarray(a) for a in call.args])
    ours, theirs = np.asarray(call.ours), np.asarray(call.theirs)
    if ours.shape != given[0].shape or call.kwargs:
        raise ValueError("not element by element")
    for index in np.ndindex(ours.shape):
        yield [a[index] for a in given], ours[index], theirs[index] if theirs.shape else None


def close(x: Any, y: Any, atol: float = 1e-300) -> bool:
    return bool(np.isclose(x, y, rtol=1e-9, atol=atol, equal_nan=True))


# --- distributions --------------------------------------------------------------------------------


def parameters(call: Call, given: list[Any]) -> tuple[str, str, list[float], float, float]:
    """The name, the method, shape parameters, loc and scale."""
    _, name, method = call.target.name.split(".")
    values = dict(zip([n for n, _ in call.target.args], map(float, given), strict=True))
    loc, scale = values.pop("loc", 0.0), values.pop("scale", 1.0)
    return name, method, list(values.values())[1:], loc, scale


def is_distribution(call: Call) -> bool:
    return call.target.name.startswith("stats.") and call.target.name.count(".") == 2


def judged(call: Call) -> bool:
    if not is_distribution(call):
        return False
    for given, ours, _ in elements(call):
        name, method, shapes, loc, scale = parameters(call, given)
        x = float(given[0])
        if method in ("ppf", "isf"):
            if not is_quantile(name, method, ours, x, *shapes, loc=loc, scale=scale):
                return False
        else:
            value = exact(name, method, x, *shapes, loc=loc, scale=scale)
            if value is None or not close(ours, value, 1e-30 if "log" in method else 1e-300):
                return False
    return True


def student_of_vectors(call: Call) -> bool:
    if not call.target.name.startswith("stats.multivariate_t."):
        return False
    x, loc, shape, df = (np.asarray(a, float) for a in call.args)
    off, n = x - loc, x.size
    distance, scale = mpf(off @ np.linalg.solve(shape, off)), mpf(np.linalg.det(shape))
    with mp.workdps(80):
        df = mpf("1e30") if np.isinf(df) else mpf(float(df))
        value = mp.loggamma((df + n) / 2) - mp.loggamma(df / 2) - mpf(n) / 2 * mp.log(df * mp.pi)
        value -= mp.log(scale) / 2 + (df + n) / 2 * mp.log1p(distance / df)
        return close(call.ours, float(value if "log" in call.target.name else mp.exp(value)))


def at_infinity(call: Call) -> bool:
    if not is_distribution(call) or call.target.name.split(".")[2] not in DENSITIES:
        return False
    return all(
        close(ours, -math.inf if "log" in call.target.name else 0.0)
        and math.isinf(float(given[0]) - parameters(call, given)[3])
        for given, ours, _ in elements(call)
    )


DENSITIES = ("pdf", "logpdf", "pmf", "logpmf")


def no_parameters(call: Call) -> bool:
    if not is_distribution(call):
        return False
    theirs = call.target.reference.__self__  # type: ignore[union-attr]
    for given, ours, value in elements(call):
        _, _, shapes, _, _ = parameters(call, given)
        allowed = bool(np.all(theirs._argcheck(*shapes))) and not np.isnan(shapes).any()
        if not (np.isnan(ours) if not allowed else close(ours, value)):
            return False
    return True


def no_sum(call: Call) -> bool:
    of = {"stats.dirichlet": 0, "stats.multinomial": 2}.get(call.target.name.rpartition(".")[0])
    return of is not None and abs(np.sum(np.float64(call.args[of]), 0) - 1).max() > 1e-9


# --- special functions ----------------------------------------------------------------------------


def first_counts(k: Any, term: Callable[[int], Any]) -> Any:
    return mp.fsum(term(j) for j in range(int(k) + 1))


def bdtr(k: Any, n: Any, p: Any) -> Any:
    if not 0 <= p <= 1:
        return mp.nan
    if p in (0, 1) or mp.isinf(n):
        return mpf(1 if k >= n or not p else 0)
    return first_counts(k, lambda j: mp.binomial(n, j) * p**j * (1 - p) ** (n - j))


def nbdtr(k: Any, n: Any, p: Any) -> Any:
    if not 0 <= p <= 1:
        return mp.nan
    return mpf(1) if p == 1 or mp.isinf(k) else first_counts(
        k, lambda j: mp.binomial(n + j - 1, j) * p**n * (1 - p) ** j)  # fmt: skip


def jv(v: Any, z: Any) -> Any:
    """0 of an order far beyond z, which has no real power of a negative number."""
    if v > 1e6 * abs(z):
        return mpf(0)
    return mp.besselj(v, z)


def scaled(function: Callable[..., Any], turn: Any) -> Callable[..., Any]:
    return lambda v, z: function(v, z) * mp.exp(turn * z)


SPECIAL: dict[str, Callable[..., Any]] = {
    "hankel1": mp.hankel1,
    "hankel2": mp.hankel2,
    "hankel1e": scaled(mp.hankel1, -1j),
    "hankel2e": scaled(mp.hankel2, 1j),
    "jve": jv,
    "yve": mp.bessely,
    "hyp0f1": lambda b, z: mp.nan if z and not b else mp.hyp0f1(b, z),
    "bdtr": bdtr,
    "bdtrc": lambda k, n, p: 1 - bdtr(k, n, p),
    "nbdtr": nbdtr,
    "nbdtrc": lambda k, n, p: 1 - nbdtr(k, n, p),
    "eval_genlaguerre": lambda n, a, x: mp.laguerre(n, a + mpf("1e-40"), x),
    "eval_gegenbauer": lambda n, a, x: mp.gegenbauer(n, a + mpf("1e-40"), x),
    "eval_jacobi": lambda n, a, b, x: mp.jacobi(n, a + mpf("1e-40"), b, x),
}
"""By name, in mpmath."""


def judged_special(call: Call) -> bool:
    function = SPECIAL.get(call.target.name.removeprefix("tg.special."))
    if function is None:
        return False
    with mp.workdps(80):
        for given, ours, theirs in elements(call):
            if close(ours, theirs):
                continue
            if not given[-1] and np.isinf(abs(ours)):  # a pole at 0, which mpmath refuses
                value = complex(function(*map(mpf, map(float, given[:-1])), mpf("1e-60")))
                if not abs(value) > 1e30:
                    return False
                continue
            found = function(*[mpf(float(g)) for g in given])
            value = complex(found) if isinstance(found, mpmath.mpc) else float(found)
            if not close(ours, value):
                return False
    return True


def leading_term(call: Call) -> bool:
    """Of a polynomial at infinity; Laguerre's have a negative sign at odd degrees."""
    name = call.target.name.removeprefix("tg.special.")
    if not name.startswith("eval_") or not call.what.startswith("x = "):
        return False
    for (n, *_, x), ours, _ in elements(call):
        sign = np.sign(x) ** n * (-1.0 if "laguerre" in name and n % 2 else 1.0)
        if not np.isinf(x) or ours != (sign * np.inf if n else 1.0):
            return False
    return True


def beyond_orders(call: Call) -> bool:
    if call.target.name not in ("tg.special.expn", "tg.special.yn", "tg.special.kn"):
        return False
    return call.what.startswith("n = ") and call.wrong > 1e6 and bool(np.isnan(call.ours).all())


def no_count(call: Call) -> bool:
    if call.target.name.removeprefix("tg.special.") not in ("bdtr", "bdtrc", "nbdtr", "nbdtrc"):
        return False
    place = call.place
    assert isinstance(place, int)
    return all(
        np.isnan(ours) if given[place] != np.floor(given[place]) else close(ours, theirs)
        for given, ours, theirs in elements(call)
    )


def as_without(call: Call) -> bool:
    if call.target.name != "tg.special.lambertw":
        return False
    return bool(np.array_equal(call.ours, call.target.make()(*call.args), equal_nan=True))


# --- of all functions -----------------------------------------------------------------------------


def of_nan(call: Call) -> bool:
    wrong, ours = call.wrong, np.asarray(call.ours)
    return isinstance(wrong, float) and math.isnan(wrong) and bool(np.isnan(ours).all())


def nan_for_an_error(call: Call) -> bool:
    return isinstance(call.theirs, ValueError) and bool(
        is_distribution(call) and np.isnan(np.asarray(call.ours)).all()
    )


def of_half(call: Call) -> bool:
    if getattr(call.wrong, "dtype", None) != np.float16:
        return False
    wide = call.wrong.astype(np.float64)
    ours, theirs = call.instead(wide), call.again(call.target.reference, wide)
    return np.allclose(call.ours, ours, rtol=4e-3, atol=8e-3) and np.allclose(ours, theirs)


def of_nothing(call: Call) -> bool:
    return (
        isinstance(call.theirs, ValueError) and not np.size(call.wrong) and not np.size(call.ours)
    )


def at_a_limit(call: Call) -> bool:
    """Of an infinite argument, what SciPy has for larger and larger numbers."""
    wrong = call.wrong
    if not isinstance(wrong, float) or not math.isinf(wrong) or call.target.name not in LIMITS:
        return False
    try:
        near, far = (
            np.stack(np.broadcast_arrays(*np.atleast_1d(call.again(call.target.reference, s))))
            if not isinstance(call.ours, tuple)
            else [np.asarray(v) for v in call.again(call.target.reference, s)]
            for s in (1e80, 1e150)
        )
    except ValueError:
        return False
    for o, n, f in zip(np.atleast_1d(*[call.ours]), near, far, strict=True):
        going = np.where(f < n - 1, -np.inf, f) if np.isrealobj(f) else f
        if not np.allclose(o, going, rtol=1e-6, atol=1e-30):
            return False
    return True


LIMITS = (
    "tg.signal.lfilter_zi", "stats.multivariate_normal.pdf", "stats.multivariate_normal.logpdf",
    "stats.multivariate_t.pdf", "stats.multivariate_t.logpdf",
)  # fmt: skip


def along_no_axes(call: Call) -> bool:
    if call.target.name != "tg.ndimage.gaussian_gradient_magnitude":
        return False
    none = not np.ndim(call.args[0]) or np.size(call.kwargs.get("axes", 0)) == 0
    number = np.isfinite(call.args[0]).all()
    return none and bool((np.asarray(call.ours) == 0).all() or not number)


def linear(call: Call) -> bool:
    if call.target.name != "tg.integrate.trapezoid" or call.place != "dx":
        return False
    return np.allclose(call.ours, np.sum(np.asarray(call.wrong)) * call.instead(1.0)) or (
        np.iscomplexobj(call.wrong)
        and np.allclose(call.ours, call.wrong.flat[0] * call.instead(1.0))
    )


def two_components(call: Call) -> bool:
    return "(arrays of) 3-dimensional vectors" in str(call.theirs)


class Reason(NamedTuple):
    """`holds` says whether it is one of a call; `group` is where it must be met."""

    says: str
    holds: Callable[[Call], bool]
    group: str


METHODS = "methods of distributions"
REASONS = (
    Reason("mpmath has our value, which is the limit for infinite ones", judged, METHODS),
    Reason("mpmath has our value of vectors", student_of_vectors, METHODS),
    Reason("at infinity there is no density; SciPy divides infinities", at_infinity, METHODS),
    Reason("SciPy's own check refuses the parameters: NaN, not 0", no_parameters, METHODS),
    Reason("it is not checked that probabilities and shares sum to 1", no_sum, METHODS),
    Reason("NaN of the parameter for which SciPy raises", nan_for_an_error, METHODS),
    Reason("mpmath has our value of the special function", judged_special, "tg.special"),
    Reason("at infinity a polynomial is its first term", leading_term, "tg.special"),
    Reason("orders beyond 1e6 give NaN; SciPy cuts them off", beyond_orders, "tg.special"),
    Reason("a count that is not whole is none; SciPy cuts it off", no_count, "tg.special"),
    Reason("the option bounds an error that is smaller here", as_without, "tg.special"),
    Reason("NaN gives NaN", of_nan, "tg.special"),
    Reason("half precision stays what it is, to its digits", of_half, "tg.signal"),
    Reason("of nothing there is nothing", of_nothing, "tg.signal"),
    Reason("the limit of what SciPy has of larger numbers", at_a_limit, "tg.signal"),
    Reason("along no axes there is no slope; SciPy's is the input", along_no_axes, "tg.ndimage"),
    Reason("it is linear in a complex step; SciPy drops a part of it", linear, "tg.integrate"),
    Reason(
        "NumPy 2.5 has no cross product of two components",
        two_components,
        "tg" if np.lib.NumpyVersion(np.__version__) >= "2.5.0" else "",
    ),
)


def reason_of(call: Call) -> str | None:
    """The first reason that holds."""
    for reason in REASONS:
        if not call.target.scipys and reason.holds is not two_components:
            continue
        try:
            if reason.holds(call):
                return reason.says
        except (TypeError, ValueError, ZeroDivisionError, OverflowError, KeyError, IndexError):
            continue
        except mpmath.libmp.NoConvergence:
            continue
    return None
