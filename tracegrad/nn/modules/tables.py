"""What `Embedding` and `EmbeddingBag` share: a table of which rows are taken."""

from __future__ import annotations

from typing import Any

from ... import tensors as tg
from .. import init
from .module import Module
from .parameter import Parameter

NOT_OF_TABLES = "{}: max_norm, scale_grad_by_freq and sparse are not supported; leave them out"


class EmbeddingTable(Module):
    """A table (num_embeddings, embedding_dim), whose row `padding_idx` starts at 0 and stays."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        weight: Any,
        trained: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError("padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        if weight is not None:
            if tuple(weight.shape) != (num_embeddings, embedding_dim):
                raise ValueError(
                    f"Shape of weight {tuple(weight.shape)} does not match num_embeddings and "
                    "embedding_dim"
                )
            self.weight = Parameter(weight, trained)
            return
        made = tg.empty(num_embeddings, embedding_dim, dtype=dtype, device=device)
        self.weight = Parameter(made, trained)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx] = 0.0
