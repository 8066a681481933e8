"""Random programs of views, copies and writes: each array that they made holds in the end what
NumPy's holds, in eager derivatives and in traces, or the program is refused.

`pytest tests/faces/test_random_memory.py --soak 10` runs ten times as many.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

X = np.linspace(-0.9, 1.3, 24).reshape(2, 3, 4) ** 3
MADE = [
    "{a}.T", "{a}[::-1]", "{a}[1:]", "{a}[..., ::2]", "{a}.ravel()", "np.ravel({a})",
    "np.flip({a})", "{a}.reshape(-1)", "{a}.reshape({a}.shape[::-1])",
    "np.swapaxes({a}, 0, -1)", "{a}[:, None]",
    "np.moveaxis({a}, 0, -1)", "np.atleast_2d({a})", "np.split({a}, 1)[0]", "np.squeeze({a})",
    "{a}[0]", "({a} + 1j * {a}).real", "np.ascontiguousarray({a})", "np.asarray({a}, order='F')",
    "{a}.copy()", "{a}.copy(order='K')", "{a}.flatten()", "{a}.astype(float)", "np.array({a})",
    "2 * {a}", "np.sin({a})", "{a} + {a}.T.T", "np.where({a} > 0, {a}, 0.5)",
    "np.full_like({a}, 0.3)", "np.zeros_like({a}) + x[0, 0, 0]", "np.sum({a}, axis=0)",
    "np.mean({a}, -1, keepdims=True)",
    "np.sort({a}, axis=0)", "np.cumsum({a}, axis=0)", "np.roll({a}, 1)", "np.diff({a}, axis=0)",
    "np.take({a}, [0], -1)", "{a}[..., [0]]", "{a}[[0]]", "{a}[np.array([0, 0])]", "np.pad({a}, 1)",
    "np.concatenate([{a}, {a}], axis=-1)", "np.stack([{a}, {a}], axis=-1)", "np.tile({a}, 2)",
    "np.einsum('i...->...i', {a})", "{a} @ np.ones({a}.shape[-1])", "x[0] * 2.0", "x.T * 0.5", "x",
]  # fmt: skip
WRITES = [
    "{a}[0] = {b}.sum() * 0.1", "{a}[-1] += 0.3", "{a}[...] = 0.5 * {a}", "{a} *= 1.1",
    "{a}[...] = {b} if {b}.shape == {a}.shape else 0.7", "{a}.reshape(-1)[0] = 3.0",
    "{a}.ravel()[0] = 4.0", "{a}[..., 0] = 1.25", "{a}.fill(0.25)", "{a}[:] = {a}",
]  # fmt: skip


def program(seed: int) -> tuple[Callable[[Any], Any], str]:
    """A function of an array, and its text. Lines that NumPy refuses for the shape are left out of
    it, so that all programs run."""
    choose = random.Random(seed)
    lines, arrays = ["v0 = x * 1.5"], {"v0": X * 1.5}
    for _ in range(choose.randint(5, 14)):
        names = {"a": choose.choice([*arrays]), "b": choose.choice([*arrays])}
        writes = choose.random() < 0.4
        line = choose.choice(WRITES if writes else MADE).format(**names)
        line = line if writes else f"v{len(arrays)} = {line}"
        tried = {name: array.copy() for name, array in arrays.items()}
        if not all(tried[name].ndim and tried[name].size for name in names.values()):
            continue
        try:
            exec(line, {"np": np, "x": X.copy()}, tried)
        except (ValueError, IndexError, TypeError):
            continue
        new = [n for n in tried if n not in arrays]
        if any(np.size(tried[n]) > 200 or np.ndim(tried[n]) == 0 for n in new):
            continue
        arrays |= {n: np.array(tried[n]) for n in new}
        lines.append(line)
    weigh = "np.sum(np.sin({0}).reshape(-1) * np.arange(1.0, {0}.size + 1))"
    lines.append("return " + " + ".join(weigh.format(name) for name in arrays))
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in lines)
    name = f"<random memory {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "__name__": "program"}
    exec(compile(text, name, "exec"), space)
    return space["f"], text


WAYS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "reverse": lambda f, x: tg.value_and_grad(f)(x)[0],
    "forward": lambda f, x: tg.jvp(f, (x,), (x,))[0],
    "traced": lambda f, x: tg.vmap(f)(x[None])[0],
}


def test_arrays_hold_what_numpys_hold(request: pytest.FixtureRequest) -> None:
    count = 60 * max(1, int(request.config.getoption("--soak")))
    refused = 0
    for seed in range(count):
        f, text = program(seed)
        x = np.array(X, order="F" if seed % 4 == 3 else "C")
        try:
            want = f(x.copy(order="K"))
        except ValueError:  # np.flip and others of views that may not be written to
            continue
        for way, run in WAYS.items():
            try:
                found = run(f, x.copy(order="K"))
            except tg.ConcretizationError:
                refused += seed % 4 != 3
                continue
            assert found == pytest.approx(want, rel=1e-10, abs=1e-10), f"{way}, {seed}:\n{text}"
    assert refused < 0.1 * count


CONSUMED: dict[str, Callable[[Any, Any], Any]] = {
    "assigned": lambda u, w: u.__setitem__(slice(None), w),
    "assigned whole": lambda u, w: u.__setitem__(..., w),
    "added": lambda u, w: u.__iadd__(w),
    "copyto": lambda u, w: np.copyto(u, w),
    "out": lambda u, w: np.multiply(w, 1.0, out=u),
    "put": lambda u, w: np.put(u, [0, 1, 2], w),
    "putmask": lambda u, w: np.putmask(u, np.array([True, False, True]), w),
    "place": lambda u, w: np.place(u, np.array([True, True, True]), w),
    "by places": lambda u, w: u.__setitem__([2, 0, 1], w),
    "where": lambda u, w: u.__setitem__(slice(None), np.where(True, w, u)),
    "reshaped": lambda u, w: u.__setitem__(slice(None), np.reshape(w, 3)),
    "broadcast": lambda u, w: u.__setitem__(slice(None), np.broadcast_to(w, (3,))),
    "filled": lambda u, w: u.fill(w[0]),
}


@pytest.mark.parametrize("how", CONSUMED)
def test_what_is_written_is_the_view_of_now(how: str) -> None:
    def f(x: Any) -> Any:
        v, u = 1.0 * x, 0.0 * x
        w = v[::-1]
        v *= 2.0
        CONSUMED[how](u, w)
        v *= 3.0
        CONSUMED[how](u, w)
        return np.sum(u * np.arange(1.0, 4.0)) + v[0]

    x = np.array([0.3, -0.2, 0.7])
    want = f(x.copy())
    for run in WAYS.values():
        np.testing.assert_allclose(run(f, x), want, rtol=1e-12)
    np.testing.assert_allclose(tg.jit(f)(x), want, rtol=1e-12)


def test_an_ndarray_of_what_is_written_later_is_refused() -> None:
    def f(x: Any, made: Callable[[Any], Any]) -> Any:
        y = np.zeros_like(x)
        seen = made(y)
        y[0] = x[0]
        return np.sum(y) + np.sum(seen)

    def gone(x: Any) -> Any:
        y = np.zeros_like(x)
        total = float(np.require(y).sum())
        y[0] = x[0]
        return np.sum(y) + total

    x = np.array([1.0, 2.0])
    assert tg.value_and_grad(f)(x, np.array)[0] == 1.0
    for derive in (tg.grad, lambda f: lambda x: tg.jvp(f, (x,), (x,))):
        with pytest.raises(tg.ConcretizationError, match=r"test_random_memory.py:\d+.*np\.array"):
            derive(lambda x: f(x, lambda y: np.require(y)[:1]))(x)
        derive(gone)(x)


SECOND: dict[str, Callable[[Callable[[Any], Any], Any, Any], Any]] = {
    "forward over reverse": lambda f, x, v: tg.jvp(tg.grad(f), (x,), (v,))[1],
    "reverse over forward": lambda f, x, v: tg.grad(lambda y: tg.jvp(f, (y,), (v,))[1])(x),
    "reverse over reverse": lambda f, x, v: tg.grad(lambda y: np.sum(tg.grad(f)(y) * v))(x),
    "traced": lambda f, x, v: tg.vmap(lambda y: tg.jvp(tg.grad(f), (y,), (v,))[1])(x[None])[0],
}


def test_second_derivatives(request: pytest.FixtureRequest) -> None:
    count = 16 * max(1, int(request.config.getoption("--soak")))
    v = np.cos(np.arange(24.0)).reshape(2, 3, 4)
    smooth = (s for s in range(1000, 1000 + 10 * count) if "sort" not in (t := program(s)[1]) and
              "> 0" not in t)  # fmt: skip
    for seed in [s for s, _ in zip(smooth, range(count), strict=False)]:
        f, text = program(seed)
        x = X + 0.013
        try:
            f(x.copy())
            derivative = tg.grad(f)
            want = (derivative(x + 1e-5 * v) - derivative(x - 1e-5 * v)) / 2e-5
        except (ValueError, tg.ConcretizationError):
            continue
        for way, run in SECOND.items():
            try:
                found = run(f, x, v)
            except tg.ConcretizationError:
                continue
            np.testing.assert_allclose(
                found, want, rtol=1e-3, atol=1e-4, err_msg=f"{way}, {seed}:\n{text}"
            )
