"""What to do instead of a function that cannot take traced or differentiated values."""

from __future__ import annotations

from ...errors import UnsupportedFunctionError
from ...ir.lines import library_calls, user_line

INSTEAD: dict[str, str] = {
    "np.apply_along_axis": "tg.vmap(f)",
    "np.argpartition": "np.argsort(x)",
    "np.bincount": "tg.index_add(np.zeros(n), 0, bins, weights)",
    "np.choose": "np.where, or np.stack(choices)[index, ...]",
    "np.delete": "x[np.delete(np.arange(len(x)), k)], which indexes with plain numbers",
    "np.digitize": "np.searchsorted(bins, x)",
    "np.dsplit": "np.split(x, parts, axis=2)",
    "np.emath.arccos": "np.arccos(x.astype(complex))",
    "np.emath.arcsin": "np.arcsin(x.astype(complex))",
    "np.emath.arctanh": "np.arctanh(x.astype(complex))",
    "np.emath.log": "np.log(x.astype(complex))",
    "np.emath.log10": "np.log10(x.astype(complex))",
    "np.emath.log2": "np.log2(x.astype(complex))",
    "np.emath.logn": "np.log(x.astype(complex)) / np.log(n)",
    "np.emath.power": "np.power(x.astype(complex), p)",
    "np.emath.sqrt": "np.sqrt(x.astype(complex))",
    "np.frexp": "np.log2, or np.floor(np.log2(np.abs(x)))",
    "np.geomspace": "np.exp(np.linspace(np.log(a), np.log(b), n))",
    "np.i0": "the series, or an approximation, of the Bessel function",
    "np.insert": "np.concatenate([x[:k], values, x[k:]])",
    "np.ldexp": "x * 2.0**n",
    "np.lexsort": "np.argsort",
    "np.matvec": "A @ x",
    "np.modf": "x - np.trunc(x) and np.trunc(x)",
    "np.nanargmax": "np.argmax(np.where(np.isnan(x), -np.inf, x))",
    "np.nanargmin": "np.argmin(np.where(np.isnan(x), np.inf, x))",
    "np.nancumprod": "np.cumprod(np.where(np.isnan(x), 1, x))",
    "np.nancumsum": "np.cumsum(np.where(np.isnan(x), 0, x))",
    "np.nanprod": "np.prod(np.where(np.isnan(x), 1, x))",
    "np.nanstd": "np.std(x, where=...) written with np.nanmean",
    "np.nanvar": "np.nanmean((x - np.nanmean(x)) ** 2)",
    "np.partition": "np.sort(x)",
    "np.place": "x = np.where(mask, value, x)",
    "np.polyadd": "a sum of coefficients",
    "np.polyfit": "tg.linalg.lstsq(np.vander(x, degree + 1), y)",
    "np.polymul": "np.convolve(a, b)",
    "np.polysub": "a difference of coefficients",
    "np.real_if_close": "np.real(z)",
    "np.resize": "np.tile(x, n)[:size], or reshape",
    "np.trim_zeros": "x[start:stop] with plain bounds",
    "np.__call__": "tg.vmap(f)",
    "np.vecmat": "np.conj(x) @ A",
    "scipy.integrate.cumulative_trapezoid": "np.cumsum((y[1:] + y[:-1]) / 2 * dx)",
    "scipy.integrate.odeint": "tg.odeint",
    "scipy.integrate.quad": (
        "a quadrature rule with fixed points, such as np.polynomial.legendre.leggauss"
    ),
    "scipy.integrate.simpson": "the weighted sum of Simpson's rule",
    "scipy.integrate.solve_ivp": "tg.odeint",
    "scipy.integrate.trapezoid": "np.trapezoid",
    "scipy.interpolate.interp1d": "np.interp",
    "scipy.linalg.cho_factor": "np.linalg.cholesky",
    "scipy.linalg.cholesky": "np.linalg.cholesky",
    "scipy.linalg.det": "np.linalg.det",
    "scipy.linalg.eigh": "np.linalg.eigh",
    "scipy.linalg.expm": "np.linalg.eigh of a symmetric matrix, or a series",
    "scipy.linalg.inv": "np.linalg.inv",
    "scipy.linalg.lstsq": "np.linalg.lstsq",
    "scipy.linalg.norm": "np.linalg.norm",
    "scipy.linalg.qr": "np.linalg.qr",
    "scipy.linalg.solve": "np.linalg.solve",
    "scipy.linalg.solve_triangular": "np.linalg.solve",
    "scipy.linalg.svd": "np.linalg.svd",
    "scipy.optimize.brentq": "tg.root",
    "scipy.optimize.fsolve": "tg.root",
    "scipy.optimize.minimize": "tg.minimize",
    "scipy.optimize.newton": "tg.root",
    "scipy.optimize.root": "tg.root",
    "scipy.optimize.root_scalar": "tg.root",
    "scipy.special.comb": "np.exp of a difference of scipy.special.gammaln",
    "scipy.special.log_ndtr": "np.log(scipy.special.ndtr(x)), for x that is not very negative",
    "scipy.special.log_softmax": "tg.log_softmax(x, axis)",
    "scipy.special.loggamma": "scipy.special.gammaln of positive numbers",
    "scipy.special.logsumexp": "tg.logsumexp(x, axis)",
    "scipy.special.multigammaln": "a sum of scipy.special.gammaln",
    "scipy.special.poch": "gamma(a + m) / gamma(a) of scipy.special",
    "scipy.special.polygamma": "tg.ops.polygamma(n, x)",
    "scipy.special.binom": "1 / ((n + 1) * beta(n - k + 1, k + 1)) with scipy.special.beta",
    "scipy.special.rgamma": "1 / scipy.special.gamma(x)",
    "scipy.special.softmax": "tg.softmax(x, axis)",
    "scipy.stats.cdf": "its formula (scipy.special.ndtr for the normal distribution)",
    "scipy.stats.logpdf": (
        "its formula (of the normal distribution: -0.5 * x**2 - 0.5 * np.log(2 * np.pi))"
    ),
    "scipy.stats.logpmf": "its formula, with scipy.special.gammaln for factorials",
    "scipy.stats.pdf": (
        "its formula (of the normal distribution: np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi))"
    ),
    "scipy.stats.ppf": "its formula (scipy.special.ndtri for the normal distribution)",
    "scipy.stats.zscore": "(x - np.mean(x)) / np.std(x)",
}
"""Functions that many programs call, and what computes the same from supported ones."""


