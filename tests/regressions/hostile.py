"""Calls of every public function with wrong things: what is called, with what, and which errors speak of the caller's mistake.

`targets` lists what is public, each with arguments that work; `calls` puts one wrong thing after the other into the place of each argument,
leaves arguments out and adds unknown ones; `verdict` sorts what a call did.
"""

from __future__ import annotations

import inspect
import itertools
import os
import re
import types
from collections.abc import Callable, Iterator
from opcode import opmap
from typing import Any, NamedTuple

import numpy as np

import tracegrad as tg

Maker = Callable[[], Any]


class Thing:
    """A class that is no array."""


def gives_none(*_: Any, **__: Any) -> None:
    return None


def gives_text(*_: Any, **__: Any) -> str:
    return "text"


def gives_pair(*_: Any, **__: Any) -> tuple[float, float]:
    return 1.0, 2.0


WRONG: dict[str, Maker] = {
    "None": lambda: None,
    "a slice": lambda: slice(1, 2),
    "a string": lambda: "abc",
    "an empty string": lambda: "",
    "bytes": lambda: b"abc",
    "a dict": lambda: {"a": 1},
    "a set": lambda: {1, 2},
    "an object": object,
    "a class": lambda: Thing,
    "a module": lambda: re,
    "Ellipsis": lambda: ...,
    "a generator": lambda: (k for k in range(2)),
    "a ragged list": lambda: [[1.0, 2.0], [3.0]],
    "an empty list": list,
    "strings in a list": lambda: ["a", "b"],
    "None in a list": lambda: [None],
    "floats in a tuple": lambda: (0.5, 1.5),
    "tuples in a tuple": lambda: ((0, 1), (1, 0), (0, 0)),
    "a complex number": lambda: 1 + 2j,
    "a negative number": lambda: -7,
    "a huge number": lambda: 2**62,
    "a number beyond int64": lambda: 2**70,
    "a float": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "True": lambda: True,
    "an empty array": lambda: np.zeros(0),
    "an array of another shape": lambda: np.ones((3, 5)),
    "an array of strings": lambda: np.array(["a", "b"]),
    "an array of objects": lambda: np.array([Thing(), None]),
    "dates": lambda: np.array(["2020-01-01"], "M8[D]"),
    "half precision": lambda: np.ones((2, 2), np.float16),
    "integers": lambda: np.array([[0, 1], [1, 0]]),
    "complex numbers": lambda: np.full((2, 2), 1j),
    "a Tensor of another shape": lambda: tg.ones(3, 5),
    "a function that gives None": lambda: gives_none,
    "a function that gives a string": lambda: gives_text,
    "a function that gives a pair": lambda: gives_pair,
}


def square() -> Any:
    return np.array([[4.0, 1.0], [1.0, 3.0]])


def vector() -> Any:
    return np.array([0.25, 0.75])


def total(x: Any) -> Any:
    return np.sum(x * x)


def sine(x: Any) -> Any:
    return np.sin(x)


def fn_of(*parts: Any) -> Maker:
    return lambda: parts[0]


