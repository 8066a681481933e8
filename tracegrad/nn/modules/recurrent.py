"""Recurrent layers: loops over time, which are one loop of the generated code where they are
compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import ops
from ... import tensors as tg
from ...control.scan import scan
from ...sizes import same
from .. import functional as F
from ..utils.packed import PackedSequence, padded, places, sizes_of
from .parameter import Parameter
from .recurrent_steps import Recurrent, elman, fitting, gru, lstm


class RNNBase(Recurrent):
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

    def _run(self, x: Any, state: Any, suffix: str, reverse: bool, alive: Any) -> tuple[Any, Any]:
        """One layer in one direction: (outputs, last state) of an input (L, N, size). Where `alive`
        (L, N, 1) is False, the state stays what it was."""
        weight = getattr(self, "weight_hh" + suffix)
        given = F.linear(x, getattr(self, "weight_ih" + suffix), self._bias("bias_ih", suffix))
        bias = self._bias("bias_hh", suffix)
        project = getattr(self, "weight_hr" + suffix) if self.proj_size else None

        def body(before: Any, now: Any) -> Any:
            now, *there = now if alive is not None else (now,)
            after = self.step(now, F.linear(before[0], weight, bias), before)
            if project is not None:
                after = F.linear(after[0], project), *after[1:]
            if there:
                after = tuple(ops.where(there[0], a, b) for a, b in zip(after, before, strict=True))
            return after, after[0]

        each = given if alive is None else (given, alive)
        last, outputs = scan(body, state, each, reverse=reverse)
        return outputs, last

    def _bias(self, kind: str, suffix: str) -> Any:
        return getattr(self, kind + suffix) if self.bias else None

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        output, (h,) = self._forward(input, None if hx is None else (hx,))
        return output, h

    def _forward(self, input: Any, state: tuple[Any, ...] | None) -> tuple[Any, tuple[Any, ...]]:
        name = type(self).__name__
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, state)
        if not hasattr(input, "shape"):
            raise TypeError(
                f"{name} takes a Tensor or a PackedSequence, not a {type(input).__name__}"
            )
        batched = len(input.shape) == 3
        if len(input.shape) not in (2, 3):
            raise ValueError(
                f"{name}: Expected input to be 2D or 3D, got {len(input.shape)}D instead"
            )
        self._check_elements(input)
        x = input if batched else ops.expand_dims(input, 1)
        x = ops.swapaxes(x, 0, 1) if self.batch_first and batched else x
        x, ends = self._layers(x, self._state(state, x, batched), None)
        if not batched:
            return ops.squeeze(x, 1), tuple(ops.squeeze(e, 1) for e in ends)
        return ops.swapaxes(x, 0, 1) if self.batch_first else x, ends

    def _forward_packed(
        self, packed: PackedSequence, state: tuple[Any, ...] | None
    ) -> tuple[PackedSequence, tuple[Any, ...]]:
        """Padded, with states that stay where a sequence has ended."""
        name = type(self).__name__
        if len(packed.data.shape) != 2:
            raise RuntimeError(
                f"{name}: the data of a packed sequence has 2 axes here, not "
                f"{len(packed.data.shape)}"
            )
        self._check_elements(packed.data)
        sizes = sizes_of(name, packed)
        length, count = len(sizes), int(sizes[0])
        x = padded(packed.data, sizes, length, 0.0)
        state = self._state(state, x, True)
        if packed.sorted_indices is not None:
            state = tuple(ops.take(s, packed.sorted_indices, 1) for s in state)
        alive = np.arange(count)[None, :, None] < sizes[:, None, None]
        x, ends = self._layers(x, state, None if alive.all() else alive)
        step, sequence = places(sizes)
        data = ops.take(ops.reshape(x, (length * count, x.shape[2])), step * count + sequence, 0)
        if packed.unsorted_indices is not None:
            ends = tuple(ops.take(e, packed.unsorted_indices, 1) for e in ends)
        return packed._replace(data=data), ends

    def _check_elements(self, x: Any) -> None:
        if not same(x.shape[-1], self.input_size):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {x.shape[-1]}"
            )
        if x.dtype != self.weight_ih_l0.dtype:
            raise ValueError(
                f"RNN input dtype ({x.dtype}) does not match weight dtype "
                f"({self.weight_ih_l0.dtype}). Convert one of them."
            )

    def _state(self, state: tuple[Any, ...] | None, x: Any, batched: bool) -> tuple[Any, ...]:
        """The state (layers and directions, N, n) to start from, of an input (L, N, size)."""
        batch, layers = x.shape[1], self.num_layers * (2 if self.bidirectional else 1)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]
        if state is None:
            device = self.weight_ih_l0.device
            return tuple(tg.zeros(layers, batch, n, dtype=x.dtype, device=device) for n in sizes)
        for k, (s, n) in enumerate(zip(state, sizes, strict=True)):
            what = "hidden" if self.states == 1 else f"hidden[{k}]"
            fitting(what, s, (layers, *((batch,) if batched else ()), n))
        return state if batched else tuple(ops.expand_dims(s, 1) for s in state)

    def _layers(self, x: Any, state: tuple[Any, ...], alive: Any) -> tuple[Any, tuple[Any, ...]]:
        """All layers in their directions: (outputs of the last one, states at the ends)."""
        finals: list[Any] = []
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = F.dropout(x, self.dropout)
            both = []
            for suffix in self._suffixes(layer):
                start = tuple(s[len(finals)] for s in state)
                outputs, last = self._run(x, start, suffix, suffix.endswith("_reverse"), alive)
                both.append(outputs)
                finals.append(last)
            x = both[0] if len(both) == 1 else ops.concatenate(both, -1)
        return x, tuple(ops.stack([f[k] for f in finals]) for k in range(self.states))

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
    (N, L, input_size) with `batch_first`, or (L, input_size), or a PackedSequence; returns the
    outputs of the last layer at all times, packed like the input, and the last h of each layer.

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
        self.step = elman(nonlinearity)  # type: ignore[method-assign, assignment]
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

    step = staticmethod(gru)


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

    step = staticmethod(lstm)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, tuple[Any, Any]]:
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise TypeError(f"LSTM: the state hx is a pair (h_0, c_0), not {type(hx).__name__}")
        output, (h, c) = self._forward(input, None if hx is None else tuple(hx))
        return output, (h, c)


__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]
