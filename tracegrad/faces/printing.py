"""Tensors as text, in the layout that torch's users know."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from ..config import default_dtype
from ..devices import to_host
from ..ir.dispatch import STATE
from ..ir.graph import Var
from ..ir.trace import shown


@dataclass
class PrintOptions:
    """How tensors are printed; `set_printoptions` says what each option means."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = PrintOptions()
PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; an option that is not given stays as it is.

    precision   digits after the point
    threshold   of tensors with more elements only the ends of long dimensions are shown
    edgeitems   how many elements each end has
    linewidth   characters in a line
    profile     "default", "short" or "full": values of the options above, which those that are
                given replace
    sci_mode    scientific notation always (True) or never (False); where it is not given, where
                magnitudes differ much

    >>> import tracegrad as tg
    >>> tg.set_printoptions(precision=2)
    >>> tg.tensor([1.23456])
    tensor([1.23])
    >>> tg.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in PROFILES:
            raise ValueError(f"profile must be one of {', '.join(PROFILES)}, not {profile!r}")
        for field in fields(OPTIONS):
            if field.name != "sci_mode":
                setattr(OPTIONS, field.name, getattr(PROFILES[profile], field.name))
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        if value is not None:
            if value < 0:
                raise ValueError(f"{name} must not be negative, not {value}")
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """How tensors are printed, as `set_printoptions` takes it.

    >>> import tracegrad as tg
    >>> tg.get_printoptions()["precision"]
    4
    """
    return asdict(OPTIONS)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions` for a block.

    >>> import tracegrad as tg
    >>> with tg.printoptions(sci_mode=True):
    ...     tg.tensor([1.5])
    tensor([1.5000e+00])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


Text = Callable[[Any], str]


def _floats(values: np.ndarray[Any, Any]) -> tuple[Text, int]:
    """One notation for all elements, and its width: whole numbers as `1.`, others with a fixed
    precision, or scientific."""
    counted = values[np.isfinite(values) & (values != 0)].astype(np.float64)
    whole, scientific = True, False
    if counted.size:
        sizes = np.abs(counted)
        largest, smallest = float(sizes.max()), float(sizes.min())
        whole = bool(np.all(counted == np.ceil(counted)))
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
        if OPTIONS.sci_mode is not None:
            scientific = OPTIONS.sci_mode
    precision = OPTIONS.precision

    def bare(value: float) -> str:
        if scientific:
            return f"{value:.{precision}e}"
        if whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{precision}f}"

    # Zeros and what is not finite do not widen the columns.
    return bare, max((len(bare(v)) for v in counted.tolist()), default=1)


def _formatter(values: np.ndarray[Any, Any]) -> tuple[Text, int]:
    """Text of one element, padded to the columns' width."""
    if values.dtype.kind == "c":
        real, imag = _formatter(values.real), _formatter(values.imag)

        def both(value: complex) -> str:
            below = imag[0](value.imag).lstrip()
            return f"{real[0](value.real)}{'' if below[0] in '+-' else '+'}{below}j"

        return both, real[1] + imag[1] + 1
    if values.dtype.kind == "f":
        bare, width = _floats(values)
    else:
        bare, width = str, max((len(str(v)) for v in values.ravel().tolist()), default=1)
    return (lambda value: bare(value).rjust(width)), width


def _shown(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that are printed where only the ends of long dimensions are."""
    edge = OPTIONS.edgeitems
    for axis, size in enumerate(data.shape):
        if size > 2 * edge:
            data = np.take(data, [*range(edge), *range(size - edge, size)], axis)
    return data


def _lines(data: np.ndarray[Any, Any], text: Text, width: int, indent: int, short: bool) -> str:
    if data.ndim == 0:
        return text(data.item())
    edge = OPTIONS.edgeitems
    cut = short and data.shape[0] > 2 * edge
    first, last = (data[:edge], data[len(data) - edge :]) if cut else (data, data[:0])
    if data.ndim == 1:
        items = [text(v) for v in first.tolist()]
        if cut:
            items = [*items, " ..." if edge else "...", *[text(v) for v in last.tolist()]]
        per_line = max(1, (OPTIONS.linewidth - indent) // (width + 2))
        lines = [", ".join(items[k : k + per_line]) for k in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = [_lines(row, text, width, indent + 1, short) for row in first]
    if cut:
        parts = [*parts, "...", *[_lines(row, text, width, indent + 1, short) for row in last]]
    return "[" + ("," + "\n" * (data.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _body(data: np.ndarray[Any, Any], indent: int) -> str:
    if data.size == 0:
        return "[]"
    short = data.size > OPTIONS.threshold
    text, width = _formatter(_shown(data) if short else data)
    return _lines(data, text, width, indent, short)


def tensor_repr(tensor: Any) -> str:
    """`tensor([1., 2.], requires_grad=True)`; the dtype is named where it is not the default for
    such values."""
    tensor._refresh()
    data, dtype = to_host(tensor._data), tensor.dtype
    prefix = (
        "tensor("
        if type(tensor).__name__ in ("Tensor", "Parameter")
        else f"{type(tensor).__name__}("
    )
    suffixes: list[str] = []
    usual: tuple[Any, ...] = (
        default_dtype(),
        np.dtype(np.int64),
        np.dtype(np.bool_),
        np.result_type(default_dtype(), np.complex64),
    )
    if isinstance(data, Var):
        body = shown(data)
    else:
        body = _body(data, len(prefix))
        if data.size == 0:
            # Nothing printed tells the dtype.
            usual = (default_dtype(),)
        if (data.size == 0 and data.ndim != 1) or (data.size and not OPTIONS.edgeitems):
            suffixes.append(f"size={tuple(data.shape)}")
    if tensor.is_cuda:
        suffixes.append(f"device={str(tensor.device)!r}")
    if dtype not in usual:
        suffixes.append(f"dtype=tracegrad.{dtype.name}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name().rpartition('::')[2]}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    levels = [k for k in tensor._tangents or () if k in STATE.levels]
    if levels:
        suffixes.append(f"tangent={tensor._tangents[max(levels)]}")
    result = prefix + body
    last = len(result) - result.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > OPTIONS.linewidth:
            result += ",\n" + " " * len(prefix) + suffix
            last = len(prefix) + len(suffix)
        else:
            result += ", " + suffix
            last += len(suffix) + 2
    return result + ")"


def array_repr(array: Any) -> str:
    """An ndarray's text, marked as traced or differentiated."""
    array._refresh()
    data = to_host(array._data)
    return shown(data) if isinstance(data, Var) else repr(data)
