"""What torch's users call nodes and what nodes have saved: `MulBackward0`, `_saved_self`.

Both follow from the operation; tables hold the words that torch says differently. They are a
dictionary, from our words to torch's, hence by name: some of the operations are defined above this
module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from ..ir import upward
from ..ir.dispatch import Value
from ..ir.op import Op
from ..ops import OPS
from ..ops.arrays.shape import reshape_op
from ..ops.elementwise.powers import pow_op
from ..ops.matrices.products import matmul_op
from .hooks import boxed
from .saved import FREED, Packed, packed, unpack, unpack_result

TITLES = {
    "reshape": "View",
    "transpose": "Permute",
    "broadcast_to": "Expand",
    "concatenate": "Cat",
    "convert": "ToCopy",
    "square": "Pow",
    "integer_pow": "Pow",
    "inverse_pow": "Pow",
    "pow_below": "Pow",
    "strong_mul": "Mul",
    "identity": "Alias",
    "log1p": "Log1P",
    "mod": "Remainder",
    "gather": "Index",
    "clip_min": "Clamp",
    "clip_max": "Clamp",
    "solve": "LinalgSolveEx",
    "triangular_solve": "LinalgSolveTriangular",
    "inv": "LinalgInvEx",
    "pinv": "LinalgPinv",
    "cholesky": "LinalgCholeskyEx",
    "det": "LinalgDet",
    "slogdet": "LinalgSlogdet",
    "eigh": "LinalgEigh",
    "eigh_strict": "LinalgEigh",
    "eigvalsh": "LinalgEigh",
    "svd": "LinalgSvd",
    "svd_strict": "LinalgSvd",
    "svdvals": "LinalgSvd",
    "qr": "LinalgQr",
}
"""Operations that are called differently here."""
ON_STACKS = frozenset(
    ("solve", "triangular_solve", "inv", "pinv", "cholesky", "det", "slogdet", "eigh", "eigvalsh",
     "eigh_strict", "svd", "svd_strict", "svdvals", "qr")
)  # fmt: skip
"""Operations on stacks of matrices."""
PRODUCTS = ("Dot", "Mv", "Mm", "Bmm")
"""Products by the number of axes of their results."""


@cache
def title_of(name: str) -> str:
    """`Mul` is made of `mul`: the words of an operation's name, capitalised."""
    return TITLES.get(name) or "".join(word.capitalize() for word in name.split("_"))


def name_of_node(node: Any) -> str:
    """The name of a node after its operation; the number tells which of several forms of the
    operation it was, as torch counts them."""
    op: Op = node.op
    if op is matmul_op:
        return f"{PRODUCTS[min(len(node.shape), 3)]}Backward0"
    if op is reshape_op:
        # What computes on stacks of matrices got a stack of one.
        producer, nr = node.edges[0]
        inner: Op | None = getattr(producer, "op", None)
        if (
            inner is not None
            and inner.name in ON_STACKS
            and (producer._types[nr] if producer._types else producer).shape[0] == 1
        ):
            return str(producer.name())
    number = OVERLOADS.get(op.name)
    return f"{title_of(op.name)}Backward{number(node) if number is not None else 0}"


def _of_axes(node: Any) -> int:
    """0 for a reduction over all axes, 1 over some."""
    return int(len(node.params["axes"]) != len(_shape(node)))


OVERLOADS: dict[str, Callable[[Any], int]] = {
    "sum": _of_axes,
    "prod": _of_axes,
    "max": lambda node: 1 - _of_axes(node),
    "min": lambda node: 1 - _of_axes(node),
    # A number as base, an exponent that has a gradient, or a number as exponent.
    "pow": lambda node: 2 if node.edges[0] is None else 1 if node.edges[1] is not None else 0,
    "clip_min": lambda node: 1 if node.edges[1] is None else 0,
    "clip_max": lambda node: 1 if node.edges[1] is None else 0,
    "mod": lambda node: 0 if node.edges[1] is None else 1,
    "fmod": lambda node: 0 if node.edges[1] is None else 1,
}

# --- what was saved -------------------------------------------------------------------------------

