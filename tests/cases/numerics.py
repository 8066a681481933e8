"""Quadrature, interpolation and filters, against SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate as si
import scipy.interpolate as sp
import scipy.ndimage as sn
import scipy.signal as ss

import tracegrad as tg
from tests.cases import Case, off_device
from tests.cases.products import normal
from tracegrad.errors import ShapeError

integrate: Any = tg.integrate
interpolate: Any = tg.interpolate
signal: Any = tg.signal
ndimage: Any = tg.ndimage


def places(n: int) -> Any:
    """Samples in rows, and places that ascend."""
    return lambda rng: (rng.normal(size=(2, n)), np.cumsum(rng.uniform(0.5, 1.5, size=n)))


INTEGRALS = (
    *[
        Case(f"simpson {n}", lambda y, x: integrate.simpson(y, x), places(n),
             lambda y, x: si.simpson(y, x))
        for n in (2, 3, 4, 7)
    ],
    Case("simpson dx", lambda y: integrate.simpson(y, dx=0.3, axis=0), normal((6, 2)),
         lambda y: si.simpson(y, dx=0.3, axis=0),
         special=((np.arange(6).reshape(6, 1),), (np.ones((1, 3)),)), order=1),
    Case("cumulative_trapezoid", lambda y, x: integrate.cumulative_trapezoid(y, x), places(5),
         lambda y, x: si.cumulative_trapezoid(y, x),
         errors=(((np.ones(3), np.ones(4)), ShapeError, "4 places for 3 samples"),)),
    Case("cumulative_trapezoid initial",
         lambda y: integrate.cumulative_trapezoid(y, dx=0.5, axis=0, initial=0), normal((4, 2)),
         lambda y: si.cumulative_trapezoid(y, dx=0.5, axis=0, initial=0), order=1),
    Case("fixed_quad",
         lambda a, b, c: integrate.fixed_quad(lambda x, w: np.sin(w * x), a, b, (c,), 6)[0],
         lambda rng: tuple(rng.normal(size=())  for _ in range(3)),
         lambda a, b, c: si.fixed_quad(lambda x, w: np.sin(w * x), a, b, (c,), 6)[0]),
)  # fmt: skip
SOS = ss.butter(4, 0.3, output="sos")
FILTERS = (
    Case("lfilter", lambda b, a, x: signal.lfilter(b, a, x),
         lambda rng: (rng.normal(size=3), np.array([1.2, -0.5, 0.3]) + 0.1 * rng.normal(size=3),
                      rng.normal(size=(2, 6))),
         ss.lfilter, ("recursive_filter",),
         special=((np.ones(1), np.ones(1), np.arange(4.0)), (np.ones(2), np.ones(5), np.ones(2)),
                  (np.ones(2, np.float32), np.ones(2, np.float32), np.ones(3, np.float32))),
         errors=(((np.ones((2, 2)), np.ones(1), np.ones(3)), ShapeError, "b must be a vector"),)),
    Case("lfilter axis", lambda x: signal.lfilter([1, 2], [2, 1, 0.5], x, 0), normal((5, 2)),
         lambda x: ss.lfilter([1, 2], [2, 1, 0.5], x, 0), order=1),
    Case("lfilter complex", lambda a, x: signal.lfilter([1.0], a, x),
         lambda rng: (np.array([1.0, 0.4j]) + 0 * rng.normal(size=2),
                      rng.normal(size=4) + 1j * rng.normal(size=4)),
         lambda a, x: ss.lfilter([1.0], a, x), ("recursive_filter",)),
    Case("lfilter zi", lambda b, a, x, z: (
             *signal.lfilter(b, a, x, 0, z), *signal.lfilter(a, b, x[:1], 0, z)[1:],
             signal.lfilter_zi(b, a), signal.lfilter_zi(a, b[:1])),
         lambda rng: (rng.normal(size=2) + [2, 0], np.array([1.2, -0.5, 0.3, 0.1]),
                      rng.normal(size=(4, 2)), rng.normal(size=(3, 1))),
         lambda b, a, x, z: (
             *ss.lfilter(b, a, x, 0, z), *ss.lfilter(a, b, x[:1], 0, z)[1:],
             ss.lfilter_zi(b, a), ss.lfilter_zi(a, b[:1])), ("recursive_filter",),
         errors=(((np.ones(2), np.ones(2), np.ones((3, 2)), np.ones(3)), ShapeError,
                  "zi has the shape .3,.; it must have 1 elements along axis 0"),)),
    Case("sosfilt zi", lambda s, x: (*signal.sosfilt(s, x, zi=signal.sosfilt_zi(s) * x[0]),
                                     signal.filtfilt(s[0, :3], s[0, 3:], x, padlen=3)),
         lambda rng: (SOS.copy(), rng.normal(size=6)),
         lambda s, x: (*ss.sosfilt(s, x, zi=ss.sosfilt_zi(s) * x[0]),
                       ss.filtfilt(s[0, :3], s[0, 3:], x, padlen=3)),
         order=1, tolerance=1e-5, jit=False),
    *[Case(f"filtfilt {kind}", lambda x, k=kind: signal.filtfilt([1.0, 0.5], [2.0, -0.3], x, 0, k),
           normal((8, 2)), lambda x, k=kind: ss.filtfilt([1.0, 0.5], [2.0, -0.3], x, 0, k), order=0,
           vmap=False, jit=kind == "odd")
      for kind in ("odd", "even", "constant", None)],
    Case("sosfilt", lambda s, x: signal.sosfilt(s, x), lambda rng: (SOS.copy(), rng.normal(size=6)),
         ss.sosfilt, ("recursive_filter",),
         errors=(((np.ones((2, 5)), np.ones(3)), ShapeError, "must be .sections, 6."),)),
    *[Case(f"signal convolve {mode}", lambda x, y, m=mode: signal.convolve(x, y, m),
           normal((4, 5), (2, 3)), lambda x, y, m=mode: ss.convolve(x, y, m),
           special=((np.arange(12).reshape(3, 4) * 1.0, np.ones((3, 2))),),
           order=2 if mode == "same" else 0)
      for mode in ("full", "same", "valid")],
    Case("signal convolve complex", signal.convolve, normal((4,), (3,), dtype=complex),
         ss.convolve, order=0),
    Case("signal correlate", signal.correlate, normal((4,), (3,), dtype=complex), ss.correlate,
         order=1),
    Case("signal correlate same", lambda x, y: signal.correlate(x, y, "same"), normal((5,), (3,)),
         lambda x, y: ss.correlate(x, y, "same"), order=1),
)  # fmt: skip


def rates(library: Any, h: Any, x: Any) -> tuple[Any, ...]:
    """All modes and levels, with a filter that is longer than the signal."""
    modes = ("constant", "wrap", "edge", "smooth", "symmetric", "reflect", "antisymmetric",
             "antireflect", "line")  # fmt: skip
    levels = () if x.dtype.kind == "c" else ("median", "minimum", "maximum")
    return (
        library.upfirdn(h[:2], x), library.upfirdn(h, x, 3, 2, 0, "constant", 0.3),
        *[library.upfirdn(h, x, 4, 6, mode=m) for m in modes],
        *[library.resample_poly(x, 2, 3, 1, h, m) for m in (*modes, "mean", *levels)],
        library.resample_poly(x, 5, 3), library.resample_poly(x, 3, 3, 1),
        library.resample_poly(x, 1, 4, -1, "hann"),
    )  # fmt: skip


RATES = (
    Case("rates", lambda h, x: rates(signal, h, x), normal((13,), (2, 4)),
         lambda h, x: rates(ss, h, x), order=0, jit=False,
         special=((np.ones(7), np.ones((2, 3), complex)), (np.arange(5), np.eye(3, dtype=int)),
                  (np.ones(5, np.float32), np.eye(3, dtype=np.float32)))),
    Case("upfirdn", lambda h, x: (signal.upfirdn(h, x, 3, 2, 0),
                                  signal.resample_poly(x, 2, 3, 1, h, "mean")),
         normal((5,), (4, 3)),
         lambda h, x: (ss.upfirdn(h, x, 3, 2, 0), ss.resample_poly(x, 2, 3, 1, h, "mean")),
         errors=(((np.ones((2, 2)), np.ones((2, 2))), ShapeError, "h has the shape .2, 2."),
                 ((np.ones(2), np.ones((2, 0))), ShapeError, "x has no samples"),
                 ((np.ones(0), np.ones((2, 2))), ShapeError, "at least one element"))),
)  # fmt: skip


def spline(kind: str, **options: Any) -> tuple[Any, Any]:
    """Ours and SciPy's, of places, samples and points."""
    return tuple(
        lambda x, y, p, module=module: getattr(module, kind)(x, y, **options)(p)
        for module in (interpolate, sp)
    )  # type: ignore[return-value]


