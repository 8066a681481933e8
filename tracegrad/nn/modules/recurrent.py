"""Recurrent layers: loops over time, which are one loop of the generated code where they are
compiled, and their single steps."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ... import tensors as tg
from ...control.scan import scan
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


def _elman(nonlinearity: str) -> Step:
    if nonlinearity not in ("tanh", "relu"):
        raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
    return _tanh if nonlinearity == "tanh" else _relu


def _lstm(given: Any, fed_back: Any, state: Any) -> Any:
    """The gates are i, f, g and o, one after the other along the last axis."""
    i, f, g, o = ops.split(given + fed_back, 4, -1)
    cell = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(cell), cell


def _gru(given: Any, fed_back: Any, state: Any) -> Any:
    """The gates are r, z and n; r scales what is fed back into n."""
    (r, z, n), (hr, hz, hn) = ops.split(given, 3, -1), ops.split(fed_back, 3, -1)
    new = ops.tanh(n + ops.sigmoid(r + hr) * hn)
    keep = ops.sigmoid(z + hz)
    return (new + keep * (state[0] - new),)


def _fitting(what: str, x: Any, expected: tuple[Any, ...]) -> None:
    if not same_shape(x.shape, expected):
        raise RuntimeError(f"Expected {what} size {show(expected)}, got {list(x.shape)}")


class _Recurrent(Module):
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


class RNNBase(_Recurrent):
    """What the recurrent layers share: weights by layer and direction, and the loop over time."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        proj_size: int,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (
            isinstance(dropout, bool)
            or not isinstance(dropout, (int, float))
            or not 0 <= dropout <= 1
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, "
                "so non-zero dropout expects num_layers greater than 1, "
                f"but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        for what, value in (
            ("input_size", input_size),
            ("hidden_size", hidden_size),
            ("num_layers", num_layers),
        ):
            if not isinstance(value, (int, np.integer)) or value <= 0:
                raise ValueError(
                    f"{name}: {what} must be an integer greater than zero, not {value!r}"
                )
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                "proj_size has to be a positive integer, smaller than hidden_size, "
                f"or zero to disable projections, not {proj_size}"
            )
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        shown = proj_size or hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else shown * (2 if bidirectional else 1)
            for suffix in self._suffixes(layer):
                rows = self.gates * hidden_size
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (rows, size),
                    "weight_hh": (rows, shown),
                }
                if bias:
                    shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for what, shape in shapes.items():
                    self.register_parameter(
                        what + suffix, Parameter(tg.empty(*shape, dtype=dtype, device=device))
                    )
        self.reset_parameters()

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"] if self.bidirectional else [f"_l{layer}"]

    def flatten_parameters(self) -> None:
        """Nothing: torch gathers the weights in one block of memory for a library that is not used
        here."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters by layer and direction."""
        kinds = (
            "weight_ih",
            "weight_hh",
            *(("bias_ih", "bias_hh") if self.bias else ()),
            *(("weight_hr",) if self.proj_size else ()),
        )
        suffixes = [s for layer in range(self.num_layers) for s in self._suffixes(layer)]
        return [[getattr(self, kind + s) for kind in kinds] for s in suffixes]

    def _run(self, x: Any, state: Any, suffix: str, reverse: bool) -> tuple[Any, Any]:
        """One layer in one direction: (outputs, last state) of an input (L, N, size)."""
        weight = getattr(self, "weight_hh" + suffix)
        given = F.linear(x, getattr(self, "weight_ih" + suffix), self._bias("bias_ih", suffix))
        bias = self._bias("bias_hh", suffix)
        project = getattr(self, "weight_hr" + suffix) if self.proj_size else None

        def body(before: Any, now: Any) -> Any:
            after = self.step(now, F.linear(before[0], weight, bias), before)
            if project is not None:
                after = F.linear(after[0], project), *after[1:]
            return after, after[0]

        last, outputs = scan(body, state, given, reverse=reverse)
        return outputs, last

    def _bias(self, kind: str, suffix: str) -> Any:
        return getattr(self, kind + suffix) if self.bias else None

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        output, (h,) = self._forward(input, None if hx is None else (hx,))
        return output, h

    def _forward(self, input: Any, state: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        name, batched = type(self).__name__, len(getattr(input, "shape", ())) == 3
        if not hasattr(input, "shape"):
            raise TypeError(
                f"{name} takes a Tensor (packed sequences are not supported: "
                f"mask what pads), not a {type(input).__name__}"
            )
        if len(input.shape) not in (2, 3):
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {len(input.shape)}D instead"
            )
        if not same(input.shape[-1], self.input_size):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.shape[-1]}"
            )
        if input.dtype != self.weight_ih_l0.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({self.weight_ih_l0.dtype}). Convert one of them."
            )
        x = input if batched else ops.expand_dims(input, 1)
        x = ops.swapaxes(x, 0, 1) if self.batch_first and batched else x
        batch, directions = x.shape[1], 2 if self.bidirectional else 1
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        if state is None:
            layers, device = self.num_layers * directions, self.weight_ih_l0.device
            state = tuple(tg.zeros(layers, batch, n, dtype=x.dtype, device=device) for n in sizes)
        else:
            for k, (s, n) in enumerate(zip(state, sizes, strict=True)):
                what = "hidden" if self.states == 1 else f"hidden[{k}]"
                shape = (self.num_layers * directions, *((batch,) if batched else ()), n)
                _fitting(what, s, shape)
            state = state if batched else tuple(ops.expand_dims(s, 1) for s in state)
        finals: list[Any] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = F.dropout(x, self.dropout)
            both = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                place = layer * directions + direction
                outputs, last = self._run(x, tuple(s[place] for s in state), suffix, direction == 1)
                both.append(outputs)
                finals.append(last)
            x = both[0] if len(both) == 1 else ops.concatenate(both, -1)
        ends = tuple(ops.stack([f[k] for f in finals]) for k in range(self.states))
        if not batched:
            return ops.squeeze(x, 1), tuple(ops.squeeze(e, 1) for e in ends)
        return ops.swapaxes(x, 0, 1) if self.batch_first else x, ends

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", proj_size={self.proj_size}" if self.proj_size else ""
        text += f", num_layers={self.num_layers}" if self.num_layers != 1 else ""
        text += ", bias=False" if not self.bias else ""
        text += ", batch_first=True" if self.batch_first else ""
        text += f", dropout={self.dropout}" if self.dropout else ""
        return text + (", bidirectional=True" if self.bidirectional else "")


