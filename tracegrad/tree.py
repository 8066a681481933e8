"""Pytrees: nested tuples, lists, dicts, namedtuples and dataclasses of arrays, through optree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._codegen import loading
from .checks import describe
from .checks.exactly import keys_of
from .dtypes import module_of

if TYPE_CHECKING:
    import optree as optree
else:
    optree = loading.Late("optree")

_NAMESPACE = "tracegrad"
_seen: set[type] = set()
"""The types of leaves that were met; the dataclasses among them have become nodes."""
_nodes: dict[type, tuple[str, ...]] = {}
"""The fields of these dataclasses."""
_boxes: set[type] = set()
"""Those of them whose values may be views."""

_later: dict[str, Callable[[str], None]] = {}
"""What makes nodes of another library's classes."""


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves, and the structure that `unflatten` needs. Dataclasses become nodes when they are
    first seen. `is_leaf` says what else than leaves stays whole.

    Views among the leaves are brought up to date with what was written into their bases: whoever
    takes a tree apart reads the data, the history and the tangents of its leaves.
    """
    if is_leaf is not None and not callable(is_leaf):
        raise TypeError(f"flatten: is_leaf is {describe(is_leaf)}; it must be a function or None")
    try:
        leaves, spec = optree.tree_flatten(tree, is_leaf, namespace=_NAMESPACE)
    except RuntimeError as error:
        if is_leaf is None or "cast Python instance" not in str(error):
            raise
        raise TypeError("flatten: is_leaf must return True or False") from None
    if _seen.issuperset(map(type, leaves)):
        for x in leaves:
            if type(x) in _boxes and x._base is not None:
                x._refresh()
        return leaves, spec
    new = {type(x) for x in leaves if not isinstance(x, type)} - _seen
    for cls in new:
        _seen.add(cls)
        if hasattr(cls, "_refresh"):
            _boxes.add(cls)
        if dataclasses.is_dataclass(cls):
            _register(cls)
        for prefix in [p for p in _later if module_of(cls).startswith(p)]:
            _later.pop(prefix)(module_of(cls))
    return flatten(tree, is_leaf) if new else (leaves, spec)


def unflatten(spec: Any, leaves: Sequence[Any]) -> Any:
    """The tree of this structure with these leaves."""
    try:
        return optree.tree_unflatten(spec, leaves)
    except (AttributeError, TypeError, ValueError) as error:
        raise _misfit(spec, leaves, error) from error.__cause__


def _misfit(spec: Any, leaves: Any, error: Exception) -> Exception:
    """What is raised where no tree could be made: of what a class said of its parts, that."""
    if not isinstance(spec, optree.PyTreeSpec):
        return TypeError(f"unflatten: spec is {describe(spec)}; it must be what flatten gives")
    if not isinstance(leaves, Iterable):
        return TypeError(f"unflatten: leaves is {describe(leaves)}; it must be a sequence")
    count = len(leaves) if isinstance(leaves, Sequence) else spec.num_leaves
    if count != spec.num_leaves:
        return ValueError(f"unflatten: {count} leaves for a tree of {spec.num_leaves}: {spec}")
    return error


def orders(tree: Any) -> tuple[Any, ...]:
    """The keys of the dicts in a tree, in their order, which structures do not compare: a function
    that goes over a dict gives another result for another order (and for other kinds of keys)."""
    found: list[Any] = []
    _find_orders(tree, found)
    return tuple(found)


def orders_of(spec: Any) -> tuple[Any, ...]:
    """The same of a structure, which keeps the order of what it was made of."""
    if spec.is_leaf():
        return ()
    found = (
        [keys_of(unflatten(spec.one_level(), range(spec.num_children)))] if _is_dict(spec) else []
    )
    for part in spec.children():
        found.extend(orders_of(part))
    return tuple(found)


def _is_dict(spec: Any) -> bool:
    return isinstance(spec.type, type) and issubclass(spec.type, dict)


def other_orders(found: Any, wanted: Any) -> str:
    """In words, where dicts of a structure have the keys of another one in another order; empty
    where they do not."""
    for now, before in zip(orders_of(found), orders_of(wanted), strict=False):
        if now != before:
            texts = [", ".join([f"{k!r}" for k in _keys(keys)]) for keys in (now, before)]
            return f"the keys of a dict come in the order {texts[0]}, not {texts[1]}"
    return ""


def _keys(order: tuple[Any, ...]) -> list[Any]:
    return [k[1] if type(k) is tuple else k for k in order]


def _find_orders(tree: Any, found: list[Any]) -> None:
    kind = type(tree)
    if kind in (tuple, list) or (isinstance(tree, tuple) and hasattr(kind, "_fields")):
        for part in tree:
            _find_orders(part, found)
    elif isinstance(tree, dict):
        found.append(keys_of(tree))
        for part in tree.values():
            _find_orders(part, found)
    elif kind in _nodes:
        for name in _nodes[kind]:
            _find_orders(getattr(tree, name), found)


def map_leaves(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The tree of `function` applied to each leaf (and the leaves of `rest` at the same places)."""
    if not callable(function):
        raise TypeError(f"map_leaves: function is {describe(function)}; it must be a function")
    leaves, spec = flatten(tree)
    others: list[list[Any]] = []
    for other in rest:
        found, other_spec = flatten(other)
        if other_spec != spec:
            raise ValueError(f"map_leaves: the trees differ in structure: {spec} and {other_spec}")
        others.append(found)
    return unflatten(spec, [function(*parts) for parts in zip(leaves, *others, strict=True)])


