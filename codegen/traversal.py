"""Walking over the statements of a program: what each reads, and rebuilding them with other
accesses to memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import is_
from typing import Any, TypeAlias, TypeVar, cast

from .integers import Integer, substitute, symbol, symbols
from .kernel import (
    Allocate,
    Apply,
    Call,
    Check,
    Declare,
    Expression,
    Grow,
    If,
    Let,
    Load,
    Loop,
    Name,
    Phase,
    Statement,
    Store,
    Update,
    While,
    walk,
)
from .kernel import Index as IndexValue

T = TypeVar("T")
Index: TypeAlias = tuple[Any, ...]
Access: TypeAlias = tuple[str, Index]
READ, LOADS, MENTIONED = "_read", "_loads", "_mentioned"
"""Where a statement or phase, which never changes, keeps what was found of it."""


# What follows is asked of every statement several times, so it compares classes and matches no
# patterns.


def bodies(s: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The statements inside a statement: one group, or two for branches."""
    if isinstance(s, (Loop, While)):
        return (s.body,)
    return (s.then, s.otherwise) if isinstance(s, If) else ()


def within(body: Iterable[Statement]) -> Iterator[Statement]:
    """All statements, those inside others behind them."""
    for s in body:
        yield s
        for part in bodies(s):
            yield from within(part)


def mentions(e: Any, names: set[str], buffers: set[str]) -> None:
    """Add the names and buffers that an expression or integer reads."""
    # The commonest first, and no patterns: this sees every expression of a program several times.
    if isinstance(e, Name):
        names.add(e.name)
    elif isinstance(e, Apply):
        for _, a in e.arguments:
            if isinstance(a, Name):
                names.add(a.name)
            else:
                mentions(a, names, buffers)
    elif isinstance(e, Load):
        buffers.add(e.buffer)
        for i in e.index:
            mentions(i, names, buffers)
    elif isinstance(e, IndexValue):
        names |= symbols(e.value)
    elif isinstance(e, str):
        buffers.add(e)
    elif isinstance(e, Integer):
        names |= symbols(e)


def names_in(e: Any) -> set[str]:
    """The local names and symbols that an expression or integer reads."""
    names: set[str] = set()
    mentions(e, names, set())
    return names


def add_read(s: Statement, names: set[str], buffers: set[str]) -> None:
    """Add the names and buffers that a statement itself reads, found once for each statement."""
    found = s.__dict__.get(READ)
    if found is None:
        mine: tuple[set[str], set[str]] = (set(), set())
        for e in expressions(s):
            mentions(e, *mine)
        found = s.__dict__[READ] = mine
    names |= found[0]
    buffers |= found[1]


def read_by(body: Iterable[Statement]) -> tuple[set[str], set[str]]:
    """The local names and the buffers that statements read."""
    names: set[str] = set()
    buffers: set[str] = set()
    walk(tuple(body), lambda s: add_read(s, names, buffers))
    return names, buffers


def mentioned(body: Iterable[Statement]) -> set[str]:
    """All buffers that statements read or write."""
    body = tuple(body)
    _, found = read_by(body)
    walk(body, lambda s: found.add(s.buffer) if isinstance(s, Store) else None)
    return found


def mentioned_in(phase: Phase) -> frozenset[str]:
    """All buffers that a phase reads or writes, found once for each phase."""
    found: frozenset[str] | None = phase.__dict__.get(MENTIONED)
    if found is None:
        found = frozenset(mentioned((*phase.local, *phase.body)))
        phase.__dict__[MENTIONED] = found
    return found


def with_bodies(
    s: Statement, change: Callable[[tuple[Statement, ...]], tuple[Statement, ...]]
) -> Statement:
    """The statement with other statements inside it."""
    if isinstance(s, (Loop, While)):
        return with_parts(s, body=change(s.body))
    if isinstance(s, If):
        return with_parts(s, then=change(s.then), otherwise=change(s.otherwise))
    return s


def apart(at: Index, other: Index) -> bool:
    """Whether two places of a buffer are certainly two."""
    return any(
        isinstance(i, int) and isinstance(j, int) and i != j for i, j in zip(at, other, strict=True)
    )


def expressions(s: Statement) -> list[Any]:
    """What a statement itself reads (not the statements inside it)."""
    if isinstance(s, (Let, Declare, Update)):
        return [s.value]
    if isinstance(s, Store):
        return [*s.index, s.value]
    if isinstance(s, Loop):
        return [s.lo, s.hi]
    if isinstance(s, (While, If)):
        return [s.condition]
    if isinstance(s, Allocate):
        return [*s.shape, s.of] if s.of else list(s.shape)
    if isinstance(s, Grow):
        return [s.length]
    return list(s.given) if isinstance(s, Call) else [s.condition, s.value]


def loads(s: Statement) -> tuple[Load, ...]:
    """The elements that a statement itself reads, those that tell where others are included; found
    once for each statement."""
    found: tuple[Load, ...] | None = s.__dict__.get(LOADS)
    if found is None:
        found = s.__dict__[LOADS] = tuple(_loads(s))
    return found


