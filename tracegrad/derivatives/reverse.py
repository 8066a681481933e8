"""Derivatives of Python functions: grad, vjp, jacobian, hessian, hvp (forward mode: see
forward.py).

Each runs the function eagerly on the tape or with dual numbers; inside `jit` the same code is
traced, and of a jitted function each gives a jitted function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..checks import argument_numbers, pair_of
from ..compiled.jitted import Jitted
from ..devices import DeviceArray
from ..dtypes import is_differentiable
from ..errors import ConcretizationError, DTypeError, ShapeError
from ..ir.dispatch import STATE
from ..ir.trace import user_line
from ..ops import conj, convert, moveaxis, reshape
from ..ops.arrays.creation import eye
from ..ops.arrays.transfer import place_of, transfer
from ..tape.engine import gradient, zeros
from ..tape.hooks import boxed
from ..tape.leaves import end
from ..tape.rule_reads import ASK_THE_USER, asking
from ..tape.tape import AccumulateGrad, End, Node
from ..tensor import Boxed, Tensor, fresh_leaf
from ..transforms.tracing import check_leaf, plain
from ..tree import flatten, map_leaves, unflatten
from .forward import apart, jvp
from .vmap import vmap

Function = Callable[..., Any]


def _derived(function: Function, key: Any, make: Callable[[Function], Function]) -> Function:
    """`make(function)`; for a jitted function the jitted result, made once per key."""
    if isinstance(function, Jitted):
        return function.derive(key, make)
    if not callable(function):
        raise TypeError(f"expected a function, got {type(function).__name__}")
    made = make(function)
    made.__name__ = f"{key[0]}_{getattr(function, '__name__', 'function')}"
    made.__doc__ = getattr(function, "__doc__", None)
    made.__wrapped__ = function  # type: ignore[attr-defined]
    return made


class _Inputs:
    """The differentiated arguments of one call: checked, and boxed as fresh leaves."""

    def __init__(self, args: tuple[Any, ...], argnums: int | Sequence[int], what: str) -> None:
        self.single = isinstance(argnums, (int, np.integer))
        numbers = (int(argnums),) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise TypeError(
                    f"{what}: argnums names argument {n}, but the function was called with {len(args)} positional arguments"
                )
        self.numbers = [n % len(args) for n in numbers]
        chosen = tuple(args[n] for n in self.numbers)
        self.originals, self.spec = flatten(chosen)
        for x in self.originals:
            check_leaf(x, f"{what}: an argument is")
            dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
            if not is_differentiable(dtype):
                raise DTypeError(
                    f"{user_line()}: {what} needs floating-point or complex inputs, argument {self.numbers[0] if self.single else self.numbers} holds "
                    f"{dtype}. Convert it with .astype(float) (or write 1.0 for 1)."
                )
        self.leaves: list[Any] = [fresh_leaf(x) for x in self.originals]
        self.args = list(args)
        # The function gets aliases: writing to an argument must not change what is differentiated
        # with respect to.
        self.fill([x._alias() for x in self.leaves])

    def fill(self, leaves: Sequence[Any]) -> None:
        for n, value in zip(self.numbers, unflatten(self.spec, leaves), strict=True):
            self.args[n] = value

    def done(self) -> None:
        """Nobody else differentiates by the leaves."""
        for x in self.leaves:
            end(x)

    def tree(self, values: Sequence[Any]) -> Any:
        """One entry per leaf, in the structure of the differentiated arguments."""
        found = unflatten(self.spec, values)
        return found[0] if self.single else found


class _Reach(NamedTuple):
    """What the results of a function, and their tangents, depend on besides the leaves of its
    derivative."""

    keep: bool
    """On something tracked: then their gradient must itself be differentiable."""
    whole: bool
    """On nothing at all, not even on leaves of derivatives that are done."""
    rules: bool = False
    """Whether a rule of the user's is on the way, which may read what is tracked."""


