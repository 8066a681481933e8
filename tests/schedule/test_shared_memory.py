"""Buffers that show each other's memory, in every pass over programs: what comes out computes
what went in, in any order that is allowed.

`pytest tests/schedule/test_shared_memory.py --soak 1000` takes as many random programs as one
likes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.cuda.dependence import interchanged, parallel
from tracegrad.codegen.cuda.linear import linear
from tracegrad.codegen.owners import Owners

from tests.kernel_runner import Runner
from tests.random_kernels import F64, FLAG, inputs_of, random_program
from tracegrad._codegen import inplace, integers, kernel, traversal, verify
from tracegrad.schedule.passes import (
    batch_blocks,
    distribute,
    lockstep,
    pipeline,
    split_loops,
    tiling,
)
from tracegrad.schedule.passes.memory import plan

K, J, T = (integers.symbol(name) for name in "ijt")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Blocks and tiles of a few passes, as for loops of many thousands."""
    for name, value in (("BLOCK", 4), ("FEWEST", 2), ("ITEMS", 3)):
        monkeypatch.setattr(batch_blocks, name, value)
    monkeypatch.setattr(tiling, "TILE", 3)
    monkeypatch.setattr(distribute, "BLOCK", 5)
    monkeypatch.setattr(distribute, "FEWEST", 2)
    monkeypatch.setattr(split_loops, "FEWEST", 2)
    if getattr(request, "param", False):
        monkeypatch.setattr(batch_blocks, "LOCKSTEP", 4)
        monkeypatch.setattr(lockstep, "WIDTH", 4)


def draft(program: kernel.Program) -> pipeline.Draft:
    number = itertools.count()
    head = replace(program, phases=(), buffers=())
    return pipeline.Draft(
        head,
        list(program.phases),
        {b.name: b for b in program.buffers},
        lambda name: f"{name}_{next(number)}",
    )


def after_passes(program: kernel.Program) -> Iterator[tuple[str, kernel.Program]]:
    """The program after each pass by itself, and after all so far, the places in the arena
    included."""
    for name, apply in pipeline.PIPELINE:
        alone = draft(program)
        alone.phases = apply(alone)
        yield f"{name} alone", alone.stage(name)
    both = draft(program)
    for name, apply in pipeline.PIPELINE:
        both.phases = apply(both)
        yield name, both.stage(name)
    used, arena = plan(both.phases, both.buffers)
    head = replace(both.program, made_by="places in the arena")
    yield (
        "places in the arena",
        replace(head, buffers=tuple(used), phases=tuple(both.phases), arena=arena),
    )


def on_a_device(program: kernel.Program) -> kernel.Program:
    """The program with all loops in any order, or turned, where the device would share them among
    threads."""
    owners = Owners.of_program(program)

    def free(s: kernel.Statement) -> kernel.Statement:
        if not isinstance(s, kernel.Loop) or s.own is not None:
            return s
        if parallel(s, owners, True) is not None:
            return replace(s, sequential=False)
        return interchanged(s, owners, f"{s.index}_turned") or s

    return replace(
        program,
        phases=tuple(
            [replace(p, body=traversal.mapped(p.body, lambda e: e, free)) for p in program.phases]
        ),
    )


def same(
    program: kernel.Program, inputs: list[np.ndarray], expected: list[np.ndarray], what: str
) -> None:
    for order in (3, 4):
        for got, want in zip(Runner(program, inputs, order).run(), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=what)


def check(program: kernel.Program, inputs: list[np.ndarray], taken: Counter[str]) -> bool:
    """Whether the program says what it computes, and each pass over it says the same."""
    verify.verify_program(program)
    with np.errstate(invalid="ignore"):
        expected = Runner(program, inputs, 1).run()
        again = Runner(program, inputs, 2).run()
    if any(
        np.isnan(a).any() or not np.allclose(a, b) for a, b in zip(expected, again, strict=True)
    ):
        return False
    for what, changed in after_passes(program):
        verify.verify_program(changed)
        taken[what] += changed.phases != program.phases
        same(changed, inputs, expected, what)
    for made in (program, linear(program)):
        same(on_a_device(made), inputs, expected, "on a device")
    names = [b.name for b in changed.buffers if b.role == "in"]
    for k in range(len(names)):
        shared, places = inplace.reuse(changed, [k])
        taken["in place"] += len(places)
        run = Runner(shared, inputs, 3)
        rest = iter(run.run())
        for n, want in enumerate(expected):
            got = run.memory[names[places[n]]] if n in places else next(rest)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg="in place")
    return True


# --- by hand ------------------------------------------------------------------------------------


def load(buffer: str, *at: Any) -> kernel.Load:
    return kernel.Load(buffer, at, F64)


def half(x: kernel.Expression, y: kernel.Expression) -> kernel.Expression:
    return kernel.Apply("0.5 * {x} + {y}", (("x", x), ("y", y)), F64)


