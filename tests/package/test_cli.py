"""The command line, as a user meets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tracegrad.codegen.native import prebuilt

from tracegrad import __main__ as cli
from tracegrad import __version__
from tracegrad.bench import command
from tracegrad.bench.run import Outcome

ROOT = Path(__file__).resolve().parents[2]


def python(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_version() -> None:
    done = python("-m", "tracegrad", "--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"tracegrad {__version__}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["bench", "--help"],
        ["doctor", "--help"],
        ["cache", "--help"],
        ["docs", "--help"],
    ],
)
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 0
    assert "python -m tracegrad" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["bench", "--size", "huge"],
        ["bench", "--threads", "-1"],
        ["bench", "--repeat", "0"],
        ["bench", "--workload", "x"],
        ["cache"],
    ],
)
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_help_loads_no_compiler() -> None:
    code = """
import sys, tracegrad.__main__ as m
try: m.main(["bench", "--help"])
except SystemExit: pass
print(sorted({"numba", "rich", "matplotlib", "sklearn"} & set(sys.modules)))
"""
    done = python("-c", code)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


def test_doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(prebuilt, "ROUTINES", ())
    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for word in (
        "Versions",
        "numba",
        "Processor",
        "Threads",
        "NUMBA_NUM_THREADS",
        "Linear algebra",
        "CUDA",
        "Cache",
        "Self-test",
        "ok ",
        "Shared routines",
    ):
        assert word in shown
    assert "problem" not in shown


def test_doctor_keeps_shared_routines(tmp_path: Path) -> None:
    folder = str(tmp_path / "cache")

    def kept(*routines: str) -> int:
        code = f"""
