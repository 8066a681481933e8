"""Section 3 of the contract: the modes, their decorators, and inference tensors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import grad_mode

MODES: list[Callable[[], Any]] = [
    tg.no_grad,
    lambda: tg.set_grad_enabled(False),
    tg.inference_mode,
    lambda: tg.inference_mode(True),
]


@pytest.mark.parametrize("mode", MODES)
def test_context_manager(mode: Callable[[], Any]) -> None:
    """Inside, nothing is recorded; afterwards, and after an exception, it is again."""
    x = tg.ones(2, requires_grad=True)
    with mode():
        assert not tg.is_grad_enabled()
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    with pytest.raises(KeyError), mode():
        raise KeyError
    assert tg.is_grad_enabled()
    assert not tg.is_inference_mode_enabled()


def test_modes_nest_and_may_be_entered_again() -> None:
    """enable_grad inside no_grad; one instance entered twice restores each time what was before."""
    with tg.no_grad():
        with tg.enable_grad():
            assert tg.is_grad_enabled()
        assert not tg.is_grad_enabled()
    for mode in (tg.no_grad(), tg.inference_mode()):
        with mode:
            with mode:
                assert not tg.is_grad_enabled()
            assert not tg.is_grad_enabled()
        assert tg.is_grad_enabled()
    switch = tg.set_grad_enabled(False)
    with switch:
        with switch:
            assert not tg.is_grad_enabled()
        assert not tg.is_grad_enabled()
    assert tg.is_grad_enabled()


@pytest.mark.parametrize(
    "decorate",
    [
        tg.no_grad,
        tg.no_grad(),
        tg.inference_mode,
        tg.inference_mode(),
        tg.inference_mode(True),
        tg.enable_grad,
        tg.enable_grad(),
    ],
)
def test_decorators_with_and_without_parentheses(decorate: Any) -> None:
    """`@no_grad` and `@no_grad()` mean the same; name and docstring of the function stay."""

    @decorate
    def ask(n: int = 3) -> tuple[bool, int]:
        """Doc."""
        return tg.is_grad_enabled(), n

    enabled = decorate is tg.enable_grad or isinstance(decorate, tg.enable_grad)
    with tg.set_grad_enabled(not enabled):
        assert ask(n=4) == (enabled, 4)
        assert tg.is_grad_enabled() is not enabled
    assert (ask.__name__, ask.__doc__) == ("ask", "Doc.")


def test_set_grad_enabled_as_function_and_decorator() -> None:
    """Called it acts at once; as a decorator it puts the mode back when it decorates."""
    tg.set_grad_enabled(False)
    assert not tg.is_grad_enabled()
    tg.set_grad_enabled(True)
    assert tg.is_grad_enabled()

    @tg.set_grad_enabled(False)
    def ask() -> bool:
        return tg.is_grad_enabled()

    assert tg.is_grad_enabled()
    assert not ask()
    assert tg.is_grad_enabled()
    with pytest.raises(TypeError, match="must be bool, not str"):
        tg.set_grad_enabled("yes")  # type: ignore[arg-type]
    assert tg.is_grad_enabled()
    assert (
        repr(tg.set_grad_enabled(True))
        == "tracegrad.autograd.grad_mode.set_grad_enabled(mode=True)"
    )


def test_repr_and_module() -> None:
    """`autograd.grad_mode` names the module in which the modes stand."""
    assert tg.autograd.grad_mode.no_grad is tg.no_grad
    assert (
        repr(tg.inference_mode(False)) == "tracegrad.autograd.grad_mode.inference_mode(mode=False)"
    )
    assert repr(grad_mode.no_grad()) == "tracegrad.autograd.grad_mode.no_grad()"


@pytest.mark.parametrize("mode", MODES)
def test_decorated_generators(mode: Callable[[], Any]) -> None:
    """Each step of a generator is inside the mode, its caller is not; send, throw, close and the
    result go through."""
    seen: list[Any] = []

    def body() -> Iterator[Any]:
        try:
            seen.append(tg.is_grad_enabled())
            sent = yield 1
            seen.append((sent, tg.is_grad_enabled()))
            try:
                yield 2
            except ValueError:
                seen.append(("thrown", tg.is_grad_enabled()))
                yield 3
            return 4
        finally:
            seen.append(("end", tg.is_grad_enabled()))

    generator: Any = mode()(body)
    steps = generator()
    assert next(steps) == 1
    assert tg.is_grad_enabled()
    assert steps.send("x") == 2
    assert tg.is_grad_enabled()
    assert steps.throw(ValueError()) == 3
    assert tg.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == 4
    assert seen == [False, ("x", False), ("thrown", False), ("end", False)]
    seen.clear()
    steps = generator()
    next(steps)
    steps.close()
    assert seen == [False, ("end", False)]
    steps = generator()
    next(steps)
    with pytest.raises(KeyError):
        steps.throw(KeyError())
    assert tg.is_grad_enabled()


def test_decorated_coroutines() -> None:
    """Each step of a coroutine is inside the mode and other tasks between its steps are not (torch
    leaves coroutines as they are)."""
    seen: list[Any] = []

    @tg.no_grad()
    async def inside() -> int:
        for _ in range(3):
            seen.append(tg.is_grad_enabled())
            await asyncio.sleep(0)
        return 5

    async def beside() -> None:
        for _ in range(3):
            assert tg.is_grad_enabled()
            await asyncio.sleep(0)

    async def both() -> int:
        found, _ = await asyncio.gather(inside(), beside())
        return found

    assert asyncio.run(both()) == 5
    assert seen == [False] * 3


def test_decorated_async_generators() -> None:
    """As coroutines: send, throw and close go through."""
    seen: list[Any] = []

    @tg.inference_mode
    async def numbers() -> AsyncIterator[Any]:
        try:
            sent = yield tg.is_grad_enabled()
            seen.append(sent)
            await asyncio.sleep(0)
            try:
                yield tg.is_grad_enabled()
            except ValueError:
                yield "thrown"
        finally:
            seen.append(tg.is_grad_enabled())

    async def run() -> None:
        steps: Any = numbers()
        assert await steps.asend(None) is False
        assert tg.is_grad_enabled()
        assert await steps.asend("x") is False
        assert await steps.athrow(ValueError()) == "thrown"
        await steps.aclose()
        assert [item async for item in numbers()] == [False, False]

    asyncio.run(run())
    assert seen == ["x", False, None, False]


def test_decorated_classes() -> None:
    """Decorating a class warns; instances are made inside the mode."""

    class Layer:
        def __init__(self) -> None:
            self.enabled = tg.is_grad_enabled()

    for decorate in (tg.no_grad, tg.no_grad()):
        with pytest.warns(
            FutureWarning,
            match="Decorating classes is deprecated .* directly decorate the `__init__` method",
        ):
            made = decorate(Layer)
        assert not made().enabled


def test_only_callables_are_decorated() -> None:
    """What is no function is refused where it is decorated, not where it is called."""
    for wrong in (lambda: tg.no_grad()(3), lambda: tg.no_grad(3), lambda: tg.inference_mode("x")):
        with pytest.raises(TypeError, match=r"decorates a function|must be bool"):
            wrong()


def test_modes_are_of_one_thread() -> None:
    """A new thread begins with recording on, whatever its parent's mode."""
    seen: list[Any] = []

    def ask() -> None:
        seen.append((tg.is_grad_enabled(), tg.is_inference_mode_enabled()))

    for mode in (tg.no_grad(), tg.inference_mode()):
        with mode:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
    assert seen == [(True, False)] * 2


