"""`wrap`: a compiled function as an operation of PyTorch's own autograd, of any order.

PyTorch is imported when `wrap` is called, and not before.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import SUPPORTED
from ..errors import DTypeError
from ..ir.trace import user_line
from ..tree import flatten, orders, unflatten
from .flat import FlatFunction, Function, by_structure, replaced
from .needs import needs

_DTYPES = frozenset(f"torch.{d.name}" for d in SUPPORTED)


class TorchCall:
    """One call: the function, what of its arguments is no tensor, and what is learned of its
    results."""

    def __init__(self, flat: FlatFunction, leaves: Sequence[Any], places: Sequence[int]) -> None:
        self.flat, self.leaves, self.places = flat, leaves, tuple(places)
        self.ahead: tuple[int, ...] = ()
        """The arguments whose gradients are wanted together with the result."""
        self.real: tuple[int, ...] = ()
        """The results that have derivatives."""
        self.spec: Any = None
        """The structure of the results."""

    def run(self, torch: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The results, and if they are wanted the gradients."""
        leaves = replaced(self.leaves, self.places, [_array(torch, x) for x in tensors])
        if self.ahead and not self.flat.gives_one_real_number(leaves):
            self.ahead = ()
        flat = self.flat.with_gradient(self.ahead) if self.ahead else self.flat
        result = flat.compiled(*leaves)
        tree, gradients = result if self.ahead else (result, ())
        outs, self.spec = flatten(tree)
        tensors = [_tensor(torch, y) for y in (*outs, *gradients)]
        self.real = tuple(
            k for k in range(len(outs)) if tensors[k].is_floating_point() or tensors[k].is_complex()
        )
        return tuple(tensors)

    def places_of(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Where these tensors stand among the arguments."""
        return tuple(self.places[k] for k in numbers)

    def further(self, flat: FlatFunction, count: int) -> TorchCall:
        """A call of what is derived of the function, with so many tensors behind the others."""
        n = len(self.leaves)
        return TorchCall(
            flat, [*self.leaves, *[None] * count], [*self.places, *range(n, n + count)]
        )


def _array(torch: Any, x: Any) -> np.ndarray[Any, Any]:
    """The memory of a tensor, not to be written to."""
    if x.device.type != "cpu":
        raise TypeError(
            f"{user_line()}: a function of tg.torch.wrap got a tensor on {x.device}; "
            "it takes those of the CPU: call .cpu()"
        )
    if str(x.dtype) not in _DTYPES:
        raise DTypeError(
            f"{user_line()}: a function of tg.torch.wrap got a tensor of dtype {x.dtype}; "
            "convert it with .to(torch.float32)"
        )
    found: np.ndarray[Any, Any] = x.detach().resolve_conj().resolve_neg().numpy().view()
    found.flags.writeable = False
    return found


def _tensor(torch: Any, y: Any) -> Any:
    return torch.from_numpy(np.array(y) if np.ndim(y) == 0 else np.ascontiguousarray(y))


@functools.cache
def _operation() -> Any:
    """The operation of PyTorch's autograd, made when it is first needed."""
    torch: Any = importlib.import_module("torch")

    class TorchOperation(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(call: TorchCall, *tensors: Any) -> Any:
            return call.run(torch, tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            call, *tensors = inputs
            count = len(output) - len(call.ahead)
            ctx.call, ctx.count = call, len(tensors)
            ctx.save_for_backward(*tensors, *output[count:])
            ctx.save_for_forward(*tensors)
            ctx.mark_non_differentiable(
                *[y for k, y in enumerate(output) if k >= count or k not in call.real]
            )

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            call, tensors = ctx.call, ctx.saved_tensors[: ctx.count]
            numbers = [k for k in range(ctx.count) if ctx.needs_input_grad[1 + k]]
            wanted = call.places_of(numbers)
            if wanted == call.ahead and not torch.is_grad_enabled():
                found = [cotangents[0] * g for g in ctx.saved_tensors[ctx.count :]]
            else:
                seeds = [cotangents[k] for k in call.real]
                flat = call.flat.pullback(wanted, call.real)
                found = TorchOperation.apply(call.further(flat, len(seeds)), *tensors, *seeds)
            full: list[Any] = [None] * ctx.count
            return (None, *replaced(full, numbers, found))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            call, tensors = ctx.call, ctx.saved_tensors[: ctx.count]
            numbers = [k for k, t in enumerate(tangents) if t is not None]
            flat = call.flat.push(call.places_of(numbers), call.real)
            moved = [tangents[k] for k in numbers]
            found = TorchOperation.apply(call.further(flat, len(moved)), *tensors, *moved)
            most = max(call.real) + 1 + len(call.ahead)
            return tuple(replaced([None] * most, call.real, found))

        @staticmethod
        def vmap(info: Any, in_dims: Any, call: TorchCall, *tensors: Any) -> Any:
            axes: list[int | None] = [None] * len(call.leaves)
            batched = TorchCall(
                call.flat.batched(tuple(replaced(axes, call.places, in_dims[1:]))),
                call.leaves,
                call.places,
            )
            found = TorchOperation.apply(batched, *tensors)
            call.ahead, call.real, call.spec = (), batched.real, batched.spec
            return found, (0,) * len(found)

    return torch, TorchOperation


def wrap(f: Function) -> Function:
    """The function of NumPy calls `f`, compiled, as an operation of PyTorch: it takes and returns
    PyTorch's tensors, with derivatives of any order in PyTorch's autograd and `torch.func`.

    f   takes arrays, numbers and trees of them, and returns an array or a tree; it is traced. A
        jitted function as it is

    Tensors of the CPU are read where they lie, results are handed over without a copy; arguments
    that are no tensors are constants. Where the result is one real number, it is computed together
    with the gradient, if that will be wanted; `backward` of other results evaluates f again.
    Gradients of gradients (`create_graph=True`), forward mode and `torch.vmap` are compiled
    functions, too. Raises a TypeError for tensors on other devices, a DTypeError for dtypes that
    tracegrad does not have (bfloat16, float16), and a ValueError where f writes to an argument.

    It needs PyTorch (`pip install torch`), which this function imports:

        energy = tg.torch.wrap(lambda x, k: np.sum(np.exp(-k * (x[1:] - x[:-1]) ** 2)))
        x = torch.linspace(0, 1, 6, dtype=torch.float64, requires_grad=True)
        energy(x, 2.0).backward()
    """
    needs("torch.wrap", f, "torch", "pip install torch")
    torch, operation = _operation()
    flat = by_structure(f)

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if isinstance(x, torch.Tensor)]
        tensors = [leaves[k] for k in places]
        call = TorchCall(flat(spec, orders((args, kwargs))), leaves, places)
        if torch.is_grad_enabled():
            call.ahead = tuple(k for k in places if leaves[k].requires_grad)
        found = operation.apply(call, *tensors)
        return unflatten(call.spec, found[: len(found) - len(call.ahead)])

    return wrapped


__all__ = ["wrap"]
