"""An elementwise operation as someone adds one: a scalar function, the operation, a row of the op
table.

`tests/ops/test_adding_an_operation.py` shows that nothing else is needed; docs/adding tells where
each part belongs in the package.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special
from tracegrad.codegen.scalars import Scalar, add

from tests.cases import Case
from tracegrad.errors import DTypeError
from tracegrad.ops.elementwise.pointwise import pointwise
from tracegrad.ops.elementwise.special import sigmoid

# --- codegen/scalars/<family>.py ------------------------------------------------------------------


def _log_expit(x: Any) -> Any:
    """The logarithm of the logistic function, on one number."""
    return (x if x < 0 or x != x else 0.0) - math.log1p(math.exp(-abs(x)))


SCALAR = add(Scalar("log_expit", _log_expit, cost=50))

# --- tracegrad/ops/elementwise/<family>.py --------------------------------------------------------

log_expit_op = pointwise(
    "log_expit",
    ("x",),
    numpy=scipy.special.log_expit,
    code="log_expit({x})",
    partials=(lambda x: sigmoid(-x),),
    kinds="biuf",
    doc="The logarithm of the logistic function.",
)


def log_expit(x: Any) -> Any:
    """`log(1 / (1 + exp(-x)))`, accurate for very negative `x`."""
    return log_expit_op(x)


# --- tests/cases/elementwise.py -------------------------------------------------------------------

CASE = Case(
    "log_expit",
    log_expit,
    lambda rng: (rng.uniform(-3, 3, (2, 3)),),
    scipy.special.log_expit,
    ("log_expit",),
    special=(
        (np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 800.0, -800.0]),),
        (np.zeros((0, 3)),),
        (np.array([[0.25, -0.5]], np.float32),),
        (np.array([1, 2, 3]),),
        (0.5,),
    ),
    errors=(((np.array([1j]),), DTypeError, "not defined for complex128"),),
)
