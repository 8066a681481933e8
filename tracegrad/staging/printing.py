"""`print` of values that are not known while a function is traced: at each call, in the order in
which Python would print.

Outside of branches and loops a `print` is one operation (`control/show.py`). In them each has a
place of its own, which they hand on as they do a variable: the last lines, and when they came by.
"""

from __future__ import annotations

import builtins
import re
import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..control.show import Field, Line, converted, show_op, write
from ..ir.dispatch import STATE, bind
from ..ir.trace import Trace, inside_of, user_line
from ..ops.totals.statistics import stop_gradient_op
from ..sizes import SYMBOLIC
from ..tensor import Tensor, inside
from ..transforms.tracing import leaf_type
from .failing import is_failing
from .lists import Grown
from .places import any_in, traced
from .regions import Refused, change
from .session import Session, current

MOST = 1024
"""So many lines of one `print` in a loop are kept,"""
BYTES = 1 << 18
"""and fewer where they need more memory than this."""


def _open(x: Any) -> bool:
    """Whether nobody knows it while the function is traced."""
    return traced(x) or isinstance(x, (OpenText, *SYMBOLIC))


class OpenText:
    """An f-string, or what `format` or `%` makes, with values in it that are not known yet."""

    def __init__(self, pieces: Sequence[str | Field], values: Sequence[Any]) -> None:
        self.pieces, self.values = tuple(pieces), list(values)

    def __str__(self) -> str:
        # For anything but a print: texts of traced values, which are refused.
        for x in self.values:
            repr(x)
        return "".join([p if isinstance(p, str) else p.of(self.values) for p in self.pieces])

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class _LineMaker:
    """Puts a text together."""

    def __init__(self) -> None:
        self.pieces: list[str | Field] = []
        self.values: list[Any] = []

    def add(self, x: Any, conversion: str = "", spec: str = "") -> None:
        """A value, or what holds values."""
        if isinstance(x, SYMBOLIC) and STATE.traces:
            x = ops.add(x, 0)
        if type(x) is Grown:
            x = x.written_out()
        if isinstance(x, OpenText):
            if conversion not in ("", "s") or spec:
                self.pieces.append(format(str(x), spec))
                return
            shift = len(self.values)
            self.values += x.values
            self.pieces += [
                p if isinstance(p, str) else p._replace(number=p.number + shift) for p in x.pieces
            ]
        elif traced(x):
            self.pieces.append(Field(len(self.values), conversion, spec))
            self.values.append(x)
        elif not spec and type(x) in (list, tuple) and any_in(x, _open, 8):
            single = type(x) is tuple and len(x) == 1
            first, last = "[]" if type(x) is list else "()"
            self.pieces.append(first)
            for k, v in enumerate(x):
                if k:
                    self.pieces.append(", ")
                self.add(v, "r")
            self.pieces.append("," + last if single else last)
        elif not spec and type(x) is dict and any_in(x, _open, 8):
            self.pieces.append("{")
            for k, (key, v) in enumerate(x.items()):
                self.pieces.append(f"{', ' if k else ''}{key!r}: ")
                self.add(v, "r")
            self.pieces.append("}")
        else:
            self.pieces.append(format(converted(x, conversion), spec))

    def text(self) -> Any:
        """The text; a `str` where everything is known."""
        if not self.values:
            return "".join([p for p in self.pieces if isinstance(p, str)])
        return OpenText(self.pieces, self.values)


def debug_print(format: Any, *args: Any, **kwargs: Any) -> None:
    """Print `format.format(*args, **kwargs)` wherever values are computed: at each call of a
    compiled function, at each pass of a loop, in the order in which Python would.

    Of a compiled function the lines come when the call has ended, before an error that it raises; a
    print in a loop or branch on traced values keeps its last 1,024 lines (fewer of large arrays)
    and says how many it left out. Derivatives pass it by: a gradient prints once what the function
    prints. Under `tg.vmap` each item prints its lines, one item after the other. In bodies that are
    given to `tg.scan`, `tg.while_loop` and the like a compiled function cannot print: a
    TracegradError; Python's own loops can.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.jit
    ... def f(x):
    ...     tg.debug_print("x = {}, {:.2f}", x, x[0])
    ...     return x.sum()
    >>> y = f(np.array([1.0, 2.5]))
    x = [1.  2.5], 1.00
    """
    if isinstance(format, OpenText):
        if args or kwargs:
            raise TypeError(f"{user_line()}: debug_print: values in the text, or behind it")
        text: Any = format
    elif isinstance(format, str):
        try:
            text = _formatted(format, args, kwargs)
        except (KeyError, IndexError) as error:
            raise TypeError(
                f"{user_line()}: debug_print: the text {format!r:.60} has a place for which no "
                f"value is given ({error})"
            ) from None
    else:
        raise TypeError(
            f"{user_line()}: debug_print(format, *args) takes a text first, "
            f"not {type(format).__name__}"
        )
    writer = _LineMaker()
    writer.add(text)
    writer.pieces.append("\n")
    _show(writer, "stdout")


