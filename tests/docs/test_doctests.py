"""The examples in docstrings, by module; `tracegrad.codegen` is reached by its installed name,
never as `codegen`."""

from __future__ import annotations

import doctest
import importlib
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [*(ROOT / "tracegrad").rglob("*.py"), *(ROOT / "codegen").rglob("*.py")]
PARTS = [p.relative_to(ROOT).with_suffix("").parts for p in FILES if p.name != "__main__.py"]
# Not by walking the package: in a checkout its path holds the repository itself, and so the package
# again.
MODULES = sorted(
    ".".join(("tracegrad", *p[p[0] == "tracegrad" :])).removesuffix(".__init__") for p in PARTS
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
        pytest.skip(f"{error.name} is not installed")
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report: list[str] = []
    for example in doctest.DocTestFinder().find(module):
        runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
