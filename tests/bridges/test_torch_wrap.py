"""`tg.torch.wrap`: compiled functions in PyTorch's own autograd and torch.func."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
F64 = {"dtype": torch.float64}


def energy(x: Any, k: Any) -> Any:
    return np.sum(np.exp(-k * (x[1:] - x[:-1]) ** 2))


def torchs_energy(x: Any, k: Any) -> Any:
    return torch.sum(torch.exp(-k * (x[1:] - x[:-1]) ** 2))


def arguments() -> tuple[Any, Any]:
    x = torch.tensor([0.1, 0.5, 0.2, 0.9], **F64, requires_grad=True)
    return x, torch.tensor(2.0, **F64, requires_grad=True)


def test_value_and_gradient() -> None:
    x, k = arguments()
    ours, theirs = tg.torch.wrap(energy)(x, k), torchs_energy(x, k)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (x, k)), torch.autograd.grad(theirs, (x, k))
    )


def test_every_derivative_by_differences() -> None:
    """Reverse, forward, reverse over reverse, forward over reverse; of one number and of a tree."""
    x, k = arguments()
    for f in (
        energy,
        lambda x, k: {"y": np.sin(x) * k, "n": np.argmax(x), "z": (x[0] * 1j, k**2)},
    ):
        wrapped = tg.torch.wrap(f)

        def real(x: Any, k: Any, wrapped: Callable[..., Any] = wrapped) -> Any:
            found = wrapped(x, k)
            return found if isinstance(found, torch.Tensor) else (found["y"], *found["z"])

        assert torch.autograd.gradcheck(real, (x, k), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(real, (x, k), check_fwd_over_rev=True)


def test_third_derivative() -> None:
    x = torch.tensor(0.7, **F64, requires_grad=True)
    y = tg.torch.wrap(lambda x: np.sin(x) * x)(x)
    expected = torch.sin(x) * x
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
        (expected,) = torch.autograd.grad(expected, x, create_graph=True)
        torch.testing.assert_close(y, expected)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: torch.func.grad(f),
        lambda f: torch.func.hessian(f),
        lambda f: torch.func.jacrev(torch.func.jacrev(f)),
        lambda f: torch.func.jacfwd(torch.func.jacfwd(f)),
        lambda f: torch.func.jacrev(torch.func.hessian(f)),
    ],
    ids=["grad", "hessian", "jacrev jacrev", "jacfwd jacfwd", "third"],
)
@pytest.mark.parametrize("batched", [False, True])
def test_transforms(transform: Any, batched: bool) -> None:
    """torch.func's transforms, each under vmap too."""
    x = torch.linspace(-1, 1, 12, **F64).reshape(3, 4)
    wrapped = tg.torch.wrap(energy)
    ours = transform(lambda x: wrapped(x, 2.0))
    theirs = transform(lambda x: torchs_energy(x, 2.0))
    if batched:
        ours, theirs = torch.func.vmap(ours), torch.func.vmap(theirs)
    torch.testing.assert_close(ours(x if batched else x[0]), theirs(x if batched else x[0]))


def test_vmap_along_other_axes() -> None:
    x, k = torch.linspace(-1, 1, 12, **F64).reshape(3, 4), torch.tensor([1.0, 2.0, 3.0], **F64)
    ours = torch.func.vmap(tg.torch.wrap(energy), in_dims=(1, 0))(x.T, k)
    torch.testing.assert_close(ours, torch.func.vmap(torchs_energy)(x, k))


@pytest.mark.parametrize("create_graph", [False, True])
def test_what_needs_no_gradient_gets_none(create_graph: bool) -> None:
    x, k = arguments()
    y = tg.torch.wrap(energy)(x, k.detach())
    (found,) = torch.autograd.grad(y, x, create_graph=create_graph)
    torch.testing.assert_close(found, torch.autograd.grad(torchs_energy(x, k), x)[0])
    assert not tg.torch.wrap(energy)(x.detach(), 2.0).requires_grad
    with torch.no_grad():
        assert not tg.torch.wrap(energy)(x, 2.0).requires_grad


def test_gradients_of_one_number_come_with_the_value() -> None:
    """One run of the function for both; and a cotangent that is not 1."""
    x, k = arguments()
    wrapped = tg.torch.wrap(energy)
    runs = []

    def noted(x: Any, k: Any) -> Any:
        runs.append(1)
        return energy(x, k)

    wrapped = tg.torch.wrap(noted)
    (3.0 * wrapped(x, k)).backward()
    assert len(runs) == 1
    torch.testing.assert_close(x.grad, 3 * torch.autograd.grad(torchs_energy(x, k), x)[0])


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128], ids=str
)
def test_dtypes(dtype: Any) -> None:
    x = torch.tensor([0.5, -1.5, 2.0], dtype=dtype, requires_grad=True)
    y = tg.torch.wrap(lambda x: np.sum(np.abs(x * x + 1) ** 2))(x)
    expected = torch.sum(torch.abs(x * x + 1) ** 2)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(torch.autograd.grad(y, x), torch.autograd.grad(expected, x))


