"""What is public and can be called, each with arguments that work, and the wrong calls of it."""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tracegrad as tg

from .things import (
    ANY_ARRAY,
    BY_NAME,
    WRONG,
    Maker,
    counted,
    decay,
    fn_of,
    grows,
    half,
    leaf,
    shifted,
    sine,
    small,
    square,
    step,
    total,
    vector,
    with_rule,
)


class Target(NamedTuple):
    """Something public that can be called. `make()` gives it (afresh, where it has state), `args` makers of arguments that work."""

    name: str
    make: Callable[[], Callable[..., Any]]
    args: tuple[tuple[str, Maker], ...]
    options: tuple[str, ...] = ()
    works: bool = True


def parameters_of(function: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


# What is not found by the names of the parameters alone.
EXAMPLES: dict[str, tuple[tuple[str, Maker], ...]] = {
    "tg.nn.Transformer": tuple(
        (name, lambda size=size: size)
        for name, size in (("d_model", 4), ("nhead", 2), ("num_encoder_layers", 1), ("num_decoder_layers", 1), ("dim_feedforward", 4))
    ),
    "tg.bmm": (("x", lambda: np.ones((1, 2, 2))), ("y", lambda: np.ones((1, 2, 2)))),
    "tg.cond": (("predicate", lambda: True), ("true_function", fn_of(sine)), ("false_function", fn_of(half)), ("operand", vector)),
    "tg.switch": (("index", lambda: 0), ("branches", lambda: [sine, half]), ("operand", vector)),
    "tg.fixed_point": (("f", fn_of(half)), ("x0", vector)),
    "tg.root": (("f", fn_of(shifted)), ("x0", vector)),
    "tg.minimize": (("f", fn_of(total)), ("x0", vector)),
    "tg.fori_loop": (("lower", lambda: 0), ("upper", lambda: 3), ("body", fn_of(counted)), ("init", lambda: 1.0)),
    "tg.while_loop": (("cond", fn_of(small)), ("body", fn_of(grows)), ("init", lambda: 1.0)),
    "tg.scan": (("f", fn_of(step)), ("init", lambda: 0.0), ("xs", vector)),
    "tg.odeint": (("f", fn_of(decay)), ("y0", vector), ("t", lambda: np.array([0.0, 0.1]))),
    "tg.linear_solve": (("product", fn_of(grows)), ("b", vector)),
    "tg.jvp": (("function", fn_of(sine)), ("primals", lambda: (vector(),)), ("tangents", lambda: (vector(),))),
    "tg.func.jvp": (("func", fn_of(sine)), ("primals", lambda: (vector(),)), ("tangents", lambda: (vector(),))),
    "tg.hvp": (("function", fn_of(total)), ("primals", lambda: (vector(),)), ("tangents", lambda: (vector(),))),
    "tg.narrow": (("input", lambda: tg.ones(2, 2)), ("dim", lambda: 0), ("start", lambda: 0), ("length", lambda: 1)),
    "tg.autograd.backward": (("tensors", lambda: leaf(2).sum()),),
    "tg.autograd.grad": (("outputs", lambda: PAIR[0].sum()), ("inputs", lambda: PAIR[0])),
    "tg.autograd.gradcheck": (("func", fn_of(sine)), ("inputs", lambda: (leaf(2),))),
    "tg.autograd.functional.hvp": (("func", fn_of(total)), ("inputs", lambda: tg.ones(2)), ("v", lambda: tg.ones(2))),
    "tg.autograd.functional.vhp": (("func", fn_of(total)), ("inputs", lambda: tg.ones(2)), ("v", lambda: tg.ones(2))),
    "tg.autograd.functional.jvp": (("func", fn_of(total)), ("inputs", lambda: tg.ones(2)), ("v", lambda: tg.ones(2))),
    "tg.autograd.graph.saved_tensors_hooks": (("pack_hook", fn_of(half)), ("unpack_hook", fn_of(half))),
    "tg.autograd.graph.register_multi_grad_hook": (("tensors", lambda: [leaf(2)]), ("fn", fn_of(half))),
    "tg.autograd.profiler.record_function": (("name", lambda: "part"),),
    "tg.utils.checkpoint.checkpoint_sequential": (
        ("functions", lambda: [sine, half]),
        ("segments", lambda: 1),
        ("input", lambda: tg.ones(2)),
    ),
    "tg.nn.init.calculate_gain": (("nonlinearity", lambda: "relu"),),
    "tg.nn.init.dirac_": (("tensor", lambda: tg.ones(2, 2, 3)),),
    "tg.nn.utils.vector_to_parameters": (("vec", lambda: tg.ones(2)), ("parameters", lambda: [leaf(2)])),
    "tg.optim.lr_scheduler.LambdaLR": (
        ("optimizer", lambda: tg.optim.SGD([leaf(2)], lr=0.1)),
        ("lr_lambda", fn_of(half)),
    ),
    "Tensor.unflatten": (("dim", lambda: 0), ("sizes", lambda: (2, 1))),
    "Tensor.split_with_sizes": (("split_sizes", lambda: [1, 1]),),
    "Tensor.backward": (("gradient", lambda: tg.ones(2, 2)),),
}
LOOPS = {
    "tg.odeint": ("NaN", "infinity", "an empty array", "a huge number", "a number beyond int64", "a complex number", "complex numbers"),
    "tg.fori_loop": ("a huge number", "a number beyond int64"),
    "tg.while_loop": ("a huge number", "a number beyond int64", "a negative number", "NaN", "infinity", "an empty array"),
}
LOOPS |= {
    f"tg.nn.{name}": ("a huge number", "a number beyond int64")
    for name in dir(tg.nn)
    if name.startswith(("GRU", "LSTM", "RNN", "Transformer"))
}
"""What loops on and on, and rightly so: so many steps, so many layers."""
PAIR = [leaf(2)]
"""One leaf, to be found by several arguments."""

# What public functions return, and rules that users give.
MADE: dict[str, tuple[Callable[[], Any], tuple[tuple[str, Maker], ...]]] = {
    "grad of a function": (lambda: tg.grad(total), (("x", vector),)),
    "value_and_grad of a function": (lambda: tg.value_and_grad(total), (("x", vector),)),
    "jacobian of a function": (lambda: tg.jacobian(sine), (("x", vector),)),
    "hessian of a function": (lambda: tg.hessian(total), (("x", vector),)),
    "vmap of a function": (lambda: tg.vmap(sine), (("x", vector),)),
    "jit of a function": (lambda: JITTED, (("x", vector),)),
    "pullback of vjp": (lambda: tg.vjp(sine, vector())[1], (("cotangent", vector),)),
    "grad with argnums": (lambda: lambda argnums: tg.grad(total, argnums)(vector()), (("argnums", lambda: 0),)),
    "vmap with in_axes": (lambda: lambda in_axes: tg.vmap(sine, in_axes)(square()), (("in_axes", lambda: 0),)),
    "vmap with out_axes": (lambda: lambda out_axes: tg.vmap(sine, 0, out_axes)(square()), (("out_axes", lambda: 0),)),
    "grad of a function that gives": (lambda: lambda value: tg.grad(lambda x: value)(vector()), (("value", lambda: 1.0),)),
    "grad with has_aux of a function that gives": (
        lambda: lambda value: tg.grad(lambda x: value, has_aux=True)(vector()),
        (("value", lambda: (1.0, 2.0)),),
    ),
    "jvp with has_aux of a function that gives": (
        lambda: lambda value: tg.jvp(lambda x: value, (1.0,), (1.0,), has_aux=True),
        (("value", lambda: (1.0, 2.0)),),
    ),
    "vjp with has_aux of a function that gives": (
        lambda: lambda value: tg.vjp(lambda x: value, vector(), has_aux=True),
        (("value", lambda: (1.0, 2.0)),),
    ),
    "vmap of a function that gives": (lambda: lambda value: tg.vmap(lambda x: value)(vector()), (("value", lambda: 1.0),)),
    "jit of a function that gives": (lambda: lambda value: tg.jit(lambda x: value)(vector()), (("value", lambda: 1.0),)),
    "custom_vjp whose forward gives": (
        lambda: lambda value: with_rule(lambda x: value, lambda r, ct: (ct,)),
        (("value", lambda: (vector(), None)),),
    ),
    "custom_vjp whose backward gives": (
        lambda: lambda value: with_rule(lambda x: (np.sin(x), x), lambda r, ct: value),
        (("value", lambda: (vector(),)),),
    ),
    "scan whose step gives": (lambda: lambda value: tg.scan(lambda c, x: value, 0.0, vector()), (("value", lambda: (0.0, 1.0)),)),
    "while_loop whose condition gives": (
        lambda: lambda value: tg.while_loop(lambda c: value, grows, 1.0, max_steps=3),
        (("value", lambda: False),),
    ),
    "while_loop whose body gives": (
        lambda: lambda value: tg.while_loop(lambda c: c < 1.2, lambda c: value, 1.0),
        (("value", lambda: 3.0),),
    ),
    "fori_loop whose body gives": (lambda: lambda value: tg.fori_loop(0, 2, lambda k, c: value, 1.0), (("value", lambda: 3.0),)),
    "cond whose branch gives": (
        lambda: lambda value: tg.jit(lambda p: tg.cond(p > 0, lambda: value, lambda: 1.0))(1.0),
        (("value", lambda: 3.0),),
    ),
    "odeint of a function that gives": (
        lambda: lambda value: tg.odeint(lambda y, t: value, 1.0, np.array([0.0, 0.1]), max_steps=20),
        (("value", lambda: 3.0),),
    ),
    "Tensor[key]": (lambda: tg.ones(2, 2).__getitem__, (("key", lambda: 0),)),
    "Tensor + other": (lambda: tg.ones(2, 2).add, (("other", lambda: 1.0),)),
}
JITTED = tg.jit(half)


def target(name: str, make: Callable[[], Any]) -> Target:
    """The target with the first arguments found by name that work."""
    parameters = parameters_of(make())
    if parameters is None:
        return Target(name, make, (), works=False)
    if name in EXAMPLES:
        return Target(
            name, make, EXAMPLES[name], tuple(p.name for p in parameters if p.default is not p.empty and p.name not in dict(EXAMPLES[name]))
        )
    ahead = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    options = tuple(p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is not p.empty)
    choices = [[(p.name, maker) for maker in (*BY_NAME.get(p.name, ()), *ANY_ARRAY)] for p in ahead if p.default is p.empty]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        trials: Any = itertools.chain(
            itertools.product(*choices),
            *(
                itertools.product(
                    *choices, *[[("further argument", m) for m in (lambda: 0, lambda: 2, square, lambda: tg.ones(2, 2), lambda: 1)]] * k
                )
                for k in (1, 2)
            ),
        )
    else:
        trials = itertools.product(*choices)
    for trial in itertools.islice(trials, 600):
        try:
            make()(*[maker() for _, maker in trial])
        except Exception:
            continue
        return Target(name, make, tuple(trial), options)
    return Target(name, make, tuple((p.name, square) for p in ahead if p.default is p.empty), options, False)


NAMESPACES = {
    "tg": tg,
    "tg.linalg": tg.ops.linalg,
    "tg.func": tg.func,
    "tg.nn": tg.nn,
    "tg.nn.functional": tg.nn.functional,
    "tg.nn.init": tg.nn.init,
    "tg.nn.utils": tg.nn.utils,
    "tg.optim": tg.optim,
    "tg.optim.lr_scheduler": tg.optim.lr_scheduler,
    "tg.autograd": tg.autograd,
    "tg.autograd.functional": tg.autograd.functional,
    "tg.autograd.forward_ad": tg.autograd.forward_ad,
    "tg.autograd.graph": tg.autograd.graph,
    "tg.autograd.profiler": tg.autograd.profiler,
    "tg.utils.checkpoint": tg.utils.checkpoint,
    "tg.cuda": tg.cuda,
}


def public(prefix: str) -> Iterator[tuple[str, Any]]:
    module = NAMESPACES[prefix]
    names = set(getattr(module, "__all__", ()))
    if module is tg:
        names |= {n for n in dir(tg) if not n.startswith("_")} - {"annotations"}
    for name in sorted(names):
        value = getattr(module, name)
        if isinstance(value, types.ModuleType) or not callable(value):
            continue
        if isinstance(value, type) and (issubclass(value, (Exception, np.generic)) or value is np.dtype):
            continue
        yield f"{prefix}.{name}", value


def made() -> Iterator[Target]:
    for name, (make, args) in MADE.items():
        yield Target(name, make, args)


def methods(kind: type, make: Callable[[], Any], name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    for method in sorted(dir(kind)):
        if method.startswith("_"):
            continue
        if callable(getattr(kind, method, None)):
            yield f"{name}.{method}", lambda method=method: getattr(make(), method)


GROUPS = (*NAMESPACES, "Tensor", "what they return")


def targets(group: str) -> Iterator[Target]:
    """All that is public in a group, with arguments that work. They are found by calls, which may change settings of the process."""
    if group == "what they return":
        yield from made()
    elif group == "Tensor":
        for name, make in methods(tg.Tensor, lambda: tg.tensor([[0.5, 0.25], [0.25, 0.75]]), "Tensor"):
            yield target(name, make)
    else:
        for name, value in public(group):
            yield target(name, lambda value=value: value)


def calls(t: Target) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """What the target is called with, and what is wrong with it."""
    good = [maker for _, maker in t.args]
    # Each target meets a part of the wrong things, and each of these a part of the targets of every family.
    number = sum(map(ord, t.name))
    every = 1 if t.name in EXAMPLES or t.name in MADE else 4 if t.name.startswith("Tensor.") else 3
    wrong = {kind: make for k, (kind, make) in enumerate(WRONG.items()) if (k + number) % every == 0 and kind not in LOOPS.get(t.name, ())}
    for k, (argument, _) in enumerate(t.args):
        for kind, make in wrong.items():
            yield f"{argument} = {kind}", tuple(make() if j == k else g() for j, g in enumerate(good)), {}
    for option in t.options:
        for kind, make in wrong.items():
            yield f"{option}={kind}", tuple(g() for g in good), {option: make()}
    if t.name in MADE:
        return
    if good and t.name not in LOOPS:
        yield "no arguments", (), {}
        if len(good) > 1:
            yield "an argument less", tuple(g() for g in good[:-1]), {}
    if t.name != "tg.meshgrid":
        yield "many arguments", (*[g() for g in good], *[square()] * 12), {}
    yield "an unknown keyword", tuple(g() for g in good), {"no_such_option": 1}
