"""The guards of a caller: the text that takes the arguments of a call apart, reads what lies around
the function, and gives MISS at the first thing that is not as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import integers
from ..checks.exactly import exactly, keys_of
from ..devices import Device, DeviceArray
from ..ir.dispatch import SPECIAL, STATE
from ..labels import table_of
from ..ops.sparse.operand import SparseArray
from ..ops.sparse.pattern import layout_of
from ..runtime.device_code import CompiledOnDevice
from ..runtime.execute import Compiled
from ..runtime.memory import POOL
from ..surroundings.places import (
    ATTRIBUTE,
    KEYS,
    NAMED,
    ORDER_OF_ATTRIBUTES,
    SAME,
    UNREADABLE,
    Content,
    Place,
    content,
    same,
)
from ..tape.mode import OFF, RECORDS
from ..tensor import Boxed
from ..transforms.tracing import Standing, hooks_of_leaf, standing_of
from .entries import FixedArgument
from .entry import Entry
from .on_device import placed
from .overlaps import may_meet

FLAGS = {"C": ".flags.c_contiguous", "F": ".flags.f_contiguous"}
"""What says that an array is laid out so."""
MISS = object()
"""What a caller gives where it does not fit."""


class Unfit(Exception):
    """A signature for which no caller is written."""


class Guards:
    """Writes the first part of a caller's text: the arguments and the surroundings, compared."""

    def __init__(
        self,
        entry: Entry,
        compiled: Compiled | CompiledOnDevice,
        leaves: Sequence[Any],
        values: Sequence[Any],
    ) -> None:
        self.entry, self.compiled, self.leaves, self.values = entry, compiled, leaves, values
        self.boxes = {k: type(x) for k, x in enumerate(leaves) if isinstance(x, Boxed)}
        self.tensors = bool(
            self.boxes
            or any(isinstance(x, Boxed) for x in entry.traced.captures)
            or any(entry.traced.out_boxed)
        )
        self.numbers = {
            k: type(x)
            for k, x in enumerate(leaves)
            if type(x) is not np.ndarray and k not in self.boxes
        }
        for kind in self.numbers.values():
            if kind not in (bool, int, float, complex) and not issubclass(kind, np.generic):
                raise Unfit(f"an argument is a {kind.__name__}")
        self.count = len(leaves)
        self.operands: list[str] = []
        """The expressions of the graph's operands."""
        self.box_of: dict[str, str] = {}
        """The variables of boxes by those of what is in them."""
        self.guarding = True
        """Whether the call may still be left to the plain way."""
        self.lines: list[str] = []
        self.space: dict[str, Any] = {
            "MISS": MISS,
            "WRONG": (*UNREADABLE, OverflowError),
            "same": same,
            "exactly": exactly,
            "keys_of": keys_of,
            "layout": layout_of,
            "table": table_of,
            "empty": np.empty,
            "provide": POOL.empty,
        }
        self.known: dict[int, str] = {}
        self.made = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def wrong(self, condition: str) -> None:
        """Leave the call to the plain way where this holds."""
        assert self.guarding, "a guard behind what cannot be taken back"
        self.line(2, f"if {condition}: return MISS")

    def fresh(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def name(self, value: Any) -> str:
        """A name for an object of now."""
        if id(value) not in self.known:
            self.known[id(value)] = f"c{len(self.known)}"
            self.space[self.known[id(value)]] = value
        return self.known[id(value)]

    def begin(self, tree: Any, static: Sequence[FixedArgument], free: Sequence[str]) -> None:
        """The modes compared, and the arguments taken apart."""
        self.line(0, "def call(args, kwargs):")
        self.line(1, "try:")
        if self.entry.mode is not None:
            self.space.update(records=RECORDS, off=OFF)
            self.wrong("off and not records()" if self.entry.mode else "not off or records()")
        if self.tensors:
            self.space.update(state=STATE, special=SPECIAL)
            self.wrong("special and state.special")
        self.arguments(tree, static)
        if len(free) > 1:
            self.wrong(f"[k for k in kwargs if k in {self.name(frozenset(free))}] != {[*free]}")

    # --- what is given ----------------------------------------------------------------------------

    def arguments(self, tree: Any, static: Sequence[FixedArgument]) -> None:
        """Each leaf under its name, x0 and so on; the static arguments compared."""
        positional, keywords = tree
        fixed = {place for place, _, _ in static}
        rest = iter(range(len(positional)))
        count = len(positional) + sum(isinstance(place, int) for place in fixed)
        given = [f"s{k}" if k in fixed else f"a{next(rest)}" for k in range(count)]
        self.wrong(
            f"len(kwargs) != {len(keywords) + sum(isinstance(place, str) for place in fixed)}"
            if keywords or fixed
            else "kwargs"
        )
        self.line(2, f"{', '.join(given)}, = args" if given else "if args: return MISS")
        for place, form, value in static:
            variable = f"s{place}"
            if isinstance(place, str):
                variable = self.fresh()
                self.line(2, f"{variable} = kwargs[{place!r}]")
            here = self.name(value)
            # Of another type it may not be one that can be hashed.
            self.wrong(
                f"{variable} is not {here} and (type({variable}) is not {self.name(type(value))} "
                f"or exactly({variable}) != {self.name(form)})"
            )
        for k, part in enumerate(positional):
            self.take_apart(part, f"a{k}")
        for key, part in keywords.items():
            self.take_apart(part, f"kwargs[{key!r}]")
        for k, number in self.numbers.items():
            self.wrong(f"type(x{k}) is not {self.name(number)}")
        for k, kind in self.boxes.items():
            self.line(2, f"b{k} = x{k}")
            standing = standing_of(self.leaves[k])
            self.open(f"b{k}", f"x{k}", kind, standing)
            if self.entry.traced.reads_grads and standing.tracked and standing.leaf:
                # Of one that has a gradient no caller is written (`BringOperands`).
                self.wrong(f"b{k}._grad is not None")

    def open(self, box: str, data: str, kind: type[Boxed], standing: Standing) -> None:
        """The array in a box that stands on the tape as one did while tracing, outside of forward
        mode."""
        self.box_of[data] = box
        self.wrong(f"type({box}) is not {self.name(kind)} or {box}._tangents")
        self.line(2, f"if {box}._base is not None: {box}._refresh()")
        self.wrong(f"{box}._requires_grad is not {standing.tracked}")
        if standing.tracked:
            self.wrong(f"({box}._grad_fn is None) is not {standing.leaf}")
            if self.entry.traced.swept and standing.leaf:
                self.wrong(f"{self.name(hooks_of_leaf)}({box}) != {self.name(standing.hooks)}")
        self.line(2, f"{data} = {box}._data")

    def take_apart(self, part: Any, code: str) -> None:
        if type(part) is int:
            self.line(2, f"x{part} = {code}")
            return
        variable = self.fresh()
        self.line(2, f"{variable} = {code}")
        if part is None:
            self.wrong(f"{variable} is not None")
            return
        kind = type(part)
        if kind is SparseArray:
            # One of SciPy's or ours: the layout says all that there is to know.
            self.wrong(f"layout({variable}) is not {self.name(part.layout)}")
            self.take_apart(part.data, f"{variable}.data")
            return
        self.wrong(f"type({variable}) is not {self.name(kind)}")
        if kind is dict:
            plain = all(type(key) is str for key in part)
            self.wrong(
                f"{'tuple' if plain else 'keys_of'}({variable}) != {self.name(keys_of(part))}"
            )
            for key, child in part.items():
                self.take_apart(
                    child, f"{variable}[{repr(key) if type(key) in (str, int) else self.name(key)}]"
                )
        elif dataclasses.is_dataclass(kind):
            for field in dataclasses.fields(kind):
                self.take_apart(getattr(part, field.name), f"{variable}.{field.name}")
        elif kind in (tuple, list) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            children = [self.fresh() for _ in part]
            self.line(
                2,
                f"{', '.join(children)}, = {variable}"
                if children
                else f"if {variable}: return MISS",
            )
            for name, child in zip(children, part, strict=True):
                self.take_apart(child, name)
        else:
            raise Unfit(f"an argument has a {kind.__name__}")

    def shapes(self) -> list[str]:
        """The shapes compared; the variables that hold the symbolic sizes, in the kernel's
        order."""
        found: set[str] = set()
        for k, pattern in enumerate(self.entry.pattern):
            if k in self.numbers:
                continue
            if all(isinstance(s, int) for s in pattern):
                self.wrong(f"x{k}.shape != {tuple(pattern)}")
                continue
            parts, checks = [], []
            for size in pattern:
                name = str(size)
                if isinstance(size, integers.Integer) and name not in found:
                    found.add(name)
                    parts.append(name)
                    checks.append(f"{name} < 2")
                else:
                    parts.append(self.fresh())
                    checks.append(f"{parts[-1]} != {name}")
            self.line(2, f"{', '.join(parts)}, = x{k}.shape")
            self.wrong(" or ".join(checks))
        if found != set(self.compiled.symbols):
            raise Unfit("a size is no axis of an argument")
        for (relation, difference), fact in self.entry.graph.sizes.guards.items():
            self.wrong(f"({difference} {relation} 0) is not {fact}")
        return list(self.compiled.symbols)

    # --- what is read around the function ---------------------------------------------------------

    def surroundings(self) -> list[str]:
        """The facts checked; the variables that hold what was captured."""
        read: dict[Place, str] = {}
        for place, value in self.entry.facts:
            variable = self.at(place, read)
            if isinstance(value, Content) and value.bytes is None:
                # A value that some trace left behind has no elements to compare.
                self.wrong(f"{variable} is not {self.name(value.array)}")
            elif isinstance(value, Content):
                self.wrong(
                    f"{variable} is not {self.name(value.array)} "
                    f"or {self.name(content)}({variable}) != {self.name(value.bytes)}"
                )
            elif place.code in (KEYS, NAMED, ORDER_OF_ATTRIBUTES) and all(
                type(k) is str for k in value
            ):
                self.wrong(f"{variable} != {self.name(value)}")
            else:
                here = self.name(value)
                self.wrong(f"{variable} is not {here} and not same({variable}, {here})")
        captured = []
        for k, (where, old) in enumerate(
            zip(self.entry.places, self.entry.traced.captures, strict=True)
        ):
            boxed = isinstance(old, Boxed)
            if where is not None and (
                type(old) in (int, float, complex) or isinstance(old, np.generic)
            ):
                captured.append(self.number(k, self.at(where, read), type(old)))
                continue
            if type(old) is not np.ndarray and not boxed:
                raise Unfit(f"a captured value is a {type(old).__name__}")
            if where is None and not boxed:
                captured.append(self.name(old))
                continue
            variable = self.name(old) if where is None else self.at(where, read)
            if boxed:
                box, variable = variable, self.fresh()
                self.open(box, variable, type(old), self.entry.standing[k])
            captured.append(variable)
            self.wrong(f"{variable}.shape != {old.shape}")
            if self.entry.views:
                self.wrong(f"{variable} is not {self.name(old)}")
            if k in self.entry.contents:
                self.wrong(f"{variable}.tobytes() != {self.name(self.entry.contents[k])}")
        return captured

    def number(self, k: int, variable: str, kind: type) -> str:
        """A captured Python number that calls change, which goes in as an argument would."""
        operand = self.count + k
        self.numbers[operand] = kind
        self.line(2, f"x{operand} = {variable}")
        self.wrong(f"type(x{operand}) is not {self.name(kind)}")
        if (bound := self.entry.bounds.get(k)) is not None:
            self.wrong(f"not -{bound} <= x{operand} <= {bound}")
        return f"z{operand}"

    def at(self, place: Place, read: dict[Place, str]) -> str:
        """The variable that holds what is at a place; each place is read once."""
        if place.code == "{key}":
            return self.name(place.key)
        if place not in read:
            before = self.at(place.before, read) if place.before else ""
            if place.code == ATTRIBUTE and place.key.isidentifier():
                code = f"{before}.{place.key}"
            elif place.code == SAME:
                code = f"{before} is {self.at(place.key, read)}"
            else:
                code = place.code.format(
                    it=before,
                    key=repr(place.key) if type(place.key) in (str, int) else self.name(place.key),
                )
            read[place] = self.fresh()
            self.line(2, f"{read[place]} = {code}")
        return read[place]

    def changed(self) -> None:
        """The boxes that the call changes, each under its name t0 and so on, found to be fit for
        being stored into, on memory that nothing else shows."""
        read: dict[Place, str] = {}
        written: list[str] = []
        for j, (change, place) in enumerate(self.entry.changes):
            if isinstance(change.target, int):
                raise Unfit("a change of an argument")
            if change.what == "flag":
                raise Unfit("a changed flag")
            box = self.name(change.target) if place is None else self.at(place, read)
            if change.what == "grad data":
                box = f"{box}._grad"
            self.line(2, f"t{j} = {box}")
            kind = type(change.target._grad) if change.what == "grad data" else type(change.target)
            self.wrong(f"type(t{j}) is not {self.name(kind)}")
            if change.what == "grad":
                self.wrong(f"t{j}._grad_fn is not None")
            else:
                value = change.target._grad if change.what == "grad data" else change.target
                if value._borrowed or value._base is not None:
                    raise Unfit("a change of a view")
                self.wrong(
                    f"t{j}._base is not None or t{j}._tangents or t{j}._borrowed "
                    f"or not t{j}._data.flags.writeable"
                )
                self.wrong(f"t{j}._data.shape != {value.shape}")
                written.append(f"t{j}._data")
        if written:
            beside = [
                x
                for k, x in enumerate(self.operands)
                if k not in self.numbers and (k < self.count or k - self.count in self.entry.beside)
            ]
            beside += [self.name(x) for x in self.entry.read_once()]
            lists = ", ".join(f"({''.join(f'{x}, ' for x in xs)})" for xs in (written, beside))
            self.wrong(f"{self.name(may_meet)}({lists})")

    def apart(self, k: int) -> None:
        """Whether what is written or given up may share memory with another operand is decided on
        the plain way."""
        there = self.entry.traced.device is not None
        for x in self.entry.read_once() if not there else ():
            self.wrong(f"{self.name(np.may_share_memory)}(x{k}, {self.name(x)})")
        for j, other in enumerate(self.operands):
            if j != k and j not in self.numbers:
                two = f"l{k}, l{j}" if there else f"x{k}, {other}"
                self.wrong(f"{self.name(np.may_share_memory)}({two})")

    # --- where operands lie -----------------------------------------------------------------------

    def unboxed(self) -> list[str]:
        """The operands as variables: numbers as they were given, not the places where kernels find
        them."""
        return [f"x{k}" if k in self.numbers else x for k, x in enumerate(self.operands)]

    def memory(self, k: int, x: str) -> None:
        """See that operand k is what was compiled for. A native entry that reads array objects sees
        by itself all but that there is a kernel for contiguous memory, which is faster."""
        traced, dtype = self.entry.traced, self.entry.graph.input_types[k].dtype
        if traced.device is not None:
            self.on_device(k, self.unboxed()[k], dtype, traced.device)
        elif k in self.numbers:
            return
        elif "live" in traced.history:
            self.wrong(f"type({x}) is not {self.name(np.ndarray)} or {self.other_dtype(x, dtype)}")
        else:
            layout = self.compiled.layouts[k]
            if layout == "A":
                self.wrong(f"{x}.flags.forc")
            if isinstance(self.compiled, Compiled) and not self.compiled.strict:
                self.wrong(
                    f"type({x}) is not {self.name(np.ndarray)} "
                    f"or {x}.dtype != {self.name(dtype)} or not {x}.flags.aligned"
                )
                if layout != "A":
                    self.wrong(f"not {x}{FLAGS[layout]}")

    def other_dtype(self, x: str, dtype: np.dtype[Any]) -> str:
        """Whether an array has another dtype: most have the very same object."""
        known = self.name(dtype)
        return f"{x}.dtype is not {known} and {x}.dtype != {known}"

    def on_device(self, k: int, x: str, dtype: np.dtype[Any], device: Device) -> None:
        """Operand k on a device, and its layout under the name l0 and so on: it lies there, or is a
        number or constant that is copied there."""
        value = self.values[k]
        value = value._data if isinstance(value, Boxed) else value
        fetched = f"{self.name(placed(self.entry.graph, device).fetched)}({k}, {x}"
        if type(value) is DeviceArray:
            self.wrong(
                f"type({x}) is not {self.name(DeviceArray)} "
                f"or {x}.device != {self.name(device)} or {self.other_dtype(x, dtype)}"
            )
            layout = self.compiled.layouts[k]
            self.line(2, f"l{k} = {x}.layout")
            self.wrong(f"l{k}.flags.forc" if layout == "A" else f"not l{k}{FLAGS[layout]}")
        else:
            if k not in self.numbers:
                self.wrong(
                    f"type({x}) is not {self.name(np.ndarray)} or {x}.shape != {value.shape}"
                )
            if "live" not in self.entry.traced.history:
                self.line(2, f"l{k} = {fetched}, {self.name(dtype)}).layout")
