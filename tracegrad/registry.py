"""All operations by name: what the parser looks up."""

from __future__ import annotations

from .control import block, branch, call, host, repeat, scan_rules, show, sized
from .custom import function as custom_function
from .custom import rules as custom
from .ir.op import Op
from .ops import OPS, check
from .transforms import loop_tape

ALL_OPS: tuple[Op, ...] = (
    *OPS,
    *call.OPS,
    *block.OPS,
    *scan_rules.OPS,
    *branch.OPS,
    *check.OPS,
    *host.OPS,
    *show.OPS,
    *sized.OPS,
    *repeat.OPS,
    *loop_tape.OPS,
    *custom.OPS,
    *custom_function.OPS,
)
OPS_BY_NAME: dict[str, Op] = {op.name: op for op in ALL_OPS}
