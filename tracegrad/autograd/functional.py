"""`jacobian`, `hessian`, `vjp`, `jvp`, `vhp`, `hvp` on Tensors, in torch.autograd.functional's signatures and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..ops import convert, reshape, stack
from ..tensor import Tensor, fresh_leaf
from .engine import gradient
from .grad_mode import enable_grad

Function = Callable[..., Any]


def _as_tuple(x: Any, what: str, who: str) -> tuple[tuple[Tensor, ...], bool]:
    single = isinstance(x, Tensor)
    items = (x,) if single else x
    if not isinstance(items, tuple) or not all(isinstance(t, Tensor) for t in items):
        raise TypeError(f"The {what} given to {who} must be either a Tensor or a tuple of Tensors but the given {what} has type {type(x)}.")
    return items, single


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Any, ...]:
    return tuple(fresh_leaf(x if create_graph else x._bare()) for x in inputs)


def _call(func: Function, leaves: tuple[Any, ...], who: str) -> tuple[tuple[Tensor, ...], bool]:
    with enable_grad():
        result = func(*leaves)
    if not isinstance(result, Tensor) and not (isinstance(result, tuple) and all(isinstance(t, Tensor) for t in result)):
        raise TypeError(
            f"The outputs of the user-provided function given to {who} must be either a Tensor or a tuple of Tensors but the given outputs "
            f"of the user-provided function has type {type(result)}."
        )
    return (result,) if isinstance(result, Tensor) else result, isinstance(result, Tensor)


def _finish(x: Any, create_graph: bool) -> Any:
    if not isinstance(x, Tensor):
        return Tensor(np.array(x))
    return x if create_graph else x._bare()


def _pull(outs: tuple[Any, ...], leaves: tuple[Any, ...], cts: tuple[Any, ...], create_graph: bool, strict: bool) -> list[Any]:
    pairs = [(o, ct) for o, ct in zip(outs, cts, strict=True) if o.requires_grad]
    found = (
        gradient([o for o, _ in pairs], leaves, [ct for _, ct in pairs], create_graph, retain_graph=True) if pairs else [None] * len(leaves)
    )
    for k, g in enumerate(found):
        if strict and g is None:
            raise RuntimeError(f"The output of the user-provided function is independent of input {k}. This is not allowed in strict mode.")
    return [
        Tensor(np.zeros(x.shape, x.dtype)) if g is None else g if isinstance(g, Tensor) else Tensor(np.asarray(g))
        for g, x in zip(found, leaves, strict=True)
    ]


def _strict_outputs(outs: tuple[Any, ...], strict: bool) -> None:
    for k, o in enumerate(outs):
        if strict and not o.requires_grad:
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. The outputs must be computed in a differentiable "
                "manner from the input when running in strict mode."
            )


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode"
) -> Any:
    """The Jacobian: `out.shape + in.shape` for each pair, nested in tuples as outputs and inputs are.

    `create_graph` makes the result differentiable, `strict` refuses outputs that do not depend on an input. `vectorize` and
    `strategy` choose how it is computed in torch; here every choice gives the same result by reverse mode.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.jacobian(lambda x: x * x, tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strict and vectorize:
        raise RuntimeError(
            "tracegrad.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for `vectorize=True`."
        )
    items, single_in = _as_tuple(inputs, "inputs", "jacobian")
    leaves = _leaves(items, create_graph)
    outs, single_out = _call(func, leaves, "jacobian")
    _strict_outputs(outs, strict)
    rows: list[Any] = []
    for o in outs:
        count = int(np.prod(o.shape, dtype=np.int64))
        basis = np.eye(count, dtype=o.dtype).reshape(count, *o.shape)
        parts = [_pull((o,), leaves, (Tensor(e),), create_graph, strict) for e in basis]
        columns = []
        for k, x in enumerate(leaves):
            whole = (
                reshape(stack([p[k] for p in parts]), (*o.shape, *x.shape)) if parts else Tensor(np.zeros((*o.shape, *x.shape), x.dtype))
            )
            columns.append(_finish(whole, create_graph))
        rows.append(columns[0] if single_in else tuple(columns))
    return rows[0] if single_out else tuple(rows)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function with one scalar result: `H[i][j]` of shape `in_i.shape + in_j.shape`.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.hessian(lambda x: x.pow(3).sum(), tg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _, single = _as_tuple(inputs, "inputs", "hessian")

    def gradient_of(*leaves: Any) -> Any:
        outs, single_out = _call(func, leaves, "hessian")
        _single_element(outs, single_out)
        _strict_outputs(outs, strict)
        return tuple(_pull(outs, leaves, (_one(outs[0]),), True, strict))

    found = jacobian(gradient_of, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found[0] if single else found


def _single_element(outs: tuple[Any, ...], single_out: bool) -> None:
    if not single_out:
        raise RuntimeError("The function given to hessian should return a single Tensor")
    if int(np.prod(outs[0].shape, dtype=np.int64)) != 1:
        raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")


def _one(out: Any) -> Any:
    return Tensor(np.ones(out.shape, out.dtype))


def _directions(v: Any, like: tuple[Any, ...], who: str, default: bool, source: str) -> tuple[Any, ...]:
    if v is None:
        if not default:
            raise RuntimeError(f"The vector v can only be None if {source} is a single Tensor with a single element.")
        return (_one(like[0]),)
    items, _ = _as_tuple(v, "v", who)
    if len(items) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(items)}.")
    for t, x in zip(items, like, strict=True):
        if t.shape != x.shape:
            raise ShapeError(f"v has invalid size: should be {tuple(x.shape)} but got {tuple(t.shape)}.")
    return tuple(convert(t, x.dtype) for t, x in zip(items, like, strict=True))


def _unwrap(values: Any, single: bool, create_graph: bool) -> Any:
    made = tuple(_finish(x, create_graph) for x in values)
    return made[0] if single else made


def vjp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """`(outputs, v' J)`.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.vjp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 1.0]))[1]
    tensor([2., 4.])
    """
    items, single = _as_tuple(inputs, "inputs", "vjp")
    leaves = _leaves(items, create_graph)
    outs, single_out = _call(func, leaves, "vjp")
    _strict_outputs(outs, strict)
    one = single_out and int(np.prod(outs[0].shape, dtype=np.int64)) == 1
    cts = _directions(v, outs, "vjp", one, "the user-provided function returns")
    return _unwrap(outs, single_out, create_graph), _unwrap(_pull(outs, leaves, cts, create_graph, strict), single, create_graph)


def jvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """`(outputs, J v)`, by the derivative of the (linear) pullback.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.jvp(lambda x: x * x, tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0]))[1]
    tensor([2., 0.])
    """
    items, _ = _as_tuple(inputs, "inputs", "jvp")
    leaves = _leaves(items, create_graph)
    one = len(items) == 1 and int(np.prod(items[0].shape, dtype=np.int64)) == 1
    directions = _directions(v, items, "jvp", one, "the input to the user-provided function")
    outs, single_out = _call(func, leaves, "jvp")
    _strict_outputs(outs, strict)
    with enable_grad():
        us = tuple(Tensor(np.zeros(o.shape, o.dtype), requires_grad=True) for o in outs)
        pulled = tuple(_pull(outs, leaves, us, True, strict))
    return _unwrap(outs, single_out, create_graph), _unwrap(_pull(pulled, us, directions, create_graph, False), single_out, create_graph)


def vhp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """`(output, v' H)` of a function with one scalar result.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.vhp(lambda x: x.pow(3).sum(), tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0]))[1]
    tensor([6., 0.])
    """
    items, single = _as_tuple(inputs, "inputs", "vhp")
    leaves = _leaves(items, create_graph)
    one = len(items) == 1 and int(np.prod(items[0].shape, dtype=np.int64)) == 1
    directions = _directions(v, items, "vhp", one, "the input to the user-provided function")
    outs, single_out = _call(func, leaves, "vhp")
    _single_element(outs, single_out)
    _strict_outputs(outs, strict)
    with enable_grad():
        pulled = tuple(_pull(outs, leaves, (_one(outs[0]),), True, strict))
    return _unwrap(outs, True, create_graph), _unwrap(_pull(pulled, leaves, directions, create_graph, strict), single, create_graph)


def hvp(func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> Any:
    """`(output, H v)` of a function with one scalar result; the Hessian is symmetric, so this is `vhp`.

    >>> import tracegrad as tg
    >>> tg.autograd.functional.hvp(lambda x: x.pow(3).sum(), tg.tensor([1.0, 2.0]), tg.tensor([1.0, 0.0]))[1]
    tensor([6., 0.])
    """
    return vhp(func, inputs, v, create_graph, strict)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
