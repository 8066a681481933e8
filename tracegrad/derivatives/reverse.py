"""Derivatives of Python functions: grad, vjp, jacobian, hessian, hvp (forward mode: see
forward.py).

Each runs the function eagerly on the tape or with dual numbers; inside `jit` the same code is
traced, and of a jitted function each gives a jitted function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast, overload

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..checks import argument_numbers, pair_of
from ..compiled.jitted import Jitted
from ..compiled.travelling import Again, of_plain
from ..devices import DeviceArray
from ..dtypes import is_differentiable
from ..errors import DTypeError, ShapeError
from ..ir.dispatch import STATE
from ..ir.trace import user_line
from ..labels import labelled, values_of, with_values
from ..ops import convert
from ..ops.arrays.transfer import place_of, transfer
from ..staging.session import entered, staged
from ..tape.engine import gradient, zeros
from ..tape.hooks import boxed
from ..tape.leaves import end
from ..tape.rule_reads import ASK_THE_USER, asking
from ..tape.tape import AccumulateGrad, End, Node
from ..tensor import Array, Boxed, Tensor, fresh_leaf
from ..transforms.tracing import check_leaf, plain, result_of
from ..tree import flatten, map_leaves, place_in, unflatten
from .forward import check_real, copies, jvp

P = ParamSpec("P")
V = TypeVar("V")
Function = Callable[..., Any]
Numbers = int | Sequence[int]
"""Which arguments: one, or several for a tuple."""


def derived(
    function: Function, key: Any, make: Callable[[Function], Function], again: Again
) -> Function:
    """`make(function)`; for a jitted function the jitted result, made once per key. `again` is the
    whole transform, which makes the same of the function where that was pickled."""
    if isinstance(function, Jitted):
        return function.derive(key, make, again)
    if not callable(function):
        raise TypeError(f"expected a function, got {type(function).__name__}")
    made = make(function)
    made.__name__ = f"{key[0]}_{getattr(function, '__name__', 'function')}"
    return of_plain(made, function, again)


def _by_name(named: Iterable[str]) -> str:
    """What to do about arguments that were given by name, of which none is differentiated."""
    words = ", ".join(named)
    return f" and, by keyword, {words}: give by position what is differentiated" if words else ""


class Inputs:
    """The differentiated arguments of one call: checked, and boxed as fresh leaves."""

    def __init__(
        self, args: tuple[Any, ...], argnums: int | Sequence[int], what: str,
        named: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self.single = isinstance(argnums, (int, np.integer))
        numbers = (int(argnums),) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
        for n in numbers:
            if not -len(args) <= n < len(args):
                raise TypeError(
                    f"{what}: argnums names argument {n}, but the function was called with "
                    f"{len(args)} positional arguments{_by_name(named)}"
                )
        self.numbers = [n % len(args) for n in numbers]
        if len(set(self.numbers)) < len(numbers):
            # Of two leaves in one place, the first would have no part in the result.
            raise TypeError(f"{what}: argnums is {numbers}, which names an argument twice")
        chosen = tuple([args[n] for n in self.numbers])
        if self.single and _is_ordinary(chosen[0]):
            self.originals, self.spec = list(chosen), None
        else:
            self.originals, self.spec = flatten(chosen)
            self._check(what)
        self.leaves: list[Any] = [fresh_leaf(x) for x in self.originals]
        self.args = list(args)
        # The function gets aliases: writing to an argument must not change what is differentiated
        # with respect to.
        self.fill([x._alias() for x in self.leaves])

    def _check(self, what: str) -> None:
        for k, x in enumerate(self.originals):
            check_leaf(x, f"{what}: an argument is")
            dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
            if not is_differentiable(dtype):
                raise DTypeError(
                    f"{user_line()}: {what} needs floating-point or complex inputs, "
                    f"argument {place_in(self.spec, k, self.numbers)} holds {dtype}. "
                    "Convert it with .astype(float) (or write 1.0 for 1)."
                )

    def parts(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """The differentiated arguments, made of these leaves."""
        found: Sequence[Any] = leaves if self.spec is None else unflatten(self.spec, leaves)
        return found

    def fill(self, leaves: Sequence[Any]) -> None:
        for n, value in zip(self.numbers, self.parts(leaves), strict=True):
            self.args[n] = value

    def done(self) -> None:
        """Nobody else differentiates by the leaves."""
        for x in self.leaves:
            end(x)

    def tree(self, values: Sequence[Any]) -> Any:
        """One entry per leaf, in the structure of the differentiated arguments."""
        found = self.parts(values)
        return found[0] if self.single else found


def _is_ordinary(x: Any) -> bool:
    """Whether it is one array of a differentiable dtype: nothing to take apart or to refuse."""
    return type(x) is np.ndarray and x.dtype.char in "dfDF" and x.dtype.isnative


class _Reach(NamedTuple):
    """What the results of a function, and their tangents, depend on besides the leaves of its
    derivative."""

    keep: bool
    """On something tracked: then their gradient must itself be differentiable."""
    whole: bool
    """On nothing at all, not even on leaves of derivatives that are done."""
    rules: bool = False
    """Whether a rule of the user's is on the way, which may read what is tracked."""


