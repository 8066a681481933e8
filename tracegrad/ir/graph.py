"""Graphs: typed, immutable, in single-assignment form, and as text, which `parser.py` reads back.
Building one is `trace.py`'s work; running one is `evaluate.py`'s."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._codegen import integers, options
from ..dtypes import INT64, SHORT
from ..sizes import Sizes, seen_shape
from ..types import ArrayType
from .lines import user_line

if TYPE_CHECKING:
    from .op import Op


class Var:
    """One value of a graph. Identity is what counts; the name is for people."""

    __slots__ = ("name", "origin", "trace", "type")

    def __init__(self, type: ArrayType, name: str = "", trace: Any = None) -> None:
        self.type, self.name, self.trace = type, name, trace
        # `trace` is the open Trace that the variable belongs to, None once the graph is finished.
        self.origin: tuple[str, str, str] | None = None
        """Of a finished trace's: its name, the operation (none for an argument) and the user's
        line."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as an ndarray has it."""
        return self.type.dtype

    @property
    def shape(self) -> Any:
        """The sizes of the axes, as an ndarray has them."""
        return seen_shape(self.type.shape)

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            f"{user_line()}: a masked array, or another library, took a traced value apart. "
            "Pass plain arrays: x.filled(value), np.asarray(x)."
        )

    def __repr__(self) -> str:
        return f"{self.name or '_'}: {self.type}"


def adjoint_name(x: Any) -> str:
    """What the derivative of an output by this value is called; nothing where the value has no
    name."""
    return f"d_{x.name}" if type(x) is Var and x.name else ""


class Literal:
    """A scalar constant in an operand position: a weak Python scalar (or symbolic integer), or a
    NumPy scalar with its dtype."""

    __slots__ = ("value",)

    def __init__(self, value: complex | np.generic | integers.Integer) -> None:
        self.value = value

    @property
    def weak(self) -> bool:
        return not isinstance(self.value, np.generic)

    @property
    def type(self) -> ArrayType:
        return ArrayType(
            INT64 if isinstance(self.value, integers.Integer) else np.asarray(self.value).dtype, ()
        )

    def __repr__(self) -> str:
        if isinstance(self.value, np.generic):
            return f"{self.value.dtype.name}({self.value})"
        return repr(self.value)


Atom: TypeAlias = Var | Literal


def alike(a: Atom, b: Atom) -> bool:
    """Whether two operands are the same variable or constant."""
    both = isinstance(a, Literal) and isinstance(b, Literal)
    return a is b or (both and repr(a) == repr(b))


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One application of an operation. `where` is the user's source line, `model.py:12`; `note` a
    comment of a pass."""

    op: Op
    inputs: tuple[Atom, ...]
    params: dict[str, Any]
    outputs: tuple[Var, ...]
    where: str = ""
    note: str = ""

    def replace(
        self,
        inputs: tuple[Atom, ...] | None = None,
        params: dict[str, Any] | None = None,
        outputs: tuple[Var, ...] | None = None,
    ) -> Node:
        """The same application but for these."""
        return Node(
            self.op,
            self.inputs if inputs is None else inputs,
            self.params if params is None else params,
            self.outputs if outputs is None else outputs,
            self.where,
            self.note,
        )

    def again(self, inputs: tuple[Atom, ...]) -> Node:
        """The same for other operands, with results of its own."""
        return self.replace(inputs, outputs=tuple([Var(v.type, v.name) for v in self.outputs]))

    @property
    def effects(self) -> bool:
        """Whether it does something for its own sake, so that it must stay though nothing reads
        it."""
        return self.op.effects or (self.op.variadic and any(g.effects for g in self.subgraphs()))

    def subgraphs(self) -> Iterator[Graph]:
        """The graphs in the parameters: regions, called graphs."""
        for value in self.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Graph):
                    yield part


@dataclass(frozen=True, eq=False)
class Graph:
    """Inputs, nodes in dependency order, outputs. `derived` memoises graphs made from this one
    (adjoint, batched...)."""

    name: str
    inputs: tuple[Var, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Atom, ...]
    sizes: Sizes = field(default_factory=Sizes)
    made_by: str = ""
    options: options.CodeOptions = options.PLAIN
    """How it is compiled, and what is derived from it."""
    derived: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        return tuple(v.type for v in self.inputs)

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        return tuple(v.type for v in self.outputs)

    def replace(self, **changes: Any) -> Graph:
        """A copy with other fields, and nothing memoised."""
        return replace(self, derived={}, **changes)

    @property
    def effects(self) -> bool:
        """Whether one of the nodes does something for its own sake."""
        found = self.derived.get("effects")
        if found is None:
            found = self.derived["effects"] = any(n.effects for n in self.nodes)
        return bool(found)

    def subgraphs(self) -> Iterator[Graph]:
        """The graphs in the nodes' parameters."""
        for node in self.nodes:
            yield from node.subgraphs()

    def __str__(self) -> str:
        return print_graph(self)


