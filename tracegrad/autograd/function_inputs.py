"""What the functions of `autograd.functional` are given and give: structures of Tensors, cut off
from the graph they come from, and what strict mode asks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..devices import CPU
from ..ir.graph import Var
from ..ops import broadcast_to
from ..ops.arrays.transfer import place_of, transfer
from ..tape.engine import gradient
from ..tape.hooks import boxed
from ..tensor import Tensor, fresh_leaf
from .grad_mode import enable_grad

Function = Callable[..., Any]


def as_tuple(x: Any, what: str, who: str) -> tuple[tuple[Tensor, ...], bool]:
    """The tensors, and whether they came as one and not as a tuple."""
    single = not isinstance(x, tuple)
    items = (x,) if single else x
    for k, t in enumerate(items):
        if not isinstance(t, Tensor):
            found = (
                f"given {what} has type {type(t)}"
                if single
                else f"value at index {k} has type {type(t)}"
            )
            raise TypeError(
                f"The {what} given to {who} must be either a Tensor "
                f"or a tuple of Tensors but the {found}."
            )
    return items, single


def cut_off(x: Any) -> Any:
    """The value without its history; tangents of an enclosing forward mode stay."""
    value = x._on_memory()
    value._tangents = x._tangents
    return value


def leaves_of(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Any, ...]:
    with enable_grad():
        return tuple([fresh_leaf(x if create_graph else cut_off(x)) for x in inputs])


def outputs_of(
    func: Function, leaves: tuple[Any, ...], who: str, strict: bool
) -> tuple[tuple[Tensor, ...], bool]:
    with enable_grad():
        outs, single = as_tuple(func(*leaves), "outputs of the user-provided function", who)
    for k, o in enumerate(outs):
        if strict and not o.requires_grad:
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. "
                "The outputs must be computed in a differentiable manner from the input when "
                "running in strict mode."
            )
    return outs, single


def size_of(x: Any) -> Any:
    """The number of elements, which inside jit may be an expression of symbolic sizes."""
    total: Any = 1
    for s in x.shape:
        total = total * s
    return total


def beside(x: Any, like: Any) -> Any:
    """A new array where another one lies."""
    where = place_of(like)
    return x if where == CPU else transfer(tensor_of(x), where)


def ones(out: Any) -> Any:
    return beside(boxed(Tensor, np.ones(out.shape, out.dtype)), out)


def tensor_of(x: Any) -> Any:
    return boxed(Tensor, x)


def zeros(shape: Sequence[Any], dtype: Any, like: Any) -> Any:
    if all(isinstance(s, int) for s in shape):
        return beside(boxed(Tensor, np.zeros(tuple(shape), dtype)), like)
    return tensor_of(broadcast_to(dtype.type(0), tuple(shape)))


def pull(
    outs: Sequence[Any], leaves: Sequence[Any], cts: Sequence[Any], create_graph: bool
) -> list[Any]:
    """The vector-Jacobian product; None for an input that nothing depends on."""
    pairs = [(o, ct) for o, ct in zip(outs, cts, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return [None] * len(leaves)
    return gradient(
        [o for o, _ in pairs], leaves, [ct for _, ct in pairs], create_graph, retain_graph=True
    )


def filled(
    found: Sequence[Any],
    like: Sequence[Any],
    strict: bool,
    create_graph: bool,
    missing: str,
    constant: str,
) -> tuple[Any, ...]:
    """Products as tensors, zeros where there is no dependence; strict mode refuses that, and with
    create_graph products that are constant. The messages name the input `{k}`."""
    made = []
    for k, (g, x) in enumerate(zip(found, like, strict=True)):
        if strict and g is None:
            raise RuntimeError(missing.format(k=k))
        if strict and create_graph and not getattr(g, "requires_grad", False):
            raise RuntimeError(
                constant.format(k=k) + " This is not allowed in strict mode when create_graph=True."
            )
        made.append(zeros(x.shape, x.dtype, x) if g is None else tensor_of(g))
    return tuple(made)


INDEPENDENT = (
    "The output of the user-provided function is independent of input {k}. "
    "This is not allowed in strict mode."
)
CONSTANT = "The jacobian of the user-provided function is independent of input {k}."
CONSTANT_HESSIAN = "The hessian of the user-provided function is independent of input {k}."
INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {k}. "
    "This is not allowed in strict mode."
)


def result_of(values: Sequence[Any], single: bool, create_graph: bool) -> Any:
    """Results for the caller: without history unless they shall have one."""
    made = tuple([x if create_graph else own_memory(cut_off(x)) for x in values])
    return made[0] if single else made


def own_memory(x: Any) -> Any:
    """The tensor with memory that can be written to: batched evaluation gives read-only
    repetitions."""
    writable = isinstance(x._data, Var) or x._data.flags.writeable
    if not writable:
        x._data = x._data.copy()
    return x
