"""Tracing one signature of a jitted function: the entry that is kept of it."""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import options
from ..devices import Device
from ..errors import EscapedValueError
from ..ir.graph import Literal
from ..ir.lines import user_line
from ..ir.recording import span
from ..ops.sparse.pattern import is_fixed
from ..sizes import Sizes
from ..staging.session import places_of_staged, staged
from ..staging.stager import STAGER
from ..surroundings.captures import STATEFUL, Surroundings
from ..surroundings.growth import Outgrown, bound_of, grown
from ..surroundings.outside import check_drawn, states, watching
from ..surroundings.places import (
    SAME,
    UNREADABLE,
    Content,
    Fact,
    Place,
    content,
    root,
    unchanged,
)
from ..surroundings.state import Watch
from ..surroundings.stored import Number
from ..tape.mode import MODE
from ..tensor import Boxed
from ..transforms.tracing import Standing, Traced, standing_of, trace_function
from ..types import ArrayType
from .effects import check_found, undisturbed
from .entry import Entry
from .kept import RETRACED
from .operands import asks, asks_identity, same_operations
from .sharing import beside_written, one_object

SMALL = 8192
"""Up to so many bytes every captured array is compared at each call (0.3 us), until a change shows
that the graph does not depend on it."""


def make_entry(
    function: Callable[..., Any],
    names: Sequence[str],
    spec: Any,
    types: Sequence[ArrayType],
    faces: Any,
    static: Sequence[tuple[Any, type, Any]],
    sizes: Sizes | None,
    standing: Sequence[Standing],
    device: Device | None = None,
    stage: bool | str = "auto",
    code: options.CodeOptions = options.PLAIN,
) -> Entry:
    """Trace `function` for arguments of these types, and find what it reads and changes around
    it."""
    around = Surroundings(function, static)
    name = getattr(function, "__name__", type(function).__name__)
    watch = Watch(name, function, static)
    drawn = states(watch.reach)
    asked: list[Fact] = []
    rewritten: tuple[str, ...] = ()

    def attempt(f: Callable[..., Any], watch: Watch) -> Traced:
        # What an attempt that was given up relied on is no fact of the one that is kept.
        nonlocal rewritten
        own = None if sizes is None else Sizes(sizes.hints, sizes.guards)
        with span(f"{name}: trace"), watching(name, watch.reach, asked):
            found = trace_function(
                _with_static(f, static) if static else f,
                spec,
                types,
                faces,
                names,
                name,
                own,
                None,
                standing,
                True,
                device,
                watch,
                stager=None if stage is False else STAGER,
            )
        rewritten = places_of_staged()
        return found

    def trace() -> Traced:
        try:
            return staged(lambda f: attempt(f, watch), function, stage)
        except ValueError as error:
            if (better := watch.locked(error)) is not None:
                raise better from error
            raise

    def decides(numbers: Sequence[int]) -> bool:
        arrays = [traced.captures[k] for k in numbers]
        shown = Watch(name, function, static)
        if stateful or not shown.showing(arrays, Surroundings(function, static).facts):
            return True
        try:
            other = staged(lambda f: attempt(f, shown), function, stage)
        except Exception:
            return True  # which asks for elements
        return bool(shown.wanted or other.deciding) or not same_operations(traced, other)

    traced = trace()
    if watch.wanted:
        undisturbed()
        traced = _with_state(watch, trace)
    stateful = bool(watch.slots)
    check_drawn(name, watch, drawn)
    if not around.not_loaded.isdisjoint(sys.modules):
        # A module was loaded by the function while it was traced.
        around = Surroundings(function, static)
    arrays = {**around.arrays, **watch.places}
    if any(not isinstance(c.target, int) and id(c.target) not in arrays for c in traced.changes):
        # What the function made and kept while it was traced, as optimizers do with their state, is
        # found by a second look.
        arrays = {**Surroundings(function, static).arrays, **watch.places}
    places: list[Place | None] = []
    for k, x in enumerate(traced.captures):
        place = arrays.get(id(x))
        if place is None and (node := watch.reach.found.get(id(x))) is not None:
            place = node.place()
        places.append(place)
        var = traced.graph.inputs[len(types) + len(traced.grads) + k]
        path = place.path if place else ""
        var.name = var.name or path.replace(".", "_").replace("[", "_").replace("]", "").replace(
            "'", ""
        )
        if not var.name.isidentifier():
            var.name = ""
    changes = tuple(
        (c, None if isinstance(c.target, int) else arrays.get(id(c.target))) for c in traced.changes
    )
    check_found(name, changes)
    captured = {id(x): k for k, x in enumerate(traced.captures)}
    # A sweep reads a value that was left over without its history, in a box of its own, which is
    # nowhere found again: as constant as the value is the same.
    apart = {
        id(x._data)
        for x, place in zip(traced.captures, places, strict=True)
        if place is None and isinstance(x, Boxed)
    }
    changing = {id(c.target) for c in traced.changes}
    stored = tuple([s.found(arrays) for s in watch.stored])
    held = [x for s in stored for x in s.held() if x.place is not None and x.instead is None]
    outside = [(c, place) for c, place in changes if not isinstance(c.target, int)]
    kept = {id(x.one) for x in held}
    around_it = watch.unread(around.facts)
    # What the function itself changed while it was traced (a counter, a log) is its result, not
    # something it relied on.
    facts = [
        (p, Content(v) if id(v) in around.arrays else v)
        for p, v in around_it
        if id(v) not in kept
        and (id(v) not in captured or (isinstance(v, Boxed) and id(v._data) in apart))
        and id(v) not in changing
        and unchanged(p, v)
    ]
    if any(map(asks_identity, watch.reach.codes)):
        facts += [(p, v) for p, v in around_it if isinstance(v, Boxed) and unchanged(p, v)]
    facts += [*watch.facts, *asked]
    facts += [
        (place.then(".grad is None", "{it}._grad is None"), x._grad is None)
        for x, place in around.asked(traced.asked)
    ]
    facts += one_object(
        around.facts,
        traced.captures,
        places,
        [*[(x.one, x.place) for x in held], *[(c.target, place) for c, place in outside]],
    )
    beside, fixed = beside_written(name, changes, around_it, traced.captures, places)
    facts += fixed
    looked = {id(x): x for x in traced.deciding if isinstance(x, Boxed)}
    facts += [(arrays.get(id(x)) or root("", x), Content(x)) for x in looked.values()]
    known = {
        captured[id(v)]: v
        for _, v in around.facts
        if isinstance(v, np.ndarray) and id(v) in captured and id(v) not in watch.places
    }
    deciding = frozenset(
        [captured[id(x)] for x in traced.deciding if id(x) in captured and id(x) not in looked]
    )
    constants = [
        x
        for x, place in zip(traced.captures, places, strict=True)
        if place is None and not is_fixed(x)
    ]
    literal = any(
        isinstance(a, Literal) and isinstance(a.value, np.generic)
        for node in traced.graph.nodes
        for a in node.inputs
    )
    contents = {
        k: content(v) or b""
        for k, v in known.items()
        if constants or literal or v.dtype.kind in "biu" or v.nbytes <= SMALL or k in deciding
    }
    large = sorted(known.keys() - contents.keys())
    if large and asks(traced.graph, watch.reach, facts) and decides(large):
        contents |= {k: content(known[k]) or b"" for k in large}
    # A number that stands in the trace around this one is captured as it is.
    own = {
        k: x for k, x in enumerate(traced.captures) if type(x) is Number and id(x) in watch.places
    }
    bounds = {k: bound_of(x.old) for k, x in own.items() if type(x.old) is int}
    traced.captures[:] = [x.old if k in own else x for k, x in enumerate(traced.captures)]
    return Entry(
        traced,
        traced.graph if code == options.PLAIN else traced.graph.replace(options=code),
        places,
        facts,
        tuple(t.shape for t in types),
        lambda: make_entry(
            function, names, spec, types, faces, static, sizes, standing, device, stage, code
        ),
        contents,
        any(
            isinstance(x, np.ndarray) and np.may_share_memory(x, v)
            for x in constants
            for v in known.values()
        ),
        deciding=deciding,
        mode=MODE.enabled,
        standing=tuple(standing_of(x) for x in traced.captures),
        changes=changes,
        stored=tuple([s.let_go() for s in stored]),
        decides=decides,
        holder=watch.holder,
        bounds=bounds,
        staged=rewritten,
        beside=beside,
    )


