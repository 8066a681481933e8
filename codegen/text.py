"""A program as text, for people and for files that are compared: every buffer, phase and statement,
one a line, of no target.

program f:  # after prune, tile
    size n = x.shape[0]
    in x: float64[n]
    out out_t1: float64[n]
    temp t0: float64[n] at 0
    arena 8 n bytes
serial:
    for i in 0 .. n:
        let t2: float64 = exp(x[i])  # exp, model.py:12
        t0[i] = t2
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from . import kernel
from .integers import Int

_PLACE = re.compile(r"\{(\w+)\}")
_CALL = re.compile(r"\w+\(.*\)")
_EXPRESSIONS = (kernel.Name, kernel.Literal, kernel.Load, kernel.Index, kernel.Apply)


def program_text(program: kernel.Program) -> str:
    """All of a program but the graph that it was made from."""
    lines = [
        f"program {program.name}:" + (f"  # after {program.made_by}" if program.made_by else "")
    ]
    lines += [f"    size {name} = {buffer}.shape[{axis}]" for name, (buffer, axis) in program.sizes]
    lines += [f"    {_buffer(b)}" for b in program.buffers]
    lines += [f"    error {k}: {text}" for k, text in enumerate(program.errors, 1)]
    lines += [f"    arena {program.arena} bytes"]
    for phase in program.phases:
        lines.append(f"{phase.kind}:" + (f"  # {phase.comment}" if phase.comment else ""))
        lines += [f"    each thread: {line}" for line in body_text(phase.local)]
        lines += [f"    {line}" for line in body_text(phase.body)]
    return "\n".join(lines)


def body_text(body: Iterable[kernel.Statement]) -> Iterator[str]:
    """The lines of statements."""
    for s in body:
        yield from _statement(s)


def _inside(body: Iterable[kernel.Statement]) -> Iterator[str]:
    for line in body_text(body):
        yield "    " + line


def _buffer(b: kernel.Buffer) -> str:
    where = f" of {b.of}" if b.of else f" at {b.offset}" if b.role == "temp" else ""
    layout = "" if b.layout == "C" else f" {b.layout}"
    return f"{b.role} {b.name}: {_array(b.dtype, b.shape)}{layout}{where}"


def _array(dtype: Any, shape: tuple[Int, ...]) -> str:
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


def _commented(line: str, comment: str) -> str:
    return f"{line}  # {comment}" if comment else line


def _statement(s: kernel.Statement) -> Iterator[str]:
    match s:
        case kernel.Let(name, value, comment):
            yield _commented(f"let {name}: {value.dtype.name} = {text_of(value)}", comment)
        case kernel.Declare(name, value):
            yield f"var {name}: {value.dtype.name} = {text_of(value)}"
        case kernel.Update(name, value, combine, exact):
            yield f"{name} {_sign(combine)} {text_of(value)}" + (
                " exactly" if exact and combine else ""
            )
        case kernel.Store(buffer, index, value, combine):
            yield f"{buffer}[{_indices(index)}] {_sign(combine)} {text_of(value)}"
        case kernel.Loop(index, lo, hi, body, sequential, own, apart):
            notes = [
                *(["apart"] if apart else ["in order"] if sequential else []),
                *([f"own {' '.join(sorted(own))}"] if own is not None else []),
            ]
            yield f"for {index} in {lo} .. {hi}{''.join(f', {n}' for n in notes)}:"
            yield from _inside(body)
        case kernel.While(condition, body, checked):
            yield f"while {text_of(condition)}{', nothing failed' if checked else ''}:"
            yield from _inside(body)
        case kernel.If(condition, then, otherwise):
            yield f"if {text_of(condition)}:"
            yield from _inside(then)
            if otherwise:
                yield "else:"
                yield from _inside(otherwise)
        case kernel.Allocate(name, dtype, shape, of):
            yield f"local {name}: {_array(dtype, shape)}" + (f" of {of}" if of else "")
        case kernel.Grow(name, length):
            yield f"grow {name} to {text_of(length)}"
        case kernel.Call(routine, _, comment, work):
            given = ", ".join(
                text_of(a) if isinstance(a, _EXPRESSIONS) else str(a) for a in s.given
            )
            yield _commented(
                f"call {routine}({given})" + (f" of work {work}" if work != 0 else ""), comment
            )
        case kernel.Check(condition, code, value):
            yield f"check {text_of(condition)}, else error {code} of {text_of(value)}"


def _sign(combine: kernel.Combine | None) -> str:
    return (
        {"add": "+=", "mul": "*=", "max": "max=", "min": "min=", "and": "&=", "or": "|="}[combine]
        if combine
        else "="
    )


def _indices(index: tuple[Any, ...]) -> str:
    return ", ".join(text_of(i) if isinstance(i, _EXPRESSIONS) else str(i) for i in index)


def text_of(e: kernel.Expression) -> str:
    """An expression; a cast is written where an inner result has another dtype than its
    arguments."""
    match e:
        case kernel.Name(name, _):
            return name
        case kernel.Literal(value, dtype):
            return (
                f"{dtype.name}({value})"
                if dtype.name not in ("float64", "bool", "int64")
                else repr(value)
            )
        case kernel.Load(buffer, index, _):
            return f"{buffer}[{_indices(index)}]"
        case kernel.Index(value, _):
            return f"<{value}>"
        case kernel.Apply(code, arguments, dtype):
            given = dict(arguments)
            name = dtype.name
            text = _PLACE.sub(lambda m: name if m[1] == "dtype" else _part(given[m[1]]), code)
            if code == "{x}" or any(
                isinstance(a, kernel.Apply) and a.dtype != dtype for a in given.values()
            ):
                return f"{dtype.name}({text})"
            return text
    raise AssertionError(f"not an expression: {e!r}")


def _part(e: kernel.Expression) -> str:
    text = text_of(e)
    return f"({text})" if isinstance(e, kernel.Apply) and not _CALL.fullmatch(text) else text
