"""Modules as functions of `torch` or of `tracegrad.torch`, so that torch computed tests/data/modules.npz from the very same text.

`python tests/module_cases.py FILE`, in an environment with torch, writes that file again. Parameters and buffers are drawn by NumPy, in
the order of `state_dict`, which is compared as well, as is the module's text.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, Any]
Make = Callable[[np.random.Generator], Any]


def real(*shape: int) -> Make:
    return lambda rng: rng.standard_normal(shape)


def whole(low: int, high: int, *shape: int) -> Make:
    return lambda rng: rng.integers(low, high, shape)


def signs(*shape: int) -> Make:
    return lambda rng: rng.integers(0, 2, shape) * 2.0 - 1.0


def positive(*shape: int) -> Make:
    return lambda rng: rng.uniform(0.2, 2.0, shape)


def flags(*values: Any) -> Make:
    return lambda rng: np.array(values, bool)


def plain(module: Any, *xs: Any) -> Any:
    return module(*xs)


def with_state(module: Any, x: Any, h: Any, c: Any) -> Any:
    return module(x, (h, c))


Case = tuple[Callable[[Any], Any], tuple[Make, ...], Callable[..., Any]]


def case(make: Callable[[Any], Any], *inputs: Make, call: Callable[..., Any] = plain) -> Case:
    return make, inputs, call


X = real(4, 2, 3)
CASES: dict[str, Case] = {
    # --- recurrent
    "RNN": case(lambda t: t.nn.RNN(3, 5), X),
    "RNN relu": case(lambda t: t.nn.RNN(3, 5, nonlinearity="relu", num_layers=2), X),
    "RNN state": case(lambda t: t.nn.RNN(3, 5, bidirectional=True, num_layers=2), X, real(4, 2, 5)),
    "RNN no bias": case(lambda t: t.nn.RNN(3, 5, bias=False), X),
    "GRU": case(lambda t: t.nn.GRU(3, 5), X),
    "GRU batch_first": case(lambda t: t.nn.GRU(3, 5, num_layers=2, batch_first=True, bidirectional=True), real(2, 4, 3)),
    "GRU unbatched": case(lambda t: t.nn.GRU(3, 5), real(4, 3), real(1, 5)),
    "LSTM": case(lambda t: t.nn.LSTM(3, 5), X),
    "LSTM layers": case(lambda t: t.nn.LSTM(3, 5, num_layers=2, bidirectional=True, dropout=0.5).eval(), X),
    "LSTM batch_first state": case(lambda t: t.nn.LSTM(3, 5, batch_first=True), real(2, 4, 3), real(1, 2, 5), real(1, 2, 5), call=with_state),
    "LSTM projected": case(lambda t: t.nn.LSTM(3, 5, 2, proj_size=2), X, real(2, 2, 2), real(2, 2, 5), call=with_state),
    "LSTM projected both ways": case(lambda t: t.nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True), X),
    "LSTM unbatched": case(lambda t: t.nn.LSTM(3, 5, bias=False), real(4, 3), real(1, 5), real(1, 5), call=with_state),
    "RNNCell": case(lambda t: t.nn.RNNCell(3, 5, nonlinearity="relu"), real(2, 3), real(2, 5)),
    "GRUCell": case(lambda t: t.nn.GRUCell(3, 5), real(2, 3), real(2, 5)),
    "GRUCell alone": case(lambda t: t.nn.GRUCell(3, 5, bias=False), real(3)),
    "LSTMCell": case(lambda t: t.nn.LSTMCell(3, 5), real(2, 3), real(2, 5), real(2, 5), call=with_state),
    "LSTMCell alone": case(lambda t: t.nn.LSTMCell(3, 5), real(2, 3)),
}  # fmt: skip


def inputs(name: str) -> list[Any]:
    """The arrays of a case."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [np.asarray(make(rng)) for make in CASES[name][1]]


def made(name: str, torch: Any) -> Any:
    """The module of a case, with drawn parameters and buffers."""
    module = CASES[name][0](torch)
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    state = {}
    for key, value in module.state_dict().items():
        drawn = rng.standard_normal(tuple(value.shape)) * 0.5
        positive = np.abs(drawn) + 0.5
        counted = np.asarray(value.detach()).dtype.kind != "f"
        state[key] = value.clone() if counted else torch.tensor(positive if key.endswith("running_var") else drawn)
    module.load_state_dict(state)
    return module


def flat(x: Any) -> list[Any]:
    """The tensors in nested tuples, without those that are None."""
    return [] if x is None else [y for part in x for y in flat(part)] if isinstance(x, (tuple, list)) else [x]


def results(name: str, torch: Any) -> Arrays:
    """The results of a case, the gradients of a combination of them, and what the module is called."""
    module = made(name, torch)
    given = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in inputs(name)]
    leaves = {f"input {k}": x for k, x in enumerate(given) if x.requires_grad} | dict(module.named_parameters())
    leaves = {key: x for key, x in leaves.items() if x.requires_grad}
    outs = flat(CASES[name][2](module, *given))
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 2)
    found, total = {}, None
    for k, o in enumerate(outs):
        found[f"out {k}"] = np.asarray(o.detach())
        if o.requires_grad:
            part = (o * torch.tensor(rng.standard_normal(tuple(o.shape)))).sum()
            total = part if total is None else total + part
    if total is not None:
        for (key, _), g in zip(leaves.items(), torch.autograd.grad(total, list(leaves.values()), allow_unused=True), strict=True):
            if g is not None:
                found[f"gradient {key}"] = np.asarray(g.detach())
    for key, buffer in module.named_buffers():
        found[f"buffer {key}"] = np.asarray(buffer.detach())
    found["keys"] = np.array(list(module.state_dict()), str)
    found["text"] = np.array(repr(module))
    return {f"{name}/{key}": value for key, value in found.items()}


def main(file: str) -> None:
    """Write torch's numbers."""
    import torch

    torch.set_default_dtype(torch.float64)
    numbers: Arrays = {}
    for name in CASES:
        numbers |= results(name, torch)
    np.savez_compressed(file, **numbers)


if __name__ == "__main__":
    main(sys.argv[1])
