"""The tour in the README and the pages for users run as they are printed, block after block, each
in one namespace."""

from __future__ import annotations

import linecache
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


PAGES = [
    "README.md",
    "docs/array_api.md",
    "docs/looking_inside.md",
    "docs/sparse.md",
    "docs/sparse_arrays.md",
    "docs/your_program.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_tour(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "tour"}
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL))
    assert blocks
    for number, block in enumerate(blocks):
        source = block[1]
        name = f"{pathlib.Path(page).stem}_{number}.py"
        # Numba and error messages read the lines of a function from here.
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    for line in re.findall(r"^```text\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        assert re.sub(r"\s+", " ", line).strip() in printed
