"""torch.nn.utils.rnn: `tracegrad.nn.utils.rnn`."""

from __future__ import annotations

from ....nn.utils.rnn import pad_sequence, unpad_sequence

__all__ = ["pad_sequence", "unpad_sequence"]
