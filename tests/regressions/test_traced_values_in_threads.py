"""A traced value belongs to the thread that traces: in others it is refused, and nothing that they
do is recorded."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.compiled import alone
from tracegrad.errors import EscapedValueError, TracegradError

USES: dict[str, Callable[[Any], Any]] = {
    "function": np.sin,
    "operator": lambda x: x * 2,
    "beside an array": lambda x: np.ones(3) + x,
    "index": lambda x: x[0],
    "write": lambda x: x.__setitem__(0, 1.0),
    "in place": lambda x: x.__iadd__(1),
    "number": lambda x: float(x[0]),
    "sum": np.sum,
    "list": list,
    "condition": lambda x: bool(x[0] > 0),
    "array": np.asarray,
    "jit": lambda x: tg.jit(lambda y: y * 2)(x),
    "grad": lambda x: tg.grad(lambda y: np.sum(y * y))(x),
    "vmap": lambda x: tg.vmap(lambda y: y * y)(x),
    "scan": lambda x: tg.scan(lambda c, s: (c + s, None), 0.0, x)[0],
    "closure of jit": lambda x: tg.jit(lambda y: y * x)(np.ones(3)),
    "backward": lambda x: (x * x).sum().backward(),
}


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that traces while another one traces, and is waited for by that, goes on after some
    time."""
    monkeypatch.setattr(alone, "PATIENCE", 0.05)


def in_another_thread(run: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(run())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", ["jit of an array", "jit of a Tensor", "vmap"])
def test_refused_by_name(use: str, way: str) -> None:
    # No state that the trace finds and puts back.
    kept: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def function(x: Any) -> Any:
        kept.put(in_another_thread(lambda: USES[use](x)))
        return x * 1

    if way.startswith("jit"):
        argument = np.ones(3) if way == "jit of an array" else tg.ones(3, requires_grad=True)
        assert len(tg.jit(function).graphs(argument)[0].nodes) == 1
    else:
        np.testing.assert_array_equal(tg.vmap(function)(np.ones((2, 3))), np.ones((2, 3)))
    found = kept.get_nowait()
    assert isinstance(found, (TracegradError, TypeError, AttributeError)), found
    if use not in ("array", "backward", "in place"):
        assert isinstance(found, EscapedValueError)
        assert "another thread" in str(found)


@pytest.mark.usefixtures("no_patience")
def test_other_threads_are_not_recorded() -> None:
    """What another thread computes while this one traces is carried out there."""
    other: list[Any] = []

    def function(x: Any) -> Any:
        other.append(
            in_another_thread(
                lambda: (
                    np.sin(np.ones(3)) + tg.zeros(3).numpy() + tg.jit(lambda y: y * 2)(np.ones(3))
                )
            )
        )
        return x + 1

    compiled = tg.jit(function)
    np.testing.assert_array_equal(compiled(np.zeros(3)), np.ones(3))
    np.testing.assert_allclose(other[0], np.sin(1.0) + 2)
    assert [n.op.name for n in compiled.graphs(np.zeros(3))[0].nodes] == ["add"]


def test_weights_that_two_threads_begin_to_train() -> None:
    """Both are traced at the same time; no weight keeps a traced value, and every step is
    counted."""
    for _ in range(3):
        w = tg.zeros(4, requires_grad=True)
        start = threading.Barrier(2)
        failed: list[BaseException] = []

        def step(k: int, w: Any = w) -> Any:
            def function(x: Any) -> Any:
                loss = ((w + k) * x).sum()
                w.grad = None
                loss.backward()
                with tg.no_grad():
                    w.sub_(w.grad)
                return loss

            return tg.jit(function)

        def work(k: int, start: Any = start, failed: Any = failed) -> None:
            train = step(k)
            start.wait(60)
            try:
                for _ in range(10):
                    train(np.ones(4))
            except BaseException as error:
                failed.append(error)

        workers = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for t in workers:
            t.start()
        for t in workers:
            t.join()
        assert not failed
        np.testing.assert_array_equal(w.detach().numpy(), -20.0 * np.ones(4))
