"""Handlers of XLA's typed foreign functions, as LLVM text: `XLA_FFI_Error *f(XLA_FFI_CallFrame *)`.

Its C interface is stable within a major version, and fields are only added behind others. A frame
says in which stage the call is, and shows arguments and results as buffers; asked for metadata, the
handler answers with the version of who asks, so what it relies on are the places below.
"""

from __future__ import annotations

from collections.abc import Sequence

EXTENSION, API, STAGE = 8, 16, 32
"""In a frame, in bytes."""
ARGUMENTS, RESULTS, DATA = 9, 14, 3
"""In words: arrays of buffers in a frame, and what a buffer shows."""
METADATA, EXECUTE = 1, 3
"""The type of an extension, and a stage."""
VERSION, CREATE_ERROR = 32, 48
"""In what the runtime offers: the major and minor version, and a function."""
INTERNAL = 13
"""The kind of an error."""


def prologue() -> list[str]:
    """Answer a question for metadata, and do nothing in other stages than that of execution."""
    return [
        f"  %.ext.at = getelementptr i8, ptr %frame, i64 {EXTENSION}",
        "  %.ext = load ptr, ptr %.ext.at",
        f"  %.api.at = getelementptr i8, ptr %frame, i64 {API}",
        "  %.api = load ptr, ptr %.api.at",
        "  %.plain = icmp eq ptr %.ext, null",
        "  br i1 %.plain, label %.stage, label %.extended",
        ".extended:",
        "  %.type.at = getelementptr i8, ptr %.ext, i64 8",
        "  %.type = load i32, ptr %.type.at",
        f"  %.asked = icmp eq i32 %.type, {METADATA}",
        "  br i1 %.asked, label %.answer, label %.stage",
        ".answer:",
        "  %.metadata.at = getelementptr i8, ptr %.ext, i64 24",
        "  %.metadata = load ptr, ptr %.metadata.at",
        "  %.version.at = getelementptr i8, ptr %.metadata, i64 24",
        "  %.traits.at = getelementptr i8, ptr %.metadata, i64 32",
        "  store i32 0, ptr %.traits.at",
        "  %.unknown = icmp eq ptr %.api, null",
        "  br i1 %.unknown, label %.first, label %.same",
        ".first:",
        "  store <2 x i32> <i32 0, i32 1>, ptr %.version.at, align 4",
        "  ret ptr null",
        ".same:",
        f"  %.known.at = getelementptr i8, ptr %.api, i64 {VERSION}",
        "  %.known = load <2 x i32>, ptr %.known.at, align 4",
        "  store <2 x i32> %.known, ptr %.version.at, align 4",
        "  ret ptr null",
        ".stage:",
        f"  %.stage.at = getelementptr i8, ptr %frame, i64 {STAGE}",
        "  %.stage.now = load i32, ptr %.stage.at",
        f"  %.now = icmp eq i32 %.stage.now, {EXECUTE}",
        "  br i1 %.now, label %.execute, label %.later",
        ".later:",
        "  ret ptr null",
        ".execute:",
    ]


def epilogue(name: str, code: str, count: int) -> list[str]:
    """Make an error of a status, with one of so many messages; the last is for all others."""
    return [
        f"  %.near = icmp ult i32 {code}, {count}",
        f"  %.which = select i1 %.near, i32 {code}, i32 {count}",
        "  %.index = zext i32 %.which to i64",
        f"  %.message.at = getelementptr ptr, ptr @{name}.messages, i64 %.index",
        "  %.message = load ptr, ptr %.message.at",
        "  store i64 32, ptr %.error",
        "  %.error.1 = getelementptr i8, ptr %.error, i64 8",
        "  store ptr null, ptr %.error.1",
        "  %.error.2 = getelementptr i8, ptr %.error, i64 16",
        "  store ptr %.message, ptr %.error.2",
        "  %.error.3 = getelementptr i8, ptr %.error, i64 24",
        f"  store i32 {INTERNAL}, ptr %.error.3",
        f"  %.create.at = getelementptr i8, ptr %.api, i64 {CREATE_ERROR}",
        "  %.create = load ptr, ptr %.create.at",
        "  %.made = call ptr %.create(ptr %.error)",
        "  ret ptr %.made",
    ]


def messages(name: str, texts: Sequence[str]) -> str:
    """The messages, by status; the last for what has none."""
    lines = []
    for k, text in enumerate(texts):
        content = text.encode() + b"\0"
        written = "".join(f"\\{b:02X}" for b in content)
        lines.append(
            f'@{name}.message.{k} = internal constant [{len(content)} x i8] c"{written}"\n'
        )
    pointers = ", ".join(f"ptr @{name}.message.{k}" for k in range(len(texts)))
    lines.append(f"@{name}.messages = internal constant [{len(texts)} x ptr] [{pointers}]\n")
    return "".join(lines)


__all__ = ["ARGUMENTS", "DATA", "RESULTS", "epilogue", "messages", "prologue"]