def around(n: int, *beside: int) -> Any:
    """Ascending places, samples, and points inside and beyond them."""

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        x = np.cumsum(rng.uniform(0.6, 1.4, size=n))
        points = [[x[0] - 0.4, x[1] - 0.21], [x[-1] - 0.13, x[-1] + 0.3]]
        return x, rng.normal(size=(n, *beside)), np.array(points)

    return inputs


def periodic(library: Any, x: Any, y: Any, p: Any) -> Any:
    """Through samples whose last is the first."""
    wave = np.concatenate([y[:-1], y[:1]])
    return [library.CubicSpline(x, wave, bc_type="periodic")(p, nu) for nu in range(2)]


def b_splines(library: Any, c: Any, p: Any) -> Any:
    """All that is made of one, beyond its ends in three ways; two knots are one."""
    t, found = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]), []
    for beyond in (True, False, "periodic"):
        spline = library.BSpline(t, c, 3, beyond)
        found += [np.nan_to_num(spline(p, nu)) for nu in range(5)]
        found += [np.nan_to_num(s(p)) for s in (spline.derivative(2), spline.antiderivative(2))]
    return [*found, library.BSpline(t, c, 3, False).integrate(p[1], 3.0)]


BOTH = np.array([0.1, -0.4])
KNOTS = np.array([-2.0, -1.5, -0.6, 0.1, 1.9, 3.7, 9.0, 9.5, 9.7, 9.9])


