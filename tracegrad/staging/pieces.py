"""Small pieces of syntax trees: made, placed and asked about."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeVar

HELPERS = "_tg"
"""The name under which rewritten code has its helpers."""
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.BitAnd: "and_", ast.MatMult: "matmul", ast.Lt: "lt", ast.LtE: "le",
    ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne", ast.Is: "is_", ast.IsNot: "is_not",
    ast.In: "in_", ast.NotIn: "not_in", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
}  # fmt: skip
"""Operators, by the names of their functions."""
T = TypeVar("T", bound=ast.AST)


def parameters(a: ast.arguments) -> list[ast.arg]:
    """All parameters of a function."""
    return [
        *a.posonlyargs, *a.args, *a.kwonlyargs,
        *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else []),
    ]  # fmt: skip


def mangle(node: ast.AST, owner: str) -> None:
    """Private names as they are called outside of their class's text."""
    if not owner:
        return

    def name(old: str) -> str:
        private = old.startswith("__") and not old.endswith("__") and "." not in old
        return f"_{owner}{old}" if private else old

    for n in ast.walk(node):
        if isinstance(n, ast.Name):
            n.id = name(n.id)
        elif isinstance(n, ast.Attribute):
            n.attr = name(n.attr)
        elif isinstance(n, ast.arg):
            n.arg = name(n.arg)


def is_text(s: ast.stmt) -> bool:
    """Whether a statement may be the docstring."""
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)


def _is_string(e: ast.AST) -> bool:
    return isinstance(e, ast.Constant) and isinstance(e.value, str)


def for_print(e: ast.expr, helper: Callable[..., ast.expr]) -> ast.expr:
    """An argument of a `print`: the values in a text may be known when it is printed only."""
    if isinstance(e, ast.JoinedStr):
        return helper("text", e, *map(_field, e.values))
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mod) and _is_string(e.left):
        return helper("percent", e, e.left, e.right)
    f = getattr(e, "func", None)
    if isinstance(f, ast.Attribute) and f.attr == "format" and _is_string(f.value):
        assert isinstance(e, ast.Call)
        made = helper("formatted", e, f.value, *e.args)
        assert isinstance(made, ast.Call)
        made.keywords = e.keywords
        return made
    return e


def _field(part: ast.expr) -> ast.expr:
    if not isinstance(part, ast.FormattedValue):
        return part
    conversion = "" if part.conversion < 0 else chr(part.conversion)
    values = [part.value, ast.Constant(conversion), part.format_spec or ast.Constant("")]
    return place(ast.Tuple(values, ast.Load()), part)


def is_plain(target: ast.expr) -> bool:
    """Whether a target is made of names alone, of which none takes what is left."""
    kinds = (ast.Subscript, ast.Attribute, ast.Starred)
    return not any(isinstance(n, kinds) for n in ast.walk(target))


def is_free(e: ast.AST) -> bool:
    """Whether an expression is made of names, constants, comparisons, sums and products."""
    kinds = (
        ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.expr_context,
        ast.unaryop, ast.boolop, ast.cmpop, ast.BinOp, ast.Add, ast.Sub, ast.Mult,
    )  # fmt: skip
    return all(isinstance(n, kinds) for n in ast.walk(e))


def asks_more(e: ast.Compare) -> bool:
    """Whether a comparison by Python would not see a traced value: `in`, `is True`."""
    if isinstance(e.ops[0], (ast.Is, ast.IsNot)):
        return isinstance(e.comparators[0], ast.Constant) and type(e.comparators[0].value) is bool
    return isinstance(e.ops[0], (ast.In, ast.NotIn))


def operands_of(e: ast.AST) -> list[ast.expr]:
    """What an operator of numbers combines; nothing for other expressions."""
    if isinstance(e, ast.BinOp):
        return [e.left, e.right]
    return [e.operand] if isinstance(e, ast.UnaryOp) and not isinstance(e.op, ast.Not) else []


def asks_truth(test: ast.expr) -> None:
    """Note of `and` and `or` that only their truth is asked for, not which of the values it is."""
    if isinstance(test, ast.BoolOp):
        test.asked = True  # type: ignore[attr-defined]
        for value in test.values:
            asks_truth(value)


def binds(e: ast.AST) -> bool:
    """Whether an expression binds a name (`:=`)."""
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(e))


def loaded(name: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(name, ast.Load())


def stored(name: str) -> ast.Name:
    """A variable that is bound."""
    return ast.Name(name, ast.Store())


def arguments(names: Sequence[str]) -> ast.arguments:
    """Parameters of these names."""
    return ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in names], kwonlyargs=[], kw_defaults=[],
        defaults=[], vararg=None, kwarg=None,
    )  # fmt: skip


def place(node: T, like: ast.AST) -> T:
    """The node at the place of another one, and all of its parts that have none."""
    for n in ast.walk(node):
        if "lineno" in n._attributes and not hasattr(n, "lineno"):
            ast.copy_location(n, like)
    return node


__all__ = [
    "HELPERS", "OPERATORS",
    "arguments", "asks_more", "asks_truth", "binds", "for_print", "is_free", "is_plain", "is_text",
    "loaded", "mangle", "operands_of", "parameters", "place", "stored",
]  # fmt: skip
