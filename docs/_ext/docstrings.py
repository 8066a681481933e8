"""The library's docstrings as reStructuredText.

They are plain text for `help()`: paragraphs, `names` in single backticks, examples with `>>>`, and
parameters in two columns. Here names become links or literals, the columns a list of definitions,
and what reStructuredText would read as markup is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import public_names

COLUMNS = re.compile(r"(?P<names>[\w*`][\w*`.=\[\], -]*?) {2,}(?P<text>\S.*)")
CODE = re.compile(r"(`[^`\n]+(?:\n[^`\n]+)?`)")
MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?!\w)|(?<!\w)_(?=\w)|`)")
OF_NUMPY = re.compile(r"^-{3,}$", re.MULTILINE)


def as_rst(text: str, place: str = "") -> str:
    """A docstring for Sphinx; `place` is the namespace whose names it uses without a prefix."""
    if OF_NUMPY.search(text):  # an object of NumPy's, with its own documentation
        first = text.strip().partition("\n\n")[2].partition("\n\n")[0]
        return inline(first or "An object of NumPy's.", place) + "\n"
    return "\n\n".join(block(part, place) for part in blocks(text.strip("\n"))) + "\n"


def blocks(text: str) -> Iterator[str]:
    """Paragraphs, of which an example is one even where it stands right below other text."""
    for part in re.split(r"\n[ \t]*\n", text):
        before, sign, example = part.partition(">>>")
        if sign and before.strip():
            yield before.rstrip()
        yield sign + example if sign else part


def block(part: str, place: str) -> str:
    if part.startswith(">>>"):
        return part
    if (rows := columns(part)) is not None:
        return "\n".join(
            ", ".join(f"**{escaped(name.strip(' `'))}**" for name in names.split(","))
            + f"\n    {inline(text, place)}"
            for names, text in rows
        )
    lines = part.splitlines()
    if any(re.match(r"[-*] ", line) for line in lines):
        items = re.split(r"\n(?=[-*] )", part)
        if not re.match(r"[-*] ", items[0]):
            return "\n\n".join([inline(items[0], place), block("\n".join(items[1:]), place)])
        return "\n".join("- " + " ".join(inline(item[2:], place).split()) for item in items)
    if all(line.startswith("    ") for line in lines):
        return "::\n\n" + part
    if any(line.startswith(" ") for line in lines[1:]):  # laid out by hand: kept as it is
        return "\n".join(f"| {inline(line.lstrip(), place)}" for line in lines)
    return inline(part, place)


def columns(part: str) -> list[tuple[str, str]] | None:
    """Names and descriptions of a paragraph in two columns, else None."""
    rows: list[tuple[str, str]] = []
    at = 0
    for line in part.splitlines():
        if found := COLUMNS.fullmatch(line):
            at = found.start("text")
            rows.append((found["names"], found["text"]))
        elif rows and line[:at].strip() == "":
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
        else:
            return None
    return rows


def escaped(text: str) -> str:
    return MARKUP.sub(r"\\\1", text)


def inline(text: str, place: str) -> str:
    """Text with its names as links or literals."""
    return "".join(
        code(piece[1:-1], place) if n % 2 else escaped(piece)
        for n, piece in enumerate(CODE.split(text))
    )


def code(name: str, place: str) -> str:
    # What follows a literal or stands before it may be a letter: `x`s.
    full = public_names.full(name, place)
    shown = " ".join(name.split())
    if full:
        return rf"\ :py:obj:`{shown} <{full}>`\ "
    return rf"\ ``{shown}``\ "


def convert(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Sphinx asks for each docstring, as lines."""
    place = name.rpartition(".")[0]
    lines[:] = as_rst("\n".join(lines), place).splitlines() + [""]


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", convert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
