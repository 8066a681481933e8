"""The passes over programs: from what the nests have written to what is printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..._codegen import kernel, owners, traversal, verify
from ...ir.verify import EVERY_PASS
from .batch_blocks import batch_blocks
from .choose_stores import choose_stores
from .collect_steps import collect_steps
from .cut_fills import cut_fills
from .distribute import distribute
from .few_places import few_places
from .fixed_places import keep_fixed_places
from .fuse_copies import fuse_copies
from .hoist import hoist
from .join_loops import join_loops
from .loops_in_turn import loops_in_turn
from .memory import plan, prune, resolve_views
from .memory_of_steps import memory_of_steps
from .registers import promote
from .rows_abreast import rows_abreast
from .rows_of_powers import rows_of_powers
from .sound_indices import sound_indices
from .split_loops import split_loops
from .tiling import tile
from .transpose_short_axes import transpose_short_axes
from .whole_lines import whole_lines
from .whole_rows import whole_rows


@dataclass
class Draft:
    """A program that is being made: what passes read and change."""

    program: kernel.Program
    """Its head: name, sizes, errors; the rest is empty until the end."""
    phases: list[kernel.Phase]
    buffers: dict[str, kernel.Buffer]
    """All buffers, those that nothing mentions any more among them."""
    fresh: Callable[[str], str]
    """A name that nothing has yet, like the one given."""

    def stage(self, made_by: str) -> kernel.Program:
        """The program as it is now; temporaries have no places yet."""
        used = set().union(*[traversal.mentioned_in(p) for p in self.phases])
        used |= owners.Owners(self.buffers).all(used)
        buffers = tuple(
            [
                b
                for b in self.buffers.values()
                if b.role in ("in", "out") or (b.name in used and b.role != "local")
            ]
        )
        return replace(self.program, buffers=buffers, phases=tuple(self.phases), made_by=made_by)


PIPELINE: tuple[tuple[str, Callable[[Draft], list[kernel.Phase]]], ...] = (
    (
        "resolve views",
        lambda d: resolve_views(d.phases, d.buffers, [name for name, _ in d.program.sizes]),
    ),  # first, so that later passes see who meets in memory
    (
        "whole rows",
        lambda d: whole_rows(d.phases, d.buffers),
    ),  # before fills are cut into several loops
    (
        "cut fills",
        lambda d: cut_fills(d.phases, d.buffers, [name for name, _ in d.program.sizes], d.fresh),
    ),  # before copies become part of other loops
    (
        "transpose short axes",
        lambda d: transpose_short_axes(d.phases, d.buffers, d.fresh),
    ),  # narrow arrays that long loops cross
    (
        "fuse copies",
        lambda d: fuse_copies(d.phases, d.buffers),
    ),  # before blocks are cut, which take whole loops
    (
        "join loops",
        lambda d: join_loops(d.phases, d.buffers),
    ),  # of what is left of the others, and before what they hand on is pruned
    ("prune", lambda d: prune(d.phases, d.buffers)),
    ("batch blocks", lambda d: batch_blocks(d.phases, d.buffers, d.fresh)),
    ("prune", lambda d: prune(d.phases, d.buffers)),
    (
        "registers",
        lambda d: promote(d.phases, d.buffers, d.fresh),
    ),  # when it is known which small arrays are left
    (
        "fixed places",
        lambda d: keep_fixed_places(
            d.phases, d.buffers, [name for name, _ in d.program.sizes], d.fresh
        ),
    ),  # when no pass moves elements any more
    (
        "memory of steps",
        lambda d: memory_of_steps(d.phases, d.buffers, [name for name, _ in d.program.sizes]),
    ),  # when it is known which of it is left
    (
        "distribute",
        lambda d: distribute(d.phases, d.buffers, d.fresh),
    ),  # when it is known what steps keep in registers
    (
        "choose stores",
        lambda d: choose_stores(d.phases, d.buffers),
    ),  # when loops are what they will be
    (
        "loops in turn",
        lambda d: loops_in_turn(d.phases, d.buffers, d.fresh),
    ),  # when it is known what loops compute, and before they stand twice
    (
        "split loops",
        lambda d: split_loops(d.phases, d.buffers, d.fresh),
    ),  # when no pass puts steps of several loops together any more
    (
        "rows abreast",
        lambda d: rows_abreast(d.phases, d.buffers, d.fresh),
    ),  # when it is known which loops are in order
    (
        "rows of powers",
        lambda d: rows_of_powers(d.phases, d.buffers, d.fresh),
    ),  # when loops have the powers that they ask for
    (
        "sound indices",
        lambda d: sound_indices(d.phases, d.buffers, d.fresh),
    ),  # when no pass reads bodies of loops any more
    (
        "collect steps",
        lambda d: collect_steps(
            d.phases, d.buffers, [name for name, _ in d.program.sizes], d.fresh
        ),
    ),  # when indices are sound; those of the steps are
    (
        "few places",
        lambda d: few_places(d.phases, d.buffers, [name for name, _ in d.program.sizes], d.fresh),
    ),  # when no pass reads bodies of loops any more, and before rows become tiles
    ("hoist", lambda d: hoist(d.phases, d.buffers)),  # when loops read no more than they will
    (
        "whole lines",
        lambda d: whole_lines(d.phases, d.buffers, d.fresh),
    ),  # when no pass asks for shapes any more
    ("tile", lambda d: tile(d.phases, d.fresh)),  # last: it cuts loops that other passes read
)
HOST_ONLY = frozenset(
    {
        "cut fills",
        "fuse copies",
        "join loops",
        "batch blocks",
        "fixed places",
        "memory of steps",
        "distribute",
        "choose stores",
        "collect steps",
        "few places",
        "loops in turn",
        "split loops",
        "rows abreast",
        "rows of powers",
        "sound indices",
        "hoist",
        "whole lines",
        "tile",
    }
)
"""What is for few threads with caches of their own."""


def run_pipeline(
    draft: Draft, device: bool, seen: Callable[[kernel.Program], None] | None = None
) -> kernel.Program:
    """The finished program: after the passes, with places in the arena. `seen` is shown the program
    after each step."""
    watching = seen is not None or EVERY_PASS[0]
    right: verify.Verified = {}

    def show(program: kernel.Program, known: verify.Verified | None = right) -> None:
        if EVERY_PASS[0]:
            verify.verify_program(program, known)
        if seen is not None:
            seen(program)

    if watching:
        show(draft.stage("nests"))
    names: list[str] = []
    for name, apply in PIPELINE:
        if device and name in HOST_ONLY:
            continue
        draft.phases = apply(draft)
        names.append(name)
        if watching:
            show(draft.stage(name))
    used, arena = plan(draft.phases, draft.buffers)
    program = replace(
        draft.program,
        buffers=tuple(used),
        phases=tuple(draft.phases),
        arena=arena,
        made_by=", ".join([*names, "places in the arena"]),
    )
    if watching:
        show(program, None)  # as a whole
    return program


__all__ = ["HOST_ONLY", "PIPELINE", "Draft", "run_pipeline"]
