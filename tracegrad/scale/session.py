"""One `sum_over` on an engine: which worker has which shards, what the workers know already, and an
evaluation from operands to results."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._codegen import integers, locks
from ..autograd.grad_mode import enable_grad
from ..errors import ShapeError, TracegradError
from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..ir.trace import outside
from ..tape.mode import MODE
from ..tensor import Boxed
from ..tree import flatten, unflatten
from ..types import ArrayType
from .errors import ShardError, WorkerLostError
from .form_code import FormHistory, operands_of
from .functions import Form, kinds_of
from .pairwise import Pairwise
from .progress import UnderWay
from .reports import LOG, Evaluation
from .sources import Opener
from .wire import packed
from .worker import (
    Answer,
    Done,
    Failed,
    Knowledge,
    Missing,
    Setup,
    ShardTask,
    described,
    open_shard,
    type_of_sum,
    versions,
)


class Engine(Protocol):
    """Where tasks are done."""

    name: str
    local: bool
    """Whether workers are threads of this process: nothing is pickled."""
    alone: Any
    """A context manager that is held from the sending of operands until the results have been put
    together: where both lie in memory that is written to again."""

    def workers(self) -> int:
        """How many workers there are now."""

    def begin(
        self, openers: Sequence[Opener]
    ) -> tuple[Sequence[Opener], Sequence[Any] | None, Any]:
        """The shards of a new `sum_over` as they are sent; where the engine has the shards
        themselves on its workers, what stands for them; what is to be held on to meanwhile."""

    def run(
        self, tasks: Sequence[ShardTask], limit: float | None, running: UnderWay
    ) -> Sequence[Answer]:
        """Do tasks, number k on worker k, and give the answers in their order; a
        `WorkerLostError`, `EvaluationTimeoutError` or KeyboardInterrupt where that cannot be, and
        nothing is left under way that a later call could mistake for its own. `running` is told how
        far it is."""

    def end(self, session: str) -> None:
        """Let workers forget a session, at the next occasion: this may be called at any moment,
        by Python's collector too."""


class FormTypes(NamedTuple):
    """What a form gives: structures and types of its results, and of the gathered ones how many
    rows each shard has."""

    structure: Any
    summed: tuple[ArrayType, ...]
    gathered: tuple[ArrayType, ...]
    rows: tuple[tuple[int, ...], ...]


class Asked:
    """A form for operands of these types, of which the last `own` belong to shards, `rows` each.
    There is one object for each of a session's, so that what is known of it is found at once."""

    __slots__ = ("form", "operands", "own", "rows")

    def __init__(self, form: Form, operands: Sequence[ArrayType], own: int, rows: Any) -> None:
        self.form, self.operands, self.own, self.rows = form, operands, own, rows


