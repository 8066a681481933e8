"""Results in the memory of inputs that the caller gives up.

An output may take the place of an input of the same dtype, shape and C layout where every element of the input has been read for the
last time when the output's element is written. That is seen where all loops that write the output read the input, if at all, in the
same pass and at the very index that this pass then writes, and nothing reads the input later. The output's name is replaced by the
input's, so that the compiler sees one array and keeps the order of its reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from . import kernel
from .kernel import Call, Load, Loop, Statement, Store
from .traversal import bodies, loads, moved


def reuse(program: kernel.Program, given_up: Sequence[int]) -> tuple[kernel.Program, dict[int, int]]:
    """The program with outputs put into the inputs whose numbers are `given_up`, and {output: input}; each input serves once."""
    inputs = [b for b in program.buffers if b.role == "in"]
    outputs = [b for b in program.buffers if b.role == "out"]
    steps = [s for phase in program.phases for s in phase.body]
    shows: dict[str, list[str]] = {}
    for b in program.buffers:
        shows.setdefault(b.of, []).append(b.name)
    taken: dict[int, int] = {}
    for k, out in enumerate(outputs):
        for j in given_up:
            old = inputs[j]
            same = old.dtype == out.dtype and old.shape == out.shape and old.layout == "C" and old.shape != ()
            if (
                same
                and j not in taken.values()
                and out.name not in shows
                and _last_read(steps, old.name, out.name, shows.get(old.name, []))
            ):
                taken[k] = j
                break
    if not taken:
        return program, {}
    names = {outputs[k].name: inputs[j].name for k, j in taken.items()}
    phases = tuple(replace(p, body=moved(p.body, lambda buffer, at: (names.get(buffer, buffer), at))) for p in program.phases)
    kept = tuple(b for b in program.buffers if b.name not in names)
    return replace(program, phases=phases, buffers=kept, made_by=f"{program.made_by}, results in inputs"), taken


def _last_read(steps: Sequence[Statement], old: str, out: str, views: Sequence[str]) -> bool:
    """Whether `out` can be written where `old` lies, which `views` show in other shapes."""
    writing = [k for k, s in enumerate(steps) if any(isinstance(t, Store) and t.buffer == out for t in _inside([s]))]
    if not writing or _passed(steps, out):
        return False
    after = steps[writing[0] :]
    if _passed(after, old) or any(_loads(after, view) or _passed(after, view) for view in views):
        return False
    return all(_by_element([s], old, out) for s in after)


def _by_element(body: Sequence[Statement], old: str, out: str) -> bool:
    """Whether each pass over these statements reads `old` only where it writes `out` at the same index afterwards."""
    stores: dict[Any, int] = {}
    for k, s in enumerate(body):
        if isinstance(s, Store) and s.buffer == out:
            # The first, where an element is written several times.
            stores.setdefault(s.index, k)
    for k, s in enumerate(body):
        inner = [t for part in bodies(s) for t in part]
        writes_inside = any(isinstance(t, Store) and t.buffer == out for t in _inside(inner))
        if writes_inside and not stores:
            # What repeats may write an element again: only loops over elements are followed.
            if not isinstance(s, Loop) or s.sequential or not _by_element(s.body, old, out):
                return False
        elif (
            writes_inside
            or (isinstance(s, Store) and s.buffer == out and s.combine is not None)
            or any(load.index not in stores or stores[load.index] < k for load in _loads([s], old))
        ):
            return False
    return True


def _inside(body: Iterable[Statement]) -> list[Statement]:
    """All statements, those inside others included."""
    found: list[Statement] = []
    kernel.walk(tuple(body), found.append)
    return found


def _loads(body: Iterable[Statement], buffer: str) -> list[Load]:
    """The reads of a buffer element by element."""
    return [load for s in _inside(body) for load in loads(s) if load.buffer == buffer]


def _passed(body: Iterable[Statement], buffer: str) -> bool:
    """Whether a routine gets the whole buffer."""
    return any(isinstance(s, Call) and buffer in [a for a in s.arguments if isinstance(a, str)] for s in _inside(body))
