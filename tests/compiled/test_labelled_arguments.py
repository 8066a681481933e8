"""Arrays with labels, of pandas and xarray: functions get values, gradients get labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.labels import with_values

pytestmark = pytest.mark.usefixtures("kernels_in_python")

VALUES = np.arange(1.0, 7.0).reshape(3, 2)


def loss(w: Any, d: Any) -> Any:
    assert not hasattr(w, "index")
    assert not hasattr(w, "dims")
    return np.sum(w**2) * np.sum(d)


FAST = tg.jit(loss)


def containers(library: str) -> list[Any]:
    if library == "pandas":
        pd = pytest.importorskip("pandas")
        return [
            pd.Series(VALUES[:, 0], index=list("abc"), name="w"),
            pd.DataFrame(VALUES, columns=["u", "v"], index=[10, 20, 30]),
            pd.DataFrame({"u": [1.0, 2.0, 4.0], "v": [3, 4, 5]}),
            pd.Series(VALUES[:, 0].astype(np.float32)),
            pd.Series(np.zeros(0), name="empty"),
        ]
    xr = pytest.importorskip("xarray")
    return [
        xr.DataArray(VALUES, dims=("t", "x"), coords={"t": [5, 6, 7]}, name="temperature"),
        xr.DataArray(2.5),
    ]


def check_labels(found: Any, like: Any, values: Any) -> None:
    assert type(found) is type(like)
    np.testing.assert_allclose(found.to_numpy(), values, rtol=1e-6)
    if hasattr(like, "dims"):
        assert found.dims == like.dims
        assert found.name == like.name
        assert set(found.coords) == set(like.coords)
        return
    assert found.index.equals(like.index)
    if found.ndim == 2:
        assert found.columns.equals(like.columns)
    else:
        assert found.name == like.name


@pytest.mark.parametrize("library", ["pandas", "xarray"])
def test_gradients_have_the_labels(library: str) -> None:
    d = np.array([2.0, 3.0])
    for w in containers(library):
        values = w.to_numpy()
        for f in (loss, FAST):
            check_labels(tg.grad(f)(w, d), w, 10 * values)
            value, found = tg.value_and_grad(f)(w, d)
            assert value == f(values, d)
            assert value == FAST(w, d)
            check_labels(found, w, 10 * values)
            first, second = tg.grad(f, argnums=(0, 1))(w, d)
            check_labels(first, w, 10 * values)
            assert type(second) is np.ndarray
        check_labels(tg.jit(tg.grad(loss))(w, d), w, 10 * values)
        with tg.disable_jit():
            check_labels(tg.grad(FAST)(w, d), w, 10 * values)


def test_trees_and_what_is_besides() -> None:
    pd = pytest.importorskip("pandas")
    s = pd.Series([1.0, 2.0], index=["a", "b"])

    def of_tree(p: Any) -> Any:
        return np.sum(p["a"] * p["b"][0]), p["a"] * 2

    for f in (of_tree, tg.jit(of_tree)):
        found, aux = tg.grad(f, has_aux=True)({"a": s, "b": [np.ones(2)]})
        check_labels(found["a"], s, np.ones(2))
        np.testing.assert_array_equal(found["b"][0], [1.0, 2.0])
        np.testing.assert_array_equal(aux, [2.0, 4.0])
        (value, aux), found = tg.value_and_grad(f, has_aux=True)({"a": s, "b": [s]})
        assert value == 5.0
        check_labels(found["b"][0], s, s.to_numpy())


def test_the_index_decides_no_code() -> None:
    pd = pytest.importorskip("pandas")
    g = tg.jit(tg.grad(loss))
    for k in range(3):
        s = pd.Series([1.0, 2.0], index=[k, k + 1])
        check_labels(g(s, 1.0), s, [2.0, 4.0])
        assert len(g._signatures.reasons) == 1


def test_other_transforms_take_the_values() -> None:
    pd = pytest.importorskip("pandas")
    s, frame = pd.Series([1.0, 2.0, 3.0]), pd.DataFrame(VALUES)
    x = s.to_numpy()
    np.testing.assert_allclose(tg.hessian(lambda x: np.sum(x**3))(s), np.diag(6 * x))
    np.testing.assert_allclose(tg.jacobian(np.sin)(s), np.diag(np.cos(x)))
    np.testing.assert_allclose(tg.vmap(lambda r: np.sum(r**2))(frame), np.sum(VALUES**2, 1))
    np.testing.assert_allclose(tg.jvp(np.sin, (s,), (s,))[1], np.cos(x) * x)
    np.testing.assert_allclose(tg.vjp(np.sin, s)[1](x)[0], np.cos(x) * x)
    np.testing.assert_allclose(tg.linearize(np.sin, s)[1](x), np.cos(x) * x)
    assert FAST.explain(s, 1.0).arguments == ("w: float64[3]", "d: a Python float")
    assert FAST.source(s, 1.0) == FAST.source(x, 1.0)


def test_what_is_no_array_of_numbers() -> None:
    pd = pytest.importorskip("pandas")
    bad = {
        "Series of pandas with dtype .*str|object": pd.Series(["a", "b"]),
        "DataFrame of pandas with dtype float64, (str|object)": pd.DataFrame(
            {"a": [1.0], "b": ["x"]}
        ),
        "dtype Int64": pd.Series([1, 2], dtype="Int64"),
        "dtype float64, bool": pd.DataFrame({"a": [1.0], "b": [True]}),
        "dtype category": pd.Series([1, 2]).astype("category"),
        "dtype datetime64": pd.Series(pd.to_datetime(["2020-01-01"])),
    }
    for message, x in bad.items():
        for f in (tg.jit(np.sum), tg.grad(np.sum), tg.vmap(np.sum), tg.hessian(np.sum)):
            with pytest.raises(tg.DTypeError, match=message):
                f(x)
    with pytest.raises(tg.DTypeError, match="floating-point"):
        tg.grad(np.sum)(pd.Series([1, 2]))


def test_neither_library_is_loaded_for_it() -> None:
    assert with_values((VALUES, [1.0]), {"k": 2}) is None


def _of_a_stub() -> Callable[[Any], Any]:
    """What stands for a function of pandas where that is missing: code that lies where it would."""
    place = Path(np.__file__).parents[1] / "pandas" / "core" / "series.py"
    scope: dict[str, Any] = {"__name__": "pandas.core.series"}
    exec(compile("def total(x):\n    return x.__array__().sum()", place, "exec"), scope)
    return lambda x: scope["total"](x)


def _of_pandas() -> Callable[[Any], Any]:
    pd = pytest.importorskip("pandas")
    return lambda x: pd.Series(x).sum()


@pytest.mark.parametrize("made", [_of_a_stub, _of_pandas])
@pytest.mark.parametrize("way", [tg.grad, tg.jit, tg.hessian])
def test_pandas_inside_of_a_function(made: Callable[[], Callable[[Any], Any]], way: Any) -> None:
    inside = made()
    with pytest.raises(tg.ConcretizationError) as caught:
        way(lambda x: np.sum(x * inside(x)))(np.ones(3))
    message = str(caught.value)
    for words in (Path(__file__).name, "pandas.core.", "values = frame.to_numpy()"):
        assert words in message


def test_the_same_labels_in_another_order_are_refused() -> None:
    """By label they would be other pairs than by place."""
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    s = pd.Series([1.0, 2.0, 3.0], list("abc"))
    mixed = pd.Series([1.0, 2.0, 3.0], ["a", 1, 2])
    x = xr.DataArray(np.ones((2, 2)), dims=("t", "x"), coords={"t": [5, 6]})
    table = pd.DataFrame(np.ones((3, 3)), columns=list("cba"), index=list("abc"))
    f = tg.jit(lambda a, b: np.sum(a * b))
    for a, b in [(s, s[::-1]), (mixed, mixed[::-1]), (x, x.T), (x, x[::-1]), (table, table.T)]:
        for call in (f, tg.grad(f), lambda a, b: f(b, a)):
            with pytest.raises(ValueError, match="same labels"):
                call(a, b)
    for a, b in [(s, s), (s, s.set_axis(list("xyz"))), (x, x[:1]), (s, s[:1]), (x, x.copy())]:
        assert f(a, b) == f(a.to_numpy(), b.to_numpy())
    assert tg.jit(np.sum)(table) == 9  # whose index and columns are in two orders


def test_writes_into_a_copy_are_refused() -> None:
    """A table of columns of several dtypes gives a copy of its values."""
    pd = pytest.importorskip("pandas")

    def writes(x: Any) -> Any:
        x[0] = 9.0
        return np.sum(x)

    d = pd.DataFrame({"u": [1.0, 2.0], "v": [3, 4]})
    with pytest.raises(ValueError, match="read-only"):
        tg.jit(writes)(d)
    assert tg.jit(np.sum)(d) == 10


def test_tables_around_a_function_are_read_as_they_are() -> None:
    """Whatever of them changes: an element, a column, a label, a dtype."""
    pd = pytest.importorskip("pandas")
    d = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}, index=["u", "v"])
    s = pd.Series([1.0, 2.0, 4.0], name="s")
    kinds = pd.DataFrame({"c": pd.array([1, None], "Int64"), "d": [[1], [2]], "e": ["x", "y"]})
    labels = pd.Index([3.0, 4.0])

    class Model:
        def __init__(self) -> None:
            self.table = d

    model = Model()

    def f(x: Any) -> Any:
        whole = x * model.table["a"].mean() + len(d.columns) * d.to_numpy().sum()
        return whole + s.iloc[0] + s.max() * labels[0] + kinds["c"].sum() + len(kinds["d"].iloc[0])

    compiled, slope = tg.jit(f), tg.grad(tg.jit(f))
    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: d.__setitem__("a", [5.0, 7.0]),
        lambda: d.loc.__setitem__(("u", "b"), 9),
        lambda: d.insert(0, "z", [1.0, 1.0]),
        lambda: d.pop("b"),
        lambda: s.iloc.__setitem__(0, 11.0),
        lambda: s.__setitem__(7, 50.0),
        lambda: kinds.loc.__setitem__((1, "c"), 8),
        lambda: kinds["d"].iloc[0].append(3),
        lambda: setattr(model, "table", d * 2),
    ]
    for change in changes:
        change()
        assert compiled(2.0) == pytest.approx(f(2.0), rel=1e-14)
        assert slope(2.0) == pytest.approx(model.table["a"].mean(), rel=1e-14)


@pytest.mark.usefixtures("kernels_in_python")
def test_polynomials_of_numpy_around_a_function_are_read_as_they_are() -> None:
    p, q = np.poly1d([1.0, 2.0]), np.polynomial.Polynomial([1.0, 2.0])
    f = tg.jit(lambda x: x * p(2.0) + q(3.0))
    assert f(1.0) == 4.0 + 7.0
    p[0], q.coef[0] = 5.0, 3.0
    assert f(1.0) == 7.0 + 9.0
