"""Where the boxes of a diagram go: rows by the longest way from a source, an order within rows that
crosses few arrows, then positions.

Arrows over several rows pass through a place of their own in each of them, so that no box lies on
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .model import Arrow, Diagram, DrawnBox

CHAR, LINE = 7.25, 15.0
"""Width of a character and height of a line, in pixels, of the 12-pixel fixed-width type of
`svg.py`."""
PAD_X, PAD_Y = 10.0, 6.0
GAP_X, GAP_Y = 22.0, 34.0
SLOT = 10.0
"""The width of an arrow's place in a row that it only passes."""
TITLE = 20.0
"""The height of the line above a region."""
SWEEPS = 12


def lay_out(diagram: Diagram) -> None:
    """Give every box and arrow its place; the diagram's upper left corner is (0, 0)."""
    for box in diagram.boxes:
        measure(box)
    if not diagram.boxes:
        return
    rank = ranks(diagram)
    rows: list[list[DrawnBox]] = [[] for _ in range(max(rank.values()) + 1)]
    for box in diagram.boxes:
        rows[rank[box]].append(box)
    chains: list[tuple[Arrow, list[DrawnBox]]] = []
    above: dict[DrawnBox, list[DrawnBox]] = {}
    below: dict[DrawnBox, list[DrawnBox]] = {}
    for arrow in diagram.arrows:
        chain = [arrow.source]
        for level in range(rank[arrow.source] + 1, rank[arrow.target]):
            place = DrawnBox("way", (), width=SLOT)
            rows[level].append(place)
            chain.append(place)
        chain.append(arrow.target)
        for a, b in pairwise(chain):
            below.setdefault(a, []).append(b)
            above.setdefault(b, []).append(a)
        chains.append((arrow, chain))
    order(rows, above, below)
    positions(rows, above, below)
    top = 0.0
    tops: list[tuple[float, float]] = []
    for row in rows:
        height = max(box.height for box in row)
        for box in row:
            box.y = top + height / 2
        tops.append((top, top + height))
        top += height + GAP_Y
    left = min(box.x - box.width / 2 for row in rows for box in row)
    for row in rows:
        for box in row:
            box.x -= left
    diagram.width = max(box.x + box.width / 2 for row in rows for box in row)
    diagram.height = top - GAP_Y
    route(chains, rank, tops)


def measure(box: DrawnBox) -> None:
    """The size of a box: its text, and below it the regions side by side."""
    width = max([0.0, *[len(line) * CHAR for line in box.lines]]) + 2 * PAD_X
    height = len(box.lines) * LINE + 2 * PAD_Y
    if box.inside:
        for inner in box.inside:
            lay_out(inner)
        widths = [max(inner.width, len(inner.title) * CHAR) for inner in box.inside]
        width = max(width, sum(widths) + GAP_X * (len(widths) - 1) + 4 * PAD_X)
        height += TITLE + max(inner.height for inner in box.inside) + 2 * PAD_Y
    box.width, box.height = width, height


def ranks(diagram: Diagram) -> dict[DrawnBox, int]:
    """The row of each box: after all it reads; a source stands just above its first reader."""
    makers: dict[DrawnBox, list[DrawnBox]] = {}
    readers: dict[DrawnBox, list[DrawnBox]] = {}
    for arrow in diagram.arrows:
        makers.setdefault(arrow.target, []).append(arrow.source)
        readers.setdefault(arrow.source, []).append(arrow.target)
    rank: dict[DrawnBox, int] = {}
    for box in diagram.boxes:
        rank[box] = max([rank[m] + 1 for m in makers.get(box, ())], default=0)
    for box in reversed(diagram.boxes):
        if box not in makers and box in readers:
            rank[box] = min(rank[r] for r in readers[box]) - 1
    lowest = min(rank.values())
    return {box: r - lowest for box, r in rank.items()}


def order(
    rows: list[list[DrawnBox]],
    above: dict[DrawnBox, list[DrawnBox]],
    below: dict[DrawnBox, list[DrawnBox]],
) -> None:
    """Sort each row by the mean place of its neighbours in the row before, downwards and upwards in
    turn, and keep the best."""
    best, best_rows = crossings(rows, below), [list(row) for row in rows]
    for sweep in range(SWEEPS):
        if best == 0:
            break
        down = sweep % 2 == 0
        neighbours = above if down else below
        for k in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            place = {box: float(i) for i, box in enumerate(rows[k - 1 if down else k + 1])}
            key = {}
            for i, box in enumerate(rows[k]):
                near = neighbours.get(box, ())
                key[box] = sum(place[n] for n in near) / len(near) if near else float(i)
            rows[k].sort(key=key.__getitem__)
        found = crossings(rows, below)
        if found < best:
            best, best_rows = found, [list(row) for row in rows]
    for row, kept in zip(rows, best_rows, strict=True):
        row[:] = kept


