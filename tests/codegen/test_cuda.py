"""The tests of tests/cuda on Numba's simulator of CUDA, each file in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tracegrad as tg

FILES = sorted((Path(__file__).parents[1] / "cuda").glob("test_*.py"))
PARTS = [
    (file, part)
    for file in FILES
    for part in (("0", "1") if file.stem in ("test_op_table", "test_races") else ("",))
]
"""The long ones in two parts, for two processors."""
THERE = importlib.util.find_spec("numba_cuda") is not None


@pytest.mark.skipif(not THERE, reason="needs numba-cuda: pip install 'tracegrad[cuda]'")
@pytest.mark.parametrize(
    ("file", "part"), PARTS, ids=[f"{file.stem}{part}" for file, part in PARTS]
)
def test_on_the_simulator(file: Path, part: str) -> None:
    surroundings = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "TRACEGRAD_TEST_PART": part}
    # As an outer pytest left it, this would make the inner one a worker.
    surroundings = {
        name: value
        for name, value in surroundings.items()
        if not name.startswith(("PYTEST_", "COV_"))
    }
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(
        command,
        env=surroundings,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=580,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_nothing_of_cuda_is_imported_unasked() -> None:
    code = (
        "import sys; before = set(sys.modules); import tracegrad as tg; tg.jit(lambda x: "
        "x * 2)(1.0); print([m for m in set(sys.modules) - before if 'cuda' in m and m != "
        "'tracegrad.cuda' and not m.startswith('tracegrad.codegen.native')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(THERE, reason="numba-cuda is installed")
def test_what_is_missing_is_said() -> None:
    """Without numba-cuda every way to a GPU says how to get it."""
    assert not tg.cuda.is_available()
    assert tg.cuda.device_count() == 0
    for ask in (
        lambda: tg.zeros(2, device="cuda"),
        lambda: tg.ones(2).cuda(),
        lambda: tg.ones(2).to("cuda:1"),
        lambda: tg.nn.Linear(1, 1).cuda(),
        tg.cuda.synchronize,
        tg.cuda.memory_allocated,
    ):
        with pytest.raises(
            RuntimeError,
            match=r"'cuda' is not available: numba-cuda is not installed: "
            r"pip install 'tracegrad\[cuda\]'",
        ):
            ask()


def test_names_of_devices() -> None:
    """Kinds and numbers, from strings, pairs and numbers; they compare with strings."""
    for given, kind, index, shown in (
        (("cpu",), "cpu", None, "device(type='cpu')"),
        (("cuda",), "cuda", None, "device(type='cuda')"),
        (("cuda:1",), "cuda", 1, "device(type='cuda', index=1)"),
        (("cuda", 2), "cuda", 2, "device(type='cuda', index=2)"),
        ((3,), "cuda", 3, "device(type='cuda', index=3)"),
        ((tg.device("cuda:4"),), "cuda", 4, "device(type='cuda', index=4)"),
    ):
        found = tg.device(*given)
        assert (found.type, found.index, repr(found)) == (kind, index, shown)
        assert found == tg.device(str(found)) == str(found)
        assert hash(found) == hash(tg.device(str(found)))
    assert tg.device("cuda") != tg.device("cuda:0")
    for wrong, message in (
        ("gpu", "Expected one of cpu, cuda"),
        ("cuda:", "Invalid device"),
        ("cuda:x", "Invalid"),
        ("cuda:-1", "Invalid"),
    ):
        with pytest.raises(RuntimeError, match=message):
            tg.device(wrong)
    with pytest.raises(RuntimeError, match="must not include an index"):
        tg.device("cuda:0", 1)
    with pytest.raises(TypeError, match="a device is named by"):
        tg.device(1.5)  # type: ignore[arg-type]
    assert tg.zeros(2, device="cpu").device == tg.device("cpu") == tg.ones(1).to("cpu:0").device
    assert tg.ones(2).get_device() == -1
