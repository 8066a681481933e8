"""Anomaly detection: which operation of the forward pass is to blame when the backward pass fails
or makes a NaN.

While the mode is on in a thread, every node keeps the traceback of its operation, and every
gradient that a rule returns is looked at.
"""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from ..devices import to_host
from ..ir.dispatch import STATE, Value
from ..ir.trace import FOREIGN
from ..tape.mode import OfTask

NOTICE = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
    "enabled for debugging."
)


class _Anomaly(threading.local):
    """Whether the mode is on in this task, whether it looks for NaN, and the node whose rule
    runs."""

    enabled = OfTask(False)
    check_nan = OfTask(True)

    def __init__(self) -> None:
        self.running: Any = None


ANOMALY = _Anomaly()


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on in this task.

    >>> import tracegrad as tg
    >>> with tg.autograd.set_detect_anomaly(True):
    ...     tg.autograd.is_anomaly_enabled()
    True
    """
    return ANOMALY.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, also looks for NaN in gradients."""
    return ANOMALY.check_nan


def _switch(enabled: bool, check_nan: bool) -> None:
    special, created = STATE.special, STATE.created
    before = ANOMALY.enabled, ANOMALY.check_nan
    try:
        if enabled and not before[0]:
            STATE.special, STATE.created = special + 1, [*created, _remember]
        elif before[0] and not enabled:
            rest = [one for one in created if one is not _remember]
            STATE.special, STATE.created = special - 1, rest
        ANOMALY.enabled, ANOMALY.check_nan = enabled, check_nan
    except BaseException:  # Ctrl-C: the block is not entered, nor left
        ANOMALY.enabled, ANOMALY.check_nan = before
        STATE.special, STATE.created = special, created
        raise


class set_detect_anomaly:
    """Turn anomaly detection on or off in this task: at once when called as a function, for a block
    as a context manager.

    With `check_nan`, a gradient with a NaN is an error that names the operation.

    >>> import tracegrad as tg
    >>> x = tg.tensor([0.0, 1.0], requires_grad=True)
    >>> with tg.autograd.set_detect_anomaly(True):
    ...     y = x * 2
    >>> "y = x * 2" in y.grad_fn.metadata["traceback_"][-1]
    True
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = ANOMALY.enabled, ANOMALY.check_nan
        self.mode, self.check_nan = bool(mode), bool(check_nan)
        _switch(self.mode, self.check_nan)

    def __enter__(self) -> None:
        _switch(self.mode, self.check_nan)

    def __exit__(self, *exception: object) -> None:
        _switch(*self.before)


class detect_anomaly:
    """Detect anomalies in a block: where the backward pass fails, a warning shows the lines of the
    forward pass that are to blame, and with `check_nan` a gradient with a NaN is an error that
    names the operation.

    Both passes belong inside. Operations cost a few times as much meanwhile.

    >>> import warnings
    >>> import tracegrad as tg
    >>> x = tg.tensor([-1.0, 1.0], requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with tg.autograd.detect_anomaly():
    ...         x.sqrt().sum().backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = bool(check_nan)
        self.before: list[tuple[bool, bool]] = []
        warnings.warn(NOTICE, UserWarning, stacklevel=2)

    def __enter__(self) -> None:
        self.before.append((ANOMALY.enabled, ANOMALY.check_nan))
        _switch(True, self.check_nan)

    def __exit__(self, *exception: object) -> None:
        _switch(*self.before.pop())


# --- what it does ---------------------------------------------------------------------------------


def _remember(node: Any) -> None:
    """Keep where the node's operation stands in the user's program, and the node whose rule made
    it."""
    node.metadata["traceback_"] = user_frames()
    if ANOMALY.running is not None:
        node.metadata["parent_"] = ANOMALY.running


def user_frames() -> list[str]:
    """The frames of this thread outside the library and NumPy, outermost first, as tracebacks print
    them."""
    frame: FrameType | None = sys._getframe(1)
    found: list[traceback.FrameSummary] = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(FOREIGN):
            found.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name))
        frame = frame.f_back
    return traceback.StackSummary.from_list(found[::-1]).format()


def watched(apply: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """`apply(node, ...)`, which runs a node's rules, with an eye on what comes out."""

    def run(node: Any, *given: Any) -> list[Any]:
        outer, ANOMALY.running = ANOMALY.running, node
        try:
            gradients = apply(node, *given)
            if ANOMALY.check_nan:
                _look_for_nan(node, gradients)
        except Exception as error:
            _blame(node, error)
            raise
        finally:
            ANOMALY.running = outer
        return gradients

    return run


def _look_for_nan(node: Any, gradients: Sequence[Any]) -> None:
    for k, g in enumerate(gradients):
        data = to_host(g._data if isinstance(g, Value) else g)
        # A traced gradient has no numbers to look at.
        if (
            isinstance(data, (np.ndarray, np.generic, float, complex))
            and np.asarray(data).dtype.kind in "fc"
            and np.isnan(data).any()
        ):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {k}th output.")


def _blame(node: Any, error: Exception) -> None:
    """Warn about an error in a node's rule, with the forward lines that it belongs to."""
    text = f"Error detected in {node.name()}. "
    lines = node.metadata.get("traceback_")
    if lines is None:
        text += (
            "No forward pass information available. Enable detect anomaly during forward "
            "pass for more information."
        )
    else:
        text += "Traceback of forward call that caused the error:\n" + "".join(lines)
        while (node := node.metadata.get("parent_")) is not None:
            text += (
                "\n"
                f"Previous calculation was induced by {node.name()}. "
                "Traceback of forward call that induced the previous calculation:\n"
                f"{''.join(node.metadata.get('traceback_', []))}"
            )
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(FOREIGN):
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(text, UserWarning, stacklevel=level)
    except UserWarning:
        # Where warnings are errors, the error itself must still come through.
        error.add_note(text)