class ShardedFunction:
    """Shards on an engine, and a function of them."""

    def __init__(
        self,
        function: Callable[..., Any],
        openers: Sequence[Opener],
        engine: Engine,
        room: int,
        limit: float | None,
        who: str,
    ) -> None:
        self.function, self.engine, self.limit, self.who = function, engine, limit, who
        self.count = len(openers)
        self.openers, self.room = openers, room
        self.lock = locks.lock()
        self.types: list[tuple[bytes, Any]] | None = None
        self.all_asked: dict[Any, Asked] = {}
        self.kinds: dict[Asked, FormTypes] = {}
        self.steps: dict[Any, Any] = {}
        self.local = Knowledge(Setup((), function, (), "", 0))
        """The function here: traced for the types of results, and never run."""
        self.entries: dict[Asked, dict[Any, list[np.ndarray[Any, Any]]]] = {}
        """What was traced, and what it read around it."""
        self.seen: dict[Form, dict[str, Any]] = {}
        """The signatures for which a form was traced, in their order."""
        self.age = 0
        """How often the function was another."""
        self.histories: dict[Form, bytes] = {}
        """What workers are told of each form."""
        self.known: set[int] = set()
        """The workers that have been told of this session."""
        self.placed, self.data, self.held = engine.begin(openers)
        self._begin()

    def _begin(self) -> None:
        """A session anew, with the function as it is now."""
        self.id = uuid.uuid4().hex
        self.end = weakref.finalize(self, self.engine.end, self.id)
        """Let the workers forget it."""
        self.end.atexit = False
        self.known = set()
        function, placed = self.function, self.placed
        if not self.engine.local:
            function, placed = packed(self.function, self.who), packed(placed, self.who)  # type: ignore[assignment]
        self.setup = Setup(versions(), function, placed, self.name, self.room)

    @property
    def name(self) -> str:
        """What the user's function is called."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    # --- types ------------------------------------------------------------------------------------

    def shard_types(self) -> list[tuple[bytes, Any]]:
        """Structure and types of all shards: those that the driver does not have are opened for
        it, on the workers that keep them."""
        with self.lock:
            if self.types is None:
                if all(o.how == "given" for o in self.openers):
                    self.types = [described(open_shard(o.what)) for o in self.openers]
                else:
                    answers = self._run(None, (), [()] * self.count)
                    self.types = [t for a in answers for t in a.gathered]
            return self.types

    def asked(
        self, form: Form, operands: Sequence[ArrayType] = (), own: int = 0, rows: Any = ()
    ) -> Asked:
        """A form for such operands."""
        key = form, tuple(operands), own, rows
        return self.all_asked.setdefault(key, Asked(*key))

    def kind(self, asked: Asked) -> FormTypes:
        """What a form gives."""
        with self.lock:
            found = self.still_known(asked)
            if found is None:
                found = self.kinds[asked] = self._traced(asked)
            return found

    def still_known(self, asked: Asked) -> FormTypes | None:
        """The same where it is known, and what the function reads around it is what it was."""
        with self.lock:
            found = self.kinds.get(asked)
            return found if found is not None and self._holds(asked) else None

    def _signatures(self, asked: Asked) -> tuple[list[Any], list[int]]:
        """The different types that shards are called with, in the order of the shards; of each
        shard which of them it is."""
        operands, own, rows = asked.operands, asked.own, asked.rows
        n = len(operands) - own
        shared = [(t.dtype, t.shape) for t in operands[:n]]
        numbers: dict[Any, int] = {}
        found: list[Any] = []
        which = []
        for k, (structure, types) in enumerate(self.shard_types()):
            parts = [
                (t.dtype, (r[k], *t.shape[1:])) for t, r in zip(operands[n:], rows, strict=True)
            ]
            number = numbers.setdefault(repr((parts, structure, types)), len(numbers))
            if number == len(found):
                found.append((shared, parts, structure, types))
            which.append(number)
        return found, which

    def _traced(self, asked: Asked) -> FormTypes:
        form = asked.form
        kinds = kinds_of(form)
        signatures, which = self._signatures(asked)
        function = self.local.code(form, kinds).traced
        seen = self.seen.setdefault(form, {})
        known = set(function._signatures.entries.values())
        used: dict[Any, list[Any]] = {}
        outs = []
        with apart():
            for signature in signatures:
                values = operands_of(signature, kinds)
                entry = function._entry(values, {}).entry
                self._check(entry)
                outs.append(_results(entry, values))
                used.setdefault(entry, [_copy(x) for x in entry.captured() or ()])
                if entry not in known and len(seen) < MOST_SIGNATURES:
                    seen.setdefault(repr(signature), signature)
                known.add(entry)
        self.entries[asked] = used
        self.histories[form] = pickle.dumps(FormHistory(form, kinds, self.age, list(seen.values())))
        structure, (summed, gathered) = outs[0][0], outs[0][1:]
        for k, (_, other, theirs) in enumerate(outs):
            if other != summed or [t.shape[1:] for t in theirs] != [t.shape[1:] for t in gathered]:
                first, another = which.index(0), which.index(k)
                raise ShapeError(
                    f"{self.who}: {self.name} gives results of other types for shard {another} "
                    f"({_text((*other, *theirs))}) than for shard {first} "
                    f"({_text((*summed, *gathered))}), which cannot be put together; make it "
                    "return arrays of the same shape and dtype for every shard"
                )
        rows = tuple(
            tuple(int(outs[w][2][j].shape[0]) for w in which) for j in range(len(gathered))
        )
        whole = [
            ArrayType(t.dtype, (sum(r), *t.shape[1:])) for t, r in zip(gathered, rows, strict=True)
        ]
        return FormTypes(structure, tuple(summed), tuple(whole), rows)

    def _check(self, entry: Any) -> None:
        """A TracegradError where the function does more than compute a result."""
        traced = entry.traced
        if entry.changes or entry.stored or traced.writes or traced.generators:
            raise TracegradError(
                f"{self.who}: {self.name} changes something around it (a variable, a Tensor, a "
                "shard, a random generator), which would be changed on a worker and not here. "
                "Return what it finds; for random numbers give each shard its own."
            )
        for k, x in enumerate(traced.captures):
            if isinstance(x, Var) or (isinstance(x, Boxed) and (x._on_tape() or x._requires_grad)):
                place = entry.places[k]
                raise TracegradError(
                    f"{self.who}: {self.name} reads {place.path if place else 'a value'} around "
                    "it, by which something is differentiated or which is traced; it would travel "
                    "as a constant. Make it an argument: total(theta, x), and the function of a "
                    "shard f(theta, x, shard)."
                )

    def _holds(self, asked: Asked) -> bool:
        """Whether what the function reads around it is what the workers have."""
        same = all(_unchanged(entry, before) for entry, before in self.entries[asked].items())
        if not same:
            # The function is sent again, as it is now.
            self.age += 1
            self.kinds.clear()
            self.seen.clear()
            self.local = Knowledge(Setup((), self.function, (), "", 0))
            if not self.engine.local:
                self.end()
                self._begin()
        return same

    # --- evaluation -------------------------------------------------------------------------------

    def evaluate(
        self, asked: Asked, arrays: Sequence[Any], kind: FormTypes
    ) -> list[np.ndarray[Any, Any]]:
        """The results of a form: the summed ones, then the gathered ones whole. `kind` is what was
        known or traced just now (what tracing evaluates has to be done before the engine is
        taken)."""
        own, rows = asked.own, asked.rows
        n = len(arrays) - own
        with self.lock, self.engine.alone:
            parts: list[tuple[Any, ...]] = [()] * self.count
            if own:
                split = [
                    np.split(x, np.cumsum(r)[:-1]) for x, r in zip(arrays[n:], rows, strict=True)
                ]
                parts = list(zip(*split, strict=True))
            shared = list(arrays[:n])
            answers = self._run(asked.form, shared, parts)
            total = Pairwise()
            gathered: list[Sequence[Any]] = []
            for answer in answers:
                for block in answer.blocks:
                    total.add(block)
                gathered += answer.gathered
            summed = total.total() if total.blocks else ()
            whole = [np.concatenate(parts) for parts in zip(*gathered, strict=True)]
            found = list(map(np.asarray, [*summed, *whole]))
            self._check_results(kind, found)
            # One that no sum was taken of lies where the worker writes its next one.
            return [x if x.flags.owndata else x.copy() for x in found]

    def _check_results(self, kind: FormTypes, found: Sequence[Any]) -> None:
        expected = (*kind.summed, *kind.gathered)
        types = [(x.dtype, x.shape) for x in found]
        if types != [(t.dtype, t.shape) for t in expected]:
            raise TracegradError(
                f"{self.who}: {self.name} gave {types} on the workers, and {_text(expected)} here: "
                "is what it reads around it the same there?"
            )

    def _run(self, form: Form | None, shared: Any, own: Sequence[Any]) -> list[Done]:
        began = time.time()
        history = None if form is None else self.histories[form]
        with self.lock, self.engine.alone, UnderWay(self.name, self.count) as running:
            bounds = ranges(self.count, self.engine.workers())
            tasks = []
            for k, (first, last) in enumerate(bounds):
                tasks.append(
                    ShardTask(
                        self.id,
                        history,
                        first,
                        shared,
                        own[first:last],
                        None if k in self.known else self.setup,
                        None if self.data is None else self.data[first:last],
                        told=running.one if self.engine.local else None,
                    )
                )
            answers = list(self.engine.run(tasks, self.limit, running))
            if any(isinstance(a, Missing) for a in answers):
                # All are told: whoever is lost meanwhile has one in its place that knows nothing.
                told = [t._replace(setup=self.setup) for t in tasks]
                answers = list(self.engine.run(told, self.limit, running))
            found = self._done(answers)
            self.known = set(range(len(tasks)))
        timings = tuple(a.timing for a in found)
        seen = Evaluation(
            self.name,
            self.engine.name,
            form,
            began,
            time.time(),
            bounds,
            timings,
            bytes_of(shared),
            sum(bytes_of(b.leaves) for a in found for b in a.blocks),
        )
        LOG.append(seen)
        return found

    def _done(self, answers: Sequence[Any]) -> list[Done]:
        """The answers, if they all are results; else the error of one that is not, of a shard that
        failed if there is any."""
        failed = [a for a in answers if isinstance(a, Failed)]
        if failed:
            raise self._error(failed[0])
        found = [a for a in answers if isinstance(a, Done)]
        if len(found) < len(answers):
            raise WorkerLostError(
                f"{self.who}: a worker of {self.engine.name} lost what it knew of "
                f"{self.name} twice; it ends and starts again and again"
            )
        return found

    def _error(self, found: Failed) -> Exception:
        label = f" ({found.label})" if found.label else ""
        shard = f"shard {found.shard}{label}" if found.shard >= 0 else "a worker"
        where = f" at {found.line}" if found.line else ""
        host = f"{found.host}, process {found.process}"
        made = ShardError(
            f"{self.who}: {shard} failed on {host}: {found.kind}: {found.text}{where}",
            found.shard,
            found.label,
            host,
        )
        try:
            made.__cause__ = pickle.loads(found.error) if found.error else None
        except Exception:
            made.__cause__ = None
        if hasattr(made, "add_note") and found.trace:
            made.add_note(f"On the worker:\n{found.trace}")
        return made


MOST_SIGNATURES = 64
"""For so many sizes of shards each worker compiles before it begins, whoever has them; code for all
sizes is one of these."""


def ranges(count: int, workers: int) -> list[tuple[int, int]]:
    """The shards of each worker, in a row: as even as can be, and none for workers too many."""
    workers = max(1, min(workers, count))
    bounds = [count * k // workers for k in range(workers + 1)]
    return list(itertools.pairwise(bounds))


def bytes_of(arrays: Any) -> int:
    """The bytes of arrays."""
    return sum(getattr(x, "nbytes", 8) for x in arrays)


def _unchanged(entry: Any, before: Sequence[Any]) -> bool:
    now = entry.captured()
    return entry.holds() and now is not None and all(map(_equal, before, now))


def _results(entry: Any, values: Any) -> tuple[Any, list[ArrayType], list[ArrayType]]:
    """Of what was traced: the structure of the results, types of the summed and gathered ones."""
    leaves = flatten((values, {}))[0]
    sizes = {
        str(symbol): size
        for v, x in zip(entry.graph.inputs[: len(leaves)], leaves, strict=True)
        for symbol, size in zip(v.type.shape, getattr(x, "shape", ()), strict=True)
    }
    spec = entry.traced.out_spec
    types = []
    for v in entry.graph.outputs[: spec.num_leaves]:
        shape = tuple([integers.evaluate(s, sizes) for s in v.type.shape])
        types.append(ArrayType(v.type.dtype, shape))
    summed, gathered = unflatten(spec, list(range(len(types))))
    first, second = flatten(summed), flatten(gathered)
    return (
        (first[1], second[1]),
        [ArrayType(type_of_sum(types[k].dtype), types[k].shape) for k in first[0]],
        [types[k] for k in second[0]],
    )


def _text(types: Sequence[ArrayType]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _copy(x: Any) -> Any:
    return np.array(getattr(x, "_data", x), copy=True)


def _equal(before: Any, now: Any) -> bool:
    x = np.asarray(getattr(now, "_data", now))
    return bool(
        x is before
        or (x.dtype == before.dtype and x.shape == before.shape and x.tobytes() == before.tobytes())
    )


def apart() -> contextlib.AbstractContextManager[None]:
    """A block whose operations have nothing to do with traces and derivatives that are open."""
    return _apart() if STATE.traces or STATE.levels or not MODE.enabled else _AS_IT_IS


_AS_IT_IS = contextlib.nullcontext()


@contextlib.contextmanager
def _apart() -> Iterator[None]:
    with outside(), enable_grad():
        levels, STATE.levels = STATE.levels, ()
        try:
            yield
        finally:
            STATE.levels = levels


def default_room(workers: int) -> int:
    """The bytes of shards that one of so many workers keeps: together half of the memory."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        whole = 8 << 30
    return int(whole) // 2 // max(1, workers)


__all__ = [
    "Engine",
    "FormTypes",
    "ShardedFunction",
    "apart",
    "default_room",
    "ranges",
]
