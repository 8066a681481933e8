"""Arrays with labels, of pandas and xarray, as arguments: functions get their values, and a
gradient that has the shape of such an argument gets its labels.

Neither library is needed or loaded: what is none of theirs while they are not loaded, is not.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import DTypeError
from .tree import flatten, unflatten

Kinds = dict[type, Callable[[Any], Any]]
_KINDS: dict[tuple[bool, bool], Kinds] = {}


def _kinds() -> Kinds:
    """The classes that have labels, of the libraries that are loaded: their values."""
    here = "pandas" in sys.modules, "xarray" in sys.modules
    found = _KINDS.get(here)
    if found is None:
        found = {}
        pandas, xarray = sys.modules.get("pandas"), sys.modules.get("xarray")
        if hasattr(pandas, "DataFrame"):
            found[pandas.Series] = _of_series  # type: ignore[union-attr]
            found[pandas.DataFrame] = _of_frame  # type: ignore[union-attr]
        if hasattr(xarray, "DataArray"):
            found[xarray.DataArray] = _of_xarray  # type: ignore[union-attr]
        if all(hasattr(m, "__version__") for m in (pandas, xarray) if m is not None):
            _KINDS[here] = found  # complete: neither is being imported just now
    return found


def _of_series(x: Any) -> Any:
    return _checked(x.to_numpy() if isinstance(x.dtype, np.dtype) else None, x, [x.dtype])


def _of_frame(x: Any) -> Any:
    plain = all(isinstance(dtype, np.dtype) for dtype in x.dtypes)
    values = x.to_numpy() if plain else None
    if values is not None and values.size and not np.may_share_memory(values, x.iloc[:, 0]):
        values.flags.writeable = False  # a copy, into which a write would go unseen
    return _checked(values, x, x.dtypes)


def _of_xarray(x: Any) -> Any:
    return _checked(x.values, x, [x.dtype])


def _checked(values: Any, x: Any, dtypes: Sequence[Any]) -> Any:
    """The values, where they are numbers: a DTypeError that names what is in the way."""
    if values is not None and values.dtype.kind != "O":
        return values
    what = ", ".join(dict.fromkeys(map(str, dtypes)))
    library = type(x).__module__.partition(".")[0]
    raise DTypeError(
        f"a {type(x).__name__} of {library} with dtype {what} is no array of numbers. Choose the "
        "columns that hold numbers, or convert it with .astype(float)."
    )


def with_values(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call with plain arrays in the place of those with labels; None where none
    has any. A DTypeError where one holds something else than numbers."""
    kinds = _kinds()
    if not kinds:
        return None
    leaves, spec = flatten((args, kwargs))
    found = [_reader(x, kinds) for x in leaves]
    if not any(found):
        return None
    _check_order([x for x, read in zip(leaves, found, strict=True) if read is not None])
    values = [x if read is None else read(x) for x, read in zip(leaves, found, strict=True)]
    made: tuple[tuple[Any, ...], dict[str, Any]] = unflatten(spec, values)
    return made


def _check_order(given: Sequence[Any]) -> None:
    """A ValueError where two arguments have the same labels in another order: by their libraries
    they go by label, as values by place."""
    axes: list[tuple[Any, Any]] = []
    for x in given if len(given) > 1 else ():
        own = (
            [("dimensions", x.dims), *x.indexes.items()]
            if hasattr(x, "dims")
            else [("index", a) for a in x.axes]
        )
        for (name, a), (other, b) in itertools.product(own, axes):
            if name == other and a is not b and len(a) == len(b) > 1 and _in_another_order(a, b):
                raise ValueError(
                    f"two arguments have the same labels ({name}) in another order, and a function "
                    "gets their values, by place. Bring them into one order: b.reindex(a.index) of "
                    "pandas, b.transpose(*a.dims) or b.reindex_like(a) of xarray."
                )
        axes += own


