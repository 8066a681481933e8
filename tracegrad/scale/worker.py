"""What runs on a worker: shards are opened and kept, functions are made and compiled, and a task
gives sums over a range of shards.

A task names what it needs, and brings it only where the worker is known not to have it: a worker
that was started anew says so (`Missing`). Nothing is raised: what fails is described (`Failed`),
with its shard and the user's line, since an exception of the user's may not travel.
"""

from __future__ import annotations

import contextlib
import functools
import mmap
import os
import pickle
import platform
import socket
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from .._codegen import loading, locks
from ..bridges.standing import compiled
from ..compiled.jitted import Jitted
from ..tensor import raw
from ..tree import flatten
from .form_code import FormCode, FormHistory, as_given, types_of
from .functions import Form, PerShard, made, structure_of
from .pairwise import Pairwise, PartialSum
from .sources import Opener
from .transport import let_go, sent, taken

Versions = tuple[tuple[str, str], ...]
Types = tuple[Any, ...]
"""Of arrays: (dtype, shape) each."""


class Setup(NamedTuple):
    """What a worker has to know once: `function` and `openers` are pickled, and read only where
    the versions agree."""

    versions: Versions
    function: bytes | Callable[..., Any]
    openers: bytes | Sequence[Opener]
    name: str
    room: int
    """As many bytes of opened shards are kept."""


class ShardTask(NamedTuple):
    """One evaluation's work for one worker: the shards from `first` on, `len(own)` of them.
    `history` is a pickled `FormHistory`, the same bytes in each evaluation until there is more to
    it: it is read once; None asks for the types of the shards."""

    session: str
    history: bytes | None
    first: int
    shared: Any
    own: Sequence[Any]
    setup: Setup | None = None
    data: Sequence[Any] | None = None
    """The shards themselves, where the engine has them on the worker."""
    room: Any = None
    """Where large results may be laid down."""
    until: float | None = None
    """The time (`time.monotonic`) after which no further shard is begun."""
    ended: tuple[str, ...] = ()
    """Sessions that are no more."""
    told: Callable[[], None] | None = None
    """Called after each shard."""


class Timing(NamedTuple):
    """When a worker did what, on its clock; of each shard the seconds."""

    host: str
    process: int
    start: float
    end: float
    seconds: tuple[float, ...]
    opened: int
    compiled: int


class Done(NamedTuple):
    """Sums by block, and what was gathered by shard."""

    blocks: Sequence[PartialSum]
    gathered: Any
    timing: Timing


class Failed(NamedTuple):
    """What went wrong at which shard."""

    shard: int
    label: str
    host: str
    process: int
    kind: str
    text: str
    line: str
    error: bytes
    trace: str


class Missing(NamedTuple):
    """The worker does not know the session."""

    session: str


class OutOfTime(NamedTuple):
    """The time was over."""


Answer = Done | Failed | Missing | OutOfTime


@functools.cache
def versions() -> Versions:
    """What driver and workers must have alike."""
    return (
        ("python", ".".join(platform.python_version_tuple()[:2])),
        ("numpy", np.__version__),
        ("tracegrad", __version__),
    )


class OpenShard(NamedTuple):
    """An opened shard; its structure and types decide which code runs."""

    tree: Any
    spec: Any
    types: Types


def open_shard(tree: Any) -> OpenShard:
    """A TypeError for what is no tree of arrays of numbers."""
    leaves, spec = flatten(tree)
    for x in leaves:
        if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "biufc":
            what = f"dtype {x.dtype}" if hasattr(x, "dtype") else f"a {type(x).__name__}"
            raise TypeError(
                f"a shard has to be an array of numbers or a tree of such arrays, and this one "
                f"holds {what}; open it with a function that returns arrays"
            )
    return OpenShard(tree, spec, types_of(leaves))


