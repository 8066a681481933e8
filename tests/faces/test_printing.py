"""Tensors as text, to the character what torch prints (frozen from torch 2.13 with float64 as its
default)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

CASES: list[tuple[Callable[[], Any], dict[str, Any], str]] = [
    (lambda: tg.tensor([1.0, 2.5]), {}, "tensor([1.0000, 2.5000])"),
    (lambda: tg.tensor([1.0, 2.0, 300.0]), {}, "tensor([  1.,   2., 300.])"),
    (lambda: tg.tensor([0.5, 1000.0]), {}, "tensor([5.0000e-01, 1.0000e+03])"),
    (lambda: tg.tensor([1e-5, 2000.0]), {}, "tensor([1.0000e-05, 2.0000e+03])"),
    (lambda: tg.tensor([1e-4, 1e-2]), {}, "tensor([0.0001, 0.0100])"),
    (lambda: tg.tensor([0.00009]), {}, "tensor([9.0000e-05])"),
    (lambda: tg.tensor([1e8, 1.0]), {}, "tensor([1.0000e+08, 1.0000e+00])"),
    (lambda: tg.tensor([123456789.0]), {}, "tensor([1.2346e+08])"),
    (lambda: tg.tensor([1.0, 1001.0]), {}, "tensor([1.0000e+00, 1.0010e+03])"),
    (lambda: tg.tensor([-0.0, 0.0]), {}, "tensor([-0., 0.])"),
    (lambda: tg.tensor([-0.0, 1.5]), {}, "tensor([-0.0000, 1.5000])"),
    (
        lambda: tg.tensor([float("nan"), float("inf"), -float("inf")]),
        {},
        "tensor([nan, inf, -inf])",
    ),
    (lambda: tg.tensor([float("nan"), 1.0, -2.0]), {}, "tensor([nan,  1., -2.])"),
    (lambda: tg.tensor([float("inf"), 0.25]), {}, "tensor([   inf, 0.2500])"),
    (lambda: tg.tensor([float("nan"), 1e-7]), {}, "tensor([       nan, 1.0000e-07])"),
    (lambda: tg.tensor(3.0), {}, "tensor(3.)"),
    (lambda: tg.tensor(3.14159265), {}, "tensor(3.1416)"),
    (lambda: tg.tensor(-1e-9), {}, "tensor(-1.0000e-09)"),
    (lambda: tg.tensor(7), {}, "tensor(7)"),
    (lambda: tg.tensor(True), {}, "tensor(True)"),
    (lambda: tg.tensor([1, -20, 300]), {}, "tensor([  1, -20, 300])"),
    (lambda: tg.tensor([True, False]), {}, "tensor([ True, False])"),
    (
        lambda: tg.tensor([[1, 2], [3, 4]]).int(),
        {},
        ("tensor([[1, 2],\n        [3, 4]], dtype=tracegrad.int32)"),
    ),
    (
        lambda: tg.tensor([1.5, 2.5]).float(),
        {},
        "tensor([1.5000, 2.5000], dtype=tracegrad.float32)",
    ),
    (lambda: tg.tensor(1 + 2j), {}, "tensor(1.+2.j)"),
    (lambda: tg.tensor([1.5 - 2j, 0.25j]), {}, "tensor([1.5000-2.0000j, 0.0000+0.2500j])"),
    (lambda: tg.tensor([1 + 1e-6j, 2.0]), {}, "tensor([1.+1.0000e-06j, 2.+0.0000e+00j])"),
    (
        lambda: tg.tensor([complex(float("nan"), 1), complex(1, -float("inf"))]),
        {},
        "tensor([nan+1.j, 1.-infj])",
    ),
    (lambda: tg.tensor([complex(-0.0, -0.0)]), {}, "tensor([-0.-0.j])"),
    (lambda: tg.zeros(0), {}, "tensor([])"),
    (lambda: tg.zeros(0, 3), {}, "tensor([], size=(0, 3))"),
    (lambda: tg.zeros(2, 0, 3), {}, "tensor([], size=(2, 0, 3))"),
    (lambda: tg.zeros(0, dtype=tg.int64), {}, "tensor([], dtype=tracegrad.int64)"),
    (lambda: tg.zeros(0).float(), {}, "tensor([], dtype=tracegrad.float32)"),
    (lambda: tg.ones(1, 1, 1), {}, "tensor([[[1.]]])"),
    (
        lambda: tg.arange(24.0).view(2, 3, 4),
        {},
        (
            "tensor([[[ 0.,  1.,  2.,  3.],\n"
            "         [ 4.,  5.,  6.,  7.],\n"
            "         [ 8.,  9., 10., 11.]],\n"
            "\n"
            "        [[12., 13., 14., 15.],\n"
            "         [16., 17., 18., 19.],\n"
            "         [20., 21., 22., 23.]]])"
        ),
    ),
    (
        lambda: tg.arange(-11.0, 12.0) / 11,
        {},
        (
            "tensor([-1.0000, -0.9091, -0.8182, -0.7273, -0.6364, -0.5455, -0.4545, -0.3636,\n"
            "        -0.2727, -0.1818, -0.0909,  0.0000,  0.0909,  0.1818,  0.2727,  0.3636,\n"
            "         0.4545,  0.5455,  0.6364,  0.7273,  0.8182,  0.9091,  1.0000])"
        ),
    ),
    (lambda: tg.arange(1001), {}, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (
        lambda: tg.arange(10000.0).view(100, 100),
        {},
        (
            "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 9.7000e+01, 9.8000e+01,\n"
            "         9.9000e+01],\n"
            "        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.9700e+02, 1.9800e+02,\n"
            "         1.9900e+02],\n"
            "        [2.0000e+02, 2.0100e+02, 2.0200e+02,  ..., 2.9700e+02, 2.9800e+02,\n"
            "         2.9900e+02],\n"
            "        ...,\n"
            "        [9.7000e+03, 9.7010e+03, 9.7020e+03,  ..., 9.7970e+03, 9.7980e+03,\n"
            "         9.7990e+03],\n"
            "        [9.8000e+03, 9.8010e+03, 9.8020e+03,  ..., 9.8970e+03, 9.8980e+03,\n"
            "         9.8990e+03],\n"
            "        [9.9000e+03, 9.9010e+03, 9.9020e+03,  ..., 9.9970e+03, 9.9980e+03,\n"
            "         9.9990e+03]])"
        ),
    ),
    (
        lambda: tg.arange(3000.0).view(2, 3, 500) / 7,
        {},
        (
            "tensor([[[0.0000e+00, 1.4286e-01, 2.8571e-01,  ..., 7.1000e+01,\n"
            "          7.1143e+01, 7.1286e+01],\n"
            "         [7.1429e+01, 7.1571e+01, 7.1714e+01,  ..., 1.4243e+02,\n"
            "          1.4257e+02, 1.4271e+02],\n"
            "         [1.4286e+02, 1.4300e+02, 1.4314e+02,  ..., 2.1386e+02,\n"
            "          2.1400e+02, 2.1414e+02]],\n"
            "\n"
            "        [[2.1429e+02, 2.1443e+02, 2.1457e+02,  ..., 2.8529e+02,\n"
            "          2.8543e+02, 2.8557e+02],\n"
            "         [2.8571e+02, 2.8586e+02, 2.8600e+02,  ..., 3.5671e+02,\n"
            "          3.5686e+02, 3.5700e+02],\n"
            "         [3.5714e+02, 3.5729e+02, 3.5743e+02,  ..., 4.2814e+02,\n"
            "          4.2829e+02, 4.2843e+02]]])"
        ),
    ),
    (lambda: tg.zeros(1, 2001), {}, "tensor([[0., 0., 0.,  ..., 0., 0., 0.]])"),
    (
        lambda: tg.ones(2, 2, requires_grad=True),
        {},
        ("tensor([[1., 1.],\n        [1., 1.]], requires_grad=True)"),
    ),
    (lambda: tg.tensor([1.0], requires_grad=True) * 2, {}, "tensor([2.], grad_fn=<MulBackward0>)"),
    (
        lambda: tg.linspace(0, 1, 12, requires_grad=True),
        {},
        (
            "tensor([0.0000, 0.0909, 0.1818, 0.2727, 0.3636, 0.4545, 0.5455, 0.6364, 0.7273,\n"
            "        0.8182, 0.9091, 1.0000], requires_grad=True)"
        ),
    ),
    (
        lambda: (tg.linspace(0, 1, 12, requires_grad=True) * 1).sigmoid(),
        {},
        (
            "tensor([0.5000, 0.5227, 0.5453, 0.5678, 0.5899, 0.6117, 0.6331, 0.6539, 0.6742,\n"
            "        0.6939, 0.7128, 0.7311], grad_fn=<SigmoidBackward0>)"
        ),
    ),
    (
        lambda: tg.linspace(0, 1, 9, requires_grad=True),
        {},
        (
            "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000],\n"
            "       requires_grad=True)"
        ),
    ),
    (lambda: tg.zeros(0, 3, requires_grad=True), {}, "tensor([], size=(0, 3), requires_grad=True)"),
    (
        lambda: tg.eye(3),
        {},
        ("tensor([[1., 0., 0.],\n        [0., 1., 0.],\n        [0., 0., 1.]])"),
    ),
    (
        lambda: tg.tensor([[1e10, 1.0], [0.5, 2.0]]),
        {},
        ("tensor([[1.0000e+10, 1.0000e+00],\n        [5.0000e-01, 2.0000e+00]])"),
    ),
    (
        lambda: tg.tensor([[-1.5, 22.25], [333.125, 4.0]]),
        {},
        ("tensor([[ -1.5000,  22.2500],\n        [333.1250,   4.0000]])"),
    ),
    (lambda: tg.tensor([1.23456789, 20.0]), {"precision": 2}, "tensor([ 1.23, 20.00])"),
    (lambda: tg.tensor([1.23456789]), {"precision": 8}, "tensor([1.23456789])"),
    (lambda: tg.tensor([0.5, 1.5]), {"precision": 0}, "tensor([0, 2])"),
    (
        lambda: tg.arange(20),
        {"linewidth": 30},
        (
            "tensor([ 0,  1,  2,  3,  4,\n"
            "         5,  6,  7,  8,  9,\n"
            "        10, 11, 12, 13, 14,\n"
            "        15, 16, 17, 18, 19])"
        ),
    ),
    (
        lambda: tg.tensor([0.1, 0.2], requires_grad=True),
        {"linewidth": 20},
        ("tensor([0.1000,\n        0.2000],\n       requires_grad=True)"),
    ),
    (lambda: tg.arange(9), {"threshold": 5}, "tensor([0, 1, 2,  ..., 6, 7, 8])"),
    (lambda: tg.arange(9), {"threshold": 5, "edgeitems": 1}, "tensor([0,  ..., 8])"),
    (
        lambda: tg.arange(12.0).view(3, 4),
        {"threshold": 5, "edgeitems": 1},
        ("tensor([[ 0.,  ...,  3.],\n        ...,\n        [ 8.,  ..., 11.]])"),
    ),
    (lambda: tg.arange(9), {"threshold": 5, "edgeitems": 0}, "tensor([...], size=(9,))"),
    (lambda: tg.tensor([1.5]), {"sci_mode": True}, "tensor([1.5000e+00])"),
    (lambda: tg.tensor([1e-7, 1.0]), {"sci_mode": False}, "tensor([0.0000, 1.0000])"),
    (lambda: tg.tensor([1.0, 2e9]), {"sci_mode": False}, "tensor([         1., 2000000000.])"),
    (lambda: tg.tensor([1.23456]), {"profile": "short"}, "tensor([1.23])"),
    (
        lambda: tg.arange(1002)[:1001].view(7, 143)[:, :3],
        {"profile": "full"},
        (
            "tensor([[  0,   1,   2],\n"
            "        [143, 144, 145],\n"
            "        [286, 287, 288],\n"
            "        [429, 430, 431],\n"
            "        [572, 573, 574],\n"
            "        [715, 716, 717],\n"
            "        [858, 859, 860]])"
        ),
    ),
    (lambda: tg.tensor([1.23456]), {"profile": "short", "precision": 3}, "tensor([1.235])"),
    (
        lambda: tg.tensor([1 + 2.5j]),
        {"sci_mode": True, "precision": 1},
        "tensor([1.0e+00+2.5e+00j])",
    ),
]


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    """Options are of the process."""
    yield
    tg.set_printoptions(profile="default")


@pytest.mark.parametrize("case", range(len(CASES)))
def test_as_torch_prints(case: int) -> None:
    """Notation, padding, line breaks, summaries, suffixes and where they wrap."""
    make, options, text = CASES[case]
    tg.set_printoptions(**options)
    assert repr(make()) == str(make()) == text


def test_options() -> None:
    """Set for good or for a block, read, and checked; sci_mode goes back to automatic where it is
    not given."""
    tg.set_printoptions(precision=2, sci_mode=True)
    assert tg.get_printoptions() == {
        "precision": 2,
        "threshold": 1000,
        "edgeitems": 3,
        "linewidth": 80,
        "sci_mode": True,
    }
    with tg.printoptions(precision=1, linewidth=40):
        assert repr(tg.tensor([1.25, 2.0])) == "tensor([1.2, 2.0])"
    assert repr(tg.tensor([1.25])) == "tensor([1.25e+00])"
    tg.set_printoptions(precision=2)
    assert repr(tg.tensor([1.25])) == "tensor([1.25])"
    with pytest.raises(ValueError, match="profile must be one of default, short, full"):
        tg.set_printoptions(profile="long")
    with pytest.raises(ValueError, match="precision must not be negative"):
        tg.set_printoptions(precision=-1)
    with pytest.raises(KeyError), tg.printoptions(precision=5):
        raise KeyError
    assert tg.get_printoptions()["precision"] == 2


def test_default_dtype_decides_what_is_named() -> None:
    """The dtype is named where it is not the default for such values."""
    assert repr(tg.tensor([1.0]).float()) == "tensor([1.], dtype=tracegrad.float32)"
    tg.set_default_dtype(np.float32)
    try:
        assert repr(tg.tensor([1.0])) == "tensor([1.])"
        assert repr(tg.tensor([1.0]).double()) == "tensor([1.], dtype=tracegrad.float64)"
        assert repr(tg.tensor([1j])) == "tensor([0.+1.j])"
    finally:
        tg.set_default_dtype(np.float64)


def test_format() -> None:
    """A tensor without dimensions is formatted as its number; others have no format but the
    text."""
    assert f"{tg.tensor(2.71828):.3f}" == "2.718"
    assert f"{tg.tensor(5):>3}|{tg.tensor(2.5, requires_grad=True) * 2}" == "  5|5.0"
    assert f"{tg.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError, match="no format"):
        format(tg.tensor([1.0]), ".3f")


def test_printing_leaves_no_trace() -> None:
    """Printing records nothing and counts no write; a view whose base was written shows the new
    numbers."""
    x = tg.tensor([1.0, 2.0, 3.0])
    v = x[1:]
    x.mul_(2)
    assert repr(v) == "tensor([4., 6.])"
    assert x._version == 1
    assert "tensor(" in repr(tg.jit(lambda t: t * 2)(x))


def test_traced_tensors() -> None:
    """Inside a jitted function there are no numbers to print: it is not compiled."""
    seen: list[str] = []

    def f(t: Any) -> Any:
        seen.append(repr(t * 2))
        return t

    with pytest.raises(tg.ConcretizationError, match=r"^test_printing.py:\d+: a text"):
        tg.jit(f)(tg.ones(3))
    assert seen == []
