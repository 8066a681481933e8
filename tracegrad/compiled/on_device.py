"""Operations and graphs on a device: where operands lie is checked, what NumPy may lend a hand with
is copied there, and a program that was compiled for the device runs.

An operation of running code is a graph of one node, compiled once for operands of its types. Views
take no program. Results stay where they are, and nothing waits for the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._codegen import kernel, locks
from ..autograd.grad_mode import set_grad_enabled
from ..control.call import call_op
from ..control.show import shown_by
from ..devices import CPU, Device, DeviceArray, from_host, later
from ..devices.pool import pool_of
from ..ir.dispatch import Value, bind
from ..ir.graph import Graph
from ..ir.op import Op
from ..ir.trace import Trace, user_line
from ..ops.arrays.shape import broadcast_to_op, reshape_op
from ..ops.arrays.transfer import transfer, transfer_op
from ..ops.places.gathering import OPERATIONS
from ..runtime.device_code import CompiledOnDevice
from ..runtime.execute import executable_for, failure, layout_of
from ..runtime.plan import Memory, planned
from ..schedule import schedule
from ..sizes import SIZES, Sizes
from ..tape.hooks import boxed
from ..tape.modes import restoring
from ..tensor import Array, Tensor
from ..transforms.rewrite import optimize
from ..transforms.tracing import device_of
from ..types import ArrayType, Shape, type_of
from .kept import MOST_GENERIC, Kept
from .symbolic_sizes import fits, generalize

INDICES = {op: 1 if kind == "gather" else 2 for kind, ops in OPERATIONS.items() for op in ops}
"""The number of the first index of operations that have some: as in torch, these may lie on the
host."""
MOST_OPERATIONS = 4096
"""Operations with their types that are kept compiled."""
MOST_NUMBERS = 4096
"""Numbers of the host that are kept on the device: the same ones come again and again."""


def check_places(
    what: str, names: Sequence[str], inputs: Sequence[Any], device: Device, numpy_too: bool = False
) -> None:
    """A RuntimeError that names both devices where an operand lies elsewhere. Numbers go
    everywhere, and so do arrays of NumPy, which are constants and no tensors, unless
    `numpy_too`."""
    for k, x in enumerate(inputs):
        data = x._data if isinstance(x, Value) else x
        if type(data) is DeviceArray:
            where = data.device
        elif getattr(data, "shape", ()) and (
            numpy_too or (isinstance(x, Value) and x.boxes_everything)
        ):
            where = CPU
        else:
            continue
        if where != device:
            name = f" ({names[k]})" if k < len(names) and names[k] else ""
            raise RuntimeError(
                f"{user_line()}: Expected all tensors to be on the same device, "
                f"but found at least two devices, {device} and {where}! (operand {k}{name} of "
                f"{what} is on {where}; move it with .to({str(device)!r}))"
            )


def apply(op: Op, inputs: Sequence[Any], data: Sequence[Any], params: dict[str, Any]) -> Any:
    """The value of an operation of which an operand lies on a device, as `op.evaluate` gives it;
    `inputs` are the boxes, for messages."""
    if op is transfer_op:
        return op.evaluate(*data, **params)
    device = device_of(data)
    assert device is not None
    if op is call_op:
        graph: Graph = params["graph"]
        check_places(graph.name, [v.name for v in graph.inputs], inputs, device)
        return tuple(run(graph, data, device))
    check_places(
        op.name,
        op.inputs * len(inputs) if op.variadic else op.inputs,
        inputs[: INDICES.get(op)],
        device,
    )
    if op.view or op is broadcast_to_op:
        view = shown(op, data[0], params)
        if view is not None:
            return view
    if op.lowering is None and op.composed is None:
        # What calls Python functions does it with boxes.
        with set_grad_enabled(False):
            return op.evaluate(
                *[boxed(x.face, x._data) if isinstance(x, Value) else x for x in inputs], **params
            )
    made = one_operation(op, data, params)
    outs = run(made.graph, [*data, *made.constants], device)
    return outs[0] if op.outputs == 1 else tuple(outs)


def shown(op: Op, x: DeviceArray, params: dict[str, Any]) -> DeviceArray | None:
    """A view, by what NumPy does with the layout; None where elements have to move."""
    if op is reshape_op:
        return x.reshape(params["shape"])
    if op is broadcast_to_op:
        # The operation itself reads an array without axes.
        return x.showing(np.broadcast_to(x.layout, params["shape"]))
    return x.showing(op.evaluate(x.layout, **params)) if x.ndim else None


def operands(graph: Graph, values: Sequence[Any], arguments: int, device: Device) -> Sequence[Any]:
    """The operands of a function that was traced for a device, the arguments first, checked. Arrays
    of NumPy are constants where the function reads them around it, and errors among its
    arguments."""
    names = [v.name for v in graph.inputs]
    check_places(graph.name, names, values[:arguments], device, numpy_too=True)
    check_places(graph.name, names, values, device)
    # What is recorded goes where an operand is, of which there must be one there.
    return (
        values
        if device_of(values) is not None
        else [transfer(x, device) if isinstance(x, Tensor) else x for x in values]
    )


# --- one operation as a program -------------------------------------------------------------------


class OneOperation(NamedTuple):
    """A graph of one operation on its operands; `constants` are further inputs."""

    graph: Graph
    constants: tuple[Any, ...]
    pattern: tuple[Shape, ...]


_KNOWN: dict[Any, OneOperation] = Kept(MOST_OPERATIONS)
_GENERIC: dict[Any, list[OneOperation]] = Kept(MOST_OPERATIONS)
_FIRST: dict[Any, tuple[Shape, ...]] = Kept(MOST_OPERATIONS)
_LOCK = locks.lock()


def one_operation(op: Op, data: Sequence[Any], params: dict[str, Any]) -> OneOperation:
    """The graph of an operation on operands like these: with symbols for sizes from the second
    shape on, where the operation can be traced so."""
    # A number is an input, so that another one needs no new program.
    types = tuple(map(_type, data))
    try:
        what = (op, tuple(sorted(params.items())))
        key = (what, types)
        found = _KNOWN.get(key)
    except TypeError:  # a parameter that cannot be looked up
        return _trace(op, types, params, None)
    if found is not None:
        return found
    with _LOCK:
        rank = (what, tuple([(t.dtype, t.ndim, t.weak) for t in types]))
        found = next((one for one in _GENERIC.get(rank, ()) if fits(one, types)), None)
        if found is None and rank in _FIRST:
            symbolic, sizes = generalize(types, _FIRST[rank])
            if symbolic != types:
                try:
                    found = _trace(op, symbolic, params, sizes)
                    generic = _GENERIC.setdefault(rank, [])
                    generic.append(found)
                    del generic[:-MOST_GENERIC]
                except (TypeError, ValueError, NotImplementedError):
                    found = None  # NumPy or a composition wants numbers
        if found is None:
            found = _trace(op, types, params, None)
        _FIRST.setdefault(rank, tuple([t.shape for t in types]))
        _KNOWN[key] = found
        return found


def _type(x: Any) -> ArrayType:
    return type_of(x) if hasattr(x, "dtype") else ArrayType(np.asarray(x).dtype, (), weak=True)


@restoring
def _trace(
    op: Op, types: Sequence[ArrayType], params: dict[str, Any], sizes: Sizes | None
) -> OneOperation:
    trace = Trace(op.name, sizes, keep_lines=False)
    with trace:
        result = bind(op, [Array(trace.input(t)) for t in types], params)
        graph, captured = trace.finish([result] if op.outputs == 1 else result, "one operation")
    return OneOperation(graph, tuple(captured), tuple([t.shape for t in types]))


# --- programs on a device -------------------------------------------------------------------------


def run(graph: Graph, values: Sequence[Any], device: Device) -> Sequence[DeviceArray]:
    """The outputs of a graph on a device, for values there and constants of the host."""
    return placed(graph, device)(values)


def placed(graph: Graph, device: Device) -> GraphOnDevice:
    """A graph as something to call on a device, made once."""
    key = ("placed", device)
    found: GraphOnDevice | None = graph.derived.get(key)
    if found is None:
        found = graph.derived[key] = GraphOnDevice(graph, device)
    return found


class GraphOnDevice:
    """A graph to run on one device: compiled for each layout of its inputs, with the constants that
    it was given."""

    def __init__(self, graph: Graph, device: Device) -> None:
        self.executable = executable_for(graph)
        # A kernel on a device cannot ask for memory: a loop that keeps something of each step has
        # to know their number.
        self.graph, self.shown = shown_by(optimize(graph, tapes=False))
        self.device, self.pool = device, pool_of(device.number)
        self.compiled: dict[tuple[str, ...], CompiledOnDevice] = {}
        self.constants: dict[int, tuple[bytes, DeviceArray]] = {}
        """By the number of the input: what a constant held when it was copied, and the copy."""
        self.lock = locks.lock()

    def __call__(self, values: Sequence[Any]) -> Sequence[DeviceArray]:
        arrays, compiled = self.ready(values)
        outs, status = compiled.run(
            [x.layout for x in arrays], self.executable.sizes(arrays), self.pool.empty
        )
        if status is not None:
            later(self.device, status, partial(failure, compiled.program))
        found = [DeviceArray(self.device, out) for out in outs]
        if self.shown is not None:
            first = len(found) - self.shown.operands
            self.shown.show([np.asarray(Tensor(x).cpu()) for x in found[first:]])
            del found[first:]
        return found

    def programs(self, values: Sequence[Any]) -> list[kernel.Program]:
        """The program for such values after each pass, made anew."""
        seen: list[kernel.Program] = []
        with SIZES.opened(self.graph.sizes):
            schedule(self.graph, self.ready(values)[1].layouts, device=True, seen=seen.append)
        return seen

    def source(self, values: Sequence[Any]) -> str:
        """The kernels for such values, and what the host does with them."""
        text: str = self.ready(values)[1].plan.text()
        return text

    def memory(self, values: Sequence[Any]) -> Memory:
        """What a call with these values takes on the device."""
        arrays, compiled = self.ready(values)
        return planned(compiled, arrays, self.executable.sizes(arrays))

    def ready(self, values: Sequence[Any]) -> tuple[list[DeviceArray], CompiledOnDevice]:
        """The values on the device, and what is compiled for them as they lie there."""
        arrays = [
            x if type(x) is DeviceArray and x.dtype == d else self.fetched(k, x, d)
            for k, (x, d) in enumerate(zip(values, self.executable.dtypes, strict=True))
        ]
        layouts = tuple([layout_of(x.layout) for x in arrays])
        compiled = self.compiled.get(layouts)
        if compiled is None:
            with self.lock:
                compiled = self.compiled.get(layouts)
                if compiled is None:
                    compiled = CompiledOnDevice(
                        self.graph, layouts, self.device.number, self.pool.bytes
                    )
                    self.compiled[layouts] = compiled
        return arrays, compiled

    def fetched(self, k: int, x: Any, dtype: np.dtype[Any]) -> DeviceArray:
        """A value of the host, or one of another dtype, as input number k."""
        if isinstance(x, Value):
            x = x._data
        if type(x) is DeviceArray:
            return x if x.dtype == dtype else converted(x, dtype)
        array = np.asarray(x, dtype)
        if not array.shape:
            return number(self.device, array)
        content = array.tobytes()
        known = self.constants.get(k)
        if known is None or known[1].shape != array.shape or known[0] != content:
            known = self.constants[k] = (content, from_host(self.device, array))
        return known[1]


def converted(x: DeviceArray, dtype: np.dtype[Any]) -> DeviceArray:
    """An array in another dtype."""
    return Array(x).astype(dtype)._data  # type: ignore[no-any-return]


_NUMBERS: dict[tuple[Device, np.dtype[Any], bytes], DeviceArray] = Kept(MOST_NUMBERS)


def number(device: Device, value: np.ndarray[Any, Any]) -> DeviceArray:
    """A number on the device. Nobody writes to it: who has it in a box has a constant."""
    key = device, value.dtype, value.tobytes()
    found = _NUMBERS.get(key)
    if found is None:
        found = _NUMBERS[key] = from_host(device, value)
    return found