def loop(index: str, hi: Any, *body: kernel.Statement, order: bool = False) -> kernel.Loop:
    return kernel.Loop(index, 0, hi, body, order)


def rows(*body: kernel.Statement) -> kernel.Loop:
    """A loop over all of a matrix."""
    return loop("i", 12, loop("j", 2, *body))


START = rows(kernel.Store("c", (K, J), load("x", K, J)))
END = rows(kernel.Store("o", (K, J), load("c", K, J)))
COPY = rows(kernel.Store("c", (K, J), load("c_next", K, J)))


def columns(*values: kernel.Expression) -> kernel.Loop:
    """What follows on the carry, its short axis written out."""
    names = [kernel.Name(f"v{k}", F64) for k in range(len(values))]
    lets = [kernel.Let(name.name, value) for name, value in zip(names, values, strict=True)]
    return loop(
        "i", 12, *lets, *[kernel.Store("c_next", (K, k), name) for k, name in enumerate(names)]
    )


ROLLED = columns(
    *[half(load("c", K, k), load("c_flat", integers.mod(2 * K + k + 23, 24))) for k in range(2)]
)
HAND: dict[str, tuple[tuple[kernel.Statement, ...], ...]] = {
    "the same loop": (
        (
            START,
            rows(kernel.Store("o", (K, J), half(load("c", K, J), load("c_flat", 23 - 2 * K - J)))),
        ),
    ),
    "a loop and its copies": ((START, ROLLED, COPY, END),),
    "steps": ((START, loop("t", 3, ROLLED, COPY, order=True), END),),
    "a step that writes rows": (
        (
            START,
            loop(
                "t",
                3,
                loop(
                    "j",
                    2,
                    kernel.Store(
                        "c", (T + 1, J), half(load("c_flat", 2 * T + J), load("x", K * 0, J))
                    ),
                ),
                order=True,
            ),
            END,
        ),
    ),
    "several phases": (
        (START,),
        (rows(kernel.Store("c_next", (K, J), load("x", 11 - K, J))),),
        (ROLLED, COPY),
        (END,),
    ),
    "a view alone": (
        (START,),
        (rows(kernel.Store("c_next", (K, J), load("x", 0, J))),),
        (rows(kernel.Store("o", (K, J), load("c_flat", 2 * K + J))),),
    ),
    "a view of a result": (
        (
            rows(kernel.Store("o", (K, J), load("x", K, J))),
            loop(
                "t",
                3,
                rows(kernel.Store("c", (K, J), load("o_flat", 23 - 2 * K - J))),
                END,
                order=True,
            ),
        ),
    ),
    "a view of an input": (
        (rows(kernel.Store("o", (K, J), half(load("x", K, J), load("x_flat", 23 - 2 * K - J)))),),
    ),
    "a branch": (
        (
            START,
            loop(
                "t",
                2,
                kernel.If(
                    kernel.Apply("{t} < 1", (("t", kernel.Index(T)),), FLAG),
                    (ROLLED, COPY),
                    (rows(kernel.Store("c", (K, J), load("x", K, J))),),
                ),
                order=True,
            ),
            END,
        ),
    ),
    "a value that changes behind its store": (
        (
            START,
            loop(
                "i",
                12,
                kernel.Store("c_next", (K, 0), kernel.Literal(1.0, F64)),
                kernel.Store("c_next", (K, 1), load("c", K, 0)),
                loop("t", 3, kernel.Store("c_next", (K, 0), load("c", K, 1), "add")),
            ),
            COPY,
            END,
        ),
    ),
    "a variable that changes behind its store": (
        (
            START,
            loop(
                "i",
                12,
                kernel.Declare("v", load("c", K, 1)),
                kernel.Store("c_next", (K, 0), kernel.Name("v", F64)),
                kernel.Update("v", kernel.Literal(1.0, F64), "add"),
                kernel.Store("c_next", (K, 1), kernel.Name("v", F64)),
            ),
            COPY,
            END,
        ),
    ),
    "a routine reads a view": (
        (START, kernel.Call("routines.reversed", ("c_flat", "c_next"), work=1), COPY, END),
    ),
    "a routine writes what a view shows": (
        (
            START,
            kernel.Call("routines.reversed", ("x", "c"), work=1),
            rows(kernel.Store("o", (K, J), load("c_flat", 23 - 2 * K - J))),
        ),
    ),
    "known places": (
        (
            START,
            loop(
                "t",
                3,
                kernel.Store("s", (0, 1), half(load("s_flat", 2), load("x", T, 0))),
                kernel.Store("s", (1, 0), load("s_flat", 1)),
                order=True,
            ),
            END,
            kernel.Store("o", (0, 0), load("s_flat", 2)),
        ),
    ),
    "an input that is written over": (
        (
            rows(kernel.Store("o", (K, J), kernel.Literal(2.0, F64))),
            rows(kernel.Store("o", (K, J), half(load("o", K, J), load("x", K, J)))),
        ),
    ),
    "an input in two pieces": (
        (
            loop("i", 5, loop("j", 2, kernel.Store("o", (K, J), load("x", K, J)))),
            kernel.Loop(
                "i",
                5,
                12,
                (loop("j", 2, kernel.Store("o", (K, J), half(load("x", K, J), load("x", K, J)))),),
            ),
        ),
    ),
}
BUFFERS = (
    kernel.Buffer("x", F64, (12, 2), "in"),
    kernel.Buffer("o", F64, (12, 2), "out"),
    kernel.Buffer("c", F64, (12, 2), "temp"),
    kernel.Buffer("c_next", F64, (12, 2), "temp"),
    kernel.Buffer("s", F64, (2, 2), "temp"),
    kernel.Buffer("c_flat", F64, (24,), "temp", of="c"),
    kernel.Buffer("o_flat", F64, (24,), "temp", of="o"),
    kernel.Buffer("x_flat", F64, (24,), "temp", of="x"),
    kernel.Buffer("s_flat", F64, (4,), "temp", of="s"),
)
FIRST = loop("i", 2, loop("j", 2, kernel.Store("s", (K, J), load("x", K, J))))


