"""Tracing one signature of a jitted function: the entry that is kept of it."""

from __future__ import annotations

import dataclasses
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from .._codegen import options
from ..checks.exactly import exactly
from ..devices import Device
from ..errors import EscapedValueError
from ..ir.lines import user_line
from ..ir.recording import span
from ..sizes import Sizes
from ..staging.said import codes_of_staged, places_of_staged
from ..staging.session import staged
from ..staging.stager import STAGER
from ..surroundings.captures import STATEFUL, Surroundings
from ..surroundings.growth import Outgrown, bound_of, grown
from ..surroundings.outside import check_drawn, states, watching
from ..surroundings.places import SAME, UNREADABLE, Fact, unchanged
from ..surroundings.state import Watch
from ..surroundings.stored import Number
from ..tape.mode import MODE
from ..transforms.tracing import Standing, Traced, standing_of, trace_function
from ..types import ArrayType
from .effects import undisturbed
from .entry import Entry
from .kept import RETRACED
from .operands import asks, same_operations
from .relied import Relied, name_captures


def make_entry(
    function: Callable[..., Any],
    names: Sequence[str],
    spec: Any,
    types: Sequence[ArrayType],
    faces: Any,
    static: Sequence[FixedArgument],
    sizes: Sizes | None,
    standing: Sequence[Standing],
    device: Device | None = None,
    stage: bool | str = "auto",
    code: options.CodeOptions = options.PLAIN,
) -> Entry:
    """Trace `function` for arguments of these types, and find what it reads and changes around
    it."""

    def look() -> Surroundings:
        return Surroundings(function, static)

    around = look()
    attempts = Attempts(function, names, spec, types, faces, static, sizes, standing, device, stage)
    watch = Watch(attempts.name, function, static)
    drawn = states(watch.reach)
    traced = attempts.last(watch)
    stateful = bool(watch.slots)
    check_drawn(attempts.name, watch, drawn)
    if not around.not_loaded.isdisjoint(sys.modules):
        # A module was loaded by the function while it was traced.
        around = look()
    relied = Relied(attempts.name, traced, around, watch, look)

    def decides(numbers: Sequence[int]) -> bool:
        arrays = [traced.captures[k] for k in numbers]
        shown = Watch(attempts.name, function, static)
        if stateful or not shown.showing(arrays, look().facts):
            return True
        try:
            other = attempts.staged(shown)
        except Exception:
            return True  # which asks for elements
        return bool(shown.wanted or other.deciding) or not same_operations(traced, other)

    name_captures(traced, relied.places)
    facts, beside = relied.facts(attempts.asked)
    contents = relied.contents()
    large = sorted(relied.known.keys() - contents.keys())
    if large and asks(traced.graph, watch.reach, facts) and decides(large):
        contents |= relied.contents_of(large)
    # A number that stands in the trace around this one is captured as it is.
    own = {
        k: x for k, x in enumerate(traced.captures) if type(x) is Number and id(x) in watch.places
    }
    traced.captures[:] = [x.old if k in own else x for k, x in enumerate(traced.captures)]
    return Entry(
        traced,
        traced.graph if code == options.PLAIN else traced.graph.replace(options=code),
        relied.places,
        facts,
        tuple(t.shape for t in types),
        lambda: make_entry(
            function, names, spec, types, faces, static, sizes, standing, device, stage, code
        ),
        contents,
        relied.constants_show_known(),
        deciding=relied.deciding,
        mode=MODE.enabled,
        standing=tuple(standing_of(x) for x in traced.captures),
        changes=relied.changes,
        stored=tuple([s.let_go() for s in relied.stored]),
        decides=decides,
        holder=watch.holder,
        bounds={k: bound_of(x.old) for k, x in own.items() if type(x.old) is int},
        staged=attempts.rewritten,
        loops=attempts.loops,
        beside=beside,
    )


class Attempts:
    """The traces of one signature, the last of which is kept. It holds nothing that was found
    around the function, since entries hold it."""

    def __init__(
        self,
        function: Callable[..., Any],
        names: Sequence[str],
        spec: Any,
        types: Sequence[ArrayType],
        faces: Any,
        static: Sequence[FixedArgument],
        sizes: Sizes | None,
        standing: Sequence[Standing],
        device: Device | None,
        stage: bool | str,
    ) -> None:
        self.function, self.static, self.stage = function, static, stage
        self.name = getattr(function, "__name__", type(function).__name__)
        self.asked: list[Fact] = []
        """What was asked of Python's state while tracing."""
        self.rewritten: tuple[str, ...] = ()
        self.loops: tuple[CodeType, ...] = ()
        """The functions that were rewritten, with their places."""
        self.sizes = sizes
        self._given: dict[str, Any] = {
            "spec": spec,
            "types": types,
            "faces": faces,
            "names": names,
            "name": self.name,
            "standing": standing,
            "changing": True,
            "device": device,
            "stager": None if stage is False else STAGER,
        }

    def staged(self, watch: Watch) -> Traced:
        """The function traced while `watch` looks on, its loops and branches rewritten where that
        is what it takes."""
        return staged(lambda f: self._one(f, watch), self.function, self.stage)

    def _one(self, f: Callable[..., Any], watch: Watch) -> Traced:
        # What an attempt that was given up relied on is no fact of the one that is kept.
        own = None if self.sizes is None else Sizes(self.sizes.hints, self.sizes.guards)
        called = _with_static(f, self.static) if self.static else f
        with span(f"{self.name}: trace"), watching(self.name, watch.reach, self.asked):
            found = trace_function(called, sizes=own, watch=watch, **self._given)
        self.rewritten, self.loops = places_of_staged(), codes_of_staged()
        return found

    def _explained(self, watch: Watch) -> Traced:
        try:
            return self.staged(watch)
        except ValueError as error:
            if (better := watch.locked(error)) is not None:
                raise better from error
            raise

    def last(self, watch: Watch) -> Traced:
        """The trace that is kept: with traced values in the places of what the function changes,
        for which it is traced again. A TracegradError where it needs values of now."""
        traced = self._explained(watch)
        if not watch.wanted:
            return traced
        undisturbed()
        while watch.wanted:
            before = list(watch.slots)
            watch.again()
            slots = list(watch.slots)
            try:
                traced = self._explained(watch)
            except EscapedValueError:
                raise
            except Exception as error:
                for slot in slots[len(before) :]:
                    watch.slots = [slot]
                    try:
                        self._explained(watch)
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


class FixedArgument(NamedTuple):
    """A static argument: its position or name, what tells it from others, and itself."""

    place: Any
    form: Any
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FixedArgument) and self[:2] == other[:2]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:2])


def split_static(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    positional: Sequence[str],
    who: str,
) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The arguments without the static ones; these."""
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
        static.append(FixedArgument(place, exactly(value), value))
    kept = tuple([a for k, a in enumerate(args) if k not in places])
    return kept, {k: a for k, a in kwargs.items() if k not in places}, tuple(static)


def _with_static(
    function: Callable[..., Any], static: Sequence[FixedArgument]
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


__all__ = ["make_entry", "split_static", "warn_of_changes", "what_differs"]
