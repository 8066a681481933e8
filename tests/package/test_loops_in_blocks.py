"""No loop that an interrupt could end without what closes it.

From Python 3.12 on, the jump back to the start of a loop is often not covered by the `try` or
`with` around the loop (where the body ends in an `if`, say): an interrupt that arrives there passes
by `finally` and `__exit__`, and a lock stays held or a mode open. Such a loop goes into a function
of its own, is given the elements that it is for, or ends in another statement.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HARMLESS = ("with open(", "with contextlib.suppress(", "with self.lock, contextlib.suppress(")
"""Files are closed when nobody holds them; what is suppressed is no state. (Of the lock: it is
taken in a thread of its own, and interrupts arrive in the main one.)"""
APART = ("tracegrad/bench/", "tracegrad/schedule/")
"""Programs that end with an interrupt, and what runs where none arrives (compiling has a thread of
its own)."""


def loops(tree: ast.Module) -> dict[int, str]:
    """By their lines the loops inside of blocks that close something, and what closes it."""
    found: dict[int, str] = {}

    def walk(node: ast.AST, block: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            block = ""
        if isinstance(node, (ast.For, ast.While)) and block:
            found[node.lineno] = block
        if isinstance(node, ast.With):
            block = f"with {', '.join(ast.unparse(item) for item in node.items)}"
        inside = []
        if isinstance(node, ast.Try) and (node.finalbody or any(map(_all, node.handlers))):
            inside = [*node.body, *(node.handlers if node.finalbody else ())]
        for child in ast.iter_child_nodes(node):
            walk(child, "try" if child in inside else block)

    walk(tree, "")
    return found


def _all(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or ast.unparse(handler.type) in (
        "BaseException",
        "KeyboardInterrupt",
    )


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def uncovered(text: str) -> dict[int, str]:
    """Those whose jump back is not covered by what covers their start."""
    inside = loops(ast.parse(text))
    found = {}
    for code in codes(compile(text, "", "exec")) if inside else ():
        table: Any = dis.Bytecode(code).exception_entries  # type: ignore[attr-defined]
        steps = {step.offset: step for step in dis.get_instructions(code)}

        def around(at: int, table: Any = table, steps: Any = steps) -> set[int]:
            targets = {entry.target for entry in table if entry.start <= at < entry.end}
            # What every generator has, for StopIteration.
            return {t for t in targets if not steps[t].opname.startswith("CALL_INTRINSIC")}

        for step in steps.values():
            if step.opname.startswith("JUMP_BACKWARD"):
                start = steps[step.argval]
                line = start.positions.lineno if start.positions else None
                if line in inside and start.opname != "SEND":
                    if around(start.offset) - around(step.offset):
                        found[line] = inside[line]
    return found


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there the jump back is covered")
def test_every_loop_is_closed() -> None:
    known = "with lock:\n    for x in y:\n        if x:\n            f(x)\n"
    assert uncovered(known) == {2: "with lock"}, "the scan finds nothing any more"
    left = [
        f"{name}:{line}: in `{block}`"
        for path in sorted((ROOT / "tracegrad").rglob("*.py"))
        if not (name := path.relative_to(ROOT).as_posix()).startswith(APART)
        for line, block in uncovered(path.read_text(encoding="utf-8")).items()
        if not block.startswith(HARMLESS)
    ]
    assert not left, "\n".join(left)
