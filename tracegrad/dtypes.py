"""The element types, their short names in printed graphs, and promotion (NumPy 2's, NEP 50)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .errors import DTypeError
from .weak import WEAK

DType = np.dtype[Any]

SHORT: dict[str, str] = {
    "bool": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
SUPPORTED: frozenset[DType] = frozenset(np.dtype(name) for name in SHORT)
"""The same dtypes (in native byte order): asking for a dtype's name takes 1 us, looking it up here
0.05."""
LONG: dict[str, str] = {short: name for name, short in SHORT.items()}

# The public dtypes, `tracegrad.float64` and others, are NumPy's own objects, of which there is one
# each: so `x.dtype is tracegrad.float64`, they are keys of dicts, and NumPy takes them everywhere.
bool_: DType = np.dtype(np.bool_)
int8: DType = np.dtype(np.int8)
int16: DType = np.dtype(np.int16)
int32: DType = np.dtype(np.int32)
int64: DType = np.dtype(np.int64)
uint8: DType = np.dtype(np.uint8)
uint16: DType = np.dtype(np.uint16)
uint32: DType = np.dtype(np.uint32)
uint64: DType = np.dtype(np.uint64)
float32: DType = np.dtype(np.float32)
float64: DType = np.dtype(np.float64)
complex64: DType = np.dtype(np.complex64)
complex128: DType = np.dtype(np.complex128)
BOOL, INT64, UINT64, FLOAT32, FLOAT64 = bool_, int64, uint64, float32, float64
COMPLEX64, COMPLEX128 = complex64, complex128

Scalar = bool | int | float | complex
_KIND: dict[type, np.dtype[Any]] = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}


@lru_cache(maxsize=4096)
def promote(*kinds: DType | type) -> DType:
    """The dtype of an operation on these operands; a Python type stands for a weak Python
    scalar."""
    strong = [k for k in kinds if isinstance(k, np.dtype)]
    if not strong:
        weak: Any = np.result_type(*[_KIND[k] for k in kinds if isinstance(k, type)])
        python: DType = np.dtype(weak)
        return python
    examples = [
        {bool: False, int: 0, float: 0.0, complex: 0j}[k] for k in kinds if isinstance(k, type)
    ]
    return check(np.result_type(*strong, *examples))


def kind_of(value: Any) -> Any:
    """The dtype of an array or NumPy scalar, or the Python type of a weak scalar."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return value.python if isinstance(value, WEAK) else dtype
    kind = type(value)
    if kind is list or kind is tuple:
        return np.asarray(value).dtype
    if kind in _KIND:
        return kind
    if isinstance(value, (int, float, complex)):
        return np.asarray(
            value
        ).dtype  # of a class of the user's, which NumPy takes for no weak one
    # A size of a traced array is an integer.
    return int if hasattr(kind, "__index__") else kind


@lru_cache(maxsize=1024)
def inexact(*kinds: DType | type) -> DType:
    """The dtype in which a float-valued function of operands of these is computed: the floating
    one that they promote to, or float64 (float32 for 8 and 16 bits, also where integers of both
    signs promote to more)."""
    dtype = promote(*kinds)
    if dtype.kind in "fc":
        return dtype
    strong = [k for k in kinds if isinstance(k, np.dtype)]
    small = all(k.itemsize <= 2 for k in strong) and any(k.kind in "iu" for k in strong)
    return FLOAT32 if small else FLOAT64


def real_of(dtype: DType) -> DType:
    """The dtype of the real part."""
    found: DType = {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}.get(dtype, dtype)
    return found


def complex_of(dtype: DType) -> DType:
    """The complex dtype whose parts hold numbers of `dtype`; a complex one itself."""
    return COMPLEX64 if dtype in (FLOAT32, COMPLEX64) else COMPLEX128


def is_flag(value: Any) -> bool:
    """Whether a value is true or false: NumPy computes powers and remainders of two such ones in 8
    bits."""
    return type(value) is bool or getattr(value, "dtype", None) == BOOL


def is_differentiable(dtype: DType) -> bool:
    """Whether values of this dtype carry gradients."""
    return dtype.kind in "fc"


def module_of(cls: Any) -> str:
    """The name of the module of a class, or of a function; "" where it has none, as a class that
    type() makes in code without a `__name__`."""
    found = getattr(cls, "__module__", "")
    return found if isinstance(found, str) else ""


def of_another_library(x: Any) -> str:
    """Of an array of torch, JAX, CuPy ...: what it is, and how it becomes one of ours; else ""."""
    library = module_of(type(x)).partition(".")[0]
    if library in ("numpy", "tracegrad") or not hasattr(type(x), "__dlpack__"):
        return ""
    given = "x.detach()" if hasattr(type(x), "detach") else "x"
    return (
        f"a {type(x).__name__} of {library}: tracegrad.from_dlpack({given}) makes a Tensor on its "
        f"memory, tracegrad.tensor({given}) a copy"
    )


@lru_cache(maxsize=64)
def check(dtype: DType) -> DType:
    """`dtype` in native byte order, or a DTypeError that lists the supported ones. It is NumPy's
    own object for that dtype, so that those who look whether two are the same need not compare
    them."""
    if not isinstance(dtype, np.dtype):
        raise DTypeError(
            f"{dtype} is a dtype of another library, as its arrays have; tracegrad.from_dlpack(x) "
            "or tracegrad.tensor(x) makes a Tensor of one"
        )
    if dtype.name not in SHORT:
        raise DTypeError(
            f"dtype {dtype} is not supported; the supported dtypes are {', '.join(SHORT)}. "
            "Convert with .astype first."
        )
    return np.dtype(dtype.name)


def native(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with NumPy's own object for its dtype, in native byte order; on the same memory
    where that is possible. A DTypeError for what is not supported."""
    dtype = check(array.dtype)
    if array.dtype is dtype:
        return array
    return array.view(dtype) if array.dtype == dtype else array.astype(dtype)
