"""Discrete Fourier transforms, against NumPy's: every function, and every way in which a length is
transformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft as sf

import tracegrad as tg
from tests.cases import Case, off_device
from tests.cases.products import normal
from tracegrad.errors import DTypeError, ShapeError

ARRAYS: tuple[tuple[Any, ...], ...] = (
    (np.arange(6),),
    (np.array([True, False, True]),),
    (np.arange(5, dtype=np.float32),),
    (np.array([1.0, np.nan, 2.0]),),
    (np.zeros((0, 4)),),
    (np.arange(24.0).reshape(4, 6)[::2, ::-1],),
    (np.asfortranarray(np.arange(12.0).reshape(3, 4)),),
    (np.array([2.0]),),
    (np.array([2.0, 3.0]),),
)
COMPLEX_ARRAYS = tuple((x.astype(np.complex64 if x.dtype == np.float32 else complex),)
                       for (x,) in ARRAYS)  # fmt: skip
EMPTY = ((np.zeros((3, 0)),), ValueError, "at least 1 element")
NUMBER = ((np.array(1.0),), ShapeError, "needs an axis")
NOT_REAL = ((np.ones(3, complex),), DTypeError, "must be real")
FINITE = tuple(x for x in COMPLEX_ARRAYS if np.isfinite(x[0]).all() and x[0].shape[-1] > 1)


def one(
    name: str,
    dtype: type,
    shape: tuple[int, ...] = (2, 6),
    special: tuple[tuple[Any, ...], ...] = (),
    errors: tuple[Any, ...] = (),
    order: int = 2,
    **options: Any,
) -> Case:
    words = " ".join(f"{k}={v}" for k, v in options.items())
    return Case(
        f"{name} {dtype.__name__} {shape} {words}",
        lambda x: getattr(tg.fft, name)(x, **options),
        normal(shape, dtype=dtype),
        lambda x: getattr(np.fft, name)(x, **options),
        ({"ir": "irfft", "hf": "irfft", "rf": "rfft", "ih": "rfft"}.get(name[:2], "fft"),),
        special=special,
        errors=errors,
        tolerance=1e-5,
        order=order,
    )


ALONG = tuple(
    one(name, dtype, special=special, errors=errors)
    for name, dtype, special, errors in (
        ("fft", float, ARRAYS, (EMPTY, NUMBER)),
        ("fft", complex, COMPLEX_ARRAYS, ()),
        ("ifft", float, ARRAYS, (EMPTY,)),
        ("ifft", complex, COMPLEX_ARRAYS, ()),
        ("rfft", float, ARRAYS, (EMPTY, NUMBER, NOT_REAL)),
        ("irfft", complex, FINITE, (((np.ones(1, complex),), ValueError, "at least 1 element"),)),
        ("hfft", complex, FINITE, ()),
        ("ihfft", float, ARRAYS, (NOT_REAL,)),
    )
)
OPTIONS = (
    one("fft", complex, (3, 5), n=4, axis=1, norm="ortho"),
    one("ifft", complex, (2, 3), n=5, norm="forward"),
    one("rfft", float, (3, 5), n=7, axis=0, norm="forward"),
    one("irfft", complex, (2, 4), n=7),
    one("irfft", complex, (3, 3), n=1, axis=-2, norm="ortho"),
    one("hfft", complex, (3, 3), n=4, axis=1, norm="forward"),
    one("ihfft", float, (3, 5), n=6, axis=0, norm="ortho"),
)
SEVERAL = (
    *[one(name, complex, (3, 4), order=1, special=((np.ones((2, 3, 2), np.float32),),))
      for name in ("fft2", "ifft2")],
    one("rfft2", float, (3, 4), order=1, special=((np.ones((2, 3, 2), np.float32),),)),
    one("irfft2", complex, (3, 3), order=1),
    one("irfftn", complex, (2, 2, 3), order=1),
    one("fftn", complex, (2, 3, 2), order=1, axes=(0, 2)),
    one("fftn", float, (3, 4), order=1, s=(2, 5), axes=(0, 1), norm="ortho"),
    one("ifftn", complex, (3, 4), order=1, s=(-1, 2), axes=(1, 0)),
    one("rfftn", float, (3, 4), order=1, s=(4, 3), axes=(1, 0), norm="forward"),
    one("irfftn", complex, (3, 4), order=1, s=(4, 5), axes=(1, 0)),
)  # fmt: skip


def frequencies(name: str, *sizes: int) -> tuple[Case, ...]:
    theirs: Callable[..., Any] = getattr(np.fft, name)
    return tuple(
        Case(
            f"{name} {n}",
            lambda d, n=n: getattr(tg.fft, name)(n, d),
            lambda rng: (rng.uniform(0.5, 2.0, size=()),),
            lambda d, n=n: theirs(n, d),
            vmap=False,
        )
        for n in sizes
    )


SHIFTS = tuple(
    Case(
        f"{name} {axes}",
        lambda x, name=name, axes=axes: getattr(tg.fft, name)(x, axes),
        normal((2, 5)),
        lambda x, name=name, axes=axes: getattr(np.fft, name)(x, axes),
        order=1,
        special=((np.arange(4),), (np.zeros((0, 3)),)) if axes is None else (),
    )
    for name in ("fftshift", "ifftshift")
    for axes in (None, 0, (1, -2))
)
TRIGONOMETRIC = ("dct", "idct", "dst", "idst")


def trigonometric(library: Any, x: Any) -> tuple[Any, ...]:
    """All types and scales of the transforms of cosines and sines."""
    one = tuple(
        getattr(library, name)(x, kind, norm=norm)
        for name in TRIGONOMETRIC
        for kind in (1, 2, 3, 4)
        for norm in (None, "ortho", "forward")
    )
    options = tuple(
        getattr(library, name)(x, kind, n=n, axis=0, norm=norm, orthogonalize=turned)
        for name in TRIGONOMETRIC
        for kind, n, norm, turned in (
            (1, 2, "ortho", False),
            (2, 3, None, True),
            (3, 5, None, True),
        )
        if x.dtype.kind != "c"  # SciPy's ignore `orthogonalize` there.
    )
    several = tuple(
        getattr(library, f"{name}n")(x, kind, **more)
        for name, kind, more in (
            ("dct", 2, {}), ("idct", 3, {"axes": (1,)}), ("dst", 4, {"s": (3, 5), "axes": (1, 0)}),
            ("idst", 1, {"norm": "ortho"}),
        )
    )  # fmt: skip
    return (*one, *options, *several)


COSINES = (
    Case("cosines and sines", lambda x: trigonometric(tg.fft, x), normal((2, 5)),
         lambda x: trigonometric(sf, x), order=0, jit=False, vmap=False,
         special=((np.arange(12.0).reshape(3, 4).astype(np.float32),), (np.eye(2, dtype=int),),
                  (np.arange(6).reshape(2, 3) * 1j,))),
    *[Case(f"{name} {kind}", lambda x, f=name, k=kind, s=norm: getattr(tg.fft, f)(x, k, norm=s),
           normal((2, n)), lambda x, f=name, k=kind, s=norm: getattr(sf, f)(x, k, norm=s),
           order=1, jit=kind == 2)
      for name, kind, n, norm in (("dct", 2, 5, "ortho"), ("idct", 2, 4, None),
                                  ("dst", 1, 3, None), ("dst", 4, 4, "ortho"))],
    Case("dct refused", lambda x: tg.fft.dct(x, 1), normal((2, 3)), lambda x: sf.dct(x, 1), order=0,
         jit=False, vmap=False,
         errors=(((np.ones((2, 1)),), ShapeError, "at least 2 elements"),
                 ((np.array(1.0),), ShapeError, "needs an axis"))),
)  # fmt: skip
CASES = (
    *ALONG[::3], *off_device(*ALONG[1::3], *ALONG[2::3], *OPTIONS, *SEVERAL, *SHIFTS),
    *off_device(*COSINES, *frequencies("fftfreq", 1, 4, 5), *frequencies("rfftfreq", 4, 5)),
)  # fmt: skip