# What an argument of this name is, in order of trial.
BY_NAME: dict[str, tuple[Maker, ...]] = {
    "size": (lambda: (2, 2),),
    "shape": (lambda: (2, 2),),
    "axes": (lambda: (1, 0),),
    "axis": (lambda: 0,),
    "axis1": (lambda: 0,),
    "axis2": (lambda: 1,),
    "dim": (lambda: 0,),
    "dim0": (lambda: 0,),
    "dim1": (lambda: 1,),
    "dims": (lambda: (1, 0),),
    "source": (lambda: 0,),
    "destination": (lambda: 1,),
    "arrays": (lambda: [square(), square()],),
    "tensors": (lambda: [tg.ones(2, 2), tg.ones(2, 2)], lambda: tg.ones(2)),
    "n": (lambda: 2,),
    "k": (lambda: 1,),
    "m": (lambda: 2,),
    "dtype": (lambda: np.float32,),
    "repeats": (lambda: 2,),
    "reps": (lambda: 2,),
    "shift": (lambda: 1,),
    "shifts": (lambda: 1,),
    "pad_width": (lambda: 1,),
    "indices_or_sections": (lambda: 2,),
    "index": (lambda: np.array([[0, 1], [1, 0]]), lambda: np.array([0, 1]), lambda: 0),
    "indices": (lambda: np.array([[0, 1], [1, 0]]), lambda: np.array([0, 1])),
    "q": (lambda: 0.5,),
    "condition": (lambda: square() > 1,),
    "mask": (lambda: square() > 1,),
    "fill_value": (lambda: 2.0,),
    "num_classes": (lambda: 3,),
    "steps": (lambda: 3,),
    "start": (lambda: 0, lambda: (0, 0)),
    "end": (lambda: 3,),
    "stop": (lambda: 3,),
    "length": (lambda: 1,),
    "key": (lambda: 0,),
    "subscripts": (lambda: "ij->ji",),
    "low": (lambda: 3,),
    "seed": (lambda: 1,),
    "function": (fn_of(total),),
    "func": (fn_of(total),),
    "f": (fn_of(sine),),
    "fn": (fn_of(sine), lambda: lambda x, y: x + y),
    "primals": (lambda: (vector(),),),
    "params": (lambda: [tg.ones(2, requires_grad=True)],),
    "parameters": (lambda: [tg.ones(2, requires_grad=True)],),
    "optimizer": (lambda: tg.optim.SGD([tg.ones(2, requires_grad=True)], lr=0.1),),
    "tensor": (lambda: tg.ones(2, 2), lambda: tg.ones(2, 2, requires_grad=True).sum()),
    "mode": (lambda: True,),
    "kernel_size": (lambda: 1,),
    "output_size": (lambda: 1,),
    "num_features": (lambda: 2,),
    "weight": (lambda: tg.ones(2, 2), lambda: tg.ones(2), lambda: tg.ones(2, 2, 1, 1), lambda: tg.ones(2, 2, 1), lambda: tg.ones(1, 2, 2)),
    "input": (
        lambda: tg.tensor([[0.5, 0.25], [0.75, 0.5]]),
        lambda: tg.tensor([[1, 0], [0, 1]]),
        lambda: tg.ones(1, 2, 4, 4),
        lambda: tg.ones(1, 2, 4),
    ),
    "target": (lambda: tg.tensor([[0.5, 0.25], [0.75, 0.5]]), lambda: tg.tensor([0, 1])),
    "running_mean": (lambda: tg.zeros(2),),
    "running_var": (lambda: tg.ones(2),),
    "num_groups": (lambda: 1,),
    "normalized_shape": (lambda: 2,),
    "pad": (lambda: (1, 1),),
    "subgraph": (lambda: 1,),
}
ANY_ARRAY: tuple[Maker, ...] = (square, vector, lambda: np.array([[1, 2], [3, 4]]), lambda: 0.5, lambda: 2, lambda: tg.ones(2, 2))


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


def step(c: Any, x: Any) -> Any:
    return c + x, c


def grows(c: Any) -> Any:
    return c * 2.0


def small(c: Any) -> Any:
    return c < 100.0


def counted(k: Any, c: Any) -> Any:
    return c + k


def decay(y: Any, t: Any) -> Any:
    return -y


def half(x: Any) -> Any:
    return 0.5 * x + 1.0


def shifted(x: Any) -> Any:
    return x * x - 2.0


def leaf(*shape: int) -> Any:
    return tg.ones(*shape, requires_grad=True)


def with_rule(forward: Any, backward: Any) -> Any:
    """A custom_vjp whose gradient is asked for."""
    f = tg.custom_vjp(sine)
    f.defvjp(forward, backward)
    return tg.grad(lambda x: np.sum(f(x)))(vector())


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


def public() -> Iterator[tuple[str, Any]]:
    for prefix, module in NAMESPACES.items():
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


