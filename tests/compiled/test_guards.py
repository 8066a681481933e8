"""What decides which code a call runs stands in two places: the key under which entries are kept
(`Signature`) and the guards that a written caller has at its head. Here each thing that the key
looks at is changed, and the caller that was written before has to refuse: of all pairs of calls
whose keys differ, none may be served by the other's caller."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.compiled.guards import MISS
from tracegrad.compiled.jitted import Jitted
from tracegrad.compiled.signatures import Signature

X = np.arange(1.0, 4.0)


class Pair(NamedTuple):
    a: Any
    b: Any


class Other(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Held:
    a: Any
    b: Any


def with_grad() -> Any:
    t = tg.tensor(X, requires_grad=True)
    t.grad = tg.ones(3)
    return t


def hooked() -> Any:
    t = tg.tensor(X, requires_grad=True)
    t.register_hook(lambda g: g * 2.0)
    return t


def leaf(dtype: Any = None) -> Any:
    return tg.tensor(X, requires_grad=True, dtype=dtype)


VALUES: dict[str, Callable[[], Any]] = {
    "float64": lambda: X.copy(),
    "float32": lambda: X.astype(np.float32),
    "int64": lambda: X.astype(np.int64),
    "complex128": lambda: X.astype(np.complex128),
    "bool": lambda: X > 1.5,
    "four": lambda: np.arange(4.0),
    "one": lambda: np.ones(1),
    "none of": lambda: np.ones(0),
    "two axes": lambda: X.reshape(3, 1).copy(),
    "a number of NumPy": lambda: np.float64(2.0),
    "a short number of NumPy": lambda: np.float32(2.0),
    "an array without axes": lambda: np.array(2.0),
    "a float": lambda: 2.0,
    "an int": lambda: 2,
    "True": lambda: True,
    "a complex": lambda: 2.0 + 1.0j,
    "Tensor": lambda: tg.tensor(X),
    "Tensor of float32": lambda: tg.tensor(X, dtype=tg.float32),
    "Tensor without axes": lambda: tg.tensor(2.0, dtype=tg.float64),
    "leaf": leaf,
    "leaf of float32": lambda: leaf(tg.float32),
    "leaf with a gradient": with_grad,
    "leaf with a hook": hooked,
    "result": lambda: leaf() * 1.0,
    "detached": lambda: (leaf() * 1.0).detach(),
}
CALLS: dict[str, Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    name: (lambda value=value: ((value(),), {})) for name, value in VALUES.items()
} | {
    "by name": lambda: ((), {"x": X.copy()}),
    "by another name": lambda: ((), {"y": X.copy()}),
    "two": lambda: ((X.copy(), X.copy()), {}),
    "one by name": lambda: ((X.copy(),), {"y": X.copy()}),
    "two by name": lambda: ((), {"x": X.copy(), "y": X.copy()}),
    "none": lambda: ((None, X.copy()), {}),
    "list": lambda: (([X.copy(), X.copy()],), {}),
    "list of one": lambda: (([X.copy()],), {}),
    "tuple": lambda: (((X.copy(), X.copy()),), {}),
    "named": lambda: ((Pair(X.copy(), X.copy()),), {}),
    "named otherwise": lambda: ((Other(X.copy(), X.copy()),), {}),
    "dict": lambda: (({"a": X.copy(), "b": X.copy()},), {}),
    "dict of others": lambda: (({"a": X.copy(), "c": X.copy()},), {}),
    "dict of more": lambda: (({"a": X.copy(), "b": X.copy(), "c": X.copy()},), {}),
    "dict of numbers": lambda: (({1: X.copy(), 2: X.copy()},), {}),
    "dataclass": lambda: ((Held(X.copy(), X.copy()),), {}),
    "nested": lambda: (({"a": [X.copy()], "b": (X.copy(),)},), {}),
    "nested otherwise": lambda: (({"a": (X.copy(),), "b": [X.copy()]},), {}),
    "static": lambda: ((X.copy(),), {"how": 1}),
    "static, another": lambda: ((X.copy(),), {"how": 2}),
    "static, of another class": lambda: ((X.copy(),), {"how": 1.0}),
    "static, true": lambda: ((X.copy(),), {"how": True}),
    "static, a text": lambda: ((X.copy(),), {"how": "1"}),
    "static, a tuple": lambda: ((X.copy(),), {"how": (1, 1)}),
}
FORWARD = tg.autograd.forward_ad
DUALS: dict[str, Callable[[], Any]] = {
    "dual": lambda: FORWARD.make_dual(tg.tensor(X), tg.tensor(X)),
    "dual leaf": lambda: FORWARD.make_dual(leaf(), tg.tensor(X)),
}
MODES: dict[str, Callable[[], Any]] = {
    "": contextlib.nullcontext,
    "no grad": tg.no_grad,
    "inference": tg.inference_mode,
    "forward": FORWARD.dual_level,
}


def of_leaves(*args: Any, how: Any = None, **kwargs: Any) -> Any:
    """Something of each value."""
    return [
        x * 2.0 + (len(how) if isinstance(how, (str, tuple)) else how or 0)
        for x in tg.tree.flatten((args, kwargs))[0]
    ]


def that_looks(*args: Any, how: Any = None, **kwargs: Any) -> Any:
    """Results that depend on which arguments have a gradient."""
    return [
        x * (2.0 if getattr(x, "grad", None) is None else 3.0)
        for x in tg.tree.flatten((args, kwargs))[0]
    ]


def that_sweeps(*args: Any, how: Any = None, **kwargs: Any) -> Any:
    """Gradients computed inside, which hooks change."""
    found = []
    for x in tg.tree.flatten((args, kwargs))[0]:
        if isinstance(x, tg.Tensor) and x.requires_grad and tg.is_grad_enabled():
            found += tg.autograd.grad((x * x).sum(), x)
        else:
            found.append(x * 2.0)
    return found


FUNCTIONS = {f.__name__: f for f in (of_leaves, that_looks, that_sweeps)}


class Asked(Exception):
    pass


def key_of(jitted: Jitted, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The key under which an entry for this call would be kept."""
    known = jitted._signatures
    asked: list[Signature] = []

    def find(signature: Signature) -> Any:
        asked.append(signature)
        raise Asked

    known.find = find  # type: ignore[method-assign]
    try:
        with pytest.raises(Asked):
            jitted._entry(args, kwargs)
    finally:
        del known.find  # type: ignore[method-assign]
    return asked[0].key(known.reads_grads, known.swept)


