"""gradcheck and gradgradcheck of the functions of `nn.functional`, on the uses of
tests/nn_cases.py, moved off their kinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.nn_cases import CASES, inputs
from tracegrad.autograd import gradcheck, gradgradcheck
from tracegrad.nn import functional

AT_A_KINK = {
    "adaptive_max_pool2d ties": "equal elements",
    "embedding padding": "the row of the padding has no gradient by definition",
    "kl_div zero": "targets of exactly 0",
    "l1_loss sum": "equal inputs and targets",
    "max_pool1d padded infinities": "infinities",
    "max_pool2d ties": "equal elements",
    "max_pool3d": "equal elements",
}
CONSTANTS = {
    "batch_norm": (1, 2),
    "binary_cross_entropy weight": (1, 2),
    "binary_cross_entropy_with_logits weights": (1, 2, 3),
    "cross_entropy probabilities smooth": (2,),
    "cross_entropy smooth": (2,),
    "cross_entropy weight": (2,),
    "nll_loss weight": (2,),
}
"""Arguments that the use itself detaches, and running statistics."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def arguments(name: str) -> list[Any]:
    made = []
    for k, a in enumerate(inputs(name)):
        wanted = a.dtype.kind == "f" and k not in CONSTANTS.get(name, ())
        made.append(tg.Tensor(np.array(a + 0.0137 if wanted else a), requires_grad=wanted))
    return made


@pytest.mark.parametrize("name", sorted(CASES.keys() - AT_A_KINK.keys()))
def test_derivatives(name: str) -> None:
    args = arguments(name)
    assert gradcheck(
        lambda *a: CASES[name][0](functional, *a),
        args,
        fast_mode=True,
        check_forward_ad=True,
        check_batched_grad=True,
    )
    assert gradgradcheck(
        lambda *a: CASES[name][0](functional, *a), args, fast_mode=True, check_fwd_over_rev=True
    )
