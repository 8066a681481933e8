"""On what it rests how the arrays of a trace lie, asked where a write goes through a reshape: NumPy
has views or copies there, as arrays lie. What is not known is refused; what rests on arguments in C
order is noted, and calls see that they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import lowering
from ..errors import ConcretizationError
from ..ir.dispatch import Value
from ..ir.graph import Graph, Node, Var
from ..ir.trace import Trace, user_line
from ..ops.arrays.creation import iota_op
from ..ops.arrays.shape import reshape_op
from ..ops.matrices.cholesky import cholesky_op
from ..ops.matrices.eigenvalues import eigh_op
from ..ops.matrices.products import matmul_op, mv_op
from ..ops.matrices.spectral import svd_op
from ..ops.matrices.systems import inv_op, solve_op
from ..ops.matrices.triangular import qr_op
from ..ops.places.indexing import slice_put_op
from ..sizes import same, same_shape
from .strides import Memory, after, contiguous, in_order, without_gaps
from .traced_memory import (
    VIEWS,
    TracedMemory,
    kept,
    memory_of,
    of_trace,
    sources_of,
)

IN_ORDER = {iota_op, matmul_op, mv_op, inv_op, solve_op, cholesky_op, qr_op, eigh_op, svd_op}
"""Operations whose results NumPy has in C order, however their operands lie."""


def told_by_memory(base: Any, view: Sequence[tuple[Any, Any]]) -> bool:
    """Whether it depends on how the base lies if this is a view of it: reshapes of one axis, and
    those that add and leave out axes of length 1, always are."""
    if not any(op is reshape_op for op, _ in view):
        return False
    shown: Memory | None = (base.shape, in_order(base.shape))
    for op, params in view:
        if shown is None:
            return True
        if op is reshape_op:
            before, now = ([n for n in s if not same(n, 1)] for s in (shown[0], params["shape"]))
            if len(before) > 1 and not same_shape(before, now):
                return True
            shown = tuple(params["shape"]), in_order(params["shape"])
        else:
            shown = after(op, params, shown)
    return False


def see_certain(base: Any) -> None:
    """See that it is known how a base of an open trace lies.

    Raises ConcretizationError where it is not.
    """
    data = base._data
    if type(data) is not Var or data.trace is None:
        return
    _see(data.trace, sources_of(of_trace(data.trace), base))


def _see(trace: Trace, wanted: Sequence[Var]) -> None:
    """See that it is known how these variables of an open trace lie."""
    known = of_trace(trace)
    known.follow(trace)
    outside = origins(known, wanted)
    for var in trace.inputs if outside else ():
        if var in outside:
            known.rests[var] = user_line()
    for var, (_, data) in trace.captures.values() if outside else ():
        if var in outside and type(data) is Var and data.trace is not None:
            _see(data.trace, [data])  # in a trace around this one


def see_write(root: Any, view: Sequence[tuple[Any, Any]]) -> None:
    """The same for a base that is written to through a view, where that or something else shares
    its memory as it lies."""
    if told_by_memory(root, view):
        see_certain(root)
    data = root._data
    if type(data) is not Var or data.trace is None or data.trace.lying is None:
        return
    for made, base in of_trace(data.trace).choices:
        one, other = made(), base()
        if one is not None and other is not None and (other is root or one._root is root):
            see_certain(other)


def origins(known: TracedMemory, wanted: Sequence[Var]) -> set[Var]:
    """The variables from outside on whose memory rests how these lie, but for those of which that
    was asked before."""
    todo, seen, outside = list(wanted), set[Var](), set[Var]()
    while todo:
        var = todo.pop()
        if var in seen or var in known.certain:
            continue
        seen.add(var)
        if var in known.told:
            todo += known.told[var]
        elif var in known.makers:
            todo += _sources(known.makers[var], known)
        else:
            outside.add(var)
    known.certain |= seen
    return outside


def _sources(node: Node, known: TracedMemory) -> list[Var]:
    """The variables by whose memory NumPy lays out what an operation gives."""
    op, arrays = node.op, [x for x in node.inputs if isinstance(x, Var)]
    written = op is slice_put_op or isinstance(op.lowering, lowering.Scatter)
    if op in VIEWS or written:
        return arrays[:1]
    if op in IN_ORDER:
        return []
    if isinstance(op.lowering, lowering.Pointwise):
        ndim = len(node.outputs[0].type.shape)
        return [x for x in arrays if len(x.type.shape) == ndim]
    if isinstance(op.lowering, lowering.Gather) and not node.params["aligned"]:
        return arrays[:1]
    arrays = [x for x in arrays if len(x.type.shape) > 1]
    inner = _graphs(node.params)
    orders = [kept([known.memory(x)]) for x in arrays]
    if any(axes != sorted(axes) for axes in orders) or not all(map(gives_in_order, inner)):
        raise ConcretizationError(
            f"{user_line()}: a write meets an array and a reshape of it. Whether that is a view or "
            f"a copy depends on how NumPy lays out what {op.name} gives ({node.where}), which is "
            "not known here. Reshape np.ascontiguousarray(a), or a.copy(), in place of a."
        )
    return arrays


def _graphs(params: Any) -> list[Graph]:
    """The graphs that an operation holds."""
    if isinstance(params, Graph):
        return [params]
    if isinstance(params, dict):
        return [g for p in params.values() for g in _graphs(p)]
    if isinstance(params, (list, tuple)):
        return [g for p in params for g in _graphs(p)]
    return []


def gives_in_order(graph: Graph) -> bool:
    """Whether what a graph gives lies in C order if what it is given does."""
    known = TracedMemory()
    known.look(graph.nodes)
    outputs = [x for x in graph.outputs if isinstance(x, Var) and len(x.type.shape) > 1]
    try:
        origins(known, outputs)
    except ConcretizationError:
        return False
    return all(map(without_gaps, map(known.memory, outputs)))


def rests_of(trace: Any, variables: Sequence[Var]) -> dict[int, str]:
    """The numbers of the inputs that were taken to lie in C order, and where."""
    rests = {} if trace.lying is None else of_trace(trace).rests
    return {k: rests[v] for k, v in enumerate(variables) if v in rests} if rests else {}


def see_in_order(name: str, rests: dict[int, str], leaves: Sequence[Any], axes: Any = None) -> None:
    """See that the arguments lie in C order of which a traced function needs that; of those that
    are mapped, their items.

    Raises ConcretizationError where they do not.
    """
    for k, line in rests.items():
        x = leaves[k]
        axis = None if axes is None else axes[k]
        data = x._data if isinstance(x, Value) else x
        if type(data) is Var:
            see_certain(x._root)
            found = contiguous(memory_of(x._root), x._view) and not axis
        elif isinstance(data, np.ndarray):
            one = data
            if axis is not None and data.shape[axis]:
                one = data[(slice(None),) * axis + (0,)]
            found = one.flags.c_contiguous
        else:
            found = True
        if not found:
            raise ConcretizationError(
                f"{line}: {name} writes into a reshape here, which is a view of arrays in C order, "
                f"and a copy of others. Argument {k} is one of those: pass np.ascontiguousarray of "
                "it, or reshape a copy."
            )
