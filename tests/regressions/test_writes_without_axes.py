"""Arrays without axes are written into under all of their names, as NumPy's are: `t = np.zeros(())`
is an array, `x.sum()` a number. (`+=` bound the one name anew.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

pytestmark = pytest.mark.usefixtures("kernels_in_python")


def _add(a: Any, v: Any) -> None:
    a += v


def _both(a: Any, b: Any, v: Any) -> Any:
    a += v
    return a * 2 + b


def _in_a_function(x: Any) -> Any:
    total = np.zeros(())
    for v in x:
        _add(total, v)
    return total * x[0]


def _in_a_branch(x: Any) -> Any:
    total = np.zeros(())
    other = total
    if x[0] > 0:
        total += x[0]
    else:
        total -= x[0]
    return other * 2


def _in_a_loop(x: Any) -> Any:
    total = np.array(0.0)
    best = total
    for i in range(30):
        total += x[0] * i
        if total > best:
            best = total
    return best


def _in_a_list(x: Any) -> Any:
    total = np.array(0.0)
    found = []
    for _ in range(3):
        total += x[1]
        found.append(total)
    return np.array(found)


def _alike(x: Any) -> Any:
    y = np.array(x[0])
    return _both(y, y, 1.0)


def _copied(x: Any) -> Any:
    y = np.copy(x[0])
    return _both(y, y.copy(), 1.0)


def _reshaped(x: Any) -> Any:
    y = x[:1].copy()
    return _both(y.reshape(()), y, x[1])


def _squeezed(x: Any) -> Any:
    y = x[:1].copy()
    z = np.squeeze(y)
    y *= 3.0
    return z


def _shown(x: Any) -> Any:
    y = np.asarray(x[0] * 2)
    return _both(y[...], y.reshape(1), x[1])


def _like(x: Any) -> Any:
    y, z = np.zeros_like(x[0]), np.ones_like(x[0]).astype(float)
    return _both(y, y, x[0]) + _both(z, z, x[1])


def _numbers(x: Any) -> Any:
    y = x.sum()
    z = x[0].copy()
    return _both(y, y, 1.0) + _both(z, z, 1.0) + _both(x[1], x[1], 1.0)


def _methods_of_numbers(x: Any) -> Any:
    y, z = x[0] * 1.0, np.array(x[0])
    for v in (y, z):
        v.fill(x[1])
    found = z * 1.0
    for v in (y, z):
        v.put([0], 5.0)
    return np.stack([y, z, found])


def _chosen(x: Any) -> Any:
    y = np.where(x[0] > 1, x[0], x[1])
    z = np.select([x[0] > 1], [x[1]], x[0])
    return _both(y, y, x[1]) + _both(z, z, x[0])


def _filled(x: Any) -> Any:
    y, z = np.full_like(x[0], 2.0), np.full((), x[0])
    return _both(y, y, x[0]) + _both(z, z, x[1])


def _in_an_order(x: Any) -> Any:
    y = np.array(x[0]).astype(np.float64, order="C")
    z = x[1].astype(np.float64, order="C")
    return _both(y, y, x[1]) + _both(z, z, x[0])


def _contracted(x: Any) -> Any:
    y, z = np.tensordot(x, x, 1), np.cov(x)
    return _both(y, y, x[1]) + _both(z, z, x[0])


def _moved(x: Any) -> Any:
    y, z = np.roll(x[0], 1), np.tile(x[1], ())
    w, v = np.pad(x[0], 0), np.resize(x, ())
    return _both(y, y, 1.0) + _both(z, z, 2.0) + _both(w, w, 3.0) + _both(v, v, 4.0)


def _elements(x: Any) -> Any:
    y = np.array(x[0])
    found = [y[()], y.item(), y.tolist(), np.flip(y), np.einsum("...->...", y)]
    y *= 3.0
    return np.stack([*found, y])


def _without_nan(x: Any) -> Any:
    y = np.array(x[0])
    return _both(y, np.nan_to_num(y, copy=False), 1.0)


def _filled_with_itself(x: Any) -> Any:
    y = x.copy()
    z, w = np.full(2, y), np.full_like(y, y)
    z += 1.0
    w *= 2.0
    return np.stack([y, z, w])


def _parts(x: Any) -> Any:
    y = np.array(x[0] + 1j * x[1])
    real, imag = y.real, np.imag(y)
    real += x[1]
    imag *= 3.0
    return y.real + 2 * y.imag


def _of_a_number(x: Any) -> Any:
    y = x[0]
    z, w = y.reshape(1), y[...]
    z += 1.0
    w *= x[1]
    return np.stack([y, z[0], w])


def _shown_at_a_place(x: Any) -> Any:
    y, z = x * 1.0, np.outer(x, x)
    k = np.argmin(x)
    for part in (y[k, ...], y[..., k - 2], z[k, ..., k], z[..., 0, k]):
        part *= 3.0
    for i in range(40):
        part = y[i % 2, ...]
        part += x[0]
    return np.concatenate([y, z[0], z[1]])


def _as_an_index(x: Any) -> Any:
    y, k = np.outer(x, x), np.array(1)
    for part in (y[k], y[:, k], y[k, :1], y[k, 0, ...]):  # copies, where a number gives views
        part += x[0]
    part = y[np.argmax(x)]
    part += x[1]
    return y


PROGRAMS = [
    *(_in_a_function, _in_a_branch, _in_a_loop, _in_a_list, _alike, _copied, _reshaped),
    *(_squeezed, _shown, _like, _numbers, _chosen, _filled, _contracted, _moved, _elements),
    *(
        _in_an_order,
        _as_an_index,
        _shown_at_a_place,
        _without_nan,
        _filled_with_itself,
        _parts,
        _of_a_number,
    ),
]


def _ways(f: Callable[[Any], Any], x: Any) -> dict[str, Any]:
    t = np.ones(x.shape)
    return {
        "compiled": tg.jit(f)(x),
        "forwards": tg.jvp(f, (x,), (t,))[0],
        "backwards": tg.value_and_grad(lambda x: np.sum(f(x)))(x)[0],
        "batched": tg.vmap(f)(np.stack([x, x]))[1],
    }


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[[Any], Any]) -> None:
    x = np.array([2.0, 0.5])
    expected = f(x)
    for way, found in _ways(f, x).items():
        wanted = np.sum(expected) if way == "backwards" else expected
        np.testing.assert_allclose(found, wanted, err_msg=way)


def test_an_argument_without_axes() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        return _both(y, y, 1.0)

    x = np.array(2.0)
    assert tg.jit(f)(x) == tg.jvp(f, (x,), (x,))[0] == tg.value_and_grad(f)(x)[0] == f(x) == 9.0
    assert x == 2.0


def test_an_index_without_axes_as_an_argument() -> None:
    def f(x: Any, k: Any) -> Any:
        y = x * 1.0
        part = y[k]
        part += 1.0
        return y

    x = np.zeros((3, 2))
    for k, total in ((np.array(1), 0.0), (1, 2.0)):
        assert np.sum(tg.jit(f)(x, k)) == np.sum(f(x, k)) == total
        assert np.sum(tg.jvp(lambda x, k=k: f(x, k), (x,), (x,))[0]) == total


def test_an_integer_as_what_to_fill_with() -> None:
    def f(n: Any) -> Any:
        y = n.copy()
        z = np.full((), y)
        z += 1
        return y, z

    assert tg.jit(f)(np.array(2)) == f(np.array(2)) == (2, 3)
