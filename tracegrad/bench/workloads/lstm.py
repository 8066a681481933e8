"""The diagonal LSTM of ADBench: a recurrent network over a sequence of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workload import Floats, Function, Workload
from . import control


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def loss(main: Floats, extra: Floats, state: Floats, sequence: Floats) -> Any:
    """Of shapes (layers, 2, 4, b): weights and biases of the gates forget, in, out, change; (3, b):
    weights in, weights out, bias out; (2, layers, b): first hidden and cell states; (c, b)."""
    layers = main.shape[0]

    def step(carry: Any, bits: Any) -> Any:
        hidden, cells = carry
        x = bits[0] * extra[0]
        h, c = [], []
        for k in range(layers):
            weights, biases = main[k, 0], main[k, 1]
            forget, inwards = (
                sigmoid(x * weights[0] + biases[0]),
                sigmoid(hidden[k] * weights[1] + biases[1]),
            )
            outwards, change = (
                sigmoid(x * weights[2] + biases[2]),
                np.tanh(hidden[k] * weights[3] + biases[3]),
            )
            c.append(cells[k] * forget + inwards * change)
            x = outwards * np.tanh(c[k])
            h.append(x)
        y = x * extra[1] + extra[2]
        normal = y - np.log(2 + np.sum(np.exp(y)))
        return (np.stack(h), np.stack(c)), np.sum(bits[1] * normal)

    found = control.scan(step, (state[0], state[1]), (sequence[:-1], sequence[1:]))[1]
    return -sum_of(found) / (sequence.shape[1] * (sequence.shape[0] - 1))


def sum_of(values: Any) -> Any:
    return np.sum(np.stack(values)) if isinstance(values, list) else np.sum(values)


def data(layers: int, length: int, bits: int) -> tuple[Floats, ...]:
    rng = np.random.default_rng(0)
    sequence = (rng.random((length, bits)) > 0.5).astype(float)
    return (
        rng.random((layers, 2, 4, bits)),
        rng.random((3, bits)),
        rng.random((2, layers, bits)),
        sequence,
    )


def reference(main: Floats, extra: Floats, state: Floats, sequence: Floats) -> list[Any]:
    layers = len(main)
    hidden, cells = state[0], state[1]
    kept = []
    for bits in sequence[:-1]:
        x, parts, h, c = bits * extra[0], [], [], []
        for k in range(layers):
            (wf, wi, wo, wg), (bf, bi, bo, bg) = main[k]
            f, i = sigmoid(x * wf + bf), sigmoid(hidden[k] * wi + bi)
            o, g = sigmoid(x * wo + bo), np.tanh(hidden[k] * wg + bg)
            c.append(cells[k] * f + i * g)
            t = np.tanh(c[k])
            parts.append((x, hidden[k], cells[k], f, i, o, g, t))
            x = o * t
            h.append(x)
        kept.append((parts, x))
        hidden, cells = h, c
    d_main, d_extra = np.zeros_like(main), np.zeros_like(extra)
    d_hidden, d_cells = np.zeros_like(state[0]), np.zeros_like(state[0])
    scale = -1 / (sequence.shape[1] * (len(sequence) - 1))
    for t in reversed(range(len(sequence) - 1)):
        parts, x = kept[t]
        e = np.exp(x * extra[1] + extra[2])
        dy = scale * (sequence[t + 1] - sequence[t + 1].sum() * e / (2 + e.sum()))
        d_extra[1] += dy * x
        d_extra[2] += dy
        dx = dy * extra[1]
        for k in reversed(range(layers)):
            x, h, c, f, i, o, g, tc = parts[k]
            dh = dx + d_hidden[k]
            dc = d_cells[k] + dh * o * (1 - tc * tc)
            gates = np.stack(
                [
                    dc * c * f * (1 - f),
                    dc * g * i * (1 - i),
                    dh * tc * o * (1 - o),
                    dc * i * (1 - g * g),
                ]
            )
            d_main[k, 0] += gates * np.stack([x, h, x, h])
            d_main[k, 1] += gates
            d_cells[k] = dc * f
            d_hidden[k] = gates[1] * main[k, 0, 1] + gates[3] * main[k, 0, 3]
            dx = gates[0] * main[k, 0, 0] + gates[2] * main[k, 0, 2]
        d_extra[0] += dx * sequence[t]
    return [d_main, d_extra]


def loops(main: Floats, extra: Floats, state: Floats, sequence: Floats) -> tuple[Floats, Floats]:
    layers, b, steps = np.uint64(main.shape[0]), np.uint64(sequence.shape[1]), len(sequence) - 1
    kept = np.empty((steps, main.shape[0], 8, sequence.shape[1]))
    last, e = np.empty((steps, sequence.shape[1])), np.empty(sequence.shape[1])
    hidden, cells, x = state[0].copy(), state[1].copy(), np.empty(sequence.shape[1])
    for t in range(steps):
        for j in range(b):
            x[j] = sequence[t, j] * extra[0, j]
        for k in range(layers):
            for j in range(b):
                f = 1 / (1 + np.exp(-(x[j] * main[k, 0, 0, j] + main[k, 1, 0, j])))
                i = 1 / (1 + np.exp(-(hidden[k, j] * main[k, 0, 1, j] + main[k, 1, 1, j])))
                o = 1 / (1 + np.exp(-(x[j] * main[k, 0, 2, j] + main[k, 1, 2, j])))
                g = np.tanh(hidden[k, j] * main[k, 0, 3, j] + main[k, 1, 3, j])
                c = cells[k, j] * f + i * g
                tc = np.tanh(c)
                kept[t, k, 0, j], kept[t, k, 1, j], kept[t, k, 2, j], kept[t, k, 3, j] = (
                    x[j],
                    hidden[k, j],
                    cells[k, j],
                    f,
                )
                kept[t, k, 4, j], kept[t, k, 5, j], kept[t, k, 6, j], kept[t, k, 7, j] = i, o, g, tc
                cells[k, j] = c
                x[j] = o * tc
                hidden[k, j] = x[j]
        last[t] = x
    d_main, d_extra = np.zeros_like(main), np.zeros_like(extra)
    d_hidden, d_cells, dx = (
        np.zeros_like(hidden),
        np.zeros_like(hidden),
        np.empty(sequence.shape[1]),
    )
    scale = -1 / (sequence.shape[1] * steps)
    for n in range(steps):
        t = steps - 1 - n
        total, ones = 2.0, 0.0
        for j in range(b):
            e[j] = np.exp(last[t, j] * extra[1, j] + extra[2, j])
            total += e[j]
            ones += sequence[t + 1, j]
        for j in range(b):
            dy = scale * (sequence[t + 1, j] - ones * e[j] / total)
            d_extra[1, j] += dy * last[t, j]
            d_extra[2, j] += dy
            dx[j] = dy * extra[1, j]
        for m in range(layers):
            # An unsigned index, as in the loop before.
            k = layers - np.uint64(1) - m  # type: ignore[assignment]
            for j in range(b):
                x_, h, c, f = kept[t, k, 0, j], kept[t, k, 1, j], kept[t, k, 2, j], kept[t, k, 3, j]
                i, o, g, tc = kept[t, k, 4, j], kept[t, k, 5, j], kept[t, k, 6, j], kept[t, k, 7, j]
                dh = dx[j] + d_hidden[k, j]
                dc = d_cells[k, j] + dh * o * (1 - tc * tc)
                df, di, do, dg = (
                    dc * c * f * (1 - f),
                    dc * g * i * (1 - i),
                    dh * tc * o * (1 - o),
                    dc * i * (1 - g * g),
                )
                d_main[k, 0, 0, j] += df * x_
                d_main[k, 0, 1, j] += di * h
                d_main[k, 0, 2, j] += do * x_
                d_main[k, 0, 3, j] += dg * h
                d_main[k, 1, 0, j] += df
                d_main[k, 1, 1, j] += di
                d_main[k, 1, 2, j] += do
                d_main[k, 1, 3, j] += dg
                d_cells[k, j] = dc * f
                d_hidden[k, j] = di * main[k, 0, 1, j] + dg * main[k, 0, 3, j]
                dx[j] = df * main[k, 0, 0, j] + do * main[k, 0, 2, j]
        for j in range(b):
            d_extra[0, j] += dx[j] * sequence[t, j]
    return d_main, d_extra


def in_torch(torch: Any) -> Function:
    def f(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
        layers = main.shape[0]
        hidden, cells = list(state[0]), list(state[1])
        total = 0.0
        for t in range(len(sequence) - 1):
            x = sequence[t] * extra[0]
            for k in range(layers):
                weights, biases = main[k, 0], main[k, 1]
                forget, inwards = (
                    torch.sigmoid(x * weights[0] + biases[0]),
                    torch.sigmoid(hidden[k] * weights[1] + biases[1]),
                )
                outwards, change = (
                    torch.sigmoid(x * weights[2] + biases[2]),
                    torch.tanh(hidden[k] * weights[3] + biases[3]),
                )
                cells[k] = cells[k] * forget + inwards * change
                x = outwards * torch.tanh(cells[k])
                hidden[k] = x
            y = x * extra[1] + extra[2]
            total = total + torch.sum(
                sequence[t + 1] * (y - torch.log(2 + torch.sum(torch.exp(y))))
            )
        return -total / (sequence.shape[1] * (sequence.shape[0] - 1))

    return f


WORKLOADS = (
    Workload(
        name="lstm",
        derivative="grad",
        doc="a recurrent network over a sequence of bits",
        function=loss,
        data=data,
        sizes={
            "small": {"layers": 2, "length": 20, "bits": 14},
            "default": {"layers": 2, "length": 1_024, "bits": 14},
            "large": {"layers": 4, "length": 4_096, "bits": 14},
        },
        reference=reference,
        argnums=(0, 1),
        numba=loops,
        torch=in_torch,
        loops=True,
    ),
)
