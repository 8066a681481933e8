"""How results of Tensors lie whose axes are turned, as torch's do: `view` and `reshape` give views
of them where torch's do, and writes go through. What acts by element, copies of form and `sort`
keep the order of the axes; the other functions give C order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad.torch as torch

KEPT: dict[str, Callable[[Any], Any]] = {
    "product": lambda a: 2 * a,
    "where": lambda a: torch.where(a > 0, a, 0.5 * a),
    "clone": lambda a: a.clone(),
    "zeros_like": torch.zeros_like,
    "ones_like": torch.ones_like,
    "full_like": lambda a: torch.full_like(a, 2.0),
    "rand_like": torch.rand_like,
    "sort": lambda a: a.sort(0)[0],
    "argsort": lambda a: a.argsort(0),
    "indices in front": lambda a: a[[0]],
    "indices behind": lambda a: a[..., [0, 1]],
}
IN_C_ORDER: dict[str, Callable[[Any], Any]] = {
    "sum": lambda a: a.sum(0),
    "mean": lambda a: a.mean(-1, True),
    "prod": lambda a: a.prod(0),
    "std": lambda a: a.std(0),
    "logsumexp": lambda a: a.logsumexp(0),
    "max": lambda a: a.max(0)[0],
    "any": lambda a: a.any(0),
    "cumsum": lambda a: a.cumsum(0),
    "cummax": lambda a: a.cummax(0)[0],
    "cat": lambda a: torch.cat([a, a], -1),
    "stack": lambda a: torch.stack([a, a], -1),
    "vstack": lambda a: torch.vstack([a, a]),
    "roll": lambda a: a.roll(1, 0),
    "tril": lambda a: a.tril(),
    "masked_fill": lambda a: a.masked_fill(a > 0.5, 0.25),
    "softmax": lambda a: a.softmax(0),
    "functional.log_softmax": lambda a: torch.nn.functional.log_softmax(a, -1),
    "index_select": lambda a: a.index_select(-1, torch.tensor([0, 1])),
    "index_add": lambda a: a.index_add(0, torch.tensor([0]), a[:1]),
    "matmul": lambda a: a @ a.transpose(-1, -2),
}
TURNED: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda x: (x * 1.0).transpose(0, -1),
    "moved": lambda x: (x * 1.0).movedim(0, -1),
}


def order(x: Any) -> list[int]:
    return sorted(range(x.ndim), key=lambda k: (-x.stride(k), k))


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("made", [*KEPT, *IN_C_ORDER])
def test_as_torchs(made: str, turned: str) -> None:
    x = torch.tensor(np.linspace(-0.9, 1.3, 24).reshape(2, 3, 4), requires_grad=True)
    a = TURNED[turned](x)
    found = KEPT[made](a) if made in KEPT else IN_C_ORDER[made](a)
    assert found.is_contiguous() == (made in IN_C_ORDER)
    if made in IN_C_ORDER:
        assert found.view(-1).shape == (found.numel(),)
    elif 1 not in found.shape:
        assert order(found) == order(a)


def test_windows_side_by_side_are_views() -> None:
    for dim in (0, 1):
        for size, step in ((1, 1), (1, 3), (2, 2), (2, 3), (3, 3)):
            x = torch.tensor(np.arange(36.0).reshape(6, 6), requires_grad=True)
            v = x * 1.0
            v.unfold(dim, size, step).mul_(2.0)
            kept = np.full(6, 1.0)
            places = [k * step + j for k in range((6 - size) // step + 1) for j in range(size)]
            kept[places] = 2.0
            factors = kept[:, None] if dim == 0 else kept
            np.testing.assert_array_equal(v.detach().numpy(), x.detach().numpy() * factors)
            v.sum().backward()
            np.testing.assert_array_equal(x.grad.numpy(), np.ones((6, 6)) * factors)
