"""What the forward rule of a `custom_vjp` leaves for the backward rule: kept from when the function
was called, since what the rule reads around it may be written to before the derivative is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..checks import describe
from ..devices import DeviceArray
from ..ir import upward
from ..ir.dispatch import STATE, Value, current, data_of
from ..ir.graph import Var
from ..ir.trace import Trace
from ..tape.lent import lend
from ..tape.rule_reads import READS, as_it_runs
from ..tape.saved import Saved, unpack
from ..tensor import Boxed
from ..tree import flatten, unflatten

CLOSE = 1e-5
"""Up to so much, relative to the largest entry, two runs of a rule may differ."""


class Residuals:
    """The residuals of one use, as they were."""

    def __init__(self, name: str, tree: Any) -> None:
        self.name = name
        leaves, self.spec = flatten(tree)
        self.kept = [(None, _traced(x), 0) if STATE.traces else _saved(x) for x in leaves]

    def opened(self, tracked: bool) -> Any:
        """The tree: a RuntimeError where a Tensor in it was written to."""
        leaves = [_opened(one) for one in self.kept]
        if not tracked:
            leaves = [x._untracked() if isinstance(x, Boxed) else x for x in leaves]
        return unflatten(self.spec, leaves)

    def compare(self, tree: Any) -> None:
        """A RuntimeError where a second run of the rule, on values with a history, gives others."""
        leaves, spec = flatten(tree)
        if spec != self.spec or any(
            _differ(_opened(one), x) for one, x in zip(self.kept, leaves, strict=True)
        ):
            raise RuntimeError(
                f"{self.name}: the forward rule, which runs again for a derivative of its "
                "derivative, gives other residuals than when the function was called: what it "
                "reads around it was written to since, or is random. Pass that as an argument."
            )


_OF_TRACES: WeakKeyDictionary[Trace, dict[int, Residuals]] = WeakKeyDictionary()
"""Of uses in open traces, by the identity of the use."""


def residuals_of(use: Any, inputs: Sequence[Any]) -> Any:
    """What the user's forward rule leaves for these inputs."""
    given = use.custom.forward(*use.arguments(inputs))
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(
            f"{use}: the forward rule must return a pair (result, residuals), "
            f"it returned {describe(given)}"
        )
    return given[1]


def keep(use: Any, leaves: Sequence[Any]) -> None:
    """Run the forward rule of a use, and keep what it leaves: in a trace until that is done."""
    custom = use.custom
    if custom in READS.running:
        return  # the rule calls the function itself
    with as_it_runs(custom):
        tree = residuals_of(use, leaves if STATE.traces else [_value_of(x) for x in leaves])
    residuals = Residuals(custom.__name__, tree)
    if STATE.traces:
        _OF_TRACES.setdefault(STATE.traces[-1], {})[id(use)] = residuals
    else:
        use.residuals = residuals


def _value_of(x: Any) -> Any:
    """An argument as the rule gets it outside of traces: what lies on a device in a box."""
    data = data_of(x)
    return upward.FACES.box(data, None, 0) if type(data) is DeviceArray else data


def kept(use: Any) -> Residuals | None:
    """The residuals of a use that was where it is asked for."""
    if STATE.traces:
        return _OF_TRACES.get(STATE.traces[-1], {}).get(id(use))
    found: Residuals | None = use.residuals
    return found


def _traced(x: Any) -> Any:
    """A leaf as the trace has it now, which sees to it that an array of NumPy stays as it is."""
    trace = STATE.traces[-1]
    if isinstance(x, Boxed):
        current(x)
        return x._alias() if isinstance(x._data, Var) else x._captured(trace)
    if type(x) is np.ndarray:
        trace.lift(x)
    return x


def _saved(x: Any) -> Saved:
    if not isinstance(x, Boxed):
        return lend(x)
    current(x)
    box = x._alias()
    return box, box._data, box._version_counter[0] if box.boxes_everything else 0


def _opened(one: Saved) -> Any:
    box, data, _ = one
    if isinstance(box, Value):
        unpack(one, False)  # which looks whether it was written to
        return box
    return data if box is None else unpack(one, False)


def _differ(x: Any, y: Any) -> bool:
    x, y = (a._data if isinstance(a, Boxed) else a for a in (x, y))
    if not all(isinstance(a, (np.ndarray, np.generic, int, float, complex)) for a in (x, y)):
        return False
    x, y = np.asarray(x), np.asarray(y)
    if x.shape != y.shape:
        return True
    if x.dtype.kind not in "fc":
        return not np.array_equal(x, y)
    scale = np.max(np.abs(x), initial=0.0, where=np.isfinite(x))
    return not np.allclose(y, x, rtol=CLOSE, atol=CLOSE * float(scale), equal_nan=True)
