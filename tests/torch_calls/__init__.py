"""Calls in torch's namespace as functions of the module, so that torch computed
tests/data/torch.npz from the very same text.

`python -m tests.torch_calls FILE`, in an environment with torch, writes that file again.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from tests.torch_calls import networks, numbers, places, products
from tests.torch_calls.draws import Case

Arrays = dict[str, Any]

CASES: dict[str, Case] = {**numbers.CASES, **places.CASES, **products.CASES, **networks.CASES}


def inputs(name: str) -> list[Any]:
    """The arrays of a case."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [np.asarray(make(rng)) for make in CASES[name][1]]


def results(name: str, torch: Any) -> Arrays:
    """The results of a case, and the gradients of a combination of those that have one."""
    given = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in inputs(name)]
    leaves = [x for x in given if x.requires_grad]
    out = CASES[name][0](torch, *given)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    found, total = {}, None
    for k, o in enumerate(outs):
        found[f"out {k}"] = np.asarray(o.detach())
        if o.requires_grad:
            part = (o * torch.tensor(rng.standard_normal(tuple(o.shape)), dtype=o.dtype)).sum()
            total = part if total is None else total + part.to(total.dtype)
    if total is not None:
        for k, g in enumerate(torch.autograd.grad(total, leaves, allow_unused=True)):
            if g is not None:
                found[f"gradient {k}"] = np.asarray(g.numpy(force=True))
    return {f"{name}/{key}": value for key, value in found.items()}
