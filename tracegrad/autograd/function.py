"""Functions with derivatives written by the user, as torch.autograd.Function.

Eagerly each application is one node of the tape (application.py); in a trace it becomes an
operation that holds the traced graph (custom/function.py, which stands above).
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import is_differentiable
from ..ir import upward
from ..ir.dispatch import PROFILES, STATE, Value, bind
from ..ir.op import odd
from ..ir.recording import OFF, span
from ..ops.elementwise.derived import elementwise
from ..tape.application import FunctionNode, applied, is_given, missing
from ..tape.context import FunctionCtx
from ..tape.mode import MODE
from .grad_mode import set_grad_enabled

LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. "
    "Please use new-style autograd function with static forward method, and call it by its `apply`."
)
TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


# --- the class ------------------------------------------------------------------------------------


class Function:
    """A function with derivatives of your own. Write static methods, then call
    `MyFunction.apply(...)`.

    `forward(ctx, *args)`, or `forward(*args)` with `setup_context(ctx, inputs, output)`, computes
    the result from tensors (or arrays) and anything else; it is not recorded. `backward(ctx,
    *grad_outputs)` (or `vjp`) returns one gradient per argument of `apply`, None for what has none:
    its operations may be differentiated again. `jvp(ctx, *tangents)` gives the derivative in
    forward mode. For `vmap` either set `generate_vmap_rule = True` or write `vmap(info, in_dims,
    *args) -> (output, out_dims)`.

    The function works in eager code, and inside `jit`, `grad`, `jvp` and `vmap`, where its methods
    are traced.

    >>> import tracegrad as tg
    >>> class Exp(tg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = tg.zeros(2, requires_grad=True)
    >>> y = Exp.apply(x)
    >>> y.grad_fn.name()
    'ExpBackward'
    >>> y.sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    generate_vmap_rule = False
    _node_class: Any = FunctionNode

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._node_class = type(
            f"{cls.__name__}Backward",
            (FunctionNode,),
            {"__slots__": (), "_forward_cls": cls, "__module__": cls.__module__},
        )

    def __init__(self, *_: Any, **__: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself: call its `apply`.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError(LEGACY)

    @staticmethod
    @missing
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The result: `forward(ctx, *args)`, or `forward(*args)` with `setup_context`."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    @missing
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what the derivatives need, where `forward` takes no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    @missing
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    @staticmethod
    @missing
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`."""
        raise NotImplementedError("vjp is not implemented.")

    @staticmethod
    @missing
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, from those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use "
            "it with forward mode AD."
        )

    @staticmethod
    @missing
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The results of a batch and the axes at which they have it, from arguments that have it at
        `in_dims`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Apply the function. Tensors among the arguments themselves (not inside of lists or dicts)
        are differentiated."""
        separate = is_given(cls.setup_context)
        if separate or kwargs:
            bound = inspect.signature(cls.forward).bind(
                *(() if separate else (None,)), *args, **kwargs
            )
            if separate:
                bound.apply_defaults()
            if bound.kwargs:
                raise TypeError(
                    f"{cls.__name__}.forward has keyword-only parameters "
                    f"({', '.join(bound.kwargs)}), which have no place among gradients"
                )
            args = bound.args if separate else bound.args[1:]
        if STATE.traces:
            return upward.FUNCTIONS.apply(cls, args)
        with span(cls.__name__, "operation") if PROFILES else OFF:
            output, use = applied(cls, args)
        if use is not None:
            # What is kept for the derivatives is what `read` gives; the rest would be cycles.
            use.ctx._left.saved_for_forward, use.ctx._left.dirty, use.ctx._left.constant = (
                None,
                (),
                (),
            )
        return output


# --- once_differentiable --------------------------------------------------------------------------


def _refuse(d: Any) -> Any:
    raise RuntimeError(TWICE)


once_op = elementwise(
    "once_differentiable",
    ("x",),
    numpy=np.positive,
    code="{x}",
    partials=(_refuse,),
    result="promote",
    parity=odd,
    passes=0,
    doc="The value; no derivative of it is known.",
)


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that uses what cannot be differentiated: a second derivative through it
    is an error."""

    @functools.wraps(function)
    def backward(ctx: Any, *args: Any) -> Any:
        with set_grad_enabled(False):
            found = function(ctx, *args)
        tracked = MODE.enabled and any(isinstance(a, Value) and a._requires_grad for a in args)
        if not tracked and not STATE.traces:
            return found
        outs = found if isinstance(found, tuple) else (found,)
        barred = tuple(
            [
                _barred(o, tracked) if isinstance(o, Value) and is_differentiable(o.dtype) else o
                for o in outs
            ]
        )
        return barred if isinstance(found, tuple) else barred[0]

    return backward


def _barred(x: Any, tracked: bool) -> Any:
    if tracked:
        x = x.face(x._data, True)
    result = bind(once_op, [x])
    if result._grad_fn is not None:
        result._grad_fn.title = "tracegrad::autograd::Error"
    return result


OPS = (once_op,)

__all__ = ["Function", "FunctionCtx", "once_differentiable"]