def crossings(rows: Sequence[Sequence[DrawnBox]], below: dict[DrawnBox, list[DrawnBox]]) -> int:
    """How many pairs of arrows between neighbouring rows cross, counted with a binary indexed
    tree."""
    total = 0
    for row, following in pairwise(rows):
        place = {box: i for i, box in enumerate(following)}
        tree = [0] * (len(following) + 1)
        seen = 0
        for box in row:
            ends = sorted(place[b] for b in below.get(box, ()))
            for end in ends:
                k, smaller = end + 1, 0
                while k:
                    smaller += tree[k]
                    k -= k & -k
                total += seen - smaller
            for end in ends:
                k = end + 1
                while k <= len(following):
                    tree[k] += 1
                    k += k & -k
                seen += 1
    return total


def positions(
    rows: list[list[DrawnBox]],
    above: dict[DrawnBox, list[DrawnBox]],
    below: dict[DrawnBox, list[DrawnBox]],
) -> None:
    """Each row as near to the mean of its neighbours as the widths of its boxes allow, downwards
    and upwards in turn."""
    for row in rows:
        at = 0.0
        for box in row:
            box.x = at + box.width / 2
            at += box.width + GAP_X
    for sweep in range(4 * SWEEPS):
        last = sweep >= SWEEPS
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted: list[tuple[float, float]] = []
            for box in row:
                # First towards one side, in the end towards both: straight ways weigh more than
                # anything.
                sides = (above, below) if last else (above,) if sweep % 2 == 0 else (below,)
                near = [n for side in sides for n in side.get(box, ())]
                if not near:
                    wanted.append((box.x, 0.1))
                    continue
                weights = [8.0 if box.kind == "way" and n.kind == "way" else 1.0 for n in near]
                wanted.append(
                    (
                        sum(w * n.x for w, n in zip(weights, near, strict=True)) / sum(weights),
                        sum(weights),
                    )
                )
            straighten(row, wanted)


def straighten(row: Sequence[DrawnBox], wanted: Sequence[tuple[float, float]]) -> None:
    """The positions nearest to the wanted ones (in the weighted square sense) in this order and
    without overlap."""
    offset = 0.0
    offsets: list[float] = []
    for k, box in enumerate(row):
        if k:
            offset += (row[k - 1].width + box.width) / 2 + GAP_X
        offsets.append(offset)
    # With the offsets taken away what remains must only not decrease: neighbours that do are pooled
    # to their mean.
    pools: list[tuple[float, float, int]] = []
    for (x, weight), offset in zip(wanted, offsets, strict=True):
        mean, total, count = x - offset, weight, 1
        while pools and pools[-1][0] > mean:
            before, w, c = pools.pop()
            mean, total, count = (before * w + mean * total) / (w + total), w + total, c + count
        pools.append((mean, total, count))
    flat = [mean for mean, _, count in pools for _ in range(count)]
    for box, offset, x in zip(row, offsets, flat, strict=True):
        box.x = x + offset


def route(
    chains: Sequence[tuple[Arrow, list[DrawnBox]]],
    rank: dict[DrawnBox, int],
    tops: Sequence[tuple[float, float]],
) -> None:
    """The points of each arrow; several that end in one box come in side by side, from the left
    those from the left."""
    ends: dict[DrawnBox, list[tuple[float, int]]] = {}
    for k, (_, chain) in enumerate(chains):
        ends.setdefault(chain[-1], []).append((chain[-2].x, k))
    into: dict[int, float] = {}
    for box, arrivals in ends.items():
        arrivals.sort()
        step = min(24.0, (box.width - 2 * PAD_X) / len(arrivals))
        for i, (_, k) in enumerate(arrivals):
            into[k] = box.x + (i - (len(arrivals) - 1) / 2) * step
    for k, (arrow, chain) in enumerate(chains):
        source, target = arrow.source, arrow.target
        points = [(source.x, source.y + source.height / 2)]
        for level, place in enumerate(chain[1:-1], rank[source] + 1):
            if len(points) > 1 and abs(points[-1][0] - place.x) < 0.5:
                # Straight on: one long piece instead of many.
                points[-1] = (points[-1][0], tops[level][1])
            else:
                points += [(place.x, tops[level][0]), (place.x, tops[level][1])]
        points.append((into[k], target.y - target.height / 2))
        arrow.points = points
