"""Whether operations are recorded: modes of the task as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import AsyncGenerator, Callable, Generator
from threading import get_ident
from typing import Any, ClassVar, TypeVar

import numpy as np

from ..checks import describe
from ..ir.dispatch import STATE
from ..tape.mode import INFERENCE, MODE, RECORDING, RECORDS, not_recording

F = TypeVar("F", bound=Callable[..., Any])

DECORATED_CLASS = (
    "Decorating classes is deprecated and will be disabled in future versions. "
    "You should only decorate functions or methods. To preserve the current behavior of class "
    "decoration, you can directly decorate the `__init__` method and nothing else."
)


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require grad are recorded in this task, or in this thread
    where there are no tasks.

    >>> import tracegrad as tg
    >>> with tg.no_grad():
    ...     tg.is_grad_enabled()
    False
    """
    return bool(MODE.enabled)


def is_inference_mode_enabled() -> bool:
    """Whether this task, or this thread where there are no tasks, is in `inference_mode`.

    >>> import tracegrad as tg
    >>> with tg.inference_mode():
    ...     tg.is_inference_mode_enabled()
    True
    """
    return MODE.inference


class ModeDecorator:
    """A mode as a decorator. Each call of the decorated function is in a mode of its own; so is
    each step of a generator or a coroutine, while what runs between the steps is not."""

    def __call__(self, function: F) -> F:
        if not callable(function):
            raise TypeError(
                f"{type(self).__name__} decorates a function, and {describe(function)} is none"
            )
        decorated: F = _decorate(function, self._again)
        return decorated

    def _again(self) -> Any:
        """Another instance of the same mode."""
        return type(self)()

    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError


class set_grad_enabled(ModeDecorator):
    """Turn recording on or off: at once when called as a function, for a block as a context
    manager, for calls as a decorator.

    >>> import tracegrad as tg
    >>> with tg.set_grad_enabled(False):
    ...     tg.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, (bool, np.bool_)):
            raise TypeError(
                f"set_grad_enabled(): argument 'mode' must be bool, not {type(mode).__name__}"
            )
        self.mode = bool(mode)
        self.previous = [MODE.enabled]
        MODE.enabled = self.mode

    def __enter__(self) -> None:
        # What construction replaced comes back at the end of the outermost block.
        self.previous.append(self.previous[-1] if len(self.previous) == 1 else MODE.enabled)
        MODE.enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        MODE.enabled = self.previous.pop()

    def __call__(self, function: F) -> F:
        MODE.enabled = self.previous[0]
        return super().__call__(function)

    def _again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return f"tracegrad.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class _FixedMode(ModeDecorator):
    """`no_grad` and `enable_grad`: a context manager, and a decorator with or without
    parentheses."""

    mode: ClassVar[bool]

    def __new__(cls, function: Any = None) -> Any:
        mode = super().__new__(cls)
        return mode if function is None else mode(function)

    def __init__(self, function: Any = None) -> None:
        self.previous: list[Any] = []

    def __enter__(self) -> None:
        before = RECORDS()
        self.previous.append(before)
        try:
            if self.mode:
                RECORDING.set(True)
            elif before:
                RECORDING.set(not_recording())
        except BaseException:  # Ctrl-C: the block is not entered, nor left
            RECORDING.set(before)
            raise

    def __exit__(self, *exception: object) -> None:
        RECORDING.set(self.previous.pop())

    def __repr__(self) -> str:
        return f"tracegrad.autograd.grad_mode.{type(self).__name__}()"


class no_grad(_FixedMode):
    """Operations inside are not recorded.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> with tg.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    mode = False


class enable_grad(_FixedMode):
    """Operations inside are recorded, also within `no_grad`; within `inference_mode` they make
    ordinary tensors.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> with tg.no_grad(), tg.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    mode = True


class inference_mode(ModeDecorator):
    """As `no_grad`, and what is made inside can never be part of a recorded computation: such
    tensors count no versions.

    `inference_mode(False)` leaves an outer inference mode for a block. As a decorator it may stand
    without parentheses.

    >>> import tracegrad as tg
    >>> with tg.inference_mode():
    ...     y = tg.ones(2) * 2
    >>> y.is_inference()
    True
    >>> (y + 1).is_inference()
    False
    """

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        if not callable(mode):
            raise TypeError(
                f"inference_mode(): argument 'mode' must be bool, not {type(mode).__name__}"
            )
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.previous: list[tuple[Any, int, int]] = []

    def __enter__(self) -> None:
        before, mode, thread = RECORDS(), INFERENCE.get(), get_ident()
        more = self.mode - (mode == thread)
        self.previous.append((before, mode, more))
        special = STATE.special
        try:
            if more:
                STATE.special = special + more
            INFERENCE.set(thread if self.mode else 0)
            RECORDING.set(not_recording() if self.mode else True)
        except BaseException:  # Ctrl-C: the block is not entered, nor left
            RECORDING.set(before)
            INFERENCE.set(mode)
            STATE.special = special
            raise

    def __exit__(self, *exception: object) -> None:
        before, mode, more = self.previous.pop()
        if more:
            STATE.special -= more
        RECORDING.set(before)
        INFERENCE.set(mode)

    def _again(self) -> inference_mode:
        return type(self)(self.mode)

    def __repr__(self) -> str:
        return f"tracegrad.autograd.grad_mode.inference_mode(mode={self.mode})"


def _decorate(function: Any, context: Callable[[], Any]) -> Any:
    """The function with its calls, or the steps of what it returns, inside a mode."""
    if inspect.isclass(function):
        warnings.warn(DECORATED_CLASS, FutureWarning, stacklevel=4)
        return _plain(function, context)
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
            running = function(*args, **kwargs)
            step = running.asend(None)
            while True:
                try:
                    value = await _awaited(step, context)
                except StopAsyncIteration:
                    return
                try:
                    sent = yield value
                except GeneratorExit:
                    await _awaited(running.aclose(), context)
                    raise
                except BaseException as error:
                    step = running.athrow(error)
                else:
                    step = running.asend(sent)

        return async_generator
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            return await _awaited(function(*args, **kwargs), context)

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            return (yield from _steps(function(*args, **kwargs), context))

        return generator
    return _plain(function, context)


def _plain(function: Any, context: Callable[[], Any]) -> Any:
    @functools.wraps(
        function, updated=() if inspect.isclass(function) else functools.WRAPPER_UPDATES
    )
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return wrapper


def _steps(running: Any, context: Callable[[], Any]) -> Generator[Any, Any, Any]:
    """`yield from running`, with each of its steps inside the mode."""
    step, given = running.send, None
    while True:
        try:
            with context():
                value = step(given)
        except StopIteration as end:
            return end.value
        try:
            given, step = (yield value), running.send
        except GeneratorExit:
            with context():
                running.close()
            raise
        except BaseException as error:
            given, step = error, running.throw


_awaited = types.coroutine(_steps)
"""Awaiting a coroutine, or a step of an asynchronous generator, is stepping it as well."""