def reach_of(outputs: Sequence[Any], leaves: Sequence[Boxed]) -> _Reach:
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
    if type(x) is Array and not keep and x._tangents is None and type(x._data) is np.ndarray:
        return x._data if x._data.ndim else x._data[()]
    return plain(x if keep or not isinstance(x, Boxed) else x._untracked())


def _pruned(x: Any) -> Any:
    """A value without history where that leads to nothing but leaves of derivatives that are done,
    and so are its tangents."""
    if not isinstance(x, Boxed) or not (x._requires_grad or x._tangents):
        return x
    if x._requires_grad and not reach_of([x], ()).keep:
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
            f"{what} needs a function with one scalar result, this one returned an array of "
            f"shape {shape}. Reduce it (np.sum, np.mean), or use tg.jacobian for all derivatives, "
            "or tg.vjp with a cotangent."
        )
    dtype = getattr(out, "dtype", np.dtype(type(out)) if not isinstance(out, Boxed) else None)
    if dtype is not None and not is_differentiable(dtype):
        raise DTypeError(
            f"{user_line()}: {what} needs a real result, this function returned {dtype}, which has "
            "no derivative. An integer array that floats were written into has cut them off: start "
            "from u.astype(float), or write 1.0 for 1."
        )
    if dtype is not None and dtype.kind == "c":
        raise DTypeError(
            f"{what} needs a real result, this function returned {dtype}: "
            "take np.real or np.abs of it"
        )
    return out


