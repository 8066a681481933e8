"""Numbers that are put into a Tensor leave its dtype: what does not fit is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad.torch as torch
from tracegrad.nn import functional as F

FIRST = np.array([True, False])
FILLS: dict[str, Callable[[Any, Any], Any]] = {
    "masked_fill": lambda x, v: x.masked_fill(torch.tensor(FIRST), v),
    "masked_fill_": lambda x, v: x.clone().masked_fill_(torch.tensor(FIRST), v),
    "index_fill": lambda x, v: x.index_fill(0, torch.tensor([0]), v),
    "scatter": lambda x, v: x.scatter(0, torch.tensor([0]), v),
}
DTYPES = ["bool", "int8", "uint8", "int64", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FILLS)
def test_dtype_stays(name: str, dtype: str) -> None:
    x = torch.tensor(np.array([1, 0]).astype(dtype))
    for value in (7, 7.5, True, np.float64(7.5)):
        found = FILLS[name](x, value)
        expected = np.array([value, 0]).astype(dtype)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.numpy(), expected)
    if name != "scatter":
        found = FILLS[name](x, torch.tensor(2.0))
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.numpy(), np.array([2, 0]).astype(dtype))


@pytest.mark.parametrize("name", FILLS)
def test_what_does_not_fit(name: str) -> None:
    x = torch.tensor(np.array([1, 0], np.int8))
    with pytest.raises(OverflowError, match="300 is out of bounds for int8"):
        FILLS[name](x, 300)
    with pytest.raises(ValueError, match="nan has no int8"):
        FILLS[name](x, float("nan"))
    with pytest.raises(TypeError, match="1j cannot be written into an array of int8"):
        FILLS[name](x, 1j)


def test_prelu_of_a_number() -> None:
    found = F.prelu(torch.tensor(-1.0), torch.tensor([0.25]))
    assert found.shape == ()
    assert found.item() == -0.25
