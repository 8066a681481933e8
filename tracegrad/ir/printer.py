"""Graphs as Python-looking text, which `parser.py` reads back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._codegen import integers
from ..dtypes import SHORT
from .graph import Atom, Graph, Literal, Var


def print_graph(graph: Graph, indent: int = 0) -> str:
    """One line per node, `name: type = op(inputs, param=value)  # model.py:12`; sub-graphs first,
    indented, under their own names."""
    names = assign_names(graph)
    pad = "    " * indent
    inner = pad + "    "
    head = f"{pad}graph {graph.name}({', '.join(f'{names[v]}: {v.type}' for v in graph.inputs)}):"
    lines = [head + (f"  # after {graph.made_by}" if graph.made_by else "")]
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
                lines.append(print_graph(sub.replace(name=label), indent + 1))
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


__all__ = ["Literal", "assign_names", "print_graph"]
