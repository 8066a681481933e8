"""Modules against numbers, names and texts that torch 2.13 gave for the same ones
(tests/data/modules.npz), and compiled against eager."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.torch as torch
from tests.module_cases import CASES, flat, inputs, made, results

NUMBERS = dict(np.load(pathlib.Path(__file__).parents[1] / "data" / "modules.npz"))


@pytest.mark.filterwarnings("ignore:size_average and reduce args")
@pytest.mark.parametrize("name", CASES)
def test_modules_are_torchs(name: str) -> None:
    found = results(name, torch)
    expected = {key: value for key, value in NUMBERS.items() if key.startswith(f"{name}/")}
    assert found.keys() == expected.keys()
    for key, b in expected.items():
        if b.dtype.kind == "U":
            assert found[key].tolist() == b.tolist(), key
        else:
            np.testing.assert_allclose(found[key], b, rtol=1e-8, atol=1e-11, err_msg=key)
            assert found[key].shape == b.shape, key


COMPILED = ("RNN state", "GRU batch_first", "LSTM layers", "LSTM projected", "LSTMCell") + (
    "ConvTranspose2d everything",
    "Fold",
    "Upsample bicubic",
    "InstanceNorm2d eval",
    "LocalResponseNorm",
    "PixelShuffle",
    "MultiheadAttention masks",
    "Transformer",
    "TripletMarginLoss",
)


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_modules_give_the_same(name: str) -> None:
    module = made(name, torch)
    parameters = list(module.parameters())

    def function(*given: Any) -> Any:
        outs = flat(CASES[name][2](module, *given))
        total = sum((o * o).sum() for o in outs if o.dtype.kind == "f")
        return [o.detach() for o in outs], torch.autograd.grad(
            total, parameters
        ) if parameters else ()

    given = [torch.tensor(a) for a in inputs(name)]
    expected, found = function(*given), tg.jit(function)(*given)
    for a, b in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


# --- recurrent layers -----------------------------------------------------------------------------


def test_a_compiled_layer_is_one_loop() -> None:
    """Of any length: the graph does not grow with the number of steps."""
    layer = torch.nn.LSTM(2, 3)
    compiled = tg.jit(lambda x: layer(x)[0].sum())
    sizes = []
    for length in (5, 50):
        text = str(compiled.graphs(torch.ones(length, 1, 2)))
        assert "scan" in text
        sizes.append(len(text))
    assert abs(sizes[0] - sizes[1]) < sizes[0] // 20


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_starting_values_of_recurrent_layers(kind: str) -> None:
    torch.manual_seed(0)
    layer = getattr(torch.nn, kind)(4, 16, num_layers=2, bidirectional=True)
    drawn = np.concatenate([p.detach().numpy().ravel() for p in layer.parameters()])
    assert np.abs(drawn).max() <= 0.25
    assert np.abs(drawn).max() > 0.24
    assert abs(drawn.mean()) < 0.02
    assert [len(row) for row in layer.all_weights] == [4] * 4


def test_dropout_between_layers() -> None:
    torch.manual_seed(1)
    layer, x = torch.nn.GRU(3, 50, num_layers=2, dropout=0.5), torch.ones(2, 4, 3)
    first, second = layer(x)[0], layer(x)[0]
    assert not np.allclose(first.detach(), second.detach())
    layer.eval()
    np.testing.assert_array_equal(layer(x)[0].detach(), layer(x)[0].detach())
    with pytest.warns(UserWarning, match="all but last recurrent layer"):
        torch.nn.GRU(3, 5, dropout=0.5)


def test_recurrent_layers_refuse() -> None:
    layer = torch.nn.LSTM(3, 5)
    with pytest.raises(ValueError, match="2D or 3D, got 4D"):
        layer(torch.ones(1, 1, 1, 3))
    with pytest.raises(RuntimeError, match=r"Expected 3, got 2"):
        layer(torch.ones(4, 1, 2))
    with pytest.raises(
        RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 5\), got \[1, 2, 4\]"
    ):
        layer(torch.ones(4, 2, 3), (torch.ones(1, 2, 4), torch.ones(1, 2, 5)))
    with pytest.raises(TypeError, match=r"a pair \(h_0, c_0\)"):
        layer(torch.ones(4, 2, 3), torch.ones(1, 2, 5))
    with pytest.raises(ValueError, match="does not match weight dtype"):
        layer(torch.ones(4, 2, 3, dtype=torch.float32))
    with pytest.raises(TypeError, match="a Tensor or a PackedSequence, not a list"):
        layer([1, 2])
    for options in ({"nonlinearity": "sin"}, {"num_layers": 0}, {"dropout": 1.5}):
        with pytest.raises(ValueError, match=r"\w"):
            torch.nn.RNN(3, 5, **options)
    with pytest.raises(ValueError, match="proj_size"):
        torch.nn.LSTM(3, 5, proj_size=5)
    assert layer.float()(torch.ones(4, 2, 3, dtype=torch.float32))[0].dtype == torch.float32


# --- tables, sequences, calls with other parameters -----------------------------------------------


def test_tables_that_are_given() -> None:
    table = torch.arange(6.0).reshape(3, 2)
    frozen = torch.nn.Embedding.from_pretrained(table)
    assert not frozen.weight.requires_grad
    assert frozen(torch.tensor([2, 0])).tolist() == [[4.0, 5.0], [0.0, 1.0]]
    trained = torch.nn.Embedding.from_pretrained(table, freeze=False, padding_idx=1)
    trained(torch.tensor([1, 2])).sum().backward()
    assert trained.weight.grad is not None
    assert trained.weight.grad.tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="2-dimensional"):
        torch.nn.Embedding.from_pretrained(torch.ones(3))
    with pytest.raises(NotImplementedError, match="sparse"):
        torch.nn.Embedding(3, 2, sparse=True)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("first", [True, False])
def test_sequences_are_padded(side: str, first: bool) -> None:
    parts = [torch.randn(n, 2, requires_grad=True) for n in (3, 1, 4)]
    padded = torch.nn.utils.rnn.pad_sequence(parts, first, -1.0, side)
    assert padded.shape == ((3, 4, 2) if first else (4, 3, 2))
    by_sequence = padded if first else padded.transpose(0, 1)
    shown = by_sequence[1].detach().tolist()
    own = parts[1].detach().tolist()
    assert shown == (
        [*own, *[[-1.0, -1.0]] * 3] if side == "right" else [*[[-1.0, -1.0]] * 3, *own]
    )
    (padded * padded).sum().backward()
    np.testing.assert_allclose(parts[0].grad, 2 * parts[0].detach())
    if side == "right":
        again = torch.nn.utils.rnn.unpad_sequence(padded, torch.tensor([3, 1, 4]), first)
        assert all((a == b).all() for a, b in zip(again, parts, strict=True))


def test_sequences_are_packed() -> None:
    rnn = torch.nn.utils.rnn
    parts = [torch.randn(n, 2, requires_grad=True) for n in (3, 1, 4, 3)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 3, 3, 1]
    assert packed.sorted_indices.tolist() == [2, 0, 3, 1]
    again = rnn.unpack_sequence(packed)
    assert all((a == b).all() for a, b in zip(again, parts, strict=True))
    (packed.data * packed.data).sum().backward()
    for part in parts:
        np.testing.assert_allclose(part.grad, 2 * part.detach())
    assert packed.float().data.dtype == torch.float32
    x = torch.ones(3, 2, 1)
    for lengths, said in (
        ([1, 2], "sorted in decreasing order"), ([2, 0], "greater than 0"),
        ([2], "batch_size=2"), ([4, 1], "a length of 4"), ([1.5, 1.5], "integers"),
    ):  # fmt: skip
        given = np.array(lengths) if said == "integers" else lengths
        with pytest.raises(RuntimeError, match=said):
            rnn.pack_padded_sequence(x, given)
    with pytest.raises(ValueError, match="total_length"):
        rnn.pad_packed_sequence(packed, total_length=3)
    layer = torch.nn.GRU(1, 2)
    with pytest.raises(RuntimeError, match="must be known: inside jit give them as a list"):
        tg.jit(lambda p: layer(p)[1])(rnn.pack_padded_sequence(x, [3, 2]))


def test_calls_with_other_parameters() -> None:
    torch.manual_seed(0)
    model, x = (
        torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)),
        torch.randn(4, 2),
    )
    model.eval()
    call = torch.func.functional_call
    doubled = {name: 2 * p.detach() for name, p in model.named_parameters()}
    found = call(model, doubled, (x,))
    other = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    other.load_state_dict({**model.state_dict(), **doubled})
    np.testing.assert_array_equal(found, other(x).detach())
    assert "2.weight" not in dict(model.named_parameters())
    assert isinstance(model[0].weight, torch.nn.Parameter)
    gradients = torch.func.grad(lambda p: call(model, p, x).sum())(doubled)
    other(x).sum().backward()
    for name, p in other.named_parameters():
        np.testing.assert_allclose(gradients[name], p.grad, rtol=1e-12, atol=1e-14)
    with pytest.raises(RuntimeError, match="unexpected key"):
        call(model, {"nothing": x}, (x,))
    with pytest.raises(RuntimeError, match="missing key"):
        call(model, {"0.weight": doubled["0.weight"]}, (x,), strict=True)


def test_an_ensemble_is_mapped() -> None:
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    parameters, buffers = torch.func.stack_module_state(models)
    assert parameters["weight"].shape == (4, 3, 2)
    assert buffers == {}
    x = torch.randn(5, 2)
    found = torch.vmap(lambda p: torch.func.functional_call(models[0], p, (x,)))(parameters)
    np.testing.assert_allclose(
        found.detach(), np.stack([m(x).detach() for m in models]), rtol=1e-12
    )
