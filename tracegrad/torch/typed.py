"""torch's older classes of tensors: `FloatTensor`, `LongTensor` and others make Tensors of one
dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..faces.construction import elements_for
from ..faces.tensor.casts import own
from ..ir.dispatch import Value
from ..tensor import Tensor


class _OfOneType(type):
    """`isinstance(x, FloatTensor)` asks for x's dtype; calling the class makes a Tensor."""

    dtype: np.dtype[Any]

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor) and x.dtype == cls.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        if (
            len(args) == 1
            and isinstance(args[0], (np.ndarray, np.generic))
            and not isinstance(args[0], np.integer)
        ):
            made = np.asarray(args[0])
            if device is None and made.dtype == cls.dtype:
                return Tensor(made)
        elif len(args) == 1 and isinstance(args[0], Value):
            made = args[0]  # type: ignore[assignment]
            if made.dtype != cls.dtype:
                raise TypeError(
                    f"expected {cls.dtype} (got {made.dtype}); convert with .to({cls.dtype})"
                )
            return Tensor(made)
        else:
            made = elements_for(args[0] if args else (), args[1:], cls.dtype, cls.__name__)
        return own(Tensor, ops.convert(made, cls.dtype), False, device)

    def __repr__(cls) -> str:
        return f"<class 'tracegrad.torch.{cls.__name__}'>"


def _of(name: str, dtype: str) -> Any:
    about = (
        f"Makes Tensors of {dtype}, of sizes or of data; "
        f"`isinstance(x, {name})` asks whether x is one."
    )
    return _OfOneType(
        name, (), {"dtype": np.dtype(dtype), "__doc__": about, "__module__": "tracegrad.torch"}
    )


FloatTensor, DoubleTensor = _of("FloatTensor", "float32"), _of("DoubleTensor", "float64")
LongTensor, IntTensor, ShortTensor = (
    _of("LongTensor", "int64"),
    _of("IntTensor", "int32"),
    _of("ShortTensor", "int16"),
)
CharTensor, ByteTensor, BoolTensor = (
    _of("CharTensor", "int8"),
    _of("ByteTensor", "uint8"),
    _of("BoolTensor", "bool"),
)
ComplexFloatTensor, ComplexDoubleTensor = (
    _of("ComplexFloatTensor", "complex64"),
    _of("ComplexDoubleTensor", "complex128"),
)

__all__ = [
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "ComplexDoubleTensor",
    "ComplexFloatTensor",
    "DoubleTensor",
    "FloatTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]
