"""What the disk keeps of compiled code: data and bytes under one seal.

    magic    16 bytes   the format, and its number
    seal     32 bytes   SHA-256 of all that follows
    length    8 bytes   of the header, little endian
    header              JSON: {"key": ..., "data": {...}, "parts": [[name, length], ...]}
    parts               one after the other to the end of the file

Reading an entry makes strings, numbers, lists, dicts and bytes, and runs nothing. The key stands
inside the seal: an entry that lies under the name of another is noticed. The seal tells of damage
and not of malice, for whoever can write an entry can seal it; see `cache_folder` for that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

MAGIC = b"tracegrad code 2"
SEAL = sha256().digest_size
LENGTH = 8


class DamagedError(ValueError):
    """An entry that is not what was written under its key."""


@dataclass(frozen=True)
class DiskEntry:
    """Data that JSON can hold, and named bytes; what reads a field says what it must be."""

    data: Mapping[str, Any]
    parts: Mapping[str, bytes] = field(default_factory=dict)

    def text(self, name: str) -> str:
        value = self.data.get(name)
        if not isinstance(value, str):
            raise DamagedError(f"{name} is no text")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.data.get(name)
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise DamagedError(f"{name} is no list of texts")
        return value

    def part(self, name: str) -> bytes:
        if name not in self.parts:
            raise DamagedError(f"there is no part {name}")
        return self.parts[name]


def pack(key: str, entry: DiskEntry) -> bytes:
    """The content of a file."""
    sizes = [[name, len(part)] for name, part in entry.parts.items()]
    header = json.dumps({"key": key, "data": entry.data, "parts": sizes}).encode()
    sealed = b"".join([len(header).to_bytes(LENGTH, "little"), header, *entry.parts.values()])
    return MAGIC + sha256(sealed).digest() + sealed


def unpack(key: str, content: bytes) -> DiskEntry:
    """The entry that was packed under this key; DamagedError for anything else."""
    start = len(MAGIC) + SEAL
    sealed = memoryview(content)[start:]
    if not content.startswith(MAGIC) or len(sealed) < LENGTH:
        raise DamagedError("not of this format")
    if sha256(sealed).digest() != content[len(MAGIC) : start]:
        raise DamagedError("the seal is broken")
    end = LENGTH + int.from_bytes(sealed[:LENGTH], "little")
    try:
        header = json.loads(bytes(sealed[LENGTH:end]))
    except (ValueError, RecursionError) as error:
        raise DamagedError("the header is no JSON") from error
    match header:
        case {"key": str(named), "data": dict(data), "parts": list(sizes)} if len(header) == 3:
            pass
        case _:
            raise DamagedError("the header has other fields")
    if named != key:
        raise DamagedError("the entry of another key")
    parts: dict[str, bytes] = {}
    for size in sizes:
        match size:
            case [str(name), int(length)] if (
                type(length) is int and length >= 0 and name not in parts
            ):
                parts[name] = bytes(sealed[end : end + length])
                end += length
            case _:
                raise DamagedError("the header's list of parts")
    if end != len(sealed):
        raise DamagedError("the parts have other lengths")
    return DiskEntry(data, parts)
