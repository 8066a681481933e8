"""One attempt after the other: a function is run as it is, and where a traced value stops it, what
the user wrote there is rewritten, and it is run again."""

from __future__ import annotations

import functools
import logging
import sys
import weakref
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, MappingProxyType, TracebackType
from typing import Any, NoReturn, TypeVar

import numpy as np

from .._codegen import loading
from ..control.lengths import Outlived
from ..dtypes import module_of
from ..errors import ConcretizationError
from ..ir.trace import TextError
from ..ops.places.spans import ComputedLength
from ..tape.attempts import ATTEMPTS
from .cuts import WHOLE
from .functions import (
    MADE,
    PROGRAMS,
    Version,
    home_of,
    in_place_of,
    is_dispatcher,
    is_users,
    lines_of,
    made_of,
    printing,
    users_function,
    version_of,
)
from .reached import install, reached, restore
from .said import explained, out_of_reach, place_of, without_source
from .stops import stops
from .tables import Unlike

LOG = logging.getLogger("tracegrad")
T = TypeVar("T")
MOST = 200
"""Attempts at most; each learns of a function or of a place more."""
CUTS = 6
"""Places of a line at which a block may be cut."""
PARTS = frozenset(("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"))


class Restart(BaseException):
    """Something was learnt that the attempt needed from its start. No `except` of the user's holds
    it."""


