"""Transforms of functions under torch.func's names and signatures; each is tracegrad's own transform of the same kind.

They take and return trees of Tensors or arrays, and nest with each other and with `jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .derivatives import grad, jacobian, value_and_grad, vjp
from .forward import jvp as _jvp
from .forward import linearize
from .ir.dispatch import STATE
from .ops import concatenate, moveaxis, stack
from .ops.random import has_drawn
from .tensor import Boxed
from .tree import flatten, map_leaves, unflatten
from .vectorize import argument_axes, prefix_axes
from .vectorize import vmap as _vmap

Function = Callable[..., Any]


def grad_and_value(func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that returns `(gradient, value)`, or with `has_aux` `(gradient, (value, aux))`; see `tracegrad.value_and_grad`.

    >>> import tracegrad as tg
    >>> tg.func.grad_and_value(lambda x: (x * x).sum())(tg.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    both = value_and_grad(func, argnums, has_aux)

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return found, value

    return gradient_and_value


def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`(result, tangent)` of `func` at the tuple `primals` in the direction of the tuple `tangents`; with `has_aux` also what the function
    returned besides. With `strict` a result that does not depend on the primals is a RuntimeError, and not zero.

    >>> import tracegrad as tg
    >>> tg.func.jvp(lambda x: x * x, (tg.tensor(3.0),), (tg.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """

    def dependent(*duals: Any) -> Any:
        result = func(*duals)
        for k, o in enumerate(flatten(result[0] if has_aux else result)[0]):
            if not (isinstance(o, Boxed) and STATE.levels[-1] in (o._tangents or {})):
                raise RuntimeError(f"jvp(f, primals, tangents, strict=True): output {k} of f does not depend on the primals.")
        return result

    return _jvp(dependent if strict else func, primals, tangents, has_aux)


def jacrev(func: Function, argnums: int | Sequence[int] = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """The Jacobian in reverse mode, `chunk_size` rows at once; with `has_aux` `(jacobian, aux)`, for which the function runs once more.

    >>> import tracegrad as tg
    >>> tg.func.jacrev(lambda x: x * x)(tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian(func, argnums, "reverse", has_aux, chunk_size)


def jacfwd(func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """The Jacobian in forward mode; see `jacrev`, and `vmap` for `randomness`.

    >>> import tracegrad as tg
    >>> tg.func.jacfwd(lambda x: x * x)(tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_randomness(randomness)
    if randomness == "different":
        raise ValueError(
            "jacfwd: all columns are taken of one run of the function, so that it draws the same numbers for them; use 'same'."
        )
    return _jacobian(_guarded(func, "jacfwd") if randomness == "error" else func, argnums, "forward", has_aux, None)


def _jacobian(func: Function, argnums: int | Sequence[int], mode: str, has_aux: bool, chunk_size: int | None) -> Function:
    if not has_aux:
        return jacobian(func, argnums, mode, chunk_size)
    of_result = jacobian(lambda *args, **kwargs: func(*args, **kwargs)[0], argnums, mode, chunk_size)
    return lambda *args, **kwargs: (of_result(*args, **kwargs), func(*args, **kwargs)[1])


def hessian(func: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Forward over reverse: the Jacobian of the Jacobian, of results of any shape.

    >>> import tracegrad as tg
    >>> tg.func.hessian(lambda x: (x**3).sum())(tg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacobian(jacobian(func, argnums, "reverse"), argnums, "forward")


def vmap(func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None) -> Function:
    """`func` over a further axis of its arguments, at `in_dims`; the results have it at `out_dims`.

    randomness  whether the function may draw random numbers: "error", or "same" ones for all items, or "different" (then the function runs
                once per item)
    chunk_size  how many items are computed at once (None: all)

    >>> import tracegrad as tg
    >>> tg.func.vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))(tg.ones(3, 2), tg.tensor([1.0, 2.0]))
    tensor([3., 3., 3.])
    """
    _check_randomness(randomness)
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0, but got {chunk_size}")
    if randomness != "different" and chunk_size is None:
        return _vmap(_guarded(func, "vmap") if randomness == "error" else func, in_dims, out_dims)
    step = 1 if randomness == "different" else chunk_size
    assert step is not None
    inner = func if randomness == "different" else vmap(func, in_dims, out_dims, randomness)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        axes = argument_axes(in_dims, args, kwargs)
        sizes = {np.shape(x)[a] if not hasattr(x, "shape") else x.shape[a] for x, a in zip(leaves, axes, strict=True) if a is not None}
        if len(sizes) != 1:
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sorted(sizes)}")
        parts = []
        for start in range(0, sizes.pop(), step):
            chosen = [x if a is None else _part(x, a, start, step, randomness == "different") for x, a in zip(leaves, axes, strict=True)]
            some, named = unflatten(spec, chosen)
            parts.append(inner(*some, **named))
        if not parts:
            return vmap(func, in_dims, out_dims, "same")(*args, **kwargs)
        wanted = iter(prefix_axes(out_dims, parts[0]))

        def joined(*pieces: Any) -> Any:
            axis = next(wanted) or 0
            return moveaxis(stack(pieces), 0, axis) if randomness == "different" else concatenate(pieces, axis)

        return map_leaves(joined, *parts)

    return mapped


def _part(x: Any, axis: int, start: int, step: int, single: bool) -> Any:
    before = (slice(None),) * (axis % len(x.shape))
    return x[(*before, start if single else slice(start, start + step))]


def _check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def _guarded(func: Function, who: str) -> Function:
    """The function, where drawing random numbers in it is an error."""

    def guarded(*args: Any, **kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if STATE.traces and has_drawn(STATE.traces[-1]):
            raise RuntimeError(
                f"{who}: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
                f"flags on {who} or perform the randomness operation out of {who}."
            )
        return result

    guarded.__name__ = getattr(func, "__name__", "function")
    return guarded


__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"]
