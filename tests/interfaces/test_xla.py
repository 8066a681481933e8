"""Handlers of XLA's typed foreign functions: called as XLA calls them, and by JAX where that is
installed."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

WORD, POINTER = ctypes.c_int64, ctypes.c_void_p


class Words:
    """So many 64-bit words, and what they point at."""

    def __init__(self, *words: Any) -> None:
        self.kept = words
        self.memory = (WORD * len(words))(
            *[w.address if isinstance(w, Words) else w.ctypes.data if isinstance(w, np.ndarray)
              else w for w in words]
        )  # fmt: skip

    @property
    def address(self) -> int:
        return ctypes.addressof(self.memory)


messages: list[str] = []


@ctypes.CFUNCTYPE(POINTER, POINTER)
def create_error(args: int) -> int:
    messages.append(ctypes.string_at(ctypes.c_void_p.from_address(args + 16).value or 0).decode())
    return 4711


API = Words(
    200, 0, 24, 0, 7 << 32, 0, ctypes.cast(create_error, POINTER).value or 0
)  # version 0.7, and what makes errors


def buffers(arrays: Any) -> Words:
    return Words(*[Words(48, 0, 0, a, a.ndim, 0) for a in arrays])


def frame(arguments: Any, results: Any, stage: int = 3, extension: Any = 0) -> Words:
    return Words(
        128, extension, API, 0, stage,
        40, 0, len(arguments), 0, buffers(arguments),
        40, 0, len(results), 0, buffers(results),
    )  # fmt: skip


def test_a_handler_as_xla_calls_it() -> None:
    f = tg.jit(lambda x, k: (np.sin(x) * k, np.sum(x)))
    x, k, y, s = np.arange(4.0), np.array(3.0), np.zeros(4), np.zeros(())
    c = f.cfunc(x, k, signature="ffi")
    assert not c(frame([x, k], [y, s]).address)
    assert np.array_equal(y, np.sin(x) * 3.0)
    assert s == 6.0
    y[...] = 0.0
    assert not c(frame([x, k], [y, s], stage=1).address)
    assert not y.any()


def test_errors() -> None:
    taken, solved = tg.jit(lambda x, k: x[k]), tg.jit(lambda a: np.linalg.inv(a))
    x, out = np.arange(4.0), np.zeros(())
    c = taken.cfunc(x, np.array(0), signature="ffi")
    assert not c(frame([x, np.array(3)], [out]).address)
    messages.clear()
    assert c(frame([x, np.array(9)], [out]).address) == 4711
    a = np.zeros((4, 4))
    assert solved.cfunc(a, signature="ffi")(frame([a], [a.copy()]).address) == 4711
    assert messages[0].startswith("IndexError: an index is out of bounds for axis 0 with size 4")
    assert messages[1].startswith("LinAlgError: Singular matrix")
    assert isinstance(taken.last_status().error, IndexError)


def test_metadata() -> None:
    c = tg.jit(np.sin).cfunc(1.0, signature="ffi")
    metadata = Words(48, 24, 0, 0, -1, 0)
    extension = Words(32, 1, 0, metadata)
    assert not c(frame([], [], extension=extension).address)
    assert list(metadata.memory)[3:5] == [7 << 32, -1 << 32]


def test_jax_calls_it() -> None:
    jax = pytest.importorskip("jax")
    f = tg.jit(lambda x: (np.cumsum(x), np.sum(x * x)))
    x = np.arange(5, dtype=np.float32)
    c = f.cfunc(x, signature="ffi")
    jax.ffi.register_ffi_target("cumulated", jax.ffi.pycapsule(c.ctypes), platform="cpu")
    shapes = [jax.ShapeDtypeStruct(s, np.float32) for s in ((5,), ())]
    found = jax.jit(lambda x: jax.ffi.ffi_call("cumulated", shapes)(2.0 * x))(x)
    for a, b in zip(found, f(2.0 * x), strict=True):
        assert np.array_equal(a, b)


def test_wrapped_functions_go_there_where_they_can() -> None:
    jax = pytest.importorskip("jax")
    from tracegrad.bridges import jax as bridge

    weights = np.ones(4, np.float32)
    x = np.arange(4, dtype=np.float32)
    for function, many in (
        (lambda x: np.sum(np.sin(x)), 1),
        (lambda x: np.sum(weights * x), 0),
        (lambda x: np.sin(x).astype(np.float64), 0),
    ):
        before = len(bridge._KEPT)
        wrapped = tg.jax.wrap(function)
        assert np.allclose(jax.jit(wrapped)(x), function(x), rtol=1e-6)
        assert len(bridge._KEPT) - before == many
