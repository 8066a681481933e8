"""What a jitted function shows of itself: graphs, programs, source, memory, what it captured."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Generic, NamedTuple, TypeVar

from .._codegen import kernel, loading, text
from ..checks import flag
from ..ir.graph import Graph
from ..runtime.execute import Executable, executable_for
from ..runtime.plan import Memory
from ..runtime.standalone import numba_function
from ..staging.functions import function_of, version_of
from ..tensor import Boxed
from ..transforms.rewrite import optimize
from .explain import Explanation, explanation, python_loops
from .first_calls import measured
from .on_device import GraphOnDevice, placed
from .signatures import Signatures

Stage = TypeVar("Stage")


class Stages(Generic[Stage]):
    """What one signature is made into, stage by stage; prints as their text."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = tuple(stages)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.stages))

    __repr__ = __str__

    def __getitem__(self, k: int) -> Stage:
        return self.stages[k]

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def __len__(self) -> int:
        return len(self.stages)


class Graphs(Stages[Graph]):
    """The graphs of one signature: as traced, and after the passes. A notebook shows them drawn,
    with their text below."""

    def _repr_html_(self) -> str:
        draw = loading.load("tracegrad.picture").graph_picture
        parts = []
        for name, graph in zip(("as traced", "after the passes"), self.stages, strict=True):
            parts.append(
                f"<details open><summary>{escape(graph.name)} {name}: {len(graph.nodes)} "
                f"operations</summary>{draw(graph).svg}<details><summary>text</summary>"
                f"<pre>{escape(str(graph))}</pre></details></details>"
            )
        return "".join(parts)


@dataclass(frozen=True)
class AfterPass:
    """A program as one pass left it; prints as its text."""

    program: kernel.Program

    @property
    def name(self) -> str:
        """The pass."""
        return self.program.made_by.rpartition(", ")[2]

    def __str__(self) -> str:
        return text.program_text(self.program)


class Programs(Stages[AfterPass]):
    """The programs of one signature, after each pass over them."""


class Found(NamedTuple):
    """The signature of a call: what is kept of it, and what the call was given."""

    entry: Any
    leaves: list[Any]
    spec: Any
    static: Any
    given: tuple[Any, Any]
    """The arguments, positional and by keyword, without the static ones."""