def through(library: Any, x: Any, y: Any, p: Any) -> tuple[Any, ...]:
    """Through samples in all degrees, with all that may hold at the ends."""
    whole = np.concatenate([y[:-1], y[:1]])
    made = [
        *[(y, {"k": k}) for k in range(6)], *[(y, {"bc_type": end}) for end in
                                              ("clamped", "natural", ("clamped", "natural"))],
        *[(whole, {"k": k, "bc_type": "periodic"}) for k in (1, 2, 3, 4, 7)],
        (y, {"k": 5, "bc_type": ([(1, BOTH), (2, 2 * BOTH)], [(1, BOTH), (2, BOTH)])}),
        (y, {"t": KNOTS}), (y.T, {"k": 2, "axis": 1}),
        (y, {"bc_type": (None, [(2, BOTH)]), "t": np.sort([*KNOTS, 2.8])}),
    ]  # fmt: skip
    splines = [library.make_interp_spline(x, v, **more) for v, more in made]
    return tuple(part for s in splines for part in (s.t, s(p), s(p, 1)))


def monotone(rng: np.random.Generator) -> tuple[Any, ...]:
    return (
        np.array([0.0, 1.1, 1.9, 3.2, 4.0]),
        np.array([0.1, 0.9, 1.2, 2.9, 2.0]),
        np.array([-0.2, 0.7, 2.2, 3.7, 4.1]),
    )


