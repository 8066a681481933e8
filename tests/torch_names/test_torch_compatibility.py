"""docs/torch_autograd_names.md and docs/torch_compatibility.md tell the truth: every name of
torch.autograd is listed, and each status is as stated."""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import warnings
from typing import Any

import pytest

import tracegrad as tg

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "torch_compatibility.md").read_text(encoding="utf-8")
NAMES = (ROOT / "docs" / "torch_autograd_names.md").read_text(encoding="utf-8")
FROZEN: dict[str, dict[str, list[str] | None]] = json.loads(
    (ROOT / "tests" / "torch_2_13_names.json").read_text(encoding="utf-8")
)
"""Place -> name -> parameters with their defaults (None where it takes any, or none can be told),
of torch 2.13.0: modules by their `__all__` and what they define, classes by their members."""
ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (.*) \|$")


def tables() -> dict[str, dict[str, tuple[str, str]]]:
    """Place -> name -> (status, remark)."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    place = ""
    for line in NAMES.splitlines():
        if line.startswith("## `"):
            place = line[4:-1]
            found[place] = {}
        elif row := ROW.match(line):
            assert row[1] not in found[place], f"{place}.{row[1]} is listed twice"
            found[place][row[1]] = row[2], row[3]
    return found


TABLES = tables()


def place_of(path: str) -> list[Any]:
    """The module or class that a heading is about (and an instance, where attributes are made per
    object)."""
    if path == "torch.Tensor":
        return [tg.Tensor, tg.ones(2, requires_grad=True) * 2]
    if path == "torch.autograd.gradcheck":
        # The attribute of that name is the function, as in torch.
        return [importlib.import_module("tracegrad.autograd.gradcheck")]
    if path == "torch.autograd.function.FunctionCtx":
        return [tg.autograd.function.FunctionCtx()]
    found: Any = tg
    for name in path.split(".")[1:]:
        found = getattr(found, name)
    return [found]


def test_the_list_is_complete() -> None:
    assert {place: list(rows) for place, rows in TABLES.items()} == {
        place: list(FROZEN[place]) for place in TABLES
    }
    assert set(TABLES) == set(FROZEN)
    assert sum(map(len, FROZEN.values())) > 150


@pytest.mark.parametrize("path", sorted(TABLES))
def test_status_is_true(path: str) -> None:
    try:
        places = place_of(path)
    except (AttributeError, ImportError):
        places = []
    for name, (status, remark) in TABLES[path].items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            there = any(hasattr(place, name) for place in places)
        assert status in ("same", "different", "absent"), f"{path}.{name}: {status}"
        assert there == (status != "absent"), f"{path}.{name} is said to be {status}"
        assert remark or status == "same", f"{path}.{name}: {status} needs a reason"


OTHER_PARAMETERS = {
    "no_grad": "tracegrad's takes the decorated function, torch's is a class with its own __new__",
    "enable_grad": "as no_grad",
    "once_differentiable": "the decorated function is named otherwise",
    "FunctionCtx": "not made by users",
    "export_stacks": "torch's EventList asks for the metric",
    "metadata": "a property, as on torch's own nodes",
}


@pytest.mark.parametrize("path", sorted(TABLES))
def test_parameters_are_those_of_torch(path: str) -> None:
    """Names, order and defaults of the parameters of each function that is there."""
    for name, (status, _) in TABLES[path].items():
        expected = FROZEN[path][name]
        if status == "absent" or expected is None or name in OTHER_PARAMETERS:
            continue
        given = inspect.signature(getattr(place_of(path)[0], name)).parameters.values()
        found = [
            p.name + ("" if p.default is p.empty else f"={p.default!r}")
            for p in given
            if p.name not in ("self", "cls")
        ]
        assert found == expected, f"{path}.{name}"


def test_what_the_page_says_of_dtypes() -> None:
    """The rows of the promotion table, one by one."""
    i64, f32, c64 = (
        tg.ones(2, dtype=tg.int64),
        tg.ones(2, dtype=tg.float32),
        tg.ones(2, dtype=tg.complex64),
    )
    u8, flags = tg.ones(2, dtype=tg.uint8), tg.tensor([True, False])
    for result in (i64 + f32, i64 - f32, i64 * f32, i64 / f32, i64 // f32, i64**f32):
        assert result.dtype == tg.float64
    assert (i64 * c64).dtype == tg.complex128
    assert (f32 + tg.tensor(1.0)).dtype == tg.float64
    assert (f32 + 2.5).dtype == tg.float32
    assert u8.sin().dtype == tg.float32
    assert u8.sum().dtype == u8.prod().dtype == u8.cumsum(0).dtype == "uint64"
    assert i64.mean().dtype == flags.mean().dtype == tg.float64
    assert (flags - i64).dtype == tg.int64
    assert flags.any().dtype == u8.any().dtype == bool
    assert not hasattr(tg, "float16")
    assert type(i64.shape) is tuple
    assert repr(i64.size()) == "tracegrad.Size([2])"


def test_every_name_of_the_page_exists() -> None:
    """Names of tracegrad in the prose: `graph.save_on_cpu`, `functional.jacobian` and others are
    there."""
    for module, name in re.findall(
        r"`(?:autograd\.)?(functional|graph|forward_ad|profiler)\.(\w+)", PAGE
    ):
        assert hasattr(getattr(tg.autograd, module), name), f"{module}.{name}"


def test_what_the_page_says_of_the_namespace() -> None:
    """Names that are said to be absent there, and those of the sections on nn and optim."""
    torch = importlib.import_module("tracegrad.torch")
    said = PAGE.partition("## The namespace")[2].partition("\n## ")[0]
    for name in (
        "as_strided",
        "compile",
        "svd",
        "qr",
        "HalfTensor",
        "float16",
        "bfloat16",
        "distributed",
    ):
        assert not hasattr(torch, name), name
        assert name in said
    for name in ("as_strided", "set_", "resize_", "storage"):
        assert not hasattr(torch.Tensor, name), name
        assert name in said
    assert not hasattr(torch.Generator, "no_such_method")
    assert {"Normal", "Uniform", "Categorical", "Bernoulli"} < set(torch.distributions.__all__)
    of_nn = PAGE.partition("## nn and optim")[2].partition("\n## ")[0]
    assert "lazy modules" in of_nn
    assert "fractional pooling" in of_nn
    assert not any(hasattr(torch.nn, name) for name in ("FractionalMaxPool2d", "LazyLinear"))
    with pytest.raises(NotImplementedError, match="antialias"):
        torch.nn.functional.interpolate(torch.ones(1, 1, 2, 2), 3, mode="bilinear", antialias=True)
    assert torch.get_default_dtype() is torch.float64
    torch.set_default_dtype(torch.float32)
    try:
        integers = torch.arange(3)
        assert (
            (integers * 1.5).dtype is (integers / 2).dtype is integers.exp().dtype is torch.float64
        )
        assert torch.where(integers > 0, 1.0, 0.0).dtype is torch.float32
    finally:
        torch.set_default_dtype(torch.float64)