class RNN(RNNBase):
    """`h = tanh(W_ih x + b_ih + W_hh h + b_hh)` (or relu) over time: input (L, N, input_size), or
    (N, L, input_size) with `batch_first`, or (L, input_size); returns the outputs of the last layer
    at all times and the last h of each layer.

    >>> import tracegrad as tg
    >>> output, h = tg.nn.RNN(3, 5, num_layers=2)(tg.ones(7, 4, 3))
    >>> output.shape, h.shape
    ((7, 4, 5), (2, 4, 5))
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        self.step = _elman(nonlinearity)  # type: ignore[method-assign, assignment]
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units over time; shapes as for `RNN`.

    >>> import tracegrad as tg
    >>> output, h = tg.nn.GRU(3, 5, bidirectional=True)(tg.ones(7, 4, 3))
    >>> output.shape, h.shape
    ((7, 4, 10), (2, 4, 5))
    """

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )

    step = staticmethod(_gru)


class LSTM(RNNBase):
    """Long short-term memory over time; shapes as for `RNN`. The state is (h, c); with `proj_size`
    h is projected to that size.

    >>> import tracegrad as tg
    >>> output, (h, c) = tg.nn.LSTM(3, 5, batch_first=True)(tg.ones(4, 7, 3))
    >>> output.shape, h.shape, c.shape
    ((4, 7, 5), (1, 4, 5), (1, 4, 5))
    """

    gates = 4
    states = 2

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    step = staticmethod(_lstm)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, tuple[Any, Any]]:
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise TypeError(f"LSTM: the state hx is a pair (h_0, c_0), not {type(hx).__name__}")
        output, (h, c) = self._forward(input, None if hx is None else tuple(hx))
        return output, (h, c)


class _Cell(_Recurrent):
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
            _fitting("hidden", s, shape)
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
        self.step = _elman(nonlinearity)  # type: ignore[method-assign, assignment]
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def extra_repr(self) -> str:
        return super().extra_repr() + (
            f", nonlinearity={self.nonlinearity}" if self.nonlinearity != "tanh" else ""
        )


class GRUCell(_Cell):
    """One step of `GRU`: h' of an input and h."""

    gates = 3
    step = staticmethod(_gru)


class LSTMCell(_Cell):
    """One step of `LSTM`: (h', c') of an input and (h, c).

    >>> import tracegrad as tg
    >>> h, c = tg.nn.LSTMCell(3, 5)(tg.ones(2, 3))
    >>> h.shape, c.shape
    ((2, 5), (2, 5))
    """

    gates = 4
    states = 2
    step = staticmethod(_lstm)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        h, c = self._next(input, None if hx is None else tuple(hx))
        return h, c


__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell"]
