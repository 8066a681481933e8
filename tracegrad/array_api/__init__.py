"""The Python array API standard (2024.12) over Tensors: what `x.__array_namespace__()` gives.

Libraries that take objects of the standard (SciPy with SCIPY_ARRAY_API=1, scikit-learn with
`array_api_dispatch`) then compute on Tensors, gradients included. All functions give Tensors.
`linalg` and `fft` are the standard's extensions. `python -m tracegrad docs array_api` says what is
different.

>>> import tracegrad as tg
>>> x = tg.tensor([3.0, 1.0, 2.0], requires_grad=True)
>>> xp = x.__array_namespace__()
>>> xp.sum(xp.sort(x, descending=True)[:2]).backward()
>>> x.grad
tensor([1., 0., 1.])
"""

from __future__ import annotations

from .. import checks as _checks
from . import fft, linalg
from .creation import *  # noqa: F403
from .creation import __all__ as _creation
from .elementwise import *  # noqa: F403
from .elementwise import __all__ as _elementwise
from .information import *  # noqa: F403
from .information import __all__ as _information
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *  # noqa: F403
from .manipulation import __all__ as _manipulation
from .totals import *  # noqa: F403
from .totals import __all__ as _totals

__array_api_version__ = "2024.12"

__all__ = [
    *_creation,
    *_elementwise,
    *_information,
    *_manipulation,
    *_totals,
    "__array_api_version__",
    "fft",
    "linalg",
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
]

for _module in (fft, linalg):
    _checks.publish(vars(_module), _module.__all__)
_checks.publish(globals(), [n for n in __all__ if n not in ("bool", "fft", "linalg")])
