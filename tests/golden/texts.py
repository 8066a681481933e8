"""The texts of a function's way: its graph as traced, the graph and the program after their passes,
and the generated source."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tracegrad.codegen.printer import print_program
from tracegrad.codegen.text import program_text

import tracegrad as tg
from tracegrad._codegen import inplace
from tracegrad.schedule import schedule
from tracegrad.sizes import SIZES

from .functions import Golden

_LINE = re.compile(r"\w+\.py:\d+(?:, |; )?")


def texts_of(golden: Golden) -> str:
    """One text of all stages, without the lines of the functions' file."""
    jitted = tg.jit(golden.function)
    for args in golden.again:
        jitted.graphs(*args)
    traced, optimized = jitted.graphs(*golden.args)
    with SIZES.opened(optimized.sizes):
        program = inplace.reuse(schedule(optimized, layouts_of(golden.args, traced)), ())[0]
        source = print_program(replace(program, doc="")).source
    parts = {
        "traced graph": str(traced),
        "graph after the passes": str(optimized),
        "program": program_text(program),
        "source": source,
    }
    return "\n\n".join(f"## {name}\n\n{without_lines(text)}" for name, text in parts.items()) + "\n"


def layouts_of(args: tuple[Any, ...], graph: Any) -> tuple[str, ...]:
    given = [
        "F" if getattr(a, "flags", None) is not None and not a.flags.c_contiguous else "C"
        for a in args
    ]
    return (*given, *["C"] * (len(graph.inputs) - len(given)))


def without_lines(text: str) -> str:
    return "\n".join(
        line if line == (bare := _LINE.sub("", line)) else bare.rstrip(" ,#")
        for line in text.splitlines()
    )
