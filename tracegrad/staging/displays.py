"""Lists, dicts and sets that the user writes out, and comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .names import read
from .pieces import arguments, asks_truth, binds, loaded, place

TESTS = ("any", "all")
LISTS = ("append", "extend", "pop", "insert", "remove")
HEAPS = ("heappush", "heappop", "heapify", "heapreplace", "heappushpop")
OF_ALL = ("sum", "list", "tuple", "min", "max")
"""Functions that read all items of what they are given."""
AT_ONCE = (*OF_ALL, "any", "all", "sorted", "set", "frozenset", "dict", "fsum", "prod", "join")
"""These, and others of which only that matters."""


def growing_in(node: ast.AST) -> set[str]:
    """The variables of this function, and of those inside of it, to which something is appended."""
    found = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
            if n.func.attr in LISTS and isinstance(n.func.value, ast.Name):
                found.add(n.func.value.id)
            elif n.func.attr in HEAPS and n.args and isinstance(n.args[0], ast.Name):
                found.add(n.args[0].id)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            if n.func.id in HEAPS and n.args and isinstance(n.args[0], ast.Name):
                found.add(n.args[0].id)
        elif isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name):
            if isinstance(n.value, (ast.List, ast.ListComp)):
                found.add(n.target.id)
    return found


def _called_at_once(function: ast.expr) -> ast.AST:
    """What stays of a function that is called where it is made: of `grad(lambda v: ..)(x)` and
    `(lambda v: ..)(x)` nothing."""
    if isinstance(function, ast.Lambda):
        return function.body
    if isinstance(function, ast.Call):
        inner = [a.body if isinstance(a, ast.Lambda) else a for a in function.args]
        return ast.Tuple([function.func, *inner], ast.Load())
    return function


def _may_read_later(e: ast.AST, names: set[str]) -> bool:
    """Whether an element of a comprehension holds a function or a generator that reads its targets:
    called later, it sees what they are in the end."""
    if isinstance(e, (ast.Lambda, ast.GeneratorExp)):
        return not names.isdisjoint(read(e))
    parts = list(ast.iter_child_nodes(e))
    if isinstance(e, ast.Call):
        called = _called_at_once(e.func)
        name = getattr(e.func, "id", getattr(e.func, "attr", None))
        read_now = name in AT_ONCE and e.args and isinstance(e.args[0], ast.GeneratorExp)
        parts = [called, *(e.args[1:] if read_now else e.args)]
        parts += ast.iter_child_nodes(e.args[0]) if read_now else ()
        parts += [k.value for k in e.keywords if k.arg != "key"]
    return any(_may_read_later(x, names) for x in parts)


def _is_new_list(e: ast.expr) -> bool:
    """Whether an expression makes a list that nobody else knows, if it makes one."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Mult):
        return isinstance(e.left, ast.List) or isinstance(e.right, ast.List)
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name):
        return e.func.id in ("list", "sorted")
    return isinstance(e, (ast.List, ast.ListComp))