INPUTS = {
    "pow": ("self", "exponent"),
    "pow_below": ("self", "exponent"),
    "where": ("condition", "self", "other"),
    "matmul": ("self", "mat2"),
    "mv": ("self", "vec"),
    "dot": ("self", "tensor"),
    "clip_min": ("self", "min"),
    "clip_max": ("self", "max"),
    "gather": ("self", "indices"),
    "det": ("A",),
    "slogdet": ("A",),
    "adjugate": ("A",),
    "solve": ("A", "B"),
    "triangular_solve": ("A", "B"),
    "concatenate": ("tensors",),
}
"""The words for inputs where they are not `self`, `other` and those of the operation."""
RESULTS = {
    "inv": ("inverse",),
    "cholesky": ("L",),
    "qr": ("Q", "R"),
    "eigh": ("eigenvalues", "eigenvectors"),
    "eigvalsh": ("eigenvalues",),
    "svd": ("U", "S", "Vh"),
    "svdvals": ("S",),
    "slogdet": ("sign", "logabsdet"),
}
"""The words for results where they are not `result`."""


SIZED = dict.fromkeys(
    ("sum", "mean", "reshape", "broadcast_to", "slice", "select", "gather", "diagonal", "pieces"),
    True,
)
"""Operations whose nodes tell the sizes of their input."""


def _shape(node: Any) -> tuple[Any, ...]:
    """The shape of a node's first input that has a gradient."""
    producer, nr = next(e for e in node.edges if e is not None)
    return tuple((producer if producer._types is None else producer._types[nr]).shape)


def input_words(op: Op) -> tuple[str, ...]:
    """What torch calls the inputs."""
    known = INPUTS.get(op.name)
    if known is not None:
        return known
    first = ("self",) if not op.variadic else (op.inputs[0],)
    return (*first, *["other" if n in ("x", "y") else n for n in op.inputs[1:]])[: len(op.inputs)]


def result_words(op: Op) -> tuple[str, ...]:
    """What torch calls the results."""
    return RESULTS.get(op.name) or (
        ("result",) if op.outputs == 1 else tuple(f"result{k}" for k in range(op.outputs))
    )


def _of_reduction(node: Any) -> dict[str, Any]:
    axes = node.params["axes"]
    return {"dim": axes, "keepdim": False} if len(axes) < len(_shape(node)) else {}


def _of_slice(node: Any) -> dict[str, Any]:
    """Where it cuts along one axis, as torch has it."""
    start, size, step, shape = (*[node.params[k] for k in ("start", "size", "step")], _shape(node))
    cut = [k for k, n in enumerate(size) if (start[k], n, step[k]) != (0, shape[k], 1)]
    if len(cut) != 1:
        return {}
    (k,) = cut
    return {
        "dim": k,
        "start": start[k],
        "end": start[k] + (size[k] - 1) * step[k] + 1 if size[k] else start[k],
        "step": step[k],
    }


def _of_select(node: Any) -> dict[str, Any]:
    found = _of_slice(node)
    shape = _shape(node)
    dropped = [
        k
        for k in range(len(shape))
        if node.params["size"][k] == 1 and (*shape[:k], *shape[k + 1 :]) == tuple(node.shape)
    ]
    if len(dropped) != 1 or (found and found["dim"] != dropped[0]):
        return {}
    return {"dim": dropped[0], "index": node.params["start"][dropped[0]]}


CONSTANTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    **dict.fromkeys(("sum", "prod", "mean", "max", "min"), _of_reduction),
    **dict.fromkeys(
        ("cumsum", "cumprod", "concatenate", "pieces"), lambda node: {"dim": node.params["axis"]}
    ),
    "transpose": lambda node: {"dims": node.params["axes"]},
    "square": lambda node: {"exponent": 2},
    "integer_pow": lambda node: {"exponent": node.params["n"]},
    "inverse_pow": lambda node: {"exponent": -node.params["n"]},
    "slice": _of_slice,
    "select": _of_select,
    "diagonal": lambda node: {
        "offset": node.params["offset"],
        "dim1": node.params["dims"][0],
        "dim2": node.params["dims"][1],
    },
}
"""What nodes know besides tensors."""


def constants(node: Any) -> dict[str, Any]:
    """What a node knows besides tensors, by torch's words."""
    of = CONSTANTS.get(node.op.name)
    found = {} if of is None else of(node)
    return {**found, "self_sym_sizes": _shape(node)} if SIZED.get(node.op.name) else found


@cache
def readable(op: Op) -> frozenset[str]:
    """The words for inputs that a node of this operation can have saved, depending on whose
    gradients were wanted."""
    if callable(op.vjp) or op.vjp is None:
        known = [
            word
            for word, n in zip(input_words(op), op.inputs, strict=True)
            if n not in op.types_only
        ]
        return frozenset() if op.variadic else frozenset(known)
    reads = frozenset().union(*[rule.reads for rule in op.vjp if rule is not None])
    return frozenset(word for word, n in zip(input_words(op), op.inputs, strict=True) if n in reads)


