"""What the families of special functions share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy

from ...dtypes import promote
from ...errors import UnsupportedFunctionError
from ...ir.lines import user_line
from ...ir.op import Op
from ..elementwise.pointwise import pointwise

REAL = "biuf"
Partial = Callable[..., Any]


def no_derivative(name: str, operand: str, names: tuple[str, ...]) -> Partial:
    """The partial derivative by an operand of which none is known in closed form: asked for, it is
    refused."""

    def refused(*_: Any) -> Any:
        raise UnsupportedFunctionError(
            f"{user_line()}: {name} has no derivative by {operand} here: it is no closed formula "
            f"of such functions. Keep {operand} constant (tg.stop_gradient), or give the call a "
            "derivative with tg.custom_jvp."
        )

    reads = names[0]
    made: Partial = eval(f"lambda {reads}: refused({reads})", {"refused": refused})
    return made


def alike(*operands: Any) -> list[Any]:
    """Python's numbers in the dtype of the others, as they are promoted with them: sums and
    products of them alone would be double precision."""
    kinds = [x.dtype for x in operands if getattr(x, "dtype", None) is not None]
    floats = [k for k in kinds if k.kind == "f"]
    if not floats:
        return list(operands)
    kind = promote(*kinds).type
    return [kind(x) if type(x) in (int, float) else x for x in operands]


def scipys(
    name: str,
    names: tuple[str, ...],
    partials: tuple[Partial | None, ...],
    doc: str,
    value: Callable[..., Any] | None = None,
    **facts: Any,
) -> Op:
    """SciPy's function of that name, or where that may not be called for all numbers a `value`;
    where a partial is None, asking for it is refused."""

    def scipys_value(*operands: Any) -> Any:
        return getattr(scipy.special, name)(*operands)

    return pointwise(
        name,
        names,
        numpy=value or scipys_value,
        code=f"{name}({', '.join('{' + n + '}' for n in names)})",
        partials=[
            no_derivative(f"special.{name}", n, names) if p is None else p
            for n, p in zip(names, partials, strict=True)
        ],
        domain="singular",
        kinds=REAL,
        doc=doc,
        **facts,
    )


def one_of(
    name: str,
    function: str,
    which: int,
    names: tuple[str, ...],
    partials: tuple[Partial | None, ...],
    **facts: Any,
) -> Op:
    """One of several results of a function of SciPy's, under a name of its own."""

    def value(*operands: Any) -> Any:
        return getattr(scipy.special, function)(*operands)[which]

    doc = f"Result {which} of scipy.special.{function}."
    return scipys(name, names, partials, doc, value, **facts)
