"""The routines that programs share, and those that the programs of tests/golden call, are
translated in one pass: Numba's own pipeline takes 3 to 10 times as long. A kernel or a routine that
lies on disk says nothing about that, so here all is translated anew, and not optimized."""

from __future__ import annotations

from contextlib import suppress
from functools import cache as memoised
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.disk import cache
from tracegrad.codegen.fallbacks import FALLBACKS
from tracegrad.codegen.native import compile as native
from tracegrad.codegen.native import prebuilt, symbols
from tracegrad.codegen.translation.direct import WholeLibrary

import tracegrad as tg
from tests.golden.functions import GOLDEN


@pytest.fixture(autouse=True)
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", "")
    monkeypatch.setattr(cache, "FOLDER", [None])
    monkeypatch.setattr(native, "KERNELS", {})
    # What is made here is kept, since symbols of the process lead to it, but not used by others.
    monkeypatch.setattr(prebuilt, "address", memoised(prebuilt.address.__wrapped__))
    monkeypatch.setattr(symbols, "_registered", set(symbols._registered))
    monkeypatch.setattr(WholeLibrary, "_optimize", lambda library: None)


@pytest.mark.parametrize("name", prebuilt.ROUTINES)
def test_shared_routines(name: str) -> None:
    assert prebuilt.address(name)
    assert FALLBACKS == []


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_programs(name: str) -> None:
    function, args, again = GOLDEN[name]
    compiled = cache.COUNTERS.compiled
    made: Any = tg.jit(function)
    for given in (args, *again):
        with suppress(np.linalg.LinAlgError):  # of arrays of zeros, when it is compiled
            made(*given)
    assert cache.COUNTERS.compiled > compiled
    assert FALLBACKS == []
