"""What loops that are kept do with their numbers is what plain Python and NumPy do: powers, keys,
indices and slices that pass the end, the order of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.unjitted import run_unjitted
from tracegrad.errors import ConcretizationError
from tracegrad.ir.evaluate import evaluate
from tracegrad.staging import loops

X = np.array([1.45, -0.45, 2.55, 0.3, -1.2])


def halves(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i] * 2**-i
    return s


def halves_of_another(x: Any) -> Any:
    s = 0.0
    for i in range(1, len(x)):
        s += x[i] * 3 ** (1 - i) + i**-2 + i ** (2 - i) + pow(2, -i) * x[0]
    return s


def powers_of_elements(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        s += x[i] ** -i + (x[0] + 2) ** (2 - i) + 2.0 ** (-i) * x[1]
    return s


def whole_powers(x: Any) -> Any:
    s, total = 0.0, 0
    for i in range(len(x)):
        s += x[2**i // 16] * (-1) ** i
        total += 2 ** (len(x) - 1 - i)
    return s * total


def of_narrow_ones(x: Any) -> Any:
    y = np.zeros(5, np.float32)
    for i in range(len(x)):
        y[i] = np.float32(3) * 2**-i
        y[i] = y[i] * i**2 * np.float32(0.5)
    return np.sum(y) * x[0]


def halves_of_a_counter(x: Any) -> Any:
    k, s = 0, 0.0
    while x[k % 5] > -1:
        k += 1
        s += 2**-k * x[k % 5]
    return s


def truth_values(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        late, first = i > 2, not i > 0
        s += x[i] * ((i > 1) + late + late) - (-late) * x[0] + (2 - first) * (late - first)
        s += x[1] * (late * first + late) + sum([late, first, i > 3]) * x[2]
        if late is True and first is not True:
            s += x[3]
        if (x[i] > 0) is True:  # NumPy's never is
            s += 100
    return s


def bits(x: Any) -> Any:
    y = np.zeros(5, np.float32)
    for i in range(5):
        y[i] = np.float32(0.1) * (i & 3) + np.float32(0.3) * (i << 1) - (i ^ 1) * np.float32(~i)
    return np.sum(y) * x[0]


def rounded(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        k = round(x[i] * 1.7)
        s += x[abs(k) % 5] * k // 2 + round(i * 0.7) * x[k % 5] + round(1.57 * x[i], 1)
    return s


def entries(x: Any) -> Any:
    weights, s = {0: 0.5, 1: 2.0, 2: x[1], 3: 1, 4: x[0] * 2}, 0.0
    for i in range(len(x)):
        s += weights[i] * x[i]
    return s


def entries_by_other_keys(x: Any) -> Any:
    rows, s = {-2: x, 7: 2 * x, 1: np.ones(5), 4: x * x}, 0.0
    for i in range(-2, 8, 3):
        s += np.sum(rows[i]) * i
    return s


def windows(x: Any) -> Any:
    s = 0.0
    for k in range(len(x)):
        s += np.sum(x[k : k + 2] ** 2) * (k + 1) + len(x[k : k + 3])
    return s


def windows_around(x: Any) -> Any:
    y = x.copy()
    for k in range(len(x)):
        s = x[k - 1 : k + 2]
        y[k] = np.sum(s * s) + np.mean(x[k : k + 4])
    return np.sum(y**2)


def windows_written(x: Any) -> Any:
    y = np.zeros(len(x))
    for k in range(len(x)):
        y[k : k + 2] += x[k]
        y[k : k + 3] *= 0.5
    return np.sum(y**3)


def windows_where_they_fit(x: Any) -> Any:
    s = np.zeros(2)
    for k in range(len(x)):
        if k + 2 <= len(x):
            s = s + x[k : k + 2] * k
    return np.sum(s**2)


def caught(x: Any) -> Any:
    s = 0.0
    for i in range(7):
        try:
            v = x[i]
        except IndexError:
            v = 2 * x[0]
        s += v * i
    return s


def caught_around(x: Any) -> Any:
    s, y = 0.0, x.copy()
    try:
        for i in range(2, 9):
            y[i] *= 2.0
            s += y[i - 9]
    except (KeyError, LookupError):
        s += x[1]
    return s + np.sum(y)


def caught_in_a_function(x: Any) -> Any:
    def at(i: int) -> Any:
        return x[i]

    s = 0.0
    for i in range(6):
        try:
            s += at(i)
        except Exception:
            s += 1.0
    return s


def never_caught(x: Any) -> Any:
    s = 0.0
    for i in range(5):
        try:
            s += x[i] * x[-1 - i]
        except IndexError:
            s += 1.0
    return s


def in_order(x: Any) -> Any:
    z, s = x + 1j * x[::-1], 0.0
    for i in range(len(x)):
        if z[i] < 2:
            s += x[i]
        if z[i] >= z[i - 1] or z[1] > z[i]:
            s += np.abs(z[i]) * (z[i] <= z[0] + 1j)
    return s + np.sum(x * (z < z[::-1]))


PROGRAMS = [
    halves, halves_of_another, powers_of_elements, whole_powers, of_narrow_ones,
    halves_of_a_counter, truth_values, bits, rounded, entries,
    entries_by_other_keys, windows, windows_around, windows_written, windows_where_they_fit,
    caught, caught_around, caught_in_a_function, never_caught, in_order,
]  # fmt: skip


@pytest.mark.parametrize("stage", [True, "auto"], ids=["kept", "written out"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_plain_python(
    f: Callable[..., Any], stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and gradients by the graph as traced, and by its generated source."""
    if stage is True:
        monkeypatch.setattr(loops.Budget, "nodes", 0)
    both: Any = tg.jit(tg.value_and_grad(f), stage=stage)
    graphs = both.graphs(X)
    given = [X, *both._entry((X,), {}).entry.traced.captures]
    slopes = np.array([(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(5)])
    for found in (evaluate(graphs[0], given), run_unjitted(graphs[-1], given)):
        np.testing.assert_allclose(found[0], f(X.copy()), rtol=1e-12)
        np.testing.assert_allclose(found[1], slopes, rtol=1e-4, atol=1e-5)


def of_numpys(x: Any, n: Any) -> Any:
    """The exponents of NumPy's integers, or of arrays of them."""
    s = x[0]
    for i in range(3):
        s = s + np.int64(i + 2) ** n[i] + np.sum(np.array([1, 2]) ** n[i])
    return s


def of_unknown_sign(x: Any, n: Any) -> Any:
    return x[0] * 2 ** int(n[0])


@pytest.mark.parametrize("f", [of_numpys, of_unknown_sign], ids=lambda f: f.__name__)
def test_whole_powers_that_turn_out_negative_are_errors(f: Callable[..., Any]) -> None:
    compiled = tg.jit(f)
    n = np.array([2, 0, 1])
    assert compiled(X, n) == f(X, n)
    for way in (compiled, tg.grad(compiled)):
        with pytest.raises(ValueError, match=r"negative (integer )?power"):
            way(X, -n)
    with pytest.raises(ValueError, match=r"negative (integer )?power"):
        tg.vmap(compiled, in_axes=(0, None))(np.stack([X, X]), -n)


def test_complex_numbers_of_pythons_have_no_order() -> None:
    def f(x: Any) -> Any:
        z = 1j
        for _ in range(3):
            z = z * 2
            if z < 2:
                z = z + 1
        return x * abs(z)

    with pytest.raises(TypeError, match="not supported between instances of"):
        f(1.0)
    with pytest.raises(TypeError, match="not supported between instances of 'complex' and 'int'"):
        tg.jit(f, stage=True)(1.0)


def test_a_key_that_is_not_there() -> None:
    def f(x: Any, n: Any) -> Any:
        entries = {1: 2.0, 5: 3.0}
        return x * entries[n + 1]

    compiled = tg.jit(f)
    assert compiled(2.0, np.int64(4)) == 6.0
    with pytest.raises(KeyError):
        compiled(2.0, np.int64(1))


def test_an_index_that_a_try_would_see_is_refused() -> None:
    def f(x: Any, n: Any) -> Any:
        s = 0.0
        for i in range(n):
            try:
                s += x[i]
            except IndexError:
                s += 1.0
        return s

    with pytest.raises(ConcretizationError, match=r"py:\d+: an index .* 'try' .* Ask before"):
        tg.jit(f, stage=True)(X, np.int64(8))
