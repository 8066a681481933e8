"""A kernel as an ordinary Numba function: generated code that allocates, runs all phases, and
returns."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numba.core import errors, types
from numba.extending import overload
from numba.np import numpy_support

from .. import integers, kernel
from ..disk.sources import generated
from ..indices import typed
from ..printer import PrintedProgram, dtype_name
from ..translation.direct import KernelCompiler
from .support import index


def as_array(value: Any, dtype: Any, axes: tuple[int, ...]) -> Any:
    """An argument as the array that the kernel expects, with as many axes: numbers become 0-d
    arrays; other dtypes and ranks are refused."""
    array = np.asarray(value)
    if array.ndim != len(axes) or (axes and array.dtype != np.dtype(dtype)):
        raise TypeError(
            f"compiled for {_named(len(axes), np.dtype(dtype))}, "
            f"called with {_named(array.ndim, array.dtype)}"
        )
    return array if axes else array.astype(dtype)


def _named(ndim: int, dtype: Any) -> str:
    return f"a {ndim}-d array of {dtype}" if ndim else f"a number of {dtype}"


# Without annotations: Numba compares signatures to the letter.
@overload(as_array, inline="always")
def _as_array(value, dtype, axes):  # type: ignore[no-untyped-def]
    # A tuple, since its type tells its length: of a number only Numba's literals would.
    wanted, rank = dtype.dtype, len(axes)
    if isinstance(value, (types.Number, types.Boolean)) and rank == 0:

        def of_number(value, dtype, axes):  # type: ignore[no-untyped-def]
            made = np.empty((), dtype)
            made[()] = value
            return made

        return of_number
    if isinstance(value, types.Array) and value.dtype == wanted and value.ndim == rank:
        return lambda value, dtype, axes: value
    found = (
        _named(value.ndim, value.dtype) if isinstance(value, types.Array) else f"a value of {value}"
    )
    raise errors.TypingError(
        f"compiled for {_named(rank, numpy_support.as_dtype(wanted))}, called with {found}"
    )


_NUMBERS = itertools.count(1)


def make_njit(
    printed: PrintedProgram, program: kernel.Program, frozen: Sequence[Any], several: bool
) -> Any:
    """A lazily typed dispatcher `f(inputs...)` for any memory layout: arrays in, arrays out, 0-d
    results as scalars, several as a tuple.

    `frozen` are the values of the last inputs, built in as constants. Raises ValueError for sizes
    that the kernel was not compiled for, and for what the kernel's checks record.
    """
    inputs = [b for b in program.buffers if b.role == "in"]
    outputs = [b for b in program.buffers if b.role == "out"]
    free = inputs[: len(inputs) - len(frozen)]
    name = f"{program.name}_function"
    lines = [
        f"def {name}({', '.join(b.name for b in free)}):",
        f'    """{program.name} on arrays; see the kernel above."""',
    ]
    lines += [
        f"    {b.name}_ = as_array({b.name}, np.{dtype_name(b.dtype)}, {(0,) * len(b.shape)})"
        for b in free
    ]
    lines += [f"    {b.name}_ = frozen_{b.name}" for b in inputs[len(free) :]]
    lines += [f"    {size} = {buffer}_.shape[{axis}]" for size, (buffer, axis) in printed.sizes]
    named = dict(printed.sizes)
    for b in free:
        for axis, s in enumerate(b.shape):
            if named.get(str(s)) == (b.name, axis):
                continue
            lines.append(f"    if {b.name}_.shape[{axis}] != {s}:")
            text = (
                f"{program.name}: axis {axis} of {b.name} must have size {s}, that of the example "
                "given to njit. For any size, call the function once with each of two sizes, "
                "before njit"
            )
            lines.append(f'        raise ValueError("{text}")')
    for b in outputs:
        shape = "(" + "".join(f"{s}, " for s in b.shape) + ")"
        lines.append(f"    {b.name} = np.empty({shape}, np.{dtype_name(b.dtype)})")
    lines.append(f"    arena = np.empty({printed.arena_code} + 64, np.uint8)")
    lines.append("    status = np.zeros(2, np.int64)")
    arguments = [*[f"{b.name}_" for b in inputs], *[b.name for b in outputs]]
    lines.append(f"    {program.name}({', '.join([*arguments, 'arena, status, -1, 0, 0'])})")
    lines.append("    if status[0] < 0:")
    lines.append('        raise MemoryError("no memory for what a loop keeps for its derivative")')
    for code, text in enumerate(program.errors):
        lines.append(f"    if status[0] == {code + 1}:")
        kind = "IndexError" if text.startswith("index {value}") else "ValueError"
        text = text.replace("index {value}", "an index").replace("{value}", "the recorded value")
        lines.append(f"        raise {kind}({text!r})")
    results = [b.name if b.shape else f"{b.name}[()]" for b in outputs]
    whole = (
        f"({', '.join(results)}{',' if len(results) == 1 else ''})"
        if several or not results
        else results[0]
    )
    lines.append(f"    return {whole}")
    source = printed.source + "\n\n" + "\n".join(lines) + "\n"
    number = next(_NUMBERS)
    file = f"<njit_{number}_{program.name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = {
        "as_array": as_array,
        "index": index,
        "np": np,
        "__name__": f"tracegrad_njit_{number}",
    }
    space |= {
        f"frozen_{b.name}": np.array(v, b.dtype)
        for b, v in zip(inputs[len(free) :], frozen, strict=True)
    }
    generated(source, program.name, space, file, typed)
    # Outputs and scratch are new arrays: nothing that is written overlaps anything else.
    space[program.name] = njit(error_model="numpy", nogil=True, pipeline_class=KernelCompiler)(
        space[program.name]
    )
    return njit(error_model="numpy", nogil=True)(space[name])


__all__ = ["as_array", "integers", "make_njit"]
