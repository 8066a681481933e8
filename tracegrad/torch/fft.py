"""torch.fft: discrete Fourier transforms with torch's words (`dim`, `out`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import fft as _fft
from ..config import default_dtype
from ..tensors import tensor
from .methods import tensor_of, written


def _one(name: str) -> Callable[..., Any]:
    """A transform along one dimension."""
    function: Any = getattr(_fft, name)

    def made(
        input: Any, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Any = None
    ) -> Any:
        found = function(_floating(name, input), n, dim, norm)
        return written(f"fft.{name}", out, found)

    return _named(made, name)


def _several(name: str, dims: Any) -> Callable[..., Any]:
    """A transform along several dimensions."""
    function: Any = getattr(_fft, name)

    def made(
        input: Any, s: Any = None, dim: Any = dims, norm: str | None = None, *, out: Any = None
    ) -> Any:
        x = _floating(name, input)
        if s is not None and dim is None:
            dim = tuple(range(x.ndim - len(s), x.ndim))
        if s is not None:
            axes = dim if isinstance(dim, (tuple, list)) else (dim,)
            # torch: -1 is the length that is there.
            s = tuple(x.shape[d] if m == -1 else m for m, d in zip(s, axes, strict=True))
        found = function(x, s, dim, norm)
        return written(f"fft.{name}", out, found)

    return _named(made, name)


def _floating(name: str, input: Any) -> Any:
    x = tensor_of(f"fft.{name}", input)
    return x if x.dtype.kind in "fc" else x.to(default_dtype())


def _named(made: Callable[..., Any], name: str) -> Callable[..., Any]:
    made.__name__ = made.__qualname__ = name
    about = f"{getattr(_fft, name).__doc__}".partition("\n\n")[0]
    made.__doc__ = f"As `tracegrad.fft.{name}`, of a Tensor. {about}"
    return made


fft, ifft, rfft, irfft, hfft, ihfft = map(_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = (
    _several(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2")
)
fftn, ifftn, rfftn, irfftn = (_several(name, None) for name in ("fftn", "ifftn", "rfftn", "irfftn"))


def fftshift(input: Any, dim: Any = None) -> Any:
    """Frequency 0 in the middle, along some dimensions or all."""
    return _fft.fftshift(tensor_of("fft.fftshift", input), dim)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """Undo `fftshift`."""
    return _fft.ifftshift(tensor_of("fft.ifftshift", input), dim)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies of `fft` of n samples at a distance of d: 0, 1, ..., -1 times 1 / (n d).

    >>> import tracegrad.torch as torch
    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    _count("fftfreq", n)
    found = np.fft.fftfreq(n, d)
    return tensor(found, dtype=dtype or default_dtype(), requires_grad=requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies of `rfft` of n samples at a distance of d: 0, 1, ..., n // 2 times
    1 / (n d)."""
    _count("rfftfreq", n)
    found = np.fft.rfftfreq(n, d)
    return tensor(found, dtype=dtype or default_dtype(), requires_grad=requires_grad)


def _count(name: str, n: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise RuntimeError(f"fft.{name}: n is {n!r}; it must be a positive integer")


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