class Session:
    """What is known of the functions of one outermost call."""

    whole = False
    """Whether all functions of the user's are rewritten."""
    staged: Any = frozenset()
    """The code that is."""
    sites: Any = frozenset()
    """CallHelpers whose arrays have to hold traced values."""
    loops: Any = frozenset()
    """Loops whose condition depends on traced values after the first pass."""
    tables: Any = MappingProxyType({})
    """Lists that are written at traced places, by the places that make them: as which array each is
    kept; None where it has to be a list after all."""
    lists: Any = MappingProxyType({})
    """New lists, by ids, and what made each."""
    queues: Any = frozenset()
    """Places that make deques which branches or loops on traced values change."""
    apart: Any = MappingProxyType({})
    """Lines of branches and loops that no graph can hold, and what they do: such loops are written
    out where their count is known."""
    rests: Any = MappingProxyType({})
    """Lines from which on a block has arrays of a length that only a run knows, with how often that
    was tried at others places of a line, by the code."""
    roomy: Any = frozenset()
    """Lines of branches in which lists grow for which only a run knows the rows: they are made one
    pass of a loop, which is run with more rows."""
    grown: Any = frozenset()
    """Places that make lists to which branches or loops on traced values append."""
    methods: Any = frozenset()
    """Methods that Python calls, by class and name, which are rewritten in their classes."""
    installed: Any = ()
    """Those that are now."""
    replaced: Any = frozenset()
    """Lines of loops, and variables whose lists these replace by others of other lengths."""
    passed: Any = frozenset()
    """Lines at which that did not help, since what is made in the block is read behind it."""
    open_rests: Any = ()
    """The blocks of which the rest is being run for itself."""
    regions: Any = ()
    """The branches and bodies that are being made graphs, innermost last."""
    unbound: Any = MappingProxyType({})
    """Variables that a branch or a loop left unbound: why."""
    made: Any = MappingProxyType({})
    """Plain arrays, by the call that made them."""

    merged: Any = ()
    """Arrays that a branch or loop gave, of which it is not known whether they are one that has
    another name: neither must be written to."""
    pairs: Any = ()
    """Objects of which a branch or loop made another one, which may be one in Python."""
    changed: Any = ()
    """Objects of which attributes were set in branches and loops."""
    held: Any = None
    """The references that open bodies hold."""
    tries: tuple[Any, ...] = ()
    """The `try` statements that are open."""
    numbers: Any = ()
    """The names of the numbers of the steps of open loops, in expressions (ir/forms.py)."""
    every_pass: Any = ()
    """Of the open loops that go on to their end: the name of the number, and how many branches and
    bodies are open in the body itself."""
    looks: Any = MappingProxyType({})
    """What was found out about branches and loops (looks.py)."""
    errors: Any = ()
    """The texts of exceptions behind conditions, by their numbers."""
    given: tuple[Any, ...] = ()
    """The functions that are differentiated, compiled or batched."""

    def open(self) -> None:
        """Get ready to learn. A first attempt, which all calls make, needs no more than there is
        for all."""
        self.staged, self.sites, self.loops, self.rests = set(), set(), set(), {}
        self.passed, self.apart, self.tables, self.queues = set(), {}, {}, set()
        self.roomy, self.replaced, self.grown, self.methods = set(), set(), set(), set()
        self.begin()

    def again(self, *given: Any) -> Session:
        """A session of its own for another call, which knows what was learnt here."""
        made = Session()
        made.whole, made.given = self.whole, given
        made.staged, made.sites, made.loops = set(self.staged), set(self.sites), set(self.loops)
        made.rests, made.passed = dict(self.rests), set(self.passed)
        made.apart, made.tables = dict(self.apart), dict(self.tables)
        made.queues, made.roomy = set(self.queues), set(self.roomy)
        made.replaced, made.grown = set(self.replaced), set(self.grown)
        made.methods = set(self.methods)
        made.begin()
        return made

    def resuming(self) -> Callable[[Callable[[], T]], T]:
        """A way to call a function when this call has ended, with what is known now."""
        known = self.again(*self.given) if self.whole or self.staged else None

        def resumed(call: Callable[[], T]) -> T:
            if known is None or _outer() is not None:
                return call()
            session = known.again(*known.given)
            try:
                _open(session)
                return call()
            finally:
                restore(session)
                ATTEMPTS.session = ATTEMPTS.frame = None
                if session in LEARNT:
                    LEARNT.remove(session)

        return resumed

    def expect_prints(self, function: Any) -> None:
        """Before a function is traced: one that prints would do that now as it is."""
        if not self.whole and (codes := printing(function)):
            if type(self.staged) is frozenset:
                self.open()
            self.staged.update(codes)
            if ATTEMPTS.session is self and self not in LEARNT:
                LEARNT.append(self)

    def begin(self) -> None:
        """Forget what belongs to one attempt."""
        self.made, self.regions, self.unbound, self.merged = {}, [], {}, []
        self.errors, self.tries, self.looks, self.numbers = [], (), {}, []
        self.opened: dict[Any, int] = {}
        self.open_rests, self.every_pass, self.lists = [], [], {}
        self.pairs, self.changed = [], []
        self.held = loading.load(f"{__package__}.aliases").Held()

    def around(self) -> tuple[tuple[Any, ...], dict[Any, int]]:
        """The path of the innermost open body, and how many statements each line opened in it."""
        if not self.regions:
            return (), self.opened
        return self.regions[-1].path, self.regions[-1].opened

    def keep_apart(self, line: str, what: str) -> NoReturn:
        """Begin anew, and do not make the branch or loop at a line a graph."""
        if type(self.staged) is frozenset:
            self.open()
        self.apart[line] = what
        raise Restart

    def check_apart(self, line: str) -> None:
        """A ConcretizationError for what is kept apart."""
        if line in self.apart:
            raise ConcretizationError(f"{line}: {self.apart[line]}")

    def version(self, callable_: Any) -> Any:
        """What is called in the place of a function: itself where nothing is known of it."""
        if module_of(type(callable_)).startswith(("numba.np.ufunc", "numba.stencils")):
            objects = loading.load(f"{__package__}.numpy_objects")
            return functools.partial(objects.called, self, callable_)
        if not (self.staged or self.whole):
            return in_place_of(callable_, lambda f: f) if is_dispatcher(callable_) else callable_
        return in_place_of(callable_, self._made)

    def _made(self, f: FunctionType) -> Any:
        code = f.__code__
        if code in MADE or not (
            code in self.staged
            or code in PROGRAMS
            or ((self.whole or self.regions) and self.is_users(code))
        ):
            return f
        version = version_of(code, self.rests.get(code, frozenset()))
        return f if version.code is None else made_of(f, version, helpers_of(version))

    def is_users(self, code: CodeType) -> bool:
        """Whether code is the user's: not installed, or of the package whose function was given."""
        return is_users(code) or any(is_users(code, home_of(f)) for f in self.given)

    def merge(self, value: Any, roots: Any, line: str) -> None:
        """Remember that a value may be one of these arrays under a new name."""
        self.merged += loading.load(f"{__package__}.aliases").merged(value, roots, line)

    def sources(self, value: Any) -> list[Any]:
        """The arrays that a value may be, as far as a branch or a loop gave it."""
        return [
            r
            for m in self.merged
            if m.value() is value
            for ref in m.others
            if (r := ref()) is not None
        ]

    def is_item(self, value: Any) -> None:
        """Remember that a value is, or was read as, an item of a list that loops fill."""
        loading.load(f"{__package__}.objects").is_item(self, value)

    def before_write(self, root: Any, line: str) -> None:
        """A ConcretizationError where nobody knows which array is written to."""
        for m in self.merged:
            if m.concerns(root, self.held):
                own = m.value() is root
                raise ConcretizationError(
                    f"{line}: this array {'comes from' if own else 'may be what'} the branch or "
                    f"loop at {m.line}{', and may be one that' if own else ' gave, which'} has "
                    "another name, which would have to see the write. Write into a copy: "
                    "a = a.copy()"
                )

    def made_at(self, array: np.ndarray[Any, Any], site: tuple[CodeType, int]) -> None:
        """Remember which call made an array."""
        if id(array) not in self.made or self.made[id(array)][0]() is not array:
            region = self.regions[-1] if self.regions else None
            self.made[id(array)] = weakref.ref(array), site, region

    def site_of(self, array: np.ndarray[Any, Any]) -> tuple[tuple[CodeType, int], Any] | None:
        """The call that made an array, or the one that it is a view of; and the branch or body in
        which it was."""
        x: Any = array
        while isinstance(x, np.ndarray):
            found = self.made.get(id(x))
            if found is not None and found[0]() is x:
                return found[1], found[2]
            x = x.base
        return None

    def learn(self, error: BaseException) -> bool:
        """Whether something new is known after an attempt that ended so."""
        if isinstance(error, Restart):
            return True
        if isinstance(error, Unlike):
            self.tables[error.site] = None
            return True
        if not stops(error):
            return False
        if isinstance(error, TextError) and not self.whole:
            # Who printed is not known any more; rewritten code may print.
            LOG.info("all is staged: %s", error)
            self.whole = True
            if type(self.staged) is frozenset:
                self.open()
            return True
        new = [c for c in self._codes(error.__traceback__) if c not in self.staged]
        usable = [c for c in new if version_of(c).code is not None]
        for code in new:
            if code not in usable:
                reason = version_of(code).reason
                note = f"{place_of(code)} was not staged: {reason}."
                if note not in getattr(error, "__notes__", ()):
                    error.add_note(note)
        for code in usable:
            LOG.info("%s is staged: %s", place_of(code), error)
        if not usable and isinstance(error, (ComputedLength, Outlived)) and self._cut(error):
            return True
        if not usable and reached(error, self):
            return True
        if not usable:
            without_source(error)
            out_of_reach(error, self)
            return False
        if type(self.staged) is frozenset:
            self.open()
        self.staged.update(usable)
        return True

    def _cut(self, error: BaseException) -> bool:
        """Whether a block can be cut where a length is needed that only a run knows: at the
        innermost statement that is not cut yet."""
        outlived, behind = isinstance(error, Outlived), getattr(error, "cut", None)
        for code, line in [behind] if behind else lines_of(error):
            known = dict(self.rests.get(code, ()))
            if (code, line) in self.passed:
                continue
            tried = known.pop(line, 0)
            # Where the block was cut in the statement that begins there, that as a whole.
            whole = outlived and tried > 0 and version_of(code).begins(line)
            if tried and not whole and (outlived or tried in (WHOLE, CUTS)):
                # What is made in that block is read behind it.
                self.passed.add((code, line))
                outer = version_of(code).around(line) if outlived else None
                self.rests[code] = frozenset({**known, **({outer: WHOLE} if outer else {})}.items())
                if outer or behind:
                    return True
                outlived = False
                continue
            LOG.info(
                "%s: a block from line %d on has lengths that only a run knows: %s",
                place_of(code),
                line,
                error,
            )
            self.rests[code] = frozenset({**known, line: WHOLE if whole else tried + 1}.items())
            return True
        return False

    def can_cut(self, error: BaseException, here: tuple[CodeType, int]) -> bool:
        """Whether a block may be cut for a length below the frame that caught this, or at its line
        where it asks for one itself."""
        lines = (lines_of(error) or [here]) if isinstance(error, ComputedLength) else []
        new = [(code, line) for code, line in lines if (code, line) not in self.passed]
        return any(dict(self.rests.get(c, ())).get(line, 0) < CUTS for c, line in new)

    def _codes(self, tb: TracebackType | None) -> list[CodeType]:
        """The code of the user's functions that were running."""
        found: dict[CodeType, None] = {}
        while tb is not None:
            code = tb.tb_frame.f_code
            if self.is_users(code) and code not in MADE and code.co_name not in PARTS:
                found[code] = None
            tb = tb.tb_next
        return list(found)


