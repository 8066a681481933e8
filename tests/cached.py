"""Helpers of the tests of the disk cache: stand-ins for kernels, which cost nothing to compile."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tracegrad.codegen.disk import cache
from tracegrad.codegen.disk import entry as cache_entry
from tracegrad.codegen.disk import folder as cache_folder
from tracegrad.codegen.disk.entry import DiskEntry


def _gives_away() -> bool:
    """Whether this user may make files another's: not the root of a namespace with no other
    users."""
    if not cache_folder.POSIX or os.geteuid():
        return False
    with tempfile.NamedTemporaryFile() as file:
        try:
            os.chown(file.name, 12345, 12345)
        except OSError:
            return False
        return True


ROOT = _gives_away()
READS_ALL = cache_folder.POSIX and os.geteuid() == 0
KEY, OTHER = "a" * 40, "b" * 40


def code_for(key: str) -> bytes:
    return (key * 50).encode()


def sealed(header: bytes, rest: bytes = b"") -> bytes:
    """What somebody could write who knows the format."""
    body = len(header).to_bytes(8, "little") + header + rest
    return cache_entry.MAGIC + cache_entry.sha256(body).digest() + body


def fetched(root: Path, key: str = KEY) -> str:
    """Fetch the stand-in for a kernel: whether it was built or loaded. It must be the right one."""

    def build() -> tuple[bytes, DiskEntry]:
        how.append("built")
        return code_for(key), DiskEntry({"name": key}, {"code": code_for(key)})

    def load(entry: DiskEntry) -> bytes:
        how.append("loaded")
        return entry.part("code")

    how: list[str] = []
    assert cache.fetch(root, key, build, load) == code_for(key)
    (only,) = how
    return only


@contextmanager
def one_warning(root: Path, reason: str) -> Iterator[None]:
    with pytest.warns(RuntimeWarning) as caught:
        yield
    (only,) = caught
    text = str(only.message)
    assert str(root) in text
    assert reason in text
    assert "TRACEGRAD_CACHE_DIR" in text


def names(root: Path) -> list[str]:
    return sorted(p.name for p in root.iterdir())


def used(root: Path) -> bool:
    return [fetched(root), fetched(root)] == ["built", "loaded"]


def foreign_group(p: Path) -> None:
    """A group with others in it, or at least one that is not this user's alone."""
    others = [g for g in os.getgroups() if not cache_folder._only_member(g)]
    if not (ROOT or others):
        pytest.skip("this user is in no group with others")
    os.chown(p, -1, 12345 if ROOT else others[0])