class Shown:
    """The methods of a jitted function that show what became of it."""

    _signatures: Signatures
    function: Callable[..., Any]

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Found:
        raise NotImplementedError

    def staged(self, *args: Any, **kwargs: Any) -> str:
        """The function as it stands in its file, and as it is run where a traced value stops it;
        with arguments also what became of each of its loops for them, by lines of the file.

        The helpers `_tg` look at each call whether anything traced takes part; if not, they do what
        Python does. A function that cannot be rewritten says why.

        >>> import tracegrad as tg
        >>> print(tg.jit(len).staged())
        len is no Python function.
        """
        function = function_of(self.function)
        if function is None:
            return f"{getattr(self.function, '__name__', self.function)} is no Python function."
        version = version_of(function.__code__)
        if version.code is None:
            return f"{function.__name__} cannot be staged: {version.reason}."
        text = f"{textwrap.dedent(version.source).rstrip()}\n\n# staged:\n{version.text}"
        if not args and not kwargs:
            return text
        entry = self._entry(args, kwargs).entry
        optimized = optimize(entry.graph, tapes=entry.traced.device is None)
        lines = [f"# {line}: {what}" for line, what in python_loops(entry, optimized)]
        none = "# none was rewritten for these arguments: Python runs them as they are"
        return "\n".join([text, "", "# loops:", *(lines or [none])])

    def graphs(self, *args: Any, **kwargs: Any) -> Graphs:
        """The graph of this signature as traced, and after the passes.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> print(tg.jit(lambda x: np.sum(x * x)).graphs(np.ones(3))[1].nodes[0].op.name)
        mul
        """
        entry = self._entry(args, kwargs).entry
        return Graphs([entry.graph, optimize(entry.graph, tapes=entry.traced.device is None)])

    def programs(self, *args: Any, **kwargs: Any) -> Programs:
        """The loops that this signature is compiled to, after each pass over them; the last is what
        `source` prints.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> f = tg.jit(lambda x: np.sum(x * x))
        >>> [stage.name for stage in f.programs(np.ones(3))][:3]
        ['nests', 'resolve views', 'whole rows']
        >>> print(str(f.programs(np.ones(3))[-1]).splitlines()[1].strip())
        in x: float64[3]
        """
        made, values = self._executable(args, kwargs)
        return Programs([AfterPass(program) for program in made.programs(values)])

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated Python source for this signature; for arguments on a GPU that of the
        kernels, with what the host does in comments."""
        made, values = self._executable(args, kwargs)
        return made.source(values)

    def memory(self, *args: Any, **kwargs: Any) -> Memory:
        """What a call with these arguments takes of memory, in bytes, without making it.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> f = tg.jit(tg.grad(lambda x: tg.scan(lambda c, x: (np.sin(c) * x, None), 0.5, x)[0]))
        >>> [f.memory(np.ones(n)).temporaries // n for n in (10_000, 20_000)]
        [8, 8]
        """
        made, values = self._executable(args, kwargs)
        return made.memory(values)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What became of a call with these arguments: why it was traced (what of its signature is
        not as in the nearest one that was there before), what was fused into how many loops, which
        functions were staged, what the translator left to Numba, how long each stage of the first
        call took, and what a call takes of memory. The arguments are looked at, not computed with;
        what is not compiled yet is compiled now.

        The result has these as fields, prints as a table, and is shown as one by rich
        (`rich.print`) and by notebooks. To be told of each trace as it happens, listen to the
        logger "tracegrad.recompiles" (level INFO).

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> f = tg.jit(lambda x: np.sum(np.sin(x) * x))
        >>> f(np.ones(3)), f(np.ones((3, 2))) and None
        (np.float64(2.5244129544236893), None)
        >>> about = f.explain(np.ones((3, 2)))
        >>> print(about.reason)
        x is float64[3, 2], was float64[3]
        >>> about.nests, about.phases, about.staged, about.fallbacks
        (1, 1, (), ())
        """
        found = self._entry(args, kwargs)
        entry = found.entry
        with measured(entry.times, entry.graph.name):
            made, values = self._executable(args, kwargs)
            memory = made.memory(values)
            if isinstance(made, GraphOnDevice):
                program, graph = made.ready(values)[1].program, made.executable.graph
            else:
                arrays = [x._data if isinstance(x, Boxed) else x for x in values]
                program, graph = made.kernel_for(arrays).program, made.graph
        names = [v.name for v in entry.graph.inputs[: len(found.leaves)]]
        return explanation(
            self.function, entry, self._signatures, names, values, program, graph, memory
        )

    def _executable(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Executable | GraphOnDevice, list[Any]]:
        """What runs this signature where its arguments lie, and the operands."""
        entry, leaves, *_ = self._entry(args, kwargs)
        device = entry.traced.device
        values = [*leaves, *(entry.captured() or entry.traced.captures)]
        return (
            executable_for(entry.graph, entry.given_up)
            if device is None
            else placed(entry.graph, device)
        ), values

    def captures(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What the function reads without being given it: path -> value; of the signature of these
        arguments, or without any of all that were traced.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> scale = np.full(2, 3.0)
        >>> [*tg.jit(lambda x: scale * x).captures(np.ones(2)).values()]
        [array([3., 3.])]
        """
        found: dict[str, Any] = {}
        entries = [*self._signatures.entries.values()]
        if args or kwargs:
            entries = [self._entry(args, kwargs).entry]
        for entry in dict.fromkeys(entries):
            for k, (place, old) in enumerate(zip(entry.places, entry.traced.captures, strict=True)):
                found[place.path if place else f"constant {k}"] = place() if place else old
        return found

    @property
    def _numba_type_(self) -> Any:
        """What Numba asks of a global or an argument of `@njit` code."""
        raise TypeError(
            f"{getattr(self, '__name__', 'a function')} is jitted by tracegrad, and Numba cannot "
            "call it as it is: outside of the @njit function make one that it can, compiled = "
            "f.njit(*example), and call that inside"
        )

    def njit(
        self, *args: Any, captures: str | None = None, target: str = "cpu", **kwargs: Any
    ) -> Any:
        """The compiled function as a Numba dispatcher, for arguments of these dtypes, ranks and
        sizes.

        The result is called from Python or from your own `@njit` code with the same arguments in
        the same order (a tree of arguments is passed as its leaves): arrays in, arrays out; 0-d
        results are scalars; several results come as a tuple. It takes any memory layout, allocates
        its results, is safe in `prange`, and raises where a check fails. A function that reads
        arrays from its surroundings is refused unless `captures` is "freeze" (their present values
        become constants, as arrays that it makes itself are in any case) or "arguments" (they
        become further arguments, in the order of `f.captures()`). With `target="cuda"` it is a
        device function, which your own `@cuda.jit` kernels call: it takes the same arguments, then
        an array for each result that is one, which it fills, and returns the 0-d results; it does
        no checks. TracegradError for one whose calls change anything around it.
        """
        check_example(self, "njit", args or kwargs)
        entry, leaves, *_ = self._entry(args, kwargs)
        names = [p.path for p in entry.places if p]
        changing = bool(entry.changes or entry.stored or entry.traced.generators)
        around = entry.captured() or []
        return numba_function(
            entry.traced, entry.graph, names, leaves, around, captures, target, changing
        )

    def cfunc(self, *args: Any, signature: str = "plain", **options: Any) -> Any:
        """The compiled function as a C function, for arguments of these dtypes and shapes.

        signature   what C calls: "plain" (an int status, arguments and results by address), the
                    callbacks of SciPy ("quad", "generic_filter", ...), of IPOPT ("ipopt"), of
                    nutpie ("nutpie"), of solvers of differential equations ("lsoda", ...);
                    `tg.interfaces.SIGNATURES` says what each takes
        options     what the signature takes besides, as the `constraints` of "ipopt"

        The result has the `address`, and is a ctypes function (`ctypes`), a PyCapsule (`capsule`),
        a `scipy.LowLevelCallable` (`scipy`), and an argument for your own `@njit` functions. It
        runs no Python and may be called from several threads at once; memory that it needs is on
        the stack or kept for the next call. Arrays that the function reads around it are copied
        now. Raises TypeError where the function does not fit the signature.

        >>> import numpy as np
        >>> import tracegrad as tg
        >>> from scipy.integrate import quad
        >>> c = tg.grad(tg.jit(lambda x: np.sin(x) ** 3)).cfunc(0.5, signature="quad")
        >>> round(quad(c.scipy, 0.0, 1.0)[0] - np.sin(1.0) ** 3, 12)
        np.float64(0.0)
        """
        check_example(self, "cfunc", args)
        return _interfaces().cfunc(self, args, signature, options)

    def export(
        self,
        folder: Any,
        name: str,
        *args: Any,
        derivatives: Sequence[str] = ("value",),
        signatures: Sequence[str] = ("plain",),
        sizes: str = "fixed",
        cpu: str = "native",
        libraries: Sequence[str] = (),
        **options: Any,
    ) -> Any:
        """Write the compiled function and its derivatives as a library for C, for arguments of
        these dtypes and shapes: `name.h`, `name.so` (`.dylib`, `.dll`), `name_example.c`, and the
        object file; the path of the library. `tg.load` opens it.

        derivatives   of the plain form: "value" (called `name`), and "grad", "value_and_grad",
                      "jacobian", "hessian" (`name_grad`, ...) by the first argument
        signatures    "plain", those of `cfunc`, "casadi" (for `casadi.external`, with forward and
                      adjoint derivatives, Jacobian and Hessian), and "cnlp"
        sizes         "fixed", or "symbolic": sizes of 2 and more are the first arguments
        cpu           "native", or "x86-64-v2", "x86-64-v3", "x86-64-v4" for other machines
        libraries     names of BLAS and LAPACK for the linker, where matrices of more than 8 rows
                      are factorized
        options       what signatures take besides, as `constraints`

        The library needs neither Python nor NumPy. It takes a linker (a C compiler) to write:
        RuntimeError where there is none. TracegradError where the code calls what C has not.

        >>> import tracegrad as tg
        >>> tg.jit(lambda x: x).export("folder", "no name", 1.0)
        Traceback (most recent call last):
            ...
        ValueError: ...: name must be an identifier of C, not 'no name'
        """
        check_example(self, "export", args, "folder, name, ")
        return _interfaces().export(
            self, folder, name, args, derivatives, signatures, sizes, cpu, libraries, options
        )

    def last_status(self, clear: bool = False) -> Any:
        """Why a C function made of this one failed last in this thread (`code`, `message`,
        `error`); None where none has. `clear` forgets it."""
        flag("clear", clear)
        return _interfaces().last_status(self, clear)


def check_example(function: Any, method: str, given: Any, before: str = "") -> None:
    """A TypeError where what is made for example arguments was given none."""
    if given:
        return
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    asked = [p.name for p in parameters if p.default is p.empty and p.kind in (0, 1)]
    if asked:
        raise TypeError(
            f"{method} is made for the dtypes and sizes of example arguments, and was given none: "
            f"write f.{method}({before}{', '.join(asked)})"
        )


def _interfaces() -> Any:
    """The room above that makes C functions of jitted ones and of their derivatives."""
    return loading.load("tracegrad.interfaces")


__all__ = ["AfterPass", "Graphs", "Programs", "Shown", "Stages"]
