"""What a type checker sees of compiled functions and derivatives: read by mypy and by pyright,
never run.

Each `reveal_type` is followed by what it must reveal (test_signatures_for_checkers.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import reveal_type

import tracegrad as tg


def loss(w: float, scale: int, *, power: int = 2) -> float:
    return w**power * scale


def pair(w: float) -> tuple[float, str]:
    return w, "aux"


fast = tg.jit(loss)
reveal_type(fast)  # Jitted[[w: float, scale: int, *, power: int =], float]
reveal_type(fast(1.0, 2))  # float
fast("a", 1)  # error: arg-type
fast(1.0)  # error: call-arg
reveal_type(tg.jit(fast))  # Jitted[[w: float, scale: int, *, power: int =], float]
numbered = tg.jit(loss, static_argnums=1)
reveal_type(numbered)  # Jitted[[w: float, scale: int, *, power: int =], float]
tg.jit(loss, static="power")  # error: call-overload

reveal_type(tg.grad(loss))  # def (w: float, scale: int, *, power: int =) -> Any
reveal_type(tg.grad(fast))  # Jitted[[w: float, scale: int, *, power: int =], Any]
reveal_type(tg.jit(tg.grad(loss)))  # Jitted[[w: float, scale: int, *, power: int =], Any]
tg.grad(fast)(1.0, "a")  # error: arg-type
reveal_type(tg.value_and_grad(loss)(1.0, 2))  # tuple[float, Any]
reveal_type(tg.value_and_grad(pair, has_aux=True)(1.0))  # tuple[tuple[float, str], Any]
reveal_type(tg.hessian(fast))  # Jitted[[w: float, scale: int, *, power: int =], Any]
reveal_type(tg.jacobian(loss))  # def (w: float, scale: int, *, power: int =) -> Any
reveal_type(tg.jacfwd(loss, chunk_size=4))  # def (w: float, scale: int, *, power: int =) -> Any
reveal_type(tg.checkpoint(loss))  # def (w: float, scale: int, *, power: int =) -> float
reveal_type(tg.grad(lambda x: x * x)(3.0))  # Any
result: object = tg.jit(lambda x, y: x)(1.0, 2.0)
fast.source(1.0, 2)
tg.grad(fast).explain(1.0, 2)


@tg.jit
def plain(x: float) -> str:
    return str(x)


@tg.jit(static_argnames="n", checked=False)
def with_options(x: float, n: int) -> float:
    return x * n


class Model:
    @tg.jit
    def loss(self, x: float) -> float:
        return x

    @tg.jit(donate_argnums=(1,))
    def step(self, x: float) -> str:
        return str(x)

    @tg.disable_jit()
    def watched(self, x: float) -> str:
        return str(x)


reveal_type(plain)  # Jitted[[x: float], str]
reveal_type(with_options(1.0, n=3))  # float
reveal_type(Model().loss)  # Jitted[[x: float], float]
reveal_type(Model().step(1.0))  # str
reveal_type(Model().watched(1.0))  # str
Model().loss("a")  # error: arg-type
