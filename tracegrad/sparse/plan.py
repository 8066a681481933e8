"""How the values of one sparse derivative are computed, for arguments of one signature: in which
places, by which method, by which compiled function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._codegen import options
from ..dtypes import is_differentiable
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.trace import Trace
from ..runtime.execute import Executable, executable_for
from ..runtime.standalone import standalone
from ..tape.modes import restoring
from ..tensor import Array
from ..types import ArrayType
from .structure import SparseStructure


@dataclass(frozen=True, eq=False)
class SparsePlan:
    """How values are computed: a graph of the inputs of the traced function, of what it reads
    around it, and of `constants`."""

    structure: SparseStructure
    method: str
    colours: int
    """How many products it takes; 0 for direct values."""
    graph: Graph
    constants: tuple[np.ndarray, ...]
    dtype: np.dtype[Any]
    fixed: dict[int, np.ndarray]
    """The inputs whose values decided where entries are, as they were."""
    dense_at: tuple[str, ...]
    """The operations of which more was assumed than is known, with their lines."""
    begins: bool = False
    """Whether the first constant is what the values begin with, in whose memory they are computed;
    after them there may be a place for what does not count."""
    sure: Callable[[], Any] | None = None
    """The pattern without what was assumed, as a sparse array; None where nothing was."""

    @functools.cached_property
    def assumed(self) -> np.ndarray:
        """Which entries are there only because more was assumed than is known."""
        s = self.structure
        if self.sure is None:
            return np.zeros(len(s), np.bool_)
        known, width = self.sure().tocoo(), s.shape[1]
        keys, sure = (
            rows.astype(np.int64) * width + columns
            for rows, columns in ((s.rows, s.columns), known.coords)
        )
        return ~np.isin(keys, sure)

    @functools.cached_property
    def executable(self) -> Executable:
        """The compiled graph; it may write to what the values begin with."""
        first = len(self.graph.inputs) - len(self.constants)
        return executable_for(self.graph, (first,) if self.begins else ())

    def values(self, inputs: Sequence[Any], out: np.ndarray | None = None) -> np.ndarray:
        """The values in the order of the structure, in `out` where that is given."""
        count = len(self.structure)
        if out is not None and not out.flags.c_contiguous:
            out[...] = self.values(inputs)
            return out
        if not self.begins:
            memory = np.empty(count, self.dtype) if out is None else out
            self.executable([*inputs, *self.constants], [memory])
            return memory
        first = self.constants[0]
        memory = out if out is not None and len(first) == count else np.empty_like(first)
        memory[...] = first
        (found,) = self.executable([*inputs, memory, *self.constants[1:]])
        if out is None:
            return found[:count]
        if found is not out:
            out[...] = found[:count]
        return out

    def quick(
        self, args: Sequence[Any], out: np.ndarray, holds: Callable[[], bool]
    ) -> Callable[[tuple[Any, ...], Any], bool] | None:
        """`values` for arrays like these alone and with nothing looked at twice, while `holds`:
        whether it was that. None where that is not possible."""
        count = len(self.graph.inputs) - len(self.constants)
        if self.begins or len(args) != count or not all(map(_plain, (*args, out))):
            return None
        compiled = self.executable.kernel_for([*args, *self.constants])
        dtypes, ndarray = compiled.in_dtypes, np.ndarray
        if compiled.symbols or any(x.dtype != d for x, d in zip(args, dtypes, strict=False)):
            return None
        like = [(x.shape, x.dtype) for x in (*args, out)]
        constants = [np.asarray(c, d) for c, d in zip(self.constants, dtypes[count:], strict=True)]
        run, alone, shares = compiled.run, compiled.alone(), np.may_share_memory

        def values(args: tuple[Any, ...], out: Any) -> bool:
            given = (*args, out)
            if len(given) != len(like):
                return False
            apart = True
            for x, (shape, dtype) in zip(given, like):  # noqa: B905  compared above
                if type(x) is not ndarray or x.shape != shape or x.dtype is not dtype:
                    return False
                flags = x.flags
                if not flags.carray:
                    return False
                apart = apart and flags.owndata
            for x in args:
                # Arrays that own their memory overlap with no other one, which is quickly seen.
                if x is out or (not apart and shares(x, out)):
                    return False
            if not holds():
                return False
            if alone is not None:
                alone((*args, *constants, out))
            else:
                run((*args, *constants), (), (out,))
            return True

        return values

    def traceable(self, inputs: Sequence[Any], count: int) -> Callable[..., Any]:
        """The values as a function of the first `count` inputs, on traced values, too."""
        rest, size = [*inputs[count:], *self.constants], len(self.structure)
        return lambda *leaves: evaluate(self.graph, [*leaves, *rest])[0][:size]

    @restoring
    def njit(self, inputs: Sequence[Any], count: int) -> Any:
        """A Numba dispatcher of the first `count` inputs; what the function reads around it is
        built in."""
        given, size = [*inputs, *self.constants], len(self.structure)
        graph = self.graph
        if self.graph.outputs[0].type.shape != (size,):
            trace = Trace(graph.name)
            with trace:
                boxes = [Array(trace.input(v.type)) for v in graph.inputs]
                graph, captures = trace.finish([evaluate(graph, boxes)[0][:size]])
            assert not captures
        return standalone(graph, given, count, "freeze")


def _plain(x: Any) -> bool:
    """Whether an argument is an array as kernels take it."""
    return type(x) is np.ndarray and bool(x.flags.carray)


@dataclass(frozen=True)
class Wish:
    """What is asked for."""

    order: str = "csr"
    """Along rows ("csr", "coo"), along columns ("csc"), block by block ("bsr")."""
    symmetric: bool = False
    lower: bool = False
    method: str = "auto"
    limit: int = 2**25


def dtype_of(graph: Graph) -> np.dtype[Any]:
    """The dtype of the derivative."""
    kinds = [a.type.dtype for a in graph.outputs if is_differentiable(a.type.dtype)]
    return np.result_type(*kinds) if kinds else np.dtype(np.float64)


def fixed_inputs(read: Iterable[int], inputs: Sequence[Any]) -> dict[int, np.ndarray]:
    return {k: np.array(inputs[k]) for k in sorted(read)}


@restoring
def traced_values(
    name: str, values: Callable[..., Any], types: Sequence[Any], constants: Sequence[np.ndarray]
) -> tuple[Graph, tuple[np.ndarray, ...]]:
    """The graph of `values(inputs, *constants)`, and all of its constants."""
    trace = Trace(name)
    with trace:
        inputs = [Array(trace.input(t)) for t in types]
        given = [Array(trace.input(ArrayType(c.dtype, c.shape))) for c in constants]
        graph, captures = trace.finish([values(inputs, *given)])
    more = [np.asarray(getattr(c, "_data", c)) for c in captures]
    return graph.replace(options=options.CodeOptions(checked=False)), (*constants, *more)


__all__ = ["SparsePlan", "Wish"]
