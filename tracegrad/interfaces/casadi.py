"""A function and its derivatives as CasADi's `external` reads them from a shared library.

A function has `int name(const double **arg, double **res, casadi_int *iw, double *w, int mem)`,
where a NULL among `arg` is zeros and one among `res` is not asked for, and others that tell names,
shapes and the sizes of `iw` and `w`. CasADi stores matrices column by column and takes derivatives
by name: `fwd1_f` and `adj1_f` have also the results of f, then seeds, as inputs; `jac_f` has the
blocks of the Jacobian, and that of `adj1_f` makes Hessians.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._codegen import c_function as c
from .._codegen import loading
from ..compiled.jitted import likewise
from ..derivatives.forward import jvp
from ..derivatives.jacobians import jacobian
from ..derivatives.reverse import vjp
from ..tree import flatten, unflatten
from .kernels import identifier, kernel_of
from .requests import Request

_WRAPPING = loading.imported("..codegen.native.c_wrapper", __package__)
Function = Callable[..., Any]


@dataclass(frozen=True)
class CasadiSlot:
    """An input or output: its name, its shape as a matrix, whether anything but zeros is in it."""

    name: str
    rows: int
    columns: int
    full: bool = True

    @property
    def sparsity(self) -> list[int]:
        """Compressed columns, as CasADi reads them."""
        if not self.full:
            return [self.rows, self.columns, *[0] * (self.columns + 1)]
        starts = [self.rows * k for k in range(self.columns + 1)]
        return [self.rows, self.columns, *starts, *(list(range(self.rows)) * self.columns)]


def parts_of(request: Request, parts: Any) -> None:
    """Add the function, its forward and adjoint derivative, its Jacobian, and that of the adjoint,
    to what a library is made of."""
    request.no_options()
    function = _by_columns(request)
    example = [_turned(np.asarray(x)) for x in flatten(request.args)[0]]
    kernel = request.kernel()
    given = [_slot(request, a, identifier(a.name)) for a in kernel.given]
    made = [_slot(request, a, f"o{k}") for k, a in enumerate(kernel.form.outputs)]
    results = [np.zeros(tuple(reversed(_fixed(a.shape)))) for a in kernel.form.outputs]
    m, n = len(made), len(given)
    name = request.name
    nominal = [CasadiSlot(f"out_{s.name}", s.rows, s.columns) for s in made]
    first = list(range(n))

    def forward(*all: Any) -> Any:
        return jvp(function, all[:n], all[n:])[1]

    def adjoint(*all: Any) -> Any:
        _, pull = vjp(function, *all[:n])
        return pull(tuple(all[n:]))

    fwd_seeds = [CasadiSlot(f"fwd_{s.name}", s.rows, s.columns) for s in given]
    adj_seeds = [CasadiSlot(f"adj_{s.name}", s.rows, s.columns) for s in made]
    fwd_made = [CasadiSlot(f"fwd_{s.name}", s.rows, s.columns) for s in made]
    adj_made = [CasadiSlot(f"adj_{s.name}", s.rows, s.columns) for s in given]
    seeds = list(range(n + m, n + m + m))
    add = _Adding(request, parts)
    add(name, function, example, first, given, made)
    fwd_at = list(range(n + m, n + m + n))
    head = [*given, *nominal]
    add(f"fwd1_{name}", forward, [*example, *example], first + fwd_at, head + fwd_seeds, fwd_made)
    add(f"adj1_{name}", adjoint, [*example, *results], first + seeds, head + adj_seeds, adj_made)
    add.jacobian(f"jac_{name}", function, example, first, head, given, made)
    add.jacobian(
        f"jac_adj1_{name}",
        adjoint,
        [*example, *results],
        first + seeds,
        [*head, *adj_seeds, *[CasadiSlot(f"out_{s.name}", s.rows, s.columns) for s in adj_made]],
        [*head, *adj_seeds],
        adj_made,
    )


class _Adding:
    def __init__(self, request: Request, parts: Any) -> None:
        self.request, self.parts = request, parts

    def __call__(
        self,
        name: str,
        function: Function,
        example: Sequence[Any],
        places: Sequence[int],
        inputs: Sequence[CasadiSlot],
        outputs: Sequence[CasadiSlot],
    ) -> None:
        """A function whose arguments are the inputs at these places, and whose results are the
        outputs that are full."""
        request = self.request

        def several(*all: Any) -> Any:
            return tuple(flatten(function(*all))[0])

        several.__name__ = name
        kernel = kernel_of(likewise(request.function, several), example, request.what)
        full = [k for k, slot in enumerate(outputs) if slot.full]
        made = c.CFunction(
            name,
            (
                c.CParameter("arg", "pointer", "const double **arg"),
                c.CParameter("res", "pointer", "double **res"),
                c.CParameter("iw", "pointer", "casadi_int *iw"),
                c.CParameter("w", "pointer", "double *w"),
                c.CParameter("mem", "int32", "int mem"),
            ),
            "status",
            kernel.places([c.At("arg", through=(k,), optional=True) for k in places]),
            tuple([c.At("res", through=(k,), optional=True) for k in full]),
            work="w",
            finite=False,
        )
        request.make(made, kernel)
        words = -(-(_WRAPPING.workspace(made, kernel.form) + 64) // 8)
        self._tell(name, inputs, outputs, words)

    def jacobian(
        self,
        name: str,
        function: Function,
        example: Sequence[Any],
        places: Sequence[int],
        inputs: Sequence[CasadiSlot],
        columns: Sequence[CasadiSlot],
        rows: Sequence[CasadiSlot],
    ) -> None:
        """The blocks of a Jacobian: results by row, arguments by column. By results that are passed
        beside the arguments there is no derivative."""
        count = len(example)
        slopes = jacobian(lambda *all: tuple(flatten(function(*all))[0]), tuple(range(count)))

        def blocks(*all: Any) -> Any:
            found = [flatten(row)[0] for row in slopes(*all)]
            return tuple(
                [
                    np.transpose(
                        np.reshape(block, (row.rows * row.columns, int(np.size(example[k]))))
                    )
                    for row, line in zip(rows, found, strict=True)
                    for k, block in enumerate(line)
                ]
            )

        made = [
            CasadiSlot(
                f"jac_{row.name}_{column.name}",
                row.rows * row.columns,
                column.rows * column.columns,
                k in places,
            )
            for row in rows
            for k, column in enumerate(columns)
        ]
        self(name, blocks, example, places, inputs, made)

    def _tell(
        self, name: str, inputs: Sequence[CasadiSlot], outputs: Sequence[CasadiSlot], words: int
    ) -> None:
        """The functions that tell of a function."""
        add = self.parts.add
        for direction, slots in (("in", inputs), ("out", outputs)):
            add(
                f"casadi_int {name}_n_{direction}(void)",
                f"{name}_n_{direction}",
                "how many",
                f"define i64 @{name}_n_{direction}() {{ ret i64 {len(slots)} }}\n",
            )
            add(
                f"const char *{name}_name_{direction}(casadi_int i)",
                f"{name}_name_{direction}",
                "what they are called",
                _table(f"{name}_name_{direction}", [_text(s.name) for s in slots]),
            )
            add(
                f"const casadi_int *{name}_sparsity_{direction}(casadi_int i)",
                f"{name}_sparsity_{direction}",
                "their shapes, in compressed columns",
                _table(f"{name}_sparsity_{direction}", [_words(s.sparsity) for s in slots]),
            )
        sizes = (len(inputs), len(outputs), 0, words)
        add(
            f"int {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, "
            "casadi_int *sz_w)",
            f"{name}_work",
            "the sizes of arg, res, iw and w",
            f"define i32 @{name}_work(ptr %a0, ptr %a1, ptr %a2, ptr %a3) {{\n  %own = alloca i64\n"
            + "".join(
                f"  %n{k} = icmp eq ptr %a{k}, null\n"
                f"  %p{k} = select i1 %n{k}, ptr %own, ptr %a{k}\n"
                f"  store i64 {size}, ptr %p{k}\n"
                for k, size in enumerate(sizes)
            )
            + "  ret i32 0\n}\n",
        )


def _text(text: str) -> str:
    content = text.encode() + b"\0"
    written = "".join(f"\\{b:02X}" for b in content)
    return f'[{len(content)} x i8] c"{written}"'


def _words(numbers: Sequence[int]) -> str:
    return f"[{len(numbers)} x i64] [{', '.join(f'i64 {n}' for n in numbers)}]"


def _table(name: str, constants: Sequence[str]) -> str:
    """A function from a number to the address of a constant, NULL for numbers that are none."""
    lines = [f"@{name}.{k} = internal constant {text}" for k, text in enumerate(constants)]
    count = len(constants)
    pointers = ", ".join(f"ptr @{name}.{k}" for k in range(count))
    lines.append(f"@{name}.all = internal constant [{count + 1} x ptr] [{pointers}, ptr null]")
    return (
        "\n".join(lines)
        + f"\ndefine ptr @{name}(i64 %i) {{\n"
        + f"  %known = icmp ult i64 %i, {count}\n"
        + f"  %k = select i1 %known, i64 %i, i64 {count}\n"
        + f"  %at = getelementptr ptr, ptr @{name}.all, i64 %k\n"
        + "  %found = load ptr, ptr %at\n  ret ptr %found\n}\n"
    )


def _turned(x: Any) -> Any:
    return np.transpose(x) if x.ndim == 2 else x


def _by_columns(request: Request) -> Function:
    """The function of its leaves, where matrices are transposed: these in rows have the elements of
    the others in columns."""
    function, (_, spec) = request.function, flatten(request.args)

    def by_columns(*all: Any) -> Any:
        made = function(*unflatten(spec, [_turned(x) if np.ndim(x) else x for x in all]))
        return tuple([_turned(x) if np.ndim(x) else x for x in flatten(made)[0]])

    return by_columns


def _slot(request: Request, array: Any, name: str) -> CasadiSlot:
    if array.dtype != np.float64 or len(array.shape) > 2:
        request.refuse(
            f"CasADi takes matrices of float64, and {name} is {array.dtype}{list(array.shape)}"
        )
    rows, columns = (*_fixed(array.shape), 1, 1)[:2]
    return CasadiSlot(name, rows, columns)


def _fixed(shape: Sequence[Any]) -> tuple[int, ...]:
    return tuple([int(s) for s in shape])


__all__ = ["CasadiSlot", "parts_of"]
