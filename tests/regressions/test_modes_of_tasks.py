"""Modes belong to the task: a block around an `await` holds in its own steps, whatever other tasks
do meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import tracegrad as tg
from tracegrad.ir.dispatch import STATE

MODES: dict[str, Any] = {
    "no_grad": tg.no_grad,
    "inference_mode": tg.inference_mode,
    "set_grad_enabled": lambda: tg.set_grad_enabled(False),
}


pytestmark = pytest.mark.usefixtures("nobody_stays_off")


@pytest.mark.parametrize("mode", MODES)
def test_a_decorated_coroutine_keeps_its_mode_to_itself(mode: str) -> None:
    seen: dict[str, list[bool]] = {"off": [], "on": []}

    async def off() -> None:
        for _ in range(5):
            seen["off"].append(tg.is_grad_enabled())
            await asyncio.sleep(0)

    async def on() -> None:
        for _ in range(5):
            seen["on"].append(tg.is_grad_enabled())
            x = tg.ones(2, requires_grad=True)
            assert (x * 2).requires_grad
            await asyncio.sleep(0)

    decorated = MODES[mode]()(off)

    async def both() -> None:
        await asyncio.gather(on(), decorated(), on(), decorated())

    asyncio.run(both())
    assert set(seen["off"]) == {False}
    assert set(seen["on"]) == {True}
    assert tg.is_grad_enabled()


def test_a_block_without_await_inside_is_the_tasks_own() -> None:
    async def task(enabled: bool) -> None:
        for _ in range(5):
            with tg.set_grad_enabled(enabled):
                assert tg.is_grad_enabled() is enabled
            assert tg.is_grad_enabled()
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(task(True), task(False))

    asyncio.run(both())


def interleaved(*tasks: Any) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*[task() for task in tasks])

    asyncio.run(all_of_them())
    assert tg.is_grad_enabled()
    assert not tg.is_inference_mode_enabled()
    assert not STATE.special


def seen() -> tuple[bool, bool, bool]:
    """What an operation does: whether it is recorded, whether its result is an inference tensor,
    and what jit does."""
    y = X * 2
    return y.requires_grad, y.is_inference(), DOUBLED(X).requires_grad


X = tg.ones(2, requires_grad=True)
DOUBLED = tg.jit(lambda x: x * 2)
BLOCKS: dict[str, tuple[Any, tuple[bool, bool, bool]]] = {
    "no_grad": (tg.no_grad, (False, False, False)),
    "enable_grad": (tg.enable_grad, (True, False, True)),
    "inference_mode": (tg.inference_mode, (False, True, False)),
    "not inference_mode": (lambda: tg.inference_mode(False), (True, False, True)),
    "set_grad_enabled": (lambda: tg.set_grad_enabled(False), (False, False, False)),
}


@pytest.mark.parametrize("second", BLOCKS)
@pytest.mark.parametrize("first", BLOCKS)
def test_a_block_around_await_is_the_tasks_own(first: str, second: str) -> None:
    def task(name: str, waits: int) -> Any:
        async def run() -> None:
            block, expected = BLOCKS[name]
            for _ in range(waits):
                await asyncio.sleep(0)
            for _ in range(3):
                with block():
                    for _ in range(waits):
                        assert seen() == expected
                        await asyncio.sleep(0)
                    with tg.enable_grad():
                        await asyncio.sleep(0)
                        assert (X * 2).requires_grad
                    assert seen() == expected
                assert seen() == (True, False, True)
                await asyncio.sleep(0)

        return run

    async def other() -> None:
        for _ in range(12):
            assert seen() == (True, False, True)
            x = tg.tensor([1.0, 2.0], requires_grad=True)
            y = (x * x).sum()
            await asyncio.sleep(0)
            y.backward()
            assert x.grad.tolist() == [2.0, 4.0]

    interleaved(task(first, 1), task(second, 2), other, task(second, 3))


def test_hooks_and_anomalies_are_the_tasks_own() -> None:
    packed: dict[str, int] = {"a": 0, "b": 0}

    def task(name: str) -> Any:
        def pack(t: Any) -> Any:
            packed[name] += 1
            return t

        async def run() -> None:
            for _ in range(2):
                await asyncio.sleep(0)
                with tg.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
                    await asyncio.sleep(0)
                    X.exp()
                    await asyncio.sleep(0)

        return run

    async def strict(waits: int) -> None:
        for _ in range(waits):
            await asyncio.sleep(0)
        with tg.autograd.set_detect_anomaly(True):
            for _ in range(waits):
                await asyncio.sleep(0)
                assert tg.autograd.is_anomaly_enabled()
        assert not tg.autograd.is_anomaly_enabled()

    async def other() -> None:
        for _ in range(6):
            X.exp()
            assert not tg.autograd.is_anomaly_enabled()
            await asyncio.sleep(0)

    interleaved(
        task("a"), lambda: strict(1), task("b"), other, lambda: strict(3), lambda: strict(2)
    )
    assert packed == {"a": 2, "b": 2}


def test_tasks_and_threads_that_are_started_inside() -> None:
    found: dict[str, Any] = {}

    def at(name: str) -> None:
        found[name] = (
            tg.is_grad_enabled(),
            tg.is_inference_mode_enabled(),
            (X * 2).requires_grad,
            (X * 2).is_inference(),
        )

    async def child() -> None:
        await asyncio.sleep(0)
        at("task")

    async def parent() -> None:
        with tg.inference_mode():
            started = asyncio.create_task(child())
            await asyncio.to_thread(at, "to_thread")
            thread = threading.Thread(target=at, args=("thread",))
            thread.start()
            thread.join()
            await started
            at("parent")

    interleaved(parent)
    assert found["parent"] == found["task"] == (False, True, False, True)
    assert found["to_thread"] == (False, False, False, False)
    assert found["thread"] == (True, False, True, False)


def test_a_mode_that_a_task_leaves_on_ends_with_it() -> None:
    async def off() -> None:
        tg.set_grad_enabled(False)
        await asyncio.sleep(0)
        assert not tg.is_grad_enabled()

    interleaved(off, off)


def test_nested_backward_passes_have_the_modes_of_the_task() -> None:
    async def run() -> None:
        for k in range(40):
            x = tg.tensor([1.0], requires_grad=True)
            y = x * 1.0
            for _ in range(k):
                y = Again.apply(y)
            with tg.autograd.set_detect_anomaly(True):
                y.sum().backward()
            await asyncio.sleep(0)
            assert x.grad.tolist() == [1.0]

    interleaved(run, run)


class Again(tg.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1.0

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        assert not tg.is_grad_enabled()
        assert tg.autograd.is_anomaly_enabled()
        with tg.enable_grad():
            z = tg.ones(1, requires_grad=True)
            (z * 2).sum().backward()
        return g
