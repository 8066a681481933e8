"""Tables whose rows are summed over bags of integers."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..functional.sequences import MODES
from .tables import NOT_OF_TABLES, EmbeddingTable


class EmbeddingBag(EmbeddingTable):
    """`functional.embedding_bag` with a table (num_embeddings, embedding_dim); the row
    `padding_idx` starts at 0 and stays."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise NotImplementedError(NOT_OF_TABLES.format("EmbeddingBag"))
        if mode not in MODES:
            raise ValueError(f"mode has to be one of sum, mean or max, not {mode!r}")
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}{padding}"


__all__ = ["EmbeddingBag"]
