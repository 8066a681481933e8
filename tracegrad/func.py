"""Transforms of functions under torch.func's names and signatures; each is tracegrad's own
transform of the same kind.

They take and return trees of Tensors or arrays, and nest with each other and with `jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .checks import OFTEN, describe, publish
from .derivatives.forward import jvp as _jvp
from .derivatives.forward import linearize
from .derivatives.jacobians import jacobian
from .derivatives.reverse import grad, value_and_grad, vjp
from .derivatives.vmap import argument_axes, mapping, prefix_axes
from .ir.dispatch import STATE
from .nn.modules.module import Module
from .ops import concatenate, moveaxis, stack
from .ops.random import DEFAULT, has_drawn
from .tensor import Boxed
from .tree import flatten, map_leaves, unflatten

Function = Callable[..., Any]


def grad_and_value(
    func: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Function:
    """A function that returns `(gradient, value)`, or with `has_aux` `(gradient, (value, aux))`;
    see `tracegrad.value_and_grad`.

    >>> import tracegrad as tg
    >>> tg.func.grad_and_value(lambda x: (x * x).sum())(tg.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    both = value_and_grad(func, argnums, has_aux)

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        value, found = both(*args, **kwargs)
        return found, value

    return gradient_and_value


def jvp(
    func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """`(result, tangent)` of `func` at the tuple `primals` in the direction of the tuple
    `tangents`; with `has_aux` also what the function returned besides. With `strict` a result that
    does not depend on the primals is a RuntimeError, and not zero.

    >>> import tracegrad as tg
    >>> tg.func.jvp(lambda x: x * x, (tg.tensor(3.0),), (tg.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """

    def dependent(*duals: Any) -> Any:
        result = func(*duals)
        for k, o in enumerate(flatten(result[0] if has_aux else result)[0]):
            if not (isinstance(o, Boxed) and STATE.levels[-1] in (o._tangents or {})):
                raise RuntimeError(
                    "jvp(f, primals, tangents, strict=True): "
                    f"output {k} of f does not depend on the primals."
                )
        return result

    return _jvp(dependent if strict else func, primals, tangents, has_aux)


def jacrev(
    func: Function,
    argnums: int | Sequence[int] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """The Jacobian in reverse mode, `chunk_size` rows at once; with `has_aux` `(jacobian, aux)`,
    for which the function runs once more.

    >>> import tracegrad as tg
    >>> tg.func.jacrev(lambda x: x * x)(tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    return _jacobian(func, argnums, "reverse", has_aux, chunk_size)


def jacfwd(
    func: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Function:
    """The Jacobian in forward mode; see `jacrev`, and `vmap` for `randomness`.

    >>> import tracegrad as tg
    >>> tg.func.jacfwd(lambda x: x * x)(tg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_randomness(randomness)
    if randomness == "different":
        raise ValueError(
            "jacfwd: all columns are taken of one run of the function, so that it draws the same "
            "numbers for them; use 'same'."
        )
    return _jacobian(
        _guarded(func, "jacfwd") if randomness == "error" else func,
        argnums,
        "forward",
        has_aux,
        None,
    )


def _jacobian(
    func: Function, argnums: int | Sequence[int], mode: str, has_aux: bool, chunk_size: int | None
) -> Function:
    if not has_aux:
        return jacobian(func, argnums, mode, chunk_size)
    of_result = jacobian(
        lambda *args, **kwargs: func(*args, **kwargs)[0], argnums, mode, chunk_size
    )
    return lambda *args, **kwargs: (of_result(*args, **kwargs), func(*args, **kwargs)[1])


def hessian(func: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Forward over reverse: the Jacobian of the Jacobian, of results of any shape.

    >>> import tracegrad as tg
    >>> tg.func.hessian(lambda x: (x**3).sum())(tg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacobian(jacobian(func, argnums, "reverse"), argnums, "forward")


def vmap(
    func: Function,
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Function:
    """`func` over a further axis of its arguments, at `in_dims`; the results have it at `out_dims`.
    Keyword arguments are passed whole.

    randomness  whether the function may draw random numbers: "error", or "same" ones for all items,
                or "different" (then the function runs once per item)
    chunk_size  how many items are computed at once (None: all)

    >>> import tracegrad as tg
    >>> dots = tg.func.vmap(lambda x, y: (x * y).sum(), in_dims=(0, None))
    >>> dots(tg.ones(3, 2), tg.tensor([1.0, 2.0]))
    tensor([3., 3., 3.])
    """
    _check_randomness(randomness)
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0, but got {chunk_size}")
    if randomness != "different" and chunk_size is None:
        inner = _guarded(func, "vmap") if randomness == "error" else func
        return mapping(inner, in_dims, out_dims, "same", keywords=False)
    step = 1 if randomness == "different" else chunk_size
    assert step is not None
    inner = func if randomness == "different" else vmap(func, in_dims, out_dims, randomness)

    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten(args)
        axes = argument_axes(in_dims, args, {})
        sizes = {
            np.shape(x)[a] if not hasattr(x, "shape") else x.shape[a]
            for x, a in zip(leaves, axes, strict=True)
            if a is not None
        }
        if len(sizes) != 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, "
                f"got sizes {sorted(sizes)}"
            )
        parts = []
        for start in range(0, sizes.pop(), step):
            chosen = [
                x if a is None else _part(x, a, start, step, randomness == "different")
                for x, a in zip(leaves, axes, strict=True)
            ]
            parts.append(inner(*unflatten(spec, chosen), **kwargs))
        if not parts:
            return vmap(func, in_dims, out_dims, "same")(*args, **kwargs)
        wanted = iter(prefix_axes(out_dims, parts[0]))

        def joined(*pieces: Any) -> Any:
            axis = next(wanted) or 0
            return (
                moveaxis(stack(pieces), 0, axis)
                if randomness == "different"
                else concatenate(pieces, axis)
            )

        return map_leaves(joined, *parts)

    return mapped


def _part(x: Any, axis: int, start: int, step: int, single: bool) -> Any:
    before = (slice(None),) * (axis % len(x.shape))
    return x[(*before, start if single else slice(start, start + step))]


def _check_randomness(randomness: str) -> None:
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', "
            f"or 'same'. Got {randomness}"
        )


def _guarded(func: Function, who: str) -> Function:
    """The function, where drawing random numbers in it is an error."""
    if not callable(func):
        raise TypeError(f"{who}: expected a function, got {describe(func)}")

    def guarded(*args: Any, **kwargs: Any) -> Any:
        before = int(DEFAULT.counter)
        result = func(*args, **kwargs)
        if (STATE.traces and has_drawn(STATE.traces[-1])) or int(DEFAULT.counter) != before:
            raise RuntimeError(
                f"{who}: called random operation while in randomness error mode. "
                f"Please either use the 'same' or 'different' randomness flags on {who} "
                f"or perform the randomness operation out of {who}."
            )
        return result

    guarded.__name__ = getattr(func, "__name__", "function")
    return guarded


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """A call of a module with other values for parameters and buffers, by the names of
    `named_parameters()`: one dict, or several. The module stays as it is. With `strict` a name that
    is missing is a RuntimeError; one that is unknown always is.

    >>> import tracegrad as tg
    >>> line = tg.nn.Linear(1, 1, bias=False)
    >>> tg.func.functional_call(line, {"weight": tg.tensor([[3.0]])}, (tg.tensor([2.0]),))
    tensor([6.])
    """
    given: dict[str, Any] = {}
    several = (
        [parameter_and_buffer_dicts]
        if isinstance(parameter_and_buffer_dicts, Mapping)
        else parameter_and_buffer_dicts
    )
    for d in several:
        if given.keys() & d.keys():
            raise ValueError(
                f"{sorted(given.keys() & d.keys())} appeared in multiple dictionaries; "
                "behavior of functional call is ambiguous"
            )
        given |= d
    places: dict[str, tuple[dict[str, Any], str]] = {}
    for path, owner in module.named_modules(remove_duplicate=False):
        for kind in (owner._parameters, owner._buffers):
            places |= {
                f"{path}.{name}" if path else name: (kind, name)
                for name, value in kind.items()
                if value is not None
            }
    unknown = [name for name in given if name not in places]
    missing = [name for name in places if name not in given] if strict else []
    if unknown or missing:
        raise RuntimeError(
            f"functional_call of {type(module).__name__}: unexpected key(s): {unknown}; "
            f"missing key(s): {missing}"
        )
    before = {name: kind[own] for name, (kind, own) in places.items()}
    # What stands in several places is one value, and gets one.
    same = {id(before[name]): value for name, value in given.items()} if tie_weights else {}
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    try:
        for name, (kind, own) in places.items():
            kind[own] = given.get(name, same.get(id(before[name]), before[name]))
        return module(*arguments, **(kwargs or {}))
    finally:
        for name, (kind, own) in places.items():
            kind[own] = before[name]


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parameters, buffers) of modules of one kind by name, stacked along a new first axis, for
    `vmap` over `functional_call`."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")

    def stacked(kind: str) -> dict[str, Any]:
        found = [dict(getattr(m, kind)()) for m in models]
        return {name: stack([f[name].detach() for f in found]) for name in found[0]}

    parameters = {
        name: value.requires_grad_() for name, value in stacked("named_parameters").items()
    }
    return parameters, stacked("named_buffers")


__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]

publish(globals(), __all__, OFTEN)
