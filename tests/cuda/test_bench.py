"""`bench --device cuda`: eager and jit on a device, checked against derivatives by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_a_run(tmp_path: Path) -> None:
    found = tmp_path / "found.json"
    command = [
        sys.executable,
        "-m",
        "tracegrad",
        "bench",
        "--device",
        "cuda",
        "--size",
        "small",
        "--repeat",
        "1",
        "--workload",
        "dispatch",
    ]
    done = subprocess.run(
        [*command, "--peers", "--json", str(found)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(found.read_text())
    assert report["settings"]["device"] == "cuda"
    assert report["machine"]["gpu"]
    by_name = {r["contestant"]: r for r in report["results"]}
    assert by_name["eager"]["check"] == by_name["jit"]["check"] == "ok"
    assert "CasADi" not in by_name, "it knows no GPUs"
    assert by_name["floor"]["status"] == "left out", "nothing is copied there"
