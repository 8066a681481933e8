"""A user's arrays may be written to after they stood beside differentiated values: derivatives are
those of what they held, or refused.

Every way to hold on to an array: operands of recorded operations, arguments and results of `vjp`
and `linearize`, live calls of jitted functions, what a checkpoint runs on again.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.ir.contents import SMALL, digest
from tracegrad.tape import lent
from tracegrad.utils.checkpoint import checkpoint

WRAP: dict[str, Callable[[Any], Any]] = {"eager": lambda f: f, "jit": tg.jit}
SIZES = {"small": 3, "shared": SMALL // 4}


def ones_and_twos(n: int) -> Any:
    return np.arange(n) % 2 + 1.0


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "x * b": lambda x, b: x * b,
    "b * x": lambda x, b: b * x,
    "x / b": lambda x, b: x / b,
    "x ** b": lambda x, b: x**b,
    "b ** x": lambda x, b: b**x,
    "x @ b": lambda x, b: x @ b,
    "dot": lambda x, b: np.dot(x, b),
    "where": lambda x, b: np.where(b > 1.5, x * x, x),
    "where of a mask": lambda x, b: tg.where((b > 1.5), x * x, x),
    "maximum": lambda x, b: np.maximum(x, b),
    "arctan2": lambda x, b: np.arctan2(x, b),
    "index": lambda x, b: x[(b - 1).astype(int)] * x,
    "einsum": lambda x, b: np.einsum("i,i->i", x, b),
    "einsum of three": lambda x, b: np.einsum("i,i,i->", x, b, b),
    "concatenate": lambda x, b: np.concatenate([x * b, b]),
    "read-only view": lambda x, b: x * np.broadcast_to(b, (2, len(b))),
    "strided": lambda x, b: x * b[::-1],
    "loop": lambda x, b: tg.fori_loop(0, 2, lambda k, c: c * b, x),
    "write": lambda x, b: written(x, b),
}


def written(x: Any, b: Any) -> Any:
    y = x * x
    y[:1] = b[:1]
    return y * b


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operands(name: str, size: str) -> None:
    """Tensors with backward, a transform whose function writes before it returns, and a pullback
    that is called later."""
    n = SIZES[size]
    start = ones_and_twos(n)[::-1] / 2

    def run(x: Any, disturb: bool) -> Any:
        b = ones_and_twos(n)
        y = np.sum(OPERATIONS[name](x, b)) * 1.0
        if disturb:
            b[:] = 7.0
        return y

    expected = tg.grad(lambda x: run(x, False))(start)
    np.testing.assert_array_equal(tg.grad(lambda x: run(x, True))(start), expected)
    _, pull = tg.vjp(lambda x: run(x, True), start)
    np.testing.assert_array_equal(pull(1.0)[0], expected)
    x = tg.tensor(start, requires_grad=True)
    run(x, True).backward()
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    hessian = tg.hvp(lambda x: run(x, False), (start,), (start,))
    np.testing.assert_array_equal(tg.hvp(lambda x: run(x, True), (start,), (start,)), hessian)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int64, np.int8, bool])
def test_dtypes(dtype: Any) -> None:
    b = np.array([1, 0, 1]).astype(dtype)
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x * b).real.sum()
    b[:] = 0
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 0.0, 1.0])


@pytest.mark.parametrize("wrap", WRAP)
@pytest.mark.parametrize(
    "f", [lambda x: x * x, np.exp, lambda x: x, np.sort], ids=["square", "exp", "identity", "sort"]
)
@pytest.mark.parametrize("kind", ["array", "tensor", "leaf"])
def test_arguments_and_results_of_what_is_called_later(
    f: Callable[[Any], Any], wrap: str, kind: str
) -> None:
    def given() -> Any:
        return (
            np.array([2.0, 1.0])
            if kind == "array"
            else tg.tensor([2.0, 1.0], requires_grad=kind == "leaf")
        )

    def disturb(x: Any) -> None:
        with tg.no_grad():
            x[...] = 9.0

    for which in ("argument", "result"):
        x = given()
        y, pull = tg.vjp(WRAP[wrap](f), x)
        expected = np.array(pull(x * 0 + 1.0)[0].tolist())
        if which == "argument" or kind != "leaf":
            # A tracked result that is written to is refused by its version, as everywhere.
            disturb(x if which == "argument" else y)
            np.testing.assert_array_equal(pull(given() * 0 + 1.0)[0].tolist(), expected)
        x = given()
        y, push = tg.linearize(WRAP[wrap](f), x)
        expected = np.array(push(given() * 0 + 1.0).tolist())
        disturb(x if which == "argument" else y)
        np.testing.assert_array_equal(push(given() * 0 + 1.0).tolist(), expected)


def test_what_is_returned_besides() -> None:
    x = np.array([1.0, 2.0])
    own = np.zeros(2)
    _, pull, (aux, mine) = tg.vjp(lambda x: (np.sum(e := np.exp(x)), (e, own)), x, has_aux=True)
    aux[:] = 0
    assert mine is own
    np.testing.assert_array_equal(pull(1.0)[0], np.exp(x))


@pytest.mark.parametrize("kind", [np.array, tg.tensor], ids=["array", "tensor"])
def test_what_a_linear_function_has_read(kind: Callable[[Any], Any]) -> None:
    b = kind([1.0, 2.0])
    _, push = tg.linearize(lambda x: x * b, np.ones(2))
    b[...] = 9.0
    np.testing.assert_array_equal(push(np.ones(2)), [1.0, 2.0])


@pytest.mark.parametrize("size", SIZES)
def test_live_calls(size: str) -> None:
    b = ones_and_twos(SIZES[size])
    w = tg.tensor(b, requires_grad=True)
    y = tg.jit(lambda w, b: (w * b * b).sum())(w, b)
    z = tg.jit(lambda w: (w * b).sum())(w)
    expected = b * b + b
    b[:] = 9.0
    (y + z).backward()
    np.testing.assert_array_equal(w.grad.numpy(), expected)


def test_one_copy_serves_all_uses() -> None:
    b = np.ones(SMALL)
    x = tg.tensor(b, requires_grad=True)
    nodes = [(x * b).grad_fn for _ in range(5)]
    kept = {id(node.saved[0][1]) for node in nodes}
    assert len(kept) == 1
    b[0] = 2.0
    later = (x * b).grad_fn
    assert id(later.saved[0][1]) not in kept
    np.testing.assert_array_equal(later.saved[0][1], b)
    del nodes, later
    gc.collect()
    assert id(b) not in lent._COPIES


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "every other": lambda b: b[::2],
    "reversed": lambda b: b[::-1],
    "columns": lambda b: b.reshape(-1, 8)[:, 1:6],
    "crosswise": lambda b: b.reshape(-1, 8)[:, 1:6].T,
    "repeated": lambda b: np.broadcast_to(b.reshape(-1, 8)[:, 3:], (2, b.size // 8, 5)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int8])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_copy_serves_all_uses_of_an_array_with_gaps(layout: str, dtype: Any) -> None:
    base = (np.arange(8 * SMALL) % 7).astype(dtype)
    b = LAYOUTS[layout](base)
    kept = lent.lend(b)[1]
    assert lent.lend(b)[1] is kept
    assert lent.lend(b)[1] is kept
    before = b.copy()
    base[base.size // 2 + 3 :: 8] += 1
    base[base.size // 2 + 4 :: 8] += 1
    now = lent.lend(b)[1]
    assert now is not kept
    np.testing.assert_array_equal(kept, before)
    np.testing.assert_array_equal(now, b)


def test_arrays_too_large_to_copy_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lent, "COPIED", SMALL)
    b = np.ones((SMALL // 8, 3))
    x = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (b @ x).sum()
    y.backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), [SMALL / 8] * 3)
    assert y.grad_fn.next_functions[0][0]._saved_self.shape == b.shape
    b[17, 1] = 2.0
    with pytest.raises(
        RuntimeError,
        match=(
            r"modified by an inplace operation: a NumPy array of shape \(8192, 3\) and dtype "
            r"float64"
        ),
    ):
        y.backward(retain_graph=True)
    b[17, 1] = 1.0
    y.backward()
    b.flags.writeable = False
    z = (b @ x).sum()
    assert z.grad_fn.next_functions[0][0].saved[0][0] is None


def test_traces_notice_writes_to_large_arrays() -> None:
    @tg.jit
    def f(x: Any) -> Any:
        buffer = np.ones(SMALL)
        y = np.sum(x * buffer)
        buffer[5] = 3.0
        return y

    with pytest.raises(
        tg.TracegradError,
        match=(
            r"test_lent_arrays.py:\d+: an array of shape \(65536,\) is used here, and written "
            r"to later in f"
        ),
    ):
        f(np.ones(SMALL))


@pytest.mark.parametrize("wrap", WRAP)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "f",
    [
        lambda x, b: np.sin(x * b).sum(),
        lambda x, b: np.sin(x + b).sum(),
        lambda x, b: checkpoint(lambda x: (x * b).exp(), x, use_reentrant=False).sum(),
    ],
    ids=["saved", "read", "nested"],
)
def test_what_a_checkpoint_runs_on_again(
    f: Callable[[Any, Any], Any], size: str, wrap: str
) -> None:
    b = ones_and_twos(SIZES[size])
    x = tg.tensor(b, requires_grad=True)
    for again in (
        lambda: checkpoint(WRAP[wrap](f), x, b, use_reentrant=False),
        lambda: tg.checkpoint(WRAP[wrap](lambda x: f(x, b)))(x),
    ):
        again().backward()
        y = again()
        b[-1] += 1.0
        with pytest.raises(
            RuntimeError,
            match=r"holds something else than when it ran first|modified by an inplace",
        ):
            y.backward()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int8])
@pytest.mark.parametrize("shape", [(SMALL + 1,), (300, 400), (7, 50, 401)])
@pytest.mark.parametrize(
    "layout", ["c", "f", "strided", "reversed", "transposed", "broadcast", "unaligned"]
)
def test_a_digest_tells_contents_apart(layout: str, shape: tuple[int, ...], dtype: Any) -> None:
    rng = np.random.default_rng(len(layout))
    base = rng.integers(-100, 100, (*shape[:-1], 2 * shape[-1])).astype(dtype)
    if layout == "unaligned":
        octets = np.zeros(base.nbytes + 1, np.int8)
        octets[1:] = np.frombuffer(base.tobytes(), np.int8)
        base = octets[1:].view(dtype).reshape(base.shape)
    x = {
        "c": lambda: base[..., : shape[-1]].copy(),
        "f": lambda: np.asfortranarray(base),
        "strided": lambda: base[..., ::2],
        "reversed": lambda: base[::-1],
        "transposed": lambda: base.T,
        "broadcast": lambda: np.broadcast_to(base, (3, *base.shape)),
        "unaligned": lambda: base,
    }[layout]()
    core = x[0] if layout == "broadcast" else x
    core.flags.writeable = True
    before = digest(x)
    assert digest(x) == before
    for _ in range(20):
        at = tuple(rng.integers(n) for n in core.shape)
        old = core[at]
        core[at] = old + 1
        assert digest(x) != before
        core[at] = old
    assert digest(x) == before
    one, other = (tuple(rng.integers(n) for n in core.shape) for _ in range(2))
    if core[one] != core[other]:
        core[one], core[other] = core[other], core[one]
        assert digest(x) != before


CHANGES: dict[str, Callable[[Any], Any]] = {
    "all signs": lambda x: -x,
    "signs of two rows": lambda x: x * np.where(np.arange(len(x)) < 2, -1, 1)[:, None],
    "signs of two columns": lambda x: x * np.where(np.arange(x.shape[1]) < 2, -1, 1),
    "twice": lambda x: x * 2,
    "upside down": lambda x: x[::-1],
    "from right to left": lambda x: x[:, ::-1],
    "transposed": lambda x: x.T,
    "rolled": lambda x: np.roll(x, 1),
    "halves exchanged": lambda x: np.roll(x, x.size // 2),
    "rows exchanged": lambda x: x[[1, 0, *range(2, len(x))]],
    "rows in another order": lambda x: x[np.random.default_rng(1).permutation(len(x))],
    "one up, one down": lambda x: x + np.where(np.arange(x.size) < 2, [1, -1] * (x.size // 2), 0)
    .reshape(x.shape).astype(x.dtype),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "uint8"])
@pytest.mark.parametrize("content", ["any", "signs", "even"])
def test_every_change_has_another_digest(content: str, dtype: str) -> None:
    """Of numbers of which many sums are alike: a matrix of Hadamard's has as many ones as minus
    ones in each row and column but the first."""
    n = 512
    x = np.random.default_rng(0).integers(1, 100, (n, n))
    if content == "signs":
        k = np.arange(n)
        x = 1 - 2 * (np.bitwise_count(k[:, None] & k) % 2).astype(int)
        x[0, 1] = 3
    elif content == "even":
        x = np.tile(x[:2], (n // 2, 1)) * np.where(np.arange(n) % 2, 1, -1)
    x = x.astype(dtype)
    known = {digest(x)}
    assert digest(x.copy()) in known
    for name, change in CHANGES.items():
        other = np.ascontiguousarray(change(x))
        assert (digest(other) in known) == np.array_equal(other, x), name
