"""`tracegrad.torch.utils.data`, `save` and `load`, and the state of random numbers."""

from __future__ import annotations

import io
import pathlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracegrad.torch as torch
from tracegrad.torch.utils import data


class Squares(data.Dataset):
    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, k: int) -> tuple[torch.Tensor, int]:
        if not 0 <= k < self.n:
            raise IndexError(k)
        return torch.tensor([float(k), float(k * k)]), k


class Stream(data.IterableDataset):
    def __iter__(self) -> Iterator[int]:
        return iter(range(5))

    def __len__(self) -> int:
        return 5


# --- loaders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize(
    ("size", "drop", "lengths"),
    [(2, False, [2, 2, 1]), (2, True, [2, 2]), (5, False, [5]), (7, False, [5])],
)
def test_batches(workers: int, size: int, drop: bool, lengths: list[int]) -> None:
    loader = data.DataLoader(Squares(5), batch_size=size, num_workers=workers, drop_last=drop)
    batches = list(loader)
    assert len(loader) == len(lengths) == len(batches)
    assert [len(x) for x, _ in batches] == lengths
    assert isinstance(batches[0], list)
    flat = [k for _, ks in batches for k in ks.tolist()]
    assert flat == list(range(sum(lengths)))
    np.testing.assert_array_equal(
        np.concatenate([x for x, _ in batches])[:, 1], np.array(flat) ** 2.0
    )


@pytest.mark.parametrize("workers", [0, 2])
def test_shuffling_is_of_the_generator(workers: int) -> None:
    def order(loader: Any) -> list[int]:
        return [k for _, ks in loader for k in ks.tolist()]

    loader = data.DataLoader(
        Squares(20),
        3,
        shuffle=True,
        num_workers=workers,
        generator=torch.Generator().manual_seed(1),
    )
    first, second = order(loader), order(loader)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    again = data.DataLoader(
        Squares(20), 3, shuffle=True, generator=torch.Generator().manual_seed(1)
    )
    assert order(again) == first
    torch.manual_seed(5)
    drawn = order(data.DataLoader(Squares(20), 4, shuffle=True))
    torch.manual_seed(5)
    assert order(data.DataLoader(Squares(20), 4, shuffle=True)) == drawn


def test_threads_fetch_ahead_and_end() -> None:
    class Named(Squares):
        seen: list[str] = []  # noqa: RUF012

        def __getitem__(self, k: int) -> Any:
            self.seen.append(threading.current_thread().name)
            return super().__getitem__(k)

    before = threading.active_count()
    for x, _ in data.DataLoader(Named(50), 2, num_workers=2):
        assert x.shape == (2, 2)
        break
    assert all(name.startswith("DataLoader") for name in Named.seen)
    assert len(Named.seen) < 40
    assert threading.active_count() == before


def test_errors_of_items_arrive() -> None:
    class Broken(Squares):
        def __getitem__(self, k: int) -> Any:
            if k == 3:
                raise KeyError("item 3")
            return super().__getitem__(k)

    for workers in (0, 2):
        with pytest.raises(KeyError, match="item 3"):
            list(data.DataLoader(Broken(5), num_workers=workers))


def test_streams_and_single_items() -> None:
    assert [b.tolist() for b in data.DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.DataLoader(Stream(), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(data.DataLoader(Stream(), None)) == [0, 1, 2, 3, 4]
    assert len(data.DataLoader(Stream(), 2)) == 3
    assert [k for _, k in data.DataLoader(Squares(3), None)] == [0, 1, 2]
    assert list(data.ChainDataset([Stream(), Stream()])) == [*range(5), *range(5)]


def test_samplers_given() -> None:
    loader = data.DataLoader(Squares(5), 2, sampler=[4, 0, 2])
    assert [ks.tolist() for _, ks in loader] == [[4, 0], [2]]
    loader = data.DataLoader(Squares(5), batch_sampler=[[1, 2, 3], [0]])
    assert [ks.tolist() for _, ks in loader] == [[1, 2, 3], [0]]
    loader = data.DataLoader(Squares(5), 5, collate_fn=len)
    assert list(loader) == [5]
    assert sorted(data.SubsetRandomSampler([3, 5, 7])) == [3, 5, 7]
    assert set(data.WeightedRandomSampler([0.0, 1.0, 1.0], 50)) == {1, 2}
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False)) == [0, 1, 2]
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    assert set(data.RandomSampler(range(3), replacement=True, num_samples=50)) == {0, 1, 2}


