"""Checkpointing: what a function saves for its backward pass is computed again when that pass needs it.

The function's operations are recorded as always, but saved-tensor hooks keep in the place of each saved tensor only its number. The first
time one is needed the function runs again, on the same arguments and random numbers, and the tensors that it saves then are handed out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import enable_grad
from ..autograd.mode import MODE
from ..autograd.saved import saved_tensors_hooks
from ..ir.dispatch import STATE
from ..ops.random import DEFAULT
from ..types import show

Contexts = tuple[contextlib.AbstractContextManager[Any], contextlib.AbstractContextManager[Any]]


class CheckpointError(RuntimeError):
    """The second run of a function saved other tensors than the first."""


class _Enough(BaseException):
    """All tensors of the first run were saved again; the rest of the function need not run."""


def noop_context_fn() -> Contexts:
    """The contexts of a checkpoint that needs none."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class set_checkpoint_early_stop:
    """Whether checkpoints made inside stop their second run once everything needed was computed, whatever they were told themselves."""

    setting: bool | None = None

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        self.before = set_checkpoint_early_stop.setting
        set_checkpoint_early_stop.setting = self.enable

    def __exit__(self, *exception: object) -> None:
        set_checkpoint_early_stop.setting = self.before


class _Run:
    """One call of a checkpointed function: how to repeat it, and what the first run saved."""

    def __init__(self, call: Callable[[], Any], context: Any, check: bool, early_stop: bool, random: bool) -> None:
        self.call, self.context, self.check, self.early_stop = call, context, check, early_stop
        self.random = (DEFAULT.key.copy(), DEFAULT.counter.copy()) if random else None
        self.saved: list[tuple[Any, Any]] = []
        """Shape and dtype of each saved tensor."""
        self.again: dict[int, Any] = {}
        """Tensors of the second run that were not handed out yet."""

    def pack(self, tensor: Any) -> tuple[_Run, int]:
        self.saved.append((tuple(tensor.shape), tensor.dtype))
        return self, len(self.saved) - 1

    @staticmethod
    def unpack(handle: tuple[_Run, int]) -> Any:
        self, k = handle
        if k not in self.again:
            self.repeat()
        return self.again.pop(k)

    def repeat(self) -> None:
        """Run the function again, and keep what it saves."""
        found: list[Any] = []

        def collect(tensor: Any) -> None:
            found.append(tensor.detach())
            if self.early_stop and len(found) == len(self.saved):
                raise _Enough

        now = DEFAULT.key.copy(), DEFAULT.counter.copy()
        if self.random is not None:
            DEFAULT.key[...], DEFAULT.counter[...] = self.random
        try:
            with self.context, enable_grad(), saved_tensors_hooks(collect, _not_read), contextlib.suppress(_Enough):
                self.call()
        finally:
            if self.random is not None:
                DEFAULT.key[...], DEFAULT.counter[...] = now
        if len(found) != len(self.saved):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.saved)}\nNumber of tensors saved during recomputation: {len(found)}.\n"
                "The function must do the same whenever it is called with the same arguments."
            )
        lines = [
            f"tensor at position {k}:\nsaved metadata: shape {show(was[0])}, dtype {was[1]}\nrecomputed metadata: shape {show(t.shape)}, dtype {t.dtype}"
            for k, (t, was) in enumerate(zip(found, self.saved, strict=True))
            if (tuple(t.shape), t.dtype) != was
        ]
        if self.check and lines:
            raise CheckpointError(
                "\n".join(
                    [
                        "checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.",
                        *lines,
                        "The function must do the same whenever it is called with the same arguments.",
                    ]
                )
            )
        self.again = dict(enumerate(found))


def _not_read(_: Any) -> Any:
    raise AssertionError("a second run is not differentiated")


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
    """`function(*args, **kwargs)`, of which nothing is saved for the backward pass: that runs the function again, up to the last tensor
    it saved (`early_stop`).

    The function must do the same when it is called again; `determinism_check` ("default" or "none") compares shapes and dtypes of what it
    saves. The shared random generator (`manual_seed`) is set back for the second run. `context_fn` returns a context manager for the first
    and one for the second run. There is one implementation: `use_reentrant` and `debug` are taken for compatibility and change nothing.

    In a traced function (inside `jit`, `vmap`, loops) this calls the function: what compiled code keeps and what it computes
    again is decided for the whole graph, by cost.

    >>> import tracegrad as tg
    >>> x = tg.tensor([0.0, 1.0], requires_grad=True)
    >>> y = tg.utils.checkpoint.checkpoint(lambda v: v.sin().exp(), x)
    >>> y.sum().backward()
    >>> x.grad
    tensor([1.0000, 1.2534])
    """
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    if STATE.traces or not MODE.enabled:
        with first:
            return function(*args, **kwargs)
    forced = set_checkpoint_early_stop.setting
    run = _Run(
        lambda: function(*args, **kwargs),
        second,
        determinism_check == "default",
        early_stop if forced is None else forced,
        preserve_rng_state,
    )
    with first, saved_tensors_hooks(run.pack, run.unpack):
        return function(*args, **kwargs)


def checkpoint_sequential(functions: Sequence[Callable[..., Any]], segments: int, input: Any, **options: Any) -> Any:
    """Functions of one argument applied in turn, each of `segments` stretches of them (but for the last) as one checkpoint.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> tg.utils.checkpoint.checkpoint_sequential([tg.sin, tg.exp, tg.cos, tg.sin], 2, x).sum().backward()
    >>> x.grad.shape
    (2,)
    """
    functions = list(functions)
    if not 1 <= segments <= max(len(functions), 1):
        raise ValueError(f"segments must be between 1 and the number of functions ({len(functions)}), not {segments}")
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


__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_early_stop"]
