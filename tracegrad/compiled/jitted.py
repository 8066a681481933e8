"""`jit`: trace a function once per signature, compile the graph, and call native code from then on."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._codegen import integers
from ..autograd.grad_mode import set_grad_enabled
from ..autograd.mode import MODE
from ..control.call import call_op, settled
from ..devices import IN_USE, Device
from ..errors import TracegradError
from ..ir.dispatch import PROFILES, SPECIAL, STATE, bind
from ..ir.graph import Var
from ..ir.recording import span
from ..runtime.execute import Executable, executable_for
from ..runtime.plan import Memory
from ..runtime.standalone import numba_function
from ..surroundings.captures import Entry
from ..tensor import Boxed, Tensor
from ..transforms.rewrite import optimize
from ..transforms.tracing import check_leaf, device_of, face_of, leaf_type, standing_of
from ..tree import flatten, unflatten
from ..types import ArrayType, Sizes
from .alone import alone, nested
from .callers import MISS, Caller, Unfit
from .effects import (
    CHANGING,
    Waited,
    as_they_are,
    carry_out,
    check_donated,
    check_overlap,
    given_up,
    one_at_a_time,
    result_of,
    set_flags,
    write_back,
)
from .entries import Graphs, input_names, make_entry, split_static, warn_of_changes
from .kept import MOST_CALLERS, MOST_DERIVED, MOST_ENTRIES, MOST_FORMER, MOST_GENERIC, Kept
from .on_device import Placed, operands, placed, run
from .symbolic_sizes import fits, generalize
from .tape_callers import caller_of, kernel_of

LOG = logging.getLogger("tracegrad")


class Jitted:
    """A compiled function; see `jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnames: Sequence[str] = (),
        static_argnums: Sequence[int] = (),
        donate_argnums: Sequence[int] = (),
        checked: bool = True,
    ) -> None:
        if not callable(function):
            raise TypeError(f"jit expects a function, got {type(function).__name__}")
        self.function, self.checked = function, checked
        self.static_argnames = tuple(static_argnames)
        try:
            self._signature: inspect.Signature | None = inspect.signature(function)
        except (TypeError, ValueError):
            self._signature = None
        parameters = dict(self._signature.parameters) if self._signature else {}
        self._names = names = list(parameters)
        unknown = [n for n in self.static_argnames if self._signature and n not in names]
        if unknown and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise TypeError(
                f"jit: static_argnames names {unknown}, but {getattr(function, '__name__', function)} has the parameters {names}"
            )
        self.static_argnames += tuple(names[k] for k in static_argnums)
        self._positional = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if any(not 0 <= k < len(self._positional) for k in donate_argnums):
            raise TypeError(f"jit: donate_argnums is {tuple(donate_argnums)}, but there are the positional parameters {self._positional}")
        self.donated = tuple(self._positional[k] for k in donate_argnums)
        if fixed := set(self.donated) & set(self.static_argnames):
            raise TypeError(f"jit: {sorted(fixed)} cannot be both static and donated")
        self._entries: dict[Any, Entry] = {}
        self._former: dict[Any, list[Entry]] = Kept()
        """Entries that other surroundings replaced, latest last."""
        self._symbolic: dict[Any, list[Entry]] = Kept()
        self._first: dict[Any, tuple[tuple[Any, ...], ...]] = Kept()
        self._retraced: dict[Any, int] = Kept()
        """How often the surroundings of a signature were others."""
        self._concrete: dict[Any, str] = Kept()
        """Signatures whose function cannot be traced with symbolic sizes, and why."""
        self._callers: tuple[Caller, ...] = ()
        self._known: dict[Any, Caller | None] = Kept()
        self._derived: dict[Any, Jitted] = Kept(MOST_DERIVED)
        self._changes = False
        """Whether calls change what is around the function, so that one at a time may run."""
        self._reads_grads = False
        """Whether signatures differ by which arguments have a `.grad`: only for functions that were seen to look."""
        self._owner: type | None = None
        """The class through which this method was looked up, as in `Model.loss(model, x)`."""
        functools.update_wrapper(self, function, updated=())
        vars(self).update({**getattr(function, "__dict__", {}), **vars(self)})
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __repr__(self) -> str:
        return f"<jitted {getattr(self.function, '__qualname__', self.function)}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            self._owner = owner
            return self
        return functools.partial(self, instance) if "self" in self.static_argnames else _bound(self, instance)

    # --- calls -------------------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if PROFILES and STATE.recorder is not None and STATE.recorder.takes():
            with span(f"{self.__name__} (compiled)", "call") as entry:
                result = self(*args, **kwargs)
                entry.produced(flatten(result)[0])
                return result
        if not (SPECIAL and STATE.traces):
            for caller in self._callers:
                found = caller(args, kwargs)
                if found is not MISS:
                    return found
        return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._owner is not None and args and isinstance(args[0], self._owner) and "self" not in self.static_argnames:
            return _bound(self, args[0])(*args[1:], **kwargs)
        # Never waited for inside of a trace, which holds locks of its own.
        alone = self._changes and not STATE.traces
        with CHANGING if alone else contextlib.nullcontext():
            return self._run(args, kwargs, alone)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any], alone: bool) -> Any:
        entry, leaves, spec, static = self._entry(args, kwargs)
        if (entry.changes or entry.stored) and not alone and not STATE.traces:
            # Known only since it was traced.
            self._changes = True
            return self._call(args, kwargs)
        captured = entry.captured()
        if captured is None:
            self._forget(entry)
            return self._call(args, kwargs)
        if changed := entry.outdated(captured):
            entry = self._renew(entry, changed)
            captured = entry.captured() or entry.traced.captures
        traced = entry.traced
        values = [*leaves, *[leaves[k]._grad for k in traced.grads], *captured]
        if traced.device is not None and not STATE.traces:
            values = list(operands(entry.graph, values, len(leaves), traced.device))
        for k in traced.writes:
            check_overlap(values, k, entry.graph.inputs[k].name or f"number {k}")
        if self.donated:
            fixed = {place for place, _, _ in static}
            positions = [name for k, name in enumerate(self._positional) if k not in fixed]
            found = given_up(spec, len(leaves), positions, self.donated)
            check_donated(values, found, [v.name for v in entry.graph.inputs])
            entry.given_up = tuple(k for k in found if k not in traced.writes)
        changes = entry.changed(leaves) if entry.changes else []
        set_flags(changes)
        if any(isinstance(x, Boxed) for x in values) or STATE.traces:
            with set_grad_enabled(MODE.enabled and "live" in traced.history):
                outs = bind(call_op, as_they_are(values, entry, changes), {"graph": entry.graph})
            outs = [*map(settled, outs, traced.history), *outs[len(traced.history) :]]
            if not STATE.traces and not STATE.levels and not self.donated and traced.device is None:
                self._remember(entry, spec, static, leaves, values)
        elif traced.device is not None:
            outs = [Tensor(x) for x in run(entry.graph, values, traced.device)]
        else:
            if entry.executable is None:
                entry.executable = executable_for(entry.graph, entry.given_up)
            outs = entry.executable(values)
            self._remember(entry, spec, static, leaves, values)
        count = len(traced.out_boxed)
        for k, new in zip(traced.writes, outs[count:], strict=False):
            write_back(leaves[k], new)
        if changes:
            carry_out(changes, outs[count + len(traced.writes) :])
        if entry.stored:
            entry.store(outs, split_static(args, kwargs, self.static_argnames, self._positional, "jit")[:2])
        for generator, counter in zip(traced.generators, outs[len(traced.history) :], strict=True):
            generator.store(counter)
        return unflatten(traced.out_spec, [result_of(o) for o in outs[:count]])

    def _remember(self, entry: Entry, spec: Any, static: Any, leaves: Sequence[Any], values: Sequence[Any]) -> None:
        """Write the caller of a signature that was called for the first time."""
        compiled = kernel_of(entry, values)
        if compiled is None or len(self._callers) >= (4 * MOST_CALLERS if compiled.symbols else MOST_CALLERS):
            return
        key = (entry, compiled.layouts, tuple(entry.contents))
        if key in self._known:
            return
        try:
            made = caller_of(entry, compiled, unflatten(spec, range(len(leaves))), static, leaves, values)
            made = one_at_a_time(made) if entry.changes or entry.stored else made
        except Unfit:
            self._known[key] = None
            return
        with alone():
            self._known[key] = made
            # A size-generic one would take the arguments of the others, so it comes last.
            self._callers = (*self._callers, made) if compiled.symbols else (made, *self._callers)

    # --- signatures --------------------------------------------------------------------------------------------------------------

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any], Any, Any]:
        with contextlib.suppress(Waited):
            return self._find(args, kwargs)
        self._changes = True
        with CHANGING:
            return self._find(args, kwargs)

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any], Any, Any]:
        args, kwargs, static = split_static(args, kwargs, self.static_argnames, self._positional, self.__name__)
        leaves, spec = flatten((args, kwargs))
        for x in leaves:
            check_leaf(x, f"jit: an argument of {getattr(self.function, '__name__', 'the function')} is")
        leaves = [np.array(x, x.dtype.newbyteorder("=")) if isinstance(x, np.ndarray) and not x.dtype.isnative else x for x in leaves]
        types = tuple(leaf_type(x) for x in leaves)
        faces = tuple(face_of(x) for x in leaves)
        standing = tuple(standing_of(x) for x in leaves)
        shown = standing if self._reads_grads else tuple(s._replace(grad=False) for s in standing)
        grad = MODE.enabled
        device = device_of(leaves) if IN_USE else None
        key = (spec, types, faces, static, device, grad, shown)
        with alone():
            if STATE.traces or any(isinstance(x, Boxed) and isinstance(x._data, Var) for x in leaves):
                return self._inside(key, standing), leaves, spec, static
            entry = self._entries.get(key)
            if entry is not None and not entry.holds():
                entry = self._former_entry(key, entry)
            if entry is not None and entry.holds():
                return entry, leaves, spec, static
            rank_key = (spec, tuple((t.dtype, t.ndim, t.weak) for t in types), faces, static, device, grad, shown)
            for candidate in self._symbolic.get(rank_key, ()):
                if fits(candidate, types) and candidate.holds():
                    self._keep(key, candidate)
                    return candidate, leaves, spec, static
            first = self._first.get(rank_key)
            if first is None or entry is not None:
                self._first.setdefault(rank_key, tuple(t.shape for t in types))
                if entry is not None:
                    self._retraced[key] = self._retraced.get(key, 0) + 1
                    warn_of_changes(self.function, entry, self._retraced[key])
                entry = self._trace(spec, types, faces, static, None, standing, device)
                self._keep((*key[:-1], standing) if entry.traced.reads_grads else key, entry)
                return entry, leaves, spec, static
            (symbolic, sizes), generic = generalize(types, first), None
            reason = self._concrete.get(rank_key)
            if symbolic != types and reason is None:
                try:
                    generic = self._trace(spec, symbolic, faces, static, sizes, standing, device)
                except (TypeError, ValueError, TracegradError, NotImplementedError) as error:
                    # What NumPy or the function does with a size that is no plain int; an error of the function itself comes again.
                    reason = f"{type(error).__name__}: {error}"
            if generic is None:
                entry = self._trace(spec, types, faces, static, None, standing, device)
                self._keep((*key[:-1], standing) if entry.traced.reads_grads else key, entry)
                if reason is not None and rank_key not in self._concrete:
                    self._concrete[rank_key] = reason
                    LOG.info("%s is compiled for each size by itself: %s", self.__name__, reason)
                return entry, leaves, spec, static
            entry = generic
            if entry.traced.reads_grads:
                key, rank_key = (*key[:-1], standing), (*rank_key[:-1], standing)
            found = self._symbolic.setdefault(rank_key, [])
            found.append(entry)
            if len(found) > MOST_GENERIC:
                self._drop_callers(found.pop(0))
            self._keep(key, entry)
            return entry, leaves, spec, static

    def _inside(self, key: Any, standing: Any) -> Entry:
        """The entry for a call inside of a trace: for the very sizes that the values have there. What was traced with symbols of its own
        does not do, and what is traced for symbols of that trace does nowhere else."""
        spec, types, faces, static, device = key[:5]
        outer = STATE.traces[-1] if STATE.traces else None
        symbolic = any(isinstance(s, integers.Integer) for t in types for s in t.shape)
        known = self._entries
        if outer is not None and symbolic:
            known = next(t for t in STATE.traces if t.sizes is outer.sizes).entries.setdefault(self, {})
        entry = known.get((key, "inside"))
        if entry is None or not entry.holds():
            entry = self._trace(spec, types, faces, static, None, standing, device)
            if entry.traced.reads_grads:
                self._reads_grads, key = True, (*key[:-1], standing)
            known[key, "inside"] = entry
            self._make_room()
        return entry

    def _former_entry(self, key: Any, entry: Entry) -> Entry:
        """The entry of a signature whose surroundings are again what they were, in the place of that in use; that itself where there is none."""
        former = self._former.setdefault(key, [])
        found = next((e for e in former if e.holds()), None)
        if found is not None:
            former.remove(found)
            self._entries[key] = found
        former.append(entry)
        while len(former) > MOST_FORMER:
            self._drop_callers(former.pop(0))
        return found or entry

    def _keep(self, key: Any, entry: Entry) -> None:
        """Keep a signature; the oldest goes where there are too many."""
        self._reads_grads |= entry.traced.reads_grads
        self._entries[key] = entry
        self._make_room()

    def _make_room(self) -> None:
        if len(self._entries) > MOST_ENTRIES:
            key = next(iter(self._entries))
            for gone in (self._entries.pop(key), *self._former.pop(key, ())):
                if gone not in self._entries.values() and not any(gone in found for found in self._symbolic.values()):
                    self._drop_callers(gone)

    def _trace(
        self, spec: Any, types: Sequence[ArrayType], faces: Any, static: Any, sizes: Sizes | None, standing: Any, device: Device | None
    ) -> Entry:
        names = input_names(self._names, spec, static)
        with nested(self, tuple(types), self.__name__):
            return make_entry(self.function, names, spec, types, faces, static, sizes, standing, device, self.checked)

    def _renew(self, entry: Entry, changed: Sequence[int]) -> Entry:
        """What to call after captured arrays changed: the entry itself if its graph does not depend on them, else a new one."""
        with alone():
            fresh = entry.again()
            self._drop_callers(entry)
            if not entry.views and entry.same_graph(fresh):
                # Compared from now on with what they are now.
                entry.contents.update({k: fresh.contents[k] for k in changed if k in fresh.contents})
                entry.trust(changed)
                return entry
            for key in [k for k, e in self._entries.items() if e is entry]:
                self._entries[key] = fresh
            for found in self._symbolic.values():
                found[:] = [fresh if e is entry else e for e in found]
            return fresh

    def _forget(self, entry: Entry) -> None:
        with alone():
            for k in [k for k, e in self._entries.items() if e is entry]:
                del self._entries[k]
            self._drop_callers(entry)
            for found in (*self._symbolic.values(), *self._former.values()):
                if entry in found:
                    found.remove(entry)

    def _drop_callers(self, entry: Entry) -> None:
        for key in [key for key in self._known if key[0] is entry]:
            made = self._known.pop(key)
            self._callers = tuple(c for c in self._callers if c is not made)

    # --- what it was compiled to -------------------------------------------------------------------------------------------------

    def graphs(self, *args: Any, **kwargs: Any) -> Graphs:
        """The graph of this signature as traced, and after the passes.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> print(tg.jit(lambda x: np.sum(x * x)).graphs(np.ones(3))[1].nodes[0].op.name)
        mul
        """
        entry = self._entry(args, kwargs)[0]
        return Graphs([entry.graph, optimize(entry.graph, tapes=entry.traced.device is None)])

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python source for this signature; for arguments on a GPU that of the kernels, with what the host does in comments."""
        made, values = self._executable(args, kwargs)
        return made.source(values)

    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """What a call with these arguments takes of memory, in bytes, without making it.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> f = tg.jit(tg.grad(lambda x: tg.scan(lambda c, x: (np.sin(c) * x, None), 0.5, x)[0]))
        >>> f.memory(np.ones(1000)).temporaries // 1000, f.memory(np.ones(2000)).temporaries // 2000
        (8, 8)
        """
        made, values = self._executable(args, kwargs)
        return made.memory(values)

    def _executable(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Executable | Placed, list[Any]]:
        """What runs this signature where its arguments lie, and the operands."""
        entry, leaves, _, _ = self._entry(args, kwargs)
        device = entry.traced.device
        values = [*leaves, *(entry.captured() or entry.traced.captures)]
        return (executable_for(entry.graph) if device is None else placed(entry.graph, device)), values

    def captures(self) -> dict[str, Any]:
        """What the traced signatures read without being given it: path -> value."""
        found: dict[str, Any] = {}
        for entry in dict.fromkeys([*self._entries.values()]):
            for k, (place, old) in enumerate(zip(entry.places, entry.traced.captures, strict=True)):
                found[place.path if place else f"constant {k}"] = place() if place else old
        return found

    def njit(self, *args: Any, captures: str | None = None, target: str = "cpu", **kwargs: Any) -> Any:
        """The compiled function as a Numba dispatcher, for arguments of these dtypes, ranks and sizes (docs/calling_convention.md).

        The result is called from Python or from your own `@njit` code with the same arguments in the same order (a tree of arguments
        is passed as its leaves): arrays in, arrays out; 0-d results are scalars; several results come as a tuple. It takes any memory
        layout, allocates its results, is safe in `prange`, and raises where a check fails.
        A function that reads arrays from its surroundings is refused unless `captures` is "freeze" (their present values become
        constants) or "arguments" (they become further arguments, in the order of `f.captures()`).
        With `target="cuda"` it is a device function, which your own `@cuda.jit` kernels call: it takes the same arguments, then an array for
        each result that is one, which it fills, and returns the 0-d results; it does no checks.
        """
        entry, leaves, _, _ = self._entry(args, kwargs)
        names = [p.path if p else "a constant array" for p in entry.places]
        return numba_function(entry.traced, entry.graph, names, leaves, entry.captured() or [], captures, target)

    def named(self, args: Sequence[Any], first: int) -> dict[str, Any]:
        """Positional arguments from number `first` on, by their names."""
        return dict(zip(self._positional[first:], args, strict=True))

    def derive(self, key: Any, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Jitted:
        """The jitted `make(function)`, made once per key: transforms of a jitted function are jitted."""
        if key not in self._derived:
            made = make(self.function)
            functools.update_wrapper(made, self.function)
            made.__name__ = f"{getattr(self.function, '__name__', 'function')}_{key[0]}".replace("<lambda>", "lambda_")
            derived = Jitted(made, checked=self.checked)
            derived.static_argnames = self.static_argnames
            derived._signature = self._signature
            derived._names, derived._positional = (self._names, self._positional) if key[0] != "hvp" else (["x", "v"], [])
            self._derived[key] = derived
        return self._derived[key]


def _bound(jitted: Jitted, instance: Any) -> Any:
    """A jitted method: one compiled function per instance, which it keeps while the instance lives."""
    name = f"_jitted_{jitted.__name__}"
    own = vars(instance).get(name) if hasattr(instance, "__dict__") else None
    if own is None:
        own = Jitted(jitted.function.__get__(instance), jitted.static_argnames, checked=jitted.checked)
        own.donated = jitted.donated
        if hasattr(instance, "__dict__"):
            object.__setattr__(instance, name, own)
    return own


def jit(
    function: Any = None,
    *,
    static_argnames: Sequence[str] | str = (),
    static_argnums: Sequence[int] | int = (),
    donate_argnums: Sequence[int] | int = (),
    checked: bool = True,
) -> Any:
    """Compile a function of arrays. Use it as a decorator, with or without parentheses.

    The function is traced for each new signature (structure of the arguments; dtype and shape of each array; a second size makes a
    size-generic version) and compiled to one native function; later calls go straight there. Arguments are trees of arrays and
    numbers; those named in `static_argnames` (or numbered in `static_argnums`) are passed as they are, must be hashable, and a new
    value compiles anew. Arrays and Tensors that the function reads from its surroundings are implicit inputs, read again at each
    call; so are those of modules and optimizers (`nn`, `optim`), around the function or among its arguments. Writes to an argument
    (`x[0] = 1.0`), to Tensors around the function and to their `.grad` reach the caller's objects.

    The arrays below the positional arguments numbered in `donate_argnums` are given up: a result of the same dtype and shape may take
    their memory, and what they hold after the call is not defined. It does where each element is read for the last time when that of the
    result is written, as in `w - 0.1 * gradient` with the gradient computed before; elsewhere nothing changes. Such an array must be
    writeable, own its memory (no view) and share it with no other argument, else the call raises ValueError.

    An index that is out of range when the function runs is an IndexError, as eagerly, which the call raises when the function has ended and
    before anything around it is changed. With `checked=False` such an index means the nearest place instead, and nothing is raised; of
    functions that call each other the outermost decides.

    Results equal the eager ones: arrays in, arrays out (Tensors if any input is a Tensor). Derivatives (`tg.grad(f)`, ...) of
    a jitted function are jitted. Raises ConcretizationError where the function asks a traced array for its value.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> @tg.jit
    ... def f(x):
    ...     return np.sum(np.sin(x) ** 2)
    >>> round(f(np.arange(4.0)), 6)
    np.float64(1.55481)
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    donated = (donate_argnums,) if isinstance(donate_argnums, int) else tuple(donate_argnums)
    if function is None:
        return lambda f: jit(f, static_argnames=names, static_argnums=numbers, donate_argnums=donated, checked=checked)
    if isinstance(function, Jitted):
        same = not names and not numbers and not donated and checked == function.checked
        return function if same else Jitted(function.function, names, numbers, donated, checked)
    return Jitted(function, names, numbers, donated, checked)


__all__ = ["Graphs", "Jitted", "jit"]
