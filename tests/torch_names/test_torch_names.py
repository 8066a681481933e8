"""torch's names at the top level: they exist, mean the method, and refuse what is no Tensor."""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import torch_names

X = np.array([[3.0, 1.0], [2.0, -1.0]])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("addcdiv", (tg.ones(2, 2), tg.tensor(X))),
        ("addcmul", (tg.ones(2, 2), tg.tensor(X))),
        ("allclose", (tg.tensor(X + 1e-12),)),
        ("chunk", (2,)),
        ("clamp", (0.0, 2.0)),
        ("clone", ()),
        ("det", ()),
        ("detach", ()),
        ("eq", (1.0,)),
        ("ge", (1.0,)),
        ("gt", (1.0,)),
        ("inverse", ()),
        ("is_complex", ()),
        ("is_floating_point", ()),
        ("is_inference", ()),
        ("le", (1.0,)),
        ("lerp", (tg.ones(2, 2), 0.25)),
        ("lt", (1.0,)),
        ("masked_select", (tg.tensor(X > 0),)),
        ("movedim", (0, 1)),
        ("narrow", (0, 1, 1)),
        ("ne", (1.0,)),
        ("numel", ()),
        ("repeat_interleave", (2,)),
        ("rsqrt", ()),
        ("select", (0, 1)),
        ("t", ()),
        ("take_along_dim", (tg.tensor([[0, 1]]), 0)),
        ("unflatten", (0, (2, 1))),
        ("unique", ()),
        ("unsqueeze", (0,)),
    ],
)
def test_function_is_the_method(name: str, args: tuple[object, ...]) -> None:
    with np.errstate(invalid="ignore"):
        function, method = (
            getattr(tg, name)(tg.tensor(X), *args),
            getattr(tg.tensor(X), name)(*args),
        )
    several = isinstance(function, (tuple, list))
    for a, b in zip(
        function if several else [function], method if several else [method], strict=True
    ):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    with pytest.raises(TypeError, match=f"tracegrad.{name} takes a Tensor, not a list"):
        getattr(tg, name)([1.0], *args)


def test_the_others() -> None:
    assert tg.is_nonzero(tg.tensor(2.0))
    x = tg.ones(2, requires_grad=True)
    joined = tg.cat((x, x * 2), dim=0)
    joined.sum().backward()
    assert x.grad is not None
    assert np.array_equal(x.grad.numpy(), [3, 3])
    assert tg.concat is tg.cat
    assert tg.is_tensor(x)
    assert not tg.is_tensor(X)
    assert isinstance(x.dtype, tg.dtype)
    assert (tg.double, tg.long, tg.short) == (tg.float64, tg.int64, tg.int16)
    assert isinstance(x.size(), tg.Size)
    assert tg.get_default_dtype() == tg.default_dtype() == np.float64
    assert [
        name for name in torch_names.__all__ if getattr(tg, name) is not getattr(torch_names, name)
    ] == []
