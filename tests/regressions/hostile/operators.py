"""Operators, subscripts, conversions and attributes of Tensors and of ndarrays that are
differentiated."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tracegrad as tg

from .target import Target
from .things import Maker, square

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "divmod": divmod,
}
OF_INTEGERS = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
}
IN_PLACE_OF_INTEGERS = {
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}


def reals() -> Any:
    return tg.tensor([[0.5, 0.25], [0.25, 0.75]])


def integers() -> Any:
    return tg.tensor([[1, 2], [3, 4]])


def flags() -> Any:
    return np.array([[True, False], [False, True]])


FACES: dict[str, Callable[[Any], Any]] = {
    "Tensor": lambda f: f(reals()),
    "Array": lambda f: tg.vjp(f, np.array(reals()))[0],
}
"""How a function is given a value of each face: as it is, or by a derivative of it."""


def applied(face: str, function: Callable[[Any, Any], Any]) -> Callable[[], Callable[..., Any]]:
    """A function of what stands beside a boxed value. Its results may be no arrays, which the
    derivative of a function does not give back."""

    def call(other: Any) -> Any:
        found = []
        FACES[face](lambda x: (found.append(function(x, other)), x)[1])
        return found[0]

    return lambda: call


def binary() -> Iterator[Target]:
    for t in _binary():
        yield t._replace(
            words=(r"bitwise_\w+", r"\w+_shift", "mod", "floor_divide", "remainder", "index")
        )


def _binary() -> Iterator[Target]:
    for face in FACES:
        for sign, function in BINARY.items():
            yield Target(
                f"{face} {sign} other", applied(face, function), (("other", square),), whole=True
            )
            yield Target(
                f"other {sign} {face}",
                applied(face, lambda x, y, f=function: f(y, x)),
                (("other", square),),
                whole=True,
            )
        for sign, function in IN_PLACE.items():
            yield Target(
                f"{face} {sign} other",
                applied(face, lambda x, y, f=function: f(+x, y)),
                (("other", square),),
                whole=True,
            )
    for sign, function in OF_INTEGERS.items():
        for name, f in (
            (f"Tensor {sign} other", function),
            (f"other {sign} Tensor", lambda x, y, f=function: f(y, x)),
        ):
            yield Target(
                name,
                lambda f=f: lambda other: f(integers(), other),
                (("other", lambda: 1),),
                whole=True,
            )
    for sign, function in IN_PLACE_OF_INTEGERS.items():
        yield Target(
            f"Tensor {sign} other",
            lambda f=function: lambda other: f(integers(), other),
            (("other", lambda: 1),),
            whole=True,
        )
    yield Target(
        "Tensor @= other",
        lambda: lambda other: operator.imatmul(reals(), other),
        (("other", square),),
        whole=True,
    )


def assign(x: Any, key: Any, value: Any) -> None:
    x = x * 1.0
    x[key] = value


def update(x: Any, key: Any, value: Any) -> None:
    x = x * 1.0
    x[key] += value


KEYS: dict[str, Maker] = {
    "a number": lambda: 0,
    "a slice": lambda: slice(0, 1),
    "a pair": lambda: (0, 1),
    "a mask": flags,
    "a list": lambda: [0, 1],
}


PLACES = ("index", "indices", "indexed", "mask", "elements", "value")
"""What messages say of subscripts."""


def subscripts() -> Iterator[Target]:
    for t in _subscripts():
        yield t._replace(words=PLACES)


def _subscripts() -> Iterator[Target]:
    for face in FACES:
        yield Target(
            f"{face}[key]", applied(face, operator.getitem), (("key", lambda: 0),), whole=True
        )
        yield Target(
            f"{face}[0, key]",
            applied(face, lambda x, k: x[0, k]),
            (("key", lambda: 0),),
            whole=True,
        )
        yield Target(
            f"{face}[key, 0]",
            applied(face, lambda x, k: x[k, 0]),
            (("key", lambda: 0),),
            whole=True,
        )
        yield Target(
            f"{face}[key:]", applied(face, lambda x, k: x[k:]), (("key", lambda: 0),), whole=True
        )
        yield Target(
            f"{face}[:key]", applied(face, lambda x, k: x[:k]), (("key", lambda: 1),), whole=True
        )
        yield Target(
            f"{face}[::key]", applied(face, lambda x, k: x[::k]), (("key", lambda: 1),), whole=True
        )
        yield Target(
            f"{face}[key] = 1",
            applied(face, lambda x, k: assign(x, k, 1.0)),
            (("key", lambda: 0),),
            whole=True,
        )
        yield Target(
            f"{face}[key] += 1",
            applied(face, lambda x, k: update(x, k, 1.0)),
            (("key", lambda: 0),),
            whole=True,
        )
        for kind, key in KEYS.items():
            yield Target(
                f"{face}[{kind}] = value",
                applied(face, lambda x, v, key=key: assign(x, key(), v)),
                (("value", lambda: 1.0),),
                whole=True,
            )
        yield Target(
            f"{face} has value",
            applied(face, lambda x, v: v in x),
            (("value", lambda: 1.0),),
            whole=True,
        )
        yield Target(
            f"del {face}[key]",
            applied(face, operator.delitem),
            (("key", lambda: 0),),
            works=False,
            whole=True,
        )


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "complex": complex,
    "bool": bool,
    "len": len,
    "iter": lambda x: list(iter(x)),
    "reversed": lambda x: list(reversed(x)),
    "index": operator.index,
    "round": round,
    "hash": hash,
    "repr": repr,
    "str": str,
    "format": lambda x: format(x, ".3f"),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "abs": abs,
    "neg": operator.neg,
    "invert": operator.invert,
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "np.array": np.array,
    "range": range,
    "[0, 1][x]": lambda x: [0, 1][x],
    "unpacked": lambda x: (lambda a, b: None)(*x),
}
SPOKEN = (
    "scalars?",
    "0-d",
    "hashed",
    "index",
    "transpose",
    "vjp needs",
    "dimensions?",
    "conversion",
    "Boolean",
    "bool",
)
"""What messages say of conversions."""
VALUES: dict[str, Maker] = {
    "a number": lambda: 1.5,
    "a vector": lambda: [0.5, 1.5],
    "a matrix": lambda: [[0.5, 0.25], [0.25, 0.75]],
    "nothing": list,
    "a complex number": lambda: 1j,
    "an integer": lambda: 2,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "three": lambda: [1.0, 2.0, 3.0],
}


def conversions() -> Iterator[Target]:
    """Here what is converted is what may be wrong for it: a matrix is no number."""
    for name, function in CONVERSIONS.items():
        for kind, value in VALUES.items():
            for face in ("Tensor", "leaf", "Array"):
                call = conversion(face, function, value)
                plainly = partial(of_ndarray, function, value)
                yield Target(
                    f"{name} of {kind} ({face})",
                    lambda call=call: call,
                    (),
                    whole=True,
                    words=SPOKEN,
                    # Hashed by identity, as torch's, and rounded, as NumPy's numbers are.
                    reference=None if name in ("hash", "round") else plainly,
                )


def of_ndarray(function: Callable[[Any], Any], value: Maker) -> Any:
    return function(np.asarray(value()))


def conversion(face: str, function: Callable[[Any], Any], value: Maker) -> Callable[[], Any]:
    def call() -> Any:
        if face == "Tensor":
            return function(tg.tensor(value()))
        if face == "leaf":
            x = tg.tensor(value())
            return function(x.requires_grad_() if x.is_floating_point() or x.is_complex() else x)
        found = []
        tg.vjp(lambda x: (found.append(function(x)), x)[1], np.asarray(value()))
        return found[0]

    return call


def attributes() -> Iterator[Target]:
    for t in _attributes():
        yield t._replace(words=("imaginary", "value", "Tensor", "elements"))


def _attributes() -> Iterator[Target]:
    good: dict[str, Maker] = {
        "data": lambda: tg.ones(2, 2),
        "grad": lambda: tg.ones(2, 2),
        "requires_grad": lambda: True,
    }
    for name in sorted(
        n for n in dir(tg.Tensor) if not n.startswith("_") and not callable(getattr(tg.Tensor, n))
    ):
        for kind, make in (("Tensor", reals), ("leaf", lambda: reals().requires_grad_())):
            maker = good.get(name, lambda: None)
            yield Target(
                f"{kind}.{name} = value",
                lambda name=name, make=make: lambda value: setattr(make(), name, value),
                (("value", maker),),
                works=name in good,
                whole=True,
            )
            yield Target(
                f"del {kind}.{name}",
                lambda name=name, make=make: lambda: delattr(make(), name),
                (),
                works=False,
                whole=True,
            )
            yield Target(
                f"{kind}.no_{name}",
                lambda name=name, make=make: lambda: getattr(make(), "no_" + name),
                (),
                works=False,
                whole=True,
            )
        yield Target(
            f"Array.{name} = value",
            lambda name=name: (
                lambda value: tg.vjp(lambda x: (setattr(x, name, value), x)[1], square())
            ),
            (("value", maker),),
            works=False,
            whole=True,
        )


GROUPS = {
    "operators": binary,
    "subscripts": subscripts,
    "conversions": conversions,
    "attributes": attributes,
}
