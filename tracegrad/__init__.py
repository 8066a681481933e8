"""tracegrad: JIT-compiled automatic differentiation of NumPy code by tracing and code generation."""

from __future__ import annotations

import pathlib as _pathlib

# In a source checkout `codegen/` lies beside the package; an installed package has it inside.
if not (_pathlib.Path(__file__).parent / "codegen").is_dir():
    __path__.append(str(_pathlib.Path(__file__).parent.parent))

from . import ops
from .tensor import Array, Tensor

__version__ = "0.1.0"
__all__ = ["Array", "Tensor", "ops"]
