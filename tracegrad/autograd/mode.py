"""Whether operations are recorded: thread-local modes as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _Mode(threading.local):
    enabled = True


MODE = _Mode()


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require grad are recorded in this thread.

    >>> import tracegrad as tg
    >>> with tg.no_grad():
    ...     tg.is_grad_enabled()
    False
    """
    return MODE.enabled


class set_grad_enabled:
    """Turn recording on or off: at once when called as a function, for a block as a context manager, for calls as a decorator.

    >>> import tracegrad as tg
    >>> with tg.set_grad_enabled(False):
    ...     tg.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self.previous = MODE.enabled
        MODE.enabled = self.mode

    def __enter__(self) -> None:
        MODE.enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        MODE.enabled = self.previous

    def __call__(self, function: F) -> F:
        MODE.enabled = self.previous
        decorated: F = _decorate(function, lambda: set_grad_enabled(self.mode))
        return decorated

    def __repr__(self) -> str:
        return f"tracegrad.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class _FixedMode:
    """`no_grad` and `enable_grad`: a context manager, and a decorator with or without parentheses."""

    mode: bool

    def __new__(cls, function: Any = None) -> Any:
        return super().__new__(cls) if function is None else _decorate(function, cls)

    def __init__(self, function: Any = None) -> None:
        self.previous: list[bool] = []

    def __enter__(self) -> None:
        self.previous.append(MODE.enabled)
        MODE.enabled = self.mode

    def __exit__(self, *exception: object) -> None:
        MODE.enabled = self.previous.pop()

    def __call__(self, function: F) -> F:
        decorated: F = _decorate(function, type(self))
        return decorated


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
    """Operations inside are recorded, also within `no_grad`.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> with tg.no_grad(), tg.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    mode = True


def _decorate(function: Any, context: Callable[[], Any]) -> Any:
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            running = function(*args, **kwargs)
            with context():
                sent = next(running, _END)
            while sent is not _END:
                reply = yield sent
                with context():
                    try:
                        sent = running.send(reply)
                    except StopIteration:
                        return

        return generator

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return wrapper


_END = object()
