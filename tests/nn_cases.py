"""Uses of `nn.functional` as functions of the module, so that torch computed
tests/data/nn_functional.npz from the very same text.

`python tests/nn_cases.py FILE`, in an environment with torch, writes that file again.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def real(*shape: int, scale: float = 1.5) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.standard_normal(shape) * scale


def probability(*shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.uniform(0.05, 0.95, shape)


def distribution(*shape: int) -> Callable[[np.random.Generator], Any]:
    def make(rng: np.random.Generator) -> Any:
        p = rng.uniform(0.1, 1.0, shape)
        return p / p.sum(axis=1, keepdims=True)

    return make


def classes(count: int, *shape: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(0, count, shape)


def exactly(*values: Any) -> Callable[[np.random.Generator], Any]:
    return lambda rng: np.array(values)


def times(values: Any, indices: Any) -> Any:
    return values * (indices + 1)


POINTS = exactly(-40.0, -3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5, 3.0, 6.0, 25.0)
SMOOTH = exactly(-40.0, -3.0, -1.0, -0.5, 0.25, 1.0, 2.5, 3.0, 6.0, 25.0)
"""Without 0, where second derivatives of some functions jump: torch gives 0 for them, here they are
those of the branch taken."""
Case = tuple[Callable[..., Any], tuple[Callable[[np.random.Generator], Any], ...]]

CASES: dict[str, Case] = {
    # --- activations, at their kinks too
    "relu": (lambda F, x: F.relu(x), (POINTS,)),
    "relu6": (lambda F, x: F.relu6(x), (POINTS,)),
    "hardtanh": (lambda F, x: F.hardtanh(x, -0.5, 2.5), (POINTS,)),
    "hardsigmoid": (lambda F, x: F.hardsigmoid(x), (POINTS,)),
    "hardswish": (lambda F, x: F.hardswish(x), (exactly(-4.0, -2.0, 0.0, 1.0, 5.0),)),
    "hardshrink": (lambda F, x: F.hardshrink(x, 0.4), (POINTS,)),
    "softshrink": (lambda F, x: F.softshrink(x, 0.4), (POINTS,)),
    "gelu": (lambda F, x: F.gelu(x), (POINTS,)),
    "gelu tanh": (lambda F, x: F.gelu(x, approximate="tanh"), (POINTS,)),
    "silu": (lambda F, x: F.silu(x), (POINTS,)),
    "mish": (lambda F, x: F.mish(x), (POINTS,)),
    "elu": (lambda F, x: F.elu(x, 0.7), (SMOOTH,)),
    "selu": (lambda F, x: F.selu(x), (SMOOTH,)),
    "celu": (lambda F, x: F.celu(x, 0.5), (SMOOTH,)),
    "leaky_relu": (lambda F, x: F.leaky_relu(x, 0.2), (POINTS,)),
    "prelu": (lambda F, x, w: F.prelu(x, w), (real(2, 3, 2), real(3))),
    "prelu one": (lambda F, x, w: F.prelu(x, w), (real(4), real(1))),
    "glu": (lambda F, x: F.glu(x, 0), (real(4, 3),)),
    "softplus": (lambda F, x: F.softplus(x), (POINTS,)),
    "softplus beta": (lambda F, x: F.softplus(x, 2.0, 5.5), (POINTS,)),
    "softsign": (lambda F, x: F.softsign(x), (POINTS,)),
    "tanhshrink": (lambda F, x: F.tanhshrink(x), (POINTS,)),
    "sigmoid": (lambda F, x: F.sigmoid(x), (POINTS,)),
    "logsigmoid": (lambda F, x: F.logsigmoid(x), (POINTS,)),
    "tanh": (lambda F, x: F.tanh(x), (POINTS,)),
    "softmax": (lambda F, x: F.softmax(x, dim=1), (real(2, 3, 2),)),
    "softmin": (lambda F, x: F.softmin(x, dim=0), (real(3, 2),)),
    "log_softmax": (lambda F, x: F.log_softmax(x, dim=-1), (real(2, 4),)),
    # --- losses
    "mse_loss": (lambda F, x, y: F.mse_loss(x, y), (real(3, 2), real(3, 2))),
    "mse_loss none": (lambda F, x, y: F.mse_loss(x, y, reduction="none"), (real(3), real(3))),
    "l1_loss sum": (
        lambda F, x, y: F.l1_loss(x, y, reduction="sum"),
        (exactly(1.0, 2.0, 3.0), exactly(1.0, 0.5, 4.0)),
    ),
    "smooth_l1_loss": (lambda F, x, y: F.smooth_l1_loss(x, y, beta=0.6), (real(3, 3), real(3, 3))),
    "smooth_l1_loss sharp": (lambda F, x, y: F.smooth_l1_loss(x, y, beta=0.0), (real(3), real(3))),
    "huber_loss": (lambda F, x, y: F.huber_loss(x, y, delta=0.8), (real(3, 3), real(3, 3))),
    "nll_loss": (lambda F, x, t: F.nll_loss(x, t), (real(4, 3), classes(3, 4))),
    "nll_loss weight": (
        lambda F, x, t, w: F.nll_loss(x, t, weight=w.detach(), ignore_index=1),
        (real(5, 3), exactly(0, 1, 2, 2, 0), probability(3)),
    ),
    "nll_loss images": (
        lambda F, x, t: F.nll_loss(x, t, reduction="sum"),
        (real(2, 3, 2, 2), classes(3, 2, 2, 2)),
    ),
    "nll_loss one": (lambda F, x, t: F.nll_loss(x, t), (real(3), lambda rng: np.array(2))),
    "cross_entropy": (lambda F, x, t: F.cross_entropy(x, t), (real(4, 3), classes(3, 4))),
    "cross_entropy ignored": (
        lambda F, x, t: F.cross_entropy(x, t),
        (real(4, 3), exactly(0, -100, 2, -100)),
    ),
    "cross_entropy none": (
        lambda F, x, t: F.cross_entropy(x, t, reduction="none", ignore_index=2),
        (real(4, 3), classes(3, 4)),
    ),
    "cross_entropy weight": (
        lambda F, x, t, w: F.cross_entropy(x, t, weight=w.detach()),
        (real(4, 3), classes(3, 4), probability(3)),
    ),
    "cross_entropy smooth": (
        lambda F, x, t, w: F.cross_entropy(
            x, t, weight=w.detach(), label_smoothing=0.2, ignore_index=0
        ),
        (real(5, 3), exactly(0, 1, 2, 2, 1), probability(3)),
    ),
    "cross_entropy smooth sum": (
        lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.2, reduction="sum"),
        (real(4, 3), classes(3, 4)),
    ),
    "cross_entropy images": (
        lambda F, x, t: F.cross_entropy(x, t, label_smoothing=0.1),
        (real(2, 3, 2, 2), classes(3, 2, 2, 2)),
    ),
    "cross_entropy probabilities": (
        lambda F, x, t: F.cross_entropy(x, t),
        (real(4, 3), distribution(4, 3)),
    ),
    "cross_entropy probabilities smooth": (
        lambda F, x, t, w: F.cross_entropy(x, t, weight=w.detach(), label_smoothing=0.3),
        (real(2, 3, 2), distribution(2, 3, 2), probability(3)),
    ),
    "cross_entropy one": (
        lambda F, x, t: F.cross_entropy(x, t),
        (real(3), lambda rng: np.array(1)),
    ),
    "binary_cross_entropy": (
        lambda F, x, t: F.binary_cross_entropy(x, t),
        (probability(3, 2), probability(3, 2)),
    ),
    "binary_cross_entropy weight": (
        lambda F, x, t, w: F.binary_cross_entropy(
            x, t.detach(), weight=w.detach(), reduction="sum"
        ),
        (probability(4), exactly(0.0, 1.0, 0.5, 1.0), probability(4)),
    ),
    "binary_cross_entropy_with_logits": (
        lambda F, x, t: F.binary_cross_entropy_with_logits(x, t),
        (POINTS, probability(11)),
    ),
    "binary_cross_entropy_with_logits weights": (
        lambda F, x, t, w, p: F.binary_cross_entropy_with_logits(
            x, t.detach(), weight=w.detach(), pos_weight=p.detach()
        ),
        (real(3, 2, scale=20.0), probability(3, 2), probability(3, 2), probability(2)),
    ),
    "kl_div": (
        lambda F, x, t: F.kl_div(x, t, reduction="batchmean"),
        (real(3, 4), distribution(3, 4)),
    ),
    "kl_div zero": (
        lambda F, x, t: F.kl_div(x, t.detach(), reduction="sum"),
        (real(3), exactly(0.0, 0.3, 0.7)),
    ),
    "kl_div log": (
        lambda F, x, t: F.kl_div(x, t, reduction="none", log_target=True),
        (real(3, 2), real(3, 2)),
    ),
    # --- linear maps, lookups, distances
    "linear": (lambda F, x, w, b: F.linear(x, w, b), (real(2, 3), real(4, 3), real(4))),
    "linear vector": (lambda F, x, w: F.linear(x, w), (real(3), real(4, 3))),
    "linear stack": (lambda F, x, w, b: F.linear(x, w, b), (real(2, 2, 3), real(4, 3), real(4))),
    "linear empty": (lambda F, x, w, b: F.linear(x, w, b), (real(0, 3), real(4, 3), real(4))),
    "bilinear": (
        lambda F, x, y, w, b: F.bilinear(x, y, w, b),
        (real(2, 3), real(2, 2), real(4, 3, 2), real(4)),
    ),
    "embedding": (lambda F, t, w: F.embedding(t, w), (classes(4, 2, 3), real(4, 3))),
    "embedding padding": (
        lambda F, t, w: F.embedding(t, w, padding_idx=-3),
        (exactly(0, 1, 1, 3), real(4, 2)),
    ),
    **{
        f"embedding_bag {mode}": (
            lambda F, t, w, mode=mode: F.embedding_bag(t, w, mode=mode, padding_idx=1),
            (exactly([0, 1, 3], [1, 1, 1], [2, 0, 3]), real(4, 2)),
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag offsets": (
        lambda F, t, o, w: F.embedding_bag(t, w, o),
        (classes(4, 7), exactly(0, 2, 2, 6), real(4, 3)),
    ),
    "embedding_bag weights": (
        lambda F, t, o, w, v: F.embedding_bag(
            t, w, o, mode="sum", per_sample_weights=v, include_last_offset=True
        ),
        (classes(4, 7), exactly(0, 2, 2, 7), real(4, 3), real(7)),
    ),
    "ctc_loss": (
        lambda F, x, t, n, m: F.ctc_loss(
            F.log_softmax(x, -1), t, n, m, 1, "mean", zero_infinity=True
        ),
        (real(3, 3, 3), exactly([0, 2], [2, 2], [0, 2]), exactly(3, 2, 2), exactly(2, 2, 0)),
    ),
    "ctc_loss joined": (
        lambda F, x, t, n, m: F.ctc_loss(F.log_softmax(x, -1), t, n, m, reduction="sum"),
        (real(4, 2, 3), exactly(1, 2, 2, 1), exactly(4, 3), exactly(3, 1)),
    ),
    "ctc_loss single": (
        lambda F, x, t, n, m: F.ctc_loss(F.log_softmax(x, -1), t, n, m, reduction="none"),
        (real(4, 3), exactly(2, 2), exactly(4), exactly(2)),
    ),
    "multi_margin_loss": (
        lambda F, x, t: F.multi_margin_loss(x, t, 2, 1.5),
        (real(4, 3), classes(3, 4)),
    ),
    "multi_margin_loss none": (
        lambda F, x, t: F.multi_margin_loss(x, t, reduction="none"),
        (real(4, 3), classes(3, 4)),
    ),
    "multilabel_margin_loss": (
        lambda F, x, t: F.multilabel_margin_loss(x, t, reduction="none"),
        (real(3, 4), exactly([3, 0, -1, 1], [-1, 1, 1, 1], [0, 1, 2, 3])),
    ),
    "triplet_margin_with_distance_loss": (
        lambda F, x, y, z: F.triplet_margin_with_distance_loss(
            x, y, z, distance_function=lambda a, b: ((a - b) ** 2).sum(-1), swap=True
        ),
        (real(4, 3), real(4, 3), real(4, 3)),
    ),
    "normalize": (lambda F, x: F.normalize(x, dim=0), (real(3, 2),)),
    "normalize p": (lambda F, x: F.normalize(x, p=3.0), (real(3, 2),)),
    "cosine_similarity": (lambda F, x, y: F.cosine_similarity(x, y), (real(3, 4), real(3, 4))),
    # --- normalisation
    "layer_norm": (lambda F, x, w, b: F.layer_norm(x, (3,), w, b), (real(2, 3), real(3), real(3))),
    "layer_norm two axes": (lambda F, x: F.layer_norm(x, (3, 2), eps=0.1), (real(2, 3, 2),)),
    "group_norm": (lambda F, x, w, b: F.group_norm(x, 2, w, b), (real(2, 4, 3), real(4), real(4))),
    "batch_norm": (
        lambda F, x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b),
        (real(3, 2), real(2), probability(2), real(2), real(2)),
    ),
    "batch_norm training": (
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        (real(3, 2, 2, 2), real(2), real(2)),
    ),
    # --- convolutions
    "conv1d": (lambda F, x, w, b: F.conv1d(x, w, b), (real(2, 3, 7), real(4, 3, 3), real(4))),
    "conv1d same": (
        lambda F, x, w: F.conv1d(x, w, padding="same", dilation=2),
        (real(2, 1, 7), real(2, 1, 4)),
    ),
    "conv1d single": (lambda F, x, w: F.conv1d(x, w, stride=2), (real(2, 6), real(3, 2, 2))),
    "conv1d empty batch": (
        lambda F, x, w, b: F.conv1d(x, w, b),
        (real(0, 2, 5), real(3, 2, 2), real(3)),
    ),
    "conv2d": (lambda F, x, w, b: F.conv2d(x, w, b), (real(2, 2, 5, 4), real(3, 2, 3, 2), real(3))),
    "conv2d everything": (
        lambda F, x, w, b: F.conv2d(
            x, w, b, stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2
        ),
        (real(1, 4, 5, 6), real(2, 2, 2, 3), real(2)),
    ),
    "conv2d valid": (
        lambda F, x, w: F.conv2d(x, w, padding="valid"),
        (real(1, 4, 4), real(2, 1, 4, 4)),
    ),
    "conv2d depthwise": (
        lambda F, x, w: F.conv2d(x, w, padding="same", groups=3),
        (real(1, 3, 3, 3), real(6, 1, 2, 2)),
    ),
    "unfold": (lambda F, x: F.unfold(x, (2, 3), padding=1, stride=2), (real(1, 2, 4, 5),)),
    "pad": (lambda F, x: F.pad(x, (1, 2, 0, 1), value=0.5), (real(2, 3),)),
    "pad negative": (lambda F, x: F.pad(x, (-1, 2)), (real(2, 3),)),
    "pad reflect": (lambda F, x: F.pad(x, (2, 1), mode="reflect"), (real(2, 4),)),
    "pad replicate": (lambda F, x: F.pad(x, (2, 1), mode="replicate"), (real(2, 4),)),
    "pad circular": (lambda F, x: F.pad(x, (2, 1), mode="circular"), (real(2, 4),)),
    # --- pooling, with ties
    "max_pool1d": (lambda F, x: F.max_pool1d(x, 3, 2, 1), (real(2, 2, 8),)),
    "max_pool2d": (lambda F, x: F.max_pool2d(x, 2), (real(2, 1, 5, 4),)),
    "max_pool2d ties": (
        lambda F, x: F.max_pool2d(F.relu(x), 3, 1),
        (lambda rng: np.round(rng.standard_normal((1, 2, 4, 5))),),
    ),
    "max_pool2d everything": (
        lambda F, x: F.max_pool2d(x, (3, 2), (2, 3), (1, 1), (1, 2), ceil_mode=True),
        (real(2, 7, 8),),
    ),
    "avg_pool1d": (lambda F, x: F.avg_pool1d(x, 2), (real(2, 2, 5),)),
    "avg_pool2d": (lambda F, x: F.avg_pool2d(x, 3, 2, 1), (real(1, 2, 5, 5),)),
    "avg_pool2d ceil": (
        lambda F, x: F.avg_pool2d(x, (3, 2), 2, 1, True, False),
        (real(1, 2, 6, 6),),
    ),
    "avg_pool2d ceil counted": (
        lambda F, x: F.avg_pool2d(x, (3, 2), 2, 1, True),
        (real(1, 2, 6, 6),),
    ),
    "avg_pool2d divisor": (lambda F, x: F.avg_pool2d(x, 2, divisor_override=3), (real(2, 4, 4),)),
    "adaptive_avg_pool1d": (lambda F, x: F.adaptive_avg_pool1d(x, 3), (real(2, 2, 7),)),
    "adaptive_avg_pool2d": (lambda F, x: F.adaptive_avg_pool2d(x, (2, None)), (real(1, 2, 5, 4),)),
    "adaptive_max_pool2d": (lambda F, x: F.adaptive_max_pool2d(x, 2), (real(1, 2, 5, 4),)),
    "adaptive_max_pool2d ties": (
        lambda F, x: times(*F.adaptive_max_pool2d(x, (2, None), True)),
        (lambda rng: np.round(rng.standard_normal((2, 5, 4))),),
    ),
    "adaptive_max_pool1d": (
        lambda F, x: times(*F.adaptive_max_pool1d(x, 3, True)),
        (real(2, 1, 7),),
    ),
    "adaptive_max_pool3d": (lambda F, x: F.adaptive_max_pool3d(x, 2), (real(1, 3, 4, 3),)),
    "adaptive_avg_pool3d": (
        lambda F, x: F.adaptive_avg_pool3d(x, (2, None, 1)),
        (real(1, 4, 2, 3),),
    ),
    "max_pool1d padded infinities": (
        lambda F, x: F.max_pool1d(x, 2, 2, 1),
        (exactly([[-np.inf, -np.inf, 1.0, -np.inf, 2.0]]),),
    ),
    "max_pool3d": (
        lambda F, x: times(*F.max_pool3d(x, (2, 3, 2), 2, (1, 1, 0), 1, True, True)),
        (lambda rng: np.round(rng.standard_normal((1, 4, 5, 3))),),
    ),
    "max_pool2d window longer": (
        lambda F, x: F.max_pool2d(x, (3, 2), ceil_mode=True),
        (real(1, 2, 3),),
    ),
    "avg_pool3d": (
        lambda F, x: F.avg_pool3d(x, (2, 3, 2), 2, (1, 1, 0), True, False),
        (real(1, 4, 5, 3),),
    ),
    "lp_pool2d": (
        lambda F, x: F.lp_pool2d(F.softplus(x), 3, (2, 3), 2, True),
        (real(1, 2, 5, 4),),
    ),
    "max_unpool2d": (
        lambda F, x: F.max_unpool2d(
            *F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 4)
        ),
        (real(1, 2, 5, 4),),
    ),
    "max_unpool3d": (
        lambda F, x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2),
        (real(1, 2, 2, 4),),
    ),
}


def inputs(name: str) -> list[Any]:
    """The arrays of a case."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [make(rng) for make in CASES[name][1]]


