"""tracegrad: JIT-compiled automatic differentiation of NumPy code by tracing and code generation.

Write a function with NumPy calls, and take its derivatives (`grad`, `jacobian`, `hessian`, ...), compile it (`jit`), or both in any
order. Or use Tensors and `backward()`, as in torch.
"""

from __future__ import annotations

import pathlib as _pathlib

# In a source checkout `codegen/` lies beside the package; an installed package has it inside.
if not (_pathlib.Path(__file__).parent / "codegen").is_dir():
    __path__.append(str(_pathlib.Path(__file__).parent.parent))

from . import autograd, ops
from .autograd import functional as functional
from .autograd.mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .control.scan import scan
from .custom import custom_jvp, custom_vjp, stop_gradient
from .derivatives import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, value_and_grad, vjp
from .errors import ConcretizationError, DTypeError, ShapeError, TracegradError, UnsupportedFunctionError
from .jit import jit
from .ops import *  # noqa: F403  (the public functions, listed in ops.__all__)
from .tensor import Array, Tensor
from .tensors import *  # noqa: F403  (constructors of Tensors, listed in tensors.__all__; they stand for their namesakes in ops)
from .vectorize import vmap

__version__ = "0.1.0"
__all__ = [
    "Array", "ConcretizationError", "DTypeError", "ShapeError", "Tensor", "TracegradError", "UnsupportedFunctionError", "autograd",
    "custom_jvp", "custom_vjp", "enable_grad", "grad", "hessian", "hvp", "is_grad_enabled", "jacfwd", "jacobian", "jacrev", "jit", "jvp",
    "linearize", "no_grad", "ops", "scan", "set_grad_enabled", "stop_gradient", "value_and_grad", "vjp", "vmap",
]
