"""`graph_picture`: what is drawn of tapes and graphs, that it is laid out readably, and what the
texts are."""

from __future__ import annotations

import pathlib
import random
import re
import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.picture import layout
from tracegrad.picture.model import Arrow, Diagram, DrawnBox, shortened

SVG = "{http://www.w3.org/2000/svg}"


def texts(picture: Any) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture.svg).iter(f"{SVG}text")]


def quadratic() -> tuple[Any, Any, Any]:
    A = tg.tensor([[2.0, 1.0], [0.0, 3.0]], requires_grad=True)
    x = tg.tensor([1.0, -2.0], requires_grad=True)
    return x @ A @ x, x, A


def test_quadratic_form() -> None:
    y, x, A = quadratic()
    picture = tg.graph_picture(y, names={"x": x, "A": A, "y": y})
    shown = texts(picture)
    assert {"x", "A", "y", "f64[2]", "f64[2, 2]", "f64[]"} <= set(shown)
    node, expected = y.grad_fn, set()
    while hasattr(node, "op"):
        expected.add(node.name())
        node = node.next_functions[0][0]
    assert expected <= set(shown)
    assert shown.count("x") == 1  # read twice, drawn once
    assert picture._repr_svg_() == picture.svg == str(picture)
    assert "leaf: 2" in repr(picture)


def test_picture_in_the_readme() -> None:
    """docs/quadratic_form.svg is what is drawn today:
    `graph_picture(...).save("docs/quadratic_form.svg")` writes it anew."""
    A = tg.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, -1.0], [1.0, 0.0, 1.0]], requires_grad=True)
    x = tg.tensor([1.0, -2.0, 0.5], requires_grad=True)
    y = x @ A @ x
    path = pathlib.Path(__file__).resolve().parents[2] / "docs" / "quadratic_form.svg"
    drawn = tg.graph_picture(y, names={"x": x, "A": A, "y": y}).svg
    # The numbers of nodes count what ran before.
    assert re.sub(r"node \d+", "node", drawn) == re.sub(
        r"node \d+", "node", path.read_text(encoding="utf-8")
    )


def test_leaves_intermediates_and_several_results() -> None:
    x = tg.ones(3, requires_grad=True)
    mid = x * 2
    a, b = mid.sum(), mid.exp()
    named = texts(tg.graph_picture([a, b], names={"mid": mid, "the end": b}))
    assert {"leaf", "mid = MulBackward0", "result 0", "the end"} <= set(named)
    assert texts(tg.graph_picture(a)).count("result") == 2  # the box and the legend
    lone = tg.graph_picture(tg.ones(2))
    assert "f64[2]" in texts(lone)
    assert repr(lone) == "<picture of a graph (result: 1), 0 arrows>"
    leaf = tg.graph_picture(x, names={"x": x})
    assert repr(leaf) == "<picture of a graph (leaf: 1, result: 1), 1 arrows>"
    first, second = tg.ones(4, requires_grad=True).split(2)
    both = texts(tg.graph_picture((first, second)))
    assert any(text.startswith("2 results, f64[2]") or text == "f64[2]" for text in both)


def test_parallel_arrows_are_drawn_one_by_one() -> None:
    x = tg.ones(3, requires_grad=True)
    dot = tg.graph_picture(x * x, format="dot")
    assert str(dot).count("n0 -> n1;") == 2
    assert dot._repr_svg_() is None
    assert str(dot) == dot.dot


