"""tracegrad: JIT-compiled automatic differentiation of NumPy code by tracing and code generation.

Write a function with NumPy calls, and take its derivatives (`grad`, `jacobian`, `hessian`, ...),
compile it (`jit`), or both in any order. Or use Tensors and `backward()`, as in torch.
"""

from __future__ import annotations

import pathlib as _pathlib
import typing as _typing

# In a source checkout `codegen/` lies beside the package; an installed package has it inside.
if not (_pathlib.Path(__file__).parent / "codegen").is_dir():
    __path__.append(str(_pathlib.Path(__file__).parent.parent))

from . import autograd, cuda, ops, utils
from . import checks as _checks
from ._codegen import alone as _alone
from .autograd.grad_mode import (
    enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    set_grad_enabled,
)
from .derivatives.checkpoint import checkpoint
from .config import default_dtype, set_default_dtype, use_deterministic_algorithms
from .control.associative import associative_scan
from .control.branch import cond, switch
from .control.mapping import map
from .control.repeat import fori_loop, while_loop
from .control.scan import scan

# Sets what autograd.Function does inside of a trace.
from .custom import function as _function  # noqa: F401
from .custom.rules import custom_jvp, custom_vjp, stop_gradient
from .derivatives.reverse import grad, hvp, value_and_grad, vjp
from .derivatives.jacobians import hessian, jacfwd, jacobian, jacrev
from .dtypes import (
    bool_, complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16,
    uint32, uint64,
)
from .devices import Device as device  # noqa: N813 - used as a function, as in torch
from .errors import (
    ConcretizationError, DTypeError, EscapedValueError, ShapeError, TracegradError,
    UnsupportedFunctionError,
)
from .faces.printing import get_printoptions, printoptions, set_printoptions
from .derivatives.forward import jvp, linearize
from .compiled.jitted import jit
from .runtime.threads import get_num_threads, set_num_threads
from .ops import *  # noqa: F403  (the public functions, listed in ops.__all__)
from .faces.numpy.results import *  # noqa: F403  (these take the place of their namesakes in ops)
from .tensor import Array, Tensor

# Constructors of Tensors, listed in tensors.__all__; they take the place of their namesakes in ops.
from .tensors import *  # type: ignore[assignment]  # noqa: F403
from .torch_names import *  # noqa: F403
from .derivatives.vmap import vmap

if _typing.TYPE_CHECKING:
    from . import func as func
    from . import nn as nn
    from . import optim as optim
    from .autograd import functional as functional
    from .picture import graph_picture
    from .solvers.custom_root import custom_root
    from .solvers.implicit import linear_solve
    from .solvers.minimize import minimize
    from .solvers.ode import odeint
    from .solvers.roots import fixed_point, root

# What is loaded where it is first asked for: modules, and functions with the module that has them.
_MODULES = {
    "func": "func",
    "functional": "autograd.functional",
    "nn": "nn",
    "optim": "optim",
    "torch": "torch",  # for programs that are written in torch's words
}
_FUNCTIONS = {
    "custom_root": "solvers.custom_root",
    "fixed_point": "solvers.roots",
    "graph_picture": "picture",
    "linear_solve": "solvers.implicit",
    "minimize": "solvers.minimize",
    "odeint": "solvers.ode",
    "root": "solvers.roots",
}

_public = [_name for _name in globals() if not _name.startswith("_")]
_checks.publish(globals(), _public, _checks.OFTEN)
for _module in (ops.linalg, autograd, autograd.forward_ad, autograd.graph, utils.checkpoint, cuda):
    _checks.publish(vars(_module), _module.__all__, _checks.OFTEN)
_checks.check_methods(Tensor, _checks.OFTEN)

__version__ = "0.1.0"
__all__ = [
    "Array",
    "ConcretizationError",
    "DTypeError",
    "EscapedValueError",
    "ShapeError",
    "Tensor",
    "TracegradError",
    "UnsupportedFunctionError",
    "associative_scan",
    "autograd",
    "bool_",
    "checkpoint",
    "complex64",
    "complex128",
    "cond",
    "cuda",
    "custom_jvp",
    "custom_root",
    "custom_vjp",
    "default_dtype",
    "device",
    "enable_grad",
    "fixed_point",
    "float32",
    "float64",
    "fori_loop",
    "get_num_threads",
    "get_printoptions",
    "grad",
    "graph_picture",
    "hessian",
    "hvp",
    "inference_mode",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_solve",
    "linearize",
    "map",
    "minimize",
    "nn",
    "no_grad",
    "odeint",
    "ops",
    "optim",
    "printoptions",
    "root",
    "scan",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "stop_gradient",
    "switch",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_deterministic_algorithms",
    "utils",
    "value_and_grad",
    "vjp",
    "vmap",
    "while_loop",
]

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            found = {name: _alone.load(f"{__name__}.{_MODULES[name]}")}
        elif name in _FUNCTIONS:
            found = {name: getattr(_alone.load(f"{__name__}.{_FUNCTIONS[name]}"), name)}
            _checks.publish(found, [name], _checks.OFTEN)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return globals().setdefault(name, found[name])

    def __dir__() -> list[str]:
        return sorted({*globals(), *_MODULES, *_FUNCTIONS} - {"torch"})
