"""Methods of what the library makes: compiled functions, modules, optimizers, distributions,
generators, nodes, data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tests.module_cases
import tracegrad as tg
import tracegrad.torch as torch
from tracegrad.ir.op import Op

from .scipy_names import times
from .target import Target, target
from .things import Maker, half, leaf, sine, total, vector

data = torch.utils.data


def trained(kind: Callable[..., Any], **options: Any) -> Any:
    """An optimizer that has made a step."""
    x = leaf(2)
    made = kind([x], **options)
    (x * x).sum().backward()
    made.step(lambda: (x * x).sum()) if kind is tg.optim.LBFGS else made.step()
    return made


def optimizer() -> Any:
    return tg.optim.SGD([leaf(2)], lr=0.1)


OBJECTS: dict[str, Callable[[], Any]] = {
    "Jitted": lambda: JITTED,
    "Jitted_of_a_gradient": lambda: tg.grad(tg.jit(total)),
    "custom_vjp": lambda: tg.custom_vjp(sine),
    "custom_jvp": lambda: tg.custom_jvp(sine),
    "Node": lambda: (leaf(2) * 2.0).grad_fn,
    "AccumulateGrad": lambda: (leaf(2) * 2.0).grad_fn.next_functions[0][0],
    "Generator": lambda: tg.ops.Generator(0),
    "torch.Generator": lambda: torch.Generator(),
    "Module": lambda: tg.nn.Linear(2, 2),
    "Sequential": lambda: tg.nn.Sequential(tg.nn.Linear(2, 2), tg.nn.ReLU()),
    "ModuleList": lambda: tg.nn.ModuleList([tg.nn.Linear(2, 2)]),
    "ModuleDict": lambda: tg.nn.ModuleDict({"a": tg.nn.Linear(2, 2)}),
    "ParameterList": lambda: tg.nn.ParameterList([tg.ones(2)]),
    "ParameterDict": lambda: tg.nn.ParameterDict({"a": tg.ones(2)}),
    "Parameter": lambda: tg.nn.Parameter(tg.ones(2, 2)),
    "Normal": lambda: torch.distributions.Normal(tg.zeros(2), tg.ones(2)),
    "Uniform": lambda: torch.distributions.Uniform(tg.zeros(2), tg.ones(2)),
    "Categorical": lambda: torch.distributions.Categorical(tg.ones(3)),
    "Bernoulli": lambda: torch.distributions.Bernoulli(tg.tensor([0.5, 0.5])),
    "DataLoader": lambda: data.DataLoader(data.TensorDataset(tg.ones(4, 2)), batch_size=2),
    "TensorDataset": lambda: data.TensorDataset(tg.ones(4, 2)),
    "ConcatDataset": lambda: data.ConcatDataset([data.TensorDataset(tg.ones(4, 2))]),
    "Subset": lambda: data.Subset(data.TensorDataset(tg.ones(4, 2)), [0, 1]),
    "profile": lambda: tg.autograd.profiler.profile(),
    "EventList": lambda: tg.autograd.profiler.EventList([]),
    "Total": lambda: tg.scale.sum_over(times, [vector()]),
    "NativeFunction": lambda: JITTED.cfunc(0.5, signature="quad"),
    "device": lambda: tg.device("cpu"),
    **{
        f"optim.{name}": lambda name=name: trained(getattr(tg.optim, name))
        for name in tg.optim.__all__
        if name[0].isupper() and name != "Optimizer"
    },
    "LambdaLR": lambda: tg.optim.lr_scheduler.LambdaLR(optimizer(), half),
    "StepLR": lambda: tg.optim.lr_scheduler.StepLR(optimizer(), 2),
    "MultiStepLR": lambda: tg.optim.lr_scheduler.MultiStepLR(optimizer(), [1, 2]),
    "ConstantLR": lambda: tg.optim.lr_scheduler.ConstantLR(optimizer()),
    "LinearLR": lambda: tg.optim.lr_scheduler.LinearLR(optimizer()),
    "ExponentialLR": lambda: tg.optim.lr_scheduler.ExponentialLR(optimizer(), 0.5),
    "CosineAnnealingLR": lambda: tg.optim.lr_scheduler.CosineAnnealingLR(optimizer(), 3),
    "OneCycleLR": lambda: tg.optim.lr_scheduler.OneCycleLR(optimizer(), 0.1, 10),
    "ReduceLROnPlateau": lambda: tg.optim.lr_scheduler.ReduceLROnPlateau(optimizer()),
}
JITTED = tg.jit(half)
MODULES = [*OBJECTS][[*OBJECTS].index("Module") : [*OBJECTS].index("ParameterDict") + 1]


CONTAINED = ("child module", "module name", "parameter name", "Parameter or a Tensor", "modules")
"""What messages of containers call what is put into them."""
NOT_FOR_USERS = {
    **{name: ("rule", "make_state") for name in OBJECTS if name.startswith("optim.")},
    **dict.fromkeys(("Jitted", "Jitted_of_a_gradient"), ("derive", "named")),
    **dict.fromkeys(("custom_vjp", "custom_jvp"), ("of_forward", "of_reverse")),
    **dict.fromkeys(("Node", "AccumulateGrad"), ("made_hooks", "release")),
    **dict.fromkeys(("Generator", "torch.Generator"), ("store", "current")),
}
"""Methods that the library itself calls."""


def methods() -> Iterator[Target]:
    inherited: set[tuple[str, int]] = set()
    for name, make in OBJECTS.items():
        thing = make()
        for method in sorted(m for m in dir(type(thing)) if not m.startswith("_")):
            function = getattr(type(thing), method)
            if (
                method in NOT_FOR_USERS.get(name, ())
                or isinstance(function, type)
                or (isinstance(thing, str) and hasattr(str, method))
            ):
                continue
            if (
                not callable(function)
                or isinstance(function, Op)
                or (isinstance(thing, tg.Tensor) and hasattr(tg.Tensor, method))
            ):
                continue
            if (hasattr(dict, method) and isinstance(thing, dict)) or (
                hasattr(list, method) and isinstance(thing, list)
            ):
                continue
            # What classes inherit from one base is called once.
            key = (method, id(function))
            if key in inherited:
                continue
            inherited.add(key)
            yield target(
                f"{name}.{method}", lambda make=make, method=method: getattr(make(), method)
            )
        for special, args in SPECIAL.items():
            if (
                hasattr(thing, special)
                and hasattr(type(thing), special)
                and not isinstance(thing, (tg.Tensor, type(JITTED)))
            ):
                yield Target(
                    f"{name}.{special}",
                    lambda make=make, special=special: getattr(make(), special),
                    args,
                    whole=True,
                    words=CONTAINED,
                )


SPECIAL: dict[str, tuple[tuple[str, Maker], ...]] = {
    "__getitem__": (("key", lambda: 0),),
    "__contains__": (("item", lambda: 0),),
    "__delitem__": (("key", lambda: 0),),
    "__setitem__": (("key", lambda: 0), ("value", lambda: tg.ones(2))),
}


def states() -> Iterator[Target]:
    """State dictionaries of which one entry is wrong."""

    def of_module(key: Any, value: Any) -> Any:
        module = tg.nn.BatchNorm1d(2)
        return module.load_state_dict({**module.state_dict(), key: value})

    yield Target(
        "Module.load_state_dict with value",
        lambda: lambda value: of_module("weight", value),
        (("value", lambda: tg.ones(2)),),
        whole=True,
    )
    yield Target(
        "Module.load_state_dict with a buffer",
        lambda: lambda value: of_module("running_mean", value),
        (("value", lambda: tg.ones(2)),),
        whole=True,
    )
    yield Target(
        "Module.load_state_dict with a key",
        lambda: lambda key: of_module(key, tg.ones(2)),
        (("key", lambda: "weight"),),
        whole=True,
    )
    for name in OBJECTS:
        if name.startswith("optim.") or name.endswith(("LR", "Plateau")):
            state = OBJECTS[name]().state_dict()
            for key in state:

                def load(value: Any, name: str = name, key: str = key) -> Any:
                    made = OBJECTS[name]()
                    made.load_state_dict({**made.state_dict(), key: value})
                    return (
                        made.step()
                        if name != "optim.LBFGS" and name != "ReduceLROnPlateau"
                        else None
                    )

                yield Target(
                    f"{name}.load_state_dict with {key}",
                    lambda load=load: load,
                    ((key, lambda state=state, key=key: state[key]),),
                    whole=True,
                )


FURTHER = {
    "Linear": (lambda t: t.nn.Linear(2, 2), ((2, 2),)),
    "Bilinear": (lambda t: t.nn.Bilinear(2, 3, 2), ((2, 2), (2, 3))),
    "Conv1d": (lambda t: t.nn.Conv1d(2, 2, 2), ((1, 2, 4),)),
    "Conv2d": (lambda t: t.nn.Conv2d(2, 2, 2), ((1, 2, 4, 4),)),
    "BatchNorm1d": (lambda t: t.nn.BatchNorm1d(2), ((3, 2),)),
    "BatchNorm2d": (lambda t: t.nn.BatchNorm2d(2), ((1, 2, 4, 4),)),
    "LayerNorm": (lambda t: t.nn.LayerNorm(2), ((2, 2),)),
    "GroupNorm": (lambda t: t.nn.GroupNorm(1, 2), ((2, 2, 3),)),
    "MaxPool1d": (lambda t: t.nn.MaxPool1d(2), ((1, 2, 4),)),
    "MaxPool2d": (lambda t: t.nn.MaxPool2d(2), ((1, 2, 4, 4),)),
    "MaxPool3d": (lambda t: t.nn.MaxPool3d(2), ((1, 2, 4, 4, 4),)),
    "AvgPool2d": (lambda t: t.nn.AvgPool2d(2), ((1, 2, 4, 4),)),
    "AdaptiveAvgPool2d": (lambda t: t.nn.AdaptiveAvgPool2d(1), ((1, 2, 4, 4),)),
    "Dropout": (lambda t: t.nn.Dropout(), ((2, 2),)),
    "Dropout2d": (lambda t: t.nn.Dropout2d(), ((1, 2, 4, 4),)),
    "Flatten": (lambda t: t.nn.Flatten(), ((2, 2, 2),)),
    "Unflatten": (lambda t: t.nn.Unflatten(1, (1, 2)), ((2, 2),)),
    "Softmax": (lambda t: t.nn.Softmax(0), ((2, 2),)),
    "GLU": (lambda t: t.nn.GLU(), ((2, 2),)),
    "PReLU": (lambda t: t.nn.PReLU(), ((2, 2),)),
    "ReLU": (lambda t: t.nn.ReLU(), ((2, 2),)),
    "GELU": (lambda t: t.nn.GELU(), ((2, 2),)),
    "Tanh": (lambda t: t.nn.Tanh(), ((2, 2),)),
    "Identity": (lambda t: t.nn.Identity(), ((2, 2),)),
    "MSELoss": (lambda t: t.nn.MSELoss(), ((2, 2), (2, 2))),
    "L1Loss": (lambda t: t.nn.L1Loss(), ((2, 2), (2, 2))),
    "HuberLoss": (lambda t: t.nn.HuberLoss(), ((2, 2), (2, 2))),
    "BCEWithLogitsLoss": (lambda t: t.nn.BCEWithLogitsLoss(), ((2, 2), (2, 2))),
    "CosineSimilarity": (lambda t: t.nn.CosineSimilarity(), ((2, 2), (2, 2))),
    "Sequential": (lambda t: t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU()), ((2, 2),)),
}
"""Modules that `tests.module_cases` has not."""


def forwards() -> Iterator[Target]:
    """Each kind of module, called with wrong inputs."""
    seen = set()
    cases = tests.module_cases
    for name, (make, _, call) in cases.CASES.items():
        if call is cases.plain and name.split()[0] not in seen:
            seen.add(name.split()[0])
            args = tuple(
                (f"input {k}", lambda x=x: tg.tensor(x)) for k, x in enumerate(cases.inputs(name))
            )
            yield Target(f"nn.{name.split()[0]} called", lambda make=make: make(tg), args)
    for name, (make, shapes) in FURTHER.items():
        yield Target(
            f"nn.{name} called",
            lambda make=make: make(tg),
            tuple(
                (f"input {k}", lambda shape=shape: tg.full(shape, 0.5))
                for k, shape in enumerate(shapes)
            ),
        )
    indices = (("input", lambda: tg.tensor([0, 1])),)
    yield Target("nn.Embedding called", lambda: tg.nn.Embedding(2, 2), indices)
    classes = (("input", lambda: tg.full((2, 3), 0.5)), ("target", lambda: tg.tensor([0, 1])))
    yield Target("nn.CrossEntropyLoss called", tg.nn.CrossEntropyLoss, classes)
    yield Target("nn.NLLLoss called", tg.nn.NLLLoss, classes)


NOT_TO_BE_CALLED: dict[str, type] = {
    "Array": tg.Array,
    "Node": tg.autograd.graph.Node,
    "NativeFunction": tg.interfaces.NativeFunction,
    "FunctionEvent": tg.autograd.profiler.FunctionEvent,
}
"""Classes of which the library makes objects, and which users meet by `isinstance`."""


def constructors() -> Iterator[Target]:
    for name, kind in NOT_TO_BE_CALLED.items():
        yield Target(name, lambda kind=kind: kind, (("first", vector),), works=False, whole=True)
        yield Target(name, lambda kind=kind: kind, (), works=False, whole=True)


GROUPS = {
    "methods of objects": methods,
    "states": states,
    "modules called": forwards,
    "constructors": constructors,
}
