"""All derivatives of all results: `jacobian`, by forward or reverse mode, and `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..checks import argument_numbers
from ..compiled.jitted import Jitted
from ..dtypes import is_differentiable
from ..errors import ConcretizationError, TracegradError
from ..ir.dispatch import STATE
from ..ir.evaluate import evaluate_batched
from ..labels import with_values
from ..ops import conj, convert, moveaxis, reshape, stack
from ..ops.arrays.creation import eye
from ..sizes import numel
from ..staging.session import staged
from ..tape.batched import over_rows
from ..tape.engine import zeros
from ..tensor import Boxed
from ..transforms.derive import with_axis
from ..transforms.tracing import check_leaf, plain
from ..tree import flatten, unflatten
from .forward import jvp, linear_at, primal_of
from .reverse import Function, Inputs, Numbers, P, derived, grad, gradients, own_array, reach_of
from .vmap import vmap


def _basis(leaves: Sequence[Any], k: int) -> Any:
    """All unit tangents of leaf k, along a new first axis."""
    x = leaves[k]
    size = (
        int(np.prod([int(s) for s in x.shape], dtype=np.int64))
        if all(isinstance(s, int) for s in x.shape)
        else numel(x.shape)
    )
    return reshape(convert(eye(size), x.dtype), (size, *x.shape))


def _in_chunks(
    function: Callable[[Any], list[Any]], basis: Any, chunk_size: int | None
) -> list[Any]:
    """What `function` gives for the rows of `basis`, taken all at once or in chunks."""
    count = basis.shape[0]
    if chunk_size is None or not isinstance(count, int) or count <= chunk_size:
        return function(basis)
    parts = [function(basis[k : k + chunk_size]) for k in range(0, count, chunk_size)]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _map_basis(function: Function, basis: Any, chunk_size: int | None) -> Any:
    """`function` over the rows of `basis`, all at once or in chunks; in a loop where it cannot be
    traced."""
    spec: Any = None

    def mapped(part: Any) -> list[Any]:
        nonlocal spec
        leaves, spec = flatten(vmap(function, randomness="same")(part))
        return leaves

    try:
        found = _in_chunks(mapped, basis, chunk_size)
    except ConcretizationError:
        if STATE.traces or not basis.shape[0]:
            raise
        rows, specs = zip(*[flatten(function(row)) for row in basis], strict=True)
        found, spec = [stack(column) for column in zip(*rows, strict=True)], specs[0]
    return unflatten(spec, found)


@overload
def jacobian(
    function: Jitted[P, Any], argnums: Numbers = ..., mode: str = ..., chunk_size: int | None = ...
) -> Jitted[P, Any]: ...


@overload
def jacobian(
    function: Callable[P, Any],
    argnums: Numbers = ...,
    mode: str = ...,
    chunk_size: int | None = ...,
) -> Callable[P, Any]: ...


def jacobian(
    function: Any,
    argnums: int | Sequence[int] = 0,
    mode: str = "auto",
    chunk_size: int | None = None,
) -> Function:
    """A function that returns the Jacobian: an array of shape `result.shape + argument.shape` for
    every pair of result and argument.

    mode        "forward" (one pass per input element), "reverse" (one per output element), or
                "auto": whichever needs fewer passes
    chunk_size  how many passes run at once (None: all); smaller chunks need less memory

    Trees of results and arguments give trees of arrays, results outside. All passes of a chunk are
    one batched evaluation.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"jacobian: mode is 'auto', 'forward' or 'reverse', not {mode!r}")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"jacobian: chunk_size is at least 1, not {chunk_size}")

    def make(f: Function) -> Function:
        def jacobian_of(*args: Any, **kwargs: Any) -> Any:
            given = with_values(args, kwargs) or (args, kwargs)
            return staged(lambda g: of_function(g, *given), f, eager=True)

        def of_function(f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            inputs = Inputs(args, argnums, "jacobian", kwargs)

            def of_leaves(*leaves: Any) -> Any:
                full = list(args)
                for n, value in zip(inputs.numbers, inputs.parts(leaves), strict=True):
                    full[n] = value
                return f(*full, **kwargs)

            if mode == "forward":
                return _forward_jacobian(of_leaves, inputs, chunk_size)
            with enable_grad():
                outs, out_spec = flatten(f(*inputs.args, **kwargs))
            for o in outs:
                check_leaf(o, "jacobian: the function returned")
            in_size = sum(
                np.size(x) if not isinstance(x, Boxed) else numel(x.shape) for x in inputs.originals
            )
            out_size = sum(numel(o.shape) if isinstance(o, Boxed) else np.size(o) for o in outs)
            # A real cotangent does not give the derivative of a complex result with respect to a
            # real argument; a tangent does.
            if mode == "auto" and (in_size < out_size or any(_is_complex(o) for o in outs)):
                return _forward_jacobian(of_leaves, inputs, chunk_size)
            return _reverse_jacobian(outs, out_spec, inputs, chunk_size)

        return jacobian_of

    return derived(
        function,
        ("jacobian", argument_numbers(argnums, "jacobian"), mode, chunk_size),
        make,
        functools.partial(jacobian, argnums=argnums, mode=mode, chunk_size=chunk_size),
    )


def _forward_jacobian(of_leaves: Function, inputs: Inputs, chunk_size: int | None) -> Any:
    if not inputs.originals:
        raise ValueError("jacobian: the arguments to differentiate hold no arrays")
    try:
        columns, out_spec = (
            _columns_in_trace if STATE.traces or STATE.levels else _columns_of_linear
        )(of_leaves, inputs, chunk_size)
    except TracegradError:
        if STATE.traces or STATE.levels:
            raise
        columns, out_spec = _columns_in_trace(of_leaves, inputs, chunk_size)
    rows = [
        inputs.tree(
            [
                own_array(plain(reshape(moveaxis(c[r], 0, -1), (*c[r].shape[1:], *x.shape))), x)
                for c, x in zip(columns, inputs.leaves, strict=True)
            ]
        )
        for r in range(len(columns[0]))
    ]
    return unflatten(out_spec, rows)


Columns = tuple[list[list[Any]], Any]
"""By argument and result the tangents for all unit tangents of the argument, along a first axis;
the structure of the results."""


def _columns_of_linear(of_leaves: Function, inputs: Inputs, chunk_size: int | None) -> Columns:
    """The function runs once, and what depends on tangents is evaluated for all of them."""
    boxes = [primal_of(x) for x in inputs.originals]
    linear = linear_at(of_leaves, boxes, flatten(tuple(boxes))[1])
    captured = [plain(x) for x in linear.captured]
    columns = []
    for k in range(len(boxes)):
        others = [zeros(b.array_type) for b in boxes]

        def pushed(part: Any, k: int = k, others: list[Any] = others) -> list[Any]:
            given = [part if j == k else t for j, t in enumerate(others)]
            places = [0 if j == k else None for j in range(len(others))]
            found, axes = evaluate_batched(
                linear.graph,
                [*given, *captured],
                [*places, *[None] * len(captured)],
                part.shape[0],
            )
            return [
                _like(o, with_axis(t, axis, part.shape[0], 0))
                for o, t, axis in zip(linear.outs, found, axes, strict=True)
            ]

        columns.append(_in_chunks(pushed, _basis(inputs.leaves, k), chunk_size))
    return columns, linear.spec


def _like(o: Any, t: Any) -> Any:
    """A tangent in the dtype of its result: beside a Python number, of which no dtype came, a
    tangent has one."""
    dtype = np.asarray(o).dtype if not isinstance(o, Boxed) else o.dtype
    return convert(t, dtype) if is_differentiable(dtype) else t


def _columns_in_trace(of_leaves: Function, inputs: Inputs, chunk_size: int | None) -> Columns:
    """Inside of a trace, or of forward mode, whose tangents the function's values may have: a
    vmap of `jvp`."""
    columns: list[list[Any]] = []
    out_spec: Any = None
    for k in range(len(inputs.originals)):

        def push(t: Any, k: int = k) -> Any:
            tangents = [t if j == k else _zero_tangent(y) for j, y in enumerate(inputs.originals)]
            return jvp(of_leaves, inputs.originals, tangents)[1]

        stacked = _map_basis(push, _basis(inputs.leaves, k), chunk_size)
        parts, out_spec = flatten(stacked)
        columns.append(parts)
    return columns, out_spec


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _zero_tangent(x: Any) -> Any:
    return (
        zeros(x.array_type) if isinstance(x, Boxed) else np.zeros(np.shape(x), np.asarray(x).dtype)
    )


def _reverse_jacobian(
    outs: Sequence[Any], out_spec: Any, inputs: Inputs, chunk_size: int | None
) -> Any:
    reach = reach_of(outs, inputs.leaves)
    inputs.done()
    rows = []
    for o in outs:
        out_shape = getattr(o, "shape", ())
        if not isinstance(o, Boxed) or not o._requires_grad:
            found = [np.zeros((*out_shape, *x.shape), x.dtype) for x in inputs.leaves]
        else:

            def pull(ct: Any, o: Any = o) -> Any:
                return tuple(gradients(o, inputs.leaves, ct, reach, retain=True))

            if out_shape == ():
                found = list(pull(o.dtype.type(1)))
            else:
                # A sweep that is itself differentiated reads values with their history, which only
                # a trace cuts where it has to.
                known = not (STATE.traces or STATE.levels or reach.keep)
                basis = _basis([o], 0)
                stacked = (
                    _in_chunks(
                        lambda part, pull=pull: over_rows(  # type: ignore[misc]
                            lambda rows: pull(rows[0]), [part], aside=True
                        ),
                        basis,
                        chunk_size,
                    )
                    if known
                    else _map_basis(pull, basis, chunk_size)
                )
                found = [
                    reshape(s, (*out_shape, *x.shape))
                    for s, x in zip(stacked, inputs.leaves, strict=True)
                ]
            if _is_complex(o):
                # Gradients are conjugate (see value_and_grad); a Jacobian is the derivative itself,
                # in both modes.
                found = [conj(g) for g in found]
        rows.append(
            inputs.tree([own_array(g, x) for g, x in zip(found, inputs.leaves, strict=True)])
        )
    return unflatten(out_spec, rows)


@overload
def jacfwd(
    function: Jitted[P, Any], argnums: Numbers = ..., chunk_size: int | None = ...
) -> Jitted[P, Any]: ...


@overload
def jacfwd(
    function: Callable[P, Any], argnums: Numbers = ..., chunk_size: int | None = ...
) -> Callable[P, Any]: ...


def jacfwd(
    function: Function, argnums: int | Sequence[int] = 0, chunk_size: int | None = None
) -> Function:
    """`jacobian` in forward mode: for few inputs and many outputs.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacfwd(lambda t: np.stack([t, t * t]))(3.0)
    array([1., 6.])
    """
    return jacobian(function, argnums, "forward", chunk_size)


@overload
def jacrev(
    function: Jitted[P, Any], argnums: Numbers = ..., chunk_size: int | None = ...
) -> Jitted[P, Any]: ...


@overload
def jacrev(
    function: Callable[P, Any], argnums: Numbers = ..., chunk_size: int | None = ...
) -> Callable[P, Any]: ...


def jacrev(
    function: Function, argnums: int | Sequence[int] = 0, chunk_size: int | None = None
) -> Function:
    """`jacobian` in reverse mode: for many inputs and few outputs.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    return jacobian(function, argnums, "reverse", chunk_size)


@overload
def hessian(
    function: Jitted[P, Any], argnums: Numbers = ..., chunk_size: int | None = ...
) -> Jitted[P, Any]: ...


@overload
def hessian(
    function: Callable[P, Any], argnums: Numbers = ..., chunk_size: int | None = ...
) -> Callable[P, Any]: ...


def hessian(
    function: Function, argnums: int | Sequence[int] = 0, chunk_size: int | None = None
) -> Function:
    """A function that returns the Hessian of a function with one real scalar result: shape
    `argument.shape + argument.shape`.

    Forward over reverse: the Jacobian of the gradient, all directions in one batch (`chunk_size`
    limits it). With several arguments or trees, `H[i][j]` has shape `argument_i.shape +
    argument_j.shape`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return derived(
        function,
        ("hessian", argument_numbers(argnums, "hessian"), chunk_size),
        lambda f: jacobian(grad(f, argnums), argnums, "forward", chunk_size),
        functools.partial(hessian, argnums=argnums, chunk_size=chunk_size),
    )
