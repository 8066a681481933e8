"""Lambert's function, with SciPy's name."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from ...checks import describe
from ...errors import DTypeError, UnsupportedFunctionError
from ...ir.dispatch import Value, bind
from ...ir.lines import user_line
from ...ir.op import Op
from ..define import as_array
from ..elementwise.arithmetic import div, neg
from ..elementwise.derived import add, convert
from ..elementwise.elementary import exp
from ..elementwise.pointwise import pointwise


def _value(z: Any, *, k: int) -> Any:
    return np.asarray(scipy.special.lambertw(z, k), z.dtype)


lambertw_op: Op = pointwise(
    "lambertw",
    ("z",),
    numpy=_value,
    code=lambda p: f"lambertw({{z}}, {p['k']})",
    # From w exp(w) = z, and finite at z = 0 (DLMF 4.13.4).
    partials=(lambda out: div(exp(neg(out)), add(out, 1.0)),),
    domain="singular",
    kinds="c",
    cost=400,
    doc="The w with w exp(w) = z, on the branch k.",
)


def lambertw(z: Any, k: int = 0, tol: float = 1e-8) -> Any:
    """Lambert's function, the w with `w * exp(w) = z` on the branch k, an integer: a complex128, as
    SciPy's. For real z the real part of k = 0 (from -1/e on) or of k = -1 (from -1/e to 0) is what
    is meant. Its derivative, by implicit differentiation (DLMF 4.13.4), is infinite at z = -1/e,
    where these two meet. `tol` is there for SciPy's sake, and has no effect.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> complex(tg.special.lambertw(np.e)).real
    1.0
    >>> float(tg.grad(lambda x: tg.special.lambertw(x).real)(0.0))
    1.0
    """
    if isinstance(k, Value):
        raise UnsupportedFunctionError(
            f"{user_line()}: special.lambertw: the branch k is traced or differentiated; it must "
            "be a known integer"
        )
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool):
        raise DTypeError(
            f"special.lambertw: the branch k is {describe(k)}; it must be one integer (call it "
            "for each branch)"
        )
    z = as_array(z)
    if z.dtype != np.complex128:
        z = convert(z, np.complex128)
    return bind(lambertw_op, [z], {"k": int(k)})


OPS = (lambertw_op,)
__all__ = ["lambertw"]
