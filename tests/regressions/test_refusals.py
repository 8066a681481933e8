"""What is refused inside of other libraries names the user's line, the library's function, and what
to write instead; and no advice is given that does not help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats
import sklearn.metrics
import sklearn.preprocessing

import tracegrad as tg
from tracegrad import ops
from tracegrad.errors import ConcretizationError, UnsupportedFunctionError
from tracegrad.faces.numpy.refusals import INSTEAD

X = np.array([0.3, 0.8, 0.5])
M = np.eye(3) + 0.1
INSIDE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "norm.logpdf": (
        lambda v: np.sum(scipy.stats.norm.logpdf(v)),
        r"scipy\.stats\.\w+\.logpdf .*tg\.stats\.norm\.logpdf",
    ),
    "norm.cdf": (
        lambda v: np.sum(scipy.stats.norm(0.0, 1.0).cdf(v)),
        r"\.cdf .*tg\.stats\.norm\.cdf",
    ),
    "multivariate normal": (
        lambda v: scipy.stats.multivariate_normal.logpdf(v, np.zeros(3), M),
        r"logpdf",
    ),
    "logsumexp": (
        lambda v: scipy.special.logsumexp(v),
        r"scipy\.special\.logsumexp .*tg\.special\.logsumexp",
    ),
    "softmax": (lambda v: scipy.special.softmax(v)[0], r"tg\.special\.softmax"),
    "sph_harm_y": (
        lambda v: scipy.special.sph_harm_y(1, 0, v, v)[0].real,
        r"Write tg\.special\.sph_harm_y",
    ),
    "polygamma": (lambda v: scipy.special.polygamma(1, v)[0], r"tg\.special\.polygamma"),
    "solve": (
        lambda v: np.sum(scipy.linalg.solve(M, v)),
        r"scipy\.linalg\.solve .*np\.linalg\.solve",
    ),
    "solve_ivp": (
        lambda v: scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), v).y[0, -1],
        r"scipy\.integrate\.solve_ivp .*tg\.integrate\.solve_ivp",
    ),
    "quad": (
        lambda v: scipy.integrate.quad(lambda t: v[0] * t, 0, 1)[0],
        r"scipy\.integrate\.quad .*tg\.integrate\.quad",
    ),
    "interp1d": (lambda v: scipy.interpolate.interp1d([0, 1, 2], v)(0.5), r"scipy\.interpolate"),
    "sklearn metric": (
        lambda v: sklearn.metrics.mean_squared_error(X, v),
        r"sklearn\.metrics\.mean_squared_error works on plain",
    ),
    "sklearn scaler": (
        lambda v: sklearn.preprocessing.StandardScaler().fit_transform(v[:, None]).sum(),
        r"fit_transform",
    ),
}


@pytest.mark.parametrize("name", INSIDE)
def test_refusals_inside_of_libraries(name: str) -> None:
    function, text = INSIDE[name]
    runs = [tg.grad(function), tg.jit(function), lambda x: tg.vmap(function)(x[None])]
    if name != "quad":  # a Tensor is a float by torch's contract
        runs.append(lambda x: function(tg.tensor(x, requires_grad=True)))
    for run in runs:
        with pytest.raises(
            ConcretizationError, match=rf"^test_refusals.py:\d+: .*{text}"
        ) as caught:
            run(X)
        assert "np.zeros(n)" not in str(caught.value)


def test_conversions_in_the_users_own_code_have_the_general_advice() -> None:
    with pytest.raises(
        ConcretizationError, match=r"^test_refusals.py:\d+: .*np\.zeros_like.*tg\.zeros.*np\.stack"
    ):
        tg.jit(lambda v: np.asarray(v).sum(), stage=False)(X)
    with pytest.raises(ConcretizationError, match=r"np\.vectorize.*tg\.vmap"):
        np.vectorize(lambda t: t * 2)(tg.tensor(X, requires_grad=True))
    with pytest.raises(RuntimeError, match=r"Use tensor\.detach\(\)\.numpy\(\)"):
        np.asarray(tg.tensor(X, requires_grad=True))


@pytest.mark.parametrize("name", ["common_type", "min_scalar_type", "isnat"])
def test_advice_is_silent_unless_it_helps(name: str) -> None:
    function = getattr(np, name)
    with pytest.raises(
        UnsupportedFunctionError, match=rf"^test_refusals.py:\d+: np\.{name} has no counterpart"
    ) as caught:
        tg.grad(lambda v: np.sum(function(v)[0]))(X)
    assert "nearest" not in str(caught.value)
    assert f"Write {INSTEAD.get(f'np.{name}', 'it with supported functions')}" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [n for n in dir(np.fft) if hasattr(getattr(np.fft, n), "_implementation") and "freq" not in n],
)
def test_transforms_are_those_of_their_name(name: str) -> None:
    def transformed(v: Any) -> Any:
        return getattr(np.fft, name)(v * np.arange(1.0, 10.0).reshape(3, 3))

    found = tg.jvp(transformed, (X,), (X,))
    for part in found:
        np.testing.assert_allclose(part, transformed(X), atol=1e-13)


def test_advice_names_what_there_is() -> None:
    """What the table recommends by a plain name exists, and what it replaces is not supported."""
    for name, advice in INSTEAD.items():
        for word in advice.replace("(", " ").replace(",", " ").replace(")", " ").split():
            place, _, rest = word.partition(".")
            if place in ("np", "tg", "scipy") and rest:
                found: Any = {"np": np, "tg": tg, "scipy": scipy}[place]
                for part in rest.split("."):
                    if part.isidentifier():
                        found = getattr(found, part)
        if name.startswith("np.") and name.count(".") == 1 and hasattr(np, name[3:]):
            assert name[3:] not in ops.__all__, name


V = np.array([0.3, 0.8, 0.5])
COUNTERPARTS: dict[str, Callable[[Any], Any]] = {
    "fft.rfft": lambda v: scipy.fft.rfft(v),
    "fft.dctn": lambda v: scipy.fft.dctn(v),
    "linalg.expm": lambda v: scipy.linalg.expm(v * M),
    "linalg.lu_factor": lambda v: scipy.linalg.lu_factor(v * M),
    "linalg.toeplitz": lambda v: scipy.linalg.toeplitz(v),
    "special.multigammaln": lambda v: scipy.special.multigammaln(v + 3, 2),
    "ndimage.zoom": lambda v: scipy.ndimage.zoom(v, 2),
    "ndimage.uniform_filter": lambda v: scipy.ndimage.uniform_filter(v),
    "signal.sosfilt": lambda v: scipy.signal.sosfilt(np.ones((1, 6)), v),
    "integrate.simpson": lambda v: scipy.integrate.simpson(v),
    "interpolate.BSpline": lambda v: scipy.interpolate.BSpline(np.arange(5.0), v, 1)(1.5),
}


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_the_function_of_the_same_name_is_told(name: str) -> None:
    """Through decorators and backends of SciPy's, too."""
    with pytest.raises(ConcretizationError, match=rf"scipy\.{name}\b.*Write tg\.{name} in"):
        tg.vjp(COUNTERPARTS[name], V)


