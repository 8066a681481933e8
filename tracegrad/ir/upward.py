"""All that is called upwards: what a lower room needs of a higher one, which cannot be imported.

Each name stands for one object that a module above provides once, when it is loaded, which is when
it is first called; a test counts them. Before adding one, move the definition down, the caller up,
or pass the function along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .._codegen import loading

if TYPE_CHECKING:
    from .graph import Graph
    from .op import Op


class Faces(Protocol):
    """The classes of boxed values, for traces and for the tape."""

    tensor: Any
    """The class `Tensor`: hooks and unpacked values have it."""

    def box(self, data: Any, grad_fn: Any, output_nr: int) -> Any:
        """A value of the other face, `Array`, at this place on the tape (none: `grad_fn` None)."""

    def number(self, size: Any) -> Any:
        """A symbolic size as a number of the innermost trace, for arithmetic that leaves the
        integers (`1 / n`, `0.5 * n`)."""


class Compiler(Protocol):
    """Runs graphs and operations as compiled code."""

    def run(self, graph: Graph, arrays: Sequence[Any]) -> Sequence[Any]:
        """The results of a graph of plain arrays."""

    def apply(
        self, op: Op, inputs: Sequence[Any], data: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The value of an operation of which an operand lies on a device, as `op.evaluate` gives
        it; `inputs` are the boxes of `data`."""


class Functions(Protocol):
    """`autograd.Function` in a trace."""

    def apply(self, cls: Any, args: Sequence[Any]) -> Any:
        """Apply a Function while a trace is open."""


FACES: Faces
"""Operations on boxed values are written with the tape, which makes such values."""
COMPILER: Compiler
"""A call on the tape, and an operation on a device, run compiled code."""
FUNCTIONS: Functions
"""A Function is named `autograd.Function`, and is traced by the rooms above."""
_PROVIDED = {
    "FACES": "tracegrad.tensor",
    "COMPILER": "tracegrad.compiled.callers",
    "FUNCTIONS": "tracegrad.custom.function",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _PROVIDED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        loading.load(_PROVIDED[name])
        return globals()[name]
