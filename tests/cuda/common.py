"""What the tests on a device share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracegrad as tg

X = np.arange(1.0, 7.0).reshape(2, 3)


def host(x: Any) -> Any:
    return x.detach().cpu().numpy() if isinstance(x, tg.Tensor) else x


def same_on_both(function: Callable[..., Any], *arrays: Any, tolerance: float = 1e-12) -> None:
    """`function(device, *tensors)` gives the same on the CPU and on the device, and its Tensors lie
    there."""
    found = []
    for device in ("cpu", "cuda"):
        results = function(device, *[tg.tensor(a, device=device) for a in arrays])
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        assert all(x.device.type == device for x in results if isinstance(x, tg.Tensor))
        found.append([host(x) for x in results])
    for cpu, cuda in zip(*found, strict=True):
        assert np.asarray(cpu).dtype == np.asarray(cuda).dtype
        np.testing.assert_allclose(cuda, cpu, rtol=tolerance, atol=tolerance)
