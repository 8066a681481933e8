"""Compiled functions: traced once per signature, their graph compiled, native code from then on."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    overload,
)

import numpy as np

from .._codegen import options
from ..devices import IN_USE
from ..faces.certainty import see_in_order
from ..ir.dispatch import PROFILES, SPECIAL, STATE
from ..ir.graph import Var
from ..ir.recording import span
from ..labels import labelled, with_values
from ..sizes import Sizes
from ..staging.functions import is_dispatcher
from ..tape.mode import MODE
from ..tape.modes import restoring
from ..tensor import Boxed
from ..transforms.tracing import check_leaf, device_of, face_of, leaf_type, standing_of
from ..tree import flatten, input_names, orders, unflatten
from ..types import ArrayType
from .alone import alone, nested
from .callers import Caller, make_caller, steps_of
from .computing import Compute
from .effects import CHANGING, Waited, given_up, one_at_a_time, waiting_where_needed
from .entries import make_entry, split_static
from .entry import Entry
from .first_calls import measured
from .guards import MISS, Unfit
from .inspection import Found, Shown
from .kept import MOST_CALLERS, MOST_DERIVED, Kept
from .methods import bound
from .plainly import MARK, jit_is_disabled
from .signatures import Signature, Signatures
from .steps import PlainCall
from .symbolic_sizes import generalize
from .travelling import ONLY_OF_JITTED, Again, Options, Travelling

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")


class Jitted(Shown, Travelling, Generic[P, R]):
    """A compiled function; see `jit`. Type checkers see the parameters and result of the function
    that was given: `Jitted[[float, int], float]`."""

    function: Callable[P, R]
    static_argnames: tuple[str, ...]
    donated: tuple[str, ...]
    stage: bool | str
    code: options.CodeOptions
    """How it and what is derived from it are compiled."""
    _names: list[str]
    _positional: list[str]
    _signature: inspect.Signature | None

    def __init__(
        self,
        function: Callable[P, R],
        static_argnames: Sequence[str] = (),
        static_argnums: Sequence[int] = (),
        donate_argnums: Sequence[int] = (),
        stage: bool | str = "auto",
        code: options.CodeOptions = options.PLAIN,
    ) -> None:
        if not callable(function):
            raise TypeError(f"jit expects a function, got {type(function).__name__}")
        if is_dispatcher(function):
            function = function.py_func  # type: ignore[attr-defined]
        if stage not in (True, False, "auto"):
            raise ValueError(f"jit: stage is 'auto', True or False, not {stage!r:.60}")
        self._begin(function, Options(tuple(static_argnames), (), stage, code))
        parameters = dict(self._signature.parameters) if self._signature else {}
        names = self._names
        unknown = [n for n in self.static_argnames if self._signature and n not in names]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise TypeError(
                f"jit: static_argnames names {unknown}, "
                f"but {getattr(function, '__name__', function)} has the parameters {names}"
            )
        self.static_argnames += tuple(names[k] for k in static_argnums)
        if any(not 0 <= k < len(self._positional) for k in donate_argnums):
            raise TypeError(
                f"jit: donate_argnums is {tuple(donate_argnums)}, but there are the positional "
                f"parameters {self._positional}"
            )
        self.donated = tuple(self._positional[k] for k in donate_argnums)
        if fixed := set(self.donated) & set(self.static_argnames):
            raise TypeError(f"jit: {sorted(fixed)} cannot be both static and donated")

    def _begin(self, function: Callable[..., Any], options: Options) -> None:
        """A function with options that were looked at, of which nothing is compiled yet."""
        self.function = function
        self.static_argnames, self.donated, self.stage, self.code = options
        try:
            self._signature = inspect.signature(function)
        except (TypeError, ValueError):
            self._signature = None
        parameters = dict(self._signature.parameters) if self._signature else {}
        self._names = list(parameters)
        self._positional = [
            n
            for n, p in parameters.items()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        self._signatures = Signatures(function, self._trace, self._drop_callers, self._names_of)
        self._callers: tuple[Caller, ...] = ()
        self._known: dict[Any, Caller] = Kept()
        self._derived: dict[Any, Jitted[..., Any]] = Kept(MOST_DERIVED)
        self._fixed: dict[Any, Entry] = Kept(MOST_DERIVED)
        """Entries that no call made, for just the sizes of an example."""
        self._changes = False
        """Whether calls change what is around the function, so that one at a time may run."""
        self._owner: type | None = None
        """The class through which this method was looked up, as in `Model.loss(model, x)`."""
        functools.update_wrapper(self, function, updated=())
        others = getattr(function, "__dict__", {})
        for name in others.keys() - vars(self).keys() - ONLY_OF_JITTED.keys():
            vars(self)[name] = others[name]
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        place = getattr(function, "__qualname__", "").rpartition(".")[0]
        self._attribute = f"_jitted_{place}_{self.__name__}"
        """Where objects keep this method, with its class: it may call the one that it replaces."""

    def _options(self) -> Options:
        return Options(self.static_argnames, self.donated, self.stage, self.code)

    def __repr__(self) -> str:
        return f"<jitted {getattr(self.function, '__qualname__', self.function)}>"

    @overload
    def __get__(self, instance: None, owner: Any = None) -> Jitted[P, R]: ...

    @overload
    def __get__(
        self: Jitted[Concatenate[S, Q], R], instance: S, owner: Any = None
    ) -> Jitted[Q, R]: ...

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            self._owner = owner
            return self
        return (
            functools.partial(self, instance)
            if "self" in self.static_argnames
            else bound(self, instance)
        )

    # --- calls ------------------------------------------------------------------------------------

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if PROFILES and STATE.recorder is not None and STATE.recorder.takes():
            with span(f"{self.__name__} (compiled)", "call") as entry:
                result = self(*args, **kwargs)
                entry.produced(flatten(result)[0])
                return result
        if SPECIAL:
            if MARK in SPECIAL and jit_is_disabled():
                return self._as_written(args, kwargs)  # type: ignore[no-any-return]
            if STATE.traces:
                return self._call(args, kwargs)  # type: ignore[no-any-return]
        for caller in self._callers:
            found = caller(args, kwargs)
            if found is not MISS:
                return found  # type: ignore[no-any-return]
        return self._call(args, kwargs)  # type: ignore[no-any-return]

    def _as_written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call of the user's function itself."""
        function: Any = self.function
        given = with_values(args, kwargs)
        if given is None:
            return function(*args, **kwargs)
        return self._labelled(function(*given[0], **given[1]), args)

    def _labelled(self, result: Any, args: tuple[Any, ...]) -> Any:
        """A result for arguments with labels: gradients have them too."""
        gradients = vars(self).get("_gradients")
        return result if gradients is None else labelled(result, args, *gradients)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if (
            self._owner is not None
            and args
            and isinstance(args[0], self._owner)
            and "self" not in self.static_argnames
        ):
            return bound(self, args[0])(*args[1:], **kwargs)
        if (values := with_values(args, kwargs)) is not None:
            found: Any = self
            return self._labelled(found(*values[0], **values[1]), args)
        # Never waited for inside of a trace, which holds locks of its own.
        waited = self._changes and not STATE.traces
        with CHANGING if waited else contextlib.nullcontext():
            return self._run(args, kwargs, waited)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], waited: bool) -> Any:
        entry, leaves, spec, static, given = self._entry(args, kwargs)
        if (entry.changes or entry.stored) and not waited and not STATE.traces:
            # Known only since it was traced.
            self._changes = True
            return self._call(args, kwargs)
        if entry.traced.rests:
            see_in_order(self.__name__, entry.traced.rests, leaves)
        captured = entry.captured()
        if captured is None:
            with alone():
                self._signatures.forget(entry)
            return self._call(args, kwargs)
        if changed := entry.outdated(captured):
            with alone():
                entry = self._signatures.renew(entry, changed)
            captured = entry.captured() or entry.traced.captures
        call = PlainCall(entry, leaves, captured, given)
        if entry.steps:
            self._do(call, spec, static)
        else:
            with measured(entry.times, self.__name__):
                self._choose_steps(entry, spec, len(leaves), static)
                self._do(call, spec, static)
        return call.result

    def _do(self, call: PlainCall, spec: Any, static: Any) -> None:
        for step in call.entry.steps:
            step.do(call)
            if isinstance(step, Compute):
                # While everything still stands where the signature says: the steps that follow
                # change arguments.
                self._remember(call, step, spec, static)

    def _choose_steps(self, entry: Entry, spec: Any, count: int, static: Any) -> None:
        found: tuple[int, ...] = ()
        if self.donated:
            fixed = {place for place, _, _ in static}
            positions = [name for k, name in enumerate(self._positional) if k not in fixed]
            found = given_up(spec, count, positions, self.donated)
            entry.given_up = tuple(k for k in found if k not in entry.traced.writes)
        entry.steps = steps_of(entry, found)

    def _remember(self, call: PlainCall, step: Compute, spec: Any, static: Any) -> None:
        """Write the caller of a signature that was called for the first time."""
        entry, boxes = call.entry, any(isinstance(x, Boxed) for x in call.values)
        most = 4 * MOST_CALLERS if entry.graph.sizes.hints else MOST_CALLERS
        kinds = tuple(map(type, call.leaves))
        if (
            STATE.traces
            or (boxes and (STATE.levels or self.donated))
            or len(self._callers) >= most
            or kinds in entry.unfit
            or (compiled := step.code(call.values)) is None
        ):
            return
        key = (entry, compiled.layouts, tuple(entry.contents))
        if key in self._known:
            return
        try:
            tree = unflatten(spec, range(len(call.leaves)))
            leaves, free = call.leaves, self._free(tree[1])
            made = make_caller(
                entry, entry.steps, compiled, tree, static, leaves, call.values, free
            )
            made = one_at_a_time(made) if entry.changes or entry.stored else made
        except Unfit:
            entry.unfit.add(kinds)
            return
        with alone():
            self._known[key] = made
            # A size-generic one would take the arguments of the others, so it comes last.
            self._callers = (*self._callers, made) if compiled.symbols else (made, *self._callers)

    # --- signatures -------------------------------------------------------------------------------

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        with contextlib.suppress(Waited):
            return self._find(args, kwargs)
        self._changes = True
        with CHANGING:
            return self._find(args, kwargs)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        asked, found = self._asked(args, kwargs)
        with alone():
            inside = STATE.traces or any(
                isinstance(x, Boxed) and isinstance(x._data, Var) for x in found.leaves
            )
            entry = self._signatures.inside(asked) if inside else self._signatures.find(asked)
        return found._replace(entry=entry)

    def _entry_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], symbolic: bool
    ) -> tuple[Entry, list[Any]]:
        """The entry for just the sizes of these arguments, or one for all sizes of 2 and more,
        whatever calls came before; the leaves of the arguments."""
        return waiting_where_needed(lambda: self._alone_for(args, kwargs, symbolic))

    def _alone_for(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], symbolic: bool
    ) -> tuple[Entry, list[Any]]:
        asked, found = self._asked(args, kwargs)
        with alone():
            if symbolic:
                others = [tuple([s + 1 for s in t.shape]) for t in asked.types]
                types, sizes = generalize(asked.types, others)
                return self._trace(asked, types, sizes), found.leaves
            entry = self._known_for(asked)
            if entry is None:
                entry = self._fixed[asked] = self._trace(asked, asked.types, None)
            return entry, found.leaves

    def _known_for(self, asked: Signature) -> Entry | None:
        """The entry that there is for just these sizes."""
        for known in (self._signatures.entries.get(asked), self._fixed.get(asked)):
            if known is not None and known.holds() and not known.graph.sizes.hints:
                return known
        return None

    def _asked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Signature, Found]:
        """The signature of a call, and the call without its entry."""
        args, kwargs = with_values(args, kwargs) or (args, kwargs)
        args, kwargs, static = split_static(
            args, kwargs, self.static_argnames, self._positional, self.__name__
        )
        leaves, spec = flatten((args, kwargs))
        for x in leaves:
            check_leaf(
                x, f"jit: an argument of {getattr(self.function, '__name__', 'the function')} is"
            )
        leaves = [
            np.array(x, x.dtype.newbyteorder("="))
            if isinstance(x, np.ndarray) and not x.dtype.isnative
            else x
            for x in leaves
        ]
        asked = Signature(
            spec,
            tuple(leaf_type(x) for x in leaves),
            tuple(face_of(x) for x in leaves),
            static,
            device_of(leaves) if IN_USE else None,
            MODE.enabled,
            tuple(standing_of(x) for x in leaves),
            (*orders(args), *orders([kwargs[k] for k in sorted(kwargs)]), *self._free(kwargs)),
        )
        return asked, Found(None, leaves, spec, static, (args, kwargs))

    def _free(self, kwargs: dict[str, Any]) -> list[str]:
        """The keywords that are no parameters, whose order the function sees."""
        return [k for k in kwargs if k not in self._names] if len(kwargs) > 1 else []

    @restoring
    def _trace(self, asked: Signature, types: Sequence[ArrayType], sizes: Sizes | None) -> Entry:
        """The entry of a signature for these types, which may have symbolic sizes."""
        names = self._names_of(asked)
        times: dict[str, float] = {}
        with nested(self, tuple(types), self.__name__), measured(times, self.__name__):
            entry = make_entry(
                self.function,
                names,
                asked.spec,
                types,
                asked.faces,
                asked.static,
                sizes,
                asked.standing,
                asked.device,
                self.stage,
                self.code,
            )
        entry.times = times
        return entry

    def _names_of(self, asked: Signature) -> list[str]:
        return input_names(self._names, asked.spec, asked.static)

    def _drop_callers(self, entry: Entry) -> None:
        for key in [key for key in self._known if key[0] is entry]:
            made = self._known.pop(key)
            self._callers = tuple(c for c in self._callers if c is not made)

    def named(self, args: Sequence[Any], first: int) -> dict[str, Any]:
        """Positional arguments from number `first` on, by their names."""
        return dict(zip(self._positional[first:], args, strict=True))

    def derive(
        self, key: Any, make: Callable[[Callable[..., Any]], Callable[..., Any]], again: Again
    ) -> Jitted[..., Any]:
        """The jitted `make(function)`, made once per key: transforms of a jitted function are
        jitted. `again(self)` is the same transform."""
        derived = self._derived.get(key)
        if derived is None:
            made = make(self.function)
            functools.update_wrapper(made, self.function)
            made.__name__ = f"{getattr(self.function, '__name__', 'function')}_{key[0]}".replace(
                "<lambda>", "lambda_"
            )
            derived = likewise(self, made)
            derived._origin = again, (self,)
            derived.static_argnames = self.static_argnames
            derived._signature = self._signature
            derived._names, derived._positional = (
                (self._names, self._positional) if key[0] != "hvp" else (["x", "v"], [])
            )
            # Of two threads that ask at once both get the first one made.
            derived = self._derived.setdefault(key, derived)
        return derived


def likewise(
    jitted: Jitted[..., Any], function: Callable[..., Any], static_argnames: Sequence[str] = ()
) -> Jitted[..., Any]:
    """Another function, compiled in the same way."""
    return Jitted(function, static_argnames, stage=jitted.stage, code=jitted.code)


__all__ = ["Jitted", "likewise"]
