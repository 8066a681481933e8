"""NumPy-style code under a transform asks an array for a number, or prints it: no derivative is
lost without a word."""

from __future__ import annotations

import copy
import io
import json
import logging
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ConcretizationError

X = np.array([3.25, 2.0])
Function = Callable[[Any], Any]


def by_grad(f: Function) -> Any:
    return tg.grad(f)(X)


def by_jit_of_grad(f: Function) -> Any:
    return tg.jit(tg.grad(f))(X)


def by_jvp(f: Function) -> Any:
    return np.array([tg.jvp(f, (X,), (d,))[1] for d in np.eye(2)])


def by_vmap(f: Function) -> Any:
    return tg.vmap(tg.grad(f))(X[None])[0]


def by_grad_of_vmap(f: Function) -> Any:
    return tg.grad(lambda x: np.sum(tg.vmap(f)(x[None])))(X)


def by_hessian(f: Function) -> Any:
    return tg.hvp(lambda x: f(x) ** 2 / 2, X, X)


RUNNING = {"grad": by_grad, "jvp": by_jvp}
TRACED = {"jit": by_jit_of_grad, "vmap": by_vmap, "grad of vmap": by_grad_of_vmap}
KEPT: dict[str, Function] = {
    "item()": lambda v: v[0].item() * v[1],
    "item(k)": lambda v: v.item(0) * v[1],
    "item(-1)": lambda v: v.item(-1) * v[0],
    "item((i, j))": lambda v: v[None].item((0, 1)) * v[0],
    "item(i, j)": lambda v: v[None].item(0, 1) * v[0],
    "item of a sum": lambda v: np.sum(v).item() ** 2,
    "item of a view": lambda v: v[:1].item() * v[1],
    "tolist()": lambda v: v.tolist()[0] * v[1],
    "tolist() of a matrix": lambda v: (v[:, None] * v).tolist()[0][1],
    "tolist() of a number": lambda v: v[0].tolist() * v[1],
    "array of tolist": lambda v: np.sum(np.stack(v.tolist()) * v),
    "sum": lambda v: sum(v.tolist()) ** 2,
    "list": lambda v: list(v)[0] * v[1],
    "copy": lambda v: copy.copy(v)[0] * copy.deepcopy(v)[1],
    "divmod": lambda v: divmod(v[0], 2)[1] * v[1],
    "None": lambda v: v[0] * v[1] if v is not None and v[0] != None else v[0],  # noqa: E711
    "a string": lambda v: v[0] if v[0] == "a" else v[0] * v[1],
    "float": lambda v: float(v[0]) * v[1],
    "math.sin": lambda v: math.sin(v[0]) * v[1],
    "math.hypot": lambda v: math.hypot(*v),
    "math.fsum": lambda v: math.fsum(v) * v[0],
    "asarray": lambda v: np.asarray(v)[0] * v[1],
    "repr": lambda v: v[0] * v[1] * (2 if repr(v) and str(v) and f"{v}" else 1),
}


@pytest.mark.parametrize("mode", [*RUNNING, *TRACED, "second order"])
@pytest.mark.parametrize("name", KEPT)
def test_the_derivative_is_kept(name: str, mode: str) -> None:
    f = KEPT[name]
    step = 1e-6
    expected = np.array([(f(X + step * d) - f(X - step * d)) / (2 * step) for d in np.eye(2)])
    if name == "repr" and mode in TRACED:
        with pytest.raises(ConcretizationError, match="a text"):
            TRACED[mode](f)
    elif mode == "second order":
        value, jacobian = f(X), expected
        hessian = tg.hessian(lambda v: f(v))(X)
        np.testing.assert_allclose(
            by_hessian(f), jacobian * (jacobian @ X) + value * hessian @ X, rtol=1e-5
        )
    else:
        np.testing.assert_allclose({**RUNNING, **TRACED}[mode](f), expected, rtol=1e-5)


LOST: dict[str, Function] = {
    "tobytes": lambda v: np.frombuffer(v.tobytes())[0] * v[1],
    "pickle": lambda v: pickle.loads(pickle.dumps(v))[0] * v[1],
}


@pytest.mark.parametrize("mode", [*RUNNING, *TRACED])
@pytest.mark.parametrize("name", LOST)
def test_what_would_lose_it_is_refused(name: str, mode: str) -> None:
    with pytest.raises(
        ConcretizationError,
        match=(
            r"test_array_as_number.py:\d+: .*(would lose its derivative|not known|would lose "
            r"its grad|plain)"
        ),
    ):
        {**RUNNING, **TRACED}[mode](LOST[name])


@pytest.mark.parametrize("mode", [*RUNNING, *TRACED])
def test_hashes_are_refused(mode: str) -> None:
    refused = r"test_array_as_number.py:\d+: (.*cannot be hashed|a dict is read at a key)"
    with pytest.raises((TypeError, ConcretizationError), match=refused):
        {**RUNNING, **TRACED}[mode](lambda v: v[0] * {2.0: 3.0}[v[1]])
    in_a_set, wanted = lambda v: v[0] * (v[1] in {2.0}), lambda v: v[0] * (v[1] == 2.0)
    if mode in RUNNING:
        with pytest.raises(TypeError, match=r"test_array_as_number.py:\d+: .*cannot be hashed"):
            RUNNING[mode](in_a_set)
    else:  # where it is rewritten, the numbers of a set are compared one by one
        np.testing.assert_array_equal(TRACED[mode](in_a_set), TRACED[mode](wanted))
    with pytest.raises(TypeError, match="JSON"):
        {**RUNNING, **TRACED}[mode](lambda v: (json.dumps(v.tolist()), v[0])[1])


