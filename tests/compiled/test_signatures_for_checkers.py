"""The signatures that people and type checkers see of compiled functions and of derivatives."""

from __future__ import annotations

import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "user_programs.py"
READ = [
    "__init__.py",
    "autograd/grad_mode.py",
    *("compiled/explain.py", "compiled/inspection.py", "compiled/jit.py"),
    "compiled/jitted.py",
    *("compiled/plainly.py", "compiled/travelling.py", "derivatives/checkpoint.py"),
    *("derivatives/jacobians.py", "derivatives/reverse.py", "derivatives/vmap.py"),
]
"""What mypy reads of the package: the whole of it takes twenty times as long."""


def test_what_mypy_reveals(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    found = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--follow-imports=skip", "--no-incremental"),
            *("--config-file=", f"--cache-dir={tmp_path}", "--ignore-missing-imports"),
            *[str(ROOT / "tracegrad" / name) for name in READ],
            str(PROGRAMS),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said: dict[int, str] = {}
    for line in found.stdout.splitlines():
        match = re.match(r".*user_programs\.py:(\d+): (?:note|error): (.*)", line)
        if match:
            revealed = re.match(r'Revealed type is "(.*)"', match[2])
            code = re.search(r"\[([a-z-]+)\]$", match[2])
            text = revealed[1] if revealed else f"error: {code[1]}" if code else ""
            said.setdefault(int(match[1]), text.replace("tracegrad.compiled.jitted.", ""))
    assert said == wanted(), found.stdout + found.stderr


def wanted() -> dict[int, str]:
    """By their lines the comments of the programs."""
    lines = PROGRAMS.read_text().splitlines()
    return {
        k: line.partition("  # ")[2]
        for k, line in enumerate(lines, 1)
        if re.search(r"\)  # ", line)
    }


def test_what_pyright_reveals() -> None:
    """The same in pyright's words; run where it is installed (`pip install "pyright[nodejs]"`)."""
    pytest.importorskip("pyright")
    found = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(PROGRAMS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    said: dict[int, str] = {}
    for line in found.stdout.splitlines():
        match = re.match(r".*user_programs\.py:(\d+):\d+ - (\w+): (.*)", line)
        if match:
            revealed = re.search(r' is "(.*)"$', match[3])
            said[int(match[1])] = revealed[1] if revealed else match[2]
    assert said == {k: _by_pyright(text) for k, text in wanted().items()}, found.stdout


def _by_pyright(text: str) -> str:
    if text.startswith("error"):
        return "error"
    words = re.sub(r"Jitted\[\[(.*)\], (.*)\]", r"Jitted[(\1), \2]", text.removeprefix("def "))
    return words.replace("int =", "int = 2")


@tg.jit
def scaled(x: Any, n: int = 2, *, y: float = 1.0) -> Any:
    """Scaled, that is what it is."""
    return np.sum(np.sin(x) ** n) * y


class Model:
    @tg.jit
    def loss(self, x: Any) -> Any:
        """The loss."""
        return x * 2


@pytest.mark.parametrize(
    "f", [scaled, tg.grad(scaled), tg.jit(tg.grad(scaled.__wrapped__)), tg.vmap(scaled)]
)
def test_help_and_inspect_show_the_users_function(f: Any) -> None:
    assert list(inspect.signature(f).parameters) == ["x", "n", "y"]
    assert inspect.signature(f).parameters["n"].default == 2
    assert inspect.unwrap(f).__name__ == "scaled"
    assert inspect.getdoc(f) == "Scaled, that is what it is."
    assert inspect.getsource(f).startswith("@tg.jit\ndef scaled")
    shown = pydoc.render_doc(f, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    # Python 3.14 shows annotations without quotes.
    assert "(x: Any, n: int = 2, *, y: float = 1.0)" in shown.replace("'", "")
    assert "Scaled, that is what it is." in shown


def test_methods() -> None:
    assert list(inspect.signature(Model.loss).parameters) == ["self", "x"]
    assert list(inspect.signature(Model().loss).parameters) == ["x"]
    shown = pydoc.render_doc(
        Model,
        renderer=pydoc.plaintext,  # type: ignore[attr-defined]
    )
    assert "loss(self, x: Any)" in shown.replace("'", "")


def test_checkers_see_each_module() -> None:
    """What is loaded late is imported where checkers look, behind the operations' rooms."""
    text = Path(tg.__file__).read_text(encoding="utf-8")
    lines = [line.strip() for line in text.splitlines()]
    late = {f"from . import {n} as {n}" for n in tg._MODULES if "." not in tg._MODULES[n]}
    seen = {line.partition("  #")[0] for line in lines}
    assert late <= seen
    operations = next(k for k, line in enumerate(lines) if line.startswith("from .ops import *"))
    for name in ("fft", "linalg"):
        assert any(line.startswith(f"from . import {name} as") for line in lines[operations:])