def _reach(outputs: Sequence[Any], leaves: Sequence[Boxed]) -> _Reach:
    if any(x._grad_fn is not None for x in leaves):
        return _Reach(True, False)
    seen = {x._order for x in leaves}
    stack: list[End] = [x._end()[0] for o in outputs for x in _tracked_parts(o)]
    whole, rules = True, False
    while stack:
        node = stack.pop()
        if node._order in seen:
            continue
        seen.add(node._order)
        if not isinstance(node, Node):
            if (node.variable if isinstance(node, AccumulateGrad) else node)._requires_grad:
                return _Reach(True, False)
            whole = False
            continue
        rules = rules or node.op in ASK_THE_USER
        for e in node.edges:
            if e is not None:
                stack.append(e[0])  # noqa: PERF401 - a comprehension costs a function call
    # A trace does not see the tangents of what it captures, so it cannot tell which results they
    # reach.
    if STATE.traces and any(_of_tangents(x) for _, (x, _) in STATE.traces[-1].captures.values()):
        return _Reach(True, False)
    return _Reach(False, whole, rules)


def _tracked_parts(x: Any) -> list[Boxed]:
    """The value and its tangents, as far as they are on the tape."""
    return [x, *_of_tangents(x)] if isinstance(x, Boxed) and x._requires_grad else _of_tangents(x)


def _of_tangents(x: Any) -> list[Boxed]:
    """Of a value's tangents, and of theirs, those that are on the tape."""
    if not isinstance(x, Boxed) or not x._tangents:
        return []
    return [part for t in x._tangents.values() for part in _tracked_parts(t)]


def _release(x: Any, keep: bool) -> Any:
    """A value handed back to the caller: without the history of the finished derivative unless an
    enclosing one needs it."""
    return plain(x if keep or not isinstance(x, Boxed) else x._untracked())


def _pruned(x: Any) -> Any:
    """A value without history where that leads to nothing but leaves of derivatives that are done,
    and so are its tangents."""
    if not isinstance(x, Boxed) or not (x._requires_grad or x._tangents):
        return x
    if x._requires_grad and not _reach([x], ()).keep:
        return x._untracked()
    tangents = {level: _pruned(t) for level, t in (x._tangents or {}).items()}
    if all(tangents[level] is t for level, t in (x._tangents or {}).items()):
        return x
    value = x._alias()
    value._tangents = tangents
    return value


def _scalar(out: Any, what: str) -> Any:
    check_leaf(out, f"{what}: the function returned")
    shape = getattr(out, "shape", ())
    if shape != ():
        raise ShapeError(
            f"{what} needs a function with one scalar result, this one returned an array of shape {shape}. Reduce it (np.sum, np.mean), or use "
            "tg.jacobian for all derivatives, or tg.vjp with a cotangent."
        )
    dtype = getattr(out, "dtype", np.dtype(type(out)) if not isinstance(out, Boxed) else None)
    if dtype is not None and not is_differentiable(dtype):
        raise DTypeError(f"{what} needs a real result, this function returned {dtype}")
    if dtype is not None and dtype.kind == "c":
        raise DTypeError(
            f"{what} needs a real result, this function returned {dtype}: take np.real or np.abs of it"
        )
    return out


def _gradients(
    out: Any, leaves: Sequence[Any], ct: Any, reach: _Reach, retain: bool = False
) -> list[Any]:
    if not isinstance(out, Boxed) or not out._requires_grad:
        return [zeros(x.array_type) for x in leaves]
    found = _swept([out], leaves, [ct], reach, retain)
    return [zeros(x.array_type) if g is None else g for g, x in zip(found, leaves, strict=True)]


def _swept(
    outs: Sequence[Any], leaves: Sequence[Any], cts: Sequence[Any], reach: _Reach, retain: bool
) -> list[Any]:
    """The gradient, differentiable where it depends on something tracked."""
    if reach.keep or not reach.rules:
        return gradient(
            outs,
            leaves,
            cts,
            create_graph=reach.keep,
            retain_graph=reach.keep or retain,
            whole=reach.whole,
        )
    with asking():
        return gradient(outs, leaves, cts, retain_graph=True, follow=True)