def _with_state(watch: Watch, trace: Callable[[], Traced]) -> Traced:
    """The function traced again with traced values in the places of what it changes: a
    TracegradError where it needs values of now."""
    while watch.wanted:
        before = list(watch.slots)
        watch.again()
        slots = list(watch.slots)
        try:
            traced = trace()
        except EscapedValueError:
            raise
        except Exception as error:
            for slot in slots[len(before) :]:
                watch.slots = [slot]
                try:
                    trace()
                except Exception as cause:
                    raise watch.refusal(cause, [slot]) from cause
            raise watch.refusal(error, slots) from error
    return _without_unread(traced, watch)


def _without_unread(traced: Traced, watch: Watch) -> Traced:
    """The graph without inputs for what the function only writes, so that calls need not look at
    it; the numbers in place of what stood for them."""
    graph = traced.graph
    read = {a for node in graph.nodes for a in node.inputs} | set(graph.outputs)
    first = len(graph.inputs) - len(traced.captures)
    pairs = list(zip(graph.inputs[first:], traced.captures, strict=True))
    starts = {v: bound_of(x.old) for v, x in pairs if type(x) is Number and type(x.old) is int}
    try:
        grown(graph, starts)
    except Outgrown as error:
        raise watch.unbounded(str(error)) from None
    pairs = [(v, x) for v, x in pairs if v in read or id(x) not in watch.places]
    return dataclasses.replace(
        traced,
        graph=graph.replace(inputs=(*graph.inputs[:first], *[v for v, _ in pairs])),
        captures=[x for _, x in pairs],
    )


