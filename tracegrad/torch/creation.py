"""Tensors made by torch's functions: where its words or results differ from those of `tracegrad`'s
functions of the same name."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops, tensors
from ..config import default_dtype
from ..faces.tensor.casts import own, sizes_of
from ..ir.dispatch import Value
from ..ops.random import DEFAULT, Generator
from ..tensor import Tensor
from .methods import tensor_of, written

Size = Any


def _made(x: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    return own(
        Tensor, x if dtype is None else ops.convert(x, np.dtype(dtype)), requires_grad, device
    )


def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Any = None,
) -> Any:
    """`steps` numbers from `base**start` to `base**end`, evenly spaced in the exponent; a Tensor of
    the default dtype.

    >>> import tracegrad.torch as torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    found = _made(
        ops.logspace(start, end, steps, base=base), dtype or default_dtype(), device, requires_grad
    )
    return written("logspace", out, found)


def range(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The numbers start, start + step, ... up to `end`, which is included; deprecated in torch,
    where `arange` is to be used.

    >>> import tracegrad.torch as torch
    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    first, last = (0, start) if end is None else (start, end)
    count = int(np.floor((last - first) / step)) + 1
    if count < 1:
        raise RuntimeError(
            f"range: upper bound {last} and larger bound {first} inconsistent with step sign {step}"
        )
    return _made(first + np.arange(count) * step, dtype or default_dtype(), device, requires_grad)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    """A tensor without dimensions, of the default dtype."""
    return _made(np.array(s), dtype or default_dtype(), device, requires_grad)


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """A tensor of `obj`, on its memory where that is possible and no `copy` is asked for."""
    found = (
        tensors.tensor(obj, dtype=dtype, device=device)
        if copy
        else tensors.as_tensor(obj, dtype, device)
    )
    return found.requires_grad_() if requires_grad else found


def _random(
    kind: str,
    size: tuple[Any, ...],
    dtype: Any,
    device: Any,
    requires_grad: bool,
    generator: Generator | None,
) -> Any:
    source = DEFAULT if generator is None else generator
    draw = source.random if kind == "rand" else source.standard_normal
    wanted = default_dtype() if dtype is None else np.dtype(dtype)
    if wanted.kind not in "fc":
        raise NotImplementedError(
            f"{kind}: the dtype must be a floating or complex one, not {wanted}"
        )
    if wanted.kind == "f":
        return _made(draw(size, dtype=wanted), None, device, requires_grad)
    parts = draw((2, *size), dtype=np.float32 if wanted.itemsize == 8 else np.float64)
    # A complex normal number has variance 1 in all, so 1/2 in each part.
    parts = parts * np.sqrt(0.5) if kind == "randn" else parts
    return _made(parts[0] + parts[1] * np.array(1j, wanted), wanted, device, requires_grad)


def rand(
    *size: Size,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
    out: Any = None,
) -> Any:
    """Random numbers, uniform on [0, 1), of complex dtypes in both parts.

    >>> import tracegrad.torch as torch
    >>> torch.rand(2, dtype=torch.complex64).dtype
    dtype('complex64')
    """
    found = _random("rand", sizes_of(size), dtype, device, requires_grad, generator)
    return written("rand", out, found)


def randn(
    *size: Size,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
    out: Any = None,
) -> Any:
    """Random numbers of the standard normal distribution; complex ones have variance 1/2 in each
    part."""
    found = _random("randn", sizes_of(size), dtype, device, requires_grad, generator)
    return written("randn", out, found)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = np.int64,
    device: Any = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Any:
    """Random integers of [low, high); `randint(high, size)` means [0, high).

    >>> import tracegrad.torch as torch
    >>> torch.randint(3, (2, 2)).shape, torch.randint(5, 6, (2,))
    ((2, 2), tensor([5, 5]))
    """
    if size is None:
        if isinstance(high, (int, np.integer)) or high is None:
            raise TypeError("randint() takes (high, size) or (low, high, size)")
        low, high, size = 0, low, high
    if high is None:
        low, high = 0, low
    source = DEFAULT if generator is None else generator
    return _made(
        source.integers(low, high, tuple(size), dtype=np.int64), dtype, device, requires_grad
    )


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: Any = np.int64,
    device: Any = None,
    requires_grad: bool = False,
) -> Any:
    """The integers below `n` in random order.

    >>> import tracegrad.torch as torch
    >>> sorted(torch.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    source = DEFAULT if generator is None else generator
    return _made(source.permutation(n), dtype, device, requires_grad)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    out: Any = None,
) -> Any:
    """Normal numbers, one for each element of `mean` and `std`, or as many as `size` says;
    gradients do not flow to either.

    >>> import tracegrad.torch as torch
    >>> torch.normal(torch.zeros(3), 1e-9).abs().max() < 1e-6
    tensor(True)
    """
    given: list[Any] = [v for v in (mean, std) if isinstance(v, Value)]
    if isinstance(std, Value) and not isinstance(std, Tensor):
        std = tensor_of("normal", std)
    if bool(np.any(np.asarray(std.detach() if isinstance(std, Tensor) else std) < 0)):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not given and size is None:
        raise TypeError("normal() needs a size, where mean and std are numbers")
    centre, spread = (
        tensor_of("normal", v).detach() if isinstance(v, Value) else v for v in (mean, std)
    )
    shape: Any = (
        sizes_of((size,)) if not given else np.broadcast_shapes(*[tuple(v.shape) for v in given])
    )
    kind = dtype or (given[0].dtype if given else default_dtype())
    found = centre + spread * _random("randn", shape, kind, device, False, generator)
    return written("normal", out, found)


def poisson(input: Any, generator: Generator | None = None) -> Any:
    """Numbers of events, of which the elements are the expected ones."""
    source = DEFAULT if generator is None else generator
    rates = np.asarray(tensor_of("poisson", input).detach())
    seed = int(np.asarray(source.integers(0, 2**62)))
    return _made(np.random.default_rng(seed).poisson(rates).astype(rates.dtype))


def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = np.int64, device: Any = None
) -> Any:
    """The places (2, count) of the lower triangle of a matrix, row by row.

    >>> import tracegrad.torch as torch
    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _made(np.stack(np.tril_indices(row, offset, col)), dtype, device)


