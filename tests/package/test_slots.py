"""Late-bound slots: names of a module that another module provides, so that a lower room can call a
higher one. There are at most three, all in `ir/upward.py`.

What is found: every name at the top of a module, or attribute of an object there, that another
module assigns, puts something into or calls a method on that changes it. What is left when the
state is taken away, which is named here, are slots.
"""

from __future__ import annotations

import ast
import functools
import pathlib
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
UPWARD = "tracegrad.ir.upward"
MOST = 3

STATE = {
    "codegen.disk.cache.COUNTERS": "what was compiled and loaded",
    "codegen.disk.cache.FOLDER": "where compiled code is kept",
    "tracegrad.autograd.anomaly_mode.ANOMALY": "whether anomalies are looked for",
    "tracegrad.devices.array.IN_USE": "devices that have arrays",
    "tracegrad.ir.dispatch.PROFILES": "the open profiles",
    "tracegrad.ir.dispatch.SPECIAL": "the threads that have something open",
    "tracegrad.ir.dispatch.STATE": "what a thread has open",
    "tracegrad.ops.random.DEFAULT": "the default generator",
    "tracegrad.tape.attempts.ATTEMPTS": "the staged call that a thread is in",
    "tracegrad.tape.engine.RUNNING": "the sweep that a thread is in",
    "tracegrad.tape.mode.MODE": "whether a thread records",
    "tracegrad.tape.saved.SAVING": "the hooks of saved tensors that are open",
    "tracegrad.scale.reports.LOG": "the latest evaluations over shards",
    "tracegrad.sizes.owners.SIZES": "whose sizes a thread asks about",
}
"""What changes while programs run."""
SETS = {
    "tracegrad.staging.functions.PROGRAMS": "functions of the library's that are rewritten as well",
    "tracegrad.tape.modes.MODES": "what is put back after a function of the user's failed",
    "tracegrad.tape.rule_reads.ASK_THE_USER": "operations with rules of the user's",
}
"""What each module adds its own to, and nobody calls."""
LABELS = ("__module__", "__name__", "__qualname__", "__doc__")
CHANGING = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem",
    "remove", "setdefault", "update",
}  # fmt: skip


@functools.cache
def modules() -> dict[str, ast.Module]:
    """All modules by their dotted names."""
    found = {}
    for folder in ("tracegrad", "codegen"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts).removesuffix(".__init__")] = ast.parse(path.read_text("utf-8"))
    return found


@functools.cache
def imported(name: str, tree: ast.Module) -> dict[str, str]:
    """What the names that a module imports stand for, as dotted names."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = any(other.startswith(f"{name}.") for other in modules())
                home = name.split(".")[: name.count(".") + 1 - node.level + package]
                base = ".".join([*home, *([node.module] if node.module else [])])
            base = base.replace("tracegrad._codegen", "codegen")
            found.update({a.asname or a.name: f"{base}.{a.name}" for a in node.names})
        elif isinstance(node, ast.Import):
            found.update({a.asname: a.name for a in node.names if a.asname})
    return found


def owner(target: str) -> str:
    """The name at the top of a module to which an attribute belongs; followed to where it is
    defined, if a package hands it on."""
    parts = target.split(".")
    for k in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:k])
        if module in modules():
            further = imported(module, modules()[module]).get(parts[k])
            if further is not None and further.split(".")[0] in ("tracegrad", "codegen"):
                return owner(".".join([further, *parts[k + 1 :]]))
            return f"{module}.{parts[k]}"
    return ""


def changed(tree: ast.Module) -> Iterator[ast.expr]:
    """What the statements of a module change: targets of assignments, without a final subscript,
    and the objects of methods that change them."""
    for node in ast.walk(tree):
        targets: list[ast.expr] = []
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = list(node.targets)
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        elif isinstance(node, ast.Call):
            f = node.func
            named = f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")
            if named in ("setattr", "__setattr__", "delattr") and node.args:
                yield node.args[0]
            elif isinstance(f, ast.Attribute) and f.attr in CHANGING:
                yield f.value
        while targets:
            target = targets.pop()
            if isinstance(target, (ast.Tuple, ast.List)):
                targets += target.elts
            elif isinstance(target, ast.Starred):
                targets.append(target.value)
            elif isinstance(target, ast.Subscript):
                yield target.value
            elif isinstance(target, ast.Attribute) or isinstance(node, ast.AugAssign):
                yield target


def dotted(expression: ast.expr, names: dict[str, str]) -> str:
    """What an expression of names and attributes stands for; "" for any other."""
    if isinstance(expression, ast.Name):
        return names.get(expression.id, "")
    if isinstance(expression, ast.Attribute):
        base = dotted(expression.value, names)
        return base and f"{base}.{expression.attr}"
    return dotted(expression.value, names) if isinstance(expression, ast.Subscript) else ""


def filled(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Names at the top of modules, with the other modules that change them."""
    found: dict[str, set[str]] = {}
    for name, tree in trees.items():
        names = imported(name, tree)
        for expression in changed(tree):
            target = dotted(expression, names)
            # A module has no methods that change it: `ops.add(x, y)` is a function.
            if target in modules() or target.split(".")[0] not in ("tracegrad", "codegen"):
                continue
            if target.endswith(LABELS):
                continue
            place = owner(target)
            if place and place.rpartition(".")[0] != name:
                found.setdefault(place, set()).add(name)
    return found


def slots(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Those that are no state."""
    return {k: v for k, v in found.items() if k not in STATE and k not in SETS}


@functools.cache
def here() -> dict[str, set[str]]:
    """What is found in the package."""
    return filled(modules())


def test_slots_are_few_and_in_one_file() -> None:
    found = slots(here())
    assert found, "the search finds nothing"
    elsewhere = {k: v for k, v in found.items() if k.rpartition(".")[0] != UPWARD}
    assert not elsewhere, "a name that another module provides: move it down, or its user up"
    assert len(found) <= MOST


def test_a_slot_is_provided_once() -> None:
    assert {k: len(v) for k, v in slots(here()).items() if len(v) != 1} == {}


def test_slots_have_types_and_say_who_provides_them() -> None:
    tree = modules()[UPWARD]
    protocols = {
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
    }
    declared = set()
    for node, following in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            assert ast.unparse(node.annotation) in protocols
            assert isinstance(following, ast.Expr), f"{ast.unparse(node)} says nothing"
            declared.add(f"{UPWARD}.{ast.unparse(node.target)}")
    assert declared == set(slots(here()))


def test_what_is_named_as_state_is_there() -> None:
    assert {*STATE, *SETS} <= set(here())


@pytest.mark.parametrize(
    "text",
    [
        "from tracegrad.types import COUNT\nCOUNT.append(1)",
        "from tracegrad.types import COUNT\nCOUNT[0] = 1",
        "from tracegrad import types\ntypes.COUNT = 1",
        "from ..sizes import Sizes\nSizes.more = len",
        "from ..sizes import Sizes\nsetattr(Sizes, 'more', len)",
        "from ..sizes import Sizes\nobject.__setattr__(Sizes, 'more', len)",
        "from .. import types as t\ndef f():\n    t.COUNT, x = 1, 2",
        "from ..sizes import owners\nowners.Owner = None",
        "from ..devices import DeviceArray\nDeviceArray.run = len",
    ],
)
def test_the_search_finds(text: str) -> None:
    """Every way of putting something into another module's names."""
    assert len(slots(filled({"tracegrad.ir.intruder": ast.parse(text)}))) == 1
