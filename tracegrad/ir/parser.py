"""Printed graphs read back: text -> Graph."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

from .._codegen import integers, syntax
from ..dtypes import LONG
from ..errors import ParseError
from ..types import ArrayType
from .graph import Atom, Graph, Literal, Node, Var
from .op import Op

_HEAD = re.compile(r"^graph ([\w.<>]+)\((.*)\):(?:\s+# after (.*))?$")


def parse_graph(text: str, ops: dict[str, Op]) -> Graph:
    """The graph that `print_graph` printed. `ops` maps names to operations.

    Raises ParseError with the number of the line that is not understood.
    """
    lines = [(k + 1, line) for k, line in enumerate(text.splitlines()) if line.strip()]
    graph, rest = _parse(lines, 0, ops)
    if rest != len(lines):
        raise ParseError(f"line {lines[rest][0]}: text after the end of the graph")
    return graph


def _parse(lines: list[tuple[int, str]], at: int, ops: dict[str, Op]) -> tuple[Graph, int]:
    number, line = lines[at]
    indent = len(line) - len(line.lstrip())
    head = _HEAD.match(line.strip())
    if head is None:
        raise ParseError(f"line {number}: expected `graph name(inputs):`, got {line.strip()!r}")
    names: dict[str, Var] = {}

    def declare(text: str) -> list[Var]:
        made = []
        for name, kind in re.findall(r"(\w+): (\w+\[[^\]]*\]~?)", text):
            names[name] = Var(_type(kind), "" if re.fullmatch(r"[tc]\d+", name) else name)
            made.append(names[name])
        return made

    inputs = tuple(declare(head[2]))
    nodes: list[Node] = []
    graphs: dict[str, Graph] = {}
    at += 1
    while at < len(lines):
        number, line = lines[at]
        body = line.strip()
        try:
            if body.startswith("graph "):
                sub, at = _parse(lines, at, ops)
                graphs[sub.name] = sub
                continue
            if body.startswith("return"):
                if len(line) - len(line.lstrip()) != indent + 4:
                    raise ParseError("wrong indentation")
                outputs = _call_arguments(f"f({body[6:].strip()})", names, graphs)[0]
                return Graph(
                    head[1], inputs, tuple(nodes), tuple(outputs), made_by=head[3] or ""
                ), at + 1
            code, _, comment = body.partition("  # ")
            left, right = code.split(" = ", 1)
            operands, params, name = _call_arguments(right, names, graphs)
            nodes.append(Node(ops[name], tuple(operands), params, tuple(declare(left)), comment))
        except (KeyError, ValueError, SyntaxError, AttributeError) as error:
            raise ParseError(f"line {number}: cannot read {body!r} ({error})") from error
        at += 1
    raise ParseError(f"graph {head[1]} has no return line")


def _type(text: str) -> ArrayType:
    dtype, _, sizes = text.rstrip("]~").partition("[")
    shape = tuple(
        _integer(syntax.parse(s.strip(), mode="eval").body) for s in _split(sizes) if s.strip()
    )
    return ArrayType(np.dtype(LONG[dtype]), shape, text.endswith("~"))


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:k])
            start = k + 1
    return [*parts, text[start:]]


def _integer(tree: ast.expr) -> Any:
    match tree:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return integers.symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_integer(operand)
        case ast.BinOp(left=left, op=op, right=right):
            table: Any = {
                ast.Add: integers.add,
                ast.Sub: lambda a, b: a - b,
                ast.Mult: integers.mul,
                ast.FloorDiv: integers.floordiv,
                ast.Mod: integers.mod,
            }
            return table[type(op)](_integer(left), _integer(right))
        case ast.Call(func=ast.Name(id="int"), args=[ast.BinOp(left=value, op=ast.Pow())]):
            return integers.root(_integer(value))
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            return {"min": integers.minimum, "max": integers.maximum}[name](
                _integer(left), _integer(right)
            )
    raise ValueError(f"no integer expression: {ast.unparse(tree)}")


def _call_arguments(
    text: str, names: dict[str, Var], graphs: dict[str, Graph]
) -> tuple[list[Atom], dict[str, Any], str]:
    # Names of functions need not be Python's: `<lambda>`.
    call = syntax.parse(re.sub(r"(?<=[=(\s])@([\w.<>]+)", r'graph("\1")', text), mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError("expected op(...)")
    operands: list[Atom] = [
        names[a.id] if isinstance(a, ast.Name) and a.id in names else Literal(_value(a, graphs))
        for a in call.args
    ]
    return operands, {str(k.arg): _value(k.value, graphs) for k in call.keywords}, call.func.id


def _value(tree: ast.expr, graphs: dict[str, Graph]) -> Any:
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Name(id="inf"):
            return float("inf")
        case ast.Name(id="nan"):
            return float("nan")
        case ast.Call(func=ast.Name(id="graph"), args=[ast.Constant(value=str(name))]):
            return graphs[name]
        case ast.Name(id=name):
            return np.dtype(LONG[name])
        case ast.Tuple(elts=elements):
            return tuple(_value(e, graphs) for e in elements)
        case ast.List(elts=[element]):
            return _integer(element)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, graphs)
        case ast.Call(func=ast.Name(id="slice"), args=args):
            return slice(*[_value(a, graphs) for a in args])
        case ast.Call(func=ast.Name(id="complex"), args=[a, b]):
            return complex(_value(a, graphs), _value(b, graphs))
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return np.dtype(LONG[name]).type(_value(argument, graphs))
    raise ValueError(f"no value: {ast.unparse(tree)}")
