"""Functions of networks that torch has beside `torch.nn.functional`, where they are the same."""

from __future__ import annotations

from typing import Any

from ..nn import functional as F
from .methods import tensor_of

adaptive_avg_pool1d = F.adaptive_avg_pool1d
avg_pool1d, max_pool1d, max_pool2d = F.avg_pool1d, F.max_pool1d, F.max_pool2d
max_pool3d = F.max_pool3d
bilinear, cosine_similarity, pairwise_distance = (
    F.bilinear, F.cosine_similarity, F.pairwise_distance,
)  # fmt: skip
celu, selu, prelu, hardshrink, threshold = F.celu, F.selu, F.prelu, F.hardshrink, F.threshold
channel_shuffle, pixel_shuffle = F.channel_shuffle, F.pixel_shuffle
pixel_unshuffle, pdist = F.pixel_unshuffle, F.pdist
conv1d, conv2d, conv3d = F.conv1d, F.conv2d, F.conv3d
conv_transpose1d, conv_transpose2d = F.conv_transpose1d, F.conv_transpose2d
conv_transpose3d, rms_norm = F.conv_transpose3d, F.rms_norm


def dropout(input: Any, p: float, train: bool) -> Any:
    """Zeros in place of elements, each with the probability p, where `train` is True; the others
    divided by 1 - p."""
    return F.dropout(tensor_of("dropout", input), p, train)


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    """As `nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """As `nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def adaptive_max_pool1d(input: Any, output_size: Any) -> Any:
    """As `nn.functional.adaptive_max_pool1d` with `return_indices`."""
    return F.adaptive_max_pool1d(input, output_size, True)


def embedding(weight: Any, indices: Any) -> Any:
    """The rows of `weight` at these places; as `nn.functional.embedding`, the table first."""
    return F.embedding(indices, weight)


__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "bilinear", "celu",
    "channel_shuffle", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity",
    "dropout", "embedding", "group_norm", "hardshrink", "layer_norm", "max_pool1d", "max_pool2d",
    "max_pool3d",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "rms_norm", "selu",
    "threshold",
]  # fmt: skip