def _formatted(format: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """`format.format(*args, **kwargs)`."""
    if not any_in((tuple(args), kwargs), _open, 8):
        return format.format(*args, **kwargs)
    writer, formatter, automatic = _LineMaker(), string.Formatter(), 0
    for literal, name, spec, conversion in formatter.parse(format):
        writer.pieces.append(literal)
        if name is None:
            continue
        if not name or name[0] in ".[":
            name, automatic = f"{automatic}{name}", automatic + 1
        value, _ = formatter.get_field(name, args, kwargs)
        writer.add(value, conversion or "", formatter.vformat(spec or "", args, kwargs))
    return writer.text()


_PERCENT = re.compile(r"%(?:\((?P<key>[^)]*)\))?[-+ #0]*\d*(?:\.\d+)?[a-zA-Z%]")


def _percent(format: str, values: Any) -> Any:
    """`format % values`."""
    if not any_in(values, _open, 8):
        return format % values
    writer, at, given = _LineMaker(), 0, iter(values if isinstance(values, tuple) else (values,))
    for m in _PERCENT.finditer(format):
        writer.pieces.append(format[at : m.start()])
        at, spec = m.end(), m.group()
        if spec == "%%":
            writer.pieces.append("%")
            continue
        key = m.group("key")
        value = next(given, None) if key is None else values[key]
        if _open(value):
            spec = spec.replace(f"({key})", "", 1)
            writer.add(value, "%", spec)
        else:
            writer.pieces.append(spec.replace(f"({key})", "", 1) % (value,))
    writer.pieces.append(format[at:])
    return writer.text()


# --- where it goes --------------------------------------------------------------------------------


def _show(writer: _LineMaker, stream: str) -> None:
    """Print a text now, or record that it is printed."""
    if not STATE.traces:
        write(
            "".join([p if isinstance(p, str) else p.of(writer.values) for p in writer.pieces]),
            stream,
        )
        return
    # What is printed is what they are now.
    values = [bind(stop_gradient_op, [x]) for x in writer.values]
    kinds = tuple(
        [
            "number" if leaf_type(x).weak else "tensor" if isinstance(x, Tensor) else "array"
            for x in writer.values
        ]
    )
    line = Line(tuple(writer.pieces), kinds, stream)
    # A format that does not go with the value is the user's error, here.
    plain = line._replace(kinds=tuple(["array" if k == "tensor" else k for k in kinds]))
    plain.text([np.zeros([1] * x.ndim, x.dtype) for x in values])
    session = current()
    trace = STATE.traces[-1]
    inside_ = session is not None and session.regions and session.regions[-1].trace is trace
    if session is not None and (inside_ or is_failing() is not False):
        _keep(session, line, values)
    else:
        _showing(trace).add(line, values)


class _Showing:
    """What a trace has to print."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lines: list[Line] = []
        self.values: list[Any] = []
        self.places: dict[Any, tuple[Line | None, Any]] = {}
        """What its loops and branches have printed since the last line outside of them, by the
        `print`."""

    def add(self, line: Line, values: Sequence[Any]) -> None:
        """A line outside of loops and branches."""
        self._turn()
        self.lines.append(line._replace(turn=len(self.lines)))
        self.values += values

    def _turn(self) -> None:
        turn = len(self.lines)
        for line, values in self.places.values():
            if line is not None:
                self.lines.append(line._replace(turn=turn))
                self.values += values
        self.places = {}

    def record(self) -> None:
        """Print it here."""
        self.trace.showing = None
        self._turn()
        if not self.lines:
            return
        params = {"lines": tuple(self.lines), "lanes": 0}
        if self.values:
            bind(show_op, self.values, params)
        else:
            self.trace.emit(show_op, [], params)


def _showing(trace: Trace) -> _Showing:
    if trace.showing is None:
        trace.showing = _Showing(trace)
    found: _Showing = trace.showing
    return found


class ShownPlace:
    """What one `print` has printed: how often, when, and the values of its last lines. Without a
    line: how many lines all of them have printed."""

    lasts = True

    def __init__(self, session: Session, line: Line | None, types: Sequence[Any] = ()) -> None:
        self.session, self.line, self.types = session, line, tuple(types)
        self.name = "what is printed"
        self.key: Any = "shown", line, self.types

    def get(self) -> Any:
        """It, in the innermost trace that has it; nothing printed yet, where none has."""
        for t in reversed(STATE.traces):
            if t.showing is not None and self.key in t.showing.places:
                return t.showing.places[self.key][1]
        trace = _base(self.session)
        with inside_of(trace):
            made: Any = np.int64(0)
            if self.line is not None:
                kept = self.line.kept
                arrays = [ops.zeros((kept, *s), d) for d, s in self.types]
                made = np.int64(0), ops.zeros((kept,), np.int64), *arrays
        _showing(trace).places[self.key] = self.line, made
        return made

    def put(self, value: Any) -> None:
        """Set it."""
        trace = STATE.traces[-1]
        if trace.showing is not None:
            trace.showing.places.pop(self.key, None)
        if value is not self.get():
            _showing(trace).places[self.key] = self.line, value


def _base(session: Session) -> Trace:
    """The trace around the branches and bodies that are open."""
    found = STATE.traces[-1]
    for body in reversed(session.regions):
        if body.trace is not found:
            break
        found = STATE.traces[STATE.traces.index(found) - 1]
    return found


def _keep(session: Session, line: Line, values: Sequence[Any]) -> None:
    """Print in a branch or body."""
    size = sum(
        x.dtype.itemsize * int(np.prod([s if isinstance(s, int) else 64 for s in x.shape]))
        for x in values
    )
    line = line._replace(kept=max(8, min(MOST, BYTES // max(size, 1))))
    time = ShownPlace(session, None)
    place = ShownPlace(session, line, [(x.dtype, tuple(x.shape)) for x in values])
    for p in (time, place):
        p.get()
        change(session, p, session)
    now = time.get()
    count, times, *arrays = place.get()
    at = ops.remainder(count, line.kept)
    kept = [inside(a)._alias() for a in (times, *arrays)]
    # A program that is failing would not be here any more.
    failing = is_failing()
    for a, x in zip(kept, (now, *values), strict=True):
        a[at] = x if failing is False else ops.where(failing, a[at], x)
    more = 1 if failing is False else ops.where(failing, np.int64(0), np.int64(1))
    place.put((ops.add(count, more), *kept))
    time.put(ops.add(now, more))


class Printing:
    """The helpers of `print` and of the texts that are given to it."""

    line_of: Callable[[int], str]

    def printed(self, line: int, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """`print(*args, **kwargs)`."""
        file = kwargs.get("file")
        stream = "stderr" if file is sys.stderr else "stdout"
        if not STATE.traces:
            builtins.print(*args, **kwargs)
            return
        if file is not None and file is not sys.stdout and file is not sys.stderr:
            session = current()
            if not (any_in(tuple(args), _open, 8) or (session is not None and session.regions)):
                builtins.print(*args, **kwargs)
                return
            raise Refused(
                f"{self.line_of(line)}: print(..., file=...) of a compiled function prints to "
                "sys.stdout or sys.stderr only. Return the values, and write them to the file."
            )
        between, end = kwargs.get("sep"), kwargs.get("end")
        writer = _LineMaker()
        for k, x in enumerate(args):
            if k:
                writer.pieces.append(" " if between is None else between)
            writer.add(x, "s" if not isinstance(x, OpenText) else "")
        writer.pieces.append("\n" if end is None else end)
        _show(writer, stream)

    def text(self, line: int, *parts: Any) -> Any:
        """An f-string: texts, and (value, conversion, format)."""
        writer = _LineMaker()
        for p in parts:
            if isinstance(p, str):
                writer.pieces.append(p)
            else:
                writer.add(p[0], p[1], str(p[2]))
        return writer.text()

    def percent(self, line: int, format: Any, values: Any) -> Any:
        """`format % values` of a text that the user writes."""
        return _percent(format, values)

    def formatted(self, line: int, format: str, *args: Any, **kwargs: Any) -> Any:
        """`format.format(...)` of a text that the user writes."""
        return _formatted(format, args, kwargs)


__all__ = ["OpenText", "Printing", "ShownPlace", "debug_print"]