def test_jitted_function_with_adjoints() -> None:
    def loss(x: Any, w: Any) -> Any:
        return np.sum(np.tanh(x * w))

    f = tg.jit(tg.grad(loss))
    picture = tg.graph_picture(f, np.ones(3), w=np.ones(3))
    shown = texts(picture)
    assert {"x", "w", "adjoint operation", "leaf or input"} <= set(shown)
    assert any(" = tanh(" in text for text in shown)
    tips = [t.text or "" for t in ET.fromstring(picture.svg).iter(f"{SVG}title")]
    assert any("adjoint of tanh" in tip and "test_picture.py:" in tip for tip in tips)
    graphs = f.graphs(np.ones(3), w=np.ones(3))
    assert len(ET.fromstring(picture.svg).findall(f".//{SVG}g")) == len(graphs[0].nodes) + 3
    optimized = tg.graph_picture(f, np.ones(3), w=np.ones(3), stage="optimized")
    assert len(ET.fromstring(optimized.svg).findall(f".//{SVG}g")) == len(graphs[1].nodes) + 3
    assert (
        tg.graph_picture(graphs[1]).svg
        == tg.graph_picture(graphs, stage="optimized").svg
        == optimized.svg
    )


def test_regions_are_drawn_inside() -> None:
    inner = tg.jit(lambda x: np.sin(x) * 2)
    loop = tg.jit(lambda x: tg.scan(lambda c, t: (inner(c) * t, c), x, np.arange(4.0))[0])
    picture = tg.graph_picture(loop, 1.0)
    shown = texts(picture)
    assert "body: body" in shown
    assert "region" in shown
    assert any(" = sin(" in text for text in shown)
    assert "subgraph cluster_" in picture.dot
    # What is inside lies inside.
    boxes = [box for box in picture._diagram.boxes if box.inside]
    assert boxes
    for box in boxes:
        assert sum(region.width for region in box.inside) <= box.width
        assert max(region.height for region in box.inside) < box.height


def test_modules_name_their_parameters_and_calls_open() -> None:
    """`names` may be a module; a jitted function on the tape shows its graph on request."""
    model = tg.nn.Linear(3, 2)
    assert {"weight", "bias"} <= set(
        texts(tg.graph_picture(model(tg.ones(4, 3)).sum(), names=model))
    )
    f = tg.jit(lambda v: (np.sin(v) * v).sum())
    x = tg.ones(3, requires_grad=True)
    y = f(x) * 2
    assert not any(" = sin(" in text for text in texts(tg.graph_picture(y)))
    opened = texts(tg.graph_picture(y, inside=True))
    assert any(" = sin(" in text for text in opened)
    assert {"CallBackward0", "region"} <= set(opened)


def test_saved_values_on_request() -> None:
    x = tg.ones(3, requires_grad=True)
    y = x.exp()
    plain, full = tg.graph_picture(y), tg.graph_picture(y, saved=True)
    assert "saved value" not in texts(plain)
    assert "saved value" in texts(full)
    assert "stroke-dasharray" in full.svg
    y.sum().backward()
    assert "saved value" not in texts(tg.graph_picture(y, saved=True))


