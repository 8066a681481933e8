"""Every row of the op table on a device: values, and gradients by the tape, equal those of the CPU."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cases import Case
from tests.checks import as_tuple, assert_same
from tests.cuda.common import host
from tests.test_ops import CASES, ids, rng_for

PART = os.environ.get("TRACEGRAD_TEST_PART") or ""
ROWS = CASES[int(PART) :: 2] if PART else CASES


def is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))


@pytest.mark.parametrize("case", ROWS, ids=ids)
def test_values_and_gradients(case: Case) -> None:
    arrays = case.inputs(rng_for(case))
    wrt = [k for k, a in enumerate(arrays) if is_array(a) and a.dtype.kind in "fc" and (case.wrt is None or k in case.wrt)]
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for device in ("cpu", "cuda"):
            given = [tg.tensor(a, device=device) if is_array(a) else a for a in arrays]
            if case.order:
                for k in wrt:
                    given[k].requires_grad_()
            outs = as_tuple(case.function(*given))
            if any(map(is_array, arrays)):
                assert all(o.device.type == device for o in outs if isinstance(o, tg.Tensor))
            gradients: tuple[Any, ...] = ()
            if case.order and wrt:
                try:
                    sum((o * o.conj()).real.sum() for o in outs if o.dtype.kind in "fc").backward()
                    gradients = tuple(host(given[k].grad) for k in wrt)
                except RuntimeError as error:
                    # Tensors are written in place where arrays are replaced; then it is so on both.
                    if "modified by an inplace operation" not in str(error):
                        raise
            found.append((tuple(map(host, outs)), gradients))
    (cpu, cpu_gradients), (cuda, cuda_gradients) = found
    assert_same(cuda, cpu, 1e-11)
    for a, b in zip(cuda_gradients, cpu_gradients, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert_same(a, b, 1e-9)