@pytest.mark.parametrize("name", HAND)
def test_by_hand(name: str, tiny: None) -> None:
    phases = tuple(
        [
            kernel.Phase("serial", (FIRST, *body) if k == 0 else body)
            for k, body in enumerate(HAND[name])
        ]
    )
    program = kernel.Program("f", "", (), BUFFERS, phases, made_by="hand")
    assert check(program, inputs_of(program, 7), Counter())


def shown(program: kernel.Program, pass_name: str) -> kernel.Program:
    return dict(after_passes(program))[f"{pass_name} alone"]


def by_hand(*body: kernel.Statement) -> kernel.Program:
    return kernel.Program("f", "", (), BUFFERS, (kernel.Phase("serial", body),), made_by="hand")


def test_what_a_view_shows_without_division_is_the_owners() -> None:
    flat = by_hand(START, rows(kernel.Store("o", (K, J), load("c_flat", 2 * K + J))))
    found = {
        e.buffer
        for p in shown(flat, "resolve views").phases
        for s in traversal.within(p.body)
        for e in traversal.loads(s)
    }
    assert found == {"x", "c"}
    crosswise = by_hand(START, rows(kernel.Store("o", (K, J), load("c_flat", 23 - 2 * K - J))))
    found = {
        e.buffer
        for p in shown(crosswise, "resolve views").phases
        for s in traversal.within(p.body)
        for e in traversal.loads(s)
    }
    assert found == {"x", "c_flat"} or found == {"x", "c"}


def test_copies_join_where_each_place_is_its_own() -> None:
    """The pass still does what it is for."""
    own = columns(half(load("c", K, 1), load("x", K, 0)), half(load("c", K, 0), load("x", K, 1)))
    both = by_hand(START, loop("t", 3, own, COPY, order=True), END)
    (_, steps, _) = shown(both, "fuse copies").phases[0].body
    assert isinstance(steps, kernel.Loop)
    assert len(steps.body) == 1
    (_, steps, _) = (
        shown(by_hand(START, loop("t", 3, ROLLED, COPY, order=True), END), "fuse copies")
        .phases[0]
        .body
    )
    assert isinstance(steps, kernel.Loop)
    assert len(steps.body) == 2


# --- at random ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tiny", [False, True], indirect=True, ids=["blocks", "side by side"])
def test_at_random(tiny: None, request: pytest.FixtureRequest) -> None:
    taken: Counter[str] = Counter()
    side_by_side = "side by side" in request.node.name
    count = request.config.getoption("--soak") or (4 if side_by_side else 12)
    settled = 0
    for seed in range(count):
        program = random_program(seed)
        settled += check(program, inputs_of(program, seed), taken)
    assert settled > 0.9 * count
    # Tiles are for long loops, and rare; no index comes from an array here (test_sound_indices),
    # no write stands behind a condition (test_choose_stores), nobody asks for memory, what all
    # steps read lies in no array that they write (test_split_loops), rows are short
    # (test_rows_abreast, test_whole_rows, test_whole_lines, test_rows_of_powers), and no step asks
    # for a flag (test_collect_steps) or for one place (test_few_places).
    rare = {"choose stores", "memory of steps", "sound indices", "split loops", "tile"}
    rare |= {"rows abreast", "whole rows", "rows of powers", "collect steps"}
    rare |= {"few places", "whole lines"}
    if count >= 12:
        passes = [name for name, _ in pipeline.PIPELINE if name not in rare]
        assert all(taken[f"{name} alone"] for name in passes), taken