@pytest.mark.parametrize(
    "options",
    [
        {"shuffle": True, "sampler": [0]},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"batch_sampler": [[0]], "drop_last": True},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"num_workers": -1},
        {"num_workers": 2, "worker_init_fn": print},
        {"num_workers": 2, "multiprocessing_context": "spawn"},
    ],
    ids=str,
)
def test_options_that_do_not_go_together(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        data.DataLoader(Squares(5), **options)


# --- data sets ------------------------------------------------------------------------------------


def test_data_sets() -> None:
    x, y = torch.arange(6.0).reshape(3, 2), torch.arange(3)
    pairs = data.TensorDataset(x, y)
    assert pairs[-1][1].item() == 2
    assert len(pairs + pairs) == 6
    assert (pairs + pairs)[4][1].item() == (pairs + pairs)[-2][1].item() == 1
    assert data.StackDataset(a=x, b=y)[1]["b"].item() == 1
    assert data.Subset(pairs, [2, 0])[0][1].item() == 2
    with pytest.raises(ValueError, match="Size mismatch"):
        data.TensorDataset(x, torch.ones(2))
    with pytest.raises(IndexError):
        (pairs + pairs)[6]


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [([6, 4], [6, 4]), ([0.7, 0.3], [7, 3]), ([0.35, 0.35, 0.3], [4, 3, 3])],
)
def test_random_split(lengths: list[float], expected: list[int]) -> None:
    parts = data.random_split(range(10), lengths, generator=torch.Generator().manual_seed(0))
    assert [len(p) for p in parts] == expected
    assert sorted(k for p in parts for k in p) == list(range(10))
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(10), [3, 3])


class Point(NamedTuple):
    x: Any
    label: Any


def test_collate() -> None:
    assert data.default_collate([1.5, 2.5]).dtype is torch.float64
    assert data.default_collate([1, 2]).dtype is torch.int64
    assert data.default_collate([True, False]).dtype is torch.bool
    assert data.default_collate([np.float32(1), np.float32(2)]).dtype is torch.float32
    assert data.default_collate(["a", "b"]) == ["a", "b"]
    assert data.default_collate([("a", 1), ("b", 2)])[0] == ("a", "b")
    made = data.default_collate([{"x": np.ones(2), "y": [1, 2]}, {"x": np.zeros(2), "y": [3, 4]}])
    assert made["x"].shape == (2, 2)
    assert [v.tolist() for v in made["y"]] == [[1, 3], [2, 4]]
    points = data.default_collate([Point(torch.ones(2), 0), Point(torch.zeros(2), 1)])
    assert isinstance(points, Point)
    assert points.label.tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="found object"):
        data.default_collate([object()])


# --- files ----------------------------------------------------------------------------------------


def roundtrip(x: Any) -> Any:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize(
    "x",
    [
        None,
        True,
        3,
        -2.5,
        float("inf"),
        "text \u00e9",
        1 + 2j,
        b"\x00\xff",
        torch.float32,
        torch.device("cpu"),
        [1, [2, (3,)]],
        {1: "a", "b": {2.5: None}},
        {(1, 2), 3},
        OrderedDict(a=1),
        np.int16(3),
        torch.ones(2, 3).size(),
        (),
    ],
    ids=repr,
)
def test_plain_data(x: Any) -> None:
    found = roundtrip(x)
    assert found == x
    assert type(found) is type(x)


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64, torch.complex64]
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_tensors(dtype: Any, shape: tuple[int, ...]) -> None:
    x = (torch.rand(*shape) * 5 if shape else torch.rand(())).to(dtype)
    found = roundtrip(x)
    assert found.dtype is dtype
    assert type(found) is torch.Tensor
    np.testing.assert_array_equal(found, x)
    assert found.shape == shape


