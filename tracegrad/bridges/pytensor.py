"""`tg.pytensor.as_op`: a compiled function as an operation of PyTensor, and so of PyMC's models.

PyTensor is imported when `as_op` is called, and not before.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import checks
from ..ir.trace import user_line
from ..tree import flatten, other_orders, unflatten
from .flat import FlatFunction, Function, by_structure, replaced
from .needs import needs


def as_op(f: Function, *example: Any) -> Function:
    """The function of NumPy calls `f`, compiled, as an operation of PyTensor: it takes and returns
    PyTensor's variables, with derivatives of any order, and runs in its C, Python and Numba modes.

    f         takes arrays and trees of them, and returns an array or a tree; it is traced. A jitted
              function as it is
    example   arguments of the dtypes and ranks that will be passed: variables of another dtype are
              cast. In Numba mode (PyTensor 3's default; nutpie) the sizes have to be these, too

    The gradient of a real number is computed together with it, in one call of compiled code. In
    Numba mode there is no Python between PyTensor's code and this; arrays that f reads around it
    are constants there. Raises a TypeError where the arguments have another structure.

    It needs PyTensor (`pip install 'tracegrad[pytensor]'`), which this function imports:

        logp = tg.pytensor.as_op(lambda x, y: -0.5 * np.sum((y - x) ** 2), 0.0, np.ones(8))
        pm.Potential("likelihood", logp(x, data))
    """
    needs("pytensor.as_op", f, "pytensor", "pip install 'tracegrad[pytensor]'")
    make = _operations()
    leaves, spec = flatten((example, {}))
    values = [np.asarray(x) for x in leaves]
    operation = make(by_structure(f)(spec), values)
    out_spec = operation.flat.results(values)[1]

    @functools.wraps(f, updated=())
    def applied(*args: Any) -> Any:
        given, found = flatten((args, {}))
        if found != spec:
            raise TypeError(
                f"{user_line()}: a function of tg.pytensor.as_op got arguments in the structure "
                f"{found}; the example's is {spec}"
            )
        if other := other_orders(found, spec):
            raise TypeError(
                f"{user_line()}: a function of tg.pytensor.as_op got arguments in which {other} as "
                "in the example; give them in the same order"
            )
        return unflatten(out_spec, operation.make_node(*given).outputs)

    return applied


@functools.cache
def _operations() -> Any:
    """What makes an operation of a function and an example of its arguments."""
    graph: Any = importlib.import_module("pytensor.graph.op")
    basic: Any = importlib.import_module("pytensor.graph.basic")
    rewriting: Any = importlib.import_module("pytensor.graph.rewriting.basic")
    database: Any = importlib.import_module("pytensor.compile.mode").optdb
    types: Any = importlib.import_module("pytensor.gradient")
    tensor: Any = importlib.import_module("pytensor.tensor")
    numba: Any = importlib.import_module("pytensor.link.numba.dispatch.basic")

    class PyTensorOperation(graph.Op):  # type: ignore[misc]
        """A compiled function of arrays. Two are equal where function and example are."""

        __props__ = ("flat", "kinds")

        def __init__(self, flat: FlatFunction, example: Sequence[Any]) -> None:
            self.flat, self.example = flat, list(example)
            self.kinds = tuple((x.dtype, x.shape) for x in example)
            self.types: Sequence[Any] = flat.results(self.example)[0]
            self.real = tuple(k for k, t in enumerate(self.types) if t.dtype.kind in "fc")

        def __str__(self) -> str:
            return f"tracegrad.{getattr(self.flat.function, '__name__', 'function')}"

        def make_node(self, *inputs: Any) -> Any:
            variables = [
                tensor.as_tensor_variable(x).astype(like.dtype)
                for x, like in zip(inputs, self.example, strict=True)
            ]
            for x, like in zip(variables, self.example, strict=True):
                if x.ndim != like.ndim:
                    raise TypeError(
                        f"{user_line()}: a function of tg.pytensor.as_op got an array of {x.ndim} "
                        f"dimensions; the example's has {like.ndim}"
                    )
            outs = [tensor.tensor(dtype=t.dtype.name, shape=(None,) * t.ndim) for t in self.types]
            return basic.Apply(self, variables, outs)

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            found = flatten(self.flat.compiled(*inputs))[0]
            for storage, y, t in zip(outputs, found, self.types, strict=True):
                storage[0] = np.asarray(y, t.dtype)

        def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
            if all(t.ndim == 0 for t in self.types):
                return [()] * len(self.types)
            raise importlib.import_module("pytensor.tensor.exceptions").ShapeError(
                "known after the call"
            )

        def L_op(self, inputs: Any, outputs: Any, cotangents: Any) -> list[Any]:
            wanted = tuple(k for k, x in enumerate(self.example) if x.dtype.kind in "fc")
            connected = [
                k for k in self.real if not isinstance(cotangents[k].type, types.DisconnectedType)
            ]
            given = [cotangents[k] for k in connected]
            found: list[Any] = []
            if wanted and [(t.shape, t.dtype.kind) for t in self.types] == [((), "f")]:
                both = PyTensorOperation(self.flat.with_gradient(wanted), self.example)
                found = [given[0] * g for g in both.make_node(*inputs).outputs[1:]]
            elif wanted and given:
                likes = [np.zeros(self.types[k].shape, self.types[k].dtype) for k in connected]
                flat = self.flat.pullback(wanted, tuple(connected))
                back = PyTensorOperation(flat, [*self.example, *likes])
                found = list(back.make_node(*inputs, *given).outputs)
            full = [types.disconnected_type() for _ in inputs]
            return replaced(full, wanted, found) if found else full

        def R_op(self, inputs: Any, tangents: Any) -> list[Any]:
            moved = tuple(k for k, t in enumerate(tangents) if t is not None)
            full: list[Any] = [None] * len(self.types)
            if not moved or not self.real:
                return full
            likes = [self.example[k] for k in moved]
            flat = self.flat.push(moved, self.real)
            push = PyTensorOperation(flat, [*self.example, *likes])
            given = [tangents[k] for k in moved]
            return replaced(full, self.real, push.make_node(*inputs, *given).outputs)

        def connection_pattern(self, node: Any) -> list[list[bool]]:
            return [
                [x.dtype.kind in "fc" and k in self.real for k in range(len(self.types))]
                for x in self.example
            ]

    def in_numba(op: Any, node: Any = None, **_: Any) -> Any:
        """Numbers are 0-d arrays to PyTensor, and numbers to the kernel."""
        example = [x[()] if x.ndim == 0 else x for x in op.example]
        kernel = op.flat.compiled.njit(*example, captures="freeze")
        names = [f"x{k}" for k in range(len(example))]
        given = ", ".join(
            n if like.ndim else f"{n}.item()" for n, like in zip(names, op.example, strict=True)
        )
        one = len(op.types) == 1
        results = ", ".join(
            f"{'found' if one else f'found[{k}]'}" if t.ndim else
            f"np.array({'found' if one else f'found[{k}]'}, np.{t.dtype.name})"
            for k, t in enumerate(op.types)
        )  # fmt: skip
        space: dict[str, Any] = {"kernel": kernel, "np": np}
        text = f"def run({', '.join(names)}):\n    found = kernel({given})\n    return {results}\n"
        exec(text, space)
        return numba.numba_njit(space["run"])

    numba.numba_funcify.register(PyTensorOperation)(in_numba)

    def value_with_gradient(fgraph: Any, node: Any) -> Any:
        """value(x), gradient of (x) -> one operation for both."""
        for client, _ in fgraph.clients[node.inputs[0]]:
            op = client.op
            if (
                isinstance(op, PyTensorOperation)
                and op.flat is not node.op.flat
                and op.flat.gradient_of is node.op.flat
                and client.inputs == node.inputs
            ):
                return client.outputs[:1]
        return None

    shared = rewriting.node_rewriter([PyTensorOperation])(value_with_gradient)
    database.register(
        "tracegrad_value_with_gradient",
        rewriting.dfs_rewriter(shared),
        "fast_run",
        "fast_compile",
        "numba",
        position=1.99,
    )
    return PyTensorOperation


__all__ = ["as_op"]

checks.publish(globals(), __all__, checks.OFTEN)
