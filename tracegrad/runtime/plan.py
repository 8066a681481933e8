"""What a call of compiled code takes of memory, known before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._codegen import integers, kernel
from ..types import COUNT, Int
from .threads import get_num_threads

if TYPE_CHECKING:
    from .device_code import CompiledOnDevice
    from .execute import Compiled

SHOWN = 8
"""How many of the largest temporaries are told."""


class Memory(NamedTuple):
    """The bytes of one call: those of its arguments (captured arrays included), of its results, and
    of what it computes on the way.

    temporaries what its threads have for themselves included, for as many as `set_num_threads`
    allows
    largest     the largest temporaries, by their names in `f.source()`; those that are never alive
                together share their place
    counted     the bytes that loops need for what they keep of an unknown number of steps, over
                that number: "24*steps", or ""
    """

    arguments: int
    results: int
    temporaries: int
    largest: tuple[tuple[str, int], ...]
    counted: str = ""

    def __str__(self) -> str:
        text = (
            f"arguments {self.arguments:,} B, results {self.results:,} B, "
            f"temporaries {self.temporaries:,} B"
        )
        text += f", and {self.counted} B while it runs" if self.counted else ""
        return text + "".join(f"\n  {name}: {nbytes:,} B" for name, nbytes in self.largest)


def planned(
    compiled: Compiled | CompiledOnDevice, arrays: Sequence[Any], sizes: Sequence[int]
) -> Memory:
    """The memory of a call with these arguments."""
    at = dict(zip(compiled.symbols, sizes, strict=True))

    def nbytes(shape: Sequence[Int], dtype: np.dtype[Any]) -> int:
        return integers.evaluate(integers.product(shape), at) * dtype.itemsize

    phases = compiled.program.phases
    own = [
        {
            a.name: nbytes(a.shape, a.dtype)
            for a in p.local
            if isinstance(a, kernel.Allocate) and not a.of
        }
        for p in phases
    ]
    temporaries = [
        (b.name, nbytes(b.shape, b.dtype))
        for b in compiled.program.buffers
        if b.role == "temp" and not b.of
    ]
    temporaries += [item for of_phase in own for item in of_phase.items()]
    made: dict[str, kernel.Allocate] = {}
    growing: set[str] = set()

    def visit(s: kernel.Statement) -> None:
        if isinstance(s, kernel.Allocate) and not s.of:
            made[s.name] = s
        elif isinstance(s, kernel.Grow):
            growing.add(s.name)

    for phase in phases:
        kernel.walk(phase.body, visit)
    counted: Int = 0
    for name, s in made.items():
        shape = (integers.symbol(COUNT), *s.shape[1:]) if name in growing else s.shape
        counted = counted + integers.product(shape) * s.dtype.itemsize
    return Memory(
        sum(a.nbytes for a in arrays),
        sum(nbytes(s, d) for s, d in zip(compiled.out_shapes, compiled.out_dtypes, strict=True)),
        integers.evaluate(compiled.program.arena, at)
        + get_num_threads() * max([sum(p.values()) for p in own], default=0),
        tuple(sorted(temporaries, key=lambda t: -t[1])[:SHOWN]),
        str(counted) if made else "",
    )


__all__ = ["Memory", "planned"]
