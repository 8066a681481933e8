"""The sweep of operations inside of `jit`, of derivatives and of `vmap`: what stands beside a
traced argument is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracegrad as tg

from . import things
from .target import Target, runs
from .things import boxed

TRANSFORMS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "jit": lambda f, x: tg.jit(f).graphs(x)[0],
    "grad": lambda f, x: tg.vjp(f, x)[0],
    "vmap": lambda f, x: tg.vmap(f)(np.stack([x, x])),
}
"""A function under a transform, at an array. `graphs` traces, and does not compile."""


def under(transform: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of the same arguments, of which the first array is traced."""
    apply = TRANSFORMS[transform]

    def call(*args: Any, **kwargs: Any) -> Any:
        arrays: list[Any] = []
        found, holes = boxed(args, lambda x: (arrays.append(x), HOLE)[1])
        if not found:
            raise things.Nothing("no array among the arguments")

        def users(x: Any) -> Any:
            return function(*filled(holes, x), **kwargs)

        return apply(users, arrays[0])

    return call


class Hole:
    """Where the traced array goes."""


HOLE = Hole()


def filled(args: Any, x: Any) -> Any:
    if args is HOLE:
        return x
    return type(args)([filled(part, x) for part in args]) if type(args) in (list, tuple) else args


def inside(transform: str, of: Callable[[], Iterator[Target]]) -> Iterator[Target]:
    for t in of():
        args = tuple((name, as_array(maker)) for name, maker in t.args)
        if not t.works:
            continue  # reported where it is called eagerly
        made = under(transform, t.make())
        if not runs(lambda made=made: made, args):
            continue  # integers have no derivative, and text cannot be traced
        yield t._replace(
            name=f"{t.name} in {transform}",
            make=lambda made=made: made,
            args=args,
            whole=True,
            every=24,
            reference=None,
        )


def as_array(maker: Callable[[], Any]) -> Callable[[], Any]:
    """What was a Tensor, as an array of NumPy's."""

    def make() -> Any:
        value = maker()
        return np.array(value.detach()) if isinstance(value, tg.Tensor) else value

    return make
