"""Sequences of different lengths as one Tensor, with something behind the shorter ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import ops
from ...types import show


def pad_sequence(
    sequences: Sequence[Any],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Sequences (L_k, ...) padded to the longest: (L, N, ...), or (N, L, ...) with `batch_first`.

    >>> import tracegrad as tg
    >>> tg.nn.utils.rnn.pad_sequence([tg.ones(1), tg.ones(2)], batch_first=True)
    tensor([[1., 0.],
            [1., 1.]])
    """
    parts = list(sequences)
    if not parts:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("right", "left"):
        raise ValueError(f"pad_sequence: padding_side is 'right' or 'left', not {padding_side!r}")
    if any(not x.shape or tuple(x.shape[1:]) != tuple(parts[0].shape[1:]) for x in parts):
        raise RuntimeError(
            "pad_sequence: the sequences differ in more than their lengths: "
            f"{', '.join(show(x.shape) for x in parts)}"
        )
    longest = max(int(x.shape[0]) for x in parts)
    widened = []
    for x in parts:
        missing = longest - int(x.shape[0])
        width = (0, missing) if padding_side == "right" else (missing, 0)
        widened.append(
            ops.pad(x, [width] + [(0, 0)] * (len(x.shape) - 1), constant_values=padding_value)
            if missing
            else x
        )
    return ops.stack(widened, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """The sequences of these lengths that `pad_sequence` has padded on the right."""
    x = padded_sequences if batch_first else ops.swapaxes(padded_sequences, 0, 1)
    sizes = lengths.tolist() if hasattr(lengths, "tolist") else list(lengths)
    return [x[k, : int(n)] for k, n in enumerate(sizes)]


__all__ = ["pad_sequence", "unpad_sequence"]
