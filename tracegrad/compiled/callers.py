"""Callers: for each traced signature a small Python function, written as text, that does for one
call just what is needed.

It takes the arguments apart, compares shapes, reads what the traced function reads around it,
provides memory, calls the kernel and puts the results together; or it gives MISS at the first thing
that is not as it was when the signature was traced, and `jit.Jitted` takes the long way. The
classes and dtypes of arrays are left to the kernel's entry, which raises TypeError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers
from ..control.call import EXECUTE, spent
from ..devices import IN_USE
from ..ir.dispatch import SPECIAL, STATE
from ..ir.graph import Graph
from ..runtime.execute import SCRATCH, Compiled, executable_for
from ..runtime.memory import LARGE, POOL
from ..runtime.threads import NO_PHASE
from ..surroundings.captures import ATTRIBUTE, UNREADABLE, Content, Entry, Place, same
from ..surroundings.stored import ITEM, Output
from ..tape.eager_text import fresh
from ..tape.mode import OFF, RECORDS
from ..tensor import Boxed, Tensor
from ..transforms.tracing import NOWHERE, Standing, Traced, device_of, hooks_of_leaf
from ..tree import flatten, unflatten
from .effects import owned, store, write_back
from .on_device import run

MISS = object()
"""What a caller gives where it does not fit."""
OWN_ARENA = 1 << 16
"""Scratch memory up to this size belongs to the caller; callers that need more share that of their
thread."""
Caller = Callable[[tuple[Any, ...], dict[str, Any]], Any]


class Unfit(Exception):
    """A signature for which no caller is written."""


def make_caller(
    entry: Entry,
    compiled: Compiled,
    tree: Any,
    static: Sequence[tuple[Any, type, Any]],
    leaves: Sequence[Any],
) -> Caller:
    """The caller of a signature.

    `tree` is (args, kwargs) without the static arguments and with the number of the leaf at each
    leaf; `leaves` are examples. Raises Unfit where a leaf is nothing that kernels take as it is, or
    the tree has nodes of an unknown kind.
    """
    return Writer(entry, compiled, leaves).write(tree, static)


class Writer:
    """Writes the text of a caller."""

    def __init__(self, entry: Entry, compiled: Compiled, leaves: Sequence[Any]) -> None:
        self.entry, self.compiled = entry, compiled
        self.boxes = {k: type(x) for k, x in enumerate(leaves) if isinstance(x, Boxed)}
        self.tensors = bool(
            self.boxes
            or any(isinstance(x, Boxed) for x in entry.traced.captures)
            or any(entry.traced.out_boxed)
        )
        if self.tensors:
            self.check_tape(leaves)
        self.numbers = {
            k: type(x)
            for k, x in enumerate(leaves)
            if type(x) is not np.ndarray and k not in self.boxes
        }
        for kind in self.numbers.values():
            if kind not in (bool, int, float, complex) and not issubclass(kind, np.generic):
                raise Unfit(f"an argument is a {kind.__name__}")
        self.count = len(leaves)
        self.lines: list[str] = []
        self.space: dict[str, Any] = {
            "MISS": MISS,
            "WRONG": (*UNREADABLE, OverflowError),
            "same": same,
            "empty": np.empty,
            "provide": POOL.empty,
        }
        self.known: dict[int, str] = {}
        self.made = 0

    def check_tape(self, leaves: Sequence[Any]) -> None:
        """Unfit where the call has to be recorded, or changes what is not simply stored."""
        traced = self.entry.traced
        if "live" in traced.history or any(
            isinstance(x, Boxed) and x._requires_grad for x in leaves
        ):
            raise Unfit("results that a backward pass goes through, or arguments that it reaches")
        if traced.grads or any(c.what == "flag" for c in traced.changes):
            raise Unfit("gradients of arguments, or a changed flag")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def wrong(self, condition: str) -> None:
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

    def write(self, tree: Any, static: Sequence[tuple[Any, type, Any]]) -> Caller:
        self.begin(tree, static)
        sizes = self.shapes()
        operands = [
            *[f"z{k}" if k in self.numbers else f"x{k}" for k in range(self.count)],
            *self.surroundings(),
        ]
        self.changed()
        self.holders()
        self.overlaps(operands)
        for k, layout in enumerate(self.compiled.layouts):
            if layout == "A" and k not in self.numbers:
                # The kernel would take it, but one for contiguous memory is faster.
                self.wrong(f"{operands[k]}.flags.forc")
        if not self.compiled.strict:
            self.types(operands)
        self.kernel(operands, sizes)
        self.results()
        return self.finish()

    def begin(self, tree: Any, static: Sequence[tuple[Any, type, Any]]) -> None:
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

    def finish(self) -> Caller:
        """The function of the text."""
        exec(
            compile("\n".join(self.lines), f"<caller of {self.entry.graph.name}>", "exec"),
            self.space,
        )
        made: Caller = self.space["call"]
        return made

    # --- what is given ----------------------------------------------------------------------------

    def arguments(self, tree: Any, static: Sequence[tuple[Any, type, Any]]) -> None:
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
        for place, kind, value in static:
            variable = f"s{place}"
            if isinstance(place, str):
                variable = self.fresh()
                self.line(2, f"{variable} = kwargs[{place!r}]")
            here = self.name(value)
            self.wrong(
                f"{variable} is not {here} and (type({variable}) is not {self.name(kind)} "
                f"or not {variable} == {here})"
            )
        for k, part in enumerate(positional):
            self.take_apart(part, f"a{k}")
        for key, part in keywords.items():
            self.take_apart(part, f"kwargs[{key!r}]")
        for k, number in self.numbers.items():
            self.wrong(f"type(x{k}) is not {self.name(number)}")
        for k, kind in self.boxes.items():
            self.line(2, f"b{k} = x{k}")
            self.open(f"b{k}", f"x{k}", kind, NOWHERE)

    def open(self, box: str, data: str, kind: type[Boxed], standing: Standing) -> None:
        """The array in a box that stands on the tape as one did while tracing, outside of forward
        mode."""
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
        self.wrong(f"type({variable}) is not {self.name(kind)}")
        if kind is dict:
            self.wrong(f"len({variable}) != {len(part)}")
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
                    f"or {variable}.tobytes() != {self.name(value.bytes)}"
                )
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
        being stored into."""
        read: dict[Place, str] = {}
        for j, (change, place) in enumerate(self.entry.changes):
            if isinstance(change.target, int):
                raise Unfit("a change of an argument")
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

    def overlaps(self, operands: Sequence[str]) -> None:
        """Whether what is written or given up may share memory with another operand is decided on
        the long way."""
        for k in self.entry.given_up:
            self.space["owned"] = owned
            self.wrong(f"not owned(x{k})")
        for k in (*self.entry.traced.writes, *self.entry.given_up):
            for j, other in enumerate(operands):
                if j != k and j not in self.numbers:
                    self.space["may_share_memory"] = np.may_share_memory
                    self.wrong(f"may_share_memory(x{k}, {other})")

    def types(self, operands: Sequence[str]) -> None:
        """What the kernel's entry sees by itself where it is native and reads array objects."""
        flags = {"C": ".flags.c_contiguous", "F": ".flags.f_contiguous"}
        for k, layout in enumerate(self.compiled.layouts):
            if k not in self.numbers:
                x, dtype = operands[k], self.name(self.compiled.in_dtypes[k])
                self.wrong(
                    f"type({x}) is not {self.name(np.ndarray)} or {x}.dtype != {dtype} "
                    f"or not {x}.flags.aligned"
                )
                if layout in flags:
                    self.wrong(f"not {x}{flags[layout]}")

    # --- the call ---------------------------------------------------------------------------------

    def kernel(self, operands: Sequence[str], sizes: Sequence[str]) -> None:
        """Memory, the kernel's call, and what it may have failed at."""
        compiled, checked = self.compiled, self.compiled.program.checked
        outs = [f"o{k}" for k in range(len(compiled.out_shapes)) if k not in compiled.reused]
        scalars = {
            f"o{k}": d
            for k, (s, d) in enumerate(zip(compiled.out_shapes, compiled.out_dtypes, strict=True))
            if s == ()
        }
        scalars |= {f"z{k}": compiled.in_dtypes[k] for k in self.numbers}
        own = isinstance(compiled.program.arena, int) and compiled.program.arena <= OWN_ARENA
        room = int(compiled.program.arena) + 64 if own else 0

        def workspace() -> tuple[Any, ...]:
            """What one call at a time uses: status words, scratch memory, and a place for each
            number that goes in or out."""
            status = np.zeros(2, np.int64)
            return (
                status,
                status.data,
                np.empty(room, np.uint8),
                *[np.empty((), d) for d in scalars.values()],
            )

        free: list[tuple[Any, ...]] = []
        self.space.update(
            workspace=workspace,
            free=free,
            kernel=compiled.entry,
            fail=compiled.fail,
            scratch=SCRATCH,
        )
        self.line(1, "except WRONG: return MISS")
        # Taken from a list and put back, because several threads may make this call at once.
        self.line(1, "try: w = free.pop()")
        self.line(1, "except IndexError: w = workspace()")
        self.line(1, f"{', '.join(['status', 'words', 'arena', *scalars])}, = w")
        if not own:
            need = f"{compiled.printed.arena_code} + 64"
            self.line(1, "arena = scratch.arena")
            self.line(1, f"if arena.nbytes < {need}: arena = scratch.provide({need})")
        for k, (shape, dtype) in enumerate(
            zip(compiled.out_shapes, compiled.out_dtypes, strict=True)
        ):
            if k in compiled.reused:
                self.line(1, f"o{k} = x{compiled.reused[k]}")
            elif shape != ():
                nbytes = integers.product(shape) * dtype.itemsize
                small = nbytes < LARGE if isinstance(nbytes, int) else None
                if small is None:
                    make = f"(empty if {nbytes} < {LARGE} else provide)"
                else:
                    make = "empty" if small else "provide"
                text = "(" + "".join(f"{s}, " for s in shape) + ")"
                if not (small and dtype == np.float64):
                    text += f", {self.name(dtype)}"
                self.line(1, f"o{k} = {make}({text})")
        self.line(1, "try:")
        for k in self.numbers:
            self.line(2, f"z{k}[()] = x{k}")
        given = "".join(f"{x}, " for x in (*operands, *outs))
        run = f"kernel({given}arena, status, -1, 0, 0)"
        if compiled.shared.shares:
            self.space["shared"] = compiled.shared
            self.line(2, f"table = shared.table(({''.join(f'{n}, ' for n in sizes)}))")
            self.line(2, f"if table is None: {run}")
            self.line(2, "else:")
            self.line(3, f"kernel({given}arena, status, {NO_PHASE}, 0, 0)")
            self.line(3, f"shared.run(table, ({given}arena), status)")
        else:
            self.line(2, run)
        self.line(1, "except (TypeError, OverflowError): return MISS")
        if checked:
            self.line(1, "if words[0]: fail(status)")

    def results(self) -> None:
        """Writes to arguments and random counters carried out, and the results in the structure
        that the function returned."""
        traced = self.entry.traced
        count = len(traced.out_boxed)
        shapes = self.compiled.out_shapes
        self.space.update(
            copyto=np.copyto,
            write_back=write_back,
            store=store,
            fresh=fresh,
            Tensor=Tensor,
            spent=spent,
        )
        for j, k in enumerate(traced.writes):
            write = (
                f"write_back(b{k}, o{count + j})"
                if k in self.boxes
                else f"copyto(x{k}, o{count + j}, casting='unsafe')"
            )
            self.line(1, write)
        out = count + len(traced.writes)
        for j, (change, _) in enumerate(self.entry.changes):
            value = f"o{out}" if change.value else "None"
            if value != "None":
                # A 0-d result lies in memory that the next call writes to.
                copied = f"o{out}.copy()" if shapes[out] == () else value
                value = f"fresh(Tensor, {copied})" if change.what == "grad" else value
                out += 1
            self.line(
                1, f"t{j}._grad = {value}" if change.what == "grad" else f"store(t{j}, {value})"
            )
        self.store(out)
        for j, generator in enumerate(traced.generators):
            self.line(1, f"{self.name(generator)}.store(o{len(traced.history) + j})")
        leaves = []
        for k in range(count):
            leaves.append(f"r{k}" if shapes[k] == () or traced.out_boxed[k] else f"o{k}")
            if traced.out_boxed[k]:
                data = f"o{k}.copy()" if shapes[k] == () else f"o{k}"
                gone = traced.history[k] == "spent" and self.entry.mode
                self.line(1, f"r{k} = spent({data})" if gone else f"r{k} = fresh(Tensor, {data})")
            elif shapes[k] == ():
                self.line(1, f"r{k} = o{k}[()]")
        self.line(1, "free.append(w)")
        self.line(1, f"return {self.together(unflatten(traced.out_spec, range(count)), leaves)}")

    def holders(self) -> None:
        """Where the call stores something in Python's variables: what holds them, each under its
        name h0 and so on."""
        read: dict[Place, str] = {}
        for j, stored in enumerate(self.entry.stored):
            if stored.into_argument(self.entry.holder):
                raise Unfit("a change of a container among the arguments")
            if stored.simple and stored.place.before is not None:
                held = self.at(stored.place.before, read)
                self.line(2, f"h{j} = {held}")
                if stored.place.code == ITEM:
                    self.wrong(f"type(h{j}) is not {self.name(type(stored.place.before()))}")

    def store(self, out: int) -> None:
        """What the function does to Python's variables, from result number `out` on."""
        for j, stored in enumerate(self.entry.stored):
            leaves = []
            for x in stored.fixed:
                if type(x) is not Output:
                    leaves.append(self.name(x))
                    continue
                scalar = self.compiled.out_shapes[out] == ()
                if x.kind is Tensor:
                    leaves.append(f"Tensor(o{out}.copy())" if scalar else f"Tensor(o{out})")
                elif x.kind is None:
                    leaves.append(f"o{out}[()]" if scalar else f"o{out}")
                else:
                    leaves.append(f"{self.name(x.kind)}(o{out})")
                out += 1
            if stored.simple:
                value = self.together(unflatten(stored.spec, range(len(leaves))), leaves)
                key = (
                    repr(stored.place.key)
                    if type(stored.place.key) in (str, int)
                    else self.name(stored.place.key)
                )
                self.line(1, f"{stored.place.code.format(it=f'h{j}', key=key)} = {value}")
            else:
                own = "".join(f"o{k}, " for k in range(out - stored.results, out))
                self.line(1, f"{self.name(stored)}.carry_out(iter(({own})))")

    def together(self, part: Any, leaves: Sequence[str]) -> str:
        """The expression of a tree with these expressions at its leaves."""
        kind = type(part)
        if part is None:
            return "None"
        if isinstance(part, int):
            return leaves[part]
        if kind is dict:
            return (
                "{"
                + ", ".join(
                    f"{self.name(key)}: {self.together(child, leaves)}"
                    for key, child in part.items()
                )
                + "}"
            )
        if kind in (tuple, list) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            inner = "".join(f"{self.together(child, leaves)}, " for child in part)
            return (
                f"({inner})"
                if kind is tuple
                else f"[{inner}]"
                if kind is list
                else f"{self.name(kind)}({inner})"
            )
        raise Unfit(f"a result has a {kind.__name__}")


# --- graphs that the tape calls -------------------------------------------------------------------


def run_graph(graph: Graph, arrays: Sequence[Any]) -> Sequence[Any]:
    """Run a graph on plain arrays, compiled; each layout of them gets a caller."""
    callers: tuple[Caller, ...] = graph.derived.get("callers", ())
    for caller in callers:
        found = caller(tuple(arrays), {})
        if found is not MISS:
            return found  # type: ignore[no-any-return]
    if IN_USE and (device := device_of(arrays)) is not None:
        return run(graph, arrays, device)
    executable = executable_for(graph)
    outs = executable(arrays)
    if len(callers) < MOST:
        count = len(graph.outputs)
        traced = Traced(graph, [], flatten((0,) * count)[1], (False,) * count)
        entry = Entry(
            traced, graph, [], [], tuple(t.shape for t in graph.input_types), lambda: entry
        )
        try:
            made = make_caller(
                entry, executable.kernel_for(arrays), (tuple(range(len(arrays))), {}), (), arrays
            )
        except Unfit:
            return outs
        graph.derived["callers"] = (*callers, made)
    return outs


MOST = 4
"""As many layouts of one graph's inputs get a caller."""
EXECUTE[0] = run_graph
