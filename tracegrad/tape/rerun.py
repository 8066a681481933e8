"""Running a function again in place of keeping what it saved for its backward pass.

The function's operations are recorded as always, but saved-tensor hooks keep in the place of each
saved tensor only its number. The first time one is needed the function runs again, on the same
arguments and random numbers, and the tensors that it saves then are handed out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..autograd.grad_mode import enable_grad
from ..ir.contents import digest
from ..ir.dispatch import STATE, Value
from ..ir.levels import as_of
from ..ir.lines import user_line
from ..ops.random import DEFAULT
from ..tree import flatten, unflatten
from ..types import show
from .attempts import ATTEMPTS
from .copies import replaced
from .leaves import Rerun
from .modes import restoring
from .rule_reads import READS, as_when_running
from .saved import SAVING, modified, saved_tensors_hooks
from .tape import Node, next_number


class CheckpointError(RuntimeError):
    """The second run of a function saved other tensors than the first."""


class _Enough(BaseException):
    """All tensors of the first run were saved again; the rest of the function need not run."""


class _StandIn:
    """What stands for a tensor that was saved."""

    def __init__(self, tensor: Any) -> None:
        self.meta: tuple[Any, Any] = tuple(tensor.shape), tensor.dtype


class _Run(Rerun):
    """One call of a checkpointed function: how to repeat it, and what the first run saved."""

    def __init__(
        self, call: Callable[[], Any], context: Any, check: bool, early_stop: bool, random: bool
    ) -> None:
        super().__init__()
        self.start = next_number()
        self.call, self.context, self.check, self.early_stop = call, context, check, early_stop
        self.random = (DEFAULT.key.copy(), DEFAULT.counter.copy()) if random else None
        self.resumed = ATTEMPTS.resuming()
        self.levels = STATE.levels
        """What is dual in the first run is dual in the second, though the derivative's forward mode
        has ended."""
        self.rules = READS.running
        self.saved: list[_StandIn] = []
        self.constants: list[int] = []
        """Digests of what operations read that was not computed on the tape."""
        self.versions: dict[int, tuple[Any, int]] = {}
        """Of what was computed there before: by the identities of their counters."""
        self.again: dict[_StandIn, Any] = {}
        """Tensors of the second run that were not handed out yet."""
        self.over = False
        """Whether the first run has ended. A sweep inside of it needs what was saved so far, and no
        more than that is computed again."""

    def pack(self, tensor: Any) -> tuple[_Run, _StandIn]:
        self.saved.append(_StandIn(tensor))
        return self, self.saved[-1]

    def note(self, operand: Any) -> None:
        found = _constant(operand)
        if found is not None:
            self.constants.append(found)
        counter = _counter(operand, self.start)
        if counter is not None and id(counter) not in self.versions:
            self.versions[id(counter)] = counter, counter[0]

    def mark(self) -> Callable[[], None]:
        saved, constants = len(self.saved), len(self.constants)

        def forget() -> None:
            del self.saved[saved:], self.constants[constants:]

        return forget

    @staticmethod
    def unpack(handle: tuple[_Run, _StandIn]) -> Any:
        self, one = handle
        if one not in self.again:
            self.repeat()
        return _unchanged(self.again.pop(one))

    @restoring
    def repeat(self) -> None:
        """Run the function again, and keep what it saves."""
        found: list[tuple[Any, int]] = []

        early = self.early_stop or not self.over

        def collect(tensor: Any) -> int:
            tensor = tensor.detach()
            found.append((tensor, tensor._version_counter[0]))
            # What is found by an attempt that may yet be given up is not enough.
            if early and len(found) >= len(self.saved) and not ATTEMPTS.open:
                raise _Enough
            return len(found) - 1

        seen, start = 0, next_number()
        before = dict(self.versions)

        def mark() -> Callable[[], None]:
            tensors, constants = len(found), seen

            def forget() -> None:
                nonlocal seen
                del found[tensors:]
                seen = constants

            return forget

        def compare(operand: Any) -> None:
            nonlocal seen
            node = operand._grad_fn if isinstance(operand, Value) else None
            if isinstance(node, Node) and self.start <= node._order < start:
                raise CheckpointError(
                    f"{user_line()}: an array of shape {show(operand.shape)} that the function "
                    "reads here has become another one since it began to run first: it writes into "
                    "what it was not given, or something else did. What is computed again must be "
                    "the same: let the function make a copy, or return the new value."
                )
            digest, counter = _constant(operand), _counter(operand, start)
            _, version = before.pop(id(counter), (None, None))
            if digest is None and version is None:
                return
            seen += digest is not None
            known = digest if digest is None else (*self.constants[seen - 1 : seen], digest)[0]
            if digest != known or (version is not None and counter[0] != version):
                raise CheckpointError(
                    f"{user_line()}: an array of shape {show(operand.shape)} that the function "
                    "reads here holds something else than when it ran first: it was written "
                    "to before backward, or is computed in another way each time. What is computed "
                    "again must be the same: write into another array, or give the function a copy."
                )

        now = DEFAULT.key.copy(), DEFAULT.counter.copy()
        if self.random is not None:
            DEFAULT.key[...], DEFAULT.counter[...] = self.random
        try:
            with (
                self.context,
                as_of(self.levels),
                as_when_running(self.rules),
                enable_grad(),
                self.leaves_as_before(),
                saved_tensors_hooks(collect, lambda k: _unchanged(found[k])),
                _watched(compare),
                ATTEMPTS.noting(mark),
                contextlib.suppress(_Enough),
            ):
                self.resumed(self.call)
        finally:
            if self.random is not None:
                DEFAULT.key[...], DEFAULT.counter[...] = now
        if early:
            del found[len(self.saved) :]
        if len(found) != len(self.saved):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward "
                "and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.saved)}\n"
                f"Number of tensors saved during recomputation: {len(found)}.\n"
                "The function must do the same whenever it is called with the same arguments."
            )
        lines = [
            f"tensor at position {k}:\n"
            f"saved metadata: shape {show(was.meta[0])}, dtype {was.meta[1]}\n"
            f"recomputed metadata: shape {show(t.shape)}, dtype {t.dtype}"
            for k, ((t, _), was) in enumerate(zip(found, self.saved, strict=True))
            if (tuple(t.shape), t.dtype) != was.meta
        ]
        if self.check and lines:
            raise CheckpointError(
                "\n".join(
                    [
                        "checkpoint: Recomputed values for the following tensors have different "
                        "metadata than during the forward pass.",
                        *lines,
                        "The function must do the same whenever it is called "
                        "with the same arguments.",
                    ]
                )
            )
        self.again = dict(zip(self.saved, found, strict=True))
        # The second run's nodes, which read from here if a sweep inside of it came by, keep nothing
        # alive.
        found.clear()


def _unchanged(one: tuple[Any, int]) -> Any:
    """A tensor that the second run saved; a RuntimeError where that has written to it since."""
    tensor, version = one
    now = tensor._version_counter[0]
    if now != version:
        raise RuntimeError(modified(tensor._data, None, 0, now, version))
    return tensor


def _counter(operand: Any, start: int) -> Any:
    """The version counter of an operand that was computed on the tape before a run that started
    then; None of others."""
    box: Any = operand if isinstance(operand, Value) else None
    node = None if box is None else box._grad_fn
    stored = node is not None and node._order < start and box._in_storage(box._root)
    return box._version_counter if stored else None


def _constant(operand: Any) -> int | None:
    """A digest of an operand that was not computed on the tape; None of one that was, and of
    numbers."""
    data = operand
    if isinstance(operand, Value):
        box: Any = operand
        data = None if box._grad_fn is not None or box._tangents else box._data
    return digest(data) if type(data) is np.ndarray else None


@contextlib.contextmanager
def _watched(watch: Callable[[Any], None]) -> Iterator[None]:
    before, SAVING.watched = SAVING.watched, watch
    try:
        yield
    finally:
        SAVING.watched = before


@restoring
def rerun(
    call: Callable[[], Any],
    again: contextlib.AbstractContextManager[Any] | None = None,
    check: bool = True,
    early_stop: bool = True,
    random: bool = True,
) -> Any:
    """`call()`, of which nothing is saved: what is needed of it later is found by calling it again,
    inside `again`.

    check       compare shapes and dtypes of what both calls save
    early_stop  end the second call with the last tensor that the first one saved
    random      draw the same numbers from the shared generator
    """
    run = _Run(call, again or contextlib.nullcontext(), check, early_stop, random)
    with saved_tensors_hooks(run.pack, run.unpack), _watched(run.note), ATTEMPTS.noting(run.mark):
        result = call()
    run.over = True
    return result


def repeatable(function: Callable[..., Any], args: Any, kwargs: Any) -> Callable[[], Any]:
    """The call of a function, which at its first time may write into its arguments, and then finds
    those whose values are replaced by writes as they were."""
    leaves: list[Any]
    leaves, spec = flatten((args, kwargs))
    # Leaves cannot be written to.
    again = [replaced(x) and not (x._requires_grad and x._grad_fn is None) for x in leaves]
    kept = [x._alias() if r else x for x, r in zip(leaves, again, strict=True)]
    first = True

    def call() -> Any:
        nonlocal first
        if first:
            first = False
            return function(*args, **kwargs)
        fresh = [x._alias() if r else x for x, r in zip(kept, again, strict=True)]
        given, named = unflatten(spec, fresh)
        return function(*given, **named)

    return call if any(again) else lambda: function(*args, **kwargs)


__all__ = ["CheckpointError", "repeatable", "rerun"]
