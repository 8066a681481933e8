"""Functions of the user's, and what is called in their place: the same names and variables, with
statements that look whether anything traced takes part."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import types
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..dtypes import module_of
from ..ir.lines import FOREIGN, INSTALLED
from .rewrite import HELPERS, Unstaged, rewritten
from .source import definition_of

ORIGINAL: dict[CodeType, CodeType] = {}
"""The user's code, by what stands in its place."""
MADE = ORIGINAL.keys()
PROGRAMS: set[CodeType] = set()
"""The code of the library's own functions that are rewritten as the user's are."""


class Version:
    """The rewritten code of a function, or why there is none."""

    def __init__(self, code: CodeType, rests: frozenset[tuple[int, int]]) -> None:
        self.original, self.reason = code, ""
        self.code: CodeType | None = None
        self.text = ""
        self.source = ""
        self.loops: list[tuple[int, int]] = []
        self.repeated: list[tuple[int, int]] = []
        self.compound: list[tuple[int, int]] = []
        self.statements: list[int] = []
        found = definition_of(code)
        if found is None:
            self.reason = "its source is not to be had (a REPL, exec, a changed file)"
            return
        self.loops = [
            (n.lineno, n.end_lineno or n.lineno)
            for n in ast.walk(found.node)
            if isinstance(n, (ast.For, ast.ListComp, ast.GeneratorExp))
        ]
        self.repeated = [
            *self.loops,
            *[
                (n.lineno, n.end_lineno or n.lineno)
                for n in ast.walk(found.node)
                if isinstance(n, ast.While)
            ],
        ]
        self.compound = [
            (n.lineno, n.end_lineno or n.lineno)
            for n in ast.walk(found.node)
            if isinstance(n, (ast.For, ast.While, ast.If, ast.With, ast.Try))
        ]
        self.statements = sorted(
            n.lineno for n in ast.walk(found.node) if isinstance(n, (ast.For, ast.While))
        )
        self.source = "".join(found.lines[found.node.lineno - 1 : found.node.end_lineno])
        try:
            tree = rewritten(found, rests)
        except Unstaged as error:
            self.reason = str(error)
            return
        self.text = ast.unparse(tree)
        self.code = _compiled(tree, code)

    def around(self, line: int) -> int | None:
        """Where the innermost statement begins that has a line in its body; None where that is the
        function's."""
        return max((a for a, b in self.compound if a < line <= b), default=None)

    def begins(self, line: int) -> bool:
        """Whether a statement with a body begins at a line."""
        return any(first == line for first, _ in self.compound)

    def loops_at(self, line: int) -> bool:
        """Whether a line of the user's file stands in a loop."""
        return any(first <= line <= last for first, last in self.repeated)


def _compiled(tree: ast.AST, code: CodeType) -> CodeType:
    free = [n for n in code.co_freevars if n != HELPERS]
    around = ast.arguments(
        posonlyargs=[], args=[ast.arg(n) for n in (HELPERS, *free)], kwonlyargs=[], kw_defaults=[],
        defaults=[], vararg=None, kwarg=None,
    )  # fmt: skip
    body: list[Any] = [ast.Return(tree)] if isinstance(tree, ast.Lambda) else [tree, ast.Pass()]
    # Defaults belong to the function object.
    a = tree.args  # type: ignore[attr-defined]
    a.defaults, a.kw_defaults = [], [None] * len(a.kwonlyargs)
    for arg in ast.walk(a):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    if isinstance(tree, ast.FunctionDef):
        tree.returns = None
    # Under a name of its own: the user's may be a variable of the module.
    if isinstance(tree, ast.FunctionDef):
        tree.name = "_tg_function"
    factory = ast.FunctionDef("_tg_factory", around, body, [])
    module = ast.Module([ast.fix_missing_locations(ast.copy_location(factory, tree))], [])
    flags = code.co_flags & _FUTURE
    whole = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    outer = next(c for c in whole.co_consts if isinstance(c, CodeType))
    names = ("_tg_function", "<lambda>")
    inner = next(c for c in outer.co_consts if isinstance(c, CodeType) and c.co_name in names)
    return _named(inner, code)


_FUTURE = 0x1000000  # annotations


def _named(inner: CodeType, like: CodeType) -> CodeType:
    """The code under the user's name, and what is inside of it."""

    def renamed(code: CodeType, name: str, qualified: str) -> CodeType:
        constants = tuple(
            renamed(c, name, qualified)
            if isinstance(c, CodeType) and c.co_name.startswith("_tg_")
            else renamed(c, c.co_name, f"{qualified}.<locals>.{c.co_name}")
            if isinstance(c, CodeType)
            else c
            for c in code.co_consts
        )
        made = code.replace(co_name=name, co_qualname=qualified, co_consts=constants)
        ORIGINAL[made] = like
        return made

    return renamed(inner, like.co_name, like.co_qualname)


def lines_of(error: BaseException) -> list[tuple[CodeType, int]]:
    """The lines of the user's that were running, the innermost first."""
    tb, lines = error.__traceback__, []
    while tb is not None:
        code = ORIGINAL.get(tb.tb_frame.f_code)
        if code is not None:
            lines.append((code, tb.tb_lineno))
        tb = tb.tb_next
    return lines[::-1]


