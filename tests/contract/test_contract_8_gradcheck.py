"""Contract, section 8, third bullet: `gradcheck` and `gradgradcheck`: what they accept, find, and
say."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.autograd import gradcheck, gradgradcheck
from tracegrad.autograd.gradcheck import GradcheckError

EVERYTHING = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_grad_dtypes": True,
}


def leaf(values: Any, **options: Any) -> Any:
    return tg.tensor(values, requires_grad=True, **options)


def with_rules(factor: float, tangent: float = 2.0) -> Any:
    """The square, with `factor` x as its derivative in reverse mode and `tangent` x in forward mode
    (right: 2)."""

    @tg.custom_jvp
    def square(x: Any) -> Any:
        return x * x

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, tangent * primals[0] * tangents[0]))
    if factor == tangent:
        return square

    @tg.custom_vjp
    def reverse(x: Any) -> Any:
        return x * x

    reverse.defvjp(lambda x: (x * x, x), lambda x, ct: (factor * x * ct,))
    return reverse


def test_signatures() -> None:
    """The parameters of torch's functions, keyword only behind the first ones, with torch's
    defaults."""
    found = {
        name: p.default
        for name, p in inspect.signature(gradcheck).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    }
    assert found == {
        "eps": 1e-6,
        "atol": 1e-5,
        "rtol": 1e-3,
        "raise_exception": True,
        "nondet_tol": 0.0,
        "check_undefined_grad": True,
        "check_grad_dtypes": False,
        "check_batched_grad": False,
        "check_batched_forward_grad": False,
        "check_forward_ad": False,
        "check_backward_ad": True,
        "fast_mode": False,
        "masked": None,
    }
    found = {
        name: p.default
        for name, p in inspect.signature(gradgradcheck).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    }
    assert found == {
        "eps": 1e-6,
        "atol": 1e-5,
        "rtol": 1e-3,
        "gen_non_contig_grad_outputs": False,
        "raise_exception": True,
        "nondet_tol": 0.0,
        "check_undefined_grad": True,
        "check_grad_dtypes": False,
        "check_batched_grad": False,
        "check_fwd_over_rev": False,
        "check_rev_over_rev": True,
        "fast_mode": False,
        "masked": False,
    }
    assert issubclass(GradcheckError, RuntimeError)
    assert tg.autograd.gradcheck.GradcheckError is GradcheckError


@pytest.mark.parametrize("fast", [False, True])
def test_right_derivatives_pass(fast: bool) -> None:
    """One input and several, one output and several (also integers), complex ones, 0-d, empty,
    strided, jitted."""
    x, m, z = leaf([1.0, 2.0, 3.0]), leaf(np.arange(9.0).reshape(3, 3) / 7), leaf([1 + 2j, 3 - 1j])
    functions: list[tuple[Any, Any]] = [
        (lambda x: x.exp() * x, x),
        (lambda x, m: (m @ x, (x * x).sum(), x.argmax()), (x, m)),
        (lambda x, n: x**n, (x, 3)),
        (lambda z: z * z, z),
        (lambda z: z.abs(), z),
        (lambda z, x: (z.conj() * x[:2], z.real * 2), (z, x)),
        (lambda x: x * 1j, x),
        (lambda x: x**3, leaf(2.0)),
        (lambda x: (x * x).sum(), leaf(np.zeros((0, 2)))),
        (lambda x: x * x, tg.arange(6.0).view(2, 3).t().requires_grad_()),
        (tg.jit(lambda x: np.sin(x) * x), x),
        (lambda x: x.clone().mul_(x)[1:].sin_(), x),
        (lambda x: x.clone().round_(), leaf([0.3, 1.7])),
        (lambda m: (m * 1).diagonal(1), m),
    ]
    for function, inputs in functions:
        assert gradcheck(function, inputs, fast_mode=fast, **EVERYTHING)
        assert gradgradcheck(
            function, inputs, fast_mode=fast, check_fwd_over_rev=True, check_batched_grad=True
        )
        assert gradgradcheck(function, inputs, fast_mode=fast, gen_non_contig_grad_outputs=True)


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_derivatives_are_found(fast: bool) -> None:
    """With both Jacobians in the message, or False where no exception is wanted."""
    x = leaf([1.0, 2.0])
    message = (
        r"Jacobian mismatch for output 0 with respect to input 0,\n"
        r"numerical:\[\[2\. +0\. *\]\n \[0\. +4\. *\]\]\n"
        r"analytical:\[\[3. 0.\]\n \[0. 6.\]\]"
    )
    with pytest.raises(GradcheckError, match=message):
        gradcheck(with_rules(3.0), x, fast_mode=fast)
    assert not gradcheck(with_rules(3.0), x, fast_mode=fast, raise_exception=False)
    with pytest.raises(GradcheckError, match=r"for output 1 with respect to input 1"):
        gradcheck(lambda a, b: (a * b, with_rules(3.0)(b)), (x, leaf([2.0, 3.0])), fast_mode=fast)
    with pytest.raises(
        GradcheckError, match=r"Jacobian computed with forward mode mismatch for output 0"
    ):
        gradcheck(
            with_rules(3.0, 3.0), x, check_forward_ad=True, check_backward_ad=False, fast_mode=fast
        )
    assert gradcheck(with_rules(2.0), x, fast_mode=fast)


@pytest.mark.parametrize("fast", [False, True])
def test_wrong_second_derivatives_are_found(fast: bool) -> None:
    """A first derivative that is right in its numbers, and not recorded as what it is."""

    @tg.custom_vjp
    def square(x: Any) -> Any:
        return x * x

    square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * tg.stop_gradient(x) * ct,))
    x = leaf([1.0, 2.0])
    assert gradcheck(square, x, fast_mode=fast)
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradgradcheck(square, x, fast_mode=fast)
    assert not gradgradcheck(square, x, fast_mode=fast, raise_exception=False)
    assert not gradgradcheck(
        square, x, tg.ones(2, requires_grad=True), fast_mode=fast, raise_exception=False
    )


def test_wrong_complex_derivatives_are_found() -> None:
    """The message says which part of the output is meant."""

    @tg.custom_vjp
    def square(z: Any) -> Any:
        return z * z

    square.defvjp(lambda z: (z * z, z), lambda z, ct: (2 * z * ct,))  # right: the conjugate of 2 z
    with pytest.raises(
        GradcheckError,
        match="While considering the real part of complex outputs only, Jacobian mismatch",
    ):
        gradcheck(square, leaf([1 + 2j]))


def test_inputs_that_are_refused() -> None:
    """None that requires grad; elements that share memory; single precision is warned about."""
    with pytest.raises(
        ValueError,
        match=(
            "gradcheck expects at least one input tensor to require gradient, but none of them have"
        ),
    ):
        gradcheck(lambda x: x, tg.ones(2))
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradgradcheck(lambda x: x, tg.ones(2))
    with pytest.raises(
        RuntimeError, match=r"The 0th input has a dimension with stride 0.*call .contiguous"
    ):
        gradcheck(lambda x: x, tg.ones(1).expand(3).requires_grad_())
    with pytest.warns(
        UserWarning,
        match="Input #0 requires gradient and is not a double precision floating point or complex",
    ):
        assert gradcheck(lambda x: x * 2, leaf([1.0, 2.0], dtype=tg.float32), eps=1e-2)
    with pytest.raises(
        AssertionError, match="at least one of check_forward_ad or check_backward_ad"
    ):
        gradcheck(lambda x: x, leaf([1.0]), check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires check_backward_ad"):
        gradcheck(
            lambda x: x,
            leaf([1.0]),
            check_backward_ad=False,
            check_forward_ad=True,
            check_batched_grad=True,
        )
    with pytest.raises(
        AssertionError, match="check_batched_forward_grad=True requires check_forward_ad"
    ):
        gradcheck(lambda x: x, leaf([1.0]), check_batched_forward_grad=True)
    with pytest.raises(
        AssertionError, match="at least one of check_fwd_over_rev or check_rev_over_rev"
    ):
        gradgradcheck(lambda x: x, leaf([1.0]), check_rev_over_rev=False)


@pytest.mark.parametrize("fast", [False, True])
def test_passes_that_differ_from_each_other(fast: bool) -> None:
    """A backward pass must give the same numbers twice, to nondet_tol."""
    noise = iter([0.0, 1e-9] * 100)

    def noisy(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: g + next(noise))
        return y

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(noisy, leaf([1.0]), fast_mode=fast)
    assert gradcheck(noisy, leaf([1.0]), fast_mode=fast, nondet_tol=1e-6)


def test_backward_that_ignores_the_gradient() -> None:
    """Zero in must be zero out."""

    def shifted(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda g: g + 1e-7)
        return y

    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(shifted, leaf([1.0]))


def test_without_differentiable_outputs() -> None:
    """Then the numbers must not change with the inputs."""
    assert gradcheck(lambda x: tg.ones(2), leaf([1.0]))
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf([1.0]))


def test_outputs_that_change_their_shape() -> None:
    """A function whose shape depends on the numbers has no derivative to check."""
    with pytest.raises(GradcheckError, match="same shape and dtype when inputs are perturbed"):
        gradcheck(lambda x: x[: 1 + int(x[0].item() > 1)], leaf([1.0, 2.0]))


def test_the_mode_of_the_caller() -> None:
    """Under no_grad the check is the same."""
    with tg.no_grad():
        assert gradcheck(lambda x: x * x, leaf([1.0, 2.0]), **EVERYTHING)
        assert gradgradcheck(lambda x: x * x, leaf([1.0, 2.0]))