def _in_another_order(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return a != b and set(a) == set(b)
    if a.equals(b):
        return False
    try:
        return bool(a.sort_values().equals(b.sort_values()))
    except TypeError:  # labels of several kinds
        return sorted(map(repr, a)) == sorted(map(repr, b))


def _reader(x: Any, kinds: Kinds) -> Callable[[Any], Any] | None:
    found = kinds.get(type(x))
    if found is None and not isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        # Subclasses, such as those of geographic tables.
        return next((read for kind, read in kinds.items() if isinstance(x, kind)), None)
    return found


def has_labels(x: Any) -> bool:
    """Whether an object is one of pandas' or xarray's."""
    return type(x).__module__.partition(".")[0] in ("pandas", "xarray")


def table_of(x: Any) -> bytes | None:
    """The numbers and labels of a pandas object as they are now, equal for what no function can
    tell apart by them; None of any other."""
    pandas: Any = sys.modules.get("pandas")
    if not hasattr(pandas, "DataFrame"):
        return None
    if isinstance(x, pandas.DataFrame):
        alike = len(set(x.dtypes)) == 1 and _plain(x.dtypes.iloc[0])
        found: list[Any] = [repr([(type(c), c) for c in x.columns]), [*map(str, x.columns.names)]]
        if alike:
            found += [x.dtypes.iloc[0].str, x.to_numpy().tobytes()]
        parts = [x.index, *([] if alike else [x.iloc[:, k] for k in range(x.shape[1])])]
    elif isinstance(x, pandas.Series):
        found, parts = [], [x.index, x]
    elif isinstance(x, pandas.Index):
        found, parts = [], [x]
    else:
        return None
    for part in parts:
        found.append(f"{type(part)} {part.dtype} {part.name!r}")
        if isinstance(part, pandas.RangeIndex):
            found.append(repr(part))
        elif _plain(part.dtype):
            found.append(part.to_numpy().tobytes())
        else:
            try:
                hashed = pandas.util.hash_pandas_object(part, index=False)
                found.append(hashed.to_numpy().tobytes())
            except TypeError:  # elements that have no hash
                found.append(repr(part.tolist()))
    return b"\0".join([p if isinstance(p, bytes) else str(p).encode() for p in (type(x), *found)])


def _plain(dtype: Any) -> bool:
    """Whether elements are told by their bytes."""
    return isinstance(dtype, np.dtype) and dtype.kind in "biufcmM"


def values_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The positional arguments, as `with_values` gives them."""
    found = with_values(args, {})
    return args if found is None else found[0]


def labelled(result: Any, args: Sequence[Any], argnums: int | Sequence[int], at: int | None) -> Any:
    """A result with gradients by the arguments `argnums`, as labelled as those are; the gradients
    are the result itself, or its part `at`."""
    like = args[argnums] if isinstance(argnums, (int, np.integer)) else [args[n] for n in argnums]
    if at is None:
        return _like(result, like)
    return tuple(_like(part, like) if k == at else part for k, part in enumerate(result))


def _like(gradients: Any, like: Any) -> Any:
    found, spec = flatten(gradients)
    examples, _ = flatten(like)
    if len(found) != len(examples):  # a function that only wears the name of a gradient
        return gradients
    return unflatten(spec, [_dressed(g, x) for g, x in zip(found, examples, strict=True)])


def _dressed(gradient: Any, x: Any) -> Any:
    """A gradient with the labels of an argument of its shape."""
    if not isinstance(gradient, (np.ndarray, np.generic)) or _reader(x, _kinds()) is None:
        return gradient
    if gradient.shape != x.shape:
        return gradient
    if hasattr(x, "dims"):
        return x.copy(data=np.asarray(gradient))
    pandas: Any = sys.modules["pandas"]
    if isinstance(x, pandas.Series):
        return pandas.Series(gradient, index=x.index, name=x.name)
    return pandas.DataFrame(gradient, index=x.index, columns=x.columns)


__all__ = ["has_labels", "labelled", "table_of", "values_of", "with_values"]
