"""Recursion that does not use Python's stack: chains of operations are longer than that is deep,
and its limit is the process's."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[tuple[Any, ...], Any, T]
"""A recursive function written as a generator: it yields the arguments of a call of itself, and is
sent the result."""


def run(steps: Steps[T], ready: Callable[..., Any], call: Callable[..., Steps[Any]]) -> T:
    """What `steps` return. Calls are answered by `ready`, or where that has None by running
    `call`."""
    stack: list[Steps[Any]] = [steps]
    result: Any = None
    try:
        while stack:
            try:
                needed = stack[-1].send(result)
            except StopIteration as done:
                stack.pop()
                result = done.value
            else:
                result = ready(*needed)
                if result is None:
                    stack.append(call(*needed))
        return result  # type: ignore[no-any-return]
    finally:
        # After an error what waits ends in the order of a stack, and with it the scopes that it
        # opened.
        while stack:
            stack.pop().close()


__all__ = ["Steps", "run"]