def test_memory_is_shared_and_layouts_are_read() -> None:
    x = torch.arange(12, **F64).reshape(3, 4)
    identity = tg.torch.wrap(lambda x: x * 1.0)
    torch.testing.assert_close(identity(x.T), x.T)
    torch.testing.assert_close(identity(x[:, ::2]), x[:, ::2])
    z = torch.tensor([1 + 2j, 3j]).conj()
    torch.testing.assert_close(identity(z), z.resolve_conj())
    # Results are the caller's own, even where the function hands its argument on.
    same = tg.torch.wrap(lambda x: x)(x)
    same[0, 0] = 99.0
    assert x[0, 0] == 0.0


def test_trees_of_arguments_and_modules() -> None:
    class Line(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(torch.zeros(3, **F64))
            self.loss = tg.torch.wrap(self.compute)

        @staticmethod
        def compute(p: Any, X: Any, *, y: Any) -> Any:
            return np.mean((X @ p["w"] - y) ** 2)

        def forward(self, X: Any, y: Any) -> Any:
            return self.loss({"w": self.weights}, X, y=y)

    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(20, 3)), np.array([1.0, -2.0, 0.5])
    model = Line()
    optimizer = torch.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = model(torch.from_numpy(X), X @ w)
        loss.backward()
        return loss

    for _ in range(5):
        optimizer.step(closure)
    np.testing.assert_allclose(model.weights.detach().numpy(), w, atol=1e-4)


def test_what_is_read_around_it_is_read_again() -> None:
    """In all derivatives: a number, and an array with which NumPy computes while it is traced."""
    factor, weights = [1.0], np.ones(2)
    for f in (lambda x: np.sum(x**3) * factor[0], lambda x: np.sum(x**3) * (np.sum(weights) / 2)):
        factor[0], weights[:] = 1.0, 1.0
        wrapped, x = tg.torch.wrap(f), torch.ones(1, **F64)
        ways = [torch.func.grad(wrapped), torch.func.hessian(wrapped), torch.vmap(wrapped)]
        before = [float(way(x[None] if way is ways[2] else x)) for way in ways]
        factor[0], weights[:] = 2.0, 2.0
        after = [float(way(x[None] if way is ways[2] else x)) for way in ways]
        assert (before, after) == ([3.0, 6.0, 1.0], [6.0, 12.0, 2.0])


def test_programs_with_loops_and_branches() -> None:
    def program(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            if x[i] > 1.0:
                total += x[i] ** 3
            else:
                total += 2.0 * x[i]
        return total

    wrapped, x = tg.torch.wrap(program), torch.tensor([0.5, 2.0], **F64)
    np.testing.assert_allclose(torch.func.grad(wrapped)(x), [2.0, 12.0])
    np.testing.assert_allclose(
        torch.func.hessian(wrapped)(x), [[0.0, 0.0], [0.0, 12.0]], atol=1e-14
    )


class TestErrors:
    def test_dtypes_that_are_none(self) -> None:
        with pytest.raises(tg.DTypeError, match=r"torch_wrap.py:\d+.*bfloat16"):
            tg.torch.wrap(energy)(torch.zeros(3, dtype=torch.bfloat16), 1.0)

    def test_writes_to_arguments(self) -> None:
        def f(x: Any) -> Any:
            x[0] = 1.0
            return x.sum()

        with pytest.raises(ValueError, match="read-only"):
            tg.torch.wrap(f)(torch.zeros(3, **F64))

    def test_what_the_function_raises(self) -> None:
        def f(x: Any) -> Any:
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            tg.torch.wrap(f)(torch.zeros(3, **F64, requires_grad=True))

    def test_other_devices(self) -> None:
        with pytest.raises(TypeError, match=r"on meta.*\.cpu\(\)"):
            tg.torch.wrap(energy)(torch.zeros(3, device="meta"), 1.0)


def test_pytorch_is_imported_by_the_call_alone() -> None:
    code = (
        "import sys, tracegrad as tg; tg.torch.wrap; assert 'torch' not in sys.modules; "
        "tg.torch.wrap(abs); assert 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
