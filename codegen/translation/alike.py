"""Phases of a kernel that say the same of other temporaries, which compile as one function.

A loop that was unrolled in Python has the same loops again and again, each over arrays of its own.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import linecache
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from types import FunctionType

FEWEST = 100
"""So many lines have to be saved: a function of its own has its views of all arrays, too."""
PHASE, ARENA = "alike_phase", "alike_arena"
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_COMMENT = re.compile(r"\s*#.*")


@dataclass
class Alike:
    """Phases that are alike."""

    statement: ast.If
    """The first of them, with names for its number and for where the temporaries lie that differ:
    `alike_phase`, and an array for each, `alike_arena0`."""
    views: list[ast.Assign]
    """The temporaries of the first that differ."""
    instead: list[ast.Assign]
    """Of what they take the place."""
    given: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """The number of each phase, and where these lie in it, in bytes."""


def alike(
    function: FunctionType, before: Sequence[ast.stmt], phases: Sequence[ast.stmt]
) -> list[Alike]:
    """The phases of a kernel that are alike; `before` are the statements in front of all."""
    found = linecache.cache.get(function.__code__.co_filename)
    if found is None or len(found) < 3:
        return []
    lines: list[str] = found[2]
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    # All other names are locals, or temporaries.
    known = {*arguments, *function.__globals__, *keyword.kwlist, *dir(builtins)}
    places = {}
    for a in before:
        if isinstance(a, ast.Assign) and isinstance(a.targets[0], ast.Name):
            known.add(a.targets[0].id)
            if _is_place(a):
                places[a.targets[0].id] = a
    known -= places.keys()
    classes: dict[tuple[str, ...], list[tuple[ast.If, list[str]]]] = {}
    for s in phases:
        assert isinstance(s, ast.If)
        text, names = _plain(lines[s.lineno : s.end_lineno], known)
        used = [name for name in names if name in places]
        kinds = [ast.dump(ast.Tuple(_arguments(places[name])[2:])) for name in used]
        if len({_offset(places[name]) for name in used}) == len(used):
            classes.setdefault((text, *kinds), []).append((s, used))
    made = []
    for same in classes.values():
        first, used = same[0]
        if (len(same) - 1) * ((first.end_lineno or 0) - first.lineno) >= FEWEST:
            made.append(_together(same, places))
    return made


def _plain(lines: Sequence[str], known: Collection[str]) -> tuple[str, list[str]]:
    """The lines without comments, with numbers in place of names that are not known, and these in
    the order of their numbers."""
    names: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        name = found.group()
        return name if name in known else names.setdefault(name, f"_{len(names)}")

    text = "\n".join([_COMMENT.sub("", line) for line in lines])
    return _NAME.sub(numbered, text), list(names)


def _arguments(s: ast.Assign) -> list[ast.expr]:
    assert isinstance(s.value, ast.Call)
    return s.value.args


def _offset(s: ast.Assign) -> int:
    offset = _arguments(s)[1]
    offset = offset.args[0] if isinstance(offset, ast.Call) else offset
    assert isinstance(offset, ast.Constant)
    return int(offset.value)  # type: ignore[arg-type]


def _is_place(s: ast.stmt) -> bool:
    """`t = view(arena, 512, (20, 3), np.float64)`, as the printer writes it."""
    match s:
        case ast.Assign(
            [ast.Name()],
            ast.Call(
                ast.Name("view"),
                [
                    ast.Name("arena"),
                    ast.Constant(int()) | ast.Call(ast.Name("index"), [ast.Constant(int())]),
                    *_,
                ],
            ),
        ):
            return True
    return False


def is_phase(s: ast.stmt) -> bool:
    """`if phase < 0 or phase == 3:`, as the printer writes it."""
    match s:
        case ast.If(
            ast.BoolOp(ast.Or(), [ast.Compare(ast.Name("phase")), ast.Compare(ast.Name("phase"))]),
            _,
            [],
        ):
            return True
    return False


def number_of(s: ast.stmt) -> int:
    """The number in `if phase < 0 or phase == 3:`."""
    match s:
        case ast.If(ast.BoolOp(ast.Or(), [_, ast.Compare(_, _, [ast.Constant(int(number))])])):
            return number
    raise AssertionError("a phase without a number")


def _together(same: Sequence[tuple[ast.If, list[str]]], places: dict[str, ast.Assign]) -> Alike:
    first, used = same[0]
    offsets = [[_offset(places[name]) for name in names] for _, names in same]
    differing = [k for k in range(len(used)) if len({row[k] for row in offsets}) > 1]
    views = [
        ast.Assign(
            places[used[k]].targets,
            ast.Call(
                ast.Name("view"),
                [ast.Name(f"{ARENA}{n}"), ast.Constant(0), *_arguments(places[used[k]])[2:]],
                [],
            ),
        )
        for n, k in enumerate(differing)
    ]
    assert isinstance(first.test, ast.BoolOp)
    asked = ast.Compare(ast.Name("phase"), [ast.Eq()], [ast.Name(PHASE)])
    statement = ast.If(ast.BoolOp(ast.Or(), [first.test.values[0], asked]), first.body, [])
    given = {
        number_of(s): tuple([row[k] for k in differing])
        for (s, _), row in zip(same, offsets, strict=True)
    }
    return Alike(statement, views, [places[used[k]] for k in differing], given)


__all__ = ["ARENA", "PHASE", "Alike", "alike", "is_phase", "number_of"]
