"""The pages on who else takes compiled functions run as they are printed, block after block, each
page in one namespace. A block that names libraries (```` ```python torch ````) needs them."""

from __future__ import annotations

import importlib.util
import linecache
import pathlib
import re
import warnings

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "native").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_page(page: pathlib.Path) -> None:
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "page"}
    blocks = list(
        re.finditer(r"^```python([ \w]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    )
    assert blocks
    missing: set[str] = set()
    for number, block in enumerate(blocks):
        absent = {name for name in block[1].split() if importlib.util.find_spec(name) is None}
        missing |= absent
        if absent:
            continue
        source, name = block[2], f"{page.stem}_{number}.py"
        # Numba and error messages read the lines of a function from here.
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        with warnings.catch_warnings():
            if block[1]:
                warnings.simplefilter("ignore")  # of the libraries
            exec(compile(source, name, "exec"), namespace)
    if missing:
        pytest.skip(f"all but what needs {', '.join(sorted(missing))}, which is not installed")


def test_the_readme_names_each_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in PAGES if f"(docs/native/{p.name})" not in readme] == []