def _loads(s: Statement) -> Iterator[Load]:
    pending = expressions(s)[::-1]
    while pending:
        e = pending.pop()
        if isinstance(e, Load):
            yield e
            pending += e.index[::-1]
        elif isinstance(e, Apply):
            pending += [a for _, a in reversed(e.arguments)]


def written(x: Expression) -> Any:
    """What makes expressions equal; the text of a number tells -0.0 from 0.0."""
    if isinstance(x, Name):
        return x.name
    if isinstance(x, Apply):
        return (x.code, x.dtype.char, *[(name, written(a)) for name, a in x.arguments])
    return repr(x)


def each(parts: tuple[Any, ...], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """What comes of each part; the same tuple where all of them stay."""
    found = tuple([change(p) for p in parts])
    return parts if all(map(is_, found, parts)) else found


def with_parts(s: T, **parts: Any) -> T:
    """A statement or phase with other parts; the same one where all of them stay, so that what was
    found of it need not be found again."""
    if all(_stays(getattr(s, name), new) for name, new in parts.items()):
        return s
    changed: Any = replace(s, **parts)  # type: ignore[type-var]
    return cast(T, changed)


def _stays(old: Any, new: Any) -> bool:
    return new is old or (
        isinstance(new, tuple) and len(new) == len(old) and all(map(is_, new, old))
    )


def changed(e: Any, change: Callable[[Any], Any]) -> Any:
    """An expression or integer with others in it; `change` gets what is new inside already, and
    what stays the same is not made anew."""
    if isinstance(e, Load):
        at = each(e.index, lambda i: changed(i, change))
        e = e if at is e.index else Load(e.buffer, at, e.dtype)
    elif isinstance(e, Apply):
        given = [changed(a, change) for _, a in e.arguments]
        if any(new is not old for new, (_, old) in zip(given, e.arguments, strict=True)):
            names = [name for name, _ in e.arguments]
            e = Apply(e.code, tuple(zip(names, given, strict=True)), e.dtype)
    elif isinstance(e, IndexValue):
        value = changed(e.value, change)
        e = e if value is e.value else IndexValue(value, e.dtype)
    return change(e)


def mapped(
    body: Iterable[Statement],
    change: Callable[[Any], Any],
    settle: Callable[[Statement], Statement] = lambda s: s,
) -> tuple[Statement, ...]:
    """The statements with other expressions and integers, and then with other statements; both
    functions get what is new inside already."""

    def expression(e: Any) -> Any:
        return changed(e, change)

    def statement(s: Statement) -> Statement:
        match s:
            case Let() | Declare() | Update():
                s = with_parts(s, value=expression(s.value))
            case Store():
                s = with_parts(s, index=each(s.index, expression), value=expression(s.value))
            case Loop():
                s = with_parts(
                    s, lo=expression(s.lo), hi=expression(s.hi), body=each(s.body, statement)
                )
            case While():
                s = with_parts(s, condition=expression(s.condition), body=each(s.body, statement))
            case If():
                then, otherwise = (each(part, statement) for part in bodies(s))
                s = with_parts(s, condition=expression(s.condition), then=then, otherwise=otherwise)
            case Check():
                s = with_parts(s, condition=expression(s.condition), value=expression(s.value))
            case Grow():
                s = with_parts(s, length=expression(s.length))
            case Allocate():
                s = with_parts(s, shape=each(s.shape, expression))
            case Call():
                s = with_parts(
                    s, arguments=each(s.arguments, expression), share=each(s.share, expression)
                )
        return settle(s)

    return tuple(map(statement, body))


def rewritten(
    body: Iterable[Statement], load: Callable[[Load], Any], store: Callable[[Store], Statement]
) -> tuple[Statement, ...]:
    """The statements with other loads and stores; both functions get what has new expressions
    inside already."""
    return mapped(
        body,
        lambda e: load(e) if isinstance(e, Load) else e,
        lambda s: store(s) if isinstance(s, Store) else s,
    )


def moved(
    body: tuple[Statement, ...], move: Callable[[str, Index], Access]
) -> tuple[Statement, ...]:
    """The statements with each element that they read or write at `move(buffer, index)`; buffers
    given to routines stay."""

    def load(e: Load) -> Load:
        buffer, at = move(e.buffer, e.index)
        return e if buffer == e.buffer and _stays(e.index, at) else Load(buffer, at, e.dtype)

    def store(s: Store) -> Store:
        buffer, at = move(s.buffer, s.index)
        return (
            s if buffer == s.buffer and _stays(s.index, at) else replace(s, buffer=buffer, index=at)
        )

    return rewritten(body, load, store)


def renamed(body: Iterable[Statement], old: str, new: str) -> tuple[Statement, ...]:
    """The statements with the index or local `new` in place of `old`, also where they make it."""
    place = {old: symbol(new)}

    def change(e: Any) -> Any:
        match e:
            case Integer():
                return substitute(e, place)
            case Name(name, dtype) if name == old:
                return Name(new, dtype)
        return e

    def settle(s: Statement) -> Statement:
        match s:
            case Let(name) | Declare(name) | Update(name) if name == old:
                return replace(s, name=new)
            case Loop(index) if index == old:
                return replace(s, index=new)
        return s

    return mapped(body, change, settle)
