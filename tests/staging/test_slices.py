"""Slices whose length the passes of a loop change: what NumPy gives, at all sizes by one graph, and
what they may not decide."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.staging.programs import slices
from tests.staging.ways import differences
from tests.unjitted import run_unjitted
from tracegrad.staging import loops

RNG = np.random.default_rng(3)
PROGRAMS = {
    **{f.__name__: (f, lambda n: RNG.normal(size=(n, n))) for f in slices.MATRICES},
    **{f.__name__: (f, lambda n: RNG.normal(size=n) + 0.1) for f in slices.VECTORS},
}


def by_source(jitted: Any, *args: Any) -> tuple[Any, list[Any]]:
    """What is kept of a call, and its results by the generated source, which CPython runs."""
    entry = jitted._entry(args, {}).entry
    graph, given = jitted.graphs(*args)[-1], [*args, *entry.traced.captures]
    return entry, run_unjitted(graph, given, keep=True)


# The source of the other one takes long without a compiler.
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - {"cholesky_by_rows"}))
def test_one_executable(name: str) -> None:
    """Values and gradients of two sizes; from the second on by one graph."""
    program, at = PROGRAMS[name]
    both = tg.jit(tg.value_and_grad(program))
    for n in (3, 5):
        x = at(n)
        entry, (found, gradient) = by_source(both, x)
        direction = np.cos(np.arange(x.size)).reshape(x.shape)
        ends = [program(x + s * 1e-6 * direction) for s in (1, -1)]
        np.testing.assert_allclose(found, program(x.copy()), rtol=1e-12)
        np.testing.assert_allclose(
            np.sum(gradient * direction), (ends[0] - ends[1]) / 2e-6, rtol=5e-5, atol=1e-6
        )
    assert both._entry((at(7),), {}).entry is entry


@pytest.mark.parametrize("name", ["back_substitution", "cholesky_by_rows"])
def test_compiled(name: str) -> None:
    program, at = PROGRAMS[name]
    gradient = tg.jit(tg.grad(program))
    for n in (5, 8):
        x = at(n)
        np.testing.assert_allclose(gradient(x), tg.grad(program)(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["back_substitution", "shifted_updates", "correlations"])
def test_other_modes(name: str) -> None:
    """Forward mode, second derivatives and batches, as graphs of the second size."""
    program, at = PROGRAMS[name]
    x, y = at(5), at(5)

    def traced(f: Callable[..., Any], *args: Any) -> Any:
        jitted: Any = tg.jit(f)
        jitted._entry([a[..., :-1] if a.ndim == 1 else a[:-1, :-1] for a in args], {})
        return by_source(jitted, *args)[1][0]

    np.testing.assert_allclose(
        traced(lambda x, d: tg.jvp(program, (x,), (d,))[1], x, y),
        np.sum(differences(program, x) * y),
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        traced(lambda x, d: tg.hvp(program, x, d), x, y),
        tg.hvp(program, x, y),
        rtol=1e-8,
        atol=1e-10,
    )
    both = np.stack([x, y])
    for f in (program, tg.grad(program)):
        found = by_source(tg.jit(tg.vmap(f)), both)[1][0]
        np.testing.assert_allclose(found, [f(x), f(y)], rtol=1e-9, atol=1e-12)


ENDS = ["", "i", "i + 1", "i - 1", "n - i", "-i", "-i - 1", "2", "-1", "n", "i + 2", "n - i - 1"]
SOME = int(os.environ.get("SLICES", 31))
RANGES = ["range(n)", "range(1, n)", "range(n - 1)", "range(n - 1, -1, -1)", "range(n - 2, 0, -1)"]


@pytest.mark.parametrize("step", ["1", "-1", "2", "-2"])
def test_every_slice_is_numpys_or_refused(
    step: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of pairs of ends, at three sizes: by one graph, or by more, or an error."""
    monkeypatch.setattr(loops.Budget, "nodes", 0)
    lines = ["import numpy as np"]
    names = []
    for k, (start, stop, steps) in enumerate(itertools.product(ENDS, ENDS, RANGES)):
        if k % SOME != len(step) or "i" not in start + stop:
            continue
        names.append(f"f{k}")
        lines.append(
            f"def f{k}(x):\n    s, n = np.zeros(2), len(x)\n    for i in {steps}:\n"
            f"        part = x[{start}:{stop}:{step}]\n        s[0] += np.sum(part)\n"
            "        s[1] = s[1] * 1.5 + np.sum(part**2)\n    return s"
        )
    path = tmp_path / "sliced.py"
    path.write_text("\n".join(lines))
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    alike = refused = 0
    for name in names:
        f = scope[name]
        jitted: Any = tg.jit(f, stage=True)
        for n in (4, 6, 5):
            x = RNG.normal(size=n)
            try:
                found = by_source(jitted, x)[1][0]
            except (tg.ConcretizationError, tg.ShapeError, IndexError):
                refused += 1
                continue
            except AssertionError as error:
                if "out of bounds" not in str(error):
                    raise
                refused += 1
                continue
            np.testing.assert_allclose(found, f(x.copy()), rtol=1e-12, err_msg=name)
            alike += 1
    assert alike > 4 * refused, (alike, refused)
