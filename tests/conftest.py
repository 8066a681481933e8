"""One compilation cache for the whole session, fresh, so that no test depends on what an earlier
run left behind."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

# Before anything imports the package, and for the subprocesses that tests start. The workers of one
# session share it: what needs a folder of its own makes one.
_SHARED = os.environ.get("TRACEGRAD_TESTS_FOLDER") if "PYTEST_XDIST_WORKER" in os.environ else None
_FOLDER = _SHARED or tempfile.mkdtemp(prefix="tracegrad-tests-")
os.environ["TRACEGRAD_CACHE_DIR"] = os.environ["TRACEGRAD_TESTS_FOLDER"] = _FOLDER

# The processors are the workers'. OpenBLAS waits for its second thread in `trtrs`, `getrs` and the
# like, for three rows too: 8 ms of processor time a call where all processors are busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


# What tests leave is looked through once a file (below): the collector's own rounds, one for each
# 700 objects that stay, took a tenth of the processor's time.
gc.set_threshold(20_000, 20, 20)


def settings() -> dict[str, Any]:
    """What of the process and the thread every test must find and leave as a fresh process has
    it."""
    import tracegrad as tg
    from tracegrad.compiled.plainly import jit_is_disabled
    from tracegrad.config import deterministic
    from tracegrad.ir.dispatch import STATE

    return {
        "default dtype": tg.default_dtype().name,
        "recording": tg.is_grad_enabled(),
        "inference": tg.is_inference_mode_enabled(),
        "anomaly detection": tg.autograd.is_anomaly_enabled(),
        "deterministic": deterministic(),
        "open traces": len(STATE.traces),
        "open hooks and modes": STATE.special,
        "jit disabled": jit_is_disabled(),
    }


FRESH = {
    "default dtype": "float64",
    "recording": True,
    "inference": False,
    "anomaly detection": False,
    "deterministic": True,
    "open traces": 0,
    "open hooks and modes": 0,
    "jit disabled": False,
}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and 30,000 tests come, and none of them goes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    from tracegrad.ir.verify import EVERY_PASS

    EVERY_PASS[0] = True
    assert settings() == FRESH, "importing a test module changed settings of the process"


@pytest.fixture(autouse=True, scope="module")
def little_to_collect() -> None:
    """What earlier files left behind in caches is not looked through again by each collection,
    which came to take two seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def settings_stay(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves a setting changed fails itself, not those that come after it; so does one
    that makes code which the translator does not cover, unless it is marked `falls_back`."""
    from tracegrad.codegen.fallbacks import FALLBACKS

    yield
    assert settings() == FRESH
    if FALLBACKS:
        found = list(FALLBACKS)
        FALLBACKS.clear()
        assert request.node.get_closest_marker("falls_back"), found


@pytest.fixture
def kernels_in_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels are their generated source, which CPython runs: for tests of what is traced, derived
    and scheduled, where translating it to native code would take most of the time."""
    import numpy as np
    from tracegrad.codegen.native import compile as native

    monkeypatch.setattr(native, "config", SimpleNamespace(DISABLE_JIT=True))
    monkeypatch.setattr(native, "KERNELS", {})
    with np.errstate(all="ignore"):
        yield


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not _SHARED:
        shutil.rmtree(_FOLDER, ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--golden", action="store_true", help="write the texts of tests/golden anew")
    parser.addoption(
        "--soak",
        type=int,
        default=0,
        metavar="N",
        help="N times as much of what is drawn at random (programs, loops, moments, threads), and "
        "all of what is a sample otherwise; add -o faulthandler_timeout=0 where one test takes "
        "more than ten minutes",
    )
    parser.addoption(
        "--none-skipped",
        action="store_true",
        help="a test that is skipped fails: what it needs should be there",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--soak"):
        left = [item for item in items if item.get_closest_marker("soak")]
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=left)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and item.config.getoption("--none-skipped"):
        report.outcome = "failed"
        report.longrepr = f"it was skipped, and none should be: {report.longreprtext}"
    return report
