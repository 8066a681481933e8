"""The README and the pages run as they are printed, block after block, each page in one namespace;
what a block marked `text` shows has been printed. A block that names libraries
(```` ```python torch ````) needs them."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import pickle
import re
import warnings

import numpy as np
import pytest

import tracegrad as tg
from tests.texts import kept
from tracegrad import errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
MADE = ("_build", "api", "from_root", "gallery")  # when the site is built
PARTS = ("adding", "scaling")  # pages and folders that show parts of programs
BLOCK = re.compile(r"^```python([ \w]*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```text\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
WRITTEN = [ROOT / "README.md"] + [
    path
    for path in sorted((ROOT / "docs").rglob("*.md"))
    if path.relative_to(ROOT / "docs").parts[0] not in MADE
]
PAGES = [
    path
    for path in WRITTEN
    if not {path.parent.name, path.stem} & {*PARTS}
    and BLOCK.search(path.read_text(encoding="utf-8"))
]


def name_of(path: pathlib.Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page(page: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "page"}
    missing: set[str] = set()
    for number, block in enumerate(BLOCK.finditer(text)):
        absent = {name for name in block[1].split() if importlib.util.find_spec(name) is None}
        missing |= absent
        if absent:
            continue
        source, name = block[2], f"{page.stem}_{number}.py"
        # Numba and error messages read the lines of a function from here.
        kept(source, name)
        with warnings.catch_warnings():
            if block[1]:
                warnings.simplefilter("ignore")  # of the libraries
            exec(compile(source, name, "exec", dont_inherit=True), namespace)
    printed = re.sub(r"\s+", " ", capsys.readouterr().out)
    for shown in SHOWN.findall(text):
        assert re.sub(r"\s+", " ", shown).strip() in printed
    if missing:
        pytest.skip(f"all but what needs {', '.join(sorted(missing))}, which is not installed")


def test_the_readme_names_each_page_on_libraries() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [path.name for path in WRITTEN if path.parent.name == "native"]
    assert pages
    assert [name for name in pages if f"(docs/native/{name})" not in readme] == []


def test_each_page_is_in_a_list_of_the_site() -> None:
    listed = set()
    for path in WRITTEN:
        for toc in re.findall(r"^```\{toctree\}\n(.*?)^```$", path.read_text(encoding="utf-8"),
                              flags=re.MULTILINE | re.DOTALL):  # fmt: skip
            for line in toc.splitlines():
                entry = line.rpartition("<")[2].rstrip(">").strip()
                if entry and not entry.startswith(":"):
                    listed |= set(path.parent.glob(f"{entry}.md"))
    assert [name_of(p) for p in WRITTEN[1:] if p not in listed] == ["index"]


def test_links_lead_to_files() -> None:
    """So that pages can be read as they are, without the site."""
    made = {"docs/api/index.md", "docs/api/cuda.md", "docs/gallery/index"}
    found, missing = 0, []
    for path in WRITTEN:
        for target in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            found += 1
            place = pathlib.Path(os.path.normpath(path.parent / target))
            if not place.exists() and place.relative_to(ROOT).as_posix() not in made:
                missing.append((name_of(path), target))
    assert found > 150
    assert missing == []


def test_each_error_class_has_a_section() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    anchors = [slug(title) for title in re.findall(r"^## (.*)$", text, flags=re.MULTILINE)]
    classes = [
        x
        for x in vars(errors).values()
        if isinstance(x, type) and issubclass(x, BaseException) and not x.__name__.startswith("_")
    ]
    assert errors.TracegradError in classes
    for kind in classes:
        page, _, anchor = kind.help_page.partition("#")
        assert (ROOT / "docs" / page).with_suffix(".md").is_file()
        assert anchor == kind.__name__.lower()
        assert anchor in anchors
    links = re.findall(r"\]\(#([^)]*)\)", text)
    assert links
    assert [link for link in links if link not in anchors] == []


def slug(title: str) -> str:
    """The anchor of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_errors_of_tracing_end_with_their_page() -> None:
    with pytest.raises(tg.ConcretizationError) as caught:
        tg.jit(lambda x: x[x > 0])(np.ones(3))
    assert "`python -m tracegrad docs ConcretizationError` says more." in caught.value.__notes__
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.__notes__ == caught.value.__notes__