def test_factories_under_no_grad() -> None:
    """Results have requires_grad False, but what is made with requires_grad=True keeps it."""
    x = tg.ones(2, requires_grad=True)
    with tg.no_grad():
        for y in (x * 2, x.view(2, 1), x.clone(), x[0]):
            assert not y.requires_grad
            assert y.grad_fn is None
        assert tg.ones(2, requires_grad=True).requires_grad
        assert tg.tensor([1.0], requires_grad=True).requires_grad


def test_inference_mode_switches_recording_off() -> None:
    """It implies is_grad_enabled() False; inference_mode(False) leaves it for a block."""
    with tg.inference_mode():
        assert tg.is_inference_mode_enabled()
        assert not tg.is_grad_enabled()
        with tg.inference_mode(False):
            assert not tg.is_inference_mode_enabled()
            assert tg.is_grad_enabled()
            assert not tg.ones(2).is_inference()
        assert tg.is_inference_mode_enabled()
        assert tg.ones(2).is_inference()
    assert not tg.is_inference_mode_enabled()


def _inference_tensors() -> dict[str, Any]:
    a = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.inference_mode():
        x = tg.ones(2)
        return {
            "factory": x,
            "operation": a * 2,
            "view": x.view(2, 1),
            "clone": a.clone(),
            "data": tg.tensor([1.0, 2.0]),
            "array": tg.from_numpy(np.ones(2)),
            "random": tg.rand(2),
            "like": tg.zeros_like(a),
            "new": x.new_ones(2),
            "several": tg.tensor([[3.0, 1.0]]).max(1).values,
            "cast": a.float(),
        }


