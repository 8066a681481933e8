"""What is kept of a jitted function: one entry per signature, replaced where its surroundings are
others."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .._codegen import integers
from ..devices import Device
from ..ir.dispatch import STATE
from ..sizes import Sizes
from ..surroundings.places import Content
from ..tensor import Boxed
from ..transforms.tracing import Standing
from ..types import ArrayType
from .entries import warn_of_changes, what_differs
from .entry import Entry
from .kept import MOST_ENTRIES, MOST_FORMER, MOST_GENERIC, MOST_REASONS, Kept
from .reasons import FIRST, nearest
from .reasons import LOG as RECOMPILES
from .symbolic_sizes import ReasonAndReach, fits, generalize

LOG = logging.getLogger("tracegrad")


class Signature(NamedTuple):
    """What of a call decides which code it runs."""

    spec: Any
    types: tuple[ArrayType, ...]
    faces: tuple[Any, ...]
    static: Any
    device: Device | None
    grad: bool
    """Whether gradients are recorded."""
    standing: tuple[Standing, ...]
    orders: tuple[Any, ...] = ()
    """How the keys of dicts follow each other."""

    def key(self, reads_grads: bool, swept: bool) -> Signature:
        """What entries are kept by: which arguments have a `.grad` tells only functions apart that
        look, and their hooks those in which a backward pass runs."""
        if (reads_grads or not any(s.grad for s in self.standing)) and (
            swept or not any(s.hooks for s in self.standing)
        ):
            return self
        standing = [
            s._replace(grad=s.grad and reads_grads, hooks=s.hooks if swept else ())
            for s in self.standing
        ]
        return self._replace(standing=tuple(standing))

    def by_rank(self) -> tuple[Any, ...]:
        """The same for all sizes."""
        return (self.spec, tuple([(t.dtype, t.ndim, t.weak) for t in self.types]), *self[2:])


class Signatures:
    """The entries of one jitted function.

    function    the user's, for warnings
    trace       makes the entry of a signature for these types, which may have symbolic sizes
    drop        forgets what was written for an entry that is no longer kept
    names       of the leaves of a signature
    """

    def __init__(
        self,
        function: Callable[..., Any],
        trace: Callable[[Signature, Sequence[ArrayType], Sizes | None], Entry],
        drop: Callable[[Entry], None],
        names: Callable[[Signature], Sequence[str]],
    ) -> None:
        self.function, self.trace, self.drop, self.names = function, trace, drop, names
        self.reasons: deque[str | ReasonAndReach] = deque(maxlen=MOST_REASONS)
        """Why the function was traced, latest last."""
        self.entries: dict[Any, Entry] = {}
        self.former: dict[Any, list[Entry]] = Kept()
        """Entries that other surroundings replaced, latest last."""
        self.symbolic: dict[Any, list[Entry]] = Kept()
        """By rank: entries for all sizes."""
        self.first: dict[Any, tuple[tuple[Any, ...], ...]] = Kept()
        """By rank: the shapes of the first call."""
        self.retraced: dict[Any, int] = Kept()
        """How often the surroundings of a signature were others."""
        self.concrete: dict[Any, str] = Kept()
        """By rank: why the function cannot be traced with symbolic sizes."""
        self.reads_grads = self.swept = False
        """Whether signatures differ by which arguments have a `.grad`, and by their hooks: only for
        functions that look."""

    def find(self, asked: Signature) -> Entry:
        """The entry of a signature, traced where there is none that holds."""
        key = asked.key(self.reads_grads, self.swept)
        entry = self.entries.get(key)
        if entry is not None and not entry.holds():
            entry = self._former_entry(key, entry)
        if entry is not None and entry.holds():
            return entry
        rank = key.by_rank()
        for candidate in self.symbolic.get(rank, ()):
            if fits(candidate, asked.types) and candidate.holds():
                return self._keep(asked, candidate)
        first = self.first.get(rank)
        if first is None or entry is not None:
            self.first.setdefault(rank, tuple(t.shape for t in asked.types))
            if entry is not None:
                self.retraced[key] = self.retraced.get(key, 0) + 1
                warn_of_changes(self.function, entry, self.retraced[key])
            why = self._why(key, entry)
            return self._keep(asked, self._because(why, self.trace(asked, asked.types, None)))
        (symbolic, sizes), generic = generalize(asked.types, first), None
        reason = self.concrete.get(rank)
        if symbolic != asked.types and reason is None:
            try:
                generic = self.trace(asked, symbolic, sizes)
            except Exception as error:
                # What NumPy or the function does with a size that is no plain int (np.arange of one
                # has dtype object); an error of the function itself comes again.
                reason = f"{type(error).__name__}: {error}"
        why = self._why(key, None)
        if generic is None:
            why = f"{why} (a version for each size)"
            entry = self._keep(asked, self._because(why, self.trace(asked, asked.types, None)))
            if reason is not None and rank not in self.concrete:
                self.concrete[rank] = reason
                name = getattr(self.function, "__name__", type(self.function).__name__)
                LOG.info("%s is compiled for each size by itself: %s", name, reason)
            return entry
        self._keep(asked, self._because(ReasonAndReach(why, generic.graph.sizes), generic))
        found = self.symbolic.setdefault(self._rank(asked), [])
        found.append(generic)
        if len(found) > MOST_GENERIC:
            self.drop(found.pop(0))
        return generic

    def add(self, asked: Signature, entry: Entry) -> None:
        """Take over an entry that another function of the same made for a signature."""
        self._keep(asked, entry)
        if entry.graph.sizes.hints:
            self.symbolic.setdefault(self._rank(asked), []).append(entry)

    def fit(self, asked: Signature) -> bool:
        """Whether there is code for all sizes that takes this."""
        return any(fits(e, asked.types) for e in self.symbolic.get(self._rank(asked), ()))

    def _rank(self, asked: Signature) -> Any:
        return asked.key(self.reads_grads, self.swept).by_rank()

    def inside(self, asked: Signature) -> Entry:
        """The entry for a call inside of a trace: for the very sizes that the values have there.
        What was traced with symbols of its own does not do, and what is traced for symbols of that
        trace does nowhere else."""
        outer = STATE.traces[-1] if STATE.traces else None
        symbolic = any(isinstance(s, integers.Integer) for t in asked.types for s in t.shape)
        known = self.entries
        if outer is not None and symbolic:
            known = next(t for t in STATE.traces if t.sizes is outer.sizes).entries.setdefault(
                self, {}
            )
        entry = known.get((asked.key(self.reads_grads, self.swept), "inside"))
        if entry is None or not entry.holds():
            why = "a call inside of a function that is traced"
            entry = self._because(why, self.trace(asked, asked.types, None))
            self._learn(entry)
            known[asked.key(self.reads_grads, self.swept), "inside"] = entry
            self._make_room()
        for _, x in entry.facts:
            if isinstance(x, Content) and isinstance(x.array, Boxed) and x.bytes is not None:
                x.array._decides()  # in the trace around this call as well
        return entry

    def renew(self, entry: Entry, changed: Sequence[int]) -> Entry:
        """What to call after captured arrays changed: the entry itself if its graph does not depend
        on them, else a new one."""
        fresh = entry.again()
        paths = [place.path for k in changed if (place := entry.places[k]) is not None]
        self._because(f"{', '.join(paths) or 'an array around it'} changed", fresh)
        self.drop(entry)
        if not entry.views and entry.same_graph(fresh):
            # Compared from now on with what they are now.
            entry.contents.update({k: fresh.contents[k] for k in changed if k in fresh.contents})
            entry.settle(changed)
            return entry
        for key in [k for k, e in list(self.entries.items()) if e is entry]:
            self.entries[key] = fresh
        for found in self.symbolic.values():
            found[:] = [fresh if e is entry else e for e in found]
        return fresh

    def forget(self, entry: Entry) -> None:
        """Keep this entry no longer."""
        for k in [k for k, e in list(self.entries.items()) if e is entry]:
            self.entries.pop(k, None)
        self.drop(entry)
        for found in (*self.symbolic.values(), *self.former.values()):
            found[:] = [e for e in found if e is not entry]

    def _because(self, reason: str | ReasonAndReach, entry: Entry) -> Entry:
        """Note why an entry was traced."""
        entry.reason = reason
        first = not self.reasons
        self.reasons.append(reason)
        if not first and RECOMPILES.isEnabledFor(logging.INFO):
            name = getattr(self.function, "__name__", type(self.function).__name__)
            RECOMPILES.info("%s is traced again: %s", name, reason)
        return entry

    def _why(self, key: Signature, outdated: Entry | None) -> str:
        """Why a call of this signature needs a trace; `outdated` is the entry that held for
        it."""
        if outdated is not None:
            return what_differs(outdated) or "what is around it changed"
        known = [k for k in self.entries if isinstance(k, Signature)]
        if not known:
            return FIRST if not self.reasons else "what was kept of it was dropped"
        return nearest(key, known, self.names(key))

    def _former_entry(self, key: Any, entry: Entry) -> Entry:
        """The entry of a signature whose surroundings are again what they were, in the place of
        that in use; that itself where there is none."""
        former = self.former.setdefault(key, [])
        found = next((e for e in former if e.holds()), None)
        if found is not None:
            with suppress(ValueError):  # another thread may not have waited for this one
                former.remove(found)
            self.entries[key] = found
        former.append(entry)
        while len(former) > MOST_FORMER:
            self.drop(former.pop(0))
        return found or entry

    def _keep(self, asked: Signature, entry: Entry) -> Entry:
        """Keep an entry; the oldest goes where there are too many."""
        self._learn(entry)
        self.entries[asked.key(self.reads_grads, self.swept)] = entry
        self._make_room()
        return entry

    def _learn(self, entry: Entry) -> None:
        """From now on signatures differ by what this entry showed the function to look at."""
        self.reads_grads |= entry.traced.reads_grads
        self.swept |= entry.traced.swept

    def _make_room(self) -> None:
        if len(self.entries) > MOST_ENTRIES:
            key = list(self.entries)[0]
            oldest = self.entries.pop(key, None)
            for gone in (*([] if oldest is None else [oldest]), *self.former.pop(key, ())):
                if gone not in self.entries.values() and not any(
                    gone in found for found in self.symbolic.values()
                ):
                    self.drop(gone)


__all__ = ["Signature", "Signatures"]
