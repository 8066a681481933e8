"""A program as what the host does: launches of kernels, routines over whole buffers, and loops and
branches around those.

A phase that calls no routine is one kernel or a few. Loops, branches and memory requests that
contain routines or depend on a size that is only known then are run by the host; a number that it
needs for that is fetched from the device, the one place where it waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .. import kernel, traversal
from ..integers import Integer, symbols
from ..owners import Owners
from .dependence import defined, parallel, statements, trips, used

NARROW = 1024
"""Serial statements whose loops have at most this many iterations run together in one block."""


@dataclass
class KernelGroup:
    """Statements of one kernel."""

    body: list[kernel.Statement]
    trusted: bool = False
    """Whether the schedule promises that the iterations of its one loop are independent."""


@dataclass
class Routine:
    call: kernel.Call


@dataclass
class Fetch:
    """The host learns a number that the device has computed."""

    name: str
    cell: str


@dataclass
class Reserve:
    request: kernel.Allocate


@dataclass
class Repeat:
    loop: kernel.Loop
    steps: list[Step]


@dataclass
class Until:
    """`steps` while the number `name`, which `test` computes and fetches, is true, and, if it
    `checks`, nothing has failed."""

    name: str
    test: list[Step]
    steps: list[Step]
    checks: bool = False


@dataclass
class Choose:
    name: str
    test: list[Step]
    then: list[Step]
    otherwise: list[Step]


Step: TypeAlias = KernelGroup | Routine | Fetch | Reserve | Repeat | Until | Choose


@dataclass
class HostSplit:
    """The steps of a program, and the cells: numbers in memory that several steps know."""

    program: kernel.Program
    deterministic: bool
    owners: Owners
    cells: dict[str, kernel.Buffer] = field(default_factory=dict)
    count: int = 0

    def steps(self) -> list[Step]:
        found: list[Step] = []
        for phase in self.program.phases:
            found += self.phase(phase)
        return found

    def phase(self, phase: kernel.Phase) -> list[Step]:
        if phase.kind == "parallel":
            (loop,) = phase.body
            assert isinstance(loop, kernel.Loop)
            if len(loop.body) == 1 and isinstance(loop.body[0], kernel.Call):
                # Parts of one routine: a device has all of it at once.
                call = loop.body[0]
                return [Routine(replace(call, share=()))]
            if not any(
                isinstance(s, (kernel.Call, kernel.Allocate)) for s in statements(phase.body)
            ):
                return [KernelGroup([loop], trusted=True)]
        tree = self.split(phase.body)
        return self.spilled(tree)

    # --- grouping ---------------------------------------------------------------------------------

    def split(self, body: Sequence[kernel.Statement]) -> list[Step]:
        found: list[Step] = []
        group: list[kernel.Statement] = []

        def close() -> None:
            if group:
                found.extend(self.grouped(group))
                group.clear()

        for s in body:
            if not hostile(s):
                group.append(s)
                continue
            close()
            match s:
                case kernel.Call():
                    found.append(Routine(s))
                case kernel.Allocate():
                    found.append(Reserve(s))
                case kernel.Loop():
                    found.append(Repeat(s, self.split(s.body)))
                case kernel.While(condition, inner, checked):
                    name = self.fresh("going")
                    found.append(
                        Until(
                            name,
                            [KernelGroup([kernel.Let(name, condition)]), Fetch(name, "")],
                            self.split(inner),
                            checked,
                        )
                    )
                case kernel.If(condition, then, otherwise):
                    name = self.fresh("taken")
                    test: list[Step] = [KernelGroup([kernel.Let(name, condition)]), Fetch(name, "")]
                    found.append(Choose(name, test, self.split(then), self.split(otherwise)))
        close()
        return found

    def grouped(self, body: Sequence[kernel.Statement]) -> Iterator[Step]:
        """Kernels for statements without routines: long loops each by itself, what is between them
        together."""
        pending: list[kernel.Statement] = []
        for s in body:
            how = (
                parallel(s, self.owners, self.deterministic)
                if isinstance(s, kernel.Loop) and trips_of_nest(s) > NARROW
                else None
            )
            if how is not None and not how.accumulators:
                if pending:
                    yield KernelGroup(list(pending))
                    pending.clear()
                yield KernelGroup([s])
            else:
                pending.append(s)
        if pending:
            yield KernelGroup(list(pending))

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"host_{hint}_{self.count}"

    # --- numbers that several steps know ----------------------------------------------------------

    def spilled(self, tree: list[Step]) -> list[Step]:
        """The steps with the locals that more than one of them knows kept in memory, and fetched
        where the host needs them."""
        groups = list(all_groups(tree))
        kinds = {
            s.name: s.value.dtype
            for g in groups
            for s in statements(g.body)
            if isinstance(s, (kernel.Let, kernel.Declare))
        }
        crossing = {name for g in groups for name in used(g.body) - defined(g.body)}
        wanted = host_names(tree)
        cells = (crossing | wanted) & kinds.keys()
        for name in sorted(cells):
            buffer = kernel.Buffer(f"{name}_cell", kinds[name], (1,), "temp")
            self.cells[buffer.name] = buffer
        fixed = {s.name: s for g in groups for s in g.body if isinstance(s, kernel.Let)}
        changing = cells - fixed.keys()
        return (
            self.rewritten(
                tree, changing, {name: kinds[name] for name in cells & fixed.keys()}, cells & wanted
            )
            if cells
            else tree
        )

    def rewritten(
        self, tree: list[Step], changing: set[str], fixed: dict[str, Any], fetched: set[str]
    ) -> list[Step]:
        """The steps with `changing` locals in memory, and `fixed` ones both there and in each
        kernel that knows them."""
        found: list[Step] = []
        for step in tree:
            match step:
                case KernelGroup(body, trusted):
                    made = {
                        s.name
                        for s in statements(body)
                        if isinstance(s, (kernel.Let, kernel.Declare, kernel.Update))
                    }
                    inside = [part for s in in_memory(body, changing) for part in beside(s, fixed)]
                    known = sorted((used(body) & fixed.keys()) - made)
                    indices = int_names(body)
                    lets = [
                        kernel.Let(name, loaded(name, fixed[name], name in indices))
                        for name in known
                    ]
                    found.append(KernelGroup([*lets, *inside], trusted))
                    found += [Fetch(name, f"{name}_cell") for name in sorted(made & fetched)]
                case Fetch():
                    pass
                case Repeat(loop, steps):
                    found.append(Repeat(loop, self.rewritten(steps, changing, fixed, fetched)))
                case Until(name, test, steps, checks):
                    asked, done = (
                        self.rewritten(p, changing, fixed, fetched) for p in (test, steps)
                    )
                    found.append(Until(name, asked, done, checks))
                case Choose(name, test, then, otherwise):
                    parts = [
                        self.rewritten(p, changing, fixed, fetched) for p in (test, then, otherwise)
                    ]
                    found.append(Choose(name, *parts))
                case _:
                    found.append(step)
        return found


def loaded(name: str, dtype: Any, index: bool) -> kernel.Expression:
    """A local from its cell; as an index, which has no sign, only where it is used as one: Numba
    makes a float of an index and an integer."""
    cell = kernel.Load(f"{name}_cell", (0,), dtype)
    return kernel.Apply("index({x})", (("x", cell),), dtype) if index else cell


def beside(s: kernel.Statement, fixed: Mapping[str, Any]) -> Iterator[kernel.Statement]:
    """The statement, and what keeps the local that it makes for other steps."""
    yield s
    if isinstance(s, kernel.Let) and s.name in fixed:
        yield kernel.Store(f"{s.name}_cell", (0,), kernel.Name(s.name, fixed[s.name]))


def hostile(s: kernel.Statement) -> bool:
    """Whether only the host can run a statement."""
    return any(isinstance(x, (kernel.Call, kernel.Allocate)) for x in statements([s]))


def trips_of_nest(s: kernel.Loop) -> int:
    """How many iterations the longest chain of loops in a loop has together."""
    inner = max((trips_of_nest(x) for x in s.body if isinstance(x, kernel.Loop)), default=1)
    return max(trips(s), 0) * max(inner, 1)


def all_groups(tree: Iterable[Step]) -> Iterator[KernelGroup]:
    for step in tree:
        match step:
            case KernelGroup():
                yield step
            case Repeat(_, steps):
                yield from all_groups(steps)
            case Until(_, test, steps):
                yield from all_groups([*test, *steps])
            case Choose(_, test, then, otherwise):
                yield from all_groups([*test, *then, *otherwise])


def host_names(tree: Iterable[Step]) -> set[str]:
    """The numbers that the host needs for its own steps."""
    found: set[str] = set()
    for step in tree:
        match step:
            case Routine(call):
                found |= set().union(*[traversal.names_in(a) for a in call.arguments])
            case Reserve(request):
                found |= set().union(*[traversal.names_in(n) for n in request.shape])
            case Repeat(loop, steps):
                found |= (
                    traversal.names_in(loop.lo) | traversal.names_in(loop.hi) | host_names(steps)
                )
            case Until(name, test, steps):
                found |= {name} | host_names([*test, *steps])
            case Choose(name, test, then, otherwise):
                found |= {name} | host_names([*test, *then, *otherwise])
    return found


def int_names(body: Iterable[kernel.Statement]) -> set[str]:
    """The names that stand in integer expressions of statements: these are numbers the kernel is
    given."""
    found: set[str] = set()

    def visit(e: Any) -> None:
        match e:
            case Integer():
                found.update(symbols(e))
            case kernel.Index(value, _):
                visit(value)
            case kernel.Load(_, at, _):
                for i in at:
                    visit(i)
            case kernel.Apply(_, arguments, _):
                for _, a in arguments:
                    visit(a)

    for s in statements(body):
        for e in traversal.expressions(s):
            visit(e)
    return found - defined(body)


def in_memory(body: Iterable[kernel.Statement], cells: set[str]) -> tuple[kernel.Statement, ...]:
    """The statements with these locals in memory."""

    def change(e: Any) -> Any:
        return (
            kernel.Load(f"{e.name}_cell", (0,), e.dtype)
            if isinstance(e, kernel.Name) and e.name in cells
            else e
        )

    def settle(s: kernel.Statement) -> kernel.Statement:
        match s:
            case kernel.Let(name, value) | kernel.Declare(name, value) if name in cells:
                return kernel.Store(f"{name}_cell", (0,), value)
            case kernel.Update(name, value, combine) if name in cells:
                return kernel.Store(f"{name}_cell", (0,), value, combine)
        return s

    return traversal.mapped(body, change, settle)


__all__ = [
    "Choose",
    "Fetch",
    "HostSplit",
    "KernelGroup",
    "Repeat",
    "Reserve",
    "Routine",
    "Step",
    "Until",
    "all_groups",
    "int_names",
]
