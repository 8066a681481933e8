"""Where a block is cut, so that the rest of it can be a graph over a length found before."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

LAZY = (
    *(ast.Lambda, ast.IfExp, ast.BoolOp, ast.Compare, ast.NamedExpr, ast.Await, ast.Yield),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.YieldFrom),
)
"""Expressions of which not all parts are computed, or not once."""
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
WHOLE = -1
"""In place of tries: a statement is in the block, with all that is inside of it."""


def cuts(body: list[ast.stmt], line: int, tries: int) -> list[ast.stmt]:
    """The statements from which on a block is cut for a line: the innermost one; from the second
    try on each of its parts, which become statements before it; then those around it. WHOLE in
    the place of tries: the statement that begins there."""
    if tries == WHOLE:
        return [s for s, _ in _at(body, line) if s.lineno == line][:1]
    found: list[ast.stmt] = []
    for s, block in reversed(list(_at(body, line))):
        if tries <= 0:
            break
        found.append(s)
        parts = list(_parts(s.value))[:-1] if isinstance(s, (ast.Assign, ast.Expr)) else []
        tries -= 2 if parts else 1
        if parts and tries >= 0:
            found += _taken_out(s, block, parts)
    return found


def _at(body: list[ast.stmt], line: int) -> Iterator[tuple[ast.stmt, list[ast.stmt]]]:
    """The statements at a line with their blocks, from the outermost on; of those with a body only
    if they begin there."""
    for s in body:
        if s.lineno <= line <= _end(s) and not _is_flag(s):
            blocks = [b for name in BLOCKS if (b := getattr(s, name, None))]
            if s.lineno == line or not blocks:
                yield s, body
            for block in blocks:
                yield from _at(block, line)


def _end(s: ast.stmt) -> int:
    """The last line of a statement; one that stands for a jump has what follows that inside."""
    inner = [b[-1] for name in BLOCKS if (b := getattr(s, name, None))]
    return max([s.end_lineno or s.lineno, *map(_end, inner)])


BLOCKS = ("body", "orelse", "finalbody")


def _is_flag(s: ast.stmt) -> bool:
    """Whether it stands for a jump."""
    target = s.targets[0] if isinstance(s, ast.Assign) else None
    constant = isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant)
    return constant and isinstance(target, ast.Name) and target.id.startswith("_tg_")


def _parts(e: ast.AST) -> Iterator[ast.expr]:
    """What is computed of an expression, in that order: calls, and what they could change."""
    if isinstance(e, COMPREHENSIONS):
        # What the first `for` goes over is computed where the comprehension stands.
        yield from _parts(e.generators[0].iter)
    if isinstance(e, ast.ListComp):
        yield e
    if isinstance(e, LAZY):
        return
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute):
        yield from _parts(e.func.value)
        for child in (*e.args, *e.keywords):
            yield from _parts(child)
    else:
        for child in ast.iter_child_nodes(e):
            yield from _parts(child)
    if isinstance(e, (ast.Call, ast.Subscript, ast.Attribute)):
        yield e


def _taken_out(s: ast.stmt, block: list[ast.stmt], parts: Sequence[ast.expr]) -> list[ast.stmt]:
    """Let a statement read variables in the place of parts of it: what binds these before it."""
    names = {id(e): f"_tg_part_{k}_{s.lineno}" for k, e in enumerate(parts)}
    before: list[ast.stmt] = []

    class PartsByName(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            name = names.get(id(node))
            self.generic_visit(node)
            if name is None or not isinstance(node, ast.expr):
                return node
            made = ast.Assign([ast.Name(name, ast.Store())], node)
            before.append(ast.fix_missing_locations(ast.copy_location(made, node)))
            return ast.fix_missing_locations(ast.copy_location(ast.Name(name, ast.Load()), node))

    PartsByName().visit(s)
    k = block.index(s)
    block[k:k] = before
    return before


__all__ = ["WHOLE", "cuts"]