def shown(results: Any) -> Any:
    return [
        (
            type(x),
            getattr(x, "dtype", None),
            x.detach().tolist() if isinstance(x, tg.Tensor) else np.asarray(x).tolist(),
            getattr(x, "requires_grad", None),
            isinstance(x, tg.Tensor) and FORWARD.unpack_dual(x).tangent is not None,
        )
        for x in results
    ]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_callers_refuse_what_has_another_key(function: str) -> None:
    def jitted() -> Jitted:
        made: Jitted = tg.jit(FUNCTIONS[function], static_argnames=["how"])
        return made

    makes = {
        (name, mode): make
        for name, make in CALLS.items()
        for mode in MODES
        if not mode or (name in VALUES and mode != "forward")
    } | {(name, "forward"): (lambda make=make: ((make(),), {})) for name, make in DUALS.items()}
    everything = jitted()
    written: dict[Any, tuple[Any, Any]] = {}
    expected: dict[Any, Any] = {}
    for (name, mode), make in makes.items():
        f = jitted()
        with MODES[mode]():
            args, kwargs = make()
            expected[name, mode] = shown(f(*args, **kwargs))
            everything(*make()[0], **make()[1])
            args, kwargs = make()
            # After the calls: only then it is known whether the function looks at gradients.
            written[name, mode] = key_of(f, args, kwargs), f._callers
    assert sum(bool(callers) for _, callers in written.values()) > 0.6 * len(written)
    served = 0
    for (name, mode), make in makes.items():
        for other, (key, callers) in written.items():
            for caller in callers:
                with MODES[mode]():
                    args, kwargs = make()
                    found = caller(args, kwargs)
                    if found is MISS:
                        continue
                    served += 1
                    # Where the key is the same, so has to be what the call gives.
                    assert shown(found) == expected[name, mode], (other, name, mode)
                    args, kwargs = make()
                    assert written[name, mode][0] == key, (other, name, mode)
        with MODES[mode]():
            # All at once, whatever serves it.
            args, kwargs = make()
            assert shown(everything(*args, **kwargs)) == expected[name, mode]
    assert served >= sum(bool(callers) for _, callers in written.values())


def test_sizes_serve_all_and_nothing_else() -> None:
    """A caller for all sizes takes each shape of that rank from 2 on, and nothing else."""
    f = tg.jit(of_leaves)
    for n in (3, 4, 5):
        f(np.arange(float(n)))
    (caller,) = [c for c in f._callers if c((np.arange(7.0),), {}) is not MISS]
    for make in (*VALUES.values(), lambda: np.arange(9.0)):
        x = make()
        found = caller((x,), {})
        fits = type(x) is np.ndarray and x.dtype == np.float64 and x.ndim == 1 and x.size > 1
        assert (found is not MISS) is fits
        if fits:
            assert np.array_equal(found[0], x * 2.0)