def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: Any = np.int64, device: Any = None
) -> Any:
    """The places (2, count) of the upper triangle of a matrix, row by row."""
    return _made(np.stack(np.triu_indices(row, offset, col)), dtype, device)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    out: Any = None,
) -> Any:
    """One value everywhere, in the dtype of its kind: the default one for a float, int64 for an
    integer, bool for a bool."""
    kind = dtype
    if kind is None and isinstance(fill_value, (builtins.float, builtins.complex)):
        kind = (
            default_dtype()
            if isinstance(fill_value, builtins.float)
            else np.result_type(default_dtype(), np.complex64)
        )
    found = tensors.full(size, fill_value, dtype=kind, device=device, requires_grad=requires_grad)
    return written("full", out, found)


def _to_out(name: str) -> Any:
    function = getattr(tensors, name)

    def made(
        *args: Any, out: Any = None, layout: Any = None, pin_memory: bool = False, **kwargs: Any
    ) -> Any:
        if "size" in kwargs and not args:
            args = (kwargs.pop("size"),)
        kwargs.pop("memory_format", None)
        found = function(*args, **kwargs)
        return written(name, out, found)

    made.__name__ = made.__qualname__ = name
    about = str(function.__doc__).partition("\n")[0]
    made.__doc__ = (
        f"As `tracegrad.{name}`, with torch's `out=`; `layout` and `pin_memory` mean nothing. "
        f"{about}"
    )
    return made


zeros, ones, empty, eye, arange, linspace = map(
    _to_out, ("zeros", "ones", "empty", "eye", "arange", "linspace")
)
zeros_like, ones_like, empty_like, full_like = map(
    _to_out, ("zeros_like", "ones_like", "empty_like", "full_like")
)


def _drawn_like(name: str, kind: str) -> Any:
    """A function that draws as many numbers as another Tensor has, in its dtype."""
    real = _to_out(name)

    def made(input: Any, *, dtype: Any = None, out: Any = None, **kwargs: Any) -> Any:
        wanted = np.dtype(input.dtype if dtype is None else dtype)
        if wanted.kind != "c":
            return real(input, dtype=dtype, out=out, **kwargs)
        options = {"device": input.device, **kwargs}
        options = {k: options.get(k) for k in ("device", "generator")} | {
            "requires_grad": bool(options.get("requires_grad"))
        }
        found = _random(kind, tuple(input.shape), wanted, **options)
        return written(name, out, found)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"{real.__doc__} Complex numbers are drawn as by `{kind}`."
    return made


rand_like, randn_like = _drawn_like("rand_like", "rand"), _drawn_like("randn_like", "randn")


def randint_like(
    input: Any, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None
) -> Any:
    """Random integers of [low, high), or of [0, low), in the shape and dtype of `input`."""
    found = (
        randint(low, high, tuple(input.shape))
        if high is not None
        else randint(0, low, tuple(input.shape))
    )
    return _made(found, dtype or input.dtype, device)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Any, ...]:
    """Coordinates of the grid over vectors, which may come as one list; rows by the first one, or
    by the second for "xy".

    >>> import tracegrad.torch as torch
    >>> a, b = torch.meshgrid([torch.arange(2), torch.arange(3)])
    >>> a.shape, b[0]
    ((2, 3), tensor([0, 1, 2]))
    """
    given: Sequence[Any] = (
        tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    )
    return tuple(ops.meshgrid(*[tensor_of("meshgrid", x) for x in given], indexing=indexing))


__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "meshgrid",
    "normal",
    "ones",
    "ones_like",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "range",
    "scalar_tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    "zeros_like",
]