def _own(g: Any, leaf: Boxed) -> Any:
    """A gradient as the caller's own array: contiguous, writable, not shared, with the face of the
    argument."""
    g = plain(_pruned(g) if leaf._grad_fn is None else g)
    if isinstance(g, np.ndarray) and not (g.flags.writeable and g.flags.owndata):
        g = np.array(g)
    if isinstance(leaf, Tensor) and not isinstance(g, Tensor):
        return (
            boxed(Tensor, g)
            if isinstance(g, Boxed)
            else transfer(Tensor(np.asarray(g)), place_of(leaf))
        )
    if (
        isinstance(g, Tensor)
        and isinstance(g._data, DeviceArray)
        and not (g._requires_grad or g._tangents)
    ):
        return Tensor(g._data.copy())
    return g


def value_and_grad(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Function:
    """A function that returns `(value, gradient)` of a function with one real scalar result.

    `argnums` names the differentiated arguments (an int: the gradient alone; a sequence: a tuple);
    each may be a tree of floating-point arrays, and the gradient has its structure, shapes and
    dtypes. With `has_aux` the function returns `(value, aux)` and the result is `((value, aux),
    gradient)`. For complex arguments the gradient is torch's: the conjugate of JAX's.

    Raises ShapeError for a result that is no scalar, DTypeError for integer arguments. Reverse mode
    (Linnainmaa 1970).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """

    def make(f: Function) -> Function:
        def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
            inputs = _Inputs(args, argnums, "grad")
            with enable_grad():
                result = f(*inputs.args, **kwargs)
                out, aux = pair_of(result, "grad") if has_aux else (result, None)
                _scalar(out, "grad")
                reach = _reach([out], inputs.leaves)
                seed = out.dtype.type(1) if hasattr(out, "dtype") else 1.0
                found = _gradients(out, inputs.leaves, seed, reach)
            inputs.done()
            tree = inputs.tree([_own(g, x) for g, x in zip(found, inputs.leaves, strict=True)])
            value = _release(out, reach.keep)
            return (
                ((value, map_leaves(lambda a: _release(a, reach.keep), aux)), tree)
                if has_aux
                else (value, tree)
            )

        return value_and_gradient

    return _derived(
        function, ("value_and_grad", argument_numbers(argnums, "value_and_grad"), has_aux), make
    )


def grad(function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """A function that returns the gradient of a function with one real scalar result (with
    `has_aux`: `(gradient, aux)`).

    See `value_and_grad`. Nest it for higher orders.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.grad(tg.grad(np.sin))(0.5) == -np.sin(0.5)
    np.True_
    """

    def make(f: Function) -> Function:
        both = value_and_grad(f, argnums, has_aux)

        def gradient_of(*args: Any, **kwargs: Any) -> Any:
            value, found = both(*args, **kwargs)
            return (found, value[1]) if has_aux else found

        return gradient_of

    return _derived(function, ("grad", argument_numbers(argnums, "grad"), has_aux), make)


def vjp(function: Function, *primals: Any, has_aux: bool = False) -> Any:
    """`(result, pullback)`: the result, and a function from a cotangent of the result to a tuple of
    cotangents, one per argument.

    The pullback may be called any number of times, and keeps what it needs: arguments and results
    may be written to. With `has_aux`: `(result, pullback, aux)`.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> y, pullback = tg.vjp(np.exp, np.zeros(2))
    >>> pullback(np.array([1.0, 3.0]))
    (array([1., 3.]),)
    """
    inputs = _Inputs(apart(primals), range(len(primals)), "vjp")
    with enable_grad():
        result = function(*inputs.args)
    result, aux = pair_of(result, "vjp") if has_aux else (result, None)
    outs, out_spec = flatten(result)
    reach = _reach(outs, inputs.leaves)
    keep = reach.keep
    inputs.done()

    def pullback(cotangent: Any) -> Any:
        cts, ct_spec = flatten(cotangent)
        if ct_spec != out_spec:
            raise ValueError(
                f"the cotangent's structure {ct_spec} is not that of the result, {out_spec}"
            )
        for ct, o in zip(cts, outs, strict=True):
            check_leaf(ct, "vjp: a cotangent is")
            if getattr(ct, "shape", ()) != getattr(o, "shape", ()):
                raise ShapeError(
                    f"a cotangent of shape {getattr(ct, 'shape', ())} was given for a result of shape {getattr(o, 'shape', ())}"
                )
        cts = [
            convert(ct, o.dtype) if hasattr(o, "dtype") else ct
            for ct, o in zip(cts, outs, strict=True)
        ]
        track = keep or any(_tracked_parts(ct) for ct in cts)
        found = _swept(
            outs, inputs.leaves, cts, reach._replace(keep=track, whole=False), retain=True
        )
        return unflatten(
            inputs.spec,
            [
                _own(zeros(x.array_type) if g is None else g, x)
                for g, x in zip(found, inputs.leaves, strict=True)
            ],
        )

    value = unflatten(out_spec, [apart(_release(o, keep), tracked=False) for o in outs])
    if not has_aux:
        return value, pullback
    return (
        value,
        pullback,
        map_leaves(
            lambda a: apart(_release(a, keep), tracked=False) if isinstance(a, Boxed) else a, aux
        ),
    )


def hvp(function: Function, primals: Any, tangents: Any, *rest: Any, **kwargs: Any) -> Any:
    """Hessian-vector product of `function(*primals, *rest)`: the derivative of its gradient in the
    direction of `tangents`.

    `primals` and `tangents` are tuples (or single arrays); with one primal the result is one array,
    else a tuple. Forward over reverse: its cost is a small multiple of the gradient's (Pearlmutter
    1994).

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    if isinstance(function, Jitted):
        if function.static_argnames:
            # By name, since among (primals, tangents, *rest) they stand at other places than among
            # the function's own arguments.
            kwargs |= function.named(rest, len(primals) if isinstance(primals, tuple) else 1)
            rest = ()
        return _derived(function, ("hvp",), lambda f: lambda p, t, *r, **k: hvp(f, p, t, *r, **k))(
            primals, tangents, *rest, **kwargs
        )
    single = not isinstance(primals, tuple)
    ps, ts = (
        ((primals,), (tangents,))
        if single
        else (primals, tuple(tangents) if isinstance(tangents, (tuple, list)) else (tangents,))
    )
    of_all = grad(lambda *p: function(*p, *rest, **kwargs), argnums=tuple(range(len(ps))))
    found = jvp(of_all, ps, ts)[1]
    return found[0] if len(ps) == 1 else found


def _basis(leaves: Sequence[Any], k: int) -> Any:
    """All unit tangents of leaf k, along a new first axis."""
    x = leaves[k]
    size = (
        int(np.prod([int(s) for s in x.shape], dtype=np.int64))
        if all(isinstance(s, int) for s in x.shape)
        else x.array_type.size
    )
    return reshape(convert(eye(size), x.dtype), (size, *x.shape))


def _map_basis(function: Function, basis: Any, chunk_size: int | None) -> Any:
    """`function` over the rows of `basis`, all at once or in chunks; in a loop where it cannot be
    traced."""
    count = basis.shape[0]
    try:
        if chunk_size is None or not isinstance(count, int) or count <= chunk_size:
            return vmap(function)(basis)
        parts = [vmap(function)(basis[k : k + chunk_size]) for k in range(0, count, chunk_size)]
    except ConcretizationError:
        if STATE.traces:
            raise
        parts = [
            map_leaves(
                lambda y: y[None] if hasattr(y, "ndim") else np.asarray(y)[None], function(basis[k])
            )
            for k in range(count)
        ]
    return map_leaves(lambda *ys: ys[0] if len(ys) == 1 else np.concatenate(ys), *parts)


def jacobian(
    function: Function,
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
            inputs = _Inputs(args, argnums, "jacobian")

            def of_leaves(*leaves: Any) -> Any:
                full = list(args)
                for n, value in zip(inputs.numbers, unflatten(inputs.spec, leaves), strict=True):
                    full[n] = value
                return f(*full, **kwargs)

            if mode == "forward":
                return _forward_jacobian(of_leaves, inputs, chunk_size)
            with enable_grad():
                outs, out_spec = flatten(f(*inputs.args, **kwargs))
            for o in outs:
                check_leaf(o, "jacobian: the function returned")
            in_size = sum(
                np.size(x) if not isinstance(x, Boxed) else x.array_type.size
                for x in inputs.originals
            )
            out_size = sum(o.array_type.size if isinstance(o, Boxed) else np.size(o) for o in outs)
            # A real cotangent does not give the derivative of a complex result with respect to a
            # real argument; a tangent does.
            if mode == "auto" and (in_size < out_size or any(_is_complex(o) for o in outs)):
                return _forward_jacobian(of_leaves, inputs, chunk_size)
            return _reverse_jacobian(outs, out_spec, inputs, chunk_size)

        return jacobian_of

    return _derived(
        function, ("jacobian", argument_numbers(argnums, "jacobian"), mode, chunk_size), make
    )


def _forward_jacobian(of_leaves: Function, inputs: _Inputs, chunk_size: int | None) -> Any:
    if not inputs.originals:
        raise ValueError("jacobian: the arguments to differentiate hold no arrays")
    columns: list[list[Any]] = []
    out_spec: Any = None
    for k, x in enumerate(inputs.originals):
        shape = getattr(x, "shape", ())

        def push(t: Any, k: int = k) -> Any:
            tangents = [t if j == k else _zero_tangent(y) for j, y in enumerate(inputs.originals)]
            return jvp(of_leaves, inputs.originals, tangents)[1]

        stacked = _map_basis(push, _basis(inputs.leaves, k), chunk_size)
        parts, out_spec = flatten(stacked)
        columns.append([plain(reshape(moveaxis(p, 0, -1), (*p.shape[1:], *shape))) for p in parts])
    rows = (
        [
            inputs.tree([_own(c[r], x) for c, x in zip(columns, inputs.leaves, strict=True)])
            for r in range(len(columns[0]))
        ]
        if columns
        else []
    )
    return unflatten(out_spec, rows)


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c"


def _zero_tangent(x: Any) -> Any:
    return (
        zeros(x.array_type) if isinstance(x, Boxed) else np.zeros(np.shape(x), np.asarray(x).dtype)
    )


def _reverse_jacobian(
    outs: Sequence[Any], out_spec: Any, inputs: _Inputs, chunk_size: int | None
) -> Any:
    reach = _reach(outs, inputs.leaves)
    inputs.done()
    rows = []
    for o in outs:
        out_shape = getattr(o, "shape", ())
        if not isinstance(o, Boxed) or not o._requires_grad:
            found = [np.zeros((*out_shape, *x.shape), x.dtype) for x in inputs.leaves]
        else:

            def pull(ct: Any, o: Any = o) -> Any:
                return tuple(_gradients(o, inputs.leaves, ct, reach, retain=True))

            if out_shape == ():
                found = list(pull(o.dtype.type(1)))
            else:
                stacked = _map_basis(pull, _basis([o], 0), chunk_size)
                found = [
                    reshape(s, (*out_shape, *x.shape))
                    for s, x in zip(stacked, inputs.leaves, strict=True)
                ]
            if _is_complex(o):
                # Gradients are conjugate (see value_and_grad); a Jacobian is the derivative itself,
                # in both modes.
                found = [conj(g) for g in found]
        rows.append(inputs.tree([_own(g, x) for g, x in zip(found, inputs.leaves, strict=True)]))
    return unflatten(out_spec, rows)


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
    return _derived(
        function,
        ("hessian", argument_numbers(argnums, "hessian"), chunk_size),
        lambda f: jacobian(grad(f, argnums), argnums, "forward", chunk_size),
    )