INTERPOLATED = (
    *[Case(f"CubicSpline {n} {bc}", *[spline("CubicSpline", bc_type=bc)[0], around(n),
           spline("CubicSpline", bc_type=bc)[1]], tolerance=1e-5, order=2 if n == 6 else 0)
      for n, bc in ((2, "not-a-knot"), (3, "not-a-knot"), (6, "not-a-knot"), (5, "natural"),
                    (4, "clamped"), (2, "clamped"))],
    Case("CubicSpline periodic", lambda x, y, p: periodic(interpolate, x, y, p), around(5),
         lambda x, y, p: periodic(sp, x, y, p), order=1),
    Case("BSpline derivatives and integrals", lambda c, p: b_splines(interpolate, c, p),
         lambda rng: (rng.normal(size=(6, 2)), np.array([-0.3, 0.5, 1.7, 1.9])),
         lambda c, p: b_splines(sp, c, p), order=1, jit=False,
         errors=(((np.ones((2, 2)), 0.5), ValueError, "do not make a spline"),)),
    Case("make_interp_spline in all ways", lambda x, y, p: through(interpolate, x, y, p),
         around(6, 2), lambda x, y, p: through(sp, x, y, p), order=0, jit=False, vmap=False),
    Case("make_interp_spline", lambda x, y, p: (
             interpolate.make_interp_spline(x, y)(p),
             interpolate.make_interp_spline(x, y, 2, bc_type=([(1, 0.3)], None))(p, 1)),
         around(5), lambda x, y, p: (
             sp.make_interp_spline(x, y)(p),
             sp.make_interp_spline(x, y, 2, bc_type=([(1, 0.3)], None))(p, 1)), tolerance=1e-5,
         errors=(((np.ones(3), np.ones(4), 1.0), ShapeError, "as many samples"),
                 ((np.array([1.0, 0.0]), np.ones(2), 1.0), ValueError, "ascend"),
                 ((np.arange(3.0), np.ones(3), 1.0), ValueError, "takes at least 4"))),
    Case("make_interp_spline periodic", lambda x, y, p: interpolate.make_interp_spline(
             x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic")(p), around(5),
         lambda x, y, p: sp.make_interp_spline(
             x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic")(p), order=1),
    Case("CubicSpline of vectors", spline("CubicSpline")[0], around(4, 2), spline("CubicSpline")[1],
         order=1, special=((np.arange(4), np.arange(4), 1.5),),
         errors=(((np.ones(3), np.ones(4), 1.0), ShapeError, "as many samples"),
                 ((np.array([1.0, 0.0]), np.ones(2), 1.0), ValueError, "ascend"))),
    Case("splines along another axis", lambda x, y, p: (
             interpolate.CubicSpline(x, y, axis=1)(p),
             interpolate.PchipInterpolator(x, y, axis=-1)(p),
             interpolate.BSpline(np.arange(7.0), y, 2, axis=1)(p)),
         lambda rng: (np.arange(4.0), rng.normal(size=(2, 4)), np.array([[1.6, 2.3], [2.9, 0.4]])),
         lambda x, y, p: (
             sp.CubicSpline(x, y, axis=1)(p), sp.PchipInterpolator(x, y, axis=-1)(p),
             sp.BSpline(np.arange(7.0), y, 2, axis=1)(p)), order=0, jit=False),
    Case("CubicSpline ends", spline("CubicSpline", extrapolate=False)[0], around(4),
         spline("CubicSpline", extrapolate=False)[1], order=0),
    Case("CubicSpline slope", lambda x, y, p: interpolate.CubicSpline(x, y)(p, 1), around(5),
         lambda x, y, p: sp.CubicSpline(x, y)(p, 1), order=0),
    Case("Pchip", spline("PchipInterpolator")[0], monotone, spline("PchipInterpolator")[1],
         special=((np.arange(2.0), np.ones(2), np.array(0.5)),
                  (np.arange(4.0), np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.5, 1.5])))),
    Case("BSpline", lambda t, c, p: interpolate.BSpline(t, c, 3)(p),
         lambda rng: (np.array([0.0, 0.1, 0.2, 0.3, 1.1, 2.2, 3.0, 3.1, 3.3, 3.4]),
                      rng.normal(size=(6, 2)), np.array([0.5, 1.7, 2.9, 3.05])),
         lambda t, c, p: sp.BSpline(t, c, 3)(p)),
    Case("BSpline line", lambda c, p: interpolate.BSpline(np.arange(6.0), c, 1, False)(p),
         lambda rng: (rng.normal(size=4), np.array([0.5, 1.7, 3.9, 4.2])),
         lambda c, p: sp.BSpline(np.arange(6.0), c, 1, False)(p), order=0),
)  # fmt: skip
MODES = (
    "reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "grid-wrap", "wrap",
)  # fmt: skip


def moved(library: Any, x: Any, at: Any, by: Any, **options: Any) -> Any:
    return library.map_coordinates(x, at, **options), library.shift(x, by, **options)


def far(rng: np.random.Generator) -> tuple[Any, ...]:
    """A grid, and places within and far beyond it, away from where splines are joined."""
    at = np.array([[-11.3, -3.2, -0.7, -0.2, 0.3, 2.7, 3.3, 4.4, 17.6],
                   [0.2, 3.6, -0.4, 9.7, 1.2, -10.3, 3.8, 4.3, 0.6]])  # fmt: skip
    return rng.normal(size=(4, 5)), at, np.array([0.3, -1.6])


def wide(rng: np.random.Generator) -> tuple[Any, ...]:
    """A larger grid: SciPy's cubic coefficients of small ones that are reflected are off by up to
    1e-4."""
    return (rng.normal(size=(26, 25)), *far(rng)[1:])


REFLECTED = ("reflect", "grid-mirror", "nearest")
SMALL = (
    (np.ones((1, 3)), np.array([[0.0, 0.3], [0.5, 2.5]]), np.array([0.0, 0.2])),
    (np.arange(4.0).reshape(2, 2).astype(np.float32), np.array([[0.2, 0.7], [0.1, 1.0]]),
     np.array([0.4, 0.1])),
)  # fmt: skip


BETWEEN = (np.array([-8.0, -4.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 4.0, 4.5, 7.0, 8.0, 12.5]),)
SMOOTHED = (
    *[Case(f"grid {mode} {order}", lambda x, at, by, m=mode, o=order: moved(
               ndimage, x, at, by, mode=m, order=o, cval=0.4),
           wide if order > 1 and mode in REFLECTED else far,
           lambda x, at, by, m=mode, o=order: moved(sn, x, at, by, mode=m, order=o, cval=0.4),
           order=2 if (mode, order) in (("mirror", 3), ("wrap", 4)) else 0,
           jit=(mode, order) in (("mirror", 3), ("wrap", 1), ("grid-constant", 1)), vmap=False,
           special=SMALL if order == 1 or (order == 3 and mode not in REFLECTED) else ())
      for mode in MODES for order in ((0, 1, 3) if mode == "grid-mirror" else range(6))],
    *[Case(f"grid of one axis {mode}", lambda at, m=mode: ndimage.map_coordinates(
               np.arange(5.0) ** 2, at[None], order=1, mode=m),
           lambda _: BETWEEN, lambda at, m=mode: sn.map_coordinates(
               np.arange(5.0) ** 2, at[None], order=1, mode=m),
           order=0, jit=False, vmap=False) for mode in MODES],
    *[Case(f"gaussian_filter {mode}", lambda x, m=mode: (
               ndimage.gaussian_filter(x, (0.7, 2.1), (0, 2), mode=m, cval=0.4),
               ndimage.gaussian_filter(x, 1.1, 1, mode=[m, "nearest"], axes=(1, 0), radius=2),
               ndimage.convolve1d(x, [1.0, 2.0, -1.0, 0.5], 0, mode=m, cval=-1.0, origin=1),
               ndimage.correlate1d(x, [1.0, 2.0, -1.0], mode=m, cval=-1.0, origin=-1)),
           normal((3, 4)), lambda x, m=mode: (
               sn.gaussian_filter(x, (0.7, 2.1), (0, 2), mode=m, cval=0.4),
               sn.gaussian_filter(x, 1.1, 1, mode=[m, "nearest"], axes=(1, 0), radius=2),
               sn.convolve1d(x, [1.0, 2.0, -1.0, 0.5], 0, mode=m, cval=-1.0, origin=1),
               sn.correlate1d(x, [1.0, 2.0, -1.0], mode=m, cval=-1.0, origin=-1)),
           order=0, jit=False, vmap=False,
           special=((np.zeros((0, 4)),), (np.eye(2) * 1j,),
                    (np.array([[0.3, 1.7, -0.4], [2.1, 0.6, 0.9]], np.float32),)))
      for mode in MODES],
    Case("gaussian_filter by its width",
         lambda x, s: ndimage.gaussian_filter1d(x, s, 0, 3, radius=4, mode="mirror"),
         lambda rng: (rng.normal(size=(5, 2)), np.array(1.3)),
         lambda x, s: sn.gaussian_filter1d(x, float(s), 0, 3, radius=4, mode="mirror"),
         errors=(((np.arange(3), 1.0), tg.DTypeError, "rounded to integers"),
                 ((np.ones(3), np.nan), ValueError, "sigma is nan"))),
    Case("spline_filter", lambda x: tuple(ndimage.spline_filter(x, mode=m) for m in MODES),
         normal((26, 25)), lambda x: tuple(sn.spline_filter(x, mode=m) for m in MODES), order=0,
         jit=False),
    *[Case(f"spline_filter {order}",
           lambda x, o=order: (ndimage.spline_filter(x, o), ndimage.spline_filter1d(x, o, 0)),
           normal((9, 25)),
           lambda x, o=order: (sn.spline_filter(x, o), sn.spline_filter1d(x, o, 0)), order=0,
           jit=False) for order in (2, 4, 5)],
    Case("spline_filter single", ndimage.spline_filter, normal((5, 4), dtype=np.float32),
         sn.spline_filter, order=0, jit=False),
)  # fmt: skip


def neighbours(library: Any, x: Any, w: Any, mode: str) -> tuple[Any, ...]:
    """Every function of neighbours, with one boundary."""
    cross = np.array([[0, 1, 0], [1, 1, 0]])
    ordered: tuple[Any, ...] = ()
    if x.dtype.kind != "c":
        ordered = (
            library.maximum_filter(x, (2, 3), mode=mode, cval=0.4),
            library.minimum_filter(x, 3, mode=mode, cval=0.4, axes=(-1,), origin=1),
            library.maximum_filter(x, footprint=cross, mode=mode),
            library.median_filter(x, (3, 2), mode=mode, cval=0.4),
            library.median_filter(x, footprint=cross, mode=mode, axes=(1, 0)),
            library.gaussian_gradient_magnitude(x, 0.8, mode=mode, cval=0.4),
        )
    return (
        library.correlate(x, w, mode=mode, cval=0.4), library.convolve(x, w, mode=mode, cval=0.4),
        library.convolve(x, w[:, :1], mode=mode, origin=(1 - len(w), 0)),
        library.uniform_filter(x, (3, 2), mode=mode, cval=0.4, origin=(1, -1)),
        library.uniform_filter(x, 4, mode=[mode, "mirror"], axes=(1, 0)),
        library.uniform_filter1d(x, 5, 0, mode=mode, cval=0.4),
        library.sobel(x, 0, mode=mode, cval=0.4), library.prewitt(x, mode=[mode, "wrap"]),
        library.laplace(x, mode=mode, cval=0.4),
        library.gaussian_laplace(x, (0.8, 0.5), mode=mode, cval=0.4, truncate=3.0), *ordered,
    )  # fmt: skip


def turned(library: Any, x: Any, order: int, mode: str) -> tuple[Any, ...]:
    """A grid in other coordinates, away from where order 0 has a tie."""
    matrix = np.array([[0.91, 0.213], [-0.117, 1.13]])
    whole = np.vstack([np.c_[matrix, [0.31, -1.63]], [[0.0, 0.0, 1.0]]])
    more = {"order": order, "mode": mode, "cval": 0.4}
    return (
        library.affine_transform(x, matrix, (0.31, -1.63), (3, 7), **more),
        library.affine_transform(x, whole, **more), library.affine_transform(x, whole[:2], **more),
        library.affine_transform(x, [0.71, 1.17], 0.13, **more),
        library.rotate(x, 20.0, **more), library.rotate(x, -73.1, reshape=False, **more),
        library.zoom(x, (1.69, 0.61), **more), library.zoom(x, 1.69, grid_mode=True, **{
            **more, "mode": {"constant": "grid-constant", "wrap": "grid-wrap"}.get(mode, mode)}),
        library.spline_filter1d(x, axis=0, mode=mode),
    )  # fmt: skip


AROUND = (
    *[Case(f"neighbours {mode}", lambda x, w, m=mode: neighbours(ndimage, x, w, m),
           normal((4, 5), (2, 3)), lambda x, w, m=mode: neighbours(sn, x, w, m), order=0, jit=False,
           vmap=False, special=((np.eye(2) * 1j, np.ones((2, 2))), (np.eye(3, dtype=np.float32),
                                                                    np.ones((1, 3)))))
      for mode in MODES],
    *[Case(f"turned {mode} {order}", lambda x, m=mode, o=order: turned(ndimage, x, o, m),
           normal((26, 25) if mode in REFLECTED else (5, 6)),
           lambda x, m=mode, o=order: turned(sn, x, o, m), order=0, jit=False, vmap=False)
      for mode in MODES for order in (0, 1, 3)],
    Case("neighbours by both", lambda x, w: (ndimage.convolve(x, w), ndimage.sobel(x)),
         normal((3, 4), (2, 3)), lambda x, w: (sn.convolve(x, w), sn.sobel(x)),
         errors=(((np.ones((2, 2)), np.ones(2)), ShapeError, "weights have the shape .2,."),
                 ((np.ones((2, 2), int), np.ones((2, 2))), tg.DTypeError, "rounded to integers"))),
    Case("turned by both", lambda x, a, m: (
             ndimage.rotate(x, a, reshape=False, mode="mirror"),
             ndimage.affine_transform(x, m, m[0], order=1, mode="grid-wrap")),
         lambda rng: (rng.normal(size=(5, 4)), np.array(23.0),
                      np.array([[0.91, 0.213], [-0.117, 1.13]])),
         lambda x, a, m: (
             sn.rotate(x, float(a), reshape=False, mode="mirror"),
             sn.affine_transform(x, m, m[0], order=1, mode="grid-wrap")), jit=False),
    Case("turned in a plane of three axes", lambda x: (
             ndimage.rotate(x, 31.0, axes=(2, 0), mode="mirror"), *ndimage.center_of_mass(x)),
         normal((3, 2, 4)), lambda x: (
             sn.rotate(x, 31.0, axes=(2, 0), mode="mirror"), *sn.center_of_mass(x)),
         order=1, jit=False),
)  # fmt: skip
CASES = (*FILTERS[:1], *off_device(*INTEGRALS, *FILTERS[1:], *INTERPOLATED, *RATES,
                                  *SMOOTHED, *AROUND))  # fmt: skip