class Knowledge:
    """A session on a worker."""

    def __init__(self, setup: Setup) -> None:
        function, openers = setup.function, setup.openers
        self.function = pickle.loads(function) if isinstance(function, bytes) else function
        self.openers = pickle.loads(openers) if isinstance(openers, bytes) else openers
        self.room = setup.room
        self.kept: dict[int, OpenShard] = {}
        self.codes: dict[Form, FormCode] = {}
        self.read: dict[bytes, FormCode] = {}
        """The code of each form by the latest history of it that was read."""
        self.lock = locks.lock()
        self.opened = 0

    def shard(self, number: int) -> OpenShard:
        """An opened shard. What fits into the room stays; the others are opened each time, since
        evaluations come by all of them in turn, and the one used last is needed last."""
        if number in self.kept:
            return self.kept[number]
        found = open_shard(self.openers[number].open())
        size = sum(map(_resident, flatten(found.tree)[0]))
        with self.lock:
            self.opened += 1
            if size <= self.room:
                self.room -= size
                self.kept[number] = found
        return found

    def code(self, form: Form, kinds: tuple[str, ...]) -> FormCode:
        """The compiled code of a form."""
        with self.lock:
            if form not in self.codes:
                self.codes[form] = FormCode(functools.partial(self._made, form), kinds)
            return self.codes[form]

    def code_of(self, history: bytes) -> FormCode:
        """The same, which has learnt all that the driver did."""
        found = self.read.get(history)
        if found is None:
            given: FormHistory = pickle.loads(history)
            found = self.code(given.form, given.kinds)
            found.learn(given)
            with self.lock:
                others = {r: code for r, code in self.read.items() if code is not found}
                self.read = {**others, history: found}
        return found

    def _made(self, form: Form) -> Jitted[..., Any]:
        name = "" if isinstance(form, PerShard) else f"_{type(form).__name__.lower()}"
        return compiled(made(form, self.function), self.function, name, False)


def _resident(x: Any) -> int:
    """The bytes that an array holds in memory; of a mapped file there need be none."""
    base = x
    while isinstance(base, np.ndarray):
        if isinstance(base, np.memmap):
            return 0
        base = base.base
    return 0 if isinstance(base, mmap.mmap) else getattr(x, "nbytes", 64)


SESSIONS: OrderedDict[str, Knowledge] = OrderedDict()
MOST = 64
"""So many sessions are kept on a worker."""
_LOCK = locks.lock()


def _session(task: ShardTask) -> Knowledge | None:
    with _LOCK:
        found = SESSIONS.get(task.session)
        if found is None and task.setup is not None:
            check_versions(task.setup.versions)
            found = SESSIONS[task.session] = Knowledge(task.setup)
            while len(SESSIONS) > MOST:
                SESSIONS.popitem(last=False)
        elif found is not None:
            with contextlib.suppress(KeyError):
                SESSIONS.move_to_end(task.session)
        return found


def forget(session: str) -> None:
    """Let go of what is kept for a session."""
    # Without the lock: Python's collector calls this, in whatever thread holds what.
    SESSIONS.pop(session, None)
    let_go()


class VersionsDifferError(RuntimeError):
    """Driver and worker are not alike."""


def check_versions(there: Versions) -> None:
    """A VersionsDifferError unless these are the versions here."""
    other = dict(there)
    differ = [
        f"{name} {mine} (the driver has {other.get(name, 'none')})"
        for name, mine in versions()
        if other.get(name) != mine
    ]
    if differ:
        raise VersionsDifferError(
            f"this worker has {', '.join(differ)}: results could differ, and functions do not "
            "travel between them. Install the same versions on all workers."
        )


def here() -> tuple[str, int]:
    """This machine and process."""
    return socket.gethostname(), os.getpid()


