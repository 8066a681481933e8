"""Constants, dtypes, and what the namespace says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import e, iinfo, inf, isdtype, nan, newaxis, pi

from .. import ops
from ..config import default_dtype
from ..devices import CPU
from ..dtypes import bool_ as bool
from ..dtypes import (
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .results import operand

_DTYPES = {
    "bool": bool,
    **{str(d): d for d in (int8, int16, int32, int64, uint8, uint16, uint32, uint64)},
    **{str(d): d for d in (float32, float64, complex64, complex128)},
}


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    """The elements in another dtype; differentiated where both are floating or complex.

    >>> import tracegrad as tg
    >>> tg.array_api.astype(tg.tensor([1, 0]), tg.array_api.bool)
    tensor([ True, False])
    """
    operand(x)
    if x.dtype == dtype and not copy:
        return x
    if x.dtype.kind == "c" and np.dtype(dtype).kind == "f":
        raise TypeError("astype: a complex array has no floating dtype; take real(x) or abs(x)")
    found = ops.positive(x) if x.dtype == dtype else ops.convert(x, np.dtype(dtype))
    return found if device is None else found.to(device)


class FloatInfo:
    """What `finfo` gives: NumPy's, whose numbers are Python's, as the standard says."""

    def __init__(self, found: np.finfo[Any]) -> None:
        self._found = found
        self.bits, self.dtype = int(found.bits), found.dtype
        self.eps, self.smallest_normal = float(found.eps), float(found.smallest_normal)
        self.min, self.max = float(found.min), float(found.max)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._found, name)

    def __repr__(self) -> str:
        return repr(self._found)


def finfo(type: Any, /) -> Any:
    """The limits of a floating dtype, or of an array's, as Python's numbers.

    >>> import tracegrad as tg
    >>> tg.array_api.finfo(tg.float32).eps
    1.1920928955078125e-07
    """
    return FloatInfo(np.finfo(_plain(type)))


def _plain(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else x


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether numbers of one dtype, or array, fit into another dtype.

    >>> import tracegrad as tg
    >>> tg.array_api.can_cast(tg.int32, tg.float64)
    True
    """
    return np.can_cast(_plain(from_), to)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype of what arrays, dtypes and numbers give together.

    >>> import tracegrad as tg
    >>> tg.array_api.result_type(tg.ones(2), tg.float32)
    dtype('float64')
    """
    return np.result_type(*map(_plain, arrays_and_dtypes))


class NamespaceInfo:
    """What the namespace says of itself."""

    def capabilities(self) -> dict[str, Any]:
        """What of the standard that depends on values is there: shapes that do are, eagerly."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Where arrays are made."""
        return CPU

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """The dtypes of arrays that are not told one."""
        real = default_dtype()
        return {
            "real floating": real,
            "complex floating": np.result_type(real, np.complex64),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of a kind, by name; all where none is given."""
        if kind is None:
            return dict(_DTYPES)
        return {name: d for name, d in _DTYPES.items() if isdtype(d, kind)}

    def devices(self) -> list[Any]:
        """The devices that are always there."""
        return [CPU]


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 - the standard's name
    """What the namespace says of itself.

    >>> import tracegrad as tg
    >>> tg.array_api.__array_namespace_info__().default_dtypes()["integral"]
    dtype('int64')
    """
    return NamespaceInfo()


__all__ = [
    "__array_namespace_info__",
    "astype",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "e",
    "finfo",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
