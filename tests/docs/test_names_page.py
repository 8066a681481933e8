"""The page of NumPy's and SciPy's names says what the code does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import tracegrad as tg
from tests import names_page


def test_the_page_is_up_to_date() -> None:
    kept = names_page.PAGE.read_text(encoding="utf-8")
    versions = [names_page.minor(m.__version__) for m in (np, scipy)]
    if f"NumPy {versions[0]} and SciPy {versions[1]}" not in " ".join(kept.split()):
        pytest.skip("the page was made for other versions, which have other names")
    assert names_page.page() == kept, "run python -m tests.names_page"


def test_the_largest_hole_stays_closed() -> None:
    assert set(names_page.numpys("np.fft").values()) == {""}
    missing = {n for n, what in names_page.numpys("np.linalg").items() if what != ""}
    assert not missing


@pytest.mark.parametrize("place", ["fft", "linalg", "special", "stats"])
def test_what_is_listed_is_there(place: str) -> None:
    for name, what in names_page.scipys(place).items():
        if what == f"tg.{place}.{name}":
            assert getattr(getattr(tg, place), name) is not None
