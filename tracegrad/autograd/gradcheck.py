"""`gradcheck` and `gradgradcheck`: derivatives by the rules against differences, in
torch.autograd's signatures.

Complex numbers are taken as pairs of real ones: an input of n complex elements has 2 n directions,
an output of m as many components, and one real Jacobian per pair holds the derivatives. Differences
give its rows, a backward pass a column, forward mode a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._codegen import loading
from ..ops.arrays.transfer import place_of, transfer
from ..tensor import Tensor
from .functions import grad

if TYPE_CHECKING:
    from . import jacobian_check
else:
    jacobian_check = loading.Late("tracegrad.autograd.jacobian_check")

Function = Callable[..., Any]


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` found wrong."""


def gradcheck(
    func: Function,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the derivatives of `func` at `inputs` with central differences of width `eps`: |a -
    n| <= atol + rtol |n| everywhere.

    func                        takes `inputs`, returns a Tensor or a tuple; what does not require
                                grad is left out of the check
    inputs                      a Tensor or a tuple; those that require grad are checked, and should
                                be float64 or complex128
    raise_exception             False: return False where the check fails
    nondet_tol                  how far two backward passes may be apart
    check_undefined_grad        leave gradients of single outputs (tangents of single inputs) out,
                                and see that nothing else changes
    check_grad_dtypes           gradients must have the dtypes of their inputs
    check_batched_grad          also compare batched backward passes with single ones;
                                `check_batched_forward_grad` likewise forward
    check_forward_ad            check forward mode; check_backward_ad: reverse mode
    fast_mode                   compare products with random vectors in place of whole Jacobians;
                                where they differ the whole decides
    masked                      accepted for the sake of torch's signature, which has it for sparse
                                tensors

    Raises GradcheckError where derivatives are wrong, ValueError where no input requires grad,
    RuntimeError for an input of which several elements share memory.

    >>> import tracegrad as tg
    >>> tg.autograd.gradcheck(lambda x: x.exp() * x, tg.tensor([1.0, 2.0], requires_grad=True))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    if not (eps > 0 and math.isfinite(eps) and atol >= 0 and rtol >= 0):
        raise ValueError(
            f"gradcheck: eps={eps}, atol={atol}, rtol={rtol}: eps must be a positive number, and "
            "atol and rtol none below 0"
        )
    check = jacobian_check.JacobianCheck(func, jacobian_check.as_tuple(inputs), eps, atol, rtol)
    try:
        if check_backward_ad:
            check.backward(fast_mode, nondet_tol, check_grad_dtypes, check_undefined_grad)
        if check_forward_ad:
            check.forward(fast_mode, check_grad_dtypes, check_undefined_grad)
        if check_batched_grad:
            check.batched_backward()
        if check_batched_forward_grad:
            check.batched_forward()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Function,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradient of `func` at `inputs`, weighted by `grad_outputs` (random ones if
    they are not given), as a function of both. With `gen_non_contig_grad_outputs` the random ones
    do not lie in C order. The other arguments are those of `gradcheck`.

    >>> import tracegrad as tg
    >>> tg.autograd.gradgradcheck(lambda x: x.exp() * x, tg.tensor([1.0, 2.0], requires_grad=True))
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    given = jacobian_check.as_tuple(inputs)
    check = jacobian_check.JacobianCheck(func, given, eps, atol, rtol)
    outs, places = (
        check.outputs,
        [k for k, o in enumerate(check.whole) if isinstance(o, Tensor) and o.requires_grad],
    )
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        weights = tuple(
            [
                transfer(
                    Tensor(_weight(rng, o, gen_non_contig_grad_outputs)), place_of(o)
                ).requires_grad_()
                for o in outs
            ]
        )
    else:
        weights = jacobian_check.as_tuple(grad_outputs)
    wanted = [k for k, x in enumerate(given) if isinstance(x, Tensor) and x.requires_grad]

    def gradient_of(*args: Any) -> Any:
        results = jacobian_check.as_tuple(func(*args[: len(given)]))
        # A result that was tracked at first may be a constant of duals, which have no history to
        # drag along.
        tracked = [
            (results[k], w)
            for k, w in zip(places, args[len(given) :], strict=True)
            if results[k].requires_grad
        ]
        outs, weights = [o for o, _ in tracked], [w for _, w in tracked]
        inputs = [args[k] for k in wanted]
        found = (
            grad(outs, inputs, weights, create_graph=True, allow_unused=True)
            if tracked
            else [None] * len(inputs)
        )
        return tuple(
            [
                transfer(Tensor(np.zeros(x.shape, x.dtype)), place_of(x)) if g is None else g
                for g, x in zip(found, inputs, strict=True)
            ]
        )

    return gradcheck(
        gradient_of,
        (*given, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _weight(rng: np.random.Generator, like: Any, spread: bool) -> np.ndarray[Any, Any]:
    """Random numbers of this shape and dtype; spread out so that they do not lie in C order."""
    whole = jacobian_check.random_matrix(rng, (*like.shape, 2), like.dtype)
    return whole[..., 0] if spread else np.array(whole[..., 0])


# `autograd.gradcheck` is the function; as in torch the module of this name has the exception, which
# is found on either.
gradcheck.GradcheckError = GradcheckError  # type: ignore[attr-defined]

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