def test_flags_and_identity() -> None:
    p, x = torch.nn.Parameter(torch.ones(2)), torch.ones(2, requires_grad=True)
    view = torch.arange(6.0).reshape(2, 3).t()
    found = roundtrip(
        {"p": p, "again": [p, x], "result": x * 2, "view": view, "array": np.arange(3)}
    )
    assert isinstance(found["p"], torch.nn.Parameter)
    assert found["again"][0] is found["p"]
    assert found["again"][1].requires_grad
    assert found["result"].requires_grad
    assert found["result"].is_leaf
    np.testing.assert_array_equal(found["view"], view)
    found["p"].data[0] = 7.0
    assert p.tolist() == [1.0, 1.0]
    assert isinstance(found["array"], np.ndarray)


def test_a_training_run_goes_on(tmp_path: pathlib.Path) -> None:
    def made() -> tuple[Any, Any]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def steps(model: Any, optimizer: Any, n: int) -> None:
        for _ in range(n):
            optimizer.zero_grad()
            (model(torch.ones(2, 3)) ** 2).sum().backward()
            optimizer.step()

    model, optimizer = made()
    steps(model, optimizer, 2)
    file = tmp_path / "state.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2}, file)
    steps(model, optimizer, 2)
    other, its_optimizer = made()
    saved = torch.load(str(file), map_location="cpu", weights_only=True)
    other.load_state_dict(saved["model"])
    its_optimizer.load_state_dict(saved["optimizer"])
    steps(other, its_optimizer, 2)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach(), b.detach())


def test_what_is_no_data_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"the object\['net'\] is of type Linear, .* Save what its state_dict"
    ):
        roundtrip({"net": torch.nn.Linear(2, 2)})
    with pytest.raises(TypeError, match="type function, which is no data"):
        roundtrip([len, test_what_is_no_data_is_refused][1])
    with pytest.raises(TypeError, match="holds objects"):
        roundtrip(np.array([None]))
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        roundtrip(endless)


@pytest.mark.parametrize(
    "content", [b"", b"not a file", b"PK\x03\x04", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."]
)
def test_other_files_are_refused(tmp_path: pathlib.Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ValueError, match="not written by"):
        torch.load(tmp_path / "f")


def test_an_npz_file_of_someone_else_is_refused(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "f.npz", x=np.ones(2))
    with pytest.raises(ValueError, match="not written by"):
        torch.load(tmp_path / "f.npz")
    np.savez(tmp_path / "g.npz", structure=np.array([None]), allow_pickle=True)
    with pytest.raises(ValueError, match="pickle"):
        torch.load(tmp_path / "g.npz")


# --- random numbers -------------------------------------------------------------------------------


def test_states_of_generators() -> None:
    state = torch.get_rng_state()
    a = torch.randn(3)
    torch.set_rng_state(state)
    np.testing.assert_array_equal(torch.randn(3), a)
    with torch.random.fork_rng():
        torch.randn(5)
    b = torch.randn(3)
    torch.set_rng_state(state)
    torch.randn(3)
    np.testing.assert_array_equal(torch.randn(3), b)
    g = torch.Generator().manual_seed(7)
    assert g.initial_seed() == 7
    first = torch.rand(2, generator=g)
    np.testing.assert_array_equal(torch.rand(2, generator=torch.Generator().manual_seed(7)), first)
    assert isinstance(g.seed(), int)
    with pytest.raises(TypeError, match="vector of 16 bytes"):
        torch.set_rng_state(torch.ones(2))


def test_complex_numbers_are_drawn_like_others() -> None:
    like = torch.zeros(3000, dtype=torch.complex64)
    for draw, mean, spread in ((torch.randn_like, 0.0, 1.0), (torch.rand_like, 0.5 + 0.5j, 1 / 6)):
        found = draw(like).numpy()
        assert found.dtype == np.complex64
        assert abs(found.mean() - mean) < 0.1
        assert abs(found.var() - spread) < 0.1
    assert torch.randn_like(torch.zeros(2), dtype=torch.complex128).dtype == torch.complex128
