"""Losses of distances, margins and distributions' parameters as modules."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..functional.common import reduction_of
from .loss import _Loss
from .module import Module


class SoftMarginLoss(_Loss):
    """`functional.soft_margin_loss`."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(F.soft_margin_loss, reduction_of(size_average, reduce, reduction), {})


class HingeEmbeddingLoss(_Loss):
    """`functional.hinge_embedding_loss`."""

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.hinge_embedding_loss, reduction_of(size_average, reduce, reduction), {}, margin=margin
        )


class MultiLabelSoftMarginLoss(_Loss):
    """`functional.multilabel_soft_margin_loss`."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.multilabel_soft_margin_loss,
            reduction_of(size_average, reduce, reduction),
            {"weight": weight},
        )


class PoissonNLLLoss(_Loss):
    """`functional.poisson_nll_loss`."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        kind = reduction_of(size_average, reduce, reduction)
        super().__init__(F.poisson_nll_loss, kind, {}, log_input=log_input, full=full, eps=eps)


class _OfThree(_Loss):
    """A loss of two inputs and a target, or of three inputs."""

    def forward(self, input1: Any, input2: Any, target: Any) -> Any:  # type: ignore[override]
        return self._function(
            input1, input2, target, **{name: getattr(self, name) for name in self._passed}
        )


class MarginRankingLoss(_OfThree):
    """`functional.margin_ranking_loss`."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.margin_ranking_loss, reduction_of(size_average, reduce, reduction), {}, margin=margin
        )


class CosineEmbeddingLoss(_OfThree):
    """`functional.cosine_embedding_loss`."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.cosine_embedding_loss,
            reduction_of(size_average, reduce, reduction),
            {},
            margin=margin,
        )


class TripletMarginLoss(_OfThree):
    """`functional.triplet_margin_loss`.

    >>> import tracegrad as tg
    >>> tg.nn.TripletMarginLoss()(tg.zeros(1, 2), tg.zeros(1, 2), tg.ones(1, 2) * 10)
    tensor(0.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        kind = reduction_of(size_average, reduce, reduction)
        super().__init__(F.triplet_margin_loss, kind, {}, margin=margin, p=p, eps=eps, swap=swap)


class GaussianNLLLoss(_OfThree):
    """`functional.gaussian_nll_loss`."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(F.gaussian_nll_loss, reduction, {}, full=full, eps=eps)


class PairwiseDistance(Module):
    """`functional.pairwise_distance`."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


__all__ = [
    "CosineEmbeddingLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
]
