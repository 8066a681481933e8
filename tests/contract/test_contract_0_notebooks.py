"""Section 0 of the torch.autograd contract: the notebooks' cells run as written, and print what
stands beside each script.

`python -m tests.contract.test_contract_0_notebooks` writes the expected texts anew; read the
difference before it is kept.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import runpy

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch_autograd"
SCRIPTS = sorted(FOLDER.glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d\d+(?:e[-+]\d+)?")
"""With two decimals or more; other numbers are exact and compared as text."""


def printed(script: pathlib.Path) -> str:
    """What a script prints, without the addresses of objects."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(script), run_name="__main__")
    return re.sub(r"0x[0-9a-f]+", "0x...", out.getvalue())


def parts(text: str) -> tuple[list[str], list[float], list[float]]:
    """The text between numbers, where runs of blanks count as one; the numbers; and one unit of
    their last digit."""
    found = NUMBER.findall(text)
    units = [
        10.0 ** -len(n.partition("e")[0].partition(".")[2])
        * (10.0 ** int(n.partition("e")[2] or 0))
        for n in found
    ]
    return [" ".join(part.split()) for part in NUMBER.split(text)], [float(n) for n in found], units


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_notebook_prints_what_is_expected(script: pathlib.Path) -> None:
    """Each row of the section appears in one of the scripts; numbers may differ by a unit of the
    last digit printed."""
    words, numbers, units = parts(printed(script))
    expected_words, expected_numbers, _ = parts(
        script.with_suffix(".txt").read_text(encoding="utf-8")
    )
    assert words == expected_words
    assert np.all(np.abs(np.subtract(numbers, expected_numbers)) <= 1.01 * np.array(units))


def test_comparison_sees_differences() -> None:
    """Another number, another word and a missing line are noticed, another number of blanks is
    not."""
    assert parts("a  1.50 b") == parts("a 1.50 b")
    assert parts("a 1.50 b") != parts("a 1.52 b")
    assert parts("tensor([1., 2.])")[0] != parts("tensor([1., 3.])")[0]
    assert parts("-1.50e-03 f64")[1:] == ([-0.0015], [pytest.approx(1e-5)])
    assert parts("x\n1") != parts("x 1\n2")


ROWS = {
    "first steps": [
        r"ones\(2, 2, requires_grad=True\)",
        r"y\.grad_fn",
        r"z\.mean\(\)",
        r"out\.backward\(\)",
    ],
    "flags": [r"requires_grad_\(True\)", r"x\.detach\(\)", r"detach_\(\)", r"x\.eq\(y\)\.all\(\)"],
    "a second time": [
        r"eye\(4, 5, requires_grad=True\)",
        r"\(inp \+ 1\)\.pow\(2\)\.t\(\)",
        r"retain_graph=True",
        r"inp\.grad\.zero_\(\)",
    ],
    "define by run": [r"while y\.data\.norm\(\) < 1000", r"y\.backward\(v\)"],
    "modes": [
        "no_grad",
        "enable_grad",
        "set_grad_enabled",
        "is_grad_enabled",
        "inference_mode",
        "is_inference_mode_enabled",
        "Thread",
    ],
    "gradients": [
        r"autograd\.backward",
        r"autograd\.grad",
        r"functional\.jacobian",
        r"functional\.hessian",
        "needs_input_grad",
    ],
    "Function": ["save_for_backward", "saved_tensors", r"\.apply", "gradcheck"],
    "checks": [
        r"add_\(1\)",
        r"\.stride\(\)",
        "saved_tensors_hooks",
        "OnDisk",
        "profiler",
        "detect_anomaly",
    ],
    "network": [
        "binary_cross_entropy_with_logits",
        r"w\.grad",
        r"b\.grad",
        r"zero_grad\(\)",
        r"retain_grad\(\)",
        "register_hook",
    ],
    "polynomial": ["Legendre"],
    "internals": [
        "is_leaf",
        "_saved_self|_saved_other",
        "next_functions",
        "_version",
        "_base",
        r"_is_view\(\)",
        "output_nr",
    ],
    "x' A x": ["graph_picture"],
}


@pytest.mark.parametrize("row", ROWS)
def test_every_row_appears(row: str) -> None:
    """The section's rows, each by the names it is about."""
    text = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    assert [name for name in ROWS[row] if not re.search(name, text)] == []


if __name__ == "__main__":
    for path in SCRIPTS:
        path.with_suffix(".txt").write_text(printed(path), encoding="utf-8")