def test_large_graphs_are_cut_with_a_count() -> None:
    x = tg.ones(2, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 0.999
    picture = tg.graph_picture(y, limit=20)
    assert "… 4,983 more …" in texts(picture)
    assert "left out: 4983" in repr(picture)
    assert len(picture._diagram.boxes) == 20
    assert picture._diagram.boxes[0].kind == "leaf"
    with pytest.raises(ValueError, match="at least 3"):
        tg.graph_picture(y, limit=2)


def random_diagram(seed: int) -> Diagram:
    """Boxes of random sizes, each reading some before it."""
    draw = random.Random(seed)
    boxes = [
        DrawnBox("operation", ("w" * draw.randint(1, 30),)) for _ in range(draw.randint(1, 40))
    ]
    arrows = [
        Arrow(boxes[draw.randrange(k)], boxes[k])
        for k in range(1, len(boxes))
        for _ in range(draw.choice([0, 1, 1, 2, 3]))
    ]
    return Diagram(boxes, arrows)


@pytest.mark.parametrize("seed", range(25))
def test_layout_holds_on_random_graphs(seed: int) -> None:
    """No boxes overlap, everything lies inside, arrows point down and end at their boxes, and none
    crosses a box in a row it passes."""
    diagram = random_diagram(seed)
    layout.lay_out(diagram)
    for k, a in enumerate(diagram.boxes):
        assert a.x - a.width / 2 >= -1e-6
        assert a.x + a.width / 2 <= diagram.width + 1e-6
        assert a.y + a.height / 2 <= diagram.height + 1e-6
        for b in diagram.boxes[:k]:
            assert (
                abs(a.x - b.x) >= (a.width + b.width) / 2
                or abs(a.y - b.y) >= (a.height + b.height) / 2
            )
    for arrow in diagram.arrows:
        xs, ys = zip(*arrow.points, strict=True)
        assert list(ys) == sorted(ys)
        assert abs(xs[0] - arrow.source.x) <= arrow.source.width / 2
        assert abs(xs[-1] - arrow.target.x) <= arrow.target.width / 2
        assert ys[-1] == pytest.approx(arrow.target.y - arrow.target.height / 2)
        for x, y in arrow.points[1:-1]:
            for box in diagram.boxes:
                assert not (abs(x - box.x) < box.width / 2 and abs(y - box.y) < box.height / 2)


def test_order_takes_crossings_out() -> None:
    """Two chains that were given crossed come out side by side."""
    a, b, c, d = (DrawnBox("operation", (name,)) for name in "abcd")
    diagram = Diagram([a, b, c, d], [Arrow(a, d), Arrow(b, c)])
    layout.lay_out(diagram)
    assert (a.x < b.x) == (d.x < c.x)
    rows, below = [[a, b], [c, d]], {a: [d], b: [c]}
    assert layout.crossings(rows, below) == 1
    assert layout.crossings([[a, b], [d, c]], below) == 0


def test_shortened_keeps_the_order() -> None:
    """Folding the middle into one box leaves a graph without circles, whatever it was."""
    for seed in range(30):
        diagram = shortened(random_diagram(seed), 8)
        place = {box: k for k, box in enumerate(diagram.boxes)}
        assert len(diagram.boxes) <= 8
        assert all(place[arrow.source] < place[arrow.target] for arrow in diagram.arrows)


def test_save(tmp_path: pathlib.Path) -> None:
    y, _, _ = quadratic()
    picture = tg.graph_picture(y)
    for name in ("a.svg", "b.dot", "c.gv"):
        picture.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == picture.svg
    assert (
        (tmp_path / "b.dot").read_text(encoding="utf-8")
        == (tmp_path / "c.gv").read_text(encoding="utf-8")
        == picture.dot
    )
    with pytest.raises(ValueError, match=r"\.svg, \.dot or \.gv, not \.png"):
        picture.save(str(tmp_path / "a.png"))


def test_text_is_escaped() -> None:
    x = tg.ones(2, requires_grad=True)
    name = 'a<b> & "c\\'
    picture = tg.graph_picture(x * 2, names={name: x})
    assert name in texts(picture)
    assert r'label="a<b> & \"c\\\nf64[2]"' in picture.dot


def test_dot_is_well_formed() -> None:
    y, x, A = quadratic()
    lines = tg.graph_picture(y, names={"x": x, "A": A}, format="dot").dot.splitlines()
    assert (lines[0], lines[-1]) == ("digraph {", "}")
    declared = {m[1] for line in lines if (m := re.match(r"\s*(n\d+) \[label=", line))}
    used = {name for line in lines if "->" in line for name in re.findall(r"n\d+", line)}
    assert used <= declared


def test_wrong_arguments() -> None:
    x = tg.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="svg or dot"):
        tg.graph_picture(x, format="png")
    with pytest.raises(ValueError, match="traced or optimized"):
        tg.graph_picture(x, stage="compiled")
    with pytest.raises(TypeError, match=r"use tg\.jit"):
        tg.graph_picture(lambda x: x, x)
    with pytest.raises(TypeError, match="this is a function"):
        tg.graph_picture(lambda x: x)
    with pytest.raises(TypeError, match="this is a ndarray"):
        tg.graph_picture(x, names={"x": np.ones(2)})
    with pytest.raises(ValueError, match="no result"):
        tg.graph_picture([])
