"""Options that few people give, and arrays of kinds for which an option means something else: the
same values, dtypes and shapes as NumPy's, eagerly and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")

RANDOM = np.random.default_rng(7)
REAL = RANDOM.normal(size=(3, 4))
COMPLEX = REAL + 1j * RANDOM.normal(size=(3, 4))
SMALL = RANDOM.integers(0, 200, (3, 4)).astype(np.uint8)
WEIGHTS = np.arange(12.0).reshape(3, 4)
ODD = REAL.copy()
ODD[0, 0], ODD[2, 3], ODD[1, 1] = np.nan, np.inf, -np.inf

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"var_{dtype}": (lambda x, d=dtype: np.var(x, axis=0, dtype=d), (REAL, COMPLEX, SMALL))
        for dtype in ("float32", "float64", "complex64", "complex128")
    },
    "std_of_complex_in_float32": (lambda x: np.std(x, dtype=np.float32, ddof=1), (COMPLEX,)),
    "mean_in_bool": (lambda x: np.mean(x, axis=1, dtype=bool), (REAL, SMALL, SMALL > 99)),
    "weights_that_are_no_numbers": (
        lambda x: np.histogram(x, 3, (-1, 1), weights=x * x)[0], (REAL, ODD)
    ),
    "weights_between_edges": (
        lambda x: np.histogram(x, [-2.0, 0, 2], weights=WEIGHTS)[0], (REAL, ODD)
    ),
    "unwrap": (lambda x: np.unwrap(x, discont=4.0), (REAL * 5, SMALL, SMALL > 99)),
    "ediff1d": (lambda x: np.ediff1d(x, to_end=[2, 3], to_begin=1), (REAL, COMPLEX)),
    **{
        f"pad_{mode}_{width}": (
            lambda x, m=mode, w=width: np.pad(x, w, m, reflect_type="odd"),
            (REAL, ODD, SMALL, SMALL > 99, COMPLEX, REAL[:1], REAL[:, :2]),
        )
        for mode in ("reflect", "symmetric")
        for width in (((1, 2), (0, 3)), 7)
    },
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", [tg.tensor, None])
@pytest.mark.parametrize("name", CASES)
def test_as_numpy(name: str, way: Any) -> None:
    function, arrays = CASES[name]
    for x in arrays:
        expected = np.asarray(function(x))
        found = tg.jit(function)(x) if way is None else function(way(x)).numpy()
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        close = 1e-5 if expected.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(found, expected, rtol=close, atol=close)


def test_unsigned_steps_down() -> None:
    for compiled in (lambda f: f, tg.jit):
        with pytest.raises(tg.errors.DTypeError, match="steps down have no place in unsigned"):
            compiled(lambda x: np.unwrap(x, period=4))(tg.tensor(SMALL))


def test_derivatives_of_odd_reflection() -> None:
    weights = RANDOM.normal(size=(17, 18))

    def function(x: Any) -> Any:
        return np.sum(weights * np.pad(x, 7, "reflect", reflect_type="odd") ** 2)

    assert tg.autograd.gradcheck(function, tg.tensor(REAL, requires_grad=True))
