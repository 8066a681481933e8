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

from . import autograd, ops, tensors, torch_names
from . import checks as _checks
from ._codegen import loading as _loading
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .config import default_dtype, set_default_dtype, use_deterministic_algorithms
from .dtypes import (
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .devices import Device as device  # noqa: N813 - used as a function, as in torch
from .errors import (
    ConcretizationError,
    DTypeError,
    EscapedValueError,
    ShapeError,
    TracegradError,
    UnsupportedFunctionError,
)
from .faces.numpy import results as _results
from .faces.printing import get_printoptions, printoptions, set_printoptions
from .tensor import Array, Tensor
from .tensors import tensor as tensor  # in place of the module of that name

if _typing.TYPE_CHECKING:
    from . import array_api as array_api
    from . import cuda as cuda
    from . import func as func
    from . import integrate as integrate
    from . import interfaces as interfaces
    from . import interpolate as interpolate
    from . import ndimage as ndimage
    from . import nn as nn
    from . import optim as optim
    from .bridges import jax as jax
    from .bridges import pytensor as pytensor
    from . import scale as scale
    from . import scipy as scipy
    from . import signal as signal
    from . import sparse as sparse
    from . import special as special
    from . import stats as stats
    from . import torch as torch
    from . import tree as tree
    from . import utils as utils
    from .autograd import functional as functional
    from .compiled.jit import jit
    from .compiled.plainly import disable_jit
    from .control.associative import associative_scan
    from .control.branch import cond, switch
    from .control.mapping import map
    from .control.repeat import fori_loop, while_loop
    from .control.scan import scan
    from .custom.rules import custom_jvp, custom_vjp, stop_gradient
    from .derivatives.checkpoint import checkpoint
    from .derivatives.forward import jvp, linearize
    from .derivatives.jacobians import hessian, jacfwd, jacobian, jacrev
    from .derivatives.reverse import grad, hvp, value_and_grad, vjp
    from .derivatives.vmap import vmap
    from .interfaces.library import load
    from .ops import *  # noqa: F403
    from .faces.numpy.results import *  # noqa: F403
    from .picture import graph_picture
    from .runtime.threads import get_num_threads, set_num_threads
    from .sparse.derivatives import (
        hessian_of_lagrangian,
        sparse_hessian,
        sparse_jacobian,
        sparsity,
    )
    from .solvers.custom_root import custom_root
    from .solvers.implicit import linear_solve
    from .solvers.minimize import minimize
    from .solvers.ode import odeint
    from .solvers.roots import fixed_point, root
    from .staging.printing import debug_print as debug_print
    from .tensors import *  # type: ignore[assignment]  # noqa: F403
    from .torch_names import *  # noqa: F403

    # In place of the rooms of the operations that have these names.
    from . import fft as fft  # type: ignore[no-redef]
    from . import linalg as linalg  # type: ignore[no-redef]

# What is loaded where it is first asked for: modules, and functions by the module that has them.
_MODULES = {
    "array_api": "array_api",
    "cuda": "cuda",
    "fft": "fft",
    "func": "func",
    "functional": "autograd.functional",
    "jax": "bridges.jax",
    "pytensor": "bridges.pytensor",
    "integrate": "integrate",
    "interfaces": "interfaces",
    "interpolate": "interpolate",
    "linalg": "linalg",
    "scale": "scale",
    "ndimage": "ndimage",
    "nn": "nn",
    "optim": "optim",
    "signal": "signal",
    "sparse": "sparse",
    "special": "special",
    "stats": "stats",
    "scipy": "scipy",
    "torch": "torch",  # for programs that are written in torch's words
    "tree": "tree",
    "utils": "utils",
}
_FUNCTIONS = {
    "compiled.jit": ("jit",),
    "compiled.plainly": ("disable_jit",),
    "control.associative": ("associative_scan",),
    "control.branch": ("cond", "switch"),
    "control.mapping": ("map",),
    "control.repeat": ("fori_loop", "while_loop"),
    "control.scan": ("scan",),
    "custom.rules": ("custom_jvp", "custom_vjp", "stop_gradient"),
    "derivatives.checkpoint": ("checkpoint",),
    "derivatives.forward": ("jvp", "linearize"),
    "derivatives.jacobians": ("hessian", "jacfwd", "jacobian", "jacrev"),
    "derivatives.reverse": ("grad", "hvp", "value_and_grad", "vjp"),
    "derivatives.vmap": ("vmap",),
    "interfaces.library": ("load",),
    "picture": ("graph_picture",),
    "sparse.derivatives": (
        "hessian_of_lagrangian",
        "sparse_hessian",
        "sparse_jacobian",
        "sparsity",
    ),
    "runtime.threads": ("get_num_threads", "set_num_threads"),
    "solvers.custom_root": ("custom_root",),
    "solvers.implicit": ("linear_solve",),
    "solvers.minimize": ("minimize",),
    "solvers.ode": ("odeint",),
    "solvers.roots": ("fixed_point", "root"),
    "staging.printing": ("debug_print",),
}
_LATE = {_name: _home for _home, _names in _FUNCTIONS.items() for _name in _names}

# What lists the rest, the first that has a name gives it: torch's names before NumPy's, functions
# that make Tensors and results that are the user's own before the operations themselves.
_LISTED = {
    _name: _space for _space in (ops, _results, tensors, torch_names) for _name in _space.__all__
}

_public = [_name for _name in globals() if not _name.startswith("_")]
_checks.publish(globals(), _public, _checks.OFTEN)
for _module in (autograd, autograd.forward_ad, autograd.graph):
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
    "disable_jit",
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
    "hessian_of_lagrangian",
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
    "load",
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
    "sparse_hessian",
    "sparse_jacobian",
    "sparsity",
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
            return globals().setdefault(name, _loading.load(f"{__name__}.{_MODULES[name]}"))
        if name in _LATE:
            home = _loading.load(f"{__name__}.{_LATE[name]}")
        elif name in _LISTED:
            home = _LISTED[name]
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = _checks.published(getattr(home, name), name, _checks.OFTEN)
        return globals().setdefault(name, found)

    @_checks.before_looking
    def _all_listed() -> None:
        for name in _LISTED:
            __getattr__(name)

    def __dir__() -> list[str]:
        hidden = {"jax", "pytensor", "scipy", "torch"}  # other libraries' names
        return sorted({*globals(), *_MODULES, *_LATE, *_LISTED} - hidden)
