"""Data sets: what has a length and items, or what is iterated over."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....ops import Generator
from ....ops.random import DEFAULT


class Dataset:
    """Base of data sets: define `__getitem__(index)`, and `__len__` where samplers are to know it.

    >>> from tracegrad.torch.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 3
    ...
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> [Squares()[k] for k in range(3)]
    [0, 1, 4]
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class IterableDataset(Dataset):
    """Base of data sets that are streams: define `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")

    def __add__(self, other: Dataset) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """The slices of tensors along their first dimension, which has one size in all: item k is a
    tuple.

    >>> import tracegrad.torch as torch
    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.ones(3))[1]
    (tensor(1), tensor(1.))
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors or any(len(x) != len(tensors[0]) for x in tensors):
            raise ValueError(
                "Size mismatch between tensors: "
                f"the first dimensions are {[len(x) for x in tensors]}"
            )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(x[index] for x in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Several data sets of one length side by side: item k is the tuple of their items (or the
    dict, for keywords)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError(
                "StackDataset takes data sets by position or by keyword, at least one, and not both"
            )
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}
        if len(lengths) != 1:
            raise ValueError(f"Size mismatch between datasets: {sorted(lengths)}")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise TypeError("ConcatDataset does not support IterableDataset; take ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for a data set of length {len(self)}")
        index %= len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)


class Subset(Dataset):
    """The items of a data set at these indices.

    >>> from tracegrad.torch.utils.data import Subset
    >>> list(Subset("abcd", [3, 1]))
    ['d', 'b']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return [self.dataset[self.indices[k]] for k in index]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """A data set cut at random into parts of these lengths, or fractions that sum to 1.

    >>> from tracegrad.torch.utils.data import random_split
    >>> parts = random_split(range(10), [0.7, 0.3])
    >>> [len(p) for p in parts], sorted(k for p in parts for k in p)
    ([7, 3], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 and total != 1:
        if any(not 0 <= f <= 1 for f in lengths):
            raise ValueError(f"the fractions {list(lengths)} must lie between 0 and 1")
        sizes = [math.floor(total * f) for f in lengths]
        for k in range(total - sum(sizes)):
            sizes[k % len(sizes)] += 1
        for k, size in enumerate(sizes):
            if not size:
                warnings.warn(
                    f"Length of split at index {k} is 0. This might result in an empty dataset.",
                    stacklevel=2,
                )
    else:
        sizes = [int(n) for n in lengths]
    if sum(sizes) != total or any(
        n < 0 or n != m for n, m in zip(sizes, lengths, strict=True) if sum(lengths) > 1
    ):
        raise ValueError(
            f"Sum of input lengths {list(lengths)} does not equal the length of the "
            f"input dataset, {total}"
        )
    order = (DEFAULT if generator is None else generator).permutation(total).tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