def directions(name: str, shapes: list[tuple[int, ...]]) -> list[Any]:
    """Cotangents for a case's results."""
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    return [rng.standard_normal(s) for s in shapes]


def derivatives(
    name: str, functional: Any, make: Callable[[Any], Any], tensor: Callable[[Any], Any], grad: Any
) -> Arrays:
    """The value, gradients and gradients of a combination of the gradients; `make` gives leaves,
    `tensor` other tensors."""
    given = [make(a) if a.dtype.kind == "f" else tensor(a) for a in inputs(name)]
    leaves = [x for x, a in zip(given, inputs(name), strict=True) if a.dtype.kind == "f"]
    out = CASES[name][0](functional, *given)
    (cotangent, *vs) = directions(name, [tuple(out.shape), *[tuple(x.shape) for x in leaves]])
    first = grad((out * tensor(cotangent)).sum(), leaves, create_graph=True, allow_unused=True)
    found = {"value": out.detach()}
    product: Any = None
    for k, (g, v) in enumerate(zip(first, vs, strict=True)):
        if g is not None:
            found[f"first {k}"] = g.detach()
            if g.requires_grad:
                product = (
                    (g * tensor(v)).sum() if product is None else product + (g * tensor(v)).sum()
                )
    if product is not None:
        try:
            second = grad(product, leaves, allow_unused=True)
        except RuntimeError as error:
            if "is not implemented" not in str(error):  # torch lacks some second derivatives
                raise
            second = ()
        found |= {f"second {k}": g for k, g in enumerate(second) if g is not None}
    return {f"{name}/{key}": np.asarray((value + 0.0).clone()) for key, value in found.items()}


def main(file: str) -> None:
    """Write torch's numbers."""
    import torch

    numbers: Arrays = {}
    for name in CASES:
        numbers |= derivatives(
            name,
            torch.nn.functional,
            lambda a: torch.tensor(a, requires_grad=True),
            torch.tensor,
            torch.autograd.grad,
        )
    np.savez_compressed(file, **numbers)


if __name__ == "__main__":
    main(sys.argv[1])