def work(task: ShardTask) -> Answer:
    """Do a task."""
    start = time.time()
    at = -1
    label = ""
    loaded = None
    for session in task.ended:
        forget(session)
    try:
        loaded = _session(task)
        if loaded is None:
            return Missing(task.session)
        before = loaded.opened, _compiled()
        seconds: list[float] = []
        found: Any = []
        total = Pairwise()
        shared = taken(task.shared)
        if task.history is not None:
            code = loaded.code_of(task.history)
            given, types = as_given(shared, code.kinds), types_of(shared)
        for k, laid in enumerate(task.own):
            own = tuple(taken(laid))
            at = task.first + k
            if task.until is not None and time.monotonic() > task.until:
                return OutOfTime()
            began = time.perf_counter()
            shard = (
                loaded.shard(at)
                if task.data is None
                else open_shard(loaded.openers[at].what.together(task.data[k]))
            )
            if task.history is None:
                found.append(described(shard))
            else:
                operands = given, own, shard.tree
                key = types, types_of(own), shard.spec, shard.types
                summed, gathered = code.for_types(key, operands)(*operands)
                if leaves := addends_of(summed):
                    total.add(PartialSum(0, at, leaves))
                found.append(arrays_of(gathered))
            seconds.append(time.perf_counter() - began)
            if task.told is not None:
                task.told()
        timing = Timing(
            *here(),
            start,
            time.time(),
            tuple(seconds),
            loaded.opened - before[0],
            _compiled() - before[1],
        )
        blocks: Sequence[PartialSum] = total.blocks
        if task.room is not None and task.history is not None:
            count = len(blocks)
            lists = sent([*[b.leaves for b in blocks], *found], task.room)
            blocks = [b._replace(leaves=x) for b, x in zip(blocks, lists, strict=False)]
            found = lists[count:]
        return Done(blocks, found, timing)
    except Exception as error:
        with contextlib.suppress(Exception):
            if loaded is not None and at >= 0:
                label = loaded.openers[at].label
        return failure(error, at, label)


def described(shard: OpenShard) -> tuple[bytes, Types]:
    """Structure and types of an opened shard, as they travel."""
    return structure_of(shard.spec), shard.types


_PLAIN = {np.ndarray, np.float64, np.float32}
"""The usual leaves: they need not be looked for."""


def arrays_of(tree: Any) -> list[np.ndarray[Any, Any]]:
    """The leaves as arrays."""
    if type(tree) is tuple and _PLAIN.issuperset(map(type, tree)):
        return list(map(np.asarray, tree))
    return [np.asarray(raw(x)) for x in flatten(tree)[0]]


def addends_of(tree: Any) -> list[np.ndarray[Any, Any]]:
    """The leaves as arrays to be added up."""
    return [
        x if x.dtype.kind == "f" else x.astype(type_of_sum(x.dtype), copy=False)
        for x in arrays_of(tree)
    ]


def type_of_sum(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What such numbers are added up in, as by `np.sum`: truths are counted, and small integers do
    not overflow."""
    if dtype.kind in "biu" and dtype.itemsize < 8:
        return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)
    return dtype


def _compiled() -> int:
    """How many kernels this process compiled so far."""
    return int(loading.imported("..codegen.disk.cache", __package__).COUNTERS.compiled)


def failure(error: BaseException, shard: int, label: str) -> Failed:
    """An exception as it travels."""
    with contextlib.suppress(Exception):
        packed = pickle.dumps(error)
        pickle.loads(packed)
        return _described(error, shard, label, packed)
    return _described(error, shard, label, b"")


def _described(error: BaseException, shard: int, label: str, packed: bytes) -> Failed:
    frames = traceback.extract_tb(error.__traceback__)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    own = [f for f in frames if not os.path.abspath(f.filename).startswith(package)]
    outside = [f for f in own if "<" not in f.filename]
    last = next(iter(reversed([f for f in outside if "site-packages" not in f.filename])), None)
    line = "" if last is None else f"{os.path.basename(last.filename)}:{last.lineno}, {last.name}"
    return Failed(
        shard,
        label,
        socket.gethostname(),
        os.getpid(),
        type(error).__name__,
        str(error),
        line,
        packed,
        "".join(traceback.format_exception(error)),
    )


__all__ = [
    "Answer",
    "Done",
    "Failed",
    "Knowledge",
    "Missing",
    "OutOfTime",
    "Setup",
    "ShardTask",
    "Timing",
    "VersionsDifferError",
    "addends_of",
    "check_versions",
    "described",
    "failure",
    "forget",
    "here",
    "open_shard",
    "type_of_sum",
    "versions",
    "work",
]