INTERNAL_TYPES = (
    AttributeError,
    KeyError,
    AssertionError,
    UnboundLocalError,
    NameError,
    RecursionError,
    StopIteration,
    SystemError,
    ZeroDivisionError,
)
INTERNAL_WORDS = re.compile(
    r"""object\ is\ not\ (iterable|subscriptable|callable)|not\ enough\ values\ to\ unpack|too\ many\ values\ to\ unpack|NoneType|has\ no\ attribute
    |unhashable\ type|object\ is\ not\ an\ (iterator|integer)|cannot\ be\ interpreted\ as\ an\ integer|unsupported\ operand|bad\ operand
    |not\ supported\ between|must\ be\ real\ number|object\ of\ type\ .*has\ no\ len|object\ has\ no\ len|object\ does\ not\ support
    |indices\ must\ be\ integers|argument\ of\ type\ |inhomogeneous|could\ not\ convert\ string|Cannot\ interpret|ufunc\ '|setting\ an\ array
    |can't\ (multiply|convert)|can\ only\ concatenate|cannot\ convert\ float|int\ too\ (large|big)|first\ argument\ must|expected\ str|expected\ string
    |<lambda>|<locals>|truth\ value\ of\ an\ array|loop\ of\ ufunc|no\ loop|only\ (length-1|integer|0-dim)|zip\(\)|sequence\ item
    |cannot\ reshape\ array|invalid\ literal|tuple\ index|list\ index|operands\ could\ not\ be\ broadcast|maximum\ supported|Maximum\ allowed
    |buffer\ is\ too|array\ is\ too\ big|negative\ dimensions|not\ aligned|expected\ a\ sequence|axes\ don't\ match|must\ be\ a\ string|must\ be\ str""",
    re.VERBOSE,
)


def shown(error: BaseException) -> str:
    """The kind of an error: its message without what differs between calls."""
    text = re.sub(r"0x[0-9a-f]+", "0x", str(error))
    return f"{type(error).__name__}: {text}"


NAMES = {*tg.ops.__all__, *dir(tg), *dir(tg.Tensor), *(op.name for op in tg.ops.OPS)}


def raised(error: BaseException) -> tuple[bool, bool]:
    """Whether an error went through a function of this file, and whether the library said it in words of its own."""
    through, said, trace = False, True, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        through = through or (code.co_filename == __file__ and code.co_name in CALLBACKS)
        if trace.tb_next is None:
            said = code.co_filename.startswith(LIBRARY) and code.co_code[trace.tb_lasti] == opmap["RAISE_VARARGS"]
        trace = trace.tb_next
    return through, said


LIBRARY = (os.path.dirname(tg.__file__), os.path.join(os.path.dirname(os.path.dirname(tg.__file__)), "codegen"))
CALLBACKS = {"total", "sine", "gives_none", "gives_text", "gives_pair", "step", "grows", "small", "counted", "decay", "half", "shifted"}


def verdict(name: str, outcome: Any) -> str:
    """What a call did.

    fine      it gave a result
    users     the function that was handed over failed by itself
    clear     an error that names the function, or what it was made of
    torch's   an error in torch's own words
    nameless  an error in the library's words that does not name the function
    internal  an error in the words of Python or NumPy about the library's inside
    """
    if not isinstance(outcome, BaseException):
        return "fine"
    through, said = raised(outcome)
    if through:
        return "users"
    text = str(outcome)
    if "do not fit together" in text and isinstance(outcome.__cause__, (AssertionError, NameError, RecursionError)):
        return "internal"
    last = name.split()[0].split(".")[-1]
    signature = re.match(r"(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) (missing|takes|got)", text)
    if signature is not None and (signature[1] == last or signature[1] in NAMES):
        return "clear"
    if not said and (isinstance(outcome, INTERNAL_TYPES) or INTERNAL_WORDS.search(text) or not isinstance(outcome, Exception)):
        return "internal"
    known = re.match(r"(?:[^\s:]+:\d+: )?(?:Tensor\.|tracegrad\.)?(\w+): ", text)
    if re.search(rf"\b{re.escape(last)}\b", text) or (known is not None and known[1] in NAMES):
        return "clear"
    return "torch's" if said and type(outcome) in (RuntimeError, AssertionError, KeyError) else "nameless"


def outcome(t: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, Any]:
    """What a call did, in one word, and the error."""
    try:
        t.make()(*args, **kwargs)
    except Exception as error:
        return verdict(t.name, error), error
    return "fine", None


def targets() -> Iterator[Target]:
    """All that is public, with arguments that work."""
    for name, value in public():
        yield target(name, lambda value=value: value)
    for name, make in methods(tg.Tensor, lambda: tg.tensor([[0.5, 0.25], [0.25, 0.75]]), "Tensor"):
        yield target(name, make)
    yield from made()


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
