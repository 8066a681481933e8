"""What several of these tests ask to hold when they end."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tracegrad.tape.mode import OFF


@pytest.fixture
def nobody_stays_off() -> Iterator[None]:
    """Contexts that record nothing end with the test (those of earlier tests may live in a
    traceback that somebody keeps)."""
    gc.collect()
    before = set(OFF)
    yield
    gc.collect()
    assert before >= OFF