def version_of(code: CodeType, rests: frozenset[tuple[int, int]] = frozenset()) -> Version:
    """The rewritten code, made once; from the statements at the lines `rests` on a block is a
    function of its own."""
    return _version(code, rests)


_version = functools.lru_cache(1024)(Version)


def is_users(code: CodeType, home: str = "") -> bool:
    """Whether the user wrote this code, as far as its file tells: it is not installed, or lies at
    home."""
    name = code.co_filename
    return not name.startswith(INSTALLED) or bool(home and name.startswith(home))


def home_of(callable_: Any) -> str:
    """Where an installed package lies whose function was given to be differentiated or compiled:
    then that is the user's program. Nothing of others."""
    first = users_function(callable_)
    name = "" if first is None else first.__code__.co_filename
    folder = next((f for f in INSTALLED if f not in FOREIGN and name.startswith(f)), "")
    for part in ("site-packages", "dist-packages"):
        if os.sep + part + os.sep in name:
            folder = name.partition(os.sep + part + os.sep)[0] + os.sep + part + os.sep
            return folder + name[len(folder) :].partition(os.sep)[0]
    return name if folder else ""


def users_function(callable_: Any) -> types.FunctionType | None:
    """The user's function behind what transforms of ours made of it."""
    first = function_of(callable_)
    while first is not None and first.__code__.co_filename.startswith(FOREIGN):
        first = function_of(getattr(first, "__wrapped__", None))
    return first


def function_of(callable_: Any) -> types.FunctionType | None:
    """The Python function that a callable runs first: behind decorators of Numba, `functools`, and
    methods."""
    f = callable_
    for _ in range(16):
        if isinstance(f, types.FunctionType):
            return f
        if isinstance(f, types.MethodType):
            f = f.__func__
        elif isinstance(f, functools.partial):
            f = f.func
        elif is_dispatcher(f):
            f = f.py_func
        elif hasattr(type(f), "__wrapped__") or not isinstance(f, type):
            f = getattr(f, "__wrapped__", None)
        else:
            return None
        if f is None:
            return None
    return None


def printing(callable_: Any) -> list[CodeType]:
    """The code of the user's functions that a function leads to by the names in it, if one of them
    prints: as they are they would do that while they are traced."""
    seen: dict[CodeType, None] = {}
    stack: list[Any] = [callable_]
    while stack and len(seen) < 64:
        f = function_of(stack.pop())
        if f is None or f.__code__ in seen:
            continue
        code = f.__code__
        seen[code] = None
        stack += [v for c in f.__closure__ or () if callable(v := _content(c))]
        stack += [getattr(f, "__wrapped__", None)]
        if is_users(code):
            stack += [v for n in _names(code) if callable(v := f.__globals__.get(n))]
    users = [c for c in seen if is_users(c)]
    if not any("print" in _names(c) for c in users):
        return []
    return [c for c in users if version_of(c).code is not None]


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


@functools.lru_cache(1024)
def _names(code: CodeType) -> frozenset[str]:
    """The names of globals and attributes in a function, and in those inside of it."""
    inner = [_names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return frozenset(code.co_names).union(*inner)


def is_dispatcher(f: Any) -> bool:
    """Whether it is a function compiled by Numba."""
    return module_of(type(f)).partition(".")[0] == "numba" and isinstance(
        getattr(f, "py_func", None), types.FunctionType
    )


def in_place_of(callable_: Any, make: Callable[[types.FunctionType], Any]) -> Any:
    """The callable with the function that it runs replaced by what `make` gives for it."""
    if isinstance(callable_, types.FunctionType):
        return make(callable_)
    if isinstance(callable_, types.MethodType):
        inner = in_place_of(callable_.__func__, make)
        return (
            callable_
            if inner is callable_.__func__
            else types.MethodType(inner, callable_.__self__)
        )
    if isinstance(callable_, functools.partial):
        inner = in_place_of(callable_.func, make)
        return (
            callable_
            if inner is callable_.func
            else functools.partial(inner, *callable_.args, **callable_.keywords)
        )
    if is_dispatcher(callable_):
        return make(callable_.py_func)
    method: Any = inspect.getattr_static(type(callable_), "__call__", None)
    if isinstance(method, types.FunctionType):
        inner = make(method)
        return callable_ if inner is method else types.MethodType(inner, callable_)
    return callable_


def made_of(function: types.FunctionType, version: Version, helpers: Any) -> types.FunctionType:
    """The function with the rewritten code: its globals, defaults and variables are the same
    objects."""
    assert version.code is not None
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HELPERS] = types.CellType(helpers)
    made = types.FunctionType(
        version.code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[n] for n in version.code.co_freevars),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__dict__.update(function.__dict__)
    made.__wrapped__ = function  # type: ignore[attr-defined]
    return made


__all__ = [
    "MADE", "ORIGINAL", "PROGRAMS", "Version", "function_of", "home_of", "in_place_of",
    "is_dispatcher", "is_users", "lines_of", "made_of", "printing", "version_of",
]  # fmt: skip