class Displays(ast.NodeTransformer):
    """How expressions that make containers are rewritten."""

    growing: set[str]
    sites: Iterator[int]

    def _helper(self, name: str, like: ast.AST, *args: ast.expr) -> ast.expr:
        raise NotImplementedError

    def _made(self, e: ast.expr) -> ast.AST:
        self.generic_visit(e)
        return self._helper("made", e, e)

    def visit_Dict(self, e: ast.Dict) -> ast.AST:
        for value in e.values:
            value.begins = isinstance(value, ast.List)  # type: ignore[attr-defined]
        return self._made(e)

    def visit_Set(self, e: ast.Set) -> ast.AST:
        return self._made(e)

    def visit_ListComp(self, e: ast.ListComp) -> ast.AST:
        return self._collected(e) or self._made(e)

    def tested(self, e: ast.Call) -> ast.expr | None:
        """`any` or `all` of a generator over one iterable."""
        if not (
            isinstance(e.func, ast.Name)
            and e.func.id in TESTS
            and len(e.args) == 1
            and isinstance(e.args[0], ast.GeneratorExp)
            and not e.keywords
        ):
            return None
        function = loaded(e.func.id)
        return self._collected(e.args[0], "tested", ast.Constant(next(self.sites)), function)

    def _collected(
        self, e: ast.ListComp | ast.GeneratorExp, helper: str = "collected", *given_before: ast.expr
    ) -> ast.expr | None:
        """A comprehension over one iterable, which may be a loop of the graph."""
        first = e.generators[0]
        if len(e.generators) > 1 or first.is_async or binds(e):
            return None
        target = first.target
        if isinstance(target, ast.Name):
            names, given = [target.id], None
        elif isinstance(target, ast.Tuple) and all(isinstance(t, ast.Name) for t in target.elts):
            names = [t.id for t in target.elts if isinstance(t, ast.Name)]
            given = "_tg_item"
        else:
            return None
        if _may_read_later(e.elt, set(names)):
            return None
        iterable = self.visit(first.iter)

        def of_item(value: ast.expr) -> ast.expr:
            function: ast.expr = ast.Lambda(arguments(names), self.visit(value))
            if given is not None:
                call = ast.Call(function, [ast.Starred(loaded(given), ast.Load())], [])
                function = ast.Lambda(arguments([given]), call)
            return place(function, e)

        test = first.ifs[0] if len(first.ifs) == 1 else ast.BoolOp(ast.And(), first.ifs)
        asks_truth(test)
        tests = [of_item(place(test, e))] if first.ifs else []
        return self._helper(helper, e, *given_before, iterable, of_item(e.elt), *tests)

    def all_of_it(self, function: ast.expr, args: list[ast.expr]) -> list[ast.expr]:
        """The arguments of a call; a generator whose items are all read anyway is a list."""
        if (
            isinstance(function, ast.Name)
            and function.id in OF_ALL
            and args
            and isinstance(args[0], ast.GeneratorExp)
        ):
            made = self._collected(args[0])
            if made is not None:
                return [made, *args[1:]]
        return args

    def grown(self, targets: list[ast.expr], value: ast.expr) -> ast.expr:
        """The value of an assignment, in which new lists are known by the place."""
        new = _is_new_list(value)
        made = self._grown(targets, value)
        if new and len(targets) == 1 and isinstance(targets[0], (ast.Name, ast.Attribute)):
            name = ast.Constant(ast.unparse(targets[0]))
            return self._helper("list_made", value, ast.Constant(next(self.sites)), name, made)
        return made

    def _grown(self, targets: list[ast.expr], value: ast.expr) -> ast.expr:
        """The value of an assignment, in which lists are known by the variables that loops append
        to."""
        target = targets[0] if len(targets) == 1 else None
        if isinstance(target, ast.Name):
            empty = (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Name)
                and value.func.id == "list"
                and not (value.args or value.keywords)
            ) or (isinstance(value, ast.List) and not value.elts)
            # A list that is empty may be for another function to fill.
            if empty or (_is_new_list(value) and target.id in self.growing):
                items = self._list(value) if isinstance(value, ast.List) else self.visit(value)
                return self._helper("grows", value, ast.Constant(target.id), items)
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                value.elts = [
                    self.grown([t], v) for t, v in zip(target.elts, value.elts, strict=True)
                ]
                return value
        made: ast.expr = self.visit(value)
        return made

    def apart(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """A value of an assignment; of several targets one that has as many items."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return value
        stars = [k for k, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        n = len(target.elts)
        if isinstance(value, ast.Tuple) and not stars:
            return value
        before, after = (stars[0], n - 1 - stars[0]) if stars else (n, -1)
        return self._helper("unpacked", target, value, *map(ast.Constant, (before, after)))

    def visit_DictComp(self, e: ast.DictComp) -> ast.AST:
        return self._made(e)

    def visit_List(self, e: ast.List) -> ast.AST:
        if not isinstance(e.ctx, ast.Load):
            return self._list(e)
        if e.elts and not getattr(e, "begins", False):
            return self._made(e)
        # It may be for others to fill.
        return self._helper("begun", e, ast.Constant(next(self.sites)), self._list(e))

    def _list(self, e: ast.List) -> ast.expr:
        self.generic_visit(e)
        return e


__all__ = ["Displays", "growing_in"]
