"""The examples in docstrings, by module; `tracegrad.codegen` is reached by its installed name, never as `codegen`."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import tracegrad

MODULES = sorted(
    m.name
    for m in pkgutil.walk_packages(tracegrad.__path__, "tracegrad.")
    if m.name.split(".")[1] not in ("__main__", "tests", "examples", "docs", "tracegrad")
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "tracegrad"):
            raise
        pytest.skip(f"{missing} is not installed")
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    for example in doctest.DocTestFinder().find(module):
        runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
