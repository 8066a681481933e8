"""The kernel language: what a scheduled graph becomes before it is printed as Python source.

    program   = name, doc, sizes, buffers, phases
    sizes     = names of integers, each bound to an axis of an input buffer (`n = x.shape[0]`)
    buffer    = name, dtype, shape, role ("in" | "out" | "temp"), layout ("C" | "F" | "A")
    phase     = "parallel" (its body is exactly one outermost Loop, whose range may be cut) |
              "serial", body, memory of each thread
    statement = Let      name = expression                         (assigned once, a local scalar)
              | Declare  name = initial value                      (a mutable local scalar)
              | Update   name = combine(name, expression)
              | Store    buffer[index] = combine(buffer[index], expression)
                         (in both, combine is None for plain assignment)
              | Loop     for index in range(lo, hi): body          (step +1; unsigned)
              | While    while condition: body; a checked one ends, too, once a Check has failed
              | If       if condition: then; else: otherwise
              | Allocate name = memory of a shape that is known only while the kernel runs, or
                         another view of such memory
              | Grow     more room in such memory, as its first axis fills up
              | Call     a library routine or own kernel over whole buffers
              | Check    where the condition is false, record (code, value) in `status` and go on
    expression = Name | Literal | Load buffer[index] | Index (an integer expression as an int64
    value) | Apply (a code template over expressions, with the result's dtype)

The language names no target. Values that live across phases are buffers, never locals. Kernels
never raise. The native entry that a program becomes is

    kernel(inputs..., outputs..., arena, status, phase, lo, hi)

where `arena` is a uint8 scratch array, `status` an int64 array (code, value), `phase` the phase to
run (-1: all of them, over their full ranges), and [lo, hi) the part of that phase's parallel loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

import numpy as np

from .integers import Int, maximum
from .options import PLAIN, CodeOptions

INT64 = np.dtype(np.int64)


@dataclass(frozen=True)
class Name:
    """A local scalar."""

    name: str
    dtype: np.dtype


@dataclass(frozen=True)
class Literal:
    """A constant, typed."""

    value: bool | int | float | complex
    dtype: np.dtype
    absent: bool = field(default=False, compare=False)
    """Whether it stands where there is nothing: a sum leaves it out, and so keeps the sign of a
    zero."""


@dataclass(frozen=True)
class Load:
    """`buffer[index]`; indices are integer expressions over sizes and loop indices, or scalar
    expressions."""

    buffer: str
    index: tuple[Int | Expression, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Index:
    """An integer expression as an int64 value."""

    value: Int
    dtype: np.dtype = INT64


@dataclass(frozen=True)
class Apply:
    """A template such as `"{x} * {y}"` or `"exp({x})"`, its arguments by name, and the dtype that
    the result is cast to."""

    code: str
    arguments: tuple[tuple[str, Expression], ...]
    dtype: np.dtype


Expression: TypeAlias = Name | Literal | Load | Index | Apply
Combine: TypeAlias = OneOf["add", "mul", "max", "min", "and", "or"]


@dataclass(frozen=True)
class Let:
    name: str
    value: Expression
    comment: str = ""


@dataclass(frozen=True)
class Declare:
    name: str
    value: Expression


@dataclass(frozen=True)
class Update:
    name: str
    value: Expression
    combine: Combine | None
    exact: bool = False
    """Never reassociate (a user's own loop); otherwise additions to an accumulator may be
    reordered."""


@dataclass(frozen=True)
class Store:
    buffer: str
    index: tuple[Int | Expression, ...]
    value: Expression
    combine: Combine | None = None


@dataclass(frozen=True)
class Loop:
    index: str
    lo: Int
    hi: Int
    body: tuple[Statement, ...]
    sequential: bool = False
    """True where iterations must run in order."""
    own: frozenset[str] | None = None
    """Of a loop over items: the temporaries that each iteration writes before it reads them."""
    apart: bool = False
    """Whether no iteration reads or writes an element that another one writes."""

    @property
    def trips(self) -> Int:
        """How many passes there are: none where `hi` is below `lo`, also in compiled code, where
        integers have no sign."""
        trips = self.hi - self.lo
        if isinstance(trips, int):
            return max(trips, 0)
        return trips if self.lo == 0 else maximum(self.hi, self.lo) - self.lo


@dataclass(frozen=True)
class While:
    condition: Expression
    body: tuple[Statement, ...]
    checked: bool = False
    """Whether no pass begins once something has failed. What failed goes on with other numbers,
    which may never end the loop: so it is of every loop with checks inside."""


@dataclass(frozen=True)
class If:
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Allocate:
    """Memory for a "local" buffer. It lives until the kernel returns, or comes to this statement
    again."""

    name: str
    dtype: np.dtype
    shape: tuple[Int, ...]
    of: str = ""
    """The local buffer whose elements this one shows in another shape."""


@dataclass(frozen=True)
class Grow:
    """Room for `length` slices along the first axis of a "local" buffer; those that are there
    stay."""

    name: str
    length: Expression


@dataclass(frozen=True)
class Call:
    """`routine(arguments...)`: buffers by name, integers, literals; outputs are among the
    buffers."""

    routine: str
    arguments: tuple[str | Int | Expression, ...]
    comment: str = ""
    work: Int = 0
    """About how many additions it is worth; 0 for a routine that may use threads of its own."""
    share: tuple[Int, Int, Int] | tuple[()] = ()
    """`(begin, end, parts)`: only those from `begin` to `end` of so many equal parts of its work.
    The routine takes the three behind its other arguments. Empty for all of it."""

    @property
    def given(self) -> tuple[str | Int | Expression, ...]:
        """All that the routine is called with."""
        return (*self.arguments, *self.share)


@dataclass(frozen=True)
class Check:
    """`condition` may be `IN_AXIS` of an index `w` and a size `n`, which loops without inner loops
    ask once, behind their end."""

    condition: Expression
    code: int
    value: Expression


IN_AXIS = "(0 <= {w}) & ({w} < {n})"
Statement: TypeAlias = (
    Let | Declare | Update | Store | Loop | While | If | Allocate | Grow | Call | Check
)


@dataclass(frozen=True)
class Buffer:
    name: str
    dtype: np.dtype
    shape: tuple[Int, ...]
    role: OneOf["in", "out", "temp", "local"]
    """A temporary lies in the arena; a local one is made by an Allocate."""
    layout: OneOf["C", "F", "A"] = "C"
    """Of an input: C order; Fortran order, where `shape` is that of the transposed array, which has
    C order; or any strides."""
    offset: Int = 0
    """Where a temporary starts in the arena, in bytes."""
    of: str = ""
    """The buffer whose elements this one shows in another shape; then `offset` is not read."""


@dataclass(frozen=True)
class Phase:
    kind: OneOf["parallel", "serial"]
    body: tuple[Statement, ...]
    comment: str = ""
    local: tuple[Allocate | Let, ...] = ()
    """What each thread has for itself in a parallel phase: memory, of sizes known before, and
    numbers that it reads once."""


@dataclass(frozen=True)
class Program:
    name: str
    doc: str
    sizes: tuple[tuple[str, tuple[str, int]], ...]
    """(size name, (input buffer name, axis)) for each symbolic size."""
    buffers: tuple[Buffer, ...]
    """Inputs in call order, then outputs in call order, then temporaries."""
    phases: tuple[Phase, ...]
    errors: tuple[str, ...] = field(default=())
    """What status code k (1-based) means; `{value}` in it is the recorded value."""
    arena: Int = 0
    """The bytes that the temporaries need."""
    made_by: str = ""
    """The passes that it went through."""
    options: CodeOptions = PLAIN

    @property
    def checked(self) -> bool:
        """Whether a run can fail: with one of the errors, or (status code -1, the bytes as value)
        for lack of memory, which library routines may want, too."""
        found = [bool(self.errors)]
        for phase in self.phases:
            walk(
                (*phase.local, *phase.body), lambda s: found.append(isinstance(s, Allocate | Call))
            )
        return any(found)


def walk(body: tuple[Statement, ...], visit: Callable[[Statement], None]) -> None:
    """Call `visit` on every statement, outermost first."""
    for statement in body:
        visit(statement)
        if isinstance(statement, (Loop, While)):
            walk(statement.body, visit)
        elif isinstance(statement, If):
            walk(statement.then, visit)
            walk(statement.otherwise, visit)
