"""Forward mode by hand: dual tensors carry a tangent through ordinary operations, as in
torch.autograd.forward_ad.

`tracegrad.jvp` does the same for a function, and nests; here one level can be open at a time.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..dtypes import is_differentiable
from ..ir import upward
from ..ir.dispatch import STATE, Value
from ..ir.levels import close_level, open_level
from ..sizes import same_shape
from ..tape.modes import MODES


class _OpenLevels(threading.local):
    """The levels opened here in this thread, by their numbers in `STATE.levels`; the first one is
    level 0."""

    def __init__(self) -> None:
        self.levels: list[int] = []


_OPEN = _OpenLevels()
MODES.append(_OPEN)


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns: the value without its tangent, and the tangent (None where it has
    none)."""

    primal: Any
    tangent: Any


def enter_dual_level() -> int:
    """Open the level that `make_dual` and `unpack_dual` work at, and return its number: 0, but for
    a level inside a function that is traced while another is open.

    Raises RuntimeError where one is open in this thread: nest `tracegrad.jvp` instead.

    >>> import tracegrad as tg
    >>> from tracegrad.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.unpack_dual(forward_ad.make_dual(tg.tensor(2.0), tg.tensor(1.0)) ** 3).tangent
    tensor(12.)
    >>> forward_ad.exit_dual_level(level=level)
    """
    # Inside of a trace the levels around it do not count: a jitted function may open one wherever
    # it is called.
    if _OPEN.levels and _OPEN.levels[-1] in STATE.levels:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment; "
            "nest tracegrad.jvp (or tracegrad.func.jvp) instead."
        )
    before, special, levels = STATE.levels, STATE.special, _OPEN.levels
    number = len(levels)
    try:
        _OPEN.levels = [*levels, open_level()]
    except BaseException:  # Ctrl-C: the level is not open
        STATE.levels, STATE.special = before, special
        raise
    return number


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; the tangents made at it are gone."""
    current = len(_OPEN.levels) - 1
    if current < 0:
        raise RuntimeError("There is no forward AD level to exit; enter_dual_level() opens one.")
    if level is not None and level != current:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. "
            "This is not supported."
        )
    *_OPEN.levels, last = _OPEN.levels
    close_level(last)


class dual_level(ContextDecorator):
    """A block (or, as a decorator, a function) in which dual tensors can be made; at its end their
    tangents are gone.

    >>> import tracegrad as tg
    >>> from tracegrad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(x * x)
    UnpackedDualTensor(primal=tensor([1., 4.]), tangent=tensor([2., 0.]))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """`tensor` with a tangent: results of operations on it have the derivative in that direction as
    theirs.

    The dual tensor shares the memory of `tensor`, which itself gets no tangent. `tangent` has the
    shape of `tensor`; its numbers are converted where the dtypes differ. Both may require grad: the
    derivative through either is recorded.

    Raises RuntimeError where no level is open, the shapes differ, or one of them is dual already;
    ValueError for integers.
    """
    number = _number(level, "make_dual")
    if number is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, "
            "make sure to enter_dual_level() first."
        )
    primal, direction = _tensor(tensor, "the tensor"), _tensor(tangent, "the tangent")
    for what, x in (("primal", primal), ("tangent", direction)):
        if not is_differentiable(x.dtype):
            raise ValueError(
                f"Expected {what} to be floating point or complex, but got: "
                f"tracegrad.{x.dtype.name}"
            )
        x._refresh()
    if not same_shape(primal.shape, direction.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(primal.shape)} while "
            f"the given forward gradient is of size {list(direction.shape)}."
        )
    if direction.dtype.kind == "c" and primal.dtype.kind != "c":
        raise RuntimeError(
            "Expected the tangent of a real Tensor to be real, "
            "but got a complex one: take its real part."
        )
    if number in (primal._tangents or {}):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at "
            "the same level is not supported."
        )
    if number in (direction._tangents or {}):
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same "
            "level is not supported."
        )
    dual = primal._alias()
    dual._tangents = {**(dual._tangents or {}), number: ops.convert(direction, primal.dtype)}
    return dual


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """`(primal, tangent)` of a tensor: it without its tangent, and the tangent, None where it has
    none (or no level is open)."""
    number = _number(level, "unpack_dual")
    if number is None:
        return UnpackedDualTensor(tensor, None)
    box = _tensor(tensor, "the argument of unpack_dual")
    box._refresh()
    tangent = (box._tangents or {}).get(number)
    if tangent is not None and not isinstance(tangent, Value):
        tangent = box.face(np.asarray(tangent))
    return UnpackedDualTensor(box._without(number), tangent)


def _number(level: int | None, who: str) -> int | None:
    """The level's number among all of forward mode; None where no level is meant."""
    current = len(_OPEN.levels) - 1
    level = current if level is None else level
    if level < 0:
        return None
    if level > current:
        raise RuntimeError(
            f"Invalid level given to {who}: "
            f"{level}, where {'no level' if current < 0 else current} is open."
        )
    number = _OPEN.levels[level]
    if number not in STATE.levels:
        raise RuntimeError(
            f"{who}: the dual level was opened outside of the function that "
            "is traced; open it inside."
        )
    return number


def _tensor(x: Any, what: str) -> Any:
    if isinstance(x, Value):
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        return upward.FACES.tensor(np.asarray(x))
    raise TypeError(f"{what} must be a Tensor, but got {type(x).__name__}")


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