@pytest.mark.parametrize("how", list(_inference_tensors()))
def test_inference_tensors(how: str) -> None:
    """What was made inside counts no versions and may not be saved, changed, or made to require
    grad outside."""
    x = _inference_tensors()[how]
    w = tg.tensor(2.0, dtype=x.dtype, requires_grad=True)
    assert x.is_inference()
    assert x.is_leaf
    assert not x.requires_grad
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = x._version
    with pytest.raises(
        RuntimeError, match=r"Inference tensors cannot be saved for backward.*make a clone"
    ):
        _ = x * w
    for write in (
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 5.0),
        lambda: x.view(-1).zero_(),
        lambda: x.detach().mul_(2),
    ):
        with pytest.raises(
            RuntimeError,
            match="Inplace update to inference tensor outside InferenceMode is not allowed",
        ):
            write()
    with pytest.raises(
        RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"
    ):
        x.requires_grad_()
    assert not x.requires_grad_(False).requires_grad


def test_what_inference_tensors_may_do_outside() -> None:
    """A new operation gives an ordinary tensor; what saves nothing is recorded; views and detached
    ones stay inference tensors."""
    with tg.inference_mode():
        x = tg.ones(2)
    w = tg.ones(2, requires_grad=True)
    assert not (x + 1).is_inference()
    assert not x.clone().is_inference()
    assert x.view(2, 1).is_inference()
    assert x.detach().is_inference()
    assert x.data.is_inference()
    y = x + w
    y.sum().backward()
    assert w.grad.tolist() == [1, 1]
    assert (x.clone() * w).requires_grad
    assert not w.grad.is_inference()


def test_inference_tensors_inside() -> None:
    """Inside, they may be changed and made to require grad; ordinary tensors stay ordinary and
    count their versions."""
    a = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.inference_mode():
        x = tg.ones(2)
        x.add_(1)[0] = 7
        assert x.tolist() == [7, 2]
        assert x.requires_grad_().requires_grad
        assert not a.is_inference()
        assert not a.detach().is_inference()
        a.mul_(3)
        assert a._version == 1
        with pytest.raises(RuntimeError, match="does not require grad"):
            (a * 2).sum().backward()
    assert a.is_leaf
    assert a.tolist() == [3, 6]


def test_views_made_in_inference_mode() -> None:
    """A view of an ordinary tensor is ordinary, but may not be written outside, where the write
    would be recorded."""
    a = tg.tensor([1.0, 2.0], requires_grad=True) * 1
    with tg.inference_mode():
        v = a.view(2, 1)
        assert not v.is_inference()
        v.add_(1)
    with pytest.raises(
        RuntimeError, match="view was created in inference mode and is being modified inplace"
    ):
        v.add_(1)
    assert a.tolist() == [2, 3]


def test_derivatives_of_functions_inside_modes() -> None:
    """`grad(f)` and enable_grad inside of no_grad and inference_mode record as elsewhere (torch's
    inference mode records nothing)."""
    for mode in (tg.no_grad, tg.inference_mode):
        with mode():
            assert tg.grad(lambda x: (x * x * x).sum())(np.array([1.0, 2.0])).tolist() == [3, 12]
            assert tg.jit(lambda x: x * x)(tg.tensor([3.0])).tolist() == [9]
            w = tg.tensor([1.0, 2.0], requires_grad=True)
    with tg.inference_mode(), tg.enable_grad():
        w = tg.tensor([1.0, 2.0], requires_grad=True)
        (w * w).sum().backward()
        assert w.grad.tolist() == [2, 4]
