"""tracegrad: JIT-compiled automatic differentiation of NumPy code by tracing and code generation.

Write a function with NumPy calls, and take its derivatives (`grad`, `jacobian`, `hessian`, ...), compile it (`jit`), or both in any
order. Or use Tensors and `backward()`, as in torch.
"""

from __future__ import annotations

import importlib as _importlib
import pathlib as _pathlib
from typing import TYPE_CHECKING as _TYPE_CHECKING

# In a source checkout `codegen/` lies beside the package; an installed package has it inside.
if not (_pathlib.Path(__file__).parent / "codegen").is_dir():
    __path__.append(str(_pathlib.Path(__file__).parent.parent))

from . import autograd, cuda, nn, ops, optim, utils
from . import checks as _checks
from . import func as func
from .autograd import functional as functional
from .autograd.grad_mode import enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from .derivatives.checkpoint import checkpoint
from .config import default_dtype, set_default_dtype, use_deterministic_algorithms
from .control.associative import associative_scan
from .control.branch import cond, switch
from .control.mapping import map
from .control.repeat import fori_loop, while_loop
from .control.scan import scan
from .custom import function as _function  # noqa: F401  (sets what autograd.Function does inside of a trace)
from .custom.rules import custom_jvp, custom_vjp, stop_gradient
from .derivatives.reverse import grad, hessian, hvp, jacfwd, jacobian, jacrev, value_and_grad, vjp
from .dtypes import bool_, complex64, complex128, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64
from .devices import Device as device  # noqa: N813 - used as a function, as in torch
from .errors import ConcretizationError, DTypeError, EscapedValueError, ShapeError, TracegradError, UnsupportedFunctionError
from .faces.printing import get_printoptions, printoptions, set_printoptions
from .derivatives.forward import jvp, linearize
from .compiled.jitted import jit
from .picture import graph_picture
from .runtime.threads import get_num_threads, set_num_threads
from .ops import *  # noqa: F403  (the public functions, listed in ops.__all__)
from .faces.results import *  # noqa: F403  (these take the place of their namesakes in ops)
from .solvers.custom_root import custom_root
from .solvers.implicit import linear_solve
from .solvers.minimize import minimize
from .solvers.ode import odeint
from .solvers.roots import fixed_point, root
from .tensor import Array, Tensor

# Constructors of Tensors, listed in tensors.__all__; they take the place of their namesakes in ops.
from .tensors import *  # type: ignore[assignment]  # noqa: F403
from .torch_names import *  # noqa: F403
from .derivatives.vmap import vmap

# The failure paths. What an eager program calls all the time has them in the checks that such functions share, and no call more.
_often = frozenset(
    [
        "Array",
        "Boxed",
        "Node",
        "Tensor",
        "add",
        "as_tensor",
        "bmm",
        "broadcast_to",
        "clamp",
        "clip",
        "clone",
        "convert",
        "detach",
        "device",
        "dot",
        "enable_grad",
        "expand",
        "flatten",
        "getitem",
        "inference_mode",
        "is_tensor",
        "matmul",
        "mean",
        "mm",
        "mv",
        "no_grad",
        "numel",
        "ones",
        "permute",
        "relu",
        "requires_grad_",
        "reshape",
        "set_grad_enabled",
        "sigmoid",
        "silu",
        "size",
        "squeeze",
        "stride",
        "sub",
        "sum",
        "t",
        "tanh",
        "tensor",
        "to",
        "transpose",
        "unsqueeze",
        "view",
        "where",
        "zeros",
        "arange",
        "empty",
        "full",
    ]
)
_checks.publish(globals(), [_name for _name in globals() if not _name.startswith("_")], _often)
for _module in (
    ops.linalg,
    func,
    nn,
    nn.functional,
    nn.init,
    nn.utils,
    optim,
    optim.lr_scheduler,
    autograd,
    autograd.functional,
    autograd.forward_ad,
    autograd.graph,
    autograd.profiler,
    utils.checkpoint,
    cuda,
):
    _checks.publish(vars(_module), _module.__all__, _often)
_checks.check_methods(Tensor, _often)

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

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "torch":
            # Loaded where it is asked for: torch's namespace is for programs that are written in torch's words.
            return _importlib.import_module("tracegrad.torch")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
