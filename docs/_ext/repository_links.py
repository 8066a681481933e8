"""Pages that stand at the top of the repository, and links to them.

README.md and ARCHITECTURE.md are read as `from_root/tour` and `from_root/architecture`, an example
as its page of the gallery. A link to a folder, which the site does not have, becomes one to the
page that lists what is in it. So pages link to the files, and can be read as they are.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"README.md": "tour", "ARCHITECTURE.md": "architecture"}
FOLDERS = {
    "examples": "gallery/index",
    "examples/torch_autograd": "gallery/index",
    "docs/internals": "inside.md",
    "docs/decisions": "inside.md",
}
EXAMPLE = re.compile(r"examples/(\w+)\.py")
LINK = re.compile(r"\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def linked(text: str, folder: Path) -> str:
    """A page's text, whose links are relative to `folder`, for Sphinx, which knows pages by their
    place below docs/."""

    def link(found: re.Match[str]) -> str:
        target, anchor = found["target"], found["anchor"] or ""
        if "://" in target:
            return found[0]
        path = os.path.relpath(folder / target, ROOT)
        if path in PAGES:
            return f"](/from_root/{PAGES[path]}.md{anchor})"
        if example := EXAMPLE.fullmatch(path):
            return f"](/gallery/{example[1]})"
        if path in FOLDERS:
            return f"](/{FOLDERS[path]})"
        if path.startswith("docs/") and folder == ROOT:
            return f"](/{path.removeprefix('docs/')}{anchor})"
        return found[0]

    return LINK.sub(link, text)


def write(app: Any, config: Any) -> None:
    """Pages of the top, with links as seen from there."""
    folder = Path(app.srcdir) / "from_root"
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        text = linked((ROOT / name).read_text(encoding="utf-8"), ROOT)
        file = folder / f"{page}.md"
        if page == "tour":
            text = text.replace("# tracegrad\n", "# A tour in ten minutes\n", 1)
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def relink(app: Any, name: str, source: list[str]) -> None:
    """Sphinx asks for each page's text."""
    if not name.startswith(("api/", "from_root/", "gallery/")):
        source[0] = linked(source[0], (Path(app.srcdir) / name).parent)


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", write)
    app.connect("source-read", relink)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
