"""`jit(checked=, contract=, flush_denormals=)`: what they do, and that all that is derived of a
function is compiled as it is."""

from fractions import Fraction

import llvmlite.binding
import numpy as np
import pytest

import tracegrad as tg

FUSES = llvmlite.binding.get_host_cpu_features().get("fma", False)
TINY = 5e-324


def squares_less(x, y):
    return x * x - y


def rest(x):
    """What rounding took from the squares."""
    return np.array([float(Fraction(v) * Fraction(v) - Fraction(v * v)) for v in x.tolist()])


@pytest.mark.skipif(not FUSES, reason="this processor rounds products")
@pytest.mark.parametrize("size", [1, 3, 64, 1003])
def test_a_contracted_product_is_not_rounded(size):
    x = np.random.default_rng(size).normal(size=size)
    fast = tg.jit(squares_less, contract=True)
    np.testing.assert_array_equal(fast(x, x * x), rest(x))
    np.testing.assert_array_equal(fast.njit(x, x)(x, x * x), rest(x))
    assert not np.any(tg.jit(squares_less)(x, x * x))


def test_contracted_functions_have_the_same_bits_for_any_number_of_threads():
    x = np.random.default_rng(0).normal(size=300_001)
    fast = tg.jit(lambda x: np.sum(x * x * 0.3 + x) + x * x - 0.7 * x, contract=True)
    before = tg.get_num_threads()
    results = []
    for threads in (1, 2):
        tg.set_num_threads(threads)
        results.append(fast(x))
    tg.set_num_threads(before)
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], fast.function(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 7, 300_001])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_denormals_are_zeros_in_there_alone(dtype, size):
    small = np.full(size, 1e-300 if dtype is np.float64 else 1e-37, dtype)
    kept, flushed = tg.jit(lambda x: x * 1e-8), tg.jit(lambda x: x * 1e-8, flush_denormals=True)
    assert np.all(kept(small) > 0)
    for f in (flushed, flushed.njit(small)):
        np.testing.assert_array_equal(f(small), np.zeros(size))
        assert np.float64(TINY) * 1.0 == TINY
    assert not np.any(tg.jit(lambda x: x + 0.0, flush_denormals=True)(np.full(size, TINY)))


def read(x, i):
    return np.sum(x[i] * x)


X, DIRECTION = np.array([0.5, 1.5, 2.5]), np.array([1.0, -1.0, 0.5])
DERIVED = {
    "itself": lambda f, i: f(X, i),
    "grad": lambda f, i: tg.grad(lambda x: 2 * f(x, i))(X),
    "jvp": lambda f, i: tg.jvp(lambda x: 2 * f(x, i), (X,), (DIRECTION,))[1],
    "hessian": lambda f, i: tg.hessian(lambda x: f(x, i) ** 2)(X),
    "vmap": lambda f, i: tg.vmap(lambda x: 2 * f(x, i))(np.stack([X, DIRECTION])),
    "vmap of grad": lambda f, i: tg.vmap(tg.grad(lambda x: f(x, i)))(np.stack([X, DIRECTION])),
    "linearize": lambda f, i: tg.linearize(lambda x: 2 * f(x, i), X)[1](DIRECTION),
    "its own grad": lambda f, i: tg.grad(f)(X, i),
    "jitted again": lambda f, i: tg.jit(tg.grad(f))(X, i),
    "tensors": lambda f, i: f(tg.tensor(X, requires_grad=True), i).detach().numpy(),
}


@pytest.mark.parametrize("name", DERIVED)
def test_what_is_derived_is_as_unchecked_as_the_function(name):
    unchecked, checked = tg.jit(read, checked=False), tg.jit(read)
    expected = DERIVED[name](checked, 2)
    np.testing.assert_allclose(DERIVED[name](unchecked, 9), expected, rtol=1e-14)
    with pytest.raises(IndexError, match="9 is out of bounds"):
        DERIVED[name](checked, 9)


def tiny_product(x):
    return np.sum((x * 1e-160) ** 2)


@pytest.mark.parametrize("name", ["grad", "jvp", "vmap of grad", "its own grad", "jitted again"])
def test_what_is_derived_flushes_as_the_function_does(name):
    def derived(**options):
        f = tg.jit(tiny_product, **options)
        return DERIVED[name](lambda x, _: f(x), 0)

    def own(**options):
        return DERIVED[name](tg.jit(lambda x, _: tiny_product(x), **options), 0)

    made = own if "own" in name or "again" in name else derived
    assert np.all(made() != 0)
    assert not np.any(made(flush_denormals=True))


def test_options_are_kept_unless_said_anew():
    fast = tg.jit(read, contract=True, checked=False)
    assert tg.jit(fast) is fast
    assert tg.jit(fast, contract=False).code == tg.jit(read, checked=False).code
    assert tg.jit(tg.grad(fast)).code == fast.code
    source = fast.source(X, 1)
    assert "@arithmetic(contract=True)" in source
    assert "arithmetic" not in tg.jit(read).source(X, 1)
    with pytest.raises(TypeError, match="contract is True or False, not 'yes'"):
        tg.jit(read, contract="yes")
