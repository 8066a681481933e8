"""Tensors that a traced function makes, uses and then writes to: what was used counts, as in
running code, or the write is refused. (Whole writes of arrays, writes through NumPy, another `data`
and seeds were seen by every use, or by none.)"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.torch as torch
from tracegrad.errors import TracegradError

POINT = np.array([0.5, 0.7])
ARRAY = np.array([9.0, 8.0])
OTHER = tg.tensor([9.0, 8.0])
FIRST = tg.tensor([True, False])
ZERO = tg.tensor([0])
Write = Callable[[Any], Any]

WRITES: dict[str, Write] = {
    "copyto an array": lambda w: np.copyto(w, ARRAY),
    "copyto a tensor": lambda w: np.copyto(w, OTHER),
    "copy_": lambda w: w.copy_(OTHER),
    "copy_ of an array": lambda w: w.copy_(tg.from_numpy(ARRAY)),
    "fill_": lambda w: w.fill_(7.0),
    "an element": lambda w: w.__setitem__(0, 5.0),
    "all": lambda w: w.__setitem__(slice(None), 7.0),
    "all of an array": lambda w: w.__setitem__(slice(None), ARRAY),
    "all of a tensor": lambda w: w.__setitem__(slice(None), OTHER),
    "by a mask": lambda w: w.__setitem__(w > 1, 7.0),
    "exchanged": lambda w: w.__setitem__([0, 1], w[[1, 0]]),
    "data": lambda w: w.data.mul_(2),
    "detach": lambda w: w.detach().mul_(2),
    "add_": lambda w: w.add_(1),
    "+=": lambda w: w.__iadd__(1),
    "clamp_": lambda w: w.clamp_(0, 1),
    "exp_": lambda w: w.exp_(),
    "lerp_": lambda w: w.lerp_(OTHER, 0.5),
    "addcmul_": lambda w: w.addcmul_(OTHER, OTHER),
    "put": lambda w: np.put(w, [0], [5.0]),
    "place": lambda w: np.place(w, np.array([True, False]), [4.0]),
    "putmask": lambda w: np.putmask(w, np.array([True, False]), [4.0]),
    "index_fill_": lambda w: w.index_fill_(0, ZERO, 4.0),
    "masked_fill_": lambda w: w.masked_fill_(FIRST, 4.0),
    "scatter_": lambda w: w.scatter_(0, ZERO, 4.0),
    "index_copy_": lambda w: w.index_copy_(0, ZERO, tg.tensor([4.0])),
    "index_put_": lambda w: w.index_put_((ZERO,), tg.tensor(4.0)),
    "init": lambda w: tg.nn.init.constant_(w, 3.0),
    "out=": lambda w: np.add(w, 1.0, out=w),
    "out= of arrays": lambda w: np.multiply(ARRAY, 2.0, out=w),
    "add.at": lambda w: np.add.at(w, [0, 0], 1.0),
    "view": lambda w: w.view(2).copy_(OTHER),
    "vector_to_parameters": lambda w: tg.nn.utils.vector_to_parameters(OTHER, [w]),
}
REFUSED: dict[str, Write] = {
    "numpy()": lambda w: w.numpy().fill(7),
    "asarray": lambda w: np.asarray(w).__setitem__(slice(None), 7.0),
    "DLPack": lambda w: np.from_dlpack(w).fill(7),
}


def whole(write: Write) -> Any:
    def f(x: Any) -> Any:
        w = tg.tensor([1.0, 2.0])
        y = (x * x * w).sum()
        write(w)
        return y + w.sum()

    return f


def part(write: Write) -> Any:
    def f(x: Any) -> Any:
        base = tg.tensor([1.0, 2.0, 3.0])
        w = base[:2]
        y = (x * x * base[:2]).sum()
        write(w)
        return y + base.sum() + w.sum()

    return f


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", [whole, part])
def test_what_was_used_counts(kind: Any, write: str) -> None:
    f = kind(WRITES[write])
    expected = float(f(POINT))
    assert float(tg.vmap(f)(POINT[None])[0]) == pytest.approx(expected, rel=1e-14)
    value, tangent = tg.jvp(f, (POINT,), (POINT,))
    assert float(value) == pytest.approx(expected, rel=1e-14)
    assert float(tangent) == pytest.approx(2 * float(POINT**2 @ [1, 2]), rel=1e-14)


@pytest.mark.parametrize("write", ["copyto an array", "all of an array", "an element", "data"])
def test_what_was_used_counts_in_jit(write: str) -> None:
    f = whole(WRITES[write])
    g = tg.jit(f)
    for _ in range(2):
        assert float(g(POINT)) == pytest.approx(float(f(POINT)), rel=1e-14)


@pytest.mark.parametrize("write", REFUSED)
def test_writes_through_numpy_are_refused(write: str) -> None:
    with pytest.raises(TracegradError, match=r"test_writes_in_traces.py:\d+.*written to\s+later"):
        tg.jit(whole(REFUSED[write]))(POINT)
    f = part(REFUSED[write])
    try:
        found = tg.jit(f)(POINT)
    except TracegradError as error:
        assert "which is not known" in str(error)  # noqa: PT017
    else:
        assert float(found) == float(f(POINT))


SHARED = np.array([1.0, 2.0])
OF_ARRAY = tg.from_numpy(SHARED)


def test_memory_that_numpy_writes_while_the_function_is_traced() -> None:
    def f(x: Any) -> Any:
        SHARED[:] = [1.0, 2.0]
        y = (x * OF_ARRAY).sum()
        SHARED[:] = [7.0, 7.0]
        return y

    f(POINT)
    with pytest.raises(TracegradError):
        tg.jit(f)(POINT)


STATE = tg.tensor([1.0, 2.0])


def other_data(x: Any) -> Any:
    w = tg.tensor([1.0, 2.0])
    y = (x * w).sum()
    w.data = OTHER
    return y + (x * w).sum()


def other_data_then_written(x: Any) -> Any:
    w, v = tg.tensor([1.0, 2.0]), tg.tensor([3.0, 4.0])
    w.data = v
    v.add_(1)
    y = (x * w).sum()
    w.mul_(2)
    return y + (x * v).sum()


def data_from_outside(x: Any) -> Any:
    y = (x * STATE).sum()
    STATE.data = x * 2.0
    return y + (x * STATE).sum()


@pytest.mark.parametrize("f", [other_data, other_data_then_written, data_from_outside])
def test_another_data(f: Any) -> None:
    x = tg.tensor(POINT)
    before = STATE.clone()
    expected = [float(f(x)) for _ in range(2)], STATE.tolist()
    STATE.data = before
    g = tg.jit(f)
    assert ([float(g(x)) for _ in range(2)], STATE.tolist()) == expected


GENERATOR = torch.Generator().manual_seed(1)


def test_seeds_in_traced_functions() -> None:
    def reads(x: Any) -> Any:
        return torch.get_rng_state().sum() + x

    def forks(x: Any) -> Any:
        with torch.random.fork_rng():
            return x * torch.rand(2)

    refused = [
        lambda x: (tg.manual_seed(3), x * tg.rand(2))[1],
        lambda x: (GENERATOR.manual_seed(3), x * tg.rand(2))[1],
        lambda x: (torch.set_rng_state(tg.zeros(16, dtype=tg.uint8)), x * tg.rand(2))[1],
        reads,
        forks,
        lambda x: tg.fori_loop(0, 3, lambda k, c: (tg.manual_seed(3), c * tg.rand(2))[1], x),
    ]
    for f in refused:
        with pytest.raises(TracegradError, match="at each call or pass"):
            tg.jit(f)(POINT)

    def own(x: Any) -> Any:
        g = torch.Generator().manual_seed(7)
        first = x * torch.rand(2, generator=g)
        g.manual_seed(7)
        return first - x * torch.rand(2, generator=g)

    g = tg.jit(own)
    for _ in range(2):
        assert np.asarray(g(POINT)).tolist() == [0.0, 0.0]
    tg.manual_seed(5)
    expected = np.asarray(tg.rand(2))
    mapped = tg.vmap(lambda x: (tg.manual_seed(5), x * tg.rand(2))[1], randomness="same")
    np.testing.assert_array_equal(mapped(np.ones((1, 2)))[0], expected)
