"""Section 8 of the torch.autograd contract, line by line: hooks on saved tensors, copies on
the CPU, and saved values that may be changed."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tracegrad import autograd
from tracegrad.autograd import graph


class Log:
    """A pair of hooks that hands tensors through and keeps a list."""

    def __init__(self) -> None:
        self.packed: list[Any] = []
        self.unpacked = 0

    def pack(self, t: Any) -> Any:
        self.packed.append(t)
        return t.detach()

    def unpack(self, t: Any) -> Any:
        self.unpacked += 1
        return t


# --- saved_tensors_hooks --------------------------------------------------------------------------


def test_inputs_and_results_are_packed() -> None:
    """Pack gets the tensors that are saved, inputs as they are; numbers are not packed; unpack is
    called in the backward pass."""
    x, b, log = leaf(1, 2), leaf(3, 4), Log()
    with graph.saved_tensors_hooks(log.pack, log.unpack):
        y = x * b
        z = y.exp()
        s = (z * 2).sum()
    assert log.packed[0] is x
    assert log.packed[1] is b
    assert log.packed[2].tolist() == z.tolist()
    assert len(log.packed) == 3
    assert log.unpacked == 0
    s.backward()
    assert log.unpacked == 3
    assert np.allclose(x.grad.numpy(), 2 * np.exp([3, 8]) * [3, 4])


def test_results_come_without_history() -> None:
    """Different on purpose: what is packed of a node's own result does not lead back to the node,
    so that keeping it makes no cycle."""
    gc.collect()
    gc.disable()
    try:
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = leaf(1, 2).exp()
        reference = weakref.ref(y.grad_fn)
        del y
        assert reference() is None
    finally:
        gc.enable()


def test_only_the_innermost_pair() -> None:
    """Of nested pairs only the innermost is called; the outer one comes back."""
    x, outer, inner = leaf(1, 2), Log(), Log()
    with graph.saved_tensors_hooks(outer.pack, outer.unpack):
        with graph.saved_tensors_hooks(inner.pack, inner.unpack):
            x.exp()
        assert (len(outer.packed), len(inner.packed)) == (0, 1)
        x.exp()
    assert (len(outer.packed), len(inner.packed)) == (1, 1)
    x.exp()
    assert (len(outer.packed), len(inner.packed)) == (1, 1)


def test_pack_may_not_write() -> None:
    """A pack hook that modifies its input is refused."""

    def pack(t: Any) -> Any:
        with tg.no_grad():
            t.add_(1)
        return t

    with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        with graph.saved_tensors_hooks(pack, lambda t: t):
            (leaf(1, 2) * 2).exp()
    assert graph.saved_tensors_hooks(pack, pack)  # making it opens nothing


@pytest.mark.parametrize(
    ("unpack", "error", "message"),
    [
        (lambda t: 3, TypeError, "unpack_hook expected to be a Tensor but got result of type int"),
        (lambda t: None, TypeError, "but got result of type NoneType"),
        (
            lambda t: t[:1],
            RuntimeError,
            r"unpack_hook returned a Tensor of shape \(1,\) in place of one of shape \(2,\)",
        ),
        (lambda t: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_unpack_must_return_the_tensor(unpack: Any, error: type[Exception], message: str) -> None:
    """unpack must return a Tensor (and here: of the right shape); its own errors come through."""
    x = leaf(1, 2)
    with graph.saved_tensors_hooks(lambda t: t.detach(), unpack):
        y = x.exp()
    with pytest.raises(error, match=message):
        y.sum().backward()


def test_errors_of_pack() -> None:
    """An error in pack comes out of the operation, and the mode is closed behind it."""

    def pack(t: Any) -> Any:
        raise KeyError("no room")

    x = leaf(1, 2)
    with pytest.raises(KeyError, match="no room"):
        with graph.saved_tensors_hooks(pack, pack):
            x.exp()
    x.exp().sum().backward()
    with pytest.raises(TypeError, match="takes two functions"):
        graph.saved_tensors_hooks(pack, 3)  # type: ignore[arg-type]


def test_lossy_packing_keeps_the_dtype() -> None:
    """What is unpacked in another dtype is cast back."""
    x = leaf(1, 2.5)
    with graph.saved_tensors_hooks(lambda t: t.detach().float(), lambda t: t):
        y = x * x
    y.sum().backward()
    assert x.grad.dtype == np.float64
    assert x.grad.tolist() == [2, 5]


def test_no_version_check() -> None:
    """Tensors that went through hooks are not checked for in-place changes; the hook decides what
    is kept."""
    x = leaf(1, 2)
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x.exp()
        z = y * y
    y.add_(1)
    z.sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * np.exp([2, 4]))


def test_hooks_and_double_backward() -> None:
    """Unpacked tensors have their place in the graph, also those of a recorded backward pass."""
    x, log = leaf(1, 2), Log()
    with graph.saved_tensors_hooks(log.pack, log.unpack):
        y = (x * x).exp()
        (g,) = autograd.grad(y.sum(), x, create_graph=True)
    before = len(log.packed)
    (h,) = autograd.grad(g.sum(), x)
    assert before > 3, "the nodes of the backward pass were packed too"
    assert np.allclose(h.numpy(), (2 + 4 * np.array([1.0, 4.0])) * np.exp([1, 4]))


def test_hooks_run_unrecorded_and_unhooked() -> None:
    """What hooks compute is not recorded, nor packed again."""
    x = leaf(1, 2)

    def pack(t: Any) -> Any:
        assert not tg.is_grad_enabled()
        with tg.enable_grad():
            return t * 2

    with graph.saved_tensors_hooks(pack, lambda t: t / 2):
        y = (x * x).exp()
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == first.tolist()
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[1:] * x[1:],
        lambda x: x.t() @ x,
        lambda x: x.view(6).exp(),
        lambda x: x * np.ones((2, 3)),
        abs,
    ],
)
def test_packed_graphs_have_the_same_gradients(make: Any) -> None:
    """Views, products, arrays beside tensors: packing to lists and back changes no gradient."""
    data = np.arange(6.0).reshape(2, 3) - 2
    x, y = (tg.tensor(data, requires_grad=True) for _ in range(2))
    with graph.saved_tensors_hooks(
        lambda t: (t.detach().numpy().tolist(), t.dtype), lambda p: tg.tensor(p[0], dtype=p[1])
    ):
        out = make(x)
    out.sum().backward()
    make(y).sum().backward()
    assert np.array_equal(x.grad.numpy(), y.grad.numpy())


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 1, 2)])
def test_packed_shapes(shape: tuple[int, ...]) -> None:
    """Empty and 0-d tensors, float32."""
    x = tg.ones(shape, dtype=np.float32, requires_grad=True)
    with graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    assert x.grad.shape == shape
    assert x.grad.dtype == np.float32
    assert np.allclose(x.grad.numpy(), 2 * np.exp(1))


def test_a_compiled_function_under_hooks() -> None:
    """A compiled call packs its inputs and results alone, and computes the rest anew."""
    log = Log()

    @tg.jit
    def f(x: Any) -> Any:
        return tg.sin(x) * tg.exp(x)

    x = leaf(1, 2)
    with graph.saved_tensors_hooks(log.pack, log.unpack):
        y = f(x)
    assert [t.shape for t in log.packed] == [(2,), (2,)]
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), np.exp([1, 2]) * (np.sin([1, 2]) + np.cos([1, 2])))


class Exp(autograd.Function):
    """What a user writes."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y + 0 * x


