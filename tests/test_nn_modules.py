"""Modules against numbers, names and texts that torch 2.13 gave for the same ones (tests/data/modules.npz), and compiled against eager."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
import tracegrad.torch as torch
from tests.module_cases import CASES, flat, inputs, made, results

NUMBERS = dict(np.load(pathlib.Path(__file__).parent / "data" / "modules.npz"))


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
    "ConvTranspose2d everything", "Fold", "Upsample bicubic", "InstanceNorm2d eval", "LocalResponseNorm", "PixelShuffle",
    "MultiheadAttention masks", "Transformer", "TripletMarginLoss",
)  # fmt: skip


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_modules_give_the_same(name: str) -> None:
    module = made(name, torch)
    parameters = list(module.parameters())

    def function(*given: Any) -> Any:
        outs = flat(CASES[name][2](module, *given))
        total = sum((o * o).sum() for o in outs if o.dtype.kind == "f")
        return [o.detach() for o in outs], torch.autograd.grad(total, parameters) if parameters else ()

    given = [torch.tensor(a) for a in inputs(name)]
    expected, found = function(*given), tg.jit(function)(*given)
    for a, b in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


# --- recurrent layers ---------------------------------------------------------------------------------------------------------


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
    with pytest.raises(RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 5\), got \[1, 2, 4\]"):
        layer(torch.ones(4, 2, 3), (torch.ones(1, 2, 4), torch.ones(1, 2, 5)))
    with pytest.raises(TypeError, match=r"a pair \(h_0, c_0\)"):
        layer(torch.ones(4, 2, 3), torch.ones(1, 2, 5))
    with pytest.raises(ValueError, match="does not match weight dtype"):
        layer(torch.ones(4, 2, 3, dtype=torch.float32))
    with pytest.raises(TypeError, match="packed sequences are not supported"):
        layer([1, 2])
    for options in ({"nonlinearity": "sin"}, {"num_layers": 0}, {"dropout": 1.5}):
        with pytest.raises(ValueError, match=r"\w"):
            torch.nn.RNN(3, 5, **options)
    with pytest.raises(ValueError, match="proj_size"):
        torch.nn.LSTM(3, 5, proj_size=5)
    assert layer.float()(torch.ones(4, 2, 3, dtype=torch.float32))[0].dtype == torch.float32
