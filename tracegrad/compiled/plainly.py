"""Calls of jitted functions as what the user wrote: for debuggers and prints.

A disabled `jit` is of the task, as the other modes are (`tape.mode`). While any task has it
disabled, `SPECIAL` holds `MARK`, which no thread has for its identity: frequent calls look at that
set anyway, and so pay nothing for this mode while nobody is in it.
"""

from __future__ import annotations

import os
from contextvars import ContextVar

from .._codegen import locks
from ..autograd.grad_mode import ModeDecorator
from ..ir.dispatch import SPECIAL

MARK = -1
VARIABLE = "TRACEGRAD_DISABLE_JIT"
_ALWAYS = os.environ.get(VARIABLE, "0").lower() not in ("", "0", "false", "no", "off")
_DISABLED: ContextVar[bool] = ContextVar("tracegrad.disable_jit", default=_ALWAYS)
_LOCK = locks.lock()
_open = 1 if _ALWAYS else 0
if _ALWAYS:
    SPECIAL.add(MARK)


def jit_is_disabled() -> bool:
    """Whether jitted functions run as they were written, in this task."""
    return _DISABLED.get()


def _count(more: int) -> None:
    global _open
    with _LOCK:
        _open += more
        if _open:
            SPECIAL.add(MARK)
        else:
            SPECIAL.discard(MARK)


class disable_jit(ModeDecorator):
    """Calls of jitted functions inside run the Python functions that were given to `jit`, line by
    line on real values: breakpoints and `print` work, and an error comes from its own line.

    A context manager and a decorator; of the task, as `no_grad` is (other threads go on compiling).
    `disable_jit(False)` compiles again for a block. The environment variable
    TRACEGRAD_DISABLE_JIT=1 does the same for a whole process. Derivatives of jitted functions run
    on the tape then; `scan`, `while_loop`, `cond` and the others are Python's own loops and
    branches; what `jit` would have rewritten to compile it (`if` on values) is just run. `vmap`
    still traces its function once, for a single item. Nothing is given up by `donate_argnums`, and
    an index out of range is an error whatever `checked` says. What shows compiled code
    (`f.source(x)`, `f.graphs(x)`, `f.cfunc(x)`) compiles as ever.

    >>> import tracegrad as tg
    >>> @tg.jit
    ... def f(x):
    ...     print("x is", x)
    ...     return x * x
    >>> with tg.disable_jit():
    ...     tg.grad(f)(3.0)
    x is 3.0
    np.float64(6.0)
    """

    def __init__(self, disabled: bool = True) -> None:
        if not isinstance(disabled, bool):
            raise TypeError(
                f"disable_jit: disabled must be True or False, not {type(disabled).__name__}; "
                "as a decorator write @tg.disable_jit()"
            )
        self.disabled = disabled
        self.previous: list[bool] = []

    def __enter__(self) -> None:
        self.previous.append(_DISABLED.get())
        _DISABLED.set(self.disabled)
        if self.disabled:
            _count(1)

    def __exit__(self, *exception: object) -> None:
        if self.disabled:
            _count(-1)
        _DISABLED.set(self.previous.pop())

    def _again(self) -> disable_jit:
        return type(self)(self.disabled)

    def __repr__(self) -> str:
        return f"tracegrad.disable_jit({self.disabled})"


__all__ = ["VARIABLE", "disable_jit", "jit_is_disabled"]
