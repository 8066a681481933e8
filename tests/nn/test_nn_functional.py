"""`nn.functional` against numbers that torch 2.13 gave for the same calls
(tests/data/nn_functional.npz), compiled against eager, and errors."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.nn.functional as F
from tests.nn_cases import CASES, derivatives, inputs

NUMBERS = dict(np.load(pathlib.Path(__file__).parents[1] / "data" / "nn_functional.npz"))
LOOSE = {"hardsigmoid": 1e-7}
"""torch computes this derivative with 1/6 in float32."""
ONCE = ("ctc_loss", "embedding_bag weights", "multi_margin_loss")
"""torch has no second derivatives of these, which gradgradcheck looks at."""


def leaf(a: Any) -> tg.Tensor:
    return tg.tensor(a, requires_grad=True)


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_torchs(name: str) -> None:
    found = derivatives(name, F, leaf, tg.tensor, tg.autograd.grad)
    expected = {key: value for key, value in NUMBERS.items() if key.startswith(f"{name}/")}
    assert f"{name}/value" in expected
    for key in found.keys() | expected.keys():
        if name.startswith(ONCE) and key.startswith(f"{name}/second"):
            continue
        # Where one of both knows that a derivative is zero, the other may have computed it.
        a, b = found.get(key, 0.0), expected.get(key, 0.0)
        np.testing.assert_allclose(a, b, rtol=LOOSE.get(name, 1e-9), atol=1e-11, err_msg=key)
        assert key not in expected or key not in found or a.shape == b.shape


COMPILED = (
    "gelu",
    "elu",
    "mish",
    "softplus beta",
    "hardswish",
    "nll_loss weight",
    "cross_entropy",
    "cross_entropy smooth",
    "cross_entropy images",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits weights",
    "kl_div",
    "linear stack",
    "embedding padding",
    "cosine_similarity",
    "layer_norm",
    "batch_norm training",
    "conv1d same",
    "conv2d everything",
    "max_pool2d ties",
    "max_pool2d everything",
    "avg_pool2d ceil",
    "max_pool3d",
    "adaptive_max_pool2d ties",
    "lp_pool2d",
    "max_unpool2d",
    "adaptive_avg_pool2d",
    "pad reflect",
)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_give_the_same(name: str) -> None:
    arrays = inputs(name)
    floats = [k for k, a in enumerate(arrays) if a.dtype.kind == "f"]

    def function(*given: Any) -> Any:
        leaves = [x.detach().requires_grad_() if k in floats else x for k, x in enumerate(given)]
        out = CASES[name][0](F, *leaves)
        return out.detach(), tg.autograd.grad(
            (out * out).sum(), [leaves[k] for k in floats], materialize_grads=True
        )

    given = [tg.tensor(a) for a in arrays]
    value, gradients = function(*given)
    found, compiled = tg.jit(function)(*given)
    np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-12)
    for a, b in zip(compiled, gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "name",
    [
        "elu",
        "gelu",
        "softplus",
        "cross_entropy",
        "layer_norm",
        "conv2d",
        "max_pool2d",
        "avg_pool2d",
        "huber_loss",
    ],
)
def test_float32_stays_float32(name: str) -> None:
    arrays = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in inputs(name)]
    given = [leaf(a) if a.dtype.kind == "f" else tg.tensor(a) for a in arrays]
    out = CASES[name][0](F, *given)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out.detach(), NUMBERS[f"{name}/value"], rtol=2e-5, atol=2e-6)
    out.sum().backward()
    assert given[0].grad.dtype == np.float32


def test_plain_arrays_give_plain_arrays() -> None:
    x = np.array([[-1.0, 2.0]])
    assert isinstance(F.relu(x), np.ndarray)
    assert isinstance(F.linear(x, np.ones((3, 2)), np.zeros(3)), np.ndarray)
    np.testing.assert_array_equal(tg.grad(lambda v: np.sum(F.leaky_relu(v, 0.5)))(x), [[0.5, 1.0]])


def test_second_derivatives_at_kinks_are_those_of_the_branch_taken() -> None:
    """torch gives 0 for the second derivative of elu at 0, although its first one belongs to the
    branch x <= 0."""
    x = leaf([0.0])
    (first,) = tg.autograd.grad(F.elu(x, 2.0).sum(), x, create_graph=True)
    (second,) = tg.autograd.grad(first.sum(), x)
    assert (float(first.detach()), float(second)) == (2.0, 2.0)


def test_extreme_inputs() -> None:
    x = leaf([-800.0, 800.0])
    for function in (F.elu, F.selu, F.softplus, F.silu, F.logsigmoid, F.gelu, F.mish):
        x.grad = None
        function(x).sum().backward()
        assert np.isfinite(x.grad.numpy()).all(), function
    p = leaf([0.0, 1.0, 0.0, 1.0])
    loss = F.binary_cross_entropy(p, tg.tensor([0.0, 1.0, 1.0, 0.0]), reduction="none")
    np.testing.assert_array_equal(loss.detach(), [0.0, 0.0, 100.0, 100.0])
    loss.sum().backward()
    np.testing.assert_allclose(p.grad, [1.0, -1.0, -1e12, 1e12])
    logits = leaf([-800.0, 800.0])
    F.binary_cross_entropy_with_logits(logits, tg.tensor([1.0, 0.0]), reduction="sum").backward()
    np.testing.assert_array_equal(logits.grad, [-1.0, 1.0])
    nans = F.max_pool1d(tg.tensor([[1.0, np.nan, 2.0, 3.0, 0.0, np.nan]]), 3)
    np.testing.assert_array_equal(nans, [[np.nan, np.nan]])
    np.testing.assert_array_equal(F.max_pool1d(tg.tensor([[1, 5, 3, 2]]), 2), [[5, 3]])


def test_nothing_to_average() -> None:
    with np.errstate(invalid="ignore"):
        assert np.isnan(float(F.cross_entropy(tg.zeros(2, 3), tg.tensor([-100, -100]))))
    assert F.cross_entropy(tg.zeros(0, 3), tg.zeros(0, dtype=int), reduction="sum").item() == 0.0
    assert F.conv2d(tg.zeros(0, 1, 4, 4), tg.ones(2, 1, 3, 3)).shape == (0, 2, 2, 2)
    assert F.max_pool2d(tg.zeros(0, 1, 4, 4), 2).shape == (0, 1, 2, 2)


def test_batch_norm_moves_its_statistics() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((6, 3, 2))
    mean, variance = tg.zeros(3), tg.ones(3)
    F.batch_norm(tg.tensor(x), mean, variance, training=True, momentum=0.25)
    np.testing.assert_allclose(mean, 0.25 * x.mean(axis=(0, 2)))
    np.testing.assert_allclose(variance, 0.75 + 0.25 * x.var(axis=(0, 2), ddof=1))
    assert not mean.requires_grad
    jitted_mean, jitted_variance = tg.zeros(3), tg.ones(3)

    @tg.jit
    def step(x: Any) -> Any:
        return F.batch_norm(x, jitted_mean, jitted_variance, training=True, momentum=0.25)

    step(tg.tensor(x))
    np.testing.assert_allclose(jitted_mean, mean)
    np.testing.assert_allclose(jitted_variance, variance)


def test_dropout() -> None:
    x = tg.ones(1000, requires_grad=True)
    assert F.dropout(x, 0.3, training=False) is x
    assert F.dropout(x, 0.0) is x
    np.testing.assert_array_equal(F.dropout(x, 1.0).detach(), np.zeros(1000))
    tg.manual_seed(3)
    eager = [F.dropout(x, 0.3) for _ in range(2)]
    values, counts = np.unique(eager[0].detach(), return_counts=True)
    np.testing.assert_allclose(values, [0.0, 1 / 0.7])
    assert 230 < counts[0] < 370
    assert not np.array_equal(eager[0].detach(), eager[1].detach())
    eager[0].sum().backward()
    np.testing.assert_array_equal(x.grad, eager[0].detach())
    tg.manual_seed(3)
    compiled = tg.jit(lambda v: F.dropout(v, 0.3))
    for one in eager:
        np.testing.assert_array_equal(compiled(x).detach(), one.detach())
    channels = F.dropout2d(tg.ones(4, 5, 3, 3), 0.5)
    assert all(len(np.unique(c)) == 1 for image in channels.numpy() for c in image)


def test_in_place_forms() -> None:
    x = tg.tensor([-1.0, 2.0])
    assert F.relu(x, inplace=True) is x
    np.testing.assert_array_equal(x, [0.0, 2.0])
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        F.elu(leaf([1.0]), inplace=True)
    with pytest.raises(TypeError, match="needs a Tensor"):
        F.relu(np.ones(2), inplace=True)


def test_older_reduction_arguments() -> None:
    x, y = tg.tensor([1.0, 3.0]), tg.zeros(2)
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert F.mse_loss(x, y, size_average=False).item() == 10.0
    with pytest.warns(UserWarning, match="please use reduction='none'"):
        assert F.mse_loss(x, y, reduce=False).shape == (2,)


def test_warnings() -> None:
    with pytest.warns(UserWarning, match=r"target's size \(1,\) differs"):
        F.mse_loss(tg.zeros(2), tg.zeros(1))
    with pytest.warns(UserWarning, match="Implicit dimension choice"):
        F.softmax(tg.zeros(2, 2))
    with pytest.warns(UserWarning, match="batchmean"):
        F.kl_div(tg.zeros(2), tg.ones(2))


X, W = tg.zeros(2, 3), tg.ones(3)
IMAGE = tg.zeros(1, 2, 4, 4)
ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "target too large": (
        lambda: F.cross_entropy(X, tg.tensor([0, 3])),
        IndexError,
        "Target 3 is out of bounds",
    ),
    "target negative": (
        lambda: F.nll_loss(X, tg.tensor([0, -1])),
        IndexError,
        "Target -1 is out of bounds",
    ),
    "target too large in jit": (
        lambda: tg.jit(lambda x, t: F.cross_entropy(x, t))(X, tg.tensor([0, 3])),
        IndexError,
        "out of bounds|index",
    ),
    "target negative in jit": (
        lambda: tg.jit(lambda x, t: F.cross_entropy(x, t))(X, tg.tensor([0, -1])),
        IndexError,
        "out of bounds|index",
    ),
    "target count": (
        lambda: F.cross_entropy(X, tg.tensor([0])),
        ValueError,
        r"batch_size \(2\) to match target batch_size \(1\)",
    ),
    "target shape": (
        lambda: F.cross_entropy(tg.zeros(2, 3, 4), tg.zeros(2, dtype=int)),
        RuntimeError,
        r"shape \(2, 4\), not \(2,\)",
    ),
    "target dtype": (lambda: F.cross_entropy(X, tg.zeros(2)), RuntimeError, "must be integers"),
    "weight": (
        lambda: F.cross_entropy(X, tg.tensor([0, 1]), weight=tg.ones(2)),
        RuntimeError,
        "each of the 3 classes",
    ),
    "smoothing": (
        lambda: F.cross_entropy(X, tg.tensor([0, 1]), label_smoothing=2.0),
        RuntimeError,
        "between 0.0 and 1.0",
    ),
    "probabilities": (
        lambda: F.cross_entropy(X, tg.zeros(2, 2)),
        RuntimeError,
        "must have the input's shape",
    ),
    "reduction": (
        lambda: F.mse_loss(X, X, reduction="average"),
        ValueError,
        "not a valid value for reduction",
    ),
    "bce range": (lambda: F.binary_cross_entropy(W * 2, W), RuntimeError, "between 0 and 1"),
    "bce shape": (
        lambda: F.binary_cross_entropy_with_logits(X, W),
        ValueError,
        "must be the same as input size",
    ),
    "huber": (lambda: F.huber_loss(W, W, delta=0.0), RuntimeError, "non-positive"),
    "linear": (
        lambda: F.linear(X, tg.zeros(4, 2)),
        RuntimeError,
        r"\(2, 3\) and a weight of shape \(4, 2\)",
    ),
    "embedding range": (
        lambda: F.embedding(tg.tensor([4]), tg.zeros(3, 2)),
        IndexError,
        "4, where the weight has 3 rows",
    ),
    "embedding negative": (
        lambda: F.embedding(tg.tensor([-1]), tg.zeros(3, 2)),
        IndexError,
        "-1, where",
    ),
    "embedding negative in jit": (
        lambda: tg.jit(lambda t: F.embedding(t, tg.zeros(3, 2)))(tg.tensor([-1])),
        IndexError,
        "out of bounds|index",
    ),
    "embedding dtype": (lambda: F.embedding(W, tg.zeros(3, 2)), RuntimeError, "integers"),
    "one_hot": (lambda: F.one_hot(tg.tensor([3]), 2), RuntimeError, "smaller than num_classes"),
    "one_hot traced": (
        lambda: tg.jit(F.one_hot)(tg.tensor([1])),
        RuntimeError,
        "num_classes must be given",
    ),
    "dropout": (lambda: F.dropout(W, 1.5), ValueError, "between 0 and 1"),
    "layer_norm": (
        lambda: F.layer_norm(X, (2,)),
        RuntimeError,
        r"expected input with shape \[\*, \(2,\)",
    ),
    "batch_norm one value": (
        lambda: F.batch_norm(tg.zeros(1, 2), None, None, training=True),
        ValueError,
        "more than 1 value per channel",
    ),
    "batch_norm no statistics": (
        lambda: F.batch_norm(X, None, None),
        RuntimeError,
        "running_mean and running_var",
    ),
    "batch_norm channels": (
        lambda: F.batch_norm(X, tg.zeros(2), tg.ones(2)),
        RuntimeError,
        "each of 3 channels",
    ),
    "conv2d axes": (
        lambda: F.conv2d(X, tg.zeros(1, 1, 2, 2)),
        RuntimeError,
        r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d",
    ),
    "conv2d channels": (
        lambda: F.conv2d(IMAGE, tg.zeros(1, 3, 2, 2)),
        RuntimeError,
        "to have 3 channels, but got 2 channels",
    ),
    "conv2d kernel": (
        lambda: F.conv2d(IMAGE, tg.zeros(1, 2, 5, 5)),
        RuntimeError,
        "can't be greater than actual input size",
    ),
    "conv2d same": (
        lambda: F.conv2d(IMAGE, tg.zeros(1, 2, 2, 2), stride=2, padding="same"),
        RuntimeError,
        "not supported for strided",
    ),
    "conv2d padding": (
        lambda: F.conv2d(IMAGE, tg.zeros(1, 2, 2, 2), padding="full"),
        ValueError,
        "'valid' or 'same', not 'full'",
    ),
    "conv2d bias": (
        lambda: F.conv2d(IMAGE, tg.zeros(1, 2, 2, 2), tg.zeros(2)),
        RuntimeError,
        r"bias must have shape \(1,\)",
    ),
    "conv2d dtype": (
        lambda: F.conv2d(IMAGE, tg.zeros(1, 2, 2, 2, dtype=np.float32)),
        RuntimeError,
        "should be the same",
    ),
    "max_pool2d window": (lambda: F.max_pool2d(IMAGE, 5), RuntimeError, "does not fit"),
    "max_pool2d padding": (lambda: F.max_pool2d(IMAGE, 2, padding=2), RuntimeError, "at most half"),
    "pad": (lambda: F.pad(X, (1,)), RuntimeError, "come in pairs"),
    "pad cut": (lambda: F.pad(X, (-2, -2)), RuntimeError, "cut more than there is"),
    "glu": (lambda: F.glu(X), RuntimeError, "must be even"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize(("shape", "dim"), [((1, 3), 0), ((3,), 0), ((3,), -1), ((2, 1), 1)])
def test_cosines_of_what_is_broadcast(shape: tuple[int, ...], dim: int) -> None:
    x, y = np.arange(6.0).reshape(2, 3) - 1.5, np.arange(float(np.prod(shape))).reshape(shape) + 1
    a, b = np.broadcast_arrays(x, y)
    expected = (a * b).sum(dim) / np.linalg.norm(a, axis=dim) / np.linalg.norm(b, axis=dim)
    for first, second in ((x, y), (y, x)):
        np.testing.assert_allclose(F.cosine_similarity(first, second, dim), expected, rtol=1e-12)
