"""The verifier of programs finds each way in which a program can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tracegrad._codegen import integers, kernel, text, verify
from tracegrad.ir.verify import EVERY_PASS

F64, F32, FLAG = (np.dtype(t) for t in (np.float64, np.float32, np.bool_))
J = integers.symbol("j")


def load(buffer: str = "x", index: Any = (J,), dtype: Any = F64) -> kernel.Load:
    return kernel.Load(buffer, index, dtype)


def program(*body: kernel.Statement, **changes: Any) -> kernel.Program:
    n = integers.symbol("n")
    buffers = (
        kernel.Buffer("x", F64, (5,), "in"),
        kernel.Buffer("y", F64, (n,), "in"),
        kernel.Buffer("out", F64, (5,), "out"),
        kernel.Buffer("t", F64, (5, 1), "temp"),
        kernel.Buffer("t_flat", F64, (5,), "temp", of="t"),
    )
    made = kernel.Program(
        "f", "", (("n", ("y", 0)),), buffers, (kernel.Phase("serial", body),), ("bad {value}",)
    )
    return replace(made, **changes)


def loop(*body: kernel.Statement, hi: Any = 5, index: str = "j") -> kernel.Loop:
    return kernel.Loop(index, 0, hi, body)


TWICE = kernel.Apply("{a} + {b}", (("a", load()), ("b", load("t_flat"))), F64)
RIGHT: dict[str, tuple[kernel.Statement, ...]] = {
    "a loop": (loop(kernel.Let("a", TWICE), kernel.Store("out", (J,), kernel.Name("a", F64))),),
    "names of two scopes": (
        loop(kernel.Let("a", load())),
        loop(kernel.Let("a", load()), index="j"),
    ),
    "an accumulator": (
        kernel.Declare("s", kernel.Literal(0.0, F64)),
        loop(kernel.Update("s", load(), "add")),
    ),
    "an index that a condition keeps": (
        loop(
            kernel.If(
                kernel.Literal(True, FLAG),
                (kernel.Store("out", (J + 1,), kernel.Literal(1.0, F64)),),
            ),
            hi=5,
        ),
    ),
    "memory of its own": (
        kernel.Allocate("m", F64, (integers.symbol("n"),)),
        kernel.Store("m", (0,), kernel.Literal(1.0, F64)),
    ),
    "a routine": (kernel.Call("library.matmul", ("x", "t", "out", "status", 3)),),
}
M = kernel.Allocate("m", F64, (2, 2))
WRONG: dict[str, tuple[str, tuple[kernel.Statement, ...]]] = {
    "a name of nobody": ("a is read where nobody", (kernel.Let("b", kernel.Name("a", F64)),)),
    "a name of another scope": (
        "a is read where nobody",
        (loop(kernel.Let("a", load())), kernel.Let("b", kernel.Name("a", F64))),
    ),
    "a name given twice": (
        "given again",
        (kernel.Let("a", load(index=(0,))), kernel.Let("a", load(index=(1,)))),
    ),
    "the name of a buffer": ("given again", (kernel.Let("x", kernel.Literal(1.0, F64)),)),
    "an index twice": ("given again", (loop(loop(kernel.Let("a", load()))),)),
    "a loop that what fails may keep": (
        "goes on where something",
        (
            kernel.While(
                kernel.Literal(True, FLAG),
                (loop(kernel.Check(kernel.Literal(False, FLAG), 1, kernel.Index(J))),),
            ),
        ),
    ),
    "another dtype of a name": (
        "is read as float32",
        (kernel.Let("a", load(index=(0,))), kernel.Let("b", kernel.Name("a", F32))),
    ),
    "another dtype of an element": (
        "is taken for float32",
        (kernel.Let("a", load(index=(0,), dtype=F32)),),
    ),
    "another dtype of an accumulator": (
        "gets a float32",
        (
            kernel.Declare("s", kernel.Literal(0.0, F64)),
            kernel.Update("s", kernel.Literal(1.0, F32), "add"),
        ),
    ),
    "a constant that is updated": (
        "was not declared",
        (
            kernel.Let("a", kernel.Literal(0.0, F64)),
            kernel.Update("a", kernel.Literal(1.0, F64), None),
        ),
    ),
    "an input that is written to": (
        "the input x is written",
        (kernel.Store("x", (0,), kernel.Literal(1.0, F64)),),
    ),
    "a buffer of nobody": ("z is not there", (kernel.Let("a", load("z", (0,))),)),
    "too many indices": (r"has the index \(0, 0\)", (kernel.Let("a", load("x", (0, 0))),)),
    "a place behind the end": (r"is in \[1, 5\]", (loop(kernel.Let("a", load(index=(J + 1,)))),)),
    "a place before the start": (
        r"is in \[-1, 3\]",
        (loop(kernel.Store("out", (J - 1,), kernel.Literal(0.0, F64))),),
    ),
    "a place in a scaled loop": (r"is in \[0, 8\]", (loop(kernel.Let("a", load(index=(2 * J,)))),)),
    "an index of nobody": ("holds j, which nobody knows", (kernel.Let("a", load()),)),
    "a range of nobody": ("holds m, which nobody knows", (loop(hi=integers.symbol("m")),)),
    "a range that ends before 0": (r"j runs from or to -1, which is in \[-1, -1\]", (loop(hi=-1),)),
    "a range in another one that may end before 0": (
        r"k runs from or to i - 2, which is in \[-2, 2\]",
        (loop(loop(hi=integers.symbol("i") - 2, index="k"), index="i"),),
    ),
    "an argument that is missing": (
        r"is applied to \['a'\]",
        (kernel.Let("c", kernel.Apply("{a} + {b}", (("a", load(index=(0,))),), F64)),),
    ),
    "an error without a text": (
        "error 2 has no text",
        (kernel.Check(kernel.Literal(True, FLAG), 2, kernel.Index(0)),),
    ),
    "room in no memory": ("was not allocated", (kernel.Grow("t", kernel.Index(3)),)),
    "a routine that gets nothing": (
        "gets z, which is not there",
        (kernel.Call("library.matmul", ("z",)),),
    ),
    "a view that is written to": (
        "the view t_flat is written to, in place of t",
        (kernel.Store("t_flat", (0,), kernel.Literal(1.0, F64)),),
    ),
    "a view of a view": (
        "a view of m",
        (M, kernel.Allocate("v", F64, (4,), "m"), kernel.Allocate("w", F64, (2, 2), "v")),
    ),
    "a view that is too small": ("shows other memory", (M, kernel.Allocate("v", F64, (3,), "m"))),
    "a view of nobody": ("shows m, which is not there", (kernel.Allocate("v", F64, (4,), "m"),)),
    "a view of other memory than its own": (
        "is made at another time",
        (kernel.Allocate("v", F64, (5,), "t"),),
    ),
    "memory that moves away from its view": (
        "moves away",
        (M, kernel.Allocate("v", F64, (4,), "m"), kernel.Grow("m", kernel.Index(9))),
    ),
    "memory of a name that stands": ("the name t stands twice", (kernel.Allocate("t", F64, (3,)),)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs(name: str) -> None:
    right = program(*RIGHT[name])
    assert verify.verify_program(right) is right
    assert text.program_text(right).startswith(
        "program f:\n    size n = y.shape[0]\n    in x: float64[5]\n"
    )


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs(name: str) -> None:
    message, body = WRONG[name]
    with pytest.raises(verify.ProgramError, match=message):
        verify.verify_program(program(*body))


READ = kernel.Let("a", load("t_flat", (0,)))


def strided() -> tuple[kernel.Buffer, kernel.Buffer]:
    return kernel.Buffer("z", F64, (2, 2), "in", "A"), kernel.Buffer("v", F64, (4,), "temp", of="z")


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("the name x stands twice", lambda p: replace(p, buffers=(*p.buffers, p.buffers[0]))),
        ("size n is not axis 1 of an input y", lambda p: replace(p, sizes=(("n", ("y", 1)),))),
        ("has the size n, which nobody knows", lambda p: replace(p, sizes=())),
        (
            "shows other memory",
            lambda p: replace(
                p, buffers=(*p.buffers, kernel.Buffer("v", F64, (4,), "temp", of="x"))
            ),
        ),
        (
            "is a view of t",
            lambda p: replace(
                p, buffers=(*p.buffers, kernel.Buffer("v", F64, (5, 1), "temp", of="t_flat"))
            ),
        ),
        ("shows other memory", lambda p: replace(p, buffers=(*p.buffers, *strided()))),
        (
            "is read at .0,., a known place of t",
            lambda p: replace(program(READ), made_by="resolve views"),
        ),
        (
            "a parallel phase is one loop",
            lambda p: replace(p, phases=(kernel.Phase("parallel", ()),)),
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_wrong_heads(message: str, change: Callable[[kernel.Program], kernel.Program]) -> None:
    with pytest.raises(verify.ProgramError, match=message):
        verify.verify_program(change(program()))


def test_all_passes_of_all_tests_are_verified() -> None:
    assert EVERY_PASS[0]
