"""torch.random: the state of the generators of random numbers. The numbers are this library's, not
torch's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import ops
from ..ops.random import DEFAULT
from ..tensor import Tensor

_WORDS = 2
"""A generator's state: its key and its counter."""


def _state_of(generator: ops.Generator) -> Tensor:
    generator.at_each_call("reading the state of a generator")
    words = np.array([int(generator.key), int(generator.counter)], np.uint64)
    return Tensor(words.view(np.uint8).copy())


def _set(generator: ops.Generator, new_state: Any) -> None:
    generator.at_each_call("setting the state of a generator")
    found = np.asarray(new_state)
    if found.dtype != np.uint8 or found.shape != (8 * _WORDS,):
        raise TypeError(
            f"the state of a generator is a vector of {8 * _WORDS} bytes (uint8), "
            f"not {found.dtype} of shape {found.shape}"
        )
    key, counter = np.ascontiguousarray(found).view(np.uint64)
    generator.key[...], generator.counter[...] = key, counter


class Generator(ops.Generator):
    """A stream of random numbers of its own, with torch's methods; `device` means nothing.

    >>> import tracegrad.torch as torch
    >>> g = torch.Generator().manual_seed(3)
    >>> state = g.get_state()
    >>> a = torch.rand(2, generator=g)
    >>> bool((torch.rand(2, generator=g.set_state(state)) == a).all())
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(0)
        self._seed = 0

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of this seed."""
        self._seed = int(seed)
        super().seed(self._seed & 0xFFFFFFFFFFFFFFFF)
        return self

    def seed(self, seed: Any = None) -> Any:
        """Start somewhere unpredictable, and return the seed of that."""
        chosen = (
            int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
            if seed is None
            else seed
        )
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The last seed that was set."""
        return self._seed

    def get_state(self) -> Tensor:
        """The state as a vector of bytes."""
        return _state_of(self)

    def set_state(self, new_state: Any) -> Generator:
        """Go on from a state that `get_state` gave."""
        _set(self, new_state)
        return self


default_generator = DEFAULT


def manual_seed(seed: int) -> ops.Generator:
    """Start the stream of this seed in the shared generator, and return that."""
    return DEFAULT.seed(int(seed) & 0xFFFFFFFFFFFFFFFF)


def seed() -> int:
    """Start the shared generator somewhere unpredictable, and return the seed of that."""
    chosen = int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    DEFAULT.seed(chosen)
    return chosen


def get_rng_state() -> Tensor:
    """The state of the shared generator as a vector of bytes.

    >>> import tracegrad.torch as torch
    >>> state = torch.get_rng_state()
    >>> a = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> bool((torch.rand(2) == a).all())
    True
    """
    return _state_of(DEFAULT)


def set_rng_state(new_state: Any) -> None:
    """Go on from a state that `get_rng_state` gave."""
    _set(DEFAULT, new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """A block after which the shared generator goes on as if nothing had been drawn in it."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)


__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "manual_seed",
    "seed",
    "set_rng_state",
]
