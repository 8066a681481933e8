"""Losses of distances, margins and distributions' parameters as modules."""

from __future__ import annotations

from collections.abc import Callable
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


class MultiMarginLoss(_Loss):
    """`functional.multi_margin_loss`."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        kind = reduction_of(size_average, reduce, reduction)
        super().__init__(F.multi_margin_loss, kind, {"weight": weight}, p=p, margin=margin)


class MultiLabelMarginLoss(_Loss):
    """`functional.multilabel_margin_loss`."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(
            F.multilabel_margin_loss, reduction_of(size_average, reduce, reduction), {}
        )


class CTCLoss(_Loss):
    """`functional.ctc_loss`.

    >>> import tracegrad as tg
    >>> even = tg.log_softmax(tg.zeros(3, 1, 2), -1)
    >>> tg.nn.CTCLoss()(even, tg.tensor([[1]]), tg.tensor([3]), tg.tensor([1]))
    tensor(0.2877)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(F.ctc_loss, reduction, {}, blank=blank, zero_infinity=zero_infinity)

    def forward(  # type: ignore[override]
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> Any:
        return self._function(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            **{name: getattr(self, name) for name in self._passed},
        )


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


class TripletMarginWithDistanceLoss(_OfThree):
    """`functional.triplet_margin_with_distance_loss`."""

    def __init__(
        self,
        *,
        distance_function: Callable[[Any, Any], Any] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.triplet_margin_with_distance_loss,
            reduction,
            {},
            distance_function=distance_function or PairwiseDistance(),
            margin=margin,
            swap=swap,
        )


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
    "CTCLoss",
    "CosineEmbeddingLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]
