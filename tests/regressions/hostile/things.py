"""Wrong things, and arguments that work by the names of parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

import tracegrad as tg

Maker = Callable[[], Any]


class Nothing(Exception):
    """The wrong thing has taken the place of the array that was to be traced, so that there is no
    call."""


class Thing:
    """A class that is no array."""


def gives_none(*_: Any, **__: Any) -> None:
    return None


def gives_text(*_: Any, **__: Any) -> str:
    return "text"


def gives_pair(*_: Any, **__: Any) -> tuple[float, float]:
    return 1.0, 2.0


WRONG: dict[str, Maker] = {
    "None": lambda: None,
    "a slice": lambda: slice(1, 2),
    "a string": lambda: "abc",
    "an empty string": lambda: "",
    "bytes": lambda: b"abc",
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1, 2},
    "an object": object,
    "a class": lambda: Thing,
    "a module": lambda: re,
    "Ellipsis": lambda: ...,
    "a generator": lambda: (k for k in range(2)),
    "a ragged list": lambda: [[1.0, 2.0], [3.0]],
    "an empty list": list,
    "strings in a list": lambda: ["a", "b"],
    "None in a list": lambda: [None],
    "floats in a tuple": lambda: (0.5, 1.5),
    "tuples in a tuple": lambda: ((0, 1), (1, 0), (0, 0)),
    "a complex number": lambda: 1 + 2j,
    "a negative number": lambda: -7,
    "a huge number": lambda: 2**62,
    "a number beyond int64": lambda: 2**70,
    "a float": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "True": lambda: True,
    "an empty array": lambda: np.zeros(0),
    "an array of another shape": lambda: np.ones((3, 5)),
    "an array of strings": lambda: np.array(["a", "b"]),
    "an array of objects": lambda: np.array([Thing(), None]),
    "dates": lambda: np.array(["2020-01-01"], "M8[D]"),
    "half precision": lambda: np.ones((2, 2), np.float16),
    "integers": lambda: np.array([[0, 1], [1, 0]]),
    "complex numbers": lambda: np.full((2, 2), 1j),
    "a Tensor of another shape": lambda: tg.ones(3, 5),
    "a function that gives None": lambda: gives_none,
    "a function that gives a string": lambda: gives_text,
    "a function that gives a pair": lambda: gives_pair,
}


def square() -> Any:
    return np.array([[4.0, 1.0], [1.0, 3.0]])


def vector() -> Any:
    return np.array([0.25, 0.75])


def total(x: Any) -> Any:
    return np.sum(x * x)


def sine(x: Any) -> Any:
    return np.sin(x)


def fn_of(*parts: Any) -> Maker:
    return lambda: parts[0]


# What an argument of this name is, in order of trial.
BY_NAME: dict[str, tuple[Maker, ...]] = {
    "size": (lambda: (2, 2),),
    "shape": (lambda: (2, 2),),
    "axes": (lambda: (1, 0),),
    "axis": (lambda: 0,),
    "axis1": (lambda: 0,),
    "axis2": (lambda: 1,),
    "dim": (lambda: 0,),
    "dim0": (lambda: 0,),
    "dim1": (lambda: 1,),
    "dims": (lambda: (1, 0),),
    "source": (lambda: 0,),
    "destination": (lambda: 1,),
    "arrays": (lambda: [square(), square()],),
    "tensors": (lambda: [tg.ones(2, 2), tg.ones(2, 2)], lambda: tg.ones(2)),
    "n": (lambda: 2,),
    "k": (lambda: 1,),
    "m": (lambda: 2,),
    "dtype": (lambda: np.float32,),
    "repeats": (lambda: 2,),
    "reps": (lambda: 2,),
    "shift": (lambda: 1,),
    "shifts": (lambda: 1,),
    "pad_width": (lambda: 1,),
    "indices_or_sections": (lambda: 2,),
    "index": (lambda: np.array([[0, 1], [1, 0]]), lambda: np.array([0, 1]), lambda: 0),
    "indices": (lambda: np.array([[0, 1], [1, 0]]), lambda: np.array([0, 1])),
    "q": (lambda: 0.5,),
    "condition": (lambda: square() > 1,),
    "mask": (lambda: square() > 1,),
    "fill_value": (lambda: 2.0,),
    "num_classes": (lambda: 3,),
    "steps": (lambda: 3,),
    "start": (lambda: 0, lambda: (0, 0)),
    "end": (lambda: 3,),
    "stop": (lambda: 3,),
    "length": (lambda: 1,),
    "key": (lambda: 0,),
    "subscripts": (lambda: "ij->ji",),
    "low": (lambda: 3,),
    "seed": (lambda: 1,),
    "function": (fn_of(total),),
    "func": (fn_of(total),),
    "f": (fn_of(sine),),
    "fn": (fn_of(sine), lambda: lambda x, y: x + y),
    "primals": (lambda: (vector(),),),
    "params": (lambda: [tg.ones(2, requires_grad=True)],),
    "parameters": (lambda: [tg.ones(2, requires_grad=True)],),
    "optimizer": (lambda: tg.optim.SGD([tg.ones(2, requires_grad=True)], lr=0.1),),
    "tensor": (lambda: tg.ones(2, 2), lambda: tg.ones(2, 2, requires_grad=True).sum()),
    "mode": (lambda: True,),
    "kernel_size": (lambda: 1,),
    "output_size": (lambda: 1,),
    "num_features": (lambda: 2,),
    "weight": (
        lambda: tg.ones(2, 2),
        lambda: tg.ones(2),
        lambda: tg.ones(2, 2, 1, 1),
        lambda: tg.ones(2, 2, 1),
        lambda: tg.ones(1, 2, 2),
    ),
    "input": (
        lambda: tg.tensor([[0.5, 0.25], [0.75, 0.5]]),
        lambda: tg.tensor([[1, 0], [0, 1]]),
        lambda: tg.ones(1, 2, 4, 4),
        lambda: tg.ones(1, 2, 4),
    ),
    "target": (lambda: tg.tensor([[0.5, 0.25], [0.75, 0.5]]), lambda: tg.tensor([0, 1])),
    "running_mean": (lambda: tg.zeros(2),),
    "running_var": (lambda: tg.ones(2),),
    "num_groups": (lambda: 1,),
    "normalized_shape": (lambda: 2,),
    "pad": (lambda: (1, 1),),
    "subgraph": (lambda: 1,),
}
ANY_ARRAY: tuple[Maker, ...] = (
    square,
    vector,
    lambda: np.array([[1, 2], [3, 4]]),
    lambda: 0.5,
    lambda: 2,
    lambda: tg.ones(2, 2),
)


def step(c: Any, x: Any) -> Any:
    return c + x, c


def grows(c: Any) -> Any:
    return c * 2.0


def small(c: Any) -> Any:
    return c < 100.0


def counted(k: Any, c: Any) -> Any:
    return c + k


def decay(y: Any, t: Any) -> Any:
    return -y


def half(x: Any) -> Any:
    return 0.5 * x + 1.0


def shifted(x: Any) -> Any:
    return x * x - 2.0


def leaf(*shape: int) -> Any:
    return tg.ones(*shape, requires_grad=True)


def with_rule(forward: Any, backward: Any) -> Any:
    """A custom_vjp whose gradient is asked for."""
    f = tg.custom_vjp(sine)
    f.defvjp(forward, backward)
    return tg.grad(lambda x: np.sum(f(x)))(vector())


CALLBACKS = {
    "total",
    "sine",
    "gives_none",
    "gives_text",
    "gives_pair",
    "step",
    "grows",
    "small",
    "counted",
    "decay",
    "half",
    "shifted",
}
"""The functions of this file that are handed over: what fails in them is the caller's own."""


def boxed(args: Any, of: Callable[[Any], Any]) -> tuple[bool, Any]:
    """Arguments of which the first array has become `of(array)`, and whether there was one."""
    if isinstance(args, np.ndarray) and args.dtype.kind in "biufc":
        return True, of(args)
    if isinstance(args, (list, tuple)) and type(args) in (list, tuple):
        for k, part in enumerate(args):
            found, new = boxed(part, of)
            if found:
                return True, type(args)([*args[:k], new, *args[k + 1 :]])
    return False, args
