"""The uses of `tests.scipy_uses`, each checked in all ways that `tests.sweep_names` knows; compiled
a quarter of them, all with `--soak 1`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tracegrad as tg
from tests import scipy_uses
from tests.name_uses import uses
from tests.sweep_names import Use, check

IN_OTHER_WAYS = ("empty", "nan", "single: dtypes")
"""What SciPy answers for arrays without elements and for NaN differs here and there."""


def among(text: str) -> list[str]:
    rows = {row.strip() for row in text.replace("\n", "|").split("|")}
    return [
        u
        for u in uses()
        if u in rows or u.removeprefix("sp.") in rows or u.removeprefix("sp.special.") in rows
    ]


def findings(text: str, compiled: bool) -> list[str]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = check(Use(text), compiled)
    return [w for w in found if not w.startswith(IN_OTHER_WAYS)]


@pytest.mark.parametrize(
    ("number", "text"), list(enumerate(among(scipy_uses.SCIPY + scipy_uses.SPECIAL)))
)
def test_use(number: int, text: str, pytestconfig: pytest.Config) -> None:
    every = 1 if pytestconfig.getoption("--soak") else 4
    assert findings(text, number % every == 0) == []


@pytest.mark.parametrize("text", among(scipy_uses.KNOWN_RANK))
def test_use_of_a_known_rank(text: str) -> None:
    assert [w for w in findings(text, False) if not w.startswith("vmap")] == []


@pytest.mark.parametrize("name", ["orth", "null_space"])
def test_a_rank_that_only_a_run_knows_is_refused(name: str) -> None:
    function = getattr(tg.linalg, name)
    with pytest.raises(tg.ConcretizationError, match=f"linalg.{name} needs the values"):
        tg.jit(function)(np.eye(3))
    with pytest.raises(tg.ConcretizationError, match=f"linalg.{name} needs the values"):
        tg.vmap(function)(np.ones((2, 3, 3)))
    with pytest.raises(tg.ShapeError, match="ranks from 1 to 2"):
        function(np.array([np.eye(2), np.ones((2, 2))]))
