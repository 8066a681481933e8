"""Copies from one device to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...devices import CPU, Device, DeviceArray, from_host, resolve, to_host
from ...ir.dispatch import STATE, Value, bind
from ...ir.graph import Var
from ...ir.op import Op, op
from ...ir.trace import user_line
from ..define import as_array
from ..elementwise.derived import convert


def _evaluate(x: Any, *, device: Device, source: Device) -> Any:
    if isinstance(x, DeviceArray):
        return x.to(device)
    return np.asarray(x) if device == CPU else from_host(device, x)


def _vjp(
    cts: Any, inputs: Any, outs: Any, wanted: Any, *, device: Device, source: Device
) -> list[Any]:
    return [transfer(cts[0], source)]


def _batch(values: Any, axes: Any, size: Any, *, device: Device, source: Device) -> Any:
    return [transfer(values[0], device)], list(axes)


transfer_op: Op = op(
    "transfer",
    ["x"],
    evaluate=_evaluate,
    infer=lambda x, *, device, source: (x.type,),
    vjp=_vjp,
    jvp=lambda tangents, inputs, outs, *, device, source: [transfer(tangents[0], device)],
    batch=_batch,
    doc="A copy on another device; its derivative is copied back.",
)


def place_of(x: Any) -> Device:
    """The device on which an array lies; of a traced one, on which it will."""
    if not isinstance(x, Value):
        return CPU
    data = x._data
    if type(data) is DeviceArray:
        return data.device
    if isinstance(data, Var) and data.trace is not None and data.trace.device is not None:
        chosen: Device = data.trace.device
        return chosen
    return CPU


def transfer(x: Any, device: Any) -> Any:
    """`x` on a device: itself where it is there, else a copy, whose gradient is copied back.

    Raises RuntimeError where the device is not there, and for a traced `x` that would have to leave
    the device of its function.
    """
    x = as_array(x)
    to, source = resolve(device), place_of(x)
    if to == source:
        return x
    if STATE.traces:
        trace = STATE.traces[-1]
        if trace.device is None and to != CPU:
            trace.choose_device(to)
        if trace.device == to:
            # What is traced is there. A constant of the host goes there now, since loops are also
            # run outside of what is compiled.
            held = x._data if isinstance(x, Value) else x
            return x if isinstance(held, Var) else x.face(from_host(to, held))
        raise RuntimeError(
            f"{user_line()}: {trace.name} is compiled for {source}, and a compiled "
            f"function runs on one device, so that nothing in it can be moved to {to}. "
            "Move the arguments before the call, or the results after it."
        )
    return bind(transfer_op, [x], {"device": to, "source": source})


def fill(memory: Any, new: Any) -> None:
    """Write what has this shape, or is a number, into the memory of an array, of the host or of a
    device."""
    if type(memory) is np.ndarray is type(new):  # as most are, and first: it takes 0.1 us
        memory[...] = new
        return
    if type(memory) is not DeviceArray:
        np.copyto(memory, to_host(new._data if isinstance(new, Value) else new), casting="unsafe")
        return
    found = convert(new, memory.dtype)
    data = found._data if isinstance(found, Value) else np.asarray(found)
    if type(data) is not DeviceArray or data.device != memory.device:
        data = from_host(memory.device, to_host(data))
    memory.fill_from(
        data
        if data.shape == memory.shape
        else data.showing(np.broadcast_to(data.layout, memory.shape))
    )


OPS = (transfer_op,)