import tracegrad.__main__ as m
from tracegrad.codegen.native import prebuilt
prebuilt.ROUTINES = {routines}
assert m.main(["doctor"]) == 0
"""
        done = python("-c", code, TRACEGRAD_CACHE_DIR=folder)
        assert f"  {len(routines)} for products" in done.stdout, done.stderr
        told = python("-m", "tracegrad", "cache", "info", TRACEGRAD_CACHE_DIR=folder).stdout
        return int(told.split("functions")[1].split()[0])

    before, two = kept(), ("cholesky_float32", "levinson_float64")
    assert kept(*two) == before + 2
    assert kept(*two) == before + 2


def test_doctor_keeps_nothing_without_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", "")
    assert cli.main(["doctor"]) == 0
    assert "none is kept" in capsys.readouterr().out


def test_doctor_tells_of_a_failing_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: Any) -> Any:
        raise OSError("no space left on device")

    monkeypatch.setattr(cli, "jit", broken)
    assert cli.main(["doctor"]) == 1
    assert "FAILED  OSError: no space left on device" in capsys.readouterr().out
    assert cli.main(["doctor", "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_doctor_goes_on_after_a_problem(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> cli.Rows:
        raise RuntimeError("cannot tell")

    monkeypatch.setattr(prebuilt, "ROUTINES", ())
    monkeypatch.setattr(cli, "SECTIONS", (("First", broken), ("Second", cli.threads)))
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "problem  RuntimeError: cannot tell" in shown
    assert "NUMBA_NUM_THREADS" in shown
    assert "ok " in shown


def test_cache(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    stranger = folder / "mine"
    program = (
        "import numpy as np, tracegrad as tg; tg.jit(tg.grad(lambda x: (x * x).sum()))(np.ones(3))"
    )
    variables = {"TRACEGRAD_CACHE_DIR": str(folder)}
    assert "functions  0" in python("-m", "tracegrad", "cache", "info", **variables).stdout
    assert python("-c", program, **variables).returncode == 0
    assert "functions  1" in python("-m", "tracegrad", "cache", "info", **variables).stdout
    stranger.mkdir()
    done = python("-m", "tracegrad", "cache", "clear", **variables)
    assert done.returncode == 0
    assert "deleted 1 compiled functions" in done.stdout
    assert stranger.is_dir(), "what is not the cache's own stays"
    assert [p.name for p in folder.iterdir()] == ["mine"]


def test_cache_switched_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", "")
    assert cli.main(["cache", "info"]) == 0
    assert "nothing is kept" in capsys.readouterr().out


def test_bench(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    files = {name: tmp_path / f"result.{name}" for name in ("json", "markdown")}
    done = python(
        "-m",
        "tracegrad",
        "bench",
        "--workload",
        "dispatch",
        "--size",
        "small",
        "--repeat",
        "3",
        "--json",
        str(files["json"]),
        "--markdown",
        str(files["markdown"]),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "dispatch" in done.stdout
    results = json.loads(files["json"].read_text())["results"]
    assert [(r["contestant"], r["check"]) for r in results] == [("eager", "ok"), ("jit", "ok")]
    assert "| dispatch | value_and_grad | n=4 |" in files["markdown"].read_text()


def test_bench_exit_code_of_a_wrong_result(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    wrong = Outcome(
        "lse", "", "grad", "n=1", "jit", status="ok", derivative_s=1.0, check="result 0 is all zero"
    )
    monkeypatch.setattr(command, "run", lambda *_: [wrong])
    assert cli.main(["bench", "--workload", "lse"]) == 1
    assert "result 0 is all zero" in capsys.readouterr().out


def test_bench_without_rich(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    assert cli.main(["bench", "--plot", "x.png"]) == 2
    assert (
        capsys.readouterr().err
        == "bench needs rich and matplotlib: pip install 'tracegrad[bench]'\n"
    )


def test_bench_refuses_before_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    assert cli.main(["bench", "--json", str(tmp_path / "none" / "a.json")]) == 2
    assert cli.main(["bench", "--peer-python", str(tmp_path / "none")]) == 2
    assert cli.main(["bench", "--workload", "LU"]) == 2
    assert cli.main(["bench", "--programs", "--workload", "lse"]) == 2
    said = capsys.readouterr().err
    assert "does not exist" in said
    assert "--workload LU: a program, for --programs\n--workload lse: no program\n" in said


def test_bench_memory_adds_the_large_case() -> None:
    cases = command.chosen(["lennard_jones", "black_scholes"], "default", memory=True)
    assert [(w.name, size) for w, size in cases] == [
        ("black_scholes", "default"),
        ("lennard_jones", "default"),
        ("lennard_jones", "large"),
    ]


def test_docs_are_found_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The copy is made of files that only look like one."""
    built = tmp_path / "_build" / "html"
    for name in ("index", "errors", "howto/fitting", "api/names/tracegrad.nn.Linear"):
        (built / name).parent.mkdir(parents=True, exist_ok=True)
        (built / f"{name}.html").write_text("")
    (tmp_path / "conf.py").write_text("")
    command = ["docs", "--no-browser", "--source", str(tmp_path)]
    for asked, found in {
        "index": "index.html",
        "howto/fitting": "howto/fitting.html",
        "tg.nn.Linear": "api/names/tracegrad.nn.Linear.html",
        "ShapeError": "errors.html#shapeerror",
    }.items():
        assert cli.main([*command, asked]) == 0
        assert capsys.readouterr().out.strip() == f"{built.as_uri()}/{found}"
    assert cli.main([*command, "nothing"]) == 1
    assert "no page is called 'nothing'" in capsys.readouterr().err
    (tmp_path / "new.md").write_text("")
    os.utime(tmp_path / "new.md", (4e9, 4e9))
    assert cli.main([*command]) == 0
    assert "--build" in capsys.readouterr().out


def test_docs_say_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["docs", "--source", str(tmp_path)]) == 1
    assert "--source" in capsys.readouterr().err
    (tmp_path / "conf.py").write_text("")
    monkeypatch.setattr(cli, "NEEDED_BY_DOCS", {"no_such_module": "no-such-package"})
    assert cli.main(["docs", "--source", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "no-such-package" in said
    assert "pip install 'tracegrad[docs]'" in said
    # A name or a page is told all the same.
    (tmp_path / "sparse.md").write_text("# Sparse things")
    for asked, start in {
        "tg.linalg.expm": "tracegrad.linalg.expm(a)\n",
        "ShapeError": "tracegrad.ShapeError\n",
        "sparse": "# Sparse things",
    }.items():
        assert cli.main(["docs", "--source", str(tmp_path), asked]) == 0
        assert capsys.readouterr().out.startswith(start)
    assert cli.main(["docs", "--source", str(tmp_path), "nothing"]) == 1
    (tmp_path / "conf.py").unlink()
    assert cli.main(["docs", "--source", str(tmp_path), "tg.jit"]) == 0
    assert "tracegrad.jit(" in capsys.readouterr().out
