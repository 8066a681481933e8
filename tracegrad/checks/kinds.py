"""What arguments are: a value in words, and what one must be by the name and annotation of its
parameter.

Asked only when a call has failed (`failures`).
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import SHORT, of_another_library

# --- what a thing is called in messages -----------------------------------------------------------


def describe(value: Any) -> str:
    """A value in a few words: its type, and what tells it from others of that type."""
    if value is None or value is ... or isinstance(value, (bool, slice)):
        return repr(value)
    if isinstance(value, (int, float, complex, str, bytes)):
        shown = repr(value) if len(repr(value)) <= 40 else repr(value)[:37] + "..."
        return f"the {_WORDS.get(type(value), type(value).__name__)} {shown}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, types.ModuleType):
        return f"the module {value.__name__}"
    if _element(value) is not None:
        dtype, shape = value.dtype, tuple(value.shape)
        kind = {"ndarray": "array"}.get(type(value).__name__, type(value).__name__)
        return (
            f"{_article(kind)} of dtype {dtype}"
            if isinstance(value, np.generic)
            else f"{_article(kind)} of shape {shape} and dtype {dtype}"
        )
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        inside = {type(x).__name__ for x in value}
        of = f" of {inside.pop()}" if len(inside) == 1 else ""
        return (
            f"{_article(type(value).__name__)} of length {len(value)}{of}"
            if value
            else f"an empty {type(value).__name__}"
        )
    return of_another_library(value) or _article(type(value).__name__)


_WORDS = {int: "integer", float: "number", complex: "complex number", str: "string"}


def _article(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


# --- kinds of arguments ---------------------------------------------------------------------------


class Kind(NamedTuple):
    """What an argument must be: a test, and in words."""

    accepts: Callable[[Any], bool]
    wants: str


def _element(x: Any) -> str | None:
    """The kind of dtype of an array (without axes, for numbers), "" of an array with axes, None of
    what is no array."""
    dtype = None if isinstance(x, (type, types.ModuleType)) else getattr(x, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return None
    return dtype.kind if getattr(x, "shape", None) == () else ""


def _is_int(x: Any) -> bool:
    """An integer of Python or NumPy, a size that is a symbol, or an array of one integer."""
    kind = _element(x)
    if kind is not None:
        return kind in ("i", "u")
    return hasattr(type(x), "__index__") and not isinstance(x, bool)


def _is_real(x: Any) -> bool:
    kind = _element(x)
    if kind is not None:
        return kind in ("i", "u", "f")
    return isinstance(x, (int, float)) or hasattr(type(x), "__float__")


def _is_bool(x: Any) -> bool:
    kind = _element(x)
    return kind in ("b", "i", "u") if kind is not None else isinstance(x, int) and abs(x) < 2**31


def fault_of_array(x: Any) -> str:
    """Why this is no array of numbers, in words; empty where it is one."""
    if _element(x) is not None:
        return "" if x.dtype.name in SHORT else f", whose dtype is none of {', '.join(SHORT)}"
    if isinstance(x, (bool, int, float, complex)):
        if isinstance(x, int) and not -(2**63) <= x < 2**64:
            return ", which does not fit into 64 bits"
        return ""
    if hasattr(type(x), "__array__"):
        return ""
    if not isinstance(x, (list, tuple)):
        return "" if hasattr(type(x), "__index__") or hasattr(type(x), "_data") else " "
    lengths = set()
    for part in x:
        inner = fault_of_array(part)
        if inner:
            return f", which holds {describe(part)}"
        lengths.add(_shape(part))
    return "" if len(lengths) <= 1 else ", whose parts differ in shape"


def _shape(x: Any) -> tuple[Any, ...]:
    """The shape of an array or number, or of nested lists whose parts have one shape."""
    if isinstance(x, (list, tuple)):
        return (len(x), *(_shape(x[0]) if x else ()))
    return tuple(getattr(x, "shape", ()))


def _is_array(x: Any) -> bool:
    return not fault_of_array(x)


def _is_dtype(x: Any) -> bool:
    if x is None:
        return False
    try:
        return np.dtype(x).name in SHORT
    except (TypeError, ValueError, SyntaxError):
        return False


def _all(
    test: Callable[[Any], bool], kinds: tuple[type, ...] = (list, tuple, range, np.ndarray)
) -> Callable[[Any], bool]:
    def holds(x: Any) -> bool:
        if isinstance(x, np.ndarray) and not x.ndim:
            return False
        return (
            isinstance(x, kinds) or (hasattr(x, "_data") and getattr(x, "ndim", 0) == 1)
        ) and all(test(part) for part in x)

    return holds


def _is_device(x: Any) -> bool:
    return isinstance(x, (str, int)) or type(x).__name__ in ("Device", "device")


def _is_index(x: Any) -> bool:
    """Something of integers: a number, a list, an array."""
    if isinstance(x, (list, tuple)):
        return all(map(_is_index, x))
    return x.dtype.kind in "iub" if _element(x) is not None else _is_int(x)


def _is_iterable(x: Any) -> bool:
    return (
        hasattr(x, "__iter__")
        and not isinstance(x, (str, bytes, type))
        and getattr(x, "shape", None) != ()
    )


def _is_generator(x: Any) -> bool:
    return hasattr(x, "uniform") and hasattr(x, "normal") and not isinstance(x, types.ModuleType)


ARRAY = Kind(_is_array, "an array, a Tensor or a number")
TENSOR = Kind(lambda x: hasattr(type(x), "_data") and hasattr(type(x), "backward"), "a Tensor")
SHAPED = Kind(lambda x: _element(x) is not None and x.dtype.name in SHORT, "an array or a Tensor")
ARRAYS = Kind(
    lambda x: (
        (_is_iterable(x) and not isinstance(x, (set, Mapping, types.GeneratorType)))
        and all(map(_is_array, x))
    ),
    "a sequence of arrays",
)
INT = Kind(_is_int, "an integer")
INTS = Kind(_all(_is_int), "a sequence of integers")
INDEX = Kind(_is_index, "an integer or an array of integers")
REAL = Kind(_is_real, "a real number")
PAIR = Kind(_all(_is_real), "a pair of real numbers")
REALS = Kind(
    lambda x: (
        (_element(x) is not None and x.dtype.kind in "biuf") or isinstance(x, (bool, int, float))
    ),
    "an array or a Tensor of real numbers",
)
BOOL = Kind(_is_bool, "True or False")
STR = Kind(lambda x: isinstance(x, str), "a string")
STRS = Kind(_all(lambda x: isinstance(x, str)), "a sequence of strings")
NONE = Kind(lambda x: x is None, "None")
FUNCTION = Kind(
    lambda x: callable(x) and (not isinstance(x, type) or x.__call__ is not None), "a function"
)
FUNCTIONS = Kind(_all(callable), "a sequence of functions")
DTYPE = Kind(_is_dtype, f"a dtype ({', '.join(SHORT)})")
DEVICE = Kind(_is_device, "a device ('cpu', 'cuda', 'cuda:0', or a GPU's number)")
GENERATOR = Kind(_is_generator, "a tracegrad.Generator")
ITERABLE = Kind(_is_iterable, "an iterable")
MAPPING = Kind(lambda x: isinstance(x, Mapping), "a dict")
OPTIMIZER = Kind(lambda x: hasattr(x, "param_groups"), "an Optimizer")
MODULE = Kind(lambda x: hasattr(x, "named_parameters"), "a Module")
MODULES = Kind(
    lambda x: _is_iterable(x) and all(hasattr(m, "named_parameters") for m in x),
    "an iterable of Modules",
)
OUT = Kind(
    lambda x: (
        x is None
        or all(
            part is None or SHAPED.accepts(part) for part in (x if isinstance(x, tuple) else (x,))
        )
    ),
    "an array or a Tensor",
)

_BY_ANNOTATION = {
    "int": (INT,),
    "Int": (INT,),
    "float": (REAL,),
    "bool": (BOOL,),
    "str": (STR,),
    "None": (NONE,),
    "Tensor": (TENSOR,),
    "Function": (FUNCTION,),
    "Axis": (INT, INTS, NONE),
    "Axes": (INT, INTS),
    "Sizes": (INT, INTS),
    "Optimizer": (OPTIMIZER,),
    "Module": (MODULE,),
    "Generator": (GENERATOR,),
    "ops.Generator": (GENERATOR,),
    "Checkpoint": (INT, STR, NONE, BOOL, INTS),
    "Sequence[int]": (INTS,),
    "Sequence[Int]": (INTS,),
    "Iterable[int]": (INTS,),
    "tuple[int, ...]": (INTS,),
    "list[int]": (INTS,),
    "tuple[int, int]": (INTS,),
    "tuple[float, float]": (PAIR,),
    "Sequence[float]": (PAIR,),
    "Sequence[str]": (STRS,),
    "Sequence[Axes]": (INTS,),
    "tuple[Axes, Axes]": (
        Kind(
            _all(lambda x: _is_int(x) or INTS.accepts(x)), "a pair of axes or of sequences of axes"
        ),
    ),
    "Iterable[Any]": (ITERABLE,),
    "Iterable[Module]": (MODULES,),
    "Sequence[Callable[..., Any]]": (FUNCTIONS,),
    "Sequence[Callable[[int], float]]": (FUNCTIONS,),
    "dict[str, Any]": (MAPPING,),
    "np.ndarray[Any, Any]": (Kind(lambda x: isinstance(x, np.ndarray), "a NumPy array"),),
}
OPERANDS = [
    "x",
    "y",
    "a",
    "b",
    "input",
    "other",
    "target",
    "weight",
    "bias",
    "tensor",
    "data",
    "running_mean",
    "running_var",
    "input1",
    "input2",
    "x1",
    "x2",
    "vec",
    "v",
    "mask",
    "condition",
    "value",
    "values",
    "src",
    "p",
    "fill_value",
    "xp",
    "fp",
    "left",
    "right",
    "h",
    "q",
    "indices",
    "index",
    "initial",
    "where",
    "tensor1",
    "tensor2",
    "first",
    "second",
    "prepend",
    "append",
    "dx",
    "init",
    "y0",
    "x0",
    "pos_weight",
    "weights",
    "end",
    "start",
    "stop",
    "lower",
    "upper",
]
_BY_NAME = {
    **dict.fromkeys(OPERANDS, (ARRAY,)),
    "dtype": (DTYPE,),
    "device": (DEVICE,),
    "axis": (INT, INTS),
    "dim": (INT, INTS),
    "dims": (INT, INTS),
    "axes": (INTS,),
    "source": (INT, INTS),
    "destination": (INT, INTS),
    "shape": (INT, INTS),
    "size": (INT, INTS),
    "sizes": (INT, INTS),
    "repeats": (INDEX,),
    "shifts": (INT, INTS),
    "arrays": (ARRAYS,),
    "index": (INDEX,),
    "indices": (INDEX,),
    "keepdims": (BOOL,),
    "requires_grad": (BOOL,),
    "generator": (GENERATOR,),
    "alpha": (ARRAY,),
    "beta": (ARRAY,),
    "function": (FUNCTION,),
    "ddof": (REAL,),
    "correction": (REAL,),
    "output_size": (
        INT,
        Kind(_all(lambda n: n is None or _is_int(n)), "a sequence of integers (or None)"),
    ),
    "indices_or_sections": (INT, INTS),
    "decimals": (INT,),
    "ord": (REAL, STR),
    "tol": (ARRAY,),
    "rtol": (ARRAY,),
    "generators": (ITERABLE,),
    # NumPy's words.
    **dict.fromkeys(
        ("array", "ar", "ary", "arr", "m", "a1", "a2", "f", "to_begin", "to_end"), (ARRAY,)
    ),
    **dict.fromkeys(
        ("axis1", "axis2", "axisa", "axisb", "axisc", "decimals", "k", "N", "num", "offset"), (INT,)
    ),
    **dict.fromkeys(
        (
            "increasing",
            "equal_nan",
            "rowvar",
            "hermitian",
            "stable",
            "full_matrices",
            "return_index",
        ),
        (BOOL,),
    ),
    "bias": (BOOL, ARRAY),  # of np.cov, of a layer
    "out": (OUT,),
    "casting": (STR,),
    "shift": (INT, INTS),
    "tup": (ARRAYS,),
    "arys": (ARRAYS,),
    "condlist": (ARRAYS,),
    "choicelist": (ARRAYS,),
    "ind": (INDEX,),
    "val": (ARRAY,),
}


def _split(annotation: str) -> list[str]:
    """The alternatives of an annotation."""
    parts, depth, last = [], 0, ""
    for character in annotation:
        depth += (character in "[(" and 1) or -(character in "])")
        if character == "|" and not depth:
            parts.append(last.strip())
            last = ""
        else:
            last += character
    return [*parts, last.strip()]


def kinds_of(parameter: inspect.Parameter) -> tuple[Kind, ...]:
    """What a parameter may be; empty where its signature does not say."""
    found: list[Kind] = []
    annotation = parameter.annotation if isinstance(parameter.annotation, str) else "Any"
    for part in _split(annotation):
        if part == "Any":
            kinds = _BY_NAME.get(parameter.name, ())
            kinds = kinds if parameter.default is not None or not kinds else (*kinds, NONE)
        elif part.startswith("Callable["):
            kinds = (FUNCTION,)
        elif part == "Sequence[Any]":
            kinds = (ARRAYS if parameter.name in ("arrays", "tensors") else ITERABLE,)
        else:
            kinds = _BY_ANNOTATION.get(part, ())
            if not kinds:
                return ()
        if not kinds:
            return ()
        found.extend(k for k in kinds if k not in found)
    return tuple(found)


def fault(parameter: inspect.Parameter, value: Any, least: Kind = ARRAY) -> str:
    """`is a slice; it must be an integer`: what is wrong with an argument; empty where nothing is.
    `least`: what an array must be."""
    kinds = tuple(least if k is ARRAY else k for k in kinds_of(parameter))
    if not kinds or any(k.accepts(value) for k in kinds):
        return ""
    why = fault_of_array(value).rstrip() if ARRAY in kinds else ""
    return f"is {describe(value)}{why}; it must be {' or '.join(k.wants for k in kinds)}"
