"""Where the time goes: a profile of operations, backward nodes, compiling and compiled calls, with
torch's interface."""

from __future__ import annotations

import contextlib
import threading
import warnings
from typing import Any, Self

from ..checks import OFTEN, publish
from ..ir.dispatch import PROFILES, STATE
from ..ir.recording import Recorder, span
from .profile_events import EventList, FunctionEvent, FunctionEventAvg, events_of

UNFINISHED = (
    "the profile is not finished: read it after its `with` block (and it must not be "
    "made with enabled=False)"
)


class profile:
    """Records what happens in this thread inside a `with` block, and how long it takes.

    Recorded are operations run eagerly (`mul`), nodes of the tape when `backward` or `grad` runs
    them (`MulBackward0`), calls of jitted functions (`loss (compiled)`), the stages of compiling
    one (`loss: trace`, `derive`, `partition`, `optimize`, `schedule`, `print`, then `compile`, or
    `load` where the disk cache had it), and parts of the program inside `record_function`. Times
    are wall time; writing an entry down takes 2.5 to 4 us (with_stack: 14), part of which is own
    time of the enclosing event. Profiles may be nested.

    record_shapes: keep the shapes of operations' inputs, for
    `key_averages(group_by_input_shape=True)`. with_stack: keep the lines of the program that led
    there, the library's own left out; a backward node has those of its operation. profile_memory:
    count the bytes of results that are no views. What is freed is not subtracted, and what an
    operation needs while it runs is not seen. with_flops: count the additions and multiplications
    of `matmul` and of elementwise arithmetic. use_device, use_cuda: there is no other device than
    the CPU; asking for one warns. The remaining arguments are torch's, have no meaning here and are
    ignored.

    >>> import tracegrad as tg
    >>> x = tg.ones(3, requires_grad=True)
    >>> with tg.autograd.profiler.profile() as prof:
    ...     x.exp().sum().backward()
    >>> [event.name for event in prof.function_events if event.cpu_parent is None]
    ['exp', 'sum', 'SumBackward0', 'ExpBackward0', 'AccumulateGrad']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        if use_cuda or use_device not in (None, "cpu"):
            warnings.warn(
                f"profile: there is no device {use_device or 'cuda'}; "
                "tracegrad runs on the CPU, which is recorded",
                UserWarning,
                stacklevel=2,
            )
        self.enabled = bool(enabled) and use_cpu
        self.record_shapes = record_shapes or with_flops
        self.with_flops, self.profile_memory, self.with_stack = (
            with_flops,
            profile_memory,
            with_stack,
        )
        self._recorder: Recorder | None = None
        self._outer: tuple[bool, bool, bool, bool] = (False, False, False, False)
        self._first = 0
        self._entered = False
        self._events: EventList | None = None

    def __enter__(self) -> Self:
        if self._entered:
            raise RuntimeError(
                "Profiler context manager is not reentrant: "
                "make a new profile() for each `with` block"
            )
        self._entered = True
        if self.enabled:
            if STATE.recorder is None:
                STATE.recorder = Recorder(threading.get_ident())
            log: Recorder = STATE.recorder
            self._recorder, self._first = log, len(log.entries)
            # Nested profiles share one log, which holds what any of them asks for.
            self._outer = log.shapes, log.stacks, log.memory, log.flops
            log.shapes |= self.record_shapes
            log.stacks |= self.with_stack
            log.memory |= self.profile_memory
            log.flops |= self.with_flops
            PROFILES.append(self)
            STATE.special += 1
        return self

    def __exit__(self, *exception: object) -> None:
        log = self._recorder
        if log is None:
            return
        PROFILES.remove(self)
        STATE.special -= 1
        log.shapes, log.stacks, log.memory, log.flops = self._outer
        log.end_open()
        made = events_of(log.entries[self._first :])
        self._events = EventList(made, memory=self.profile_memory, flops=self.with_flops)
        self._recorder = None
        if not any(p._recorder is log for p in PROFILES):
            STATE.recorder = None

    def __repr__(self) -> str:
        return (
            "<unfinished tracegrad.autograd.profiler.profile>"
            if self._events is None
            else repr(self._events)
        )

    def __str__(self) -> str:
        return repr(self) if self._events is None else self._events.table()

    @property
    def function_events(self) -> EventList:
        """All events, in order of their start."""
        if self._events is None:
            raise RuntimeError(UNFINISHED)
        return self._events

    @property
    def self_cpu_time_total(self) -> float:
        """The time spent in what was recorded, in microseconds."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """One row for each name; see `EventList.key_averages`."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """Everything as one row."""
        return self.function_events.total_average()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """All events as text; see `EventList.table`, and `key_averages().table()` for one row for
        each name."""
        widths = max_src_column_width, max_name_column_width, max_shapes_column_width
        return self.function_events.table(
            sort_by, row_limit, *widths, header, top_level_events_only
        )

    def export_chrome_trace(
        self, path: str, metadata: dict[str, Any] | None = None, use_python_export: bool = False
    ) -> None:
        """Write a file that chrome://tracing and Perfetto open; `metadata` stands in it beside the
        events."""
        self.function_events.write_trace(path, metadata or {})

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph."""
        self.function_events.export_stacks(path, metric)


class record_function(contextlib.ContextDecorator):
    """A part of the program under a name of its own: a `with` block, or each call of a decorated
    function.

    `args` is shown behind the name, as `name(args)`. Without an open profile it does nothing.

    >>> import tracegrad as tg
    >>> @tg.autograd.profiler.record_function("double")
    ... def double(x):
    ...     return x * 2
    >>> with tg.autograd.profiler.profile() as prof:
    ...     y = double(tg.ones(2))
    >>> [(event.name, len(event.cpu_children)) for event in prof.function_events]
    [('double', 1), ('mul', 0)]
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"record_function: the name is a {type(name).__name__}; "
                "write @record_function('name') or record_function('name')"
            )
        self.name, self.args = name, args

    def _recreate_cm(self) -> Self:
        return type(self)(self.name, self.args)

    def __enter__(self) -> Self:
        self._span = span(self.name if self.args is None else f"{self.name}({self.args})", "user")
        self._span.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._span.__exit__(*exception)


__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]

publish(globals(), __all__, OFTEN)