CONSTANT: dict[str, Function] = {
    "int": lambda v: int(v[0]) * v[1],
    "bool": lambda v: v[0] * v[1] if v[0] else v[1],
    "round": lambda v: [7, 8, 9, 5.0][round(v[0])] * v[1],
    "floor": lambda v: [7, 8, 9, 5.0][math.floor(v[0])] * v[1],
    "ceil": lambda v: [7, 8, 9, 5.0, 6.0][math.ceil(v[0])] * v[1],
    "trunc": lambda v: [7, 8, 9, 5.0, 6.0][math.trunc(v[0])] * v[1],
    "max": lambda v: max(v) * min(v),
    "sorted": lambda v: sorted(v)[0] * v[1],
    "in": lambda v: v[0] * (5.0 if 2.0 in v.tolist() else 1.0),
}


@pytest.mark.parametrize("mode", RUNNING)
@pytest.mark.parametrize("name", CONSTANT)
def test_whole_numbers_and_truth_of_running_code(name: str, mode: str) -> None:
    f = CONSTANT[name]
    expected = np.array([(f(X + 1e-6 * d) - f(X - 1e-6 * d)) / 2e-6 for d in np.eye(2)])
    if name == "in":
        expected = np.array([5.0, 0.0])
    np.testing.assert_allclose(RUNNING[mode](f), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", TRACED)
@pytest.mark.parametrize("name", CONSTANT)
def test_whole_numbers_and_truth_of_traced_code(name: str, mode: str) -> None:
    f = CONSTANT[name]
    if name == "in":
        with pytest.raises(ConcretizationError, match=r"test_array_as_number.py:\d+: "):
            TRACED[mode](f)
        return
    expected = np.array([(f(X + 1e-6 * d) - f(X - 1e-6 * d)) / 2e-6 for d in np.eye(2)])
    np.testing.assert_allclose(TRACED[mode](f), expected, rtol=1e-5)


def test_views_are_asked_after_writes_into_their_base() -> None:
    def program(x: Any) -> Any:
        v = x * 1.0
        part = v[0:1]
        v[0] = 0.0
        assert not part
        assert int(part[0]) == 0
        assert f"{part[0]:.1f}" == "0.0"
        return (part.item() + v[1]) * v[1]

    np.testing.assert_allclose(tg.grad(program)(X), [0.0, 4.0])


def test_text_of_running_code() -> None:
    stream = io.StringIO()
    logger = logging.Logger("numbers")
    logger.addHandler(logging.StreamHandler(stream))
    seen: list[str] = []

    def program(v: Any) -> Any:
        assert type(v).__name__ == "Array"
        seen.extend([f"{v[0]:.3f}", "%.2f" % v[0], "%.1f and %d" % (v[0], v[1])])  # noqa: UP031
        seen.extend(["{:8.2e}".format(v[0]), format(v[0], "+.1f")])  # noqa: UP032
        seen.extend([f"{v[0]}", str(v), "%s" % v, f"{v!r}", str(round(v[0], 1))])  # noqa: UP031
        text = "%.3f"
        text %= v[0]
        seen.append(text)
        logger.warning("loss %.3f after %d", v[0], 7)
        return v[0] * v[1]

    for run in RUNNING.values():
        seen.clear()
        np.testing.assert_allclose(run(program), [2.0, 3.25])
        texts = [
            "3.250",
            "3.25",
            "3.2 and 2",
            "3.25e+00",
            "+3.2",
            "3.25",
            "[3.25 2.  ]",
            "[3.25 2.  ]",
            "array([3.25, 2.  ])",
            "3.2",
            "3.250",
        ]
        assert seen[:11] == texts
    assert stream.getvalue().startswith("loss 3.250 after 7\n")


def test_text_of_traced_code() -> None:
    for f in (
        lambda v: f"{v}",
        lambda v: str(v[0]),
        lambda v: f"{v[0]:.3f}",
        lambda v: "%.2f" % v[0],  # noqa: UP031
        lambda v: format(v[0], "d"),
    ):
        with pytest.raises(ConcretizationError, match=r"test_array_as_number.py:\d+: .*not known"):
            tg.jit(lambda v, f=f: (f(v), v)[1])(X)
    with pytest.raises(TypeError, match="has no format"):
        tg.grad(lambda v: (f"{v:.3f}", v[0])[1])(X)


def test_items_that_there_are_not() -> None:
    for mode in (by_grad, by_jit_of_grad):
        with pytest.raises(ValueError, match="size 1"):
            mode(lambda v: v.item())
        with pytest.raises(IndexError):
            mode(lambda v: v.item(2))
        with pytest.raises(ValueError, match="number of indices"):
            mode(lambda v: v.item(0, 0))


def test_sizes_and_untracked_values_are_plain_numbers() -> None:
    def program(x: Any) -> Any:
        n = np.asarray(x.shape[0]).item()
        plain = tg.ops.convert(np.arange(3.0), np.float64)
        assert type(plain[1].item()) is float
        return np.sum(x) * n

    np.testing.assert_allclose(tg.jit(program)(X), 10.5)
    x = tg.tensor(X, requires_grad=True)
    assert type(x[0].item()) is float
    assert type(x.tolist()[0]) is float
