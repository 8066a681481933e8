"""Means, spreads, norms, softmax, medians, and reductions that pass over NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
import scipy.stats

import tracegrad as tg
from tests.cases import Case, off_device
from tests.cases.reductions import (
    CUBE,
    HOLES,
    INF,
    NARROW,
    complexes,
    cube,
    pair,
    positive,
    reduction,
)
from tracegrad import ops
from tracegrad.errors import ShapeError
from tracegrad.ir.dispatch import bind
from tracegrad.ops.totals.standardized import standardized
from tracegrad.ops.totals.statistics import no_grad_op, overwritten_op, stop_gradient


def std(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.std(x, axis=axis, keepdims=keepdims, ddof=1)


def standard(x: Any, axes: tuple[int, ...], weight: Any, bias: Any) -> Any:
    centre = np.mean(x, axes, keepdims=True)
    variance = np.mean((x - centre) ** 2, axes, keepdims=True)
    return (x - centre) / np.sqrt(variance + 0.1) * weight + bias, centre, variance


def density(library: Any, x: Any, at: Any, weights: Any, width: Any) -> tuple[Any, ...]:
    kinds = [library.gaussian_kde(x, b, weights) for b in (None, "silverman", lambda _: width)]
    return (
        kinds[0](at), kinds[1].pdf(at), kinds[2].logpdf(at), kinds[0].factor, kinds[0].neff,
        kinds[2].covariance, kinds[2].inv_cov,
    )  # fmt: skip


def box(library: Any, x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    made = library.gaussian_kde(x)
    return made.integrate_box_1d(low, high), made.evaluate(low), made.logpdf(x * 40)


DENSITIES = (
    Case("gaussian_kde", lambda *given: density(tg.stats, *given),
         lambda rng: (rng.normal(size=(2, 5)), rng.normal(size=(2, 3)), rng.uniform(0.5, 2, size=5),
                      np.array(0.7)),
         lambda *given: density(scipy.stats, *given), order=2, tolerance=1e-5,
         special=((3 * np.eye(6, 8) + np.sin(np.arange(48.0) ** 2).reshape(6, 8),
                   np.sin(np.arange(12.0)).reshape(6, 2), np.arange(1, 9), np.array(0.4)),),
         errors=(((np.ones((3, 2)), np.ones((3, 1)), np.ones(2), 1.0), ValueError, "3 or more"),
                 ((np.eye(2), np.ones((2, 1)), np.ones(3), 1.0), ShapeError, "one for each of 2"),
                 ((np.ones((2, 3)), np.ones((2, 1)), np.ones(3), 1.0), np.linalg.LinAlgError,
                  "not positive definite"))),
    Case("gaussian_kde of numbers", lambda *given: box(tg.stats, *given),
         lambda rng: (rng.normal(size=5), np.array(-0.3), np.array(0.9)),
         lambda *given: box(scipy.stats, *given), order=1),
)  # fmt: skip
CASES: tuple[Case, ...] = (
    *reduction("mean", ops.mean, np.mean, "mean", special=(*NARROW[:3], (HOLES,))),
    Case(
        "mean where",
        lambda x: ops.mean(x, 0, where=CUBE < 18),
        cube,
        lambda x: np.mean(x, 0, where=CUBE < 18),
    ),
    Case("average", lambda x, w: ops.average(x, 0, w), pair, lambda x, w: np.average(x, 0, w)),
    Case(
        "average vector",
        lambda x, w: ops.average(x, -1, w[0]),
        pair,
        lambda x, w: np.average(x, -1, w[0]),
        errors=(((np.ones((2, 3)), np.ones((1, 5))), ShapeError, "weights"),),
    ),
    *reduction("var", ops.var, np.var, special=(*NARROW[:3], (HOLES,))),
    Case("var complex", lambda x: ops.var(x, 0, ddof=1), complexes, lambda x: np.var(x, 0, ddof=1)),
    Case("std", lambda x: ops.std(x, 1, ddof=1), cube, lambda x: std(x, 1)),
    Case("std correction", lambda x: ops.std(x, correction=1), cube, std, special=((np.ones(4),),)),
    *(
        Case(
            f"vector_norm {p} {axis}",
            lambda x, p=p, axis=axis: ops.vector_norm(x, p, axis),
            positive,
            lambda x, p=p, axis=axis: np.linalg.vector_norm(x, ord=p, axis=axis),
            (),
            0 if p == 0 else 2,
            special=((np.zeros((3, 4)),),) if p > 0 else (),
        )
        for p in (2, 1, 3, 0.5, -1, np.inf, -np.inf, 0)
        for axis in (None, 1)
    ),
    Case(
        "vector_norm complex",
        lambda x: ops.vector_norm(x, 3, 0),
        complexes,
        lambda x: np.linalg.vector_norm(x, ord=3, axis=0),
    ),
    *(
        Case(
            f"norm matrix {p}",
            lambda x, p=p: ops.norm(x, p, (2, 0)),
            cube,
            lambda x, p=p: np.linalg.norm(x, p, (2, 0)),
        )
        for p in (None, "fro", 1, -1, np.inf, -np.inf)
    ),
    *reduction(
        "logsumexp",
        ops.logsumexp,
        scipy.special.logsumexp,
        special=((INF[:2],), (np.array([1000.0, 1000.0]),), (np.ones(3, np.float32),)),
    ),
    Case(
        "logsumexp weights",
        lambda x, b: ops.logsumexp(x, 1, b=b),
        pair,
        lambda x, b: scipy.special.logsumexp(x, 1, b=b),
    ),
    Case(
        "softmax",
        ops.softmax,
        cube,
        lambda x: scipy.special.softmax(x, -1),
        ("softmax",),
        special=(
            (np.array([1000.0, 0.0]),),
            (np.array([-np.inf, 0.0]),),
            (INF[:2],),
            (np.array([[np.inf, 1.0], [np.nan, 1.0]]),),
            (np.ones((2, 1500), np.float32),),
        ),
    ),
    Case(
        "softmax axes",
        lambda x: ops.softmax(x, (0, 1)),
        cube,
        lambda x: scipy.special.softmax(x, (0, 1)),
    ),
    Case(
        "log_softmax",
        lambda x: ops.log_softmax(x, 1),
        cube,
        lambda x: scipy.special.log_softmax(x, 1),
        ("log_softmax",),
    ),
    Case(
        "standardize",
        lambda x, w, b: standardized(x, (1, 2), 0.1, w, b),
        lambda rng: (*cube(rng), rng.normal(size=(1, 4)), rng.normal(size=(3, 1))),
        lambda x, w, b: standard(x, (1, 2), w, b),
        ("standardize",),
        special=(
            (np.array([[[1.0, np.inf]], [[np.nan, 1.0]], [[2.0, 2.0]]]), np.ones(2), np.ones(2)),
            (
                np.sin(np.arange(1200.0)).reshape(2, 2, 300).astype(np.float32),
                *np.ones((2, 300), np.float32),
            ),
            (np.arange(12).reshape(2, 3, 2), np.ones(2), np.ones(2)),
        ),
    ),
    Case(
        "standardize channels",
        lambda x, w, b: standardized(x, (0, 2), 0.1, w, b),
        lambda rng: (*cube(rng), *rng.normal(size=(2, 3, 1))),
        lambda x, w, b: standard(x, (0, 2), w, b),
    ),
    Case(
        "standardize alone",
        lambda x: standardized(x, (2,), 0.1),
        cube,
        lambda x: standard(x, (2,), 1.0, 0.0),
        special=((np.zeros((2, 2, 0)),), (1j * np.arange(8.0).reshape(2, 2, 2),)),
    ),
    Case(
        "overwritten",
        lambda x: bind(overwritten_op, [x, bind(no_grad_op, [x * x])]) * x,
        cube,
        lambda x: x**3,
        ("overwritten",),
        0,
    ),
    Case("no_grad", lambda x: x * bind(no_grad_op, [x]), cube, lambda x: x * x, ("no_grad",), 0),
    Case(
        "stop_gradient",
        lambda x: x * stop_gradient(x),
        cube,
        lambda x: x * x,
        ("stop_gradient",),
        0,
    ),
    Case("nansum", ops.nansum, cube, np.nansum, special=((HOLES,), (np.array([1, 2]),))),
    Case(
        "nanmean",
        lambda x: ops.nanmean(x, 0),
        lambda rng: (np.where(CUBE == 7, np.nan, rng.normal(size=CUBE.shape)),),
        lambda x: np.nanmean(x, 0),
        (),
        0,
        special=((HOLES,),),
    ),
    Case(
        "nanmax",
        lambda x: ops.nanmax(x, 1),
        positive,
        lambda x: np.nanmax(x, 1),
        special=((HOLES,),),
    ),
    Case(
        "nanmin",
        lambda x: ops.nanmin(x, 1),
        positive,
        lambda x: np.nanmin(x, 1),
        special=((HOLES,),),
    ),
    Case(
        "median",
        lambda x: ops.median(x, 1),
        cube,
        lambda x: np.median(x, 1),
        ("ranked",),
        special=((CUBE[:, :2],), (HOLES,)),
    ),
    Case("median all", ops.median, cube, np.median),
    Case(
        "nanmedian",
        lambda x: ops.nanmedian(x, 1),
        cube,
        lambda x: np.nanmedian(x, 1),
        special=((HOLES,),),
    ),
    Case(
        "nanquantile",
        lambda x: ops.nanquantile(x, [0.3, 0.6], 0, method="hazen"),
        cube,
        lambda x: np.nanquantile(x, [0.3, 0.6], 0, method="hazen"),
    ),
    *(
        Case(
            f"quantile {m}",
            lambda x, m=m: ops.quantile(x, [0.0, 0.3, 1.0], (0, 2), keepdims=True, method=m),
            cube,
            lambda x, m=m: np.quantile(x, [0.0, 0.3, 1.0], (0, 2), keepdims=True, method=m),
        )
        for m in ("linear", "lower", "higher", "nearest", "midpoint")
    ),
    Case("percentile", lambda x: ops.percentile(x, 40), cube, lambda x: np.percentile(x, 40)),
    *off_device(*DENSITIES),
)
