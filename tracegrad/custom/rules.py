"""Derivatives given by the user: custom_vjp, custom_jvp, and stop_gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..checks import argument_numbers
from ..dtypes import is_differentiable
from ..errors import TracegradError
from ..faces.certainty import see_in_order
from ..holders import RuleHolder
from ..ir.dispatch import STATE, bind
from ..ir.evaluate import evaluate
from ..ir.graph import Graph
from ..ir.op import Op, Types, op
from ..ir.trace import user_line
from ..ops.totals.statistics import stop_gradient_op
from ..surroundings.state import unchanged
from ..tape.engine import gradient, zeros
from ..tape.leaves import end
from ..tape.mode import MODE
from ..tape.modes import restoring
from ..tape.rule_reads import ASK_THE_USER, by_rule
from ..tensor import Boxed, fresh_leaf, raw
from ..transforms.tracing import face_of, leaf_type, plain, trace_function
from ..tree import flatten, unflatten
from .batching import batch_of, type_of_value
from .residuals import Residuals, keep, kept, residuals_of
from .returned import cotangents_in, fit, place, tangents_in


def stop_gradient(x: Any) -> Any:
    """`x` as a constant: no derivative, of any order or mode, flows through it.

    >>> import tracegrad as tg
    >>> tg.grad(lambda x: x * tg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return bind(stop_gradient_op, [x]) if isinstance(x, Boxed) else x


def ruled(owner: Any) -> AbstractContextManager[None]:
    """A block in which a rule of the user's runs. Where that is while a graph is derived, which is
    kept, the rule runs once, and not at each call: it must not change anything of Python's
    state."""
    return unchanged(owner) if any(t.derived for t in STATE.traces) else nullcontext()


class Custom(RuleHolder):
    """What custom_vjp and custom_jvp share: calling the function through one operation that carries
    the user's rule.

    Eagerly the operation runs the Python function; in a trace its parameter is the traced graph,
    which is inlined when compiled.
    """

    op: Op
    of_reverse: Callable[..., list[Any]]
    of_forward: Callable[..., list[Any]]

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        self.function = function
        self.nondiff = tuple(
            argument_numbers(tuple(nondiff_argnums), type(self).__name__, "nondiff_argnums")
        )
        functools.update_wrapper(self, function, updated=())

    def _check(self) -> None:
        raise NotImplementedError

    def _before_reverse(self, use: _Use, leaves: Sequence[Any]) -> None:
        """What is done of the reverse rule when the function is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check()
        if kwargs:
            raise TypeError(
                f"{self.__name__}: functions with custom derivatives take positional arguments only"
            )
        static = {k: args[k] for k in self.nondiff}
        dynamic = tuple(a for k, a in enumerate(args) if k not in static)
        leaves, spec = flatten(dynamic)

        def join(values: Sequence[Any]) -> list[Any]:
            rest = iter(values)
            return [static[k] if k in static else next(rest) for k in range(len(args))]

        if not STATE.traces and not any(isinstance(x, Boxed) for x in leaves):
            return self.function(*args)
        call = _Use(self, spec, join, tuple(static.values()))
        graph = None
        captures: list[Any] = []
        if STATE.traces:
            traced = trace_function(
                lambda *a: self.function(*join(a)),
                flatten((dynamic, {}))[1],
                [leaf_type(x) for x in leaves],
                [face_of(x) for x in leaves],
                name=self.__name__,
                sizes=STATE.traces[-1].sizes,
            )
            see_in_order(self.__name__, traced.rests, leaves)
            if traced.writes:
                raise TracegradError(
                    f"{user_line()}: {self.__name__} writes into an argument, which its rules say "
                    "nothing of. Let it write into a copy (x = x.copy()), and return that."
                )
            graph, captures, call.out_spec = traced.graph, traced.captures, traced.out_spec
        if MODE.enabled and any(isinstance(x, Boxed) and x._requires_grad for x in leaves):
            self._before_reverse(call, leaves)
        inputs, params = [*leaves, *captures], {"graph": graph, "rule": call}
        outs = bind(self.op, inputs, params)
        if call.around:
            # Once more, with all that it depends on: on the tape, too, it is asked of then.
            outs = bind(self.op, [*inputs, *call.around], params)
            call.around, call.made = (), ()
        return unflatten(call.out_spec, [plain(o) for o in outs])


class _Use:
    """One use of a custom function: how to call it and its rules on flat values."""

    def __init__(
        self,
        custom: Custom,
        spec: Any,
        join: Callable[[Sequence[Any]], list[Any]],
        static: tuple[Any, ...],
    ) -> None:
        self.custom, self.spec, self.join, self.static = custom, spec, join, static
        self.op = custom.op
        self.out_spec: Any = None
        self.residuals: Residuals | None = None
        self.around: tuple[Any, ...] = ()
        """Outside of traces: the results that depend on something tracked around the function."""
        self.made: tuple[Any, ...] = ()
        """All results then."""

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        return self.join(unflatten(self.spec, list(leaves)[: self.spec.num_leaves]))

    def run(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        if self.around:
            return self.made
        outs, self.out_spec = flatten(self.custom.function(*self.arguments(leaves)))
        made = tuple(map(raw, outs))
        # The arguments came without their history: what has one is around.
        around = tuple(
            o for o in outs if isinstance(o, Boxed) and (o._requires_grad or o._tangents)
        )
        if around:
            self.around, self.made = around, made
        return made

    def check_around(self, asked: Sequence[Any]) -> None:
        """A TracegradError where a derivative by what the function reads around it is asked for."""
        if any(asked):
            raise TracegradError(
                f"{user_line()}: {self} reads a differentiated value from around it, of whose "
                "derivative its rules say nothing. Pass it as an argument, or read "
                "tg.stop_gradient(x) where none is wanted."
            )

    def vjp(self, cts: Any, inputs: Any, outs: Any, wanted: Any) -> list[Any]:
        with ruled(self.custom):
            return self.custom.of_reverse(cts, inputs, outs, wanted, self)

    def jvp(self, tangents: Any, inputs: Any, outs: Any) -> list[Any]:
        with ruled(self.custom):
            return self.custom.of_forward(tangents, inputs, outs, self)

    def __repr__(self) -> str:
        return self.custom.__name__


def evaluate_graph(*values: Any, graph: Graph | None, rule: Any) -> tuple[Any, ...]:
    """The results of the graph, or of the user's function where there is none."""
    return rule.run(values) if graph is None else tuple(map(raw, evaluate(graph, values)))


def infer_graph(*values: Any, graph: Graph | None, rule: Any) -> Types:
    """The types of its results; none where only a run of the user's function tells them, which is
    asked when that function has raised an error of its own."""
    return () if graph is None else graph.output_types


def vjp_of(cts: Any, inputs: Any, outs: Any, wanted: Any, *, graph: Any, rule: Any) -> list[Any]:
    """The user's reverse rule."""
    return by_rule(lambda: rule.vjp(cts, inputs, outs, wanted))


def jvp_of(tangents: Any, inputs: Any, outs: Any, *, graph: Any, rule: _Use) -> list[Any]:
    """The user's forward rule."""
    return rule.jvp(tangents, inputs, outs)


def _vjp_of_vjp(cts: Any, inputs: Any, outs: Any, wanted: Any, rule: Any) -> list[Any]:
    name = rule.custom.__name__
    full = [zeros(type_of_value(o)) if ct is None else ct for ct, o in zip(cts, outs, strict=True)]
    tracked = any(isinstance(x, Boxed) and (x._requires_grad or x._tangents) for x in inputs)
    before = kept(rule)
    if before is not None and (STATE.traces or not tracked):
        residuals = before.opened(tracked)
    else:
        residuals = residuals_of(rule, inputs)
        if before is not None:
            before.compare(residuals)
    rule.check_around(wanted[rule.spec.num_leaves :])
    found = rule.custom.backward(*rule.static, residuals, unflatten(rule.out_spec, full))
    who = place(name, rule.custom.backward)
    flat = cotangents_in(found, rule.spec, who)
    flat += [None] * (len(inputs) - len(flat))
    return [
        None if not w else zeros(type_of_value(x)) if g is None else fit(g, x, who, True)
        for g, w, x in zip(flat, wanted, inputs, strict=True)
    ]


def _jvp_of_vjp(tangents: Any, inputs: Any, outs: Any, rule: Any) -> list[Any]:
    raise TypeError(
        f"{rule.custom.__name__} has a custom reverse rule only, so forward mode (jvp, hessian, "
        "jacobian forward) cannot go through it. Use tg.custom_jvp, from which both modes follow, "
        "or tg.jacobian(tg.grad(f), mode='reverse')."
    )


def _jvp_of_jvp(tangents: Any, inputs: Any, outs: Any, rule: Any) -> list[Any]:
    full = [
        t
        if t is not None
        else zeros(type_of_value(x))
        if is_differentiable(type_of_value(x).dtype)
        else np.zeros(np.shape(x))
        for t, x in zip(tangents, inputs, strict=True)
    ]
    n = rule.spec.num_leaves
    rule.check_around([t is not None for t in tangents[n:]])
    primals, directions = rule.arguments(inputs), unflatten(rule.spec, full[:n])
    found = rule.custom.rule(
        *rule.static,
        tuple(p for k, p in enumerate(primals) if k not in rule.custom.nondiff),
        tuple(directions),
    )
    who = place(rule.custom.__name__, rule.custom.rule)
    made = tangents_in(found, rule.out_spec, who)
    return [None if t is None else fit(t, o, who) for t, o in zip(made, outs, strict=True)]


def _vjp_by_jvp(
    cts: Any, inputs: Any, outs: Any, wanted: Any, *, graph: Any, rule: Any
) -> list[Any]:
    return by_rule(lambda: _vjp_of_jvp(cts, inputs, outs, wanted, rule))


@restoring
def _vjp_of_jvp(cts: Any, inputs: Any, outs: Any, wanted: Any, rule: Any) -> list[Any]:
    # The rule is linear in the tangents: its transpose is the gradient of <ct, rule(t)> with
    # respect to t.
    with enable_grad():
        leaves = [
            fresh_leaf(zeros(type_of_value(x))) if w else None
            for x, w in zip(inputs, wanted, strict=True)
        ]
        made = rule.jvp(leaves, inputs, outs)
    pairs = [
        (o, ct)
        for o, ct in zip(made, cts, strict=True)
        if ct is not None and isinstance(o, Boxed) and o._requires_grad
    ]
    found = iter(
        gradient(
            [o for o, _ in pairs],
            [x for x in leaves if x is not None],
            [ct for _, ct in pairs],
            create_graph=True,
        )
    )
    for leaf in leaves:
        if leaf is not None:
            # Nobody else differentiates by a direction that the rule was asked for.
            end(leaf)
    result = []
    for x, w in zip(inputs, wanted, strict=True):
        g = next(found) if w else None
        result.append(zeros(type_of_value(x)) if w and g is None else g)
    return result


def _of_graph(name: str, vjp: Any, doc: str) -> Any:
    """An operation whose value is that of a graph."""
    return op(
        name,
        ["inputs"],
        inlined=True,
        evaluate=evaluate_graph,
        infer=infer_graph,
        vjp=vjp,
        jvp=jvp_of,
        batch=batch_of,
        variadic=True,
        outputs=0,
        doc=doc,
    )


_vjp_op = _of_graph("custom_vjp", vjp_of, "A function with the user's reverse rule.")
_jvp_op = _of_graph("custom_jvp", _vjp_by_jvp, "A function with the user's forward rule.")
implicit_op = _of_graph(
    "implicit", vjp_of, "The first input, as the function of the others that equations make it."
)
ASK_THE_USER |= {_vjp_op, _jvp_op}


class custom_vjp(Custom):
    """A function with its own reverse rule: decorate it, then give the rule with `defvjp(forward,
    backward)`.

    `forward(*args)` returns `(result, residuals)`; `backward(residuals, cotangent)` a tuple with
    one cotangent (or None for zero) per argument; arguments numbered in `nondiff_argnums` are
    passed to `backward` first and have no cotangent. What the function reads around it is no
    argument: a derivative by that is refused. The rule is itself differentiated for higher orders:
    then `forward` runs once more, and must give the same residuals.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
    >>> tg.grad(lambda x: 5.0 * clipped(x))(2.0)
    np.float64(1.0)
    """

    op = _vjp_op
    of_reverse, of_forward = staticmethod(_vjp_of_vjp), staticmethod(_jvp_of_vjp)
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Set the rule."""
        self.forward, self.backward = forward, backward

    def _before_reverse(self, use: _Use, leaves: Sequence[Any]) -> None:
        with ruled(self):
            keep(use, leaves)

    def _check(self) -> None:
        if self.forward is None:
            raise TypeError(
                f"{self.__name__}: no rule was given; call "
                f"{self.__name__}.defvjp(forward, backward) first"
            )


class custom_jvp(Custom):
    """A function with its own forward rule, from which reverse mode follows: decorate it, then use
    `defjvp(rule)`.

    `rule(primals, tangents)` returns `(result, tangent of the result)` and must be linear in the
    tangents. In reverse mode it runs when the derivative is taken, and reads what is around it as
    it is then: pass what is written to in between as an argument. A derivative by what the function
    reads around it is refused.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.custom_jvp
    ... def f(x):
    ...     return np.sin(x)
    >>> _ = f.defjvp(lambda primals, tangents: (f(*primals), 2.0 * tangents[0]))
    >>> tg.grad(f)(0.0)
    np.float64(2.0)
    """

    op = _jvp_op
    of_reverse, of_forward = staticmethod(_vjp_of_jvp), staticmethod(_jvp_of_jvp)
    rule: Callable[..., Any] | None = None

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule; usable as a decorator."""
        self.rule = rule
        return rule

    def _check(self) -> None:
        if self.rule is None:
            raise TypeError(
                f"{self.__name__}: no rule was given; call {self.__name__}.defjvp(rule) first"
            )


OPS = (_vjp_op, _jvp_op, implicit_op)
