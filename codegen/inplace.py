"""Results in the memory of inputs that the caller gives up.

An output may take the place of an input of the same dtype, shape and C layout where every element of the input has been read for the
last time when the output's element is written. That is seen where all loops that write the output read the input, if at all, in the
same pass and at the very index that this pass then writes, and nothing reads the input later. The output's name is replaced by the
input's, so that the compiler sees one array and keeps the order of its reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from . import kernel
from .kernel import Apply, Call, Check, Declare, If, Let, Load, Loop, Statement, Store, Update, While


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
    phases = tuple(replace(p, body=tuple(_renamed(s, names) for s in p.body)) for p in program.phases)
    return replace(program, phases=phases, buffers=tuple(b for b in program.buffers if b.name not in names)), taken


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
        inner = [t for part in _bodies(s) for t in part]
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


def _bodies(s: Statement) -> tuple[tuple[Statement, ...], ...]:
    match s:
        case Loop() | While():
            return (s.body,)
        case If():
            return (s.then, s.otherwise)
        case _:
            return ()


def _inside(body: Iterable[Statement]) -> list[Statement]:
    """All statements, those inside others included."""
    found: list[Statement] = []
    kernel.walk(tuple(body), found.append)
    return found


def _expressions(s: Statement) -> Iterator[Any]:
    match s:
        case Let(_, value, _) | Declare(_, value) | Update(_, value, _, _):
            yield value
        case Store(_, at, value, _):
            yield from (*at, value)
        case While(condition, _) | If(condition, _, _):
            yield condition
        case Check(condition, _, value):
            yield from (condition, value)
        case Call(_, arguments, _):
            yield from arguments


def _loads(body: Iterable[Statement], buffer: str) -> list[Load]:
    """The reads of a buffer element by element."""
    found: list[Load] = []

    def visit(e: Any) -> None:
        if isinstance(e, Load):
            if e.buffer == buffer:
                found.append(e)
            for i in e.index:
                visit(i)
        elif isinstance(e, Apply):
            for _, a in e.arguments:
                visit(a)

    for s in _inside(body):
        for e in _expressions(s):
            visit(e)
    return found


def _passed(body: Iterable[Statement], buffer: str) -> bool:
    """Whether a routine gets the whole buffer."""
    return any(isinstance(s, Call) and buffer in [a for a in s.arguments if isinstance(a, str)] for s in _inside(body))


def _renamed(s: Statement, names: dict[str, str]) -> Statement:
    """A statement with buffers under their new names."""

    def expression(e: Any) -> Any:
        match e:
            case Load(buffer, at, dtype):
                return Load(names.get(buffer, buffer), tuple(map(expression, at)), dtype)
            case Apply(code, arguments, dtype):
                return Apply(code, tuple((name, expression(a)) for name, a in arguments), dtype)
            case _:
                return e

    def inner(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(_renamed(t, names) for t in body)

    match s:
        case Let() | Declare() | Update():
            return replace(s, value=expression(s.value))
        case Store(buffer, at, value, _):
            return replace(s, buffer=names.get(buffer, buffer), index=tuple(map(expression, at)), value=expression(value))
        case Loop():
            return replace(s, body=inner(s.body))
        case While():
            return replace(s, condition=expression(s.condition), body=inner(s.body))
        case If():
            return replace(s, condition=expression(s.condition), then=inner(s.then), otherwise=inner(s.otherwise))
        case Check():
            return replace(s, condition=expression(s.condition), value=expression(s.value))
        case Call():
            return replace(s, arguments=tuple(map(expression, s.arguments)))
