"""The syntax tree of a function with its statements as calls of helpers (`helpers.py`).

A branch or a body becomes a function inside of the function, which shares its variables by their
cells; an operand that Python computes only where it is needed becomes a lambda. All keep the
places of the text that they stand for.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence

from .cuts import cuts
from .displays import Displays, growing_in
from .jumps import Jumps, is_closed, jumps_of
from .names import Liveness, bound, declared, is_true, shared, unassured, walk
from .pieces import (
    HELPERS,
    OPERATORS,
    arguments,
    asks_more,
    asks_truth,
    binds,
    for_print,
    is_free,
    is_plain,
    is_text,
    loaded,
    mangle,
    operands_of,
    parameters,
    place,
    stored,
)  # fmt: skip
from .prepare import UNTOUCHED, Unstaged, prepared
from .source import Definition, Function


def rewritten(found: Definition, rests: Iterable[tuple[int, int]] = ()) -> Function:
    """The function of a definition, rewritten; Unstaged where its meaning could not be kept. From
    what stands at the lines `rests` on (cuts.py) a block is a function of its own."""
    rests = frozenset(rests)
    return _Rewriter(found.owner, rests).function(
        prepared(found.node, {line for line, tries in rests if tries > 0})
    )


class _Rewriter(Displays):
    def __init__(self, owner: str, rests: Iterable[tuple[int, int]]) -> None:
        self.owner = owner.lstrip("_")
        self.rests = frozenset(rests)
        self.cuts: list[ast.stmt] = []
        """The statements at these lines."""
        self.count = itertools.count()
        self.sites: Iterator[int] = itertools.count()
        self.live = Liveness(set())
        self.globals: set[str] = set()
        self.unassured: set[str] = set()
        self.growing: set[str] = set()
        self.first = ""

    # --- functions ------------------------------------------------------------------------------

    def function(self, node: Function) -> Function:
        """A function without its decorators, all statements rewritten."""
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        outer = self.live, self.globals, self.unassured, self.growing, self.first
        mangle(node, self.owner)
        self.globals = declared(node, ast.Global)
        foreign = declared(node, ast.Nonlocal) | self.globals
        given = {p.arg for p in parameters(node.args)}
        self.growing = growing_in(node)
        self.first = self.first or next((p.arg for p in parameters(node.args)), "")
        names = {name for s in node.body for name in bound(s)} - self.globals
        self.unassured = unassured(node.body, names - foreign, given)
        ends = node.lineno, node.end_lineno or node.lineno
        lines = sorted(c for c in self.rests if ends[0] <= c[0] <= ends[1])
        body = Jumps(node.body).function(node.body, bool(lines))
        self.cuts += [s for line, tries in lines for s in cuts(body, line, tries)]
        self.live = Liveness(shared(node) | foreign)
        self.live.block(body, set())
        made = self.statements(body)
        own = sorted({*names, *[n for s in body for n in bound(s)]} - foreign - given)
        made = [*self._variables(node, names, foreign, given), *made]
        if own:
            # Variables of this function, whichever of those inside binds them.
            first = ast.If(
                ast.Constant(0),
                [ast.Assign([ast.Name(n, ast.Store()) for n in own], ast.Constant(None))],
                [],
            )
            start = 1 if is_text(node.body[0]) else 0
            made.insert(start, place(first, body[0]))
        node.body = made
        node.decorator_list = []
        self.live, self.globals, self.unassured, self.growing, self.first = outer
        return node

    def _variables(
        self, node: ast.FunctionDef, names: set[str], foreign: set[str], given: set[str]
    ) -> list[ast.stmt]:
        """What tells the helpers which variables this function shares with those around it and
        inside of it."""
        found = []
        bound_here = {name for s in node.body for name in bound(s)}
        inner = {
            name
            for n in ast.walk(node)
            if n is not node and isinstance(n, ast.FunctionDef)
            for name in declared(n, ast.Nonlocal)
        }
        if own := sorted(((names | given) - foreign) & inner):
            found.append(self._call("owns", node.body[0], self._with(own, node)))
        if bound_here & foreign:
            found.append(self._binds(bound_here & foreign, node.body[0]))
        return found

    def _binds(self, names: set[str], like: ast.stmt) -> ast.stmt:
        inner, around = sorted(names - self.globals), sorted(names & self.globals)
        parts = [self._names(inner), self._names(around), self._with(inner, like)]
        return self._call("binds", like, *parts)

    def _with(self, names: Sequence[str], like: ast.AST) -> ast.expr:
        """A function that is not called, with these variables around it."""
        return self._lazy(ast.Tuple([loaded(n) for n in names], ast.Load()), like)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        decorators = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for s in node.body for n in walk(s)):
            return node
        made = self.function(node)
        assert isinstance(made, ast.FunctionDef)
        made.decorator_list = decorators
        return made

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer = self.owner, self.first
        self.owner, self.first = node.name.lstrip("_"), ""
        node.body = [self.visit(s) if isinstance(s, ast.FunctionDef) else s for s in node.body]
        self.owner, self.first = outer
        return node

    # --- statements -----------------------------------------------------------------------------

    def statements(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """The statements, rewritten."""
        found: list[ast.stmt] = []
        body = list(body)
        for k, s in enumerate(body):
            if s in self.cuts:
                self.cuts.remove(s)
                end = len(body) - isinstance(body[-1], ast.Return)
                if k < end and not any(map(jumps_of, body[k:end])):
                    return [*found, *self._rest(s, body[k:end]), *body[end:]]
            made = self.visit(s)
            found += made if isinstance(made, list) else [made]
        return found or [ast.Pass()]

    def _inner(
        self, s: ast.stmt, body: Sequence[ast.stmt], kind: str, *, given: str = ""
    ) -> tuple[ast.stmt, str]:
        """A function of no argument (or the one given) that runs these statements."""
        name = f"_tg_{kind}_{next(self.count)}"
        own = bound(body)
        head: list[ast.stmt] = []
        if outer := sorted(own - self.globals):
            head.append(ast.Nonlocal(outer))
        if around := sorted(own & self.globals):
            head += [ast.Global(around), self._binds({*around}, s)]
        made = ast.FunctionDef(
            name, arguments([given] if given else []), [*head, *self.statements(body)], []
        )
        return place(made, body[0] if body else s), name

    def _kept(self, s: ast.stmt) -> ast.stmt:
        for name in ("body", "orelse", "finalbody"):
            if getattr(s, name, None):
                setattr(s, name, self.statements(getattr(s, name)))
        for part in (*getattr(s, "handlers", []), *getattr(s, "cases", [])):
            part.body = self.statements(part.body)
        if isinstance(s, (ast.If, ast.While)):
            s.test = self._helper("decided", s, self.visit(s.test))
        elif isinstance(s, ast.For):
            s.iter = self.visit(s.iter)
        elif isinstance(s, ast.With):
            for item in s.items:
                item.context_expr = self.visit(item.context_expr)
        return s

    def _carried(self, s: ast.stmt, live: set[str], body: Sequence[ast.stmt]) -> list[str]:
        own = bound(body) | (bound(s.target) if isinstance(s, ast.For) else set())
        return sorted((own & live) - self.globals)

    def _names(self, names: Iterable[str]) -> ast.expr:
        return ast.Tuple([ast.Constant(n) for n in names], ast.Load())

    def _known(self, names: Iterable[str]) -> ast.expr:
        return self._names(n for n in names if n not in self.unassured or n.startswith("_tg_"))

    def _others(self, body: Sequence[ast.stmt], carried: Sequence[str]) -> ast.expr:
        """The variables that statements bind and nobody reads behind them."""
        return self._names(sorted(bound(body) - {*carried} - self.globals))

    def _rest(self, s: ast.stmt, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The rest of a block, which may become a graph over a length."""
        names = sorted((bound(body) & self.live.after[body[-1]]) - self.globals)
        made, name = self._inner(s, body, "rest")
        return [
            made,
            self._call(
                "rest", s, loaded(name), self._names(names), self._known(names),
                self._others(body, names),
            ),
        ]  # fmt: skip

    def visit_If(self, s: ast.If) -> ast.AST | list[ast.stmt]:
        if getattr(s, "kept", False):
            return self._kept(s)
        asks_truth(s.test)
        both = [*s.body, *s.orelse]
        names = self._carried(s, self.live.after[s], both)
        then, a = self._inner(s, s.body, "then")
        other, b = self._inner(s, s.orelse, "else") if s.orelse else (None, "")
        call = self._call(
            "if_",
            s,
            self.visit(s.test),
            loaded(a),
            loaded(b) if b else ast.Constant(None),
            self._names(names),
            self._known(names),
            self._others(both, names),
        )
        return [then, *([other] if other else []), call]

    def visit_While(self, s: ast.While) -> ast.AST | list[ast.stmt]:
        if getattr(s, "kept", False):
            return self._kept(s)
        names = self._carried(s, self.live.head[s], s.body)
        body, name = self._inner(s, s.body, "body")
        flag = getattr(s, "flag", "")
        if flag:
            going = place(ast.UnaryOp(ast.Not(), loaded(flag)), s)
            both = ast.BoolOp(ast.And(), [going, s.test])
            s.test = going if is_true(s.test) else place(both, s)
        asks_truth(s.test)
        call = self._call(
            "while_",
            s,
            self._lazy(self.visit(s.test), s.test),
            loaded(name),
            self._names(names),
            self._known(names),
            self._others(s.body, names),
            ast.Constant(flag),
        )
        return [body, call]

    def visit_For(self, s: ast.For) -> ast.AST | list[ast.stmt]:
        if getattr(s, "kept", False):
            return self._kept(s)
        item = "_tg_item"
        assign = place(ast.Assign([s.target], loaded(item)), s.target)
        names = self._carried(s, self.live.head[s] | self.live.after[s], s.body)
        body, name = self._inner(s, [assign, *s.body], "body", given=item)
        call = self._call(
            "for_",
            s,
            self.visit(s.iter),
            loaded(name),
            self._names(names),
            self._known(names),
            self._others([assign, *s.body], names),
            ast.Constant(getattr(s, "flag", "")),
        )
        return [body, call]

    def visit_With(self, s: ast.With) -> ast.AST:
        if getattr(s, "kept", False) or is_closed(s):
            return self._watching(self._kept(s)) if is_closed(s) else self._kept(s)
        for item in s.items:
            item.context_expr = self.visit(item.context_expr)
        s.body = self.statements(s.body)
        return s

    def visit_Try(self, s: ast.Try) -> ast.AST:
        kinds = [h.type or loaded("BaseException") for h in s.handlers]
        caught = self._lazy(ast.Tuple(copy.deepcopy(kinds), ast.Load()), s)
        return self._watching(self._kept(s), caught)

    def _watching(self, s: ast.stmt, *caught: ast.expr) -> ast.AST:
        """A statement that sees exceptions: those on traced values it would not."""
        enter, leave = self._call("enter", s, *caught), self._call("leave", s)
        body = getattr(s, "body")  # noqa: B009
        s.body = [place(ast.Try([enter, *body], [], [], [leave]), s)]  # type: ignore[attr-defined]
        return s

    def visit_Match(self, s: ast.Match) -> ast.AST:
        return self._kept(s)

    def visit_Assert(self, s: ast.Assert) -> ast.AST:
        asks_truth(s.test)
        message = s.msg or ast.Constant(None)
        return self._call("assert_", s, self.visit(s.test), self._lazy(self.visit(message), s))

    def visit_Raise(self, s: ast.Raise) -> ast.AST | list[ast.stmt]:
        error = self._lazy(self.visit(s.exc), s) if s.exc else ast.Constant(None)
        return [self._call("raising", s, error), s]

    def visit_Delete(self, s: ast.Delete) -> ast.AST | list[ast.stmt]:
        if len(s.targets) == 1 and isinstance(target := s.targets[0], ast.Subscript):
            return self._call("del_item", s, self.visit(target.value), self._key(target.slice))
        return [self._call("effect", s, ast.Constant("del")), s]

    def visit_Assign(self, s: ast.Assign) -> ast.AST | list[ast.stmt]:
        value = self.grown(s.targets, s.value)
        operands = operands_of(value)
        if operands:
            name = ast.Constant(OPERATORS[type(value.op)])  # type: ignore[attr-defined]
            number = ast.Constant(next(self.sites))
            value = self._helper("combined", value, number, name, *operands)
        if all(map(is_plain, s.targets)):
            s.value = self.apart(s.targets[0], value) if len(s.targets) == 1 else value
            return s
        if len(s.targets) == 1 and isinstance(s.targets[0], (ast.Subscript, ast.Attribute)):
            return self._store(s.targets[0], value, s)
        whole = f"_tg_value_{next(self.count)}"
        made: list[ast.stmt] = [place(ast.Assign([stored(whole)], value), s)]
        for target in s.targets:
            made += self._unpack(target, loaded(whole), s)
        return made

    def visit_AnnAssign(self, s: ast.AnnAssign) -> ast.AST | list[ast.stmt]:
        if s.value is None:
            return s
        return self.visit_Assign(place(ast.Assign([s.target], s.value), s))

    def _unpack(self, target: ast.expr, value: ast.expr, s: ast.stmt) -> list[ast.stmt]:
        """`target = value` for a target of any form, from left to right."""
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            return [self._store(target, value, s)]
        if is_plain(target):
            return [place(ast.Assign([target], value), s)]
        assert isinstance(target, (ast.Tuple, ast.List))
        later: list[ast.stmt] = []
        parts: list[ast.expr] = []
        for part in target.elts:
            inner = part.value if isinstance(part, ast.Starred) else part
            name = f"_tg_value_{next(self.count)}"
            parts.append(stored(name))
            later += self._unpack(inner, loaded(name), s)
        names = ast.Tuple(parts, ast.Store())
        return [place(ast.Assign([names], self.apart(target, value)), s), *later]

    def _store(self, target: ast.expr, value: ast.expr, s: ast.stmt) -> ast.stmt:
        if isinstance(target, ast.Subscript):
            return self._call(
                "set_item", s, value, self.visit(target.value), self._key(target.slice)
            )
        assert isinstance(target, ast.Attribute)
        return self._call(
            "set_attribute", s, value, self.visit(target.value), ast.Constant(target.attr)
        )

    def visit_AugAssign(self, s: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        name = ast.Constant(OPERATORS[type(s.op)])
        target = s.target
        if isinstance(target, ast.Name):
            now = ast.copy_location(loaded(target.id), target)
            call = self._helper("augmented", s, name, now, self.visit(s.value))
            return place(ast.Assign([target], call), s)
        value = self._lazy(self.visit(s.value), s.value)
        if isinstance(target, ast.Subscript):
            return self._call(
                "augment_item", s, name, self.visit(target.value), self._key(target.slice), value
            )
        assert isinstance(target, ast.Attribute)
        return self._call(
            "augment_attribute",
            s,
            name,
            self.visit(target.value),
            ast.Constant(target.attr),
            value,
        )

    # --- expressions ----------------------------------------------------------------------------

    def visit_BoolOp(self, e: ast.BoolOp) -> ast.AST:
        first, *others = e.values
        if any(map(binds, others)):
            return self.generic_visit(e)
        # What cannot fail may be computed beforehand.
        free = all(map(is_free, others))
        parts = [self._lazy(self.visit(v), v) for v in others]
        binding, value = binds(first), self.visit(first)
        parts[:0] = [self._helper("given", e, value) if binding else self._lazy(value, first)]
        kind = "hold" if getattr(e, "asked", False) else "of"
        name = f"all_{kind}" if isinstance(e.op, ast.And) else f"any_{kind}"
        return self._helper(name, e, ast.Constant(free), *parts)

    def visit_UnaryOp(self, e: ast.UnaryOp) -> ast.AST:
        if isinstance(e.op, ast.Not):
            asks_truth(e.operand)
        operand = self.visit(e.operand)
        if isinstance(e.op, ast.Not):
            return self._helper("not_", e, operand)
        e.operand = operand
        return e

    def visit_Compare(self, e: ast.Compare) -> ast.AST:
        if (len(e.ops) == 1 and not asks_more(e)) or any(map(binds, e.comparators)):
            return self.generic_visit(e)
        first, *others = [self.visit(v) for v in (e.left, *e.comparators)]
        names = self._names(OPERATORS[type(o)] for o in e.ops)
        lazy = [self._lazy(v, old) for v, old in zip(others, e.comparators, strict=True)]
        return self._helper("compared", e, names, first, *lazy)

    def visit_IfExp(self, e: ast.IfExp) -> ast.AST:
        if binds(e.body) or binds(e.orelse):
            return self.generic_visit(e)
        asks_truth(e.test)
        return self._helper(
            "either",
            e,
            self.visit(e.test),
            self._lazy(self.visit(e.body), e.body),
            self._lazy(self.visit(e.orelse), e.orelse),
        )

    def visit_Call(self, e: ast.Call) -> ast.AST:
        if isinstance(e.func, ast.Name) and e.func.id in ("super", *UNTOUCHED):
            if e.func.id == "super" and not e.args and self.first:
                e.args = [place(loaded("__class__"), e), place(loaded(self.first), e)]
            return e
        if (tested := self.tested(e)) is not None:
            return tested
        name = getattr(e.func, "id", getattr(e.func, "attr", ""))
        if name in ("print", "debug_print"):
            e.args = [for_print(a, self._helper) for a in e.args]
        function = self.visit(e.func)
        # A list that a call is given alone has no name under which it could be changed.
        args: list[ast.expr] = [
            self._list(a) if isinstance(a, ast.List) and name != "append" else self.visit(a)
            for a in self.all_of_it(e.func, e.args)
        ]
        made = ast.Call(
            ast.Attribute(loaded(HELPERS), "call", ast.Load()),
            [ast.Constant(e.lineno), ast.Constant(next(self.sites)), function, *args],
            [self.visit(k) for k in e.keywords],
        )
        return place(made, e)

    def visit_Subscript(self, e: ast.Subscript) -> ast.AST:
        if not isinstance(e.ctx, ast.Load):
            return self.generic_visit(e)
        return self._helper("get_item", e, self.visit(e.value), self._key(e.slice))

    def _key(self, key: ast.expr) -> ast.expr:
        if isinstance(key, ast.Slice):
            parts = [
                ast.Constant(None) if p is None else self.visit(p)
                for p in (key.lower, key.upper, key.step)
            ]
            return place(
                ast.Call(ast.Attribute(loaded(HELPERS), "slice", ast.Load()), parts, []), key
            )
        if isinstance(key, ast.Tuple):
            key.elts = [
                place(ast.Starred(self._key(k.value), ast.Load()), k)
                if isinstance(k, ast.Starred)
                else self._key(k)
                for k in key.elts
            ]
            return key
        made: ast.expr = self.visit(key)
        return made

    # --- pieces ---------------------------------------------------------------------------------

    def _lazy(self, value: ast.expr, like: ast.AST) -> ast.expr:
        return place(ast.Lambda(arguments([]), value), like)

    def _helper(self, name: str, like: ast.AST, *args: ast.expr) -> ast.expr:
        line = getattr(like, "lineno", 0)
        function = place(ast.Attribute(loaded(HELPERS), name, ast.Load()), like)
        # Python gives a call of a method the last line of its name.
        function.end_lineno, function.end_col_offset = function.lineno, function.col_offset
        return place(ast.Call(function, [ast.Constant(line), *args], []), like)

    def _call(self, name: str, like: ast.stmt, *args: ast.expr) -> ast.stmt:
        return place(ast.Expr(self._helper(name, like, *args)), like)


__all__ = ["HELPERS", "Unstaged", "rewritten"]
