"""Recording operations into a graph while the user's Python function runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
from typing import Any, Protocol, Self

import numpy as np

from .._codegen import integers, options
from ..checks import explained_here
from ..devices import DeviceArray
from ..dtypes import check
from ..errors import ConcretizationError, EscapedValueError, TracegradError
from ..sizes import SIZES, SYMBOLIC, Meeting, Owner, Size, Sizes, forms, within_64_bits
from ..types import ArrayType, show, type_of
from ..weak import as_python
from . import upward
from .contents import SMALL, digest, share, writable
from .dispatch import STATE, Value, no_operand
from .forms import Forms, never_negative, told
from .graph import Atom, Graph, Literal, Node, Var
from .lines import FOREIGN as FOREIGN
from .lines import text_for_program, user_place
from .lines import user_line as user_line
from .op import Op
from .operands import plain_array


class TextError(ConcretizationError):
    """The program made a text of a value that is not known while it is traced."""


class Stager(Protocol):
    """Who may have what is traced rewritten, and the trace started again."""

    def grown(self, trace: Trace) -> int:
        """The graph has grown; the number of nodes at which to ask next."""

    def pinned(self, trace: Trace) -> None:
        """The program needs a size as a number."""


_NUMBERS = frozenset((bool, int, float, complex))
WRITTEN_APART = (
    "{name} writes into a Tensor of shape {shape} from outside, whose memory something else that "
    "it reads shows, too: an argument, or what its detach() or data gave. Take that inside of the "
    "function, where it follows the write, or take a copy."
)


class Trace:
    """An open graph. Entering it makes it the innermost trace of this thread.

    captures: what the function read without being given it (arrays, and boxed values of enclosing
    levels), by reference.
    """

    aside = False
    """Whether it is recorded beside what runs (aside.py)."""
    repeated = ""
    """Of a loop's body and the like: what to do in place of what would be done once."""

    def __init__(self, name: str, sizes: Sizes | None = None, keep_lines: bool = True) -> None:
        self.name = name
        self.derived = False
        """Whether it makes a derivative or a batch of a graph, which is kept with that."""
        self.options = options.PLAIN
        """How what it records is compiled."""
        self.thread = get_ident()
        self.level = 0
        """Of a trace aside: the level of forward mode whose tangents it records, if that is all it
        is for."""
        self.finished = False
        self.inputs: list[Var] = []
        self.nodes: list[Node] = []
        self.sizes: Sizes = sizes or (STATE.traces[-1].sizes if STATE.traces else Sizes())
        self.captures: dict[Any, tuple[Var, Any]] = {}
        self.contents: dict[Any, tuple[np.ndarray[Any, Any], int, str]] = {}
        """Of captured arrays: what they held at their first use, and where that was."""
        self.deciding: list[Any] = []
        """Arrays whose elements decided what is recorded (where entries of a matrix are), and boxes
        from outside whose elements the program asked for."""
        self.live: set[Var] = set()
        """The variables that the tape knows to depend on something that requires grad."""
        self.made: dict[int, Any] = {}
        """Boxes of concrete arrays that were made inside."""
        self.touched: dict[int, tuple[Any, Any]] = {}
        """Boxes from outside that the function changed: each with what it was."""
        self.journal: dict[int, tuple[Any, Any]] | None = None
        """While a part of the function may have to run again: the boxes that it changed."""
        self.asked: dict[int, Any] = {}
        """Boxes from outside whose `grad` was looked at before it was set."""
        self.answered: set[int] = set()
        """Boxes whose `grad` was set, so that what it was before does not matter from then on."""
        self.entries: dict[Any, dict[Any, Any]] = {}
        """By jitted function, what was traced of it for sizes that are symbols of this trace."""
        self.watch: Any = None
        """Who looks at the Python state that the function changes (surroundings/state.py)."""
        self.swept = False
        """Whether a backward pass ran while it was open."""
        self.former: list[tuple[Any, Any]] = []
        """Boxes from outside that were changed, and the memory that they had before."""
        self.apart: dict[int, int] = {}
        """With how many of those captured memory, by its identity, shares nothing."""
        self.text = ""
        """Where the program made a text of a value whose elements are not known, and of which type
        it is."""
        self.failing: Any = None
        """The number of the exception with which the program is about to end, and what records it
        (staging/failing.py)."""
        self.showing: Any = None
        """What loops and branches of the program have printed so far (staging/printing.py)."""
        self.keep_lines = keep_lines
        self.where = ""
        self.note = ""
        """What a node is for, where a transform records it: `adjoint of mul`."""
        self.lying: Any = None
        """How what it makes would lie in NumPy's memory (faces/traced_memory.py)."""
        self.opened: FrameType | None = None
        """What runs the user's function, while it is open."""
        self.nameless = False
        """Whether variables of the program are none of what is recorded."""
        self.last: tuple[Any, tuple[Var, ...]] = None, ()
        """The instruction of the program that asked for an operation last, and the results."""
        self.outer: tuple[list[Trace], tuple[int, ...], list[Owner], int] = ([], (), [], 0)
        """What was open around it: traces, levels of forward mode, sizes, modes."""
        self.forms = Forms()
        self.most = sys.maxsize
        self.meet: Meeting | None = STATE.traces[-1].meet if STATE.traces else None
        """Who brings arrays to one shape whose lengths only a run knows, where there may be any."""
        self.met: dict[integers.Int, tuple[integers.Int, ...]] = {}
        """The lengths of what was made of such arrays, and of which ones."""
        self.stager: Stager | None = None
        """Asked when there are more nodes than `most`, and when a size is pinned."""
        self.device: Any = STATE.traces[-1].device if STATE.traces else None
        """Where the graph will run, as far as what it was given tells; None stands for the CPU or
        not known."""

    def choose_device(self, device: Any) -> None:
        """The graph will run on this device; a RuntimeError where another one was chosen before."""
        if self.device is not None and self.device != device:
            raise RuntimeError(
                f"{user_line()}: a compiled function runs on one device, "
                f"but {self.name} meets arrays on {self.device} and on {device}. "
                "Move them to one device before the call, or split the function."
            )
        self.device = device

    def __enter__(self) -> Self:
        self.outer = STATE.traces, STATE.levels, SIZES.open, STATE.special
        self.opened = sys._getframe(1)
        STATE.special += 1
        # To this trace, what is dual at an enclosing level is an opaque input.
        STATE.traces = [*STATE.traces, self]
        STATE.levels = ()
        SIZES.open = [*SIZES.open, self]
        return self

    def __exit__(self, *exception: object) -> None:
        assert STATE.traces[-1] is self
        self.opened = None
        STATE.traces, STATE.levels, SIZES.open, STATE.special = self.outer
        if exception and exception[0] is not None:
            self.close()

    # --- the owner of its symbolic sizes ----------------------------------------------------------

    @property
    def hints(self) -> dict[str, int]:
        return self.sizes.hints

    def decide(self, relation: str, difference: integers.Int) -> bool:
        return self.sizes.decide(relation, difference)

    @property
    def late(self) -> frozenset[str]:
        return self.sizes.late

    def proven(self, relation: str, difference: integers.Int) -> bool | None:
        return told(relation, difference)

    def pin(self, value: integers.Int) -> int:
        if self.stager is not None:
            self.stager.pinned(self)
        return self.sizes.pin(value)

    def shown(self) -> bool:
        return text_for_program()

    def box(self, size: integers.Integer) -> Any:
        return upward.FACES.number(size)

    # --- recording --------------------------------------------------------------------------------

    def input(self, type: ArrayType, name: str = "") -> Var:
        var = Var(type, name, self)
        self.inputs.append(var)
        return var

    def lift(self, x: Any) -> Atom:
        """An operand as an atom of this trace: its own variables stay, scalars become literals, all
        else is captured."""
        data = x._data if isinstance(x, Value) else x
        if isinstance(data, Var):
            if data.trace is self:
                return data
            if is_left_over(data) or data.trace not in STATE.traces:
                raise left_over(data)
        elif isinstance(
            data, (bool, int, float, complex, np.generic, *SYMBOLIC)
        ) and not isinstance(x, Value):
            if isinstance(data, np.generic):
                check(data.dtype)
            elif type(data) not in _NUMBERS and isinstance(data, (int, float, complex)):
                data = np.asarray(data)[()]  # of an IntEnum, say: of its dtype, as for NumPy
            return Literal(within_64_bits(data) if type(data) is Size else as_python(data))
        elif isinstance(data, np.ndarray):
            plain_array(data, f"{self.name} uses")
            if data.dtype.hasobject and all(type(n) is int for n in data.flat):
                # `np.arange(n)` of a symbolic size: Python numbers, which pinned it.
                x = data = np.array(data.tolist())
        key: Any = id(data)
        if self.former and self.keep_lines and isinstance(data, np.ndarray):
            self.check_current(x, data)  # of the program: a sweep reads what was saved
        if isinstance(x, Value):
            key = (key, id(x._grad_fn), x._output_nr, id(x._tangents))
        found = self.captures.get(key)
        if found is None:
            kind = data.type if isinstance(data, Var) else type_of(data)
            if isinstance(data, DeviceArray):
                self.choose_device(data.device)
            elif not isinstance(data, (np.ndarray, Var)) and not isinstance(x, Value):
                x = np.asarray(x)
            if isinstance(x, Value) and self._is_written(x):
                # A box from outside that was written to is put back when this is finished.
                x = x._alias()
            found = self.captures[key] = (Var(kind, getattr(data, "name", ""), self), (x, data))
            if isinstance(x, Value) and x._on_tape():
                self.live.add(found[0])
        if is_lent(x):
            memory = x._data if isinstance(x, Value) else x
            # Large ones at their first use and at the end only: to look through them takes a while.
            if memory.nbytes <= SMALL or key not in self.contents:
                self.unchanged(key, memory)
        return found[0]

    def _is_written(self, x: Any) -> bool:
        """Whether a box from outside holds something else than it did."""
        _, ((was, *_), *_) = self.touched.get(id(x), (x, ((x._data,),)))
        return was is not x._data

    def check_current(self, x: Any, data: Any) -> None:
        """A TracegradError where a box from outside shows memory of another one that was written:
        it does not follow that here."""
        for k in range(self.apart.get(id(data), 0), len(self.former)):
            box, memory = self.former[k]
            if data is not memory and not share(data, memory):
                if k == self.apart.get(id(data), 0):
                    self.apart[id(data)] = k + 1
                continue
            if getattr(x, "_root", x) is not box._root and box._data is not memory:
                raise TracegradError(
                    f"{user_line()}: " + WRITTEN_APART.format(name=self.name, shape=show(box.shape))
                )

    def unchanged(self, key: Any, x: np.ndarray[Any, Any]) -> None:
        """A TracegradError where a captured array does not hold what it held at its first use: the
        graph reads it once, when it is called."""
        known = self.contents.get(key)
        if known is None:
            self.contents[key] = x, digest(x), user_line() if self.keep_lines else self.where
        elif digest(x) != known[1]:
            raise TracegradError(
                f"{known[2]}: an array of shape {x.shape} is used here, and written to "
                f"later in {self.name}, which is traced: all that used it would see what "
                "it holds in the end. Make a new array in place of writing into this one, "
                "or write into a traced array: np.zeros_like(v) of a traced v, or tg.zeros(n)."
            )

    def emit(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> tuple[Var, ...]:
        """Append an application of `op`; the new variables."""
        # Sizes that are known late, which no argument has, are seen as such, too.
        if params:
            params = {key: forms(value) for key, value in params.items()}
        try:
            atoms = tuple([self.lift(x) for x in inputs])
            types = op.infer(*atoms, **params)
        except (ValueError, TypeError, IndexError) as error:
            raise no_operand(op, inputs) or explained_here(error, op.name) from error.__cause__
        if self.sizes.late:
            self.check_lengths(op, types)
        outputs = tuple([Var(t, "", self) for t in types])
        where = self.where
        if self.keep_lines:
            where, instruction, names = user_place(self.opened)
            if not self.nameless:
                self._assign(names, instruction, outputs)
        node = Node(op, atoms, params, outputs, where, self.note)
        if not outputs and not node.effects:
            return outputs  # a branch or a loop that gives nothing
        if self.showing is not None and node.effects:
            self.showing.record()  # which comes before what this may print
        self.nodes.append(node)
        if len(self.nodes) > self.most and self.stager is not None:
            self.most = self.stager.grown(self)
        return outputs

    def check_lengths(self, op: Op, types: Sequence[ArrayType]) -> None:
        """A ConcretizationError for a length that only a run knows and that may be below 0 then."""
        late = self.sizes.late
        for n in {n for t in types for n in t.shape if not isinstance(n, int)}:
            if not late.isdisjoint(integers.symbols(n)) and not never_negative(n):
                raise ConcretizationError(
                    f"{user_line()}: {op.name} would make an array of length {n}, which may be "
                    "negative when the function runs, since an array may be shorter than this "
                    "takes. Choose by an `if` on its length before."
                )

    def _assign(
        self, names: tuple[str, ...], instruction: object, outputs: tuple[Var, ...]
    ) -> None:
        """Give results the names of the variables to which the program assigns what its instruction
        makes: of several operations that one instruction asks for, the last makes that."""
        if names:
            last, before = self.last
            if instruction == last:
                for var in before:
                    var.name = ""
            if len(outputs) == len(names):
                for var, name in zip(outputs, names, strict=True):
                    var.name = name
        self.last = instruction, outputs

    @contextmanager
    def without_names(self) -> Iterator[None]:
        """What is recorded in this block belongs to a value that has the user's name for itself."""
        kept, self.nameless = self.nameless, True
        try:
            yield
        finally:
            self.nameless = kept

    def call(self, x: Any, name: str) -> None:
        """Give a value of this trace a name where it has none."""
        var = x._data if isinstance(x, Value) else x
        if name and type(var) is Var and var.trace is self and not var.name:
            var.name = name

    def boxed(self, op: Op, inputs: Sequence[Any], params: dict[str, Any]) -> Any:
        """The results of an operation none of whose operands is boxed."""
        made = [upward.FACES.box(o, None, 0) for o in self.emit(op, inputs, params)]
        return made[0] if op.outputs == 1 else tuple(made)

    def finish(self, outputs: Sequence[Any], made_by: str = "trace") -> tuple[Graph, list[Any]]:
        """The graph, whose inputs are the declared ones and then the captures, and the captured
        objects in that order."""
        if self.showing is not None:
            self.showing.record()
        if self.failing is not None:
            self.failing.record()
        for key, (x, _, _) in self.contents.items():
            self.unchanged(key, x)
        if self.text:
            raise TextError(self.text)
        atoms = tuple([self.lift(x) for x in outputs])
        captured = list(self.captures.values())
        graph = Graph(
            self.name,
            (*self.inputs, *[v for v, _ in captured]),
            tuple(self.nodes),
            atoms,
            self.sizes,
            made_by,
            self.options,
        )
        self.close()
        return graph, [x for _, (x, _) in captured]

    def close(self) -> None:
        """Let go of the variables, which remember where they come from."""
        self.finished = True
        # A checkpoint runs again what it ran while this level of forward mode was open, and needs
        # none of what is recorded then.
        trace = self if self.level else None
        for var in (*self.inputs, *[v for v, _ in self.captures.values()]):
            var.trace, var.origin = trace, (self.name, "", "")
        for node in self.nodes:
            for var in node.outputs:
                var.trace, var.origin = trace, (self.name, node.op.name, node.where)


@contextmanager
def outside() -> Iterator[None]:
    """What runs in this block runs as if no trace were open: it sees values, and its operations are
    carried out."""
    traces, levels, sizes = STATE.traces, STATE.levels, SIZES.open
    try:
        if traces:
            STATE.traces, STATE.levels, SIZES.open = [], traces[0].outer[1], []
        yield
    finally:
        STATE.traces, STATE.levels, SIZES.open = traces, levels, sizes


@contextmanager
def inside_of(trace: Trace) -> Iterator[None]:
    """What runs in this block is recorded by this trace, which is open, and not by those that were
    opened inside of it."""
    traces, levels, sizes = STATE.traces, STATE.levels, SIZES.open
    inner = traces[traces.index(trace) + 1 :]
    try:
        if inner:
            STATE.traces = traces[: -len(inner)]
            STATE.levels = inner[0].outer[1]
            SIZES.open = sizes[: -len(inner)]
        yield
    finally:
        STATE.traces, STATE.levels, SIZES.open = traces, levels, sizes


def is_lent(x: Any) -> bool:
    """Whether the user may write into the memory of an operand, by NumPy, which nobody sees."""
    if x.__class__ is np.ndarray:
        return writable(x)
    if not isinstance(x, Value) or x._data.__class__ is not np.ndarray:
        return False
    return (x.boxes_everything or x._borrowed) and writable(x._data)


def shown(var: Var) -> str:
    """The text of a traced value. It would be the same at each call, so a trace in which the
    program makes one ends in an error, unless it ends in one anyway: the text may stand in that."""
    trace: Trace | None = var.trace
    if trace is not None and not trace.text and trace in STATE.traces and text_for_program():
        trace.text = (
            f"{user_line()}: a text (print, str, an f-string) needs the value of a "
            f"traced array ({var.type}), which is not known while the function is traced, "
            "so that each call would have the same text. Print it where your function does that "
            "by itself, with tg.debug_print, or return it; shapes and dtypes are known."
        )
    return f"<traced {var.type}>"


def is_left_over(var: Var) -> bool:
    """Whether a variable belongs to a trace that is closed, or that another thread has open."""
    trace = var.trace
    return (
        trace is None
        or trace.thread != get_ident()
        or (trace.finished and trace.level not in STATE.levels)
    )


def left_over(var: Var) -> EscapedValueError:
    """The error of using a variable of a trace that is closed, or that another thread has open."""
    if var.trace is not None and var.trace.thread != get_ident():
        return EscapedValueError(
            f"{user_line()}: a traced value ({var.type}) of {var.trace.name!r}, which another "
            "thread is tracing, is used in this thread. A traced function runs in one thread: "
            "let it compute there, or hand arrays to other threads outside of it. "
            "If it is a Tensor that the function changes (a parameter that is trained), "
            "call the function once before other threads use it."
        )
    name, op, where = var.origin or ("a function", "", "")
    what = (
        f"made by {op}{f' at {where}' if where else ''} in {name!r}"
        if op
        else f"an argument of {name!r}"
    )
    return EscapedValueError(
        f"{user_line()}: a traced value ({var.type}), {what}, is used after the function "
        "that made it was traced. It was probably stored in a list, an attribute or "
        "a global inside a loop's body, a branch or a function given to jit or vmap, "
        "where it stands for the values of all calls. Return it from that function: "
        "as its result, as part of a loop's carry, or as what tg.scan stacks."
    )
