"""Methods along a dimension of tensors without dimensions: as of a vector of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

ZERO, ZEROS = tg.tensor(0), tg.tensor([0])


def first(x: Any) -> Any:
    """The position of the first element, as an index with x's dimensions."""
    return ZEROS if x.shape else ZERO


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "flip": lambda x, d: x.flip(d),
    "mean": lambda x, d: x.mean(d),
    "nanmean": lambda x, d: x.nanmean(d),
    "var": lambda x, d: x.var(d, unbiased=False),
    "std": lambda x, d: x.std(d, correction=0) + x,
    "norm": lambda x, d: x.norm(dim=d),
    "cummax": lambda x, d: x.cummax(d)[0],
    "cummin": lambda x, d: x.cummin(d).values,
    "topk": lambda x, d: x.topk(1, d)[0],
    "kthvalue": lambda x, d: x.kthvalue(1, d).values,
    "median": lambda x, d: x.median(d).values,
    "nanmedian": lambda x, d: x.nanmedian(d).values,
    "quantile": lambda x, d: x.quantile(0.3, d),
    "nanquantile": lambda x, d: x.nanquantile(0.3, d),
    "gather": lambda x, d: x.gather(d, first(x)),
    "scatter": lambda x, d: x.scatter(d, first(x), x * 2),
    "scatter_add": lambda x, d: x.scatter_add(d, first(x), x * 2),
    "scatter_reduce": lambda x, d: x.scatter_reduce(d, first(x), x * 2, "sum"),
    "index_select": lambda x, d: x.index_select(d, ZEROS),
    "index_add": lambda x, d: x.index_add(d, ZEROS, x * 3, alpha=2),
    "index_copy": lambda x, d: x.index_copy(d, ZEROS, x * 3),
    "index_fill": lambda x, d: x.index_fill(d, ZEROS, 4.0) * x,
    "unfold": lambda x, d: x.unfold(d, 1, 1)[0],
}


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", METHODS)
def test_as_a_vector_of_one_element(name: str, dim: int) -> None:
    number = tg.tensor(0.7, requires_grad=True)
    vector = tg.tensor([0.7], requires_grad=True)
    found, wanted = METHODS[name](number, dim), METHODS[name](vector, dim)
    assert found.shape == ()
    np.testing.assert_array_equal(found.detach(), wanted.detach().reshape(()))
    found.backward()
    wanted.sum().backward()
    np.testing.assert_array_equal(number.grad, vector.grad[0])
    # std, which is 0 here, has no derivative; the derivative of a maximum is that of its element.
    assert np.isfinite(number.grad) or name == "std"


@pytest.mark.parametrize("name", METHODS)
def test_there_is_no_other_dimension(name: str) -> None:
    with pytest.raises((IndexError, ValueError, RuntimeError), match=r"1 is out of range|dim"):
        METHODS[name](tg.tensor(0.7), 1)


def test_in_place() -> None:
    x = tg.tensor(1.0)
    x.index_add_(0, ZEROS, tg.tensor([2.0])).scatter_add_(0, ZERO, tg.tensor(3.0))
    assert x.shape == ()
    assert x.item() == 6.0


def test_quantiles_and_positions() -> None:
    q = tg.tensor([0.1, 0.5])
    assert tg.tensor(2.0).quantile(q, 0).tolist() == [2.0, 2.0]
    assert tg.tensor(2.0).nonzero().shape == (1, 0)
    assert tg.tensor(0.0).nonzero().shape == (0, 0)
    assert [p.tolist() for p in tg.tensor(2.0).nonzero(as_tuple=True)] == [[0]]
    assert tg.tensor([0.0, 2.0]).nonzero().tolist() == [[1]]
