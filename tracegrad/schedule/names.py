"""Names of the generated function's variables (the user's where they are free, never one that the
code calls), and its comments."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from .._codegen import lowering
from ..ir.graph import Graph, Node, Var, assign_names
from ..ops.arrays.shape import reshape_op

_RESERVED = (
    "np",
    "index",
    "signed",
    "view",
    "grown",
    "acc",
    "maximum",
    "minimum",
    "greatest",
    "least",
    "arena",
    "status",
    "phase",
    "lo",
    "hi",
    "first",
    "last",
)
_LOOPS = ("i", "j", "k", "l", "m", "n")


LONGEST = 40
"""Names of more letters are cut."""


class Names:
    def __init__(self, graph: Graph, code: Iterable[str], sizes: Iterable[str]) -> None:
        self.known: dict[Var, str] = {}
        self.read(graph)
        others = {*sizes, *self.known.values()}
        self.loops = [x for x in (*_LOOPS, *[f"i{k}" for k in range(2, 40)]) if x not in others]
        words = {
            w for text in code for w in re.findall(r"[A-Za-z_]\w*", re.sub(r"\{\w+\}", "", text))
        }
        self.taken = {*keyword.kwlist, *dir(builtins), *_RESERVED, *words, *sizes, *self.loops}
        self.count: dict[str, int] = {}

    def read(self, graph: Graph) -> None:
        """Learn the names of a graph's variables, as they are printed."""
        names = assign_names(graph)
        for node in reversed(graph.nodes):
            # What is stored is the value; other shapes of it are views.
            if node.op is reshape_op and node.outputs[0].name:
                (source,) = node.inputs
                if isinstance(source, Var) and not source.name:
                    names[source] = names[node.outputs[0]]
        self.known.update((v, name[:LONGEST]) for v, name in names.items())
        for sub in graph.subgraphs():
            self.read(sub)

    def of(self, var: Var) -> str:
        return self.known.get(var) or var.name or "t"

    def fresh(self, hint: str) -> str:
        """A name like `hint` that nothing else has."""
        base = re.sub(r"\W", "_", ascii_of(hint), flags=re.ASCII) or "t"
        # The printer's own names for checks of indices begin with "farthest".
        base = "_" + base if base[0].isdigit() or base.startswith("farthest") else base
        name = base
        while name in self.taken:
            self.count[base] = self.count.get(base, 0) + 1
            name = f"{base}_{self.count[base]}"
        self.taken.add(name)
        return name

    def loop(self, hint: str, active: Sequence[str]) -> str:
        """A loop index that no open loop has."""
        return next(x for x in ([hint, *self.loops] if hint else self.loops) if x not in active)


def ascii_of(name: str) -> str:
    """A name in ASCII: letters without accents, Greek ones written out."""
    if name.isascii():
        return name
    letters = [
        c if c.isascii() else unicodedata.name(c, "").rpartition(" ")[2].lower()
        for c in unicodedata.normalize("NFKD", name)
        if not unicodedata.combining(c)
    ]
    return "".join(letters)


def templates(graph: Graph) -> Iterator[str]:
    """All code templates of a graph and its sub-graphs."""
    for node in graph.nodes:
        rule = node.op.lowering
        if isinstance(rule, lowering.Pointwise):
            yield rule.template(node.params, [a.type.dtype for a in node.inputs])
        elif isinstance(rule, (lowering.Library, lowering.Kernel)):
            name = rule.call(
                [a.type for a in node.inputs], [v.type for v in node.outputs], node.params
            )[0]
            yield from (name, f"{name}_scaled")
    for sub in graph.subgraphs():
        yield from templates(sub)


def comment_of(node: Node) -> str:
    return ", ".join(x for x in (node.op.name, node.where, node.note) if x)


def place_of(node: Node) -> str:
    return f" ({node.where})" if node.where else ""
