"""A diagram as SVG, and as text in the DOT language."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from .layout import CHAR, GAP_X, LINE, PAD_X, PAD_Y, TITLE, lay_out
from .model import Arrow, Diagram, DrawnBox

LOOKS = {
    "leaf": ("#dbeafe", "#2563eb", "leaf or input"),
    "operation": ("#f3f4f6", "#6b7280", "operation"),
    "adjoint": ("#fce7f3", "#db2777", "adjoint operation"),
    "result": ("#dcfce7", "#16a34a", "result"),
    "saved": ("#fef9c3", "#ca8a04", "saved value"),
    "region": ("#faf5ff", "#9333ea", "region"),
    "rest": ("#ffffff", "#9ca3af", "left out"),
}
"""Fill, line and meaning of each kind of box."""
MARGIN = 14.0
FONT = 'font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="12"'
LEGEND = 26.0


def to_svg(diagram: Diagram) -> str:
    """The diagram as one SVG document that needs nothing else."""
    lay_out(diagram)
    kinds = [kind for kind in LOOKS if kind in diagram.kinds()]
    legend = sum(len(LOOKS[kind][2]) * CHAR + 2 * GAP_X for kind in kinds)
    width = max(diagram.width, legend, len(diagram.title) * CHAR) + 2 * MARGIN
    head = LINE + 8 if diagram.title else 0.0
    height = head + diagram.height + LEGEND + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {FONT}>',
        '<defs><marker id="tg-head" viewBox="0 0 8 8" refX="7" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" '
        'fill="#4b5563"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    if diagram.title:
        parts.append(_text(MARGIN, MARGIN + 12, diagram.title, "start", bold=True))
    left = MARGIN + (width - 2 * MARGIN - diagram.width) / 2
    parts += _drawn(diagram, left, MARGIN + head)
    at, y = MARGIN, height - MARGIN - 4
    for kind in kinds:
        fill, line, meaning = LOOKS[kind]
        parts.append(
            f'<rect x="{at:.1f}" y="{y - 9:.1f}" width="14" height="10" rx="2" '
            f'fill="{fill}" stroke="{line}"/>'
        )
        parts.append(_text(at + 20, y, meaning, "start", "#4b5563"))
        at += len(meaning) * CHAR + 2 * GAP_X
    return "\n".join([*parts, "</svg>", ""])


def _drawn(diagram: Diagram, left: float, top: float) -> Iterator[str]:
    for arrow in diagram.arrows:
        yield _arrow(arrow, left, top)
    for box in diagram.boxes:
        yield from _box(box, left + box.x, top + box.y)


def _arrow(arrow: Arrow, left: float, top: float) -> str:
    """A curve that leaves and arrives vertically, and is straight within the rows it passes."""
    (x, y), *rest = [(left + x, top + y) for x, y in arrow.points]
    path = f"M{x:.1f},{y:.1f}"
    for k, (a, b) in enumerate(rest):
        if k % 2:
            path += f" L{a:.1f},{b:.1f}"
        else:
            middle = (y + b) / 2
            path += f" C{x:.1f},{middle:.1f} {a:.1f},{middle:.1f} {a:.1f},{b:.1f}"
        x, y = a, b
    dash = ' stroke-dasharray="4 3"' if arrow.dashed else ""
    return f'<path d="{path}" fill="none" stroke="#4b5563"{dash} marker-end="url(#tg-head)"/>'


def _box(box: DrawnBox, x: float, y: float) -> Iterator[str]:
    fill, line, _ = LOOKS[box.kind]
    left, top = x - box.width / 2, y - box.height / 2
    round_ = 3 if box.kind in ("leaf", "saved", "result") else 9
    dash = ' stroke-dasharray="5 3"' if box.kind in ("region", "rest") else ""
    yield f"<g><title>{escape(box.tip or ' '.join(box.lines))}</title>"
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{round_}" fill="{fill}" stroke="{line}"{dash}/>'
    )
    for k, text in enumerate(box.lines):
        yield _text(
            x,
            top + PAD_Y + 11.5 + k * LINE,
            text,
            "middle",
            "#111827" if k == 0 else "#4b5563",
            bold=k == 0,
        )
    yield "</g>"
    at = left + 2 * PAD_X
    if box.inside:
        wide = sum(max(inner.width, len(inner.title) * CHAR) for inner in box.inside) + GAP_X * (
            len(box.inside) - 1
        )
        at = x - wide / 2
    for inner in box.inside:
        wide = max(inner.width, len(inner.title) * CHAR)
        under = top + PAD_Y + len(box.lines) * LINE + TITLE
        yield _text(at, under - 6, inner.title, "start", "#6b21a8")
        yield from _drawn(inner, at + (wide - inner.width) / 2, under)
        at += wide + GAP_X


def _text(
    x: float, y: float, text: str, anchor: str, color: str = "#111827", bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{color}"{weight}>{escape(text)}</text>'
    )


def to_dot(diagram: Diagram) -> str:
    """The diagram in the DOT language, regions as clusters."""
    lines = ["digraph {", '    node [fontname="monospace", fontsize=10, style=filled];']
    if diagram.title:
        lines.append(f"    label={_quoted(diagram.title)}; labelloc=t;")
    names: dict[DrawnBox, str] = {}
    _dot(diagram, lines, names, 1)
    return "\n".join([*lines, "}", ""])


def _dot(diagram: Diagram, lines: list[str], names: dict[DrawnBox, str], depth: int) -> None:
    pad = "    " * depth
    for box in diagram.boxes:
        name = names[box] = f"n{len(names)}"
        fill, line, _ = LOOKS[box.kind]
        look = (
            f"label={_quoted(*box.lines)}, shape={'box' if box.kind != 'operation' else 'oval'}, "
            f'fillcolor="{fill}", color="{line}"'
        )
        if not box.inside:
            lines.append(f"{pad}{name} [{look}];")
            continue
        lines.append(f"{pad}subgraph cluster_{name} {{")
        lines.append(f'{pad}    {name} [{look}]; style=dashed; color="{line}";')
        for k, inner in enumerate(box.inside):
            lines.append(f"{pad}    subgraph cluster_{name}_{k} {{")
            lines.append(f"{pad}        label={_quoted(inner.title)};")
            _dot(inner, lines, names, depth + 2)
            lines.append(f"{pad}    }}")
        lines.append(f"{pad}}}")
    lines += [
        f"{pad}{names[a.source]} -> {names[a.target]}{' [style=dashed]' if a.dashed else ''};"
        for a in diagram.arrows
    ]


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in lines) + '"'
