"""A kernel that Python runs may be interrupted after it recorded a failure: the next one that runs
is not taken to have failed."""

from __future__ import annotations

import numpy as np
import pytest
from tracegrad.codegen.native import compile as native

SOURCE = """
def f(x, out, arena, status, phase, lo, hi):
    status[0] = 1
    raise KeyboardInterrupt
"""


@pytest.mark.usefixtures("kernels_in_python")
def test_the_record_is_cleared() -> None:
    one = (np.dtype(float), 1)
    made = native.compiled(SOURCE, "f", [(*one, "C")], [one], None)
    status = np.zeros(2, np.int64)
    with pytest.raises(KeyboardInterrupt):
        made.call(np.ones(1), np.ones(1), np.zeros(8, np.uint8), status, -1, 0, 0)
    assert not status.any()