# --- as text --------------------------------------------------------------------------------------


def print_graph(graph: Graph, indent: int = 0, stamped: bool = True) -> str:
    """One line per node, `name: type = op(inputs, param=value)  # model.py:12`; sub-graphs first,
    indented, under their own names. `stamped` with the passes that made them."""
    names = assign_names(graph)
    pad = "    " * indent
    inner = pad + "    "
    head = f"{pad}graph {graph.name}({', '.join(f'{names[v]}: {v.type}' for v in graph.inputs)}):"
    lines = [head + (f"  # after {graph.made_by}" if graph.made_by and stamped else "")]
    used: dict[str, int] = {}
    for node in graph.nodes:
        parts = [print_atom(a, names) for a in node.inputs]
        for key, value in node.params.items():
            if isinstance(value, Graph):
                found = [value]
            elif isinstance(value, tuple) and value and isinstance(value[0], Graph):
                found = list(value)
            else:
                found = None
            if found is None:
                parts.append(f"{key}={print_param(value)}")
                continue
            labels = []
            for sub in found:
                used[sub.name] = used.get(sub.name, 0) + 1
                label = sub.name if used[sub.name] == 1 else f"{sub.name}_{used[sub.name]}"
                lines.append(print_graph(sub.replace(name=label), indent + 1, stamped))
                labels.append("@" + label)
            parts.append(
                f"{key}={labels[0] if isinstance(value, Graph) else '(' + ', '.join(labels) + ',)'}"
            )
        left = ", ".join(f"{names[v]}: {v.type}" for v in node.outputs)
        comment = "; ".join(x for x in (node.where, node.note) if x)
        lines.append(
            f"{inner}{left} = {node.op.name}({', '.join(parts)})"
            + (f"  # {comment}" if comment else "")
        )
    lines.append(f"{inner}return {', '.join(print_atom(a, names) for a in graph.outputs)}")
    return "\n".join(lines)


def print_atom(atom: Atom, names: dict[Var, str]) -> str:
    return names[atom] if isinstance(atom, Var) else print_param(atom.value)


def print_param(value: Any) -> str:
    """A parameter or literal: numbers, strings, dtypes, tuples, dicts, integer expressions."""
    if isinstance(value, np.dtype):
        return SHORT[value.name]
    if isinstance(value, np.generic):
        return f"{SHORT[value.dtype.name]}({print_param(value.item())})"
    if isinstance(value, integers.Integer):
        return f"[{value}]"
    if isinstance(value, tuple):
        return (
            "(" + "".join(print_param(v) + ", " for v in value).rstrip(" ") + ")"
            if len(value) == 1
            else f"({', '.join(map(print_param, value))})"
        )
    if isinstance(value, slice):
        return (
            f"slice({print_param(value.start)}, {print_param(value.stop)}, "
            f"{print_param(value.step)})"
        )
    if isinstance(value, complex):
        return f"complex({value.real!r}, {value.imag!r})"
    return repr(value)


def assign_names(graph: Graph) -> dict[Var, str]:
    """A name for every variable: the user's for inputs where they are free, `t0`, `t1`, ... for the
    rest."""
    names: dict[Var, str] = {}
    taken: set[str] = set()

    def give(var: Var, wanted: str) -> None:
        name, k = wanted, 1
        while name in taken:
            k += 1
            name = f"{wanted}_{k}"
        taken.add(name)
        names[var] = name

    for k, var in enumerate(graph.inputs):
        give(var, var.name or f"c{k}")
    count = 0
    for node in graph.nodes:
        for var in node.outputs:
            if var.name:
                give(var, var.name)
            else:
                while f"t{count}" in taken:
                    count += 1
                give(var, f"t{count}")
                count += 1
    return names
