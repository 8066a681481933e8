"""The losses of `nn.functional` as modules."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from ..functional.common import REDUCTIONS, reduction_of
from .module import Module

_ALLOWED = (*REDUCTIONS, "batchmean")


class _Loss(Module):
    """`function(input, target, **options)`; `weight` and `pos_weight` become buffers."""

    def __init__(
        self, function: Any, reduction: str, buffers: dict[str, Any], **options: Any
    ) -> None:
        super().__init__()
        if reduction not in (*REDUCTIONS, "batchmean"):
            raise ValueError(
                f"{reduction!r} is not a valid value for reduction; "
                f"it is one of {', '.join(map(repr, REDUCTIONS))}"
            )
        self.reduction = reduction
        for name, value in options.items():
            setattr(self, name, value)
        for name, value in buffers.items():
            self.register_buffer(name, value)
        self._function, self._passed = function, (*options, *buffers, "reduction")

    def forward(self, input: Any, target: Any) -> Any:
        return self._function(input, target, **{name: getattr(self, name) for name in self._passed})


class MSELoss(_Loss):
    """`functional.mse_loss`.

    >>> import tracegrad as tg
    >>> tg.nn.MSELoss()(tg.ones(2), tg.zeros(2))
    tensor(1.)
    """

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(F.mse_loss, reduction_of(size_average, reduce, reduction, _ALLOWED), {})


class L1Loss(_Loss):
    """`functional.l1_loss`."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__(F.l1_loss, reduction_of(size_average, reduce, reduction, _ALLOWED), {})


class SmoothL1Loss(_Loss):
    """`functional.smooth_l1_loss`."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(
            F.smooth_l1_loss, reduction_of(size_average, reduce, reduction, _ALLOWED), {}, beta=beta
        )


class HuberLoss(_Loss):
    """`functional.huber_loss`."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(F.huber_loss, reduction, {}, delta=delta)


class NLLLoss(_Loss):
    """`functional.nll_loss`."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.nll_loss,
            reduction_of(size_average, reduce, reduction),
            {"weight": weight},
            ignore_index=ignore_index,
        )


class CrossEntropyLoss(_Loss):
    """`functional.cross_entropy`."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(
            F.cross_entropy,
            reduction_of(size_average, reduce, reduction),
            {"weight": weight},
            ignore_index=ignore_index,
            label_smoothing=label_smoothing,
        )


class BCELoss(_Loss):
    """`functional.binary_cross_entropy`."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(
            F.binary_cross_entropy,
            reduction_of(size_average, reduce, reduction),
            {"weight": weight},
        )


class BCEWithLogitsLoss(_Loss):
    """`functional.binary_cross_entropy_with_logits`."""

    def __init__(
        self,
        weight: Any = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Any = None,
    ) -> None:
        super().__init__(
            F.binary_cross_entropy_with_logits,
            reduction_of(size_average, reduce, reduction),
            {"weight": weight, "pos_weight": pos_weight},
        )


class KLDivLoss(_Loss):
    """`functional.kl_div`."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(
            F.kl_div,
            reduction_of(size_average, reduce, reduction, _ALLOWED),
            {},
            log_target=log_target,
        )


class CosineSimilarity(Module):
    """`functional.cosine_similarity`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "NLLLoss",
    "SmoothL1Loss",
]
