"""torch's namespace with torch's meaning and words: `import tracegrad.torch as torch`.

Functions at tracegrad's top level are NumPy's (`tg.max(x, 1)` is an array); here they are torch's:
`torch.max(x, 1)` is the pair of values and indices, `torch.std(x)` has Bessel's correction,
`torch.split(x, 2)` gives pieces of two. Tensors, modules, optimizers and transforms are the same
objects in both. `python -m tracegrad docs torch_compatibility` says what differs from torch itself.

>>> import tracegrad.torch as torch
>>> values, indices = torch.max(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), 1)
>>> values, indices
(tensor([5., 7.]), tensor([1, 0]))
>>> torch.split(torch.arange(5), 2)
(tensor([0, 1]), tensor([2, 3]), tensor([4]))
"""

from __future__ import annotations

from typing import Any

from .. import checks as _checks
from .. import cuda
from ..autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ..bridges.pytorch import wrap
from ..config import set_default_dtype, use_deterministic_algorithms
from ..devices import Device as device  # noqa: N813 - used as a function, as in torch
from ..dtypes import bool_ as bool
from ..dtypes import (
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
from ..dtypes import complex64 as cfloat
from ..dtypes import complex128 as cdouble
from ..dtypes import float32 as float
from ..dtypes import float64 as double
from ..dtypes import int16 as short
from ..dtypes import int32 as int
from ..dtypes import int64 as long
from ..faces.printing import set_printoptions
from ..func import vmap
from ..runtime.threads import get_num_threads, set_num_threads
from ..tensor import Tensor
from ..tensors import as_tensor, from_dlpack, from_numpy, tensor
from ..torch_names import Size, dtype, get_default_dtype, inf, is_tensor, nan, newaxis, pi
from . import (
    autograd,
    creation,
    distributions,
    factors,
    fft,
    func,
    joining,
    linalg,
    networks,
    nn,
    numbers,
    optim,
    random,
    signals,
    special,
    typed,
    utils,
)
from .creation import *  # noqa: F403
from .factors import *  # noqa: F403
from .joining import *  # noqa: F403
from .methods import FUNCTIONS
from .networks import *  # noqa: F403
from .numbers import *  # noqa: F403
from .random import Generator, default_generator, get_rng_state, manual_seed, seed, set_rng_state
from .serialization import load, save
from .signals import *  # noqa: F403
from .typed import *  # noqa: F403

e = 2.718281828459045
globals().update(FUNCTIONS)

_ABSENT = {
    "float16": "half precision is no dtype of this library; float32 is the smallest floating one",
    "half": "half precision is no dtype of this library; float32 is the smallest floating one",
    "bfloat16": "half precision is no dtype of this library; float32 is the smallest floating one",
    "HalfTensor": "half precision is no dtype of this library; use FloatTensor",
    "compile": "compile the whole training step, one function with zero_grad, forward, backward "
    "and the optimizer's step, with tracegrad.jit",
    "jit": "compile functions with tracegrad.jit",
    "multiprocessing": "tensors are not shared between processes",
    "distributed": "there is one process",
    "as_strided": "a Tensor is no window on a storage; take slices, x.unfold or x.expand",
    "sparse_coo_tensor": "all tensors are dense",
}


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(f"tracegrad.torch has no {name}: {_ABSENT[name]}")
    raise AttributeError(
        f"tracegrad.torch has no {name}; "
        "`python -m tracegrad docs torch_compatibility` lists what it has of torch"
    )


__all__ = [
    *FUNCTIONS,
    *creation.__all__,
    *factors.__all__,
    *joining.__all__,
    *networks.__all__,
    *numbers.__all__,
    *signals.__all__,
    *typed.__all__,
    "Generator",
    "Size",
    "Tensor",
    "as_tensor",
    "autograd",
    "bool",
    "cdouble",
    "cfloat",
    "complex64",
    "complex128",
    "cuda",
    "device",
    "distributions",
    "double",
    "dtype",
    "e",
    "enable_grad",
    "float",
    "float32",
    "fft",
    "float64",
    "from_dlpack",
    "from_numpy",
    "func",
    "get_default_dtype",
    "get_num_threads",
    "inf",
    "inference_mode",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "linalg",
    "long",
    "manual_seed",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "optim",
    "pi",
    "set_default_dtype",
    "set_grad_enabled",
    "set_num_threads",
    "set_printoptions",
    "short",
    "special",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_deterministic_algorithms",
    "default_generator",
    "get_rng_state",
    "load",
    "random",
    "save",
    "seed",
    "set_rng_state",
    "utils",
    "vmap",
    "wrap",
]

_often = frozenset(
    [
        "Size",
        "Tensor",
        "as_tensor",
        "cat",
        "concat",
        "concatenate",
        "device",
        "dtype",
        "full",
        "stack",
        "tensor",
        "where",
    ]
)
for _module in (
    creation, distributions, factors, fft, joining, linalg, networks, numbers, random, signals,
    special, typed, utils.data,
):  # fmt: skip
    _checks.publish(vars(_module), _module.__all__, _often)
_checks.publish(globals(), __all__, _often)