def test_what_is_told_for_schurs_form() -> None:
    rng = np.random.default_rng(0)
    a, weights, d = rng.normal(size=(3, 4, 4))

    def loss(a: Any) -> Any:
        q = np.linalg.qr(np.linalg.eig(a)[1])[0]
        form = q.conj().T @ a @ q
        assert np.abs(np.tril(tg.stop_gradient(form), -1)).max() < 1e-14
        return np.sum(np.abs(form) ** 2 * weights)

    with pytest.raises(ConcretizationError, match="triangular in its place"):
        tg.grad(lambda a: np.sum(scipy.linalg.schur(a)[0]))(a)
    slope = (loss(a + 1e-6 * d) - loss(a - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(np.sum(tg.grad(loss)(a) * d), slope, rtol=1e-6)


def test_what_is_told_for_other_forms_is_right() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 4))
    w, v = np.linalg.eig(a)
    np.testing.assert_allclose(v * np.exp(w) @ np.linalg.inv(v), scipy.linalg.expm(a), atol=1e-10)
    with pytest.raises(ConcretizationError, match=r"tg\.linalg\.signm"):
        tg.grad(lambda a: np.sum(scipy.linalg.signm(a)))(a)
    with pytest.raises(ConcretizationError, match=r"solve_(continuous_)?lyapunov"):
        tg.grad(lambda a: np.sum(scipy.linalg.solve_lyapunov(a, b)))(a)