def slots(node: Any) -> dict[str, int]:
    """Where in `node.saved` the tensors are that it has saved, by torch's words."""
    op, plan = node.op, node.plan
    if op.variadic:
        count = len(plan.inputs)
        if op.inputs[0] in op.types_only:
            return {}
        return {
            **{f"{input_words(op)[0]}{k}": k for k in range(count)},
            **{f"result{k}": count + k for k in range(len(plan.outputs))},
        }
    found = {
        input_words(op)[k]: place
        for place, k in enumerate(plan.inputs)
        if op.inputs[k] not in op.types_only
    }
    found.update(
        (result_words(op)[k], len(plan.inputs) + place) for place, k in enumerate(plan.outputs)
    )
    return found


def words(node: Any) -> set[str]:
    """All that a node can be asked for as `_saved_...`."""
    return {*slots(node), *readable(node.op), *constants(node)}


def read(node: Any, place: int) -> Any:
    """A saved tensor with its place on the tape, checked as the backward pass checks it."""
    if node.saved is None:
        raise RuntimeError(FREED)
    one = node.saved[place]
    value = unpack(one, True) if place < len(node.plan.inputs) else unpack_result(node, one, True)
    if not isinstance(value, (Value, np.ndarray, np.generic)):
        return value
    tensor = boxed(upward.FACES.tensor, value)
    if isinstance(value, Value):
        tensor._versions = value._versions
    return tensor


def saved_value(word: str, node: Any) -> Any:
    """`node._saved_<word>`."""
    place = slots(node).get(word)
    if place is not None:
        value = read(node, place)
        # torch keeps numbers beside tensors as tensors, but exponents and bounds as they are.
        return (
            value
            if isinstance(value, Value) or word not in ("self", "other") or node.op is pow_op
            else upward.FACES.tensor(np.asarray(value))
        )
    if word in (known := constants(node)):
        return known[word]
    if word in readable(node.op):
        return None
    raise AttributeError(f"{node.name()!r} object has no attribute '_saved_{word}'")


def raw_saved_value(word: str, node: Any) -> SavedTensor:
    """`node._raw_saved_<word>`."""
    place = slots(node).get(word)
    if place is None and word not in readable(node.op):
        raise AttributeError(f"{node.name()!r} object has no attribute '_raw_saved_{word}'")
    return SavedTensor(node, place)


class SavedTensor:
    """A saved tensor by itself, for which hooks can be registered."""

    __slots__ = ("node", "place")

    def __init__(self, node: Any, place: int | None) -> None:
        self.node, self.place = node, place

    def register_hooks(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        """Keep `pack_hook(tensor)` in place of this saved tensor; `unpack_hook` gets that when the
        tensor is needed."""
        for hook in (pack_hook, unpack_hook):
            if not callable(hook):
                raise TypeError(f"register_hooks takes two functions, not {type(hook).__name__}")
        if self.place is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        if self.node.saved is None:
            raise RuntimeError(FREED)
        one = self.node.saved[self.place]
        if isinstance(one[0], Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        self.node.saved[self.place] = packed(one, (pack_hook, unpack_hook))
        # The shortcut of a staged operation has its own copies of what was saved.
        self.node.rest = None


class SavedAttributes:
    """`_saved_*` and `_raw_saved_*` of a node."""

    __slots__ = ()

    def __dir__(self) -> Iterator[str]:
        known = words(self)
        tensors = {*slots(self), *readable(self.op)}  # type: ignore[attr-defined]
        for name in object.__dir__(self):
            prefix, _, word = name.partition("saved_")
            if not (prefix == "_" and word not in known) and not (
                prefix == "_raw_" and word not in tensors
            ):
                yield name


VOCABULARY = frozenset(
    {
        "dim",
        "dims",
        "dim1",
        "dim2",
        "keepdim",
        "exponent",
        "self_sym_sizes",
        "index",
        "start",
        "end",
        "step",
        "offset",
        "inputs",
    }
    | {word for op in OPS for word in (*input_words(op), *result_words(op))}
    | {f"{word}{k}" for word in ("inputs", "tensors", "result") for k in range(8)}
)
"""All words; as properties of the class, since a `__getattr__` would slow down every access to a
node."""
for _word in VOCABULARY:
    setattr(SavedAttributes, f"_saved_{_word}", property(partial(saved_value, _word)))
    setattr(SavedAttributes, f"_raw_saved_{_word}", property(partial(raw_saved_value, _word)))
