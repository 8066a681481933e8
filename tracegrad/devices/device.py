"""The name of a place where arrays lie, as torch has it: "cpu", "cuda", "cuda:1"."""

from __future__ import annotations

import functools
from typing import Any, Self

from .._codegen import loading
from ..checks import describe

KINDS = ("cpu", "cuda")


@functools.cache
def driver() -> Any:
    """The module that talks to the GPU."""
    return loading.imported("..codegen.cuda.driver", __package__)


class Device(str):
    """A kind of device and the number of one of this kind; "cuda" without a number is the current
    one. It is a string, too, so that it compares with one.

    >>> import tracegrad as tg
    >>> tg.device("cuda", 1)
    device(type='cuda', index=1)
    >>> tg.device("cpu").type
    'cpu'
    """

    __slots__ = ("_place",)
    _place: tuple[str, int | None]

    def __new__(cls, type: Any = "cpu", index: int | None = None) -> Self:
        if isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(
                "a device is named by a string ('cpu', 'cuda', 'cuda:0') or the number of a GPU; "
                f"device is {describe(type)}"
            )
        kind, colon, number = type.partition(":")
        if kind not in KINDS:
            raise RuntimeError(
                f"Expected one of {', '.join(KINDS)} device type at start of device string: {kind}"
            )
        if colon:
            if index is not None:
                raise RuntimeError(
                    "type (string) must not include an index because index was "
                    f"passed explicitly: {type}"
                )
            if not (number.isascii() and number.isdigit()) or (
                len(number) > 1 and number[0] == "0"
            ):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if index is not None and not isinstance(index, int):
            raise TypeError(f"device: index is {index!r}; it must be an integer")
        if index is not None and index < 0:
            raise RuntimeError(f"the number of a device must not be negative, but is {index}")
        made = super().__new__(cls, kind if index is None else f"{kind}:{index}")
        made._place = kind, index
        return made

    @property
    def type(self) -> str:
        """The kind of device."""
        return self._place[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The number among the devices of this kind, or None."""
        return self._place[1]

    @property
    def number(self) -> int:
        """The number of a device that `resolve` gave."""
        return self._place[1] or 0

    def __repr__(self) -> str:
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __reduce__(self) -> Any:
        return type(self), self._place


CPU = Device("cpu")


def resolve(device: Any) -> Device:
    """The one device that is meant: CPU, or a GPU with its number, which is there. Raises
    RuntimeError, saying what is missing."""
    found = device if isinstance(device, Device) else Device(device)
    if found.type == "cpu":
        return CPU
    number = found.index
    if number is None:
        number = driver().current_device()
    driver().check_device(number)
    return _numbered(number)


@functools.cache
def _numbered(number: int) -> Device:
    return Device("cuda", number)