def gradients(
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


def own_array(g: Any, leaf: Boxed) -> Any:
    """A gradient as the caller's own array: contiguous, writable, not shared, with the face of the
    argument."""
    if type(g) is np.ndarray and g.ndim and not isinstance(leaf, Tensor):
        return g if g.flags.writeable and g.flags.owndata else np.array(g)
    g = plain(_pruned(g) if leaf._grad_fn is None else g)
    if isinstance(g, Tensor) and not (isinstance(leaf, Tensor) or g._requires_grad or g._tangents):
        g = result_of(g, False)
    if isinstance(g, np.ndarray) and not (g.flags.writeable and g.flags.owndata):
        g = np.array(g)
    if isinstance(leaf, Tensor) and not isinstance(g, Tensor):
        return (
            boxed(Tensor, g) if isinstance(g, Boxed) else transfer(boxed(Tensor, g), place_of(leaf))
        )
    if (
        isinstance(g, Tensor)
        and isinstance(g._data, DeviceArray)
        and not (g._requires_grad or g._tangents)
    ):
        return Tensor(g._data.copy())
    return g


@overload
def value_and_grad(
    function: Jitted[P, V], argnums: Numbers = ..., has_aux: bool = ...
) -> Jitted[P, tuple[V, Any]]: ...


@overload
def value_and_grad(
    function: Callable[P, V], argnums: Numbers = ..., has_aux: bool = ...
) -> Callable[P, tuple[V, Any]]: ...


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
            values = with_values(args, kwargs)
            if values is not None:
                found = value_and_gradient(*values[0], **values[1])
                return labelled(found, args, argnums, 1)
            return staged(lambda g: differentiated(g, args, kwargs), f, eager=True)

        def differentiated(g: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            inputs = Inputs(args, argnums, "grad", kwargs)
            with enable_grad():
                result = g(*inputs.args, **kwargs)
                out, aux = pair_of(result, "grad") if has_aux else (result, None)
                _scalar(out, "grad")
                reach = reach_of([out], inputs.leaves)
                seed = out.dtype.type(1) if hasattr(out, "dtype") else 1.0
                found = gradients(out, inputs.leaves, seed, reach)
            inputs.done()
            tree = inputs.tree([own_array(g, x) for g, x in zip(found, inputs.leaves, strict=True)])
            value = _release(out, reach.keep)
            return (
                ((value, map_leaves(lambda a: _release(a, reach.keep), aux)), tree)
                if has_aux
                else (value, tree)
            )

        value_and_gradient._gradients = argnums, 1  # type: ignore[attr-defined]
        return value_and_gradient

    return derived(
        function,
        ("value_and_grad", argument_numbers(argnums, "value_and_grad"), has_aux),
        make,
        functools.partial(cast(Any, value_and_grad), argnums=argnums, has_aux=has_aux),
    )


@overload
def grad(
    function: Jitted[P, Any], argnums: Numbers = ..., has_aux: bool = ...
) -> Jitted[P, Any]: ...


@overload
def grad(
    function: Callable[P, Any], argnums: Numbers = ..., has_aux: bool = ...
) -> Callable[P, Any]: ...


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

        gradient_of._gradients = argnums, 0 if has_aux else None  # type: ignore[attr-defined]
        return gradient_of

    return derived(
        function,
        ("grad", argument_numbers(argnums, "grad"), has_aux),
        make,
        functools.partial(grad, argnums=argnums, has_aux=has_aux),
    )


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

    primals = values_of(primals)

    def run(f: Function) -> Any:
        inputs = Inputs(copies(primals), range(len(primals)), "vjp")
        with enable_grad():
            return inputs, f(*inputs.args)

    inputs, result = staged(run, function, eager=True)
    result, aux = pair_of(result, "vjp") if has_aux else (result, None)
    outs, out_spec = flatten(result)
    reach = reach_of(outs, inputs.leaves)
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
                    f"a cotangent of shape {getattr(ct, 'shape', ())} was given for a result of "
                    f"shape {getattr(o, 'shape', ())}"
                )
            check_real(ct, o, "vjp: a cotangent", "a result")
        cts = [
            convert(ct, o.dtype) if hasattr(o, "dtype") else ct
            for ct, o in zip(cts, outs, strict=True)
        ]
        track = keep or any(isinstance(ct, Boxed) and ct._on_tape() for ct in cts)
        found = _swept(
            outs, inputs.leaves, cts, reach._replace(keep=track, whole=False), retain=True
        )
        leaves = [
            own_array(zeros(x.array_type) if g is None else g, x)
            for g, x in zip(found, inputs.leaves, strict=True)
        ]
        return tuple(inputs.parts(leaves))

    value = unflatten(out_spec, [copies(_release(o, keep), tracked=False) for o in outs])
    if not has_aux:
        return value, pullback
    return (
        value,
        pullback,
        map_leaves(
            lambda a: copies(_release(a, keep), tracked=False) if isinstance(a, Boxed) else a, aux
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
        return _products(function)(primals, tangents, *rest, **kwargs)
    single = not isinstance(primals, tuple)
    ps, ts = (
        ((primals,), (tangents,))
        if single
        else (primals, tuple(tangents) if isinstance(tangents, (tuple, list)) else (tangents,))
    )
    of_all = grad(lambda *p: entered(function)(*p, *rest, **kwargs), argnums=tuple(range(len(ps))))
    found = jvp(of_all, ps, ts)[1]
    return found[0] if len(ps) == 1 else found


def _products(function: Function) -> Function:
    """Of a jitted function its `hvp`, jitted."""
    return derived(
        function,
        ("hvp",),
        lambda f: lambda p, t, *rest, **kwargs: hvp(f, p, t, *rest, **kwargs),
        _products,
    )
