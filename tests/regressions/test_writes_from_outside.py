"""What a jitted function writes into Tensors that it did not make comes from Tensors and arrays
that it did not make either: each call writes what they hold then."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

FLIPPED, FIRST = tg.tensor([1, 0]), tg.tensor([True, False])
PLAIN = np.array([4.0, 5.0])


def _item(key: Any, of: Callable[[Any], Any] = lambda b: b) -> Callable[[Any, Any], Any]:
    return lambda a, b: a.__setitem__(key, of(b))


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "copy_": lambda a, b: a.copy_(b),
    "copy_ detached": lambda a, b: a.copy_(b.detach()),
    "copy_ data": lambda a, b: a.copy_(b.data),
    "copy_ view": lambda a, b: a.copy_(b.view(2)),
    "copy_ element": lambda a, b: a.copy_(b[0]),
    "copy_ float": lambda a, b: a.copy_(b.float()),
    "copy_ integers": lambda a, b: a.copy_(FLIPPED),
    "copy_ array": lambda a, b: a.copy_(PLAIN),
    "copy_ of array": lambda a, b: a.copy_(tg.from_numpy(PLAIN)),
    "copy_ ones": lambda a, b: a.copy_(tg.ones(2)),
    "copyto": lambda a, b: np.copyto(a, b),
    "copyto array": lambda a, b: np.copyto(a, PLAIN),
    "[:]": _item(slice(None)),
    "[...]": _item(...),
    "[:] array": _item(slice(None), lambda b: PLAIN),
    "[...] array": _item(..., lambda b: PLAIN),
    "[:] list": _item(slice(None), lambda b: [1.0, 2.0]),
    "[:] number": _item(slice(None), lambda b: 3.0),
    "[0]": _item(0, lambda b: b[1]),
    "[0] number": _item(0, lambda b: 2.0),
    "[mask]": _item(FIRST, lambda b: b[FIRST]),
    "[indices]": _item(FLIPPED),
    "fill_": lambda a, b: a.fill_(b[0]),
    "fill_ number": lambda a, b: a.fill_(np.float64(2.0)),
    "zero_": lambda a, b: a.zero_(),
    "of a view": lambda a, b: a[1:].copy_(b[:1]),
    "of a view of one": lambda a, b: a[0].copy_(b[1]),
    "of detached": lambda a, b: a.detach().copy_(b),
    "of data": lambda a, b: a.data.copy_(b),
    "of data, zero_": lambda a, b: a.data.zero_(),
    "out=": lambda a, b: np.multiply(b, b, out=a),
    "masked_fill_": lambda a, b: a.masked_fill_(FIRST, b[0]),
    "index_copy_": lambda a, b: a.index_copy_(0, FLIPPED, b),
    "scatter_": lambda a, b: a.scatter_(0, FLIPPED, b),
    "put_": lambda a, b: a.put_(FLIPPED, b),
    "lerp_": lambda a, b: a.lerp_(b, 1.0),
    "ones_": lambda a, b: tg.nn.init.ones_(a),
    "swapped": lambda a, b: [t := a.clone(), a.copy_(b), b.copy_(t)],
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(
    ("write", "into"),
    [(write, into) for write in WRITES for into in ("outside", "made")]
    + [(write, into) for write in list(WRITES)[::4] for into in ("a weight", "argument")],
)
def test_each_call_writes_what_is_there(write: str, into: str) -> None:
    def run(jit: Callable[[Any], Any]) -> list[Any]:
        PLAIN[:] = 4.0, 5.0
        here = SimpleNamespace(
            a=tg.tensor([1.0, 2.0], requires_grad=into == "a weight"), b=tg.tensor([3.0, 5.0])
        )

        def body(x: Any) -> Any:
            a = x if into == "argument" else tg.zeros(2) if into == "made" else here.a
            with tg.no_grad():
                WRITES[write](a, here.b)
            return ((x * 2).sum() + (a * 3).sum()).detach()

        called, found = jit(body), []
        for k in range(4):
            if k == 2:
                here.b = tg.tensor([7.0, 8.0])
            elif k == 3:
                here.b.add_(1)
                PLAIN[:] = 6.0, 7.0
            with tg.no_grad():
                here.a.mul_(1.5)
            x = tg.tensor([0.5, 1.5])
            found += [called(x).tolist(), x.tolist(), here.a.tolist(), here.b.tolist()]
        return found

    for got, wanted in zip(run(tg.jit), run(lambda f: f), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


READS: dict[str, Callable[[Any], Any]] = {
    "numpy()": lambda a: a.numpy(force=True)[0],
    "sum": lambda a: a.numpy(force=True).sum(),
    "asarray": lambda a: np.asarray(a)[0],
    "array": lambda a: np.array(a)[0],
    "tolist": lambda a: a.tolist()[0],
    "condition": lambda a: 2.0 if a.numpy(force=True)[0] > 6 else 3.0,
    "bytes": lambda a: float(a.numpy(force=True).tobytes()[6]),
    "memory": lambda a: memoryview(a.numpy(force=True))[0],
    "position": lambda a: float(tg.arange(10.0)[int(a.numpy(force=True)[0])]),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize(
    ("used", "weight"), [("nowhere", 0), ("before", 1), ("after", 0), ("inside", 0)]
)
@pytest.mark.parametrize("read", READS)
def test_elements_that_the_program_asks_for(read: str, weight: int, used: str) -> None:
    def run(jit: Callable[[Any], Any]) -> list[Any]:
        a = tg.tensor([7.0, 8.0], requires_grad=bool(weight))

        def body(x: Any) -> Any:
            r = (x * a).sum() if used == "before" else x.sum()
            with tg.no_grad():
                r = r * READS[read](a)
            return (r + (x * a).sum() if used == "after" else r).detach()

        inner = jit(body) if used == "inside" else body
        called, x, found = jit(lambda x: inner(x) * 1), tg.tensor([1.0, -2.0]), []
        for k in range(3):
            with tg.no_grad():
                a.copy_(tg.tensor([7.0 - k // 2, 8.0 - k // 2]))
            found.append(called(x).tolist())
        return found

    assert run(tg.jit) == run(lambda f: f)


def test_numpy_writes_are_refused_in_a_trace() -> None:
    a = tg.tensor([1.0, 2.0])

    @tg.jit
    def filled(x: Any) -> Any:
        a.numpy()[:] = 2.0
        return (x * a).sum()

    with pytest.raises(tg.TracegradError, match=r"numpy\(\).*happens once"):
        filled(tg.ones(2))
    assert a.tolist() == [1.0, 2.0]


ASKED: dict[str, Callable[[Any], Any]] = {
    "maximum": lambda n: float(n.max()),
    "number of NumPy": lambda n: n.max(),
    "condition": lambda n: 2.0 if n.max() > 6 else 3.0,
    "array": lambda n: (n * 2)[:1],
    "element": lambda n: n[0],
    "integer": lambda n: int(n[0]),
    "count": lambda n: len(np.flatnonzero(n > 6.5)),
    "any": lambda n: float(np.any(n > 6.5)),
}


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("size", [4, 2000])
@pytest.mark.parametrize("asked", ASKED)
def test_elements_of_plain_arrays(asked: str, size: int, used: bool) -> None:
    """A plain array that NumPy reads is compared at each call, whether it is an operand, too, or
    large, and although a change may leave what is recorded as it was."""

    def run(jit: Callable[[Any], Any]) -> list[Any]:
        n = np.zeros(size)
        n[:2] = 7.0, 8.0

        def body(x: Any) -> Any:
            r = (x * n).sum() if used else x.sum()
            return (r * ASKED[asked](n)).sum()

        called, x, found = jit(body), tg.tensor(2.0), []
        for k in range(4):
            n[:2] = 7.0 - k, 8.0 - k
            found.append(called(x).tolist())
        return found

    assert run(tg.jit) == run(lambda f: f)


@pytest.mark.parametrize("size", [4, 2000])
def test_arrays_that_are_operands_only_are_not_compared(size: int) -> None:
    weights = np.ones(size)

    def body(x: Any) -> Any:
        if x.ndim:
            x = x * 1.0
        return (x * weights).sum()

    called = tg.jit(body)
    for k in range(3):
        weights[:] = k
        assert called(np.ones(size)) == k * size
    (entry,) = called._signatures.entries.values()
    assert not entry.contents
