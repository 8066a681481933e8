"""Loops and branches for programs that run both ways: the library's, and the same in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracegrad as tg


class Plain:
    """The loops and branches of the library as Python has them."""

    @staticmethod
    def scan(f: Any, init: Any, xs: Any, length: int, reverse: bool, checkpoint: Any = None) -> Any:
        carry, ys = init, []
        for i in range(length)[:: -1 if reverse else 1]:
            carry, y = f(carry, {k: v[i] for k, v in xs.items()})
            ys.append(y)
        if not ys:
            sample = f(init, {k: np.zeros(v.shape[1:], v.dtype) for k, v in xs.items()})[1]
            return carry, np.zeros((0, *sample.shape), sample.dtype)
        return carry, np.stack(ys[:: -1 if reverse else 1])

    @staticmethod
    def fori_loop(lower: Any, upper: Any, body: Any, init: Any, checkpoint: Any = None) -> Any:
        for i in range(int(lower), int(upper)):
            init = body(np.int64(i), init)
        return init

    @staticmethod
    def while_loop(
        cond: Any, body: Any, init: Any, max_steps: int | None = None, checkpoint: Any = None
    ) -> Any:
        while cond(init):
            init = body(init)
        return init

    @staticmethod
    def cond(flag: Any, yes: Any, no: Any, *operands: Any) -> Any:
        return yes(*operands) if flag else no(*operands)

    @staticmethod
    def switch(number: Any, branches: Any, *operands: Any) -> Any:
        return branches[int(number)](*operands)

    @staticmethod
    def map(f: Any, x: Any) -> Any:
        return np.stack([f(x[i]) for i in range(x.shape[0])])

    @staticmethod
    def associative_scan(f: Any, xs: Any, reverse: bool) -> Any:
        n = xs.shape[0]
        order = range(n)[:: -1 if reverse else 1]
        found = [xs[order[0]]]
        for k in order[1:]:
            found.append(f(found[-1], xs[k]))
        return np.stack(found[:: -1 if reverse else 1])

    vmap = staticmethod(lambda f, x: Plain.map(f, x))
    call = checkpoint = staticmethod(lambda f, x: f(x))


class Library:
    """The same from the library."""

    scan, fori_loop, while_loop = (
        staticmethod(tg.scan),
        staticmethod(tg.fori_loop),
        staticmethod(tg.while_loop),
    )
    cond, switch, map = staticmethod(tg.cond), staticmethod(tg.switch), staticmethod(tg.map)
    vmap = staticmethod(lambda f, x: tg.vmap(f)(x))
    associative_scan = staticmethod(tg.associative_scan)
    call = staticmethod(lambda f, x: tg.jit(f)(x))
    checkpoint = staticmethod(lambda f, x: tg.checkpoint(f)(x))