def test_custom_functions_under_hooks() -> None:
    """What a custom Function saves goes through the hooks as well."""
    x, log = leaf(1, 2), Log()
    with graph.saved_tensors_hooks(log.pack, log.unpack):
        y = Exp.apply(x)
    assert log.packed[0] is x
    assert len(log.packed) == 2
    y.sum().backward()
    assert log.unpacked == 2
    assert np.allclose(x.grad.numpy(), np.exp([1, 2]))


def test_saving_to_disk(tmp_path: Path) -> None:
    """The use of the notebooks: what is saved lies in files until it is needed."""
    names: list[Path] = []

    def pack(t: Any) -> Path:
        names.append(tmp_path / f"{len(names)}.npy")
        np.save(names[-1], t.detach().numpy())
        return names[-1]

    x = leaf(1, 2, 3)
    with graph.saved_tensors_hooks(pack, lambda name: tg.from_numpy(np.load(name))):
        y = (x.sin() * x).sum()
    assert len(names) == 3
    assert all(n.exists() for n in names)
    y.backward()
    assert np.allclose(x.grad.numpy(), np.cos([1, 2, 3]) * [1, 2, 3] + np.sin([1, 2, 3]))


def test_save_on_cpu() -> None:
    """`save_on_cpu(pin_memory=False, device_type="cuda")` keeps copies: later writes do not reach
    them."""
    x = leaf(1, 2)
    with graph.save_on_cpu(pin_memory=True):
        y = x * 1
        z = y * y
    y.zero_()
    z.sum().backward()
    assert x.grad.tolist() == [2, 4]


