"""`tracegrad.torch` against numbers that torch 2.13 gave for the same calls
(tests/data/torch.npz)."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.torch as torch
from tests.torch_calls import CASES, inputs, results

NUMBERS = dict(np.load(pathlib.Path(__file__).parents[1] / "data" / "torch.npz"))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_are_torchs(name: str) -> None:
    found = results(name, torch)
    expected = {key: value for key, value in NUMBERS.items() if key.startswith(f"{name}/")}
    assert {k for k in found if "/out" in k} == {k for k in expected if "/out" in k}
    for key in found.keys() | expected.keys():
        # Where one of both knows that a derivative is zero, the other may have computed it.
        a, b = found.get(key, np.array(0.0)), expected.get(key, np.array(0.0))
        np.testing.assert_allclose(
            a, b, rtol=1e-6 if b.dtype == np.float32 else 1e-9, atol=1e-11, err_msg=key
        )
        if key in found and key in expected:
            assert (a.shape, a.dtype) == (b.shape, b.dtype), key


COMPILED = (
    "max dim",
    "max other",
    "std",
    "median",
    "median dim",
    "sort",
    "topk",
    "kthvalue",
    "cummax",
    "logcumsumexp",
    "nanquantile",
    "norm keepdim",
    "split",
    "cat",
    "meshgrid",
    "unfold",
    "where",
    "gather",
    "scatter_reduce",
    "scatter_reduce amax",
    "scatter_reduce amin alone",
    "scatter_reduce prod",
    "scatter_reduce zeros",
    "index_reduce amin",
    "index_reduce prod alone",
    "index_add",
    "searchsorted rows",
    "div trunc",
    "addmm",
    "cdist",
    "linalg.solve right",
    "linalg.norm matrix",
    "cov",
    "trapezoid x",
    "polar",
    "view_as_complex",
    "block_diag",
    "fft.irfft",
    "stft",
    "istft",
    "linalg.lu_solve right",
    "select_scatter",
    "grid_sample reflection",
    "pdist",
)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_calls_give_the_same(name: str) -> None:
    arrays = inputs(name)
    floats = [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]

    def function(*given: Any) -> Any:
        leaves = [x.detach().requires_grad_() if k in floats else x for k, x in enumerate(given)]
        out = CASES[name][0](torch, *leaves)
        outs = out if isinstance(out, tuple) else (out,)
        squares = [(o * o).sum() for o in outs if o.requires_grad]
        wanted = [leaves[k] for k in floats]
        return [o.detach() for o in outs], torch.autograd.grad(
            squares, wanted, allow_unused=True, materialize_grads=True
        ) if squares else ()

    given = [torch.tensor(a) for a in arrays]
    expected, found = function(*given), tg.jit(function)(*given)
    for a, b in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


def test_arrays_that_are_differentiated_are_taken() -> None:
    x = np.array([[1.0, 5.0], [7.0, 3.0]])
    np.testing.assert_array_equal(
        tg.grad(lambda v: torch.max(v, 1)[0].sum())(x), [[0.0, 1.0], [1.0, 0.0]]
    )
    np.testing.assert_array_equal(tg.jit(lambda v: torch.max(v, dim=1).indices)(x), [1, 0])
    np.testing.assert_array_equal(
        tg.vmap(lambda v: torch.sort(v, descending=True).values)(x), [[5.0, 1.0], [7.0, 3.0]]
    )
    value, tangent = tg.jvp(lambda v: torch.std(v), (x,), (np.ones((2, 2)),))
    np.testing.assert_allclose((float(value), float(tangent)), (np.std(x, ddof=1), 0.0), atol=1e-15)


@pytest.mark.parametrize(
    "name", ["max", "exp", "cat", "stack", "where", "cdist", "meshgrid", "einsum"]
)
def test_what_is_no_tensor_is_refused(name: str) -> None:
    wrong: Any = np.ones(2)
    arguments = {
        "cat": ([wrong],),
        "stack": ([wrong],),
        "cdist": (wrong, wrong),
        "einsum": ("i->", wrong),
    }.get(name, (wrong,))
    with pytest.raises(
        TypeError, match=rf"torch\.{name}\(\): .* must be Tensor, not ndarray; make a tensor"
    ):
        getattr(torch, name)(*arguments)


def test_both_namespaces_share_their_objects() -> None:
    assert torch.Tensor is tg.Tensor
    assert torch.nn.Linear is tg.nn.Linear
    assert torch.optim.SGD is tg.optim.SGD
    assert torch.float32 is torch.float is tg.float32
    assert torch.no_grad is tg.no_grad
    assert torch.func.vmap is tg.func.vmap
    assert len(torch.__all__) == len(set(torch.__all__)) > 350
    assert [name for name in torch.__all__ if not hasattr(torch, name)] == []


def test_numpys_meaning_stays_at_the_top() -> None:
    x = tg.tensor([[1.0, 5.0], [7.0, 3.0]])
    np.testing.assert_array_equal(tg.max(x, 1), [5.0, 7.0])
    assert len(tg.split(tg.arange(4), 2)) == 2
    assert len(torch.split(tg.arange(5), 2)) == 3
    assert tg.std(x) == np.std(x.numpy())
    assert torch.std(x) == np.std(x.numpy(), ddof=1)


# --- out= -----------------------------------------------------------------------------------------


def test_results_are_written_to_out() -> None:
    x, out = torch.tensor([1.0, 2.0]), torch.zeros(2)
    before = out.data_ptr()
    assert torch.exp(x, out=out) is out
    np.testing.assert_allclose(out, np.exp([1.0, 2.0]))
    assert out.data_ptr() == before
    assert out._version == 1
    torch.add(x, x, out=out[:])
    assert out.tolist() == [2.0, 4.0]
    values, indices = torch.zeros(1), torch.zeros(1, dtype=torch.long)
    found = torch.max(x, 0, keepdim=True, out=(values, indices))
    assert (found.values is values, values.tolist(), indices.tolist()) == (True, [2.0], [1])
    empty = torch.tensor([])
    assert torch.cat([x, x], out=empty).tolist() == empty.tolist() == [1.0, 2.0, 1.0, 2.0]
    assert torch.arange(3, out=torch.zeros(3)).tolist() == [0.0, 1.0, 2.0]


def test_out_is_refused_where_it_would_be_wrong() -> None:
    x, leaf = torch.ones(2), torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.exp(leaf, out=torch.zeros(2))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.exp(x, out=leaf)
    with torch.no_grad():
        assert torch.exp(x, out=leaf) is leaf
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.exp(x, out=torch.zeros(2, dtype=torch.long))
    with pytest.raises(RuntimeError, match="out has shape"):
        torch.exp(x, out=torch.zeros(3))
    with pytest.raises(TypeError, match="'out' must be Tensor"):
        torch.exp(x, out=np.zeros(2))


# --- typed constructors, dtypes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("FloatTensor", "float32"),
        ("DoubleTensor", "float64"),
        ("LongTensor", "int64"),
        ("IntTensor", "int32"),
        ("ShortTensor", "int16"),
    ]
    + [
        ("CharTensor", "int8"),
        ("ByteTensor", "uint8"),
        ("BoolTensor", "bool"),
        ("ComplexFloatTensor", "complex64"),
    ],
)
def test_typed_constructors(name: str, dtype: str) -> None:
    made: Any = getattr(torch, name)
    for x in (made([1, 0]), made(2, 3), made(np.array([1.0, 0.0])), made()):
        assert x.dtype == dtype
        assert isinstance(x, made)
        assert isinstance(x, torch.Tensor)
    assert made(2, 3).shape == (2, 3)
    np.testing.assert_array_equal(made([1, 0]), np.array([1, 0], dtype))
    assert not isinstance(torch.zeros(1, dtype=torch.uint16), made)


def test_integers_are_not_rounded() -> None:
    assert torch.LongTensor([2**60 + 1]).tolist() == [2**60 + 1]
    assert torch.zeros(1, dtype=torch.long).new([2**60 + 1]).tolist() == [2**60 + 1]


def test_variables_are_tensors() -> None:
    x = torch.ones(2)
    v = torch.autograd.Variable(x, requires_grad=True)
    assert isinstance(v, torch.Tensor)
    assert isinstance(x, torch.autograd.Variable)
    v.data[0] = 5.0
    assert x[0] == 5.0
    (v * v).sum().backward()
    assert v.grad is not None
    assert v.grad.tolist() == [10.0, 2.0]
    with pytest.raises(TypeError, match="Variable data has to be a tensor"):
        torch.autograd.Variable([1.0])


def test_where_of_numbers_has_the_default_dtype() -> None:
    condition = torch.tensor([True, False])
    torch.set_default_dtype(torch.float32)
    try:
        assert torch.where(condition, 1.0, 0.0).dtype is torch.float32
        assert torch.logspace(0, 1, 3).dtype is torch.float32
        assert torch.full((2,), 1.0).dtype is torch.float32
        assert torch.normal(0.0, 1.0, (2,)).dtype is torch.float32
        assert torch.finfo().bits == 32
    finally:
        torch.set_default_dtype(torch.float64)
    assert torch.where(condition, 1, 0).dtype is torch.int64


@pytest.mark.parametrize("name", ["half", "float16", "bfloat16", "HalfTensor", "compile"])
def test_absent_names_say_what_to_take(name: str) -> None:
    assert not hasattr(torch, name)
    with pytest.raises(AttributeError, match=rf"tracegrad\.torch has no {name}: "):
        getattr(torch, name)
    with pytest.raises(AttributeError, match="torch_compatibility"):
        torch.no_such_name  # noqa: B018


def test_it_is_loaded_when_it_is_asked_for() -> None:
    code = (
        "import sys, tracegrad as tg; print('tracegrad.torch' in sys.modules, "
        "tg.torch.max.__name__, hasattr(tg, 'nothing'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=pathlib.Path(__file__).parents[2],
    )
    assert done.stdout.split() == ["False", "max", "False"]


def test_modules_are_importable() -> None:
    for name in (
        "autograd",
        "autograd.functional",
        "nn",
        "nn.functional",
        "nn.init",
        "nn.utils",
        "optim",
        "optim.lr_scheduler",
        "linalg",
    ):
        importlib.import_module(f"tracegrad.torch.{name}")
    for name in ("utils", "utils.data", "utils.checkpoint", "special", "func"):
        importlib.import_module(f"tracegrad.torch.{name}")
    assert importlib.import_module("tracegrad.linalg").norm is tg.linalg.norm


# --- random numbers -------------------------------------------------------------------------------


def test_random_numbers() -> None:
    torch.manual_seed(0)
    assert sorted(torch.randperm(50).tolist()) == list(range(50))
    assert torch.randperm(5).dtype is torch.int64
    drawn = torch.normal(torch.full((20000,), 2.0), 3.0)
    assert abs(float(drawn.mean()) - 2.0) < 0.1
    assert abs(float(drawn.std()) - 3.0) < 0.1
    assert torch.normal(0.0, torch.ones(3, 1) * 0).shape == (3, 1)
    z = torch.randn(20000, dtype=torch.complex128)
    assert abs(float((z.real**2).mean()) - 0.5) < 0.02
    assert abs(float((z.abs() ** 2).mean()) - 1.0) < 0.03
    u = torch.rand(1000, dtype=torch.complex64)
    assert u.dtype is torch.complex64
    assert 0 <= float(u.imag.min()) <= float(u.imag.max()) < 1
    ints = torch.randint(3, 6, (1000,))
    assert set(ints.tolist()) == {3, 4, 5}
    assert set(torch.randint(2, (100,)).tolist()) == {0, 1}
    assert torch.multinomial(torch.tensor([0.0, 1.0]), 3, replacement=True).tolist() == [1, 1, 1]
    assert set(torch.bernoulli(torch.full((100,), 0.5)).tolist()) == {0.0, 1.0}
    assert abs(float(torch.poisson(torch.full((10000,), 4.0)).mean()) - 4.0) < 0.1
    with pytest.raises(RuntimeError, match="std"):
        torch.normal(0.0, -1.0, (2,))
    with pytest.raises(TypeError, match="size"):
        torch.normal(0.0, 1.0)


@pytest.mark.parametrize(
    "name", ["max", "min", "median", "sort", "std", "var", "split", "meshgrid"]
)
def test_docstrings_say_where_torchs_meaning_is(name: str) -> None:
    assert f"tracegrad.torch.{name}" in (getattr(tg, name).__doc__ or "")


# --- distributions --------------------------------------------------------------------------------


def test_samples_have_their_distribution() -> None:
    torch.manual_seed(0)
    n, d = 20000, torch.distributions
    x = d.Normal(torch.tensor([1.0, -2.0]), torch.tensor([0.5, 2.0])).sample((n,))
    assert x.shape == (n, 2)
    np.testing.assert_allclose(x.mean(0), [1.0, -2.0], atol=0.05)
    np.testing.assert_allclose(x.std(0), [0.5, 2.0], atol=0.05)
    k = d.Categorical(torch.tensor([[0.0, 1.0, 3.0], [1.0, 1.0, 0.0]])).sample((n,))
    assert k.dtype is torch.int64
    np.testing.assert_allclose(
        [np.mean(k[:, 0].numpy() == v) for v in range(3)], [0.0, 0.25, 0.75], atol=0.02
    )
    np.testing.assert_allclose(
        [np.mean(k[:, 1].numpy() == v) for v in range(3)], [0.5, 0.5, 0.0], atol=0.02
    )
    assert abs(float(d.Bernoulli(0.3).sample((n,)).mean()) - 0.3) < 0.02
    u = d.Uniform(2.0, 3.0).sample((n,))
    assert 2.0 <= float(u.min()) <= float(u.max()) < 3.0


def test_gradients_flow_through_rsample_alone() -> None:
    loc, scale = (
        torch.tensor([1.0, 2.0], requires_grad=True),
        torch.tensor([0.5, 0.7], requires_grad=True),
    )
    normal = torch.distributions.Normal(loc, scale)
    assert not normal.sample((3,)).requires_grad
    x = normal.rsample((3,))
    assert x.shape == (3, 2)
    x.sum().backward()
    assert loc.grad is not None
    assert scale.grad is not None
    assert loc.grad.tolist() == [3.0, 3.0]
    np.testing.assert_allclose(scale.grad, ((x.detach() - loc.detach()) / scale.detach()).sum(0))
    logits = torch.zeros(3, requires_grad=True)
    assert not torch.distributions.Categorical(logits=logits).sample((2,)).requires_grad
    assert normal.has_rsample
    with pytest.raises(NotImplementedError, match="no rsample"):
        torch.distributions.Categorical(logits=logits).rsample()


def test_distributions_are_compiled() -> None:
    def loss(logits: Any, actions: Any) -> Any:
        policy = torch.distributions.Categorical(logits=logits)
        return -(policy.log_prob(actions) * 2.0).mean() - 0.1 * policy.entropy().mean()

    logits, actions = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])
    np.testing.assert_allclose(
        tg.jit(tg.grad(loss))(logits, actions),
        tg.grad(loss)(logits, actions),
        rtol=1e-12,
        atol=1e-14,
    )
    torch.manual_seed(3)
    eager = torch.distributions.Categorical(logits=logits).sample()
    torch.manual_seed(3)
    assert (
        tg.jit(lambda v: torch.distributions.Categorical(logits=v).sample())(logits).tolist()
        == eager.tolist()
    )


def test_distributions_refuse() -> None:
    d = torch.distributions
    for wrong in (
        lambda: d.Normal(0.0, -1.0),
        lambda: d.Categorical(torch.tensor([-1.0, 2.0])),
        lambda: d.Bernoulli(1.5),
    ):
        with pytest.raises(ValueError, match="to satisfy the constraint"):
            wrong()
    with pytest.raises(ValueError, match="to satisfy the constraint"):
        d.Categorical(torch.ones(3)).log_prob(torch.tensor(3))
    with pytest.raises(ValueError, match="but not both"):
        d.Categorical(torch.ones(3), torch.ones(3))
    with pytest.raises(ValueError, match="at least one-dimensional"):
        d.Categorical(torch.tensor(1.0))
    with pytest.raises(NotImplementedError, match="No KL"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Bernoulli(0.5))
    assert d.Normal(torch.zeros(2, 1), torch.ones(3)).batch_shape == (2, 3)
    assert d.Categorical(torch.ones(2, 3)).enumerate_support().shape == (3, 2)


@pytest.mark.parametrize("words", [{}, {"chunk_size": 2}, {"randomness": "different"}])
@pytest.mark.parametrize("jitted", [False, True])
def test_vmap_passes_keyword_arguments_whole(
    words: dict[str, Any], jitted: bool, kernels_in_python: None
) -> None:
    def f(x: Any, scale: Any = 1.0, mode: str = "all") -> Any:
        return x * (scale.sum() if mode == "all" else 2.0)

    rows, scale = tg.tensor(np.arange(12.0).reshape(4, 3)), tg.tensor([1.0, 2.0, 3.0, 4.0])
    function = tg.jit(f, static_argnames="mode") if jitted else f
    mapped = torch.func.vmap(function, **words)
    np.testing.assert_array_equal(mapped(rows, scale=scale), rows.numpy() * 10)
    np.testing.assert_array_equal(mapped(rows, mode="two"), rows.numpy() * 2)
    slope = torch.func.grad(lambda s: mapped(rows, scale=s).sum())(scale)
    np.testing.assert_array_equal(slope, np.full(4, 66.0))
    # Under its own name, as JAX's.
    np.testing.assert_array_equal(tg.vmap(f)(rows, scale=scale[:, None])[3], rows[3].numpy() * 4)


def test_what_has_no_variance_has_an_infinite_one() -> None:
    assert torch.distributions.Cauchy(tg.tensor([-1.0, 0.0]), 2.0).variance.tolist() == [np.inf] * 2