def input_names(parameters: Sequence[str], spec: Any, static: Any) -> list[str]:
    """The names of a graph's inputs, from those of the function's parameters and the structure of
    the arguments; nothing where that gives no name. `static` are arguments apart from them."""
    taken = {place for place, _, _ in static}
    positions = [k for k in range(len(parameters) + len(taken)) if k not in taken]
    names = []
    for path in spec.paths():
        if path[0] == 0:
            k = positions[path[1]] if path[1] < len(positions) else path[1]
            base = parameters[k] if k < len(parameters) else f"x{k}"
            rest = path[2:]
        else:
            base, rest = str(path[1]), path[2:]
        name = "_".join([base, *[str(p) for p in rest]])
        names.append(name if name.isidentifier() else "")
    return names


def place_in(spec: Any, k: int, numbers: Sequence[int]) -> str:
    """Where a leaf of several arguments stands, which have these numbers: `1` where it is one of
    them, `1["rate"]`."""
    argument, *steps = spec.paths()[k]
    return str(numbers[argument]) + "".join(f"[{step!r}]" for step in steps)


def node(cls: type, take_apart: Callable[[Any], Any], together: Callable[[Any, Any], Any]) -> None:
    """Make a class a kind of node: `take_apart(x)` gives children, what else there is (which is
    compared), and the names of the children; `together` makes one of these two."""
    if not isinstance(cls, type):
        raise TypeError(f"node: cls is {describe(cls)}; it must be a class")
    for name, function in (("take_apart", take_apart), ("together", together)):
        if not callable(function):
            raise TypeError(f"node: {name} is {describe(function)}; it must be a function")
    try:
        optree.register_pytree_node(cls, take_apart, together, namespace=_NAMESPACE)
    except ValueError:
        raise ValueError(f"node: {cls.__name__} is a kind of node already") from None


def later(module: str, register: Callable[[str], None]) -> None:
    """Call `register` when a leaf is first met of a class that this module, or one inside of it,
    defines."""
    _later[module] = register


def _register(cls: type) -> None:
    names = _nodes[cls] = tuple(f.name for f in dataclasses.fields(cls))

    def unflatten_dataclass(_: Any, children: Any) -> Any:
        made: Any = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    optree.register_pytree_node(
        cls,
        lambda x: ([getattr(x, n) for n in names], None, names),
        unflatten_dataclass,
        namespace=_NAMESPACE,
    )


__all__ = [
    "flatten",
    "input_names",
    "later",
    "map_leaves",
    "node",
    "unflatten",
]