def test_disable_saved_tensors_hooks() -> None:
    """`disable_saved_tensors_hooks(msg)`: opening hooks inside is a RuntimeError(msg), innermost
    message first; so is entering it inside."""
    with graph.disable_saved_tensors_hooks("outer"):
        with (
            graph.disable_saved_tensors_hooks("inner"),
            pytest.raises(RuntimeError, match=r"^inner$"),
        ):
            with graph.save_on_cpu():
                pass
        with pytest.raises(RuntimeError, match=r"^outer$"):
            with graph.saved_tensors_hooks(abs, abs):
                pass
    with graph.save_on_cpu():
        with pytest.raises(RuntimeError, match=r"^now$"), graph.disable_saved_tensors_hooks("now"):
            pass
        leaf(1).exp().sum().backward()


def test_allow_mutation_on_saved_tensors() -> None:
    """`allow_mutation_on_saved_tensors()`: what was saved is copied before it is overwritten,
    through views and bases too."""
    x = leaf(1, 2)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = (y * y).sum()
        y.sin_()
        z.backward()
        assert x.grad.tolist() == [2, 4]
        x.grad = None
        e = x.exp()
        square = (e[:1] * e[1:]).sum()
        e[:1].mul_(3)
        e.zero_()
        square.backward()
        assert np.allclose(x.grad.numpy(), np.exp(3))
        # A backward pass writes, too: it adds to a gradient that was saved.
        x.grad.fill_(5)
        w = leaf(1, 1)
        y = (w * x.grad).sum()
        (x * 2).sum().backward()
        y.backward()
        assert w.grad.tolist() == [5, 5]
        assert x.grad.tolist() == [7, 7]


def test_mutation_outside() -> None:
    """The context cannot be nested; its graphs cannot be used outside; graphs from before are
    checked as ever."""
    x = leaf(1, 2)
    before = x * 1
    square = (before * before).sum()
    with graph.allow_mutation_on_saved_tensors():
        y = (x * 1).exp().sum()
        before.add_(1)
        with (
            pytest.raises(RuntimeError, match="cannot be nested"),
            graph.allow_mutation_on_saved_tensors(),
        ):
            pass
        with pytest.raises(RuntimeError, match="modified by an inplace"):
            square.backward()
    with pytest.raises(
        RuntimeError, match="backward outside of the 'allow_mutation_on_saved_tensors' context"
    ):
        y.backward()
    with graph.allow_mutation_on_saved_tensors():
        (x * 1).exp().sum().backward()