def unsupported(name: str, detail: str = "", reason: str = "") -> UnsupportedFunctionError:
    """The refusal of a function, or (`detail`) of one of its arguments; `reason` is told in place
    of the usual words."""
    if reason:
        return UnsupportedFunctionError(f"{user_line()}: {reason}.")
    if detail:
        return UnsupportedFunctionError(
            f"{user_line()}: {name}{detail} is not supported for traced or differentiated values. "
            "Leave that argument out, or write it with other functions."
        )
    hint = INSTEAD.get(name)
    instead = f"Write {hint}" if hint else "Write it with supported functions"
    return UnsupportedFunctionError(
        f"{user_line()}: "
        f"{name} has no counterpart for traced or differentiated values{_through()}. {instead}, "
        "or apply it to plain arrays outside of the traced or differentiated function."
    )


def inside_library() -> str:
    """Through which function of a library a value was asked for its numbers, and what to write in
    its place; "" outside of any."""
    calls = _library()
    if not calls:
        return ""
    name, known = calls
    hint = f"Write {known} in its place" if known else "Write its formula with NumPy's functions"
    return (
        f"{name} works on plain numbers and ndarrays, and cannot take it. {hint}, "
        "or (for running code) give the call a derivative with tg.custom_vjp."
    )


def _through() -> str:
    calls = _library()
    return f" (inside of {calls[0]})" if calls else ""


def _library() -> tuple[str, str | None] | None:
    """The function of another library that the user's line has called, and what to write instead
    where that is known."""
    names = []
    for module, qualified in library_calls():
        parts = [p for p in module.split(".") if not p.startswith("_")][:2]
        function = qualified.rpartition(".")[2]
        if parts and not function.startswith("<"):
            place = ".".join(parts).replace("numpy.lib", "np").replace("numpy", "np")
            names.append(
                (
                    f"{place}.{function}",
                    f"{place}.{qualified}" if "<locals>" not in qualified else "",
                )
            )
    for name, shown in names:
        if name in INSTEAD:
            return shown or name, INSTEAD[name]
    return next(((shown, None) for _, shown in names if shown), None)
