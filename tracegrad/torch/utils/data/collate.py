"""Items of a data set made into one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .... import ops
from ....faces.tensor.casts import own
from ....tensor import Tensor
from ....tensors import as_tensor, tensor


def default_convert(data: Any) -> Any:
    """`data` with Tensors in the place of arrays, in dicts, lists and tuples too."""
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "USOV":
        return as_tensor(np.asarray(data))
    if isinstance(data, Mapping):
        return {k: default_convert(v) for k, v in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [default_convert(v) for v in data]
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of many items: Tensors, arrays and numbers are stacked along a new first dimension;
    dicts, tuples and lists are gone through; texts are listed.

    >>> import tracegrad.torch as torch
    >>> torch.utils.data.default_collate([(torch.ones(2), 0, "a"), (torch.zeros(2), 1, "b")])
    [tensor([[1., 1.], [0., 0.]]), tensor([0, 1]), ('a', 'b')]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return ops.stack(list(batch))
    if isinstance(first, (np.ndarray, np.generic)):
        if first.dtype.kind in "USOV":
            raise TypeError(
                "default_collate: batch must contain tensors, numpy arrays, numbers, dicts "
                f"or lists; found {first.dtype}"
            )
        return own(Tensor, np.stack([np.asarray(item) for item in batch]))
    if isinstance(first, float):
        return tensor(list(batch), dtype=np.float64)
    if isinstance(first, (bool, int)):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [list(column) for column in zip(*batch, strict=True)]
        made = [tuple(p) if isinstance(p[0], (str, bytes)) else default_collate(p) for p in parts]
        return type(first)(*made) if hasattr(first, "_fields") else made
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
        f"found {type(first).__name__}"
    )