def what_differs(entry: Entry) -> str:
    """What around the function is not as it was when it was traced: the first such thing; nothing
    where all is."""
    found = next(((place, old) for place, old in entry.facts if not unchanged(place, old)), None)
    if found is None:
        return ""
    place, old = found
    if place.code.startswith(("{key} in", "hasattr")):
        return f"{place.path} is {'gone' if old else 'new'}"
    if place.code == SAME:
        return f"{place.path} no more"
    try:
        now = f"is {place()!r:.60}"
    except UNREADABLE:
        now = "is gone"
    shown = (
        place.code.replace("{it}", place.path)
        if place.code[:3] in ("len", "typ", "fro")
        else place.path
    )
    return f"{shown} was {old!r:.60} and {now}"


def warn_of_changes(function: Any, entry: Entry, count: int) -> None:
    """Say once of a signature that it is traced again and again, since what it reads differs at
    each call."""
    differs = what_differs(entry) if count == RETRACED else ""
    if not differs:
        return
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    defined = (
        "" if code is None else f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
    )
    warnings.warn(
        f"{user_line()}: jit: {getattr(function, '__name__', type(function).__name__)}{defined} "
        f"was traced anew {count} times for arguments of the same types, since what it finds "
        f"around it differs at each call: {differs}. A trace and its compilation take milliseconds "
        "to seconds. Keep what changes in a Tensor or an ndarray, pass it as an argument, "
        "or change it outside of the compiled function.",
        RuntimeWarning,
        stacklevel=2,
    )


def split_static(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    positional: Sequence[str],
    who: str,
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments without the static ones; these as (position or name, type, value)."""
    known = len(positional)
    places: list[Any] = [
        k
        for k, a in enumerate(args)
        if (k < known and positional[k] in names) or isinstance(a, STATEFUL)
    ]
    places += [name for name, a in kwargs.items() if name in names or isinstance(a, STATEFUL)]
    if not places:
        return args, kwargs, ()
    static = []
    for place in places:
        value = args[place] if isinstance(place, int) else kwargs[place]
        try:
            hash(value)
        except TypeError:
            name = positional[place] if isinstance(place, int) else place
            raise TypeError(
                f"jit: the static argument {name!r} of {who} is a {type(value).__name__}, "
                "which cannot be hashed. Static arguments are compared between calls, so they must "
                "not change: pass a tuple instead of a list, a frozen dataclass instead of a dict."
            ) from None
        static.append((place, type(value), value))
    kept = tuple([a for k, a in enumerate(args) if k not in places])
    return kept, {k: a for k, a in kwargs.items() if k not in places}, tuple(static)


def _with_static(
    function: Callable[..., Any], static: Sequence[tuple[Any, type, Any]]
) -> Callable[..., Any]:
    """`function` of the other arguments only."""
    names = {place: value for place, _, value in static if isinstance(place, str)}

    def called(*args: Any, **kwargs: Any) -> Any:
        full = list(args)
        for place, _, value in static:
            if isinstance(place, int):
                full.insert(place, value)
        return function(*full, **kwargs, **names)

    return called


__all__ = ["SMALL", "make_entry", "split_static", "warn_of_changes", "what_differs"]
