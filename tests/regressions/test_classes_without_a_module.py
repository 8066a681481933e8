"""Classes that `type()` makes in code without a `__name__` (of `exec`, of embedded Python) have no
`__module__`; those of others may have one that is no text."""

from __future__ import annotations

from typing import Any

import pytest

import tracegrad as tg

CODE = """
def times(self, x):
    return x * self.n

Made = type("Made", (), {"n": 2.0, "times": times})
Wrong = type("Wrong", (ValueError,), {})
"""


def _classes(odd: bool) -> Any:
    names: dict[str, Any] = {}
    exec(CODE, names)
    if odd:
        for cls in (names["Made"], names["Wrong"]):
            cls.__module__ = None
    return names["Made"], names["Wrong"]


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("odd", [False, True])
def test_their_objects_are_read_and_written(odd: bool) -> None:
    kept = _classes(odd)[0]()
    assert tg.jit(lambda x: x * kept.n)(3.0) == 6.0
    assert tg.jit(lambda x: kept.times(x))(3.0) == 6.0
    assert tg.jit(kept.times)(3.0) == 6.0
    assert tg.jit(tg.grad(lambda x: kept.times(x)))(3.0) == 2.0

    def counts(x: Any) -> Any:
        kept.n = kept.n + 1
        return x * kept.n

    compiled = tg.jit(counts)
    assert [float(compiled(1.0)) for _ in range(3)] == [3.0, 4.0, 5.0]
    assert kept.n == 5.0
    kept.n = 7.0
    assert compiled(1.0) == 8.0


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("odd", [False, True])
def test_as_arguments(odd: bool) -> None:
    made = _classes(odd)[0]()
    assert tg.jit(lambda o, x: x * o.n, static_argnums=0)(made, 3.0) == 6.0
    for transform in (tg.grad, tg.vmap):
        with pytest.raises((TypeError, ValueError), match="Made"):
            transform(lambda o: o.n)(made)


@pytest.mark.parametrize("odd", [False, True])
def test_as_exceptions(odd: bool) -> None:
    wrong = _classes(odd)[1]

    def f(x: Any) -> Any:
        if x < 0:
            raise wrong("below 0")
        return x * 2

    compiled = tg.jit(f)
    assert compiled(1.5) == 3.0
    with pytest.raises(ValueError, match="below 0"):
        compiled(-1.5)
