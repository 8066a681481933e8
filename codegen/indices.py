"""What the text of a kernel leaves out: that numbers in places, shapes and ranges are unsigned.

`x[i - 1]` reads as it should, and runs so in Python. In native code indices are unsigned words,
without tests for negative ones, which block vectorisation; a signed 1 beside them would be a float,
by Numba's rules. Whoever translates the tree of a kernel has each constant in such a position typed
first: `x[i - index(1)]`. Which positions these are follows from the syntax (brackets, shapes,
ranges) and from the words that the text itself marks by `index(...)`: what is chosen in place of
such a word, or compared with a variable that began as one, is an index too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable


def typed(tree: ast.FunctionDef) -> None:
    """Write `index(...)` around the constants of a kernel that are indices."""
    words: set[str] = set()
    pending: list[ast.stmt] = list(tree.body)
    while pending:
        match pending.pop():
            case ast.Assign(targets, value) if _marked(value):
                words |= {x.id for x in targets if isinstance(x, ast.Name)}
            case ast.For(_, _, body, otherwise) | ast.While(_, body, otherwise):
                pending += [*body, *otherwise]
            case ast.If(_, body, otherwise):
                pending += [*body, *otherwise]
    _Typing(words).statements(tree.body)


def _marked(e: ast.expr) -> bool:
    return isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "index"


class _Typing:
    """`words` are the variables that began as marked words."""

    def __init__(self, words: set[str]) -> None:
        self.words = words

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for s in body:
            match s:
                case ast.Assign(targets, value):
                    for target in targets:
                        self.value(target)
                    self.value(value)
                case ast.AugAssign():
                    self.value(s.target)
                    self.value(s.value)
                case ast.For():
                    self.value(s.iter)
                    self.statements(s.body)
                case ast.If() | ast.While():
                    self.value(s.test)
                    self.statements(s.body)
                    self.statements(s.orelse)
                case ast.Expr(value):
                    self.value(value)

    def value(self, e: ast.AST) -> None:
        """Type the indices below an expression that is none itself."""
        match e:
            case ast.Name() | ast.Constant():
                pass
            case ast.Subscript():
                self.value(e.value)
                if isinstance(e.value, ast.Name):  # sizes and random words are tuples
                    e.slice = self.index(e.slice)
            case ast.Call(function, args):
                match function:
                    case ast.Name("range" | "apart" | "signed"):
                        e.args = [self.index(a) for a in args]
                    case ast.Name("view"):
                        args[1:3] = [self.index(a) for a in args[1:3]]
                    case ast.Attribute(_, "empty"):
                        args[0] = self.index(args[0])
                    case _:
                        for a in args:
                            self.value(a)
            case ast.IfExp() if _marked(e.orelse):
                e.body = self.index(e.body)
                self.value(e.test)
                self.value(e.orelse)
            case ast.Compare(ast.Name(name)) if name in self.words:
                e.comparators = [self.index(x) for x in e.comparators]
            case ast.BinOp():
                self.value(e.left)
                self.value(e.right)
            case _:
                for child in ast.iter_child_nodes(e):
                    self.value(child)

    def index(self, e: ast.expr) -> ast.expr:
        """An index with its constants typed."""
        match e:
            case ast.Name():
                pass
            case ast.Constant(int()):
                called = ast.copy_location(ast.Name("index", ast.Load()), e)
                return ast.copy_location(ast.Call(called, [e], []), e)
            case ast.BinOp():
                e.left, e.right = self.index(e.left), self.index(e.right)
            case ast.UnaryOp():
                e.operand = self.index(e.operand)
            case ast.Tuple():
                e.elts = [self.index(x) for x in e.elts]
            case ast.Call(ast.Name("min" | "max"), args):
                e.args = [self.index(a) for a in args]
            case _:
                self.value(e)
        return e
