"""Functions of torch's namespace that are methods of Tensors: `torch.max(x, 1)` is `x.max(1)`.

What torch's functions have beyond the methods is added here once for all of them: `out=`, NumPy's
words `axis` and `keepdims`, names of parameters that differ, and numbers as the first operand of
functions of two.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops
from ..autograd.grad_mode import is_grad_enabled
from ..checks import has_failure_path
from ..dtypes import of_another_library
from ..ir.dispatch import Value
from ..tensor import Boxed, Tensor

_NAMES = """
abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin
aminmax angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort
argwhere asin asinh atan atan2 atanh baddbmm bernoulli bincount bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm ceil chunk clamp clamp_max clamp_min clip
clone conj copysign cos cosh count_nonzero cummax cummin cumprod cumsum deg2rad det detach diag
diag_embed diagonal diff digamma dist div divide dot eq equal erf erfc erfinv exp exp2 expm1 fix
flatten flip fliplr flipud float_power floor floor_divide fmax fmin fmod frac gather ge ger greater
greater_equal gt heaviside histc hypot index_add index_copy index_fill index_put index_select inner
inverse is_complex is_floating_point is_inference is_nonzero is_same_size is_signed isclose isfinite
isinf isnan isneginf isposinf kron kthvalue le lerp less less_equal lgamma log log10 log1p log2
log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or logical_xor
logit logsumexp lt masked_fill masked_scatter masked_select matmul matrix_power max maximum mean
median min minimum mm mode moveaxis movedim msort mul multinomial multiply mv nan_to_num nanmean
nanmedian nanquantile nansum narrow ne neg negative nonzero norm not_equal numel outer permute
pinverse positive pow prod put quantile rad2deg ravel reciprocal relu remainder repeat_interleave
reshape roll rot90 round rsqrt scatter scatter_add select sgn sigmoid sign signbit sin sinc sinh
slogdet softmax sort split split_with_sizes sqrt square squeeze std sub subtract sum swapaxes
swapdims t take take_along_dim tan tanh tensor_split tile topk trace transpose tril triu true_divide
trunc type_as unbind unflatten unique unique_consecutive unsafe_chunk unsafe_split
unsafe_split_with_sizes unsqueeze var vdot view_as_complex view_as_real xlogy broadcast_to dsplit
hsplit vsplit scatter_reduce index_reduce
"""

_IN_PLACE = """
abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_
atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ cosh_ deg2rad_ detach_ erf_ erfc_ exp2_ exp_
expm1_ fill_ fix_ floor_ frac_ index_put_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_
rad2deg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_
xlogy_ zero_
"""

RENAMED: dict[str, dict[str, str]] = {
    "addbmm": {"batch1": "first", "batch2": "second"},
    "addmm": {"mat1": "first", "mat2": "second"},
    "addmv": {"mat": "first", "vec": "second"},
    "addr": {"vec1": "first", "vec2": "second"},
    "baddbmm": {"batch1": "first", "batch2": "second"},
    "bmm": {"mat2": "other"},
    "dot": {"tensor": "other"},
    "float_power": {"exponent": "other"},
    "ger": {"vec2": "other"},
    "mm": {"mat2": "other"},
    "mv": {"vec": "other"},
    "outer": {"vec2": "other"},
    "pow": {"exponent": "other"},
    "split": {"split_size_or_sections": "split_size"},
    "tile": {"dims": "repeats"},
    "tensor_split": {"indices": "indices_or_sections", "sections": "indices_or_sections"},
}
"""torch's names of parameters, where the method has others."""

OF_NUMBERS: dict[str, Callable[..., Any]] = {
    "add": ops.add,
    "atan2": ops.arctan2,
    "copysign": ops.copysign,
    "div": ops.div,
    "divide": ops.div,
    "float_power": ops.float_power,
    "floor_divide": ops.floor_divide,
    "fmod": ops.fmod,
    "mul": ops.mul,
    "multiply": ops.mul,
    "pow": ops.power,
    "remainder": ops.remainder,
    "sub": ops.sub,
    "subtract": ops.sub,
    "true_divide": ops.div,
    "xlogy": ops.xlogy,
}
"""Functions whose first operand may be a number."""