_KNOWN: dict[CodeType, Session] = {}
"""What eager calls of a function learnt."""


def current() -> Session | None:
    """The session of the outermost call that is going on in this thread."""
    found: Session | None = ATTEMPTS.session
    return found


LEARNT: list[Session] = []
"""The sessions, of all threads, that are open and know something: empty where nothing is rewritten,
which is what frequent calls ask first."""


def _open(session: Session) -> None:
    ATTEMPTS.frame, ATTEMPTS.session = sys._getframe(1), session
    ATTEMPTS.refused = None
    install(session)
    if session.whole or session.staged:
        LEARNT.append(session)


def _outer() -> Session | None:
    """The session of a call that is going on around this one. One that was kept from being closed,
    by a debugger that raises at a line of ours, is closed now."""
    session = ATTEMPTS.session
    if session is None:
        return None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not ATTEMPTS.frame:
        frame = frame.f_back
    if frame is None:
        restore(session)
        ATTEMPTS.session = ATTEMPTS.frame = None
        if session in LEARNT:
            LEARNT.remove(session)
    return current()


def entered(function: T) -> T:
    """What the library calls in the place of a function of the user's, inside of a session."""
    found: T = function if ATTEMPTS.session is None else ATTEMPTS.session.version(function)
    return found


def staged(
    attempt: Callable[[Any], T], function: Any, stage: bool | str = "auto", eager: bool = False
) -> T:
    """`attempt(function)`, with a rewritten function in its place where tracing stops.

    `eager` calls remember what they learnt, since each of them runs the function.
    """
    outer = _outer()
    if outer is not None:
        outer.given += (function,)
        if not eager:
            outer.expect_prints(function)
        return attempt(outer.version(function))
    if stage is False:
        return attempt(function)
    attempt = ATTEMPTS.watched(attempt)
    session = None
    if eager and _KNOWN:
        first = users_function(function)
        known = None if first is None else _KNOWN.get(first.__code__)
        session = None if known is None else known.again(function)
    if session is None:
        session = Session()
        session.given = (function,)
        if stage is True:
            session.whole = True
            session.open()
        elif not eager:
            session.expect_prints(function)
    try:
        _open(session)
        return attempt(session.version(function))
    except BaseException as error:
        if not session.learn(error):
            if (better := explained(error, session)) is not None:
                raise better from error
            raise
    finally:
        # Ctrl-C arrives where Python enters a function, before that does anything: the session is
        # still there then, and `_outer` closes it.
        restore(session)
        ATTEMPTS.session = ATTEMPTS.frame = None
        if session in LEARNT:
            LEARNT.remove(session)
    return _again(attempt, function, session, eager)


def _again(attempt: Callable[[Any], T], function: Any, session: Session, eager: bool) -> T:
    for _ in range(MOST):
        session.begin()
        try:
            _open(session)
            found = attempt(session.version(function))
        except BaseException as error:
            if not session.learn(error):
                if (better := explained(error, session)) is not None:
                    raise better from error
                raise
            continue
        finally:
            restore(session)
            ATTEMPTS.session = ATTEMPTS.frame = None
            if session in LEARNT:
                LEARNT.remove(session)
        first = users_function(function) if eager else None
        if first is not None:
            if len(_KNOWN) > 1024:
                _KNOWN.clear()
            _KNOWN[first.__code__] = session.again()
        return found
    raise ConcretizationError(f"{function!r:.60} could not be staged in {MOST} attempts")


_HELPERS: dict[CodeType, Any] = {}


def helpers_of(version: Version) -> Any:
    """What the rewritten code calls."""
    found = _HELPERS.get(version.original)
    if found is None:
        module = loading.load(f"{__package__}.helpers")
        found = _HELPERS[version.original] = module.Helpers(version)
    return found


__all__ = [
    "LEARNT",
    "PARTS",
    "Restart",
    "Session",
    "current",
    "entered",
    "staged",
    "stops",
]
