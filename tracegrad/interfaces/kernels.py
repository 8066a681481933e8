"""The kernel behind a C function: a jitted function traced for an example of fixed sizes, and what
of it a C function cannot do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from .._codegen import c_function, kernel
from ..compiled.entry import Entry
from ..compiled.jitted import Jitted
from ..errors import TracegradError
from ..ir.lines import user_line
from ..runtime.execute import Compiled, executable_for
from ..tree import flatten, unflatten

CArray = c_function.KernelArray


def refuse(what: str, why: str, error: type[Exception] = TypeError) -> NoReturn:
    """The error of a call that cannot be answered, with the line that made it."""
    raise error(f"{user_line()}: {what}: {why}")


@dataclass(frozen=True)
class TracedKernel:
    """One compiled function of arrays in C order."""

    form: c_function.CKernel
    program: kernel.Program
    compiled: Compiled
    leaves: tuple[Any, ...]
    """The example's arrays and numbers."""
    outputs: Any
    """The structure of the results, with their numbers as leaves."""
    captured: tuple[np.ndarray[Any, Any], ...]
    """Copies of the arrays that the function reads around it."""
    names: tuple[str, ...]
    """What these are called."""

    @property
    def given(self) -> tuple[CArray, ...]:
        """The inputs that are arguments."""
        return self.form.inputs[: len(self.leaves)]

    def places(self, given: Sequence[c_function.Place]) -> tuple[c_function.Place, ...]:
        """The places of all inputs: of the arguments as told, of captured arrays from their
        table."""
        captured = [c_function.Captured(k) for k in range(len(self.captured))]
        return (*given, *captured)


def kernel_of(
    function: Any, args: Sequence[Any], what: str, symbolic: bool = False
) -> TracedKernel:
    """The kernel of a jitted function for arguments of these dtypes and shapes; with `symbolic`
    for all sizes of 2 and more."""
    assert isinstance(function, Jitted)
    entry, leaves = function._entry_for(tuple(args), {}, symbolic)
    _check(entry, what)
    captured = entry.captured()
    if captured is None:
        refuse(what, "what it reads around it is gone, or has another type", TracegradError)
    executable = executable_for(entry.graph)
    if executable.shown is not None:
        refuse(what, "it prints, which C cannot; take out print and debug_print", TracegradError)
    compiled = executable.compiled(("C",) * len(entry.graph.inputs))
    program = compiled.program
    inputs = [b for b in program.buffers if b.role == "in"]
    outputs = [b for b in program.buffers if b.role == "out"]
    form = c_function.CKernel(
        tuple([CArray(b.name, b.dtype, b.shape) for b in inputs]),
        tuple(
            [CArray(n, b.dtype, b.shape) for n, b in zip(_results(outputs), outputs, strict=True)]
        ),
        program.arena,
        program.checked,
        tuple([(r, d, fact) for (r, d), fact in executable.graph.sizes.guards.items()]),
    )
    arrays = [
        np.array(getattr(x, "_data", x), dtype=b.dtype, order="C")
        for x, b in zip(captured, inputs[len(leaves) :], strict=True)
    ]
    names = [p.path if p else f"constant_{k}" for k, p in enumerate(entry.places)]
    structure = unflatten(entry.traced.out_spec, range(len(outputs)))
    return TracedKernel(
        form, program, compiled, tuple(leaves), structure, tuple(arrays), tuple(names)
    )


def _results(outputs: Sequence[kernel.Buffer]) -> list[str]:
    """Names for results: of gradients those of what they belong to."""
    own = [b.name.removeprefix("out_") for b in outputs]
    return [
        name if name.startswith("d_") else "result" if len(own) == 1 else f"result_{k}"
        for k, name in enumerate(own)
    ]


def _check(entry: Entry, what: str) -> None:
    traced = entry.traced
    if traced.device is not None:
        refuse(what, "the example lies on a GPU, a C function runs on the CPU")
    if traced.writes:
        refuse(what, "it writes to its arguments; return the new values instead", TracegradError)
    if entry.changes or entry.stored or traced.generators:
        refuse(
            what,
            "a call of it changes what is around it (variables, Tensors, random generators), "
            "which C cannot; return the new values, and take random numbers as arguments",
            TracegradError,
        )


_OF_C = (
    "auto bool break case catch char class const continue default delete do double else enum "
    "explicit export extern false float for friend goto if inline int long main namespace new "
    "operator private protected public register restrict return short signed sizeof static struct "
    "switch template this throw true try typedef typename union unsigned using virtual void "
    "volatile while NULL"
)
_WORDS = frozenset(_OF_C.split())
"""Words of C and C++ that are no names."""


def identifier(name: str) -> str:
    """A name as C takes it."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "f"
    made = f"f_{made}" if made[0].isdigit() else made
    return f"{made}_" if made in _WORDS else made


@dataclass(frozen=True)
class PackedTree:
    """A tree of float64 arrays that C sees as one vector, leaf after leaf."""

    offsets: tuple[int, ...]
    size: int

    def places(self, parameter: str) -> list[c_function.Place]:
        return [c_function.At(parameter, k) for k in self.offsets]


def packed(tree: Any, what: str, name: str) -> PackedTree:
    """An example argument as a vector of float64; TypeError for anything else."""
    leaves, _ = flatten(tree)
    offsets, size = [], 0
    for x in leaves:
        dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
        if dtype != np.float64:
            refuse(what, f"{name} holds {dtype}, C passes it as double: make it float64")
        offsets.append(size)
        size += int(np.size(x))
    if not leaves:
        refuse(what, f"{name} holds no array")
    return PackedTree(tuple(offsets), size)


def one_scalar(kernel: TracedKernel, what: str) -> CArray:
    """The one result, a float64 number; TypeError for anything else."""
    if len(kernel.form.outputs) != 1 or kernel.form.outputs[0].shape != ():
        shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in kernel.form.outputs) or "nothing"
        refuse(what, f"the function must return one number, and returns {shapes}")
    (made,) = kernel.form.outputs
    if made.dtype != np.float64:
        refuse(what, f"the function must return a float64 number, and returns {made.dtype}")
    return made


__all__ = [
    "PackedTree",
    "TracedKernel",
    "identifier",
    "kernel_of",
    "one_scalar",
    "packed",
    "refuse",
]
