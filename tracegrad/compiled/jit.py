"""`jit`: the options of a compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, Unpack, overload

import numpy as np

from .._codegen import options
from .jitted import Jitted
from .travelling import Given

P = ParamSpec("P")
R = TypeVar("R")


class _Decorator(Protocol):
    """`jit` with options: what a function becomes."""

    def __call__(self, function: Callable[P, R], /) -> Jitted[P, R]: ...


@overload
def jit(function: np.ufunc, **options: Unpack[Given]) -> Jitted[..., Any]: ...


@overload
def jit(function: Callable[P, R], **options: Unpack[Given]) -> Jitted[P, R]: ...


@overload
def jit(function: None = None, **options: Unpack[Given]) -> _Decorator: ...


def jit(
    function: Any = None,
    *,
    static_argnames: Sequence[str] | str = (),
    static_argnums: Sequence[int] | int = (),
    donate_argnums: Sequence[int] | int = (),
    checked: bool | None = None,
    stage: bool | str = "auto",
    contract: bool | None = None,
    flush_denormals: bool | None = None,
    warm: str | None = None,
) -> Any:
    """Compile a function of arrays. Use it as a decorator, with or without parentheses.

    The function is traced for each new signature (structure of the arguments; dtype and shape of
    each array; a second size makes a size-generic version) and compiled to one native function;
    later calls go straight there. Arguments are trees of arrays and numbers; those named in
    `static_argnames` (or numbered in `static_argnums`) are passed as they are, must be hashable,
    and a new value compiles anew. Arrays and Tensors that the function reads from its surroundings
    are implicit inputs, read again at each call; so are those of modules and optimizers (`nn`,
    `optim`), around the function or among its arguments. Writes to an argument (`x[0] = 1.0`), to
    Tensors around the function and to their `.grad` reach the caller's objects.

    The arrays below the positional arguments numbered in `donate_argnums` are given up: a result of
    the same dtype and shape may take their memory, and what they hold after the call is not
    defined. It does where each element is read for the last time when that of the result is
    written, as in `w - 0.1 * gradient` with the gradient computed before; elsewhere nothing
    changes. Such an array must be writeable, own its memory (no view) and share it with no other
    argument, else the call raises ValueError.

    An index that is out of range when the function runs is an IndexError, as eagerly, which the
    call raises when the function has ended and before anything around it is changed. With
    `checked=False` such an index means the nearest place instead, and nothing is raised; of
    functions that call each other the outermost decides.

    Python's own control flow on traced values (`if`, `while`, `for`, `break`, early `return`,
    `out[i] = ...` into a plain new array) becomes branches, loops and writes of the compiled code:
    where tracing stops, the function whose line it is is rewritten and traced again (`stage`:
    "auto"; True: all functions of the user's from the start; False: never). `f.staged()` shows what
    was made of it.

    With `contract=True` a product that is only added to something is not rounded, where the
    processor has such an instruction: loops that compute take up to a third less time, and results
    differ in their last digits. What cancels exactly may leave a rest then: `x * x - y * y` need
    not be 0 for equal x and y, nor the imaginary part of `z * conj(z)`. With `flush_denormals=True`
    numbers below 2.2e-308 (1.2e-38 in float32) are taken and given as 0, whose arithmetic is many
    times slower on most processors; the calling thread's own mode stays as it is. Neither has an
    effect on a GPU. What is derived of the function is compiled in the same way; of compiled
    functions that call each other the outermost decides. A jitted function that is jitted again
    keeps what is not said anew.

    With `warm="background"` no call waits for the compiler: the function is traced, and a thread
    compiles while the call runs what was traced operation by operation, in NumPy; calls take
    compiled code as soon as it is there, this one too, should it still run. Results differ in their
    last digits, no more than those of a function and its compiled form do. A call for which that
    way is no gain waits: one with long loops, or one that ends in an error, which is that of the
    compiled code. What the thread fails at is raised by the next call. A process that ends waits
    for the one function that is being compiled. `warm="call"` is the default; a GPU knows no other.

    Results equal the eager ones: arrays in, arrays out (Tensors if any input is a Tensor).
    Derivatives (`tg.grad(f)`, ...) of a jitted function are jitted. Raises ConcretizationError
    where the function asks a traced array for its value and cannot be rewritten.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.jit
    ... def f(x):
    ...     return np.sum(np.sin(x) ** 2)
    >>> round(f(np.arange(4.0)), 6)
    np.float64(1.55481)
    >>> slope = tg.jit(tg.grad(f), warm="background")
    >>> slope(np.zeros(2))  # at once, and compiled meanwhile
    array([0., 0.])
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    donated = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    if function is None:
        return lambda f: jit(
            f,
            static_argnames=names,
            static_argnums=numbers,
            donate_argnums=donated,
            checked=checked,
            stage=stage,
            contract=contract,
            flush_denormals=flush_denormals,
            warm=warm,
        )
    said = {
        "checked": checked,
        "contract": contract,
        "flush_denormals": flush_denormals,
        "warm": warm,
    }
    code = options.chosen(
        function.code if isinstance(function, Jitted) else options.PLAIN,
        {name: value for name, value in said.items() if value is not None},
    )
    if isinstance(function, Jitted):
        same = (stage, code) == (function.stage, function.code)
        if same and not names and not numbers and not donated:
            return function
        function = function.function
    return Jitted(function, names, numbers, donated, stage, code)


__all__ = ["jit"]
