"""Single steps of recurrent layers, as functions of the gates and as modules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from ... import ops
from ... import tensors as tg
from ...sizes import same, same_shape
from ...types import show
from .. import functional as F
from .. import init
from .module import Module
from .parameter import Parameter

Step = Callable[[Any, Any, Any], Any]


def _tanh(given: Any, fed_back: Any, state: Any) -> Any:
    return (ops.tanh(given + fed_back),)


def _relu(given: Any, fed_back: Any, state: Any) -> Any:
    return (ops.relu(given + fed_back),)


def elman(nonlinearity: str) -> Step:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return _tanh if nonlinearity == "tanh" else _relu


def lstm(given: Any, fed_back: Any, state: Any) -> Any:
    """The gates are i, f, g and o, one after the other along the last axis."""
    i, f, g, o = ops.split(given + fed_back, 4, -1)
    cell = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(cell), cell


def gru(given: Any, fed_back: Any, state: Any) -> Any:
    """The gates are r, z and n; r scales what is fed back into n."""
    (r, z, n), (hr, hz, hn) = ops.split(given, 3, -1), ops.split(fed_back, 3, -1)
    new = ops.tanh(n + ops.sigmoid(r + hr) * hn)
    keep = ops.sigmoid(z + hz)
    return (new + keep * (state[0] - new),)


def fitting(what: str, x: Any, expected: tuple[Any, ...]) -> None:
    if not same_shape(x.shape, expected):
        raise RuntimeError(f"Expected {what} size {show(expected)}, got {list(x.shape)}")


class Recurrent(Module):
    """What layers and cells share: a step of so many gates, which hands on (h), or (h, c)."""

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    hidden_size: int

    def step(self, given: Any, fed_back: Any, state: Any) -> Any:
        """The next state, from the gates of the input and those of the state."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw new starting values, uniform within 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)


class _Cell(Recurrent):
    """One step of a recurrent layer: input (N, input_size) or (input_size)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.gates * hidden_size
        self.weight_ih = Parameter(tg.empty(rows, input_size, dtype=dtype, device=device))
        self.weight_hh = Parameter(tg.empty(rows, hidden_size, dtype=dtype, device=device))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(
                name, Parameter(tg.empty(rows, dtype=dtype, device=device)) if bias else None
            )
        self.reset_parameters()

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._next(input, None if hx is None else (hx,))[0]

    def _next(self, input: Any, state: tuple[Any, ...] | None) -> Any:
        name = type(self).__name__
        if len(input.shape) not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {len(input.shape)}D instead"
            )
        if not same(input.shape[-1], self.input_size):
            raise RuntimeError(
                f"{name}: input has {input.shape[-1]} features, expected {self.input_size}"
            )
        shape = (*input.shape[:-1], self.hidden_size)
        if state is None:
            zeros = tg.zeros(*shape, dtype=input.dtype, device=self.weight_ih.device)
            state = (zeros,) * self.states
        for s in state:
            fitting("hidden", s, shape)
        given = F.linear(input, self.weight_ih, self.bias_ih)
        fed_back = F.linear(state[0], self.weight_hh, self.bias_hh)
        return self.step(given, fed_back, state)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias else text + f", bias={self.bias}"


class RNNCell(_Cell):
    """One step of `RNN`: h' of an input and h."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self.step = elman(nonlinearity)  # type: ignore[method-assign, assignment]
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        return super().extra_repr() + (
            f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else ""
        )


class GRUCell(_Cell):
    """One step of `GRU`: h' of an input and h."""

    gates = 3
    step = staticmethod(gru)


class LSTMCell(_Cell):
    """One step of `LSTM`: (h', c') of an input and (h, c).

    >>> import tracegrad as tg
    >>> h, c = tg.nn.LSTMCell(3, 5)(tg.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """

    gates = 4
    states = 2
    step = staticmethod(lstm)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        h, c = self._next(input, None if hx is None else tuple(hx))
        return h, c


__all__ = ["GRUCell", "LSTMCell", "RNNCell", "Recurrent", "elman", "fitting", "gru", "lstm"]
