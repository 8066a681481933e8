"""What `contiguous()` copies of a view while it is traced is what it copies in running code: a
write into the copy does not reach the base, one into the tensor itself does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "transposed": lambda x: x.t(),
    "column": lambda x: x[:, 1],
    "row": lambda x: x[1],
    "row of the transposed": lambda x: x.t()[0],
    "left": lambda x: x[:, :2],
    "upper": lambda x: x[:1],
    "every second": lambda x: x[:, ::2],
    "turned twice": lambda x: x.t().t(),
    "turned": lambda x: x.clone().t_(),
    "one column as a row": lambda x: x[:, :1].t(),
    "one row as a column": lambda x: x[:1].t(),
    "with an axis more": lambda x: x.unsqueeze(0),
    "diagonal": lambda x: x.diagonal(),
    "no elements": lambda x: x[:, 3:],
    "one element": lambda x: x[1:, 2:].t(),
    "reshaped": lambda x: x.reshape(3, 2),
    "part of the reshaped": lambda x: x.reshape(3, 2)[:, 1],
    "expanded": lambda x: x[0].expand(2, 3),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("view", VIEWS)
def test_as_in_running_code(view: str) -> None:
    def f(x: Any) -> Any:
        x = x * 1
        y = VIEWS[view](x)
        was = y.is_contiguous()
        z = y.contiguous()
        if view != "expanded" or z is not y:
            z.add_(10.0)
        return x, y.sum(), z.sum(), tg.tensor(float(was)), tg.tensor(float(z is y))

    x = np.arange(6.0).reshape(2, 3)
    for found, wanted in zip(tg.jit(f)(tg.tensor(x)), f(tg.tensor(x)), strict=True):
        np.testing.assert_array_equal(found, wanted)
    gradient = tg.jit(tg.grad(lambda x: (f(x)[1] * f(x)[2]) ** 2))(tg.tensor(x))
    np.testing.assert_allclose(gradient, tg.grad(lambda x: (f(x)[1] * f(x)[2]) ** 2)(tg.tensor(x)))
