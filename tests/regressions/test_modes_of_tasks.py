"""Grad modes belong to the thread, as torch's: a decorated coroutine has its mode in its own steps only, a block around `await` in those of
other tasks as well."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import tracegrad as tg

MODES: dict[str, Any] = {
    "no_grad": tg.no_grad,
    "inference_mode": tg.inference_mode,
    "set_grad_enabled": lambda: tg.set_grad_enabled(False),
}


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


def test_a_block_around_await_holds_for_the_thread() -> None:
    """What the documentation warns of; a worker thread is not touched."""
    seen: list[bool] = []

    async def inside() -> None:
        with tg.no_grad():
            await asyncio.sleep(0)
            thread = threading.Thread(target=lambda: seen.append(tg.is_grad_enabled()))
            thread.start()
            thread.join()
            await asyncio.sleep(0)

    async def other() -> None:
        seen.append(tg.is_grad_enabled())

    async def both() -> None:
        await asyncio.gather(inside(), other())

    asyncio.run(both())
    assert seen == [False, True]
    assert tg.is_grad_enabled()
