"""Rules of the user's inside of loops and branches may read what is around them: the same values in
every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import TracegradError

pytestmark = pytest.mark.usefixtures("kernels_in_python")

Function = Callable[[Any], Any]
X, B = np.array([0.4, 0.8]), np.array([0.5, 2.0])


def by_forward_rule(b: Any) -> Function:
    custom = tg.custom_jvp(lambda x: np.sin(x))
    custom.defjvp(
        lambda primals, tangents: (np.sin(primals[0]), b * np.cos(primals[0]) * tangents[0])
    )
    return custom


def by_reverse_rule(b: Any) -> Function:
    custom = tg.custom_vjp(lambda x: np.sin(x))
    custom.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (b * np.cos(x) * ct,))
    return custom


def by_function(b: Any) -> Function:
    class Sine(tg.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return b * ctx.saved_tensors[0].cos() * g

    return Sine.apply


def over(loop: Callable[[Function, Any], Any]) -> Callable[[Function], Function]:
    return lambda r: lambda x: loop(r, x)


THREE, SEVEN = np.array([0.9, 1.1, 1.3]), np.linspace(0.9, 1.1, 7)
LOOPS: dict[str, Callable[[Function], Function]] = {
    "scan": over(lambda r, x: tg.scan(lambda c, s: (r(c) * s, c), x, THREE)[0]),
    "stacked": over(lambda r, x: tg.scan(lambda c, s: (c * s, r(c)), x, THREE)[1].sum(axis=0)),
    "segments": over(lambda r, x: tg.scan(lambda c, s: (r(c) * s, c), x, SEVEN, checkpoint=3)[0]),
    "fori_loop": over(lambda r, x: tg.fori_loop(0, 3, lambda i, c: r(c) * 1.1, x)),
    "while_loop": over(
        lambda r, x: tg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, r(s[1]) * 1.1), (0, x))[
            1
        ]
    ),
    "while it is large": over(
        lambda r, x: tg.while_loop(lambda s: np.sum(s) > 0.5, lambda s: r(s) * 0.8, x)
    ),
    "cond": over(lambda r, x: tg.cond(np.sum(x) > 0, lambda y: r(y), lambda y: r(y) * 2, x)),
    "switch": over(
        lambda r, x: tg.switch(1, [lambda y: r(y * 3), lambda y: r(y) * 2, lambda y: y], x)
    ),
    "map": over(lambda r, x: tg.map(lambda w: r(x) * w, np.array([1.0, 2.0]))[1]),
    "checkpoint": over(
        lambda r, x: tg.scan(lambda c, s: (tg.checkpoint(r)(c) * s, None), x, THREE)[0]
    ),
    "all": over(
        lambda r, x: tg.scan(
            lambda c, s: (
                tg.fori_loop(
                    0, 2, lambda i, d: tg.cond(np.sum(d) > 0, lambda y: r(y) * s, np.sin, d), c
                ),
                None,
            ),
            x,
            THREE[:2],
        )[0]
    ),
}
FORWARD: dict[str, Callable[[Function], Function]] = {
    "jvp": lambda f: lambda x: tg.jvp(f, (x,), (np.array([0.3, 0.7]),))[1],
    "hessian": lambda f: tg.hessian(lambda x: np.sum(f(x) ** 2)),
}
REVERSE: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: tg.grad(lambda x: np.sum(f(x) ** 2)),
    "grad of grad": lambda f: tg.grad(lambda x: np.sum(tg.grad(lambda y: np.sum(f(y) ** 2))(x))),
    "vmap of grad": lambda f: (
        lambda x: tg.vmap(tg.grad(lambda y: np.sum(f(y) ** 2)))(np.stack([x, 2 * x]))
    ),
}
RULES = {"custom_jvp": by_forward_rule, "custom_vjp": by_reverse_rule, "Function": by_function}
AROUND: dict[str, Callable[[], Any]] = {
    "array": lambda: np.array([1.0, 1.0]),
    "Tensor": lambda: tg.tensor([1.0, 1.0], dtype=np.float64),
}


def plain(x: Any) -> np.ndarray:
    return x.detach().numpy() if isinstance(x, tg.Tensor) else np.asarray(x)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loop", LOOPS)
def test_reads_what_is_around(loop: str, rule: str) -> None:
    for name, derivative in {**REVERSE, **(FORWARD if rule == "custom_jvp" else {})}.items():
        wanted = derivative(LOOPS[loop](np.sin))(X)
        for kind, around in AROUND.items():
            if rule == "Function" and kind == "array":
                continue  # its backward gets Tensors
            f = derivative(LOOPS[loop](RULES[rule](around())))
            x = tg.tensor(X) if rule == "Function" else X
            np.testing.assert_allclose(plain(f(x)), wanted, rtol=1e-10, err_msg=f"{name} {kind}")
            if name in ("grad", "jvp") and kind != "Tensor":
                np.testing.assert_allclose(
                    plain(tg.jit(f)(x)), wanted, rtol=1e-10, err_msg=f"{name} {kind} compiled"
                )


@pytest.mark.parametrize("loop", LOOPS)
def test_what_is_around_is_an_argument(loop: str) -> None:
    """A compiled derivative by what only the rule reads, on which the value does not depend: right,
    or refused."""

    def slope(b: Any) -> Any:
        return np.sum(tg.grad(lambda x: np.sum(LOOPS[loop](by_forward_rule(b))(x)))(X) * B)

    step = 1e-5
    wanted = [(slope(1.0 + step * e) - slope(1.0 - step * e)) / (2 * step) for e in np.eye(2)]
    for derivative in (tg.grad(slope), tg.jacfwd(slope)):
        try:
            found = tg.jit(derivative)(np.ones(2))
        except TracegradError as error:
            assert "a derivative given by the user reads" in str(error)  # noqa: PT017
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)


def test_arrays_are_read_again() -> None:
    """Of now, not of when the function was compiled."""
    b = np.array([1.0, 1.0])
    f = tg.jit(tg.grad(lambda x: np.sum(LOOPS["scan"](by_forward_rule(b))(x))))
    first = f(X)
    b *= 2
    np.testing.assert_allclose(
        f(X), tg.grad(lambda x: np.sum(LOOPS["scan"](by_forward_rule(b))(x)))(X)
    )
    assert not np.allclose(f(X), first)
