"""One compilation cache for the whole session, fresh, so that no test depends on what an earlier run left behind."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest

# Before anything imports the package, and for the subprocesses that tests start.
_FOLDER = tempfile.mkdtemp(prefix="tracegrad-tests-")
os.environ["TRACEGRAD_CACHE_DIR"] = _FOLDER


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    shutil.rmtree(_FOLDER, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", type=int, default=0, metavar="N", help="run N further random programs (tests/test_random_programs.py)")
