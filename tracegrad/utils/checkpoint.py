"""Checkpointing with torch's names: what a function saves for its backward pass is computed again
when that pass needs it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..checks import OFTEN, publish
from ..derivatives.checkpoint import traced_again
from ..ir.dispatch import STATE
from ..tape.mode import MODE
from ..tape.rerun import CheckpointError, repeatable, rerun

Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """The contexts of a checkpoint that needs none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class set_checkpoint_early_stop:
    """Whether checkpoints made inside stop their second run once everything needed was computed,
    whatever they were told themselves."""

    setting: bool | None = None

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        self.before = set_checkpoint_early_stop.setting
        set_checkpoint_early_stop.setting = self.enable

    def __exit__(self, *exception: object) -> None:
        set_checkpoint_early_stop.setting = self.before


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, of which nothing is saved for the backward pass: that runs the
    function again, up to the last tensor it saved (`early_stop`).

    The function must do the same when it is called again; `determinism_check` ("default" or "none")
    compares shapes and dtypes of what it saves. The shared random generator (`manual_seed`) is set
    back for the second run. `context_fn` returns a context manager for the first and one for the
    second run. There is one implementation: `use_reentrant` and `debug` are taken for compatibility
    and change nothing.

    In a traced function (inside `jit`, `vmap`, loops) this is `tg.checkpoint(function)(*args,
    **kwargs)` within the first context: the options that steer the second run have no meaning
    there.

    >>> import tracegrad as tg
    >>> x = tg.tensor([0.0, 1.0], requires_grad=True)
    >>> y = tg.utils.checkpoint.checkpoint(lambda v: v.sin().exp(), x)
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.0000, 1.2534])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    first, second = context_fn()
    with first:
        if not MODE.enabled:
            return function(*args, **kwargs)
        if STATE.traces:
            return traced_again(function, args, kwargs)
        forced = set_checkpoint_early_stop.setting
        return rerun(
            repeatable(function, args, kwargs),
            second,
            determinism_check == "default",
            early_stop if forced is None else forced,
            preserve_rng_state,
        )


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]], segments: int, input: Any, **options: Any
) -> Any:
    """Functions of one argument applied in turn, each of `segments` stretches of them (but for the
    last) as one checkpoint.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> functions = [tg.sin, tg.exp, tg.cos, tg.sin]
    >>> tg.utils.checkpoint.checkpoint_sequential(functions, 2, x).sum().backward()
    >>> x.grad.shape
    (2,)
    """
    functions = list(functions)
    if not 1 <= segments <= max(len(functions), 1):
        raise ValueError(
            "segments must be between 1 and the number of functions "
            f"({len(functions)}), not {segments}"
        )
    size = len(functions) // segments

    def stretch(start: int, end: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for function in functions[start:end]:
                x = function(x)
            return x

        return run

    for k in range(segments - 1):
        input = checkpoint(stretch(k * size, (k + 1) * size), input, **options)
    return stretch((segments - 1) * size, len(functions))(input)


__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_early_stop",
]

publish(globals(), __all__, OFTEN)
