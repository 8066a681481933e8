"""What the text of a kernel leaves out: that numbers in places, shapes and ranges are unsigned.

`x[i - 1]` reads as it should, and runs so in Python. In native code indices are unsigned words,
without tests for negative ones, which block vectorisation; a signed 1 beside them would be a float,
by Numba's rules. Whoever translates the tree of a kernel has each constant in such a position typed
first: `x[i - index(1)]`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_BOUNDS = ("first", "last")
"""The ends of what a thread works off."""


def typed(tree: ast.FunctionDef) -> None:
    """Write `index(...)` around the constants of a kernel that are indices."""
    _statements(tree.body)


def _statements(body: Iterable[ast.stmt]) -> None:
    for s in body:
        match s:
            case ast.Assign([ast.Name(name)], ast.IfExp() as chosen) if name in _BOUNDS:
                chosen.body = _index(chosen.body)
            case ast.Assign(targets, value):
                for target in targets:
                    _value(target)
                _value(value)
            case ast.AugAssign():
                _value(s.target)
                _value(s.value)
            case ast.For():
                _value(s.iter)
                _statements(s.body)
            case ast.If() | ast.While():
                _value(s.test)
                _statements(s.body)
                _statements(s.orelse)
            case ast.Expr(value):
                _value(value)


def _value(e: ast.AST) -> None:
    """Type the indices below an expression that is none itself."""
    match e:
        case ast.Name() | ast.Constant():
            pass
        case ast.Subscript():
            _value(e.value)
            # Sizes and random words are tuples, and a status is read and written in two places.
            if isinstance(e.value, ast.Name) and e.value.id != "status":
                e.slice = _index(e.slice)
        case ast.Call(function, args):
            match function:
                case ast.Name("range" | "signed"):
                    e.args = [_index(a) for a in args]
                case ast.Name("view"):
                    args[1:3] = [_index(a) for a in args[1:3]]
                case ast.Attribute(_, "empty"):
                    args[0] = _index(args[0])
                case _:
                    for a in args:
                        _value(a)
        case ast.Compare(ast.Name(name)) if name.startswith("farthest_"):
            e.comparators = [_index(x) for x in e.comparators]
        case ast.BinOp():
            _value(e.left)
            _value(e.right)
        case _:
            for child in ast.iter_child_nodes(e):
                _value(child)


def _index(e: ast.expr) -> ast.expr:
    """An index with its constants typed."""
    match e:
        case ast.Name():
            pass
        case ast.Constant(int()):
            called = ast.copy_location(ast.Name("index", ast.Load()), e)
            return ast.copy_location(ast.Call(called, [e], []), e)
        case ast.BinOp():
            e.left, e.right = _index(e.left), _index(e.right)
        case ast.UnaryOp():
            e.operand = _index(e.operand)
        case ast.Tuple():
            e.elts = [_index(x) for x in e.elts]
        case ast.Call(ast.Name("min" | "max"), args):
            e.args = [_index(a) for a in args]
        case _:
            _value(e)
    return e
