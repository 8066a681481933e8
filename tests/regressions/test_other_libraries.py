"""Arrays of other libraries are named where they are refused: "Tensor and Tensor do not go
together" says nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.torch as torch


class Tensor:
    """What matters of torch's class: its name, its module, a dtype that is no NumPy dtype,
    DLPack."""

    dtype = "torch.float32"
    shape = (2,)
    ndim = 1

    def __dlpack__(self, **options: Any) -> Any:
        return np.ones(2, np.float32).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def detach(self) -> Tensor:
        return self

    def __radd__(self, other: Any) -> Any:
        raise AssertionError("asked although the operand is refused")


Tensor.__module__ = "torch"
FOREIGN: Any = Tensor()

CALLS: dict[str, Callable[[], Any]] = {
    "jit": lambda: tg.jit(lambda x: x * 2)(FOREIGN),
    "jit in a tree": lambda: tg.jit(lambda x: x["a"] * 2)({"a": FOREIGN}),
    "grad": lambda: tg.grad(lambda x: x.sum())(FOREIGN),
    "vmap": lambda: tg.vmap(lambda x: x)(FOREIGN),
    "jvp": lambda: tg.jvp(np.sin, (FOREIGN,), (FOREIGN,)),
    "add": lambda: tg.ones(2) + FOREIGN,
    "add reflected": lambda: (
        FOREIGN - tg.ones(2) if hasattr(FOREIGN, "__sub__") else tg.ones(2).__rsub__(FOREIGN)
    ),
    "matmul": lambda: tg.ones(2) @ FOREIGN,
    "compare": lambda: tg.ones(2) > FOREIGN,
    "torch.exp": lambda: torch.exp(FOREIGN),
    "torch.cat": lambda: torch.cat([FOREIGN]),
    "linear": lambda: tg.nn.Linear(2, 1)(FOREIGN),
}


@pytest.mark.parametrize("name", CALLS)
def test_refusals_say_whose_it_is(name: str) -> None:
    with pytest.raises(
        TypeError,
        match=(
            r"a Tensor of torch: tracegrad\.from_dlpack\(x\.detach\(\)\) makes a Tensor on "
            r"its memory"
        ),
    ):
        CALLS[name]()


def test_dtypes_of_other_libraries() -> None:
    with pytest.raises(TypeError, match=r"a dtype of another library|a Tensor of torch"):
        tg.sin(FOREIGN)
    with pytest.raises(tg.DTypeError, match="a dtype of another library"):
        tg.dtypes.check("torch.float32")  # type: ignore[arg-type]


def test_the_advice_works() -> None:
    assert tg.from_dlpack(FOREIGN.detach()).dtype is tg.float32
    assert (tg.ones(2) + tg.from_dlpack(FOREIGN)).tolist() == [2.0, 2.0]


def test_unknown_operands_are_still_asked() -> None:
    class Other:
        def __radd__(self, x: Any) -> str:
            return "asked"

    assert tg.ones(2) + Other() == "asked"
    with pytest.raises(TypeError):
        tg.ones(2) + object()
