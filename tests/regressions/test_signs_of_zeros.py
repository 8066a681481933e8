"""What a compiled sum leaves out changes no sign: -0.0 plus the zeros that `np.pad` and its like
put around is 0.0, as NumPy has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg

ONES = np.ones(2)
PARTS: dict[str, Any] = {
    "pad": lambda x: np.pad(x, 1),
    "pad of a pad": lambda x: np.pad(np.pad(x, (1, 0)), (0, 1)),
    "sum of pads": lambda x: np.pad(x, 1) + np.pad(x, (0, 2)),
    "scaled pad": lambda x: np.pad(x, 1) * 2.0,
    "reversed pad": lambda x: np.pad(x, (2, 0))[::-1],
    "concatenate": lambda x: np.concatenate([np.zeros(1), x, np.zeros(1)]),
    "diag": lambda x: np.diag(x, 1)[:2].reshape(-1)[:4],
    "diagflat": lambda x: np.diagflat(x).reshape(4),
    "tril": lambda x: np.tril(np.outer(x, x)).reshape(4),
    "written": lambda x: tg.ops.index_update(np.zeros(4), slice(1, 3), x),
    "embed": lambda x: tg.ops.embed(x, (4,), (1,)),
    "embed with steps": lambda x: tg.ops.embed(x, (4,), (0,), (2,)),
    "same convolution": lambda x: np.convolve(np.pad(x, 1), np.array([0.0, 1.0, 0.0]), mode="same"),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PARTS)
def test_sums_with_zeros_around(name: str, dtype: str) -> None:
    part, x = PARTS[name], ONES.astype(dtype)
    negative = np.full(4, -0.0, dtype)

    def programs(x: Any, z: Any) -> tuple[Any, ...]:
        y = part(x)
        return (
            y + z,
            z + y,
            z - (-y),
            (z + y) + z,
            1.0 / (y + z),
            np.arctan2(y + z, -1.0),
            y - (-z) * 1.0,
            z * y,
        )

    with np.errstate(all="ignore"):
        expected = programs(x, negative)
        eager = tg.jvp(lambda z: programs(x, z), (negative,), (negative,))[0]
        compiled = tg.jit(programs)(x, negative)
    for k, value in enumerate(expected):
        np.testing.assert_array_equal(np.signbit(eager[k]), np.signbit(value), f"result {k}, eager")
        np.testing.assert_array_equal(
            np.signbit(compiled[k]), np.signbit(value), f"result {k}, compiled"
        )


@pytest.mark.parametrize("order", [1, 2])
def test_adjoints_of_slices_still_add_nothing(order: int) -> None:
    """What the sum of adjoints leaves out is no number, so no work is done for it (the golden files
    show it), and the gradients stay."""

    def f(x: Any) -> Any:
        return np.sum((x[1:] - x[:-1]) ** 2 * x[::2][:1]) + np.sum(x[2:] ** 3)

    x = np.array([0.3, -0.7, 1.1, 0.9, -0.2])
    derivative = tg.grad(f) if order == 1 else tg.hessian(f)
    np.testing.assert_allclose(tg.jit(derivative)(x), derivative(x), rtol=1e-13)


def test_spacings_are_signed_as_numpys() -> None:
    """That of -0.0 is positive."""
    x = np.array([-0.0, 0.0, -1.0, 1.0, -5e-324])
    for found in (tg.jit(np.spacing)(x), tg.vmap(np.spacing)(x)):
        np.testing.assert_array_equal(found, np.spacing(x))
