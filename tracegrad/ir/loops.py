"""Loops as nodes, taken apart: constants, carries, slices, results and the number of a step by
name.

A node holds them in flat lists. Their order is written down here and nowhere else:

                scan                                            while_loop
    operands    constants, first carries, stacked slices        constants, first carries
    body takes  constants, carries, the step's number, slices   constants, carries
    body gives  next carries, results                           next carries
    test                                                        takes constants, carries
    results     last carries, stacked results                   last carries, the number of steps
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Any, NamedTuple, TypeVar

from .._codegen import lowering
from .graph import Atom, Graph, Node, Var

T = TypeVar("T")


class Constant(NamedTuple):
    """What every step reads."""

    given: Atom
    """The operand."""
    inside: Var
    """The same in the body."""
    asked: Var | None = None
    """The same in the test."""


class Carry(NamedTuple):
    """What a step hands to the next."""

    first: Atom
    inside: Var
    next: Atom
    """What the body makes of it."""
    last: Var
    asked: Var | None = None
    """The same in the test."""


class Slice(NamedTuple):
    """An array of which each step reads one slice."""

    stacked: Atom
    inside: Var


class Result(NamedTuple):
    """What each step gives for itself, and all of that."""

    inside: Atom
    stacked: Var


class Parts(NamedTuple):
    """Values that go with the operands of a loop one by one."""

    constants: Sequence[Any]
    carries: Sequence[Any]
    xs: Sequence[Any]


def parts(values: Sequence[Any], constants: int, carries: int) -> Parts:
    """A flat list in the order of a loop's operands by name."""
    return Parts(
        values[:constants], values[constants : constants + carries], values[constants + carries :]
    )


@dataclass(frozen=True)
class Loop:
    """A `scan` or a `while_loop` by its parts; `node` puts them together again."""

    origin: Node
    """What else is known of it: the operation, its other parameters, the user's line."""
    constants: tuple[Constant, ...]
    carries: tuple[Carry, ...]
    slices: tuple[Slice, ...]
    results: tuple[Result, ...]
    number: Var | None
    """Which step it is, as the body of a `scan` knows it."""
    count: Var | None
    """How many steps a `while_loop` has made."""
    body: Graph
    """Its nodes count; what it takes and gives is said above."""
    test: Graph | None
    """The same for the condition of a `while_loop`, which takes what is `asked` above."""

    @classmethod
    def of(cls, node: Node) -> Loop:
        """The parts of a node that is a loop; of a `taped` one those of its `while_loop`, to read
        only."""
        body: Graph = node.params["body"]
        test: Graph | None = node.params.get("test")
        n = node.params["constants"]
        c = node.params.get("carries", len(node.inputs) - n)
        asked: Sequence[Var | None] = test.inputs if test is not None else [None] * (n + c)
        carries = zip(
            node.inputs[n : n + c],
            body.inputs[n : n + c],
            body.outputs[:c],
            node.outputs[:c],
            asked[n:],
            strict=True,
        )
        return cls(
            node,
            tuple(map(Constant, node.inputs[:n], body.inputs[:n], asked[:n])),
            tuple([Carry(*found) for found in carries]),
            ()
            if test is not None
            else tuple(map(Slice, node.inputs[n + c :], body.inputs[n + c + 1 :])),
            () if test is not None else tuple(map(Result, body.outputs[c:], node.outputs[c:])),
            body.inputs[n + c] if len(body.inputs) > n + c else None,
            node.outputs[c] if test is not None else None,
            body,
            test,
        )

    def replace(self, **changes: Any) -> Loop:
        """The loop with other parts."""
        return replaced(self, **changes)

    def param(self, name: str) -> Any:
        """Another parameter of the operation, such as `length` and `reverse`; None where it has
        none of that name."""
        return self.origin.params.get(name)

    def node(self) -> Node:
        """The node of these parts. Graphs that are as they were stay the same objects, which is how
        equal loops are found."""
        o = self.origin
        numbered = [self.number] if self.number is not None else []
        params = {
            **o.params,
            "body": _graph(
                self.body,
                [
                    *[c.inside for c in self.constants],
                    *[c.inside for c in self.carries],
                    *numbered,
                    *[s.inside for s in self.slices],
                ],
                [*[c.next for c in self.carries], *[r.inside for r in self.results]],
            ),
            "constants": len(self.constants),
        }
        if self.test is None:
            params["carries"] = len(self.carries)
        else:
            params["test"] = _graph(
                self.test,
                [*[c.asked for c in self.constants], *[c.asked for c in self.carries]],
                self.test.outputs,
            )
        operands = [
            *[c.given for c in self.constants],
            *[c.first for c in self.carries],
            *[s.stacked for s in self.slices],
        ]
        last = [self.count] if self.count is not None else []
        outputs = (*[c.last for c in self.carries], *[r.stacked for r in self.results], *last)
        return o.replace(inputs=tuple(operands), params=params, outputs=outputs)


def _graph(graph: Graph, inputs: Sequence[Any], outputs: Sequence[Atom]) -> Graph:
    same = len(inputs) == len(graph.inputs) and len(outputs) == len(graph.outputs)
    if same and all(
        a is b for a, b in zip((*inputs, *outputs), (*graph.inputs, *graph.outputs), strict=True)
    ):
        return graph
    return graph.replace(inputs=tuple(inputs), outputs=tuple(outputs))


def is_loop(node: Node) -> bool:
    """Whether a node is a `scan` or a `while_loop`."""
    return node.op.lowering is lowering.SCAN or node.op.lowering is lowering.WHILE


def parted(items: Iterable[T], wanted: Callable[[T], bool]) -> tuple[tuple[T, ...], tuple[T, ...]]:
    """The items for which that holds, and the others."""
    yes: list[T] = []
    no: list[T] = []
    for item in items:
        (yes if wanted(item) else no).append(item)
    return tuple(yes), tuple(no)


__all__ = ["Carry", "Constant", "Loop", "Parts", "Result", "Slice", "is_loop", "parted", "parts"]
