"""The format of kept code: what was written comes back, and anything else is noticed."""

from __future__ import annotations

import pytest
from tracegrad.codegen.disk.entry import DamagedError, DiskEntry, pack, unpack

from tests.cached import KEY, OTHER, sealed

ENTRY = DiskEntry(
    {"text": "é", "texts": ["a", "b"], "number": 3}, {"code": bytes(range(256)), "empty": b""}
)
SEALED = pack(KEY, ENTRY)


def test_an_entry_comes_back_as_it_was() -> None:
    assert unpack(KEY, SEALED) == ENTRY
    assert (ENTRY.text("text"), ENTRY.texts("texts"), ENTRY.part("empty")) == ("é", ["a", "b"], b"")


def test_every_flipped_bit_and_every_cut_is_noticed() -> None:
    for k in range(len(SEALED)):
        flipped = bytearray(SEALED)
        flipped[k] ^= 1 << k % 8
        for damaged in (bytes(flipped), SEALED[:k], SEALED[k + 1 :], SEALED + SEALED[: k + 1]):
            with pytest.raises(DamagedError):
                unpack(KEY, damaged)


def test_the_key_is_under_the_seal() -> None:
    with pytest.raises(DamagedError, match="another key"):
        unpack(OTHER, SEALED)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        "9" * 10_000,
        '{"key": "KEY", "data": {}}',
        '{"key": "KEY", "data": {}, "parts": [], "more": 1}',
        '{"key": "KEY", "data": [], "parts": []}',
        '{"key": 1, "data": {}, "parts": []}',
        '{"key": "KEY", "data": {}, "parts": {"code": 3}}',
        '{"key": "KEY", "data": {}, "parts": [["code", 4]]}',
        '{"key": "KEY", "data": {}, "parts": [["code", 2]]}',
        '{"key": "KEY", "data": {}, "parts": [["code", -1], ["b", 4]]}',
        '{"key": "KEY", "data": {}, "parts": [["code", true], ["b", 2]]}',
        '{"key": "KEY", "data": {}, "parts": [["code", 1], ["code", 2]]}',
        '{"key": "KEY", "data": {}, "parts": [["code", 3.0]]}',
        '{"key": "KEY", "data": {}, "parts": ["code"]}',
        '{"key": "KEY", "data": {}, "parts": [["code", 1000000000000000000000]]}',
    ],
    ids=range(18),
)
def test_sealed_nonsense_is_refused(header: str) -> None:
    with pytest.raises(DamagedError):
        unpack(KEY, sealed(header.replace("KEY", KEY).encode(), b"abc"))


def test_fields_are_what_their_reader_asks_for() -> None:
    wrong = DiskEntry({"a": 1, "b": ["x", 2], "c": None})
    for name in ("a", "b", "c", "missing"):
        for read in (wrong.text, wrong.texts, wrong.part):
            with pytest.raises(DamagedError):
                read(name)