SYNONYMS = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "a": "input",
    "x1": "input",
    "x2": "other",
}
"""NumPy's words, which torch takes too."""
FIRST = {"split": "tensor", "dot": "input", "unsafe_split": "tensor"}
"""Names of the first parameter, where it is not `input`."""


def tensor_of(name: str, x: Any) -> Any:
    """The first argument of torch's function `name` as a Tensor: itself, or what a NumPy argument
    has become while it is traced."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, Boxed):
        return x._as(Tensor)
    foreign = of_another_library(x)
    if foreign:
        raise TypeError(f"torch.{name}(): argument 'input' (position 1) is {foreign}")
    advice = "make a tensor of it with torch.tensor(...) or torch.from_numpy(...)"
    raise TypeError(
        f"torch.{name}(): argument 'input' (position 1) must be Tensor, "
        f"not {type(x).__name__}; {advice}"
    )


def written(name: str, out: Any, result: Any) -> Any:
    """`result`, or the Tensors that were given as `out=` with it in them."""
    if out is None:
        return result
    if isinstance(result, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(result):
            raise TypeError(
                f"{name}(): out must be a tuple of {len(result)} tensors, one for each result"
            )
        parts = [written(name, o, r) for o, r in zip(out, result, strict=True)]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if is_grad_enabled() and (out.requires_grad or result.requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, "
            "but one of the arguments requires grad."
        )
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise RuntimeError(
            f"result type {result.dtype} can't be cast to the desired output type {out.dtype}"
        )
    if tuple(out.shape) != tuple(result.shape):
        if out.numel():
            raise RuntimeError(
                f"{name}(): out has shape {tuple(out.shape)}, "
                f"and the result {tuple(result.shape)}; give one of this shape"
            )
        out.data = ops.convert(result, out.dtype).detach()
        return out
    return out.copy_(result)


def of_method(name: str) -> Callable[..., Any]:
    """The function `torch.name` of the method `name`."""
    method: Any = getattr(Tensor, name)
    parameters = inspect.signature(method).parameters
    first, renamed, numbers = FIRST.get(name, "input"), RENAMED.get(name, {}), OF_NUMBERS.get(name)
    several = next((p.name for p in parameters.values() if p.kind is p.VAR_POSITIONAL), "")
    words = {k: v for k, v in SYNONYMS.items() if v in parameters or v == "input"} | renamed

    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        for word in words.keys() & kwargs.keys():
            kwargs[words[word]] = kwargs.pop(word)
        if not args:
            if first not in kwargs:
                raise TypeError(f"torch.{name}() missing 1 required positional argument: '{first}'")
            args = (kwargs.pop(first),)
        x, *rest = args
        if several in kwargs:
            rest.append(kwargs.pop(several))
        if numbers is not None and isinstance(x, (int, float, complex)):
            other = rest[0] if rest else kwargs.get("other")
            if isinstance(other, Value):
                # A number counts as a number in the dtype of the result, where a tensor would not.
                other = tensor_of(name, other)
                result = numbers(x, other, *rest[1:]) if not kwargs.keys() - {"other"} else None
                if result is not None:
                    return written(name, out, result)
                x = ops.full_like(other, x, dtype=np.result_type(other.dtype, type(x)))
        result = method(tensor_of(name, x), *rest, **kwargs)
        return written(name, out, result)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "tracegrad.torch"
    about = (method.__doc__ or "").strip()
    function.__doc__ = f"`input.{name}(...)` as a function, with torch's `out=`. {about}"
    back = {v: k for k, v in renamed.items()}
    own = [
        p.replace(name=back.get(p.name, p.name), annotation=Any)
        for p in list(parameters.values())[1:]
    ]
    given = inspect.Parameter(first, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Any)
    function.__signature__ = inspect.Signature([given, *own])  # type: ignore[attr-defined]
    return has_failure_path(function)  # the method's


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: of_method(name) for name in (_NAMES + _IN_PLACE).split()
}
