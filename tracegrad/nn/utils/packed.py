"""Sequences of different lengths without what would pad them: step by step, at each step the
elements of those that are that long, the longest sequence first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ... import ops
from ... import tensors as tg
from ...ir.dispatch import Value
from ...types import show
from .padding import pad_sequence, unpad_sequence


class PackedSequence(NamedTuple):
    """What `pack_padded_sequence` and `pack_sequence` give and the recurrent layers take.

    data              (sum of the lengths, ...): all sequences' first elements, then all second ones
    batch_sizes       how many sequences have a first element, a second one, ...
    sorted_indices    the places of the sequences from the longest to the shortest, where they were
                      not in that order
    unsorted_indices  the way back

    >>> import tracegrad as tg
    >>> rnn = tg.nn.utils.rnn
    >>> rnn.pack_sequence([tg.tensor([1.0, 2.0]), tg.tensor([5.0])]).data
    tensor([1., 5., 2.])
    """

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With `data.to(...)`."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def double(self) -> Self:
        """`to(float64)`."""
        return self.to(np.float64)

    def float(self) -> Self:
        """`to(float32)`."""
        return self.to(np.float32)

    def cpu(self) -> Self:
        """`to("cpu")`."""
        return self.to("cpu")

    @property
    def is_cuda(self) -> bool:
        """Whether `data` is on a GPU."""
        return bool(self.data.is_cuda)


def _known(name: str, what: str, numbers: Any) -> np.ndarray[Any, Any]:
    """Integers that are there, since sizes follow from them."""
    data = numbers._data if isinstance(numbers, Value) else numbers
    if isinstance(data, (list, tuple)):
        data = np.array([int(n) for n in data], np.int64)
    if not isinstance(data, np.ndarray):
        raise RuntimeError(
            f"{name}: sizes follow from {what}, so they must be known: inside jit give them as a "
            "list, or pad and mask instead"
        )
    if data.ndim != 1 or data.dtype.kind not in "iu":
        raise RuntimeError(f"{name}: {what} should be integers along one axis")
    return data.astype(np.int64)


def places(batch_sizes: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
    """(step, sequence) of each element, in order."""
    steps = np.repeat(np.arange(len(batch_sizes)), batch_sizes)
    starts = np.cumsum(batch_sizes) - batch_sizes
    return steps, np.arange(len(steps)) - np.repeat(starts, batch_sizes)


def sizes_of(name: str, packed: PackedSequence) -> np.ndarray[Any, Any]:
    """The batch sizes of a packed sequence, checked."""
    sizes = _known(name, "batch_sizes", packed.batch_sizes)
    count = packed.data.shape[0]
    if not len(sizes) or np.any(np.diff(sizes) > 0) or sizes[-1] < 1:
        raise RuntimeError(f"{name}: batch_sizes should be positive and not grow")
    if isinstance(count, int) and count != sizes.sum():
        raise RuntimeError(
            f"{name}: batch_sizes stand for {sizes.sum()} elements, and data has {count}"
        )
    return sizes


def padded(data: Any, sizes: np.ndarray[Any, Any], length: int, padding: float) -> Any:
    """(length, number of sequences, ...) out of the elements."""
    step, sequence = places(sizes)
    where = np.zeros((length, int(sizes[0])), np.int64)
    there = np.zeros(where.shape, bool)
    where[step, sequence], there[step, sequence] = np.arange(len(step)), True
    taken = ops.take(data, where, 0)
    if there.all():
        return taken
    mask = there.reshape(*there.shape, *[1] * (len(data.shape) - 1))
    return ops.where(mask, taken, np.asarray(padding, data.dtype))


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Sequences (L, N, ...), or (N, L, ...) with `batch_first`, of which so many elements count.

    The lengths are numbers that are known. RuntimeError where one is not positive or longer than
    L, and where they grow although `enforce_sorted` promises that they do not.

    >>> import tracegrad as tg
    >>> rnn = tg.nn.utils.rnn
    >>> x = tg.tensor([[1.0, 2.0], [5.0, 0.0]])
    >>> packed = rnn.pack_padded_sequence(x, [2, 1], batch_first=True)
    >>> packed.data, packed.batch_sizes
    (tensor([1., 5., 2.]), tensor([2, 1]))
    """
    name = "pack_padded_sequence"
    if len(input.shape) < 2:
        raise RuntimeError(f"{name}: input needs 2 axes or more, not {show(input.shape)}")
    numbers = _known(name, "lengths", lengths)
    x = ops.swapaxes(input, 0, 1) if batch_first else input
    batch, longest = x.shape[1], x.shape[0]
    if isinstance(batch, int) and batch != len(numbers):
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, "
            f"but got {len(numbers)} (batch_size={batch})"
        )
    if not len(numbers) or numbers.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, "
            "but found an element in 'lengths' that is <= 0"
        )
    if isinstance(longest, int) and numbers.max() > longest:
        raise RuntimeError(f"{name}: a length of {numbers.max()} in sequences of {longest}")
    order = np.argsort(-numbers, kind="stable")
    if enforce_sorted and np.any(np.diff(numbers) > 0):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement."
        )
    steps = np.arange(int(numbers.max()))
    sizes = (numbers[None, :] > steps[:, None]).sum(axis=1)
    step, sequence = places(sizes)
    if not enforce_sorted:
        sequence = order[sequence]
    data = ops.take(ops.reshape(x, (longest * batch, *x.shape[2:])), step * batch + sequence, 0)
    found = PackedSequence(data, tg.tensor(sizes))
    if enforce_sorted:
        return found
    return found._replace(
        sorted_indices=tg.tensor(order), unsorted_indices=tg.tensor(np.argsort(order))
    )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """The sequences (L, N, ...), or (N, L, ...) with `batch_first`, in their own order, and their
    lengths. `total_length` is at least the longest, which L is otherwise.

    >>> import tracegrad as tg
    >>> rnn = tg.nn.utils.rnn
    >>> packed = rnn.pack_sequence([tg.tensor([5.0]), tg.tensor([1.0, 2.0])], enforce_sorted=False)
    >>> rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[5., 0.],
            [1., 2.]]), tensor([1, 2]))
    """
    name = "pad_packed_sequence"
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"{name} takes a PackedSequence, not a {type(sequence).__name__}")
    sizes = sizes_of(name, sequence)
    length = len(sizes) if total_length is None else int(total_length)
    if length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={length} and max sequence length being {len(sizes)}"
        )
    x = padded(sequence.data, sizes, length, padding_value)
    lengths = (sizes[:, None] > np.arange(sizes[0])).sum(axis=0)
    if sequence.unsorted_indices is not None:
        back = _known(name, "unsorted_indices", sequence.unsorted_indices)
        x, lengths = ops.take(x, back, 1), lengths[back]
    return (ops.swapaxes(x, 0, 1) if batch_first else x), tg.tensor(lengths)


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (L_k, ...) packed; as `pack_padded_sequence` of them padded."""
    parts = list(sequences)
    lengths = [int(x.shape[0]) for x in parts]
    return pack_padded_sequence(pad_sequence(parts), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """The sequences (L_k, ...) in their own order."""
    x, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(x, lengths, batch_first=True)


__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "padded",
    "places",
    "sizes_of",
    "unpack_sequence",
]
