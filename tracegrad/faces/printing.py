"""Tensors as text, in the layout that torch's users know."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import default_dtype
from ..ir.graph import Var

WIDTH, EDGE, THRESHOLD, PRECISION = 80, 3, 1000, 4
PREFIX = "tensor("


def _float_format(values: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    """One format for all elements: integers as `1.`, then fixed, then scientific notation where magnitudes differ too much."""
    finite = np.abs(values[np.isfinite(values) & (values != 0)].astype(np.float64))
    if finite.size == 0:
        return lambda v: f"{v:.0f}." if np.isfinite(v) else f"{v}"
    largest, smallest = float(finite.max()), float(finite.min())
    if np.all(finite == np.ceil(finite)):
        if largest / smallest > 1000.0 or largest > 1.0e8:
            return lambda v: f"{v:.{PRECISION}e}"
        return lambda v: f"{v:.0f}." if np.isfinite(v) else f"{v}"
    if largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4:
        return lambda v: f"{v:.{PRECISION}e}"
    return lambda v: f"{v:.{PRECISION}f}"


def _complex_format(real: Callable[[Any], str], imag: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda v: f"{real(v.real)}{'' if math.copysign(1, v.imag) < 0 else '+'}{imag(v.imag)}j"


def _item(value: Any) -> str:
    return str(value.item())


def _formatter(values: np.ndarray[Any, Any]) -> Callable[[Any], str]:
    """Text of one element, padded to the width of the longest."""
    kind = values.dtype.kind
    if kind == "c":
        bare = _complex_format(_float_format(values.real), _float_format(values.imag))
    else:
        bare = _float_format(values) if kind == "f" else _item
    width = max((len(bare(v)) for v in values.ravel()), default=0)
    return lambda v: bare(v).rjust(width)


def _shown(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that are printed: the ends of long axes where the whole is long."""
    if data.size <= THRESHOLD:
        return data
    for axis, size in enumerate(data.shape):
        if size > 2 * EDGE:
            data = np.take(data, [*range(EDGE), *range(size - EDGE, size)], axis)
    return data


def _lines(data: np.ndarray[Any, Any], text: Callable[[Any], str], indent: int, short: bool) -> str:
    if data.ndim == 0:
        return text(data[()])
    cut = short and data.shape[0] > 2 * EDGE
    if data.ndim == 1:
        items = [text(v) for v in data] if not cut else [*[text(v) for v in data[:EDGE]], " ...", *[text(v) for v in data[-EDGE:]]]
        per_line = max(1, (WIDTH - indent) // (max((len(i) for i in items), default=0) + 2))
        lines = [", ".join(items[k : k + per_line]) for k in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = list(data) if not cut else [*data[:EDGE], None, *data[-EDGE:]]
    parts = ["..." if row is None else _lines(row, text, indent + 1, short) for row in rows]
    return "[" + ("," + "\n" * (data.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def tensor_repr(tensor: Any) -> str:
    """`tensor([1., 2.], requires_grad=True)`; the dtype is named where it is not the default for such values."""
    tensor._refresh()
    data = tensor._data
    dtype = tensor.dtype
    suffixes: list[str] = []
    if isinstance(data, Var):
        body = f"<traced {data.type}>"
    elif data.size == 0:
        body = "[]"
        if data.ndim != 1:
            suffixes.append(f"size={tuple(data.shape)}")
    else:
        indent = len(PREFIX)
        body = _lines(data, _formatter(_shown(data)), indent, data.size > THRESHOLD)
    usual = (default_dtype(), np.dtype(np.int64), np.dtype(np.bool_), np.result_type(default_dtype(), np.complex64))
    if dtype not in usual or (not isinstance(data, Var) and data.size == 0 and dtype != default_dtype()):
        suffixes.append(f"dtype=tracegrad.{dtype.name}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name().rpartition('::')[2]}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    result = PREFIX + body
    last = len(result) - result.rfind("\n") - 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > WIDTH:
            result += ",\n" + " " * len(PREFIX) + suffix
            last = len(PREFIX) + len(suffix)
        else:
            result += ", " + suffix
            last += len(suffix) + 2
    return result + ")"


def array_repr(array: Any) -> str:
    """An ndarray's text, marked as traced or differentiated."""
    array._refresh()
    data = array._data
    if isinstance(data, Var):
        return f"<traced {data.type}>"
    return repr(data)
