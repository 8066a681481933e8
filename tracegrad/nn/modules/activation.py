"""Modules without parameters (but for PReLU): activations, dropout and shapes."""

from __future__ import annotations

from typing import Any, ClassVar

from ... import tensors as tg
from .. import functional as F
from ..functional.convolution import Sizes
from .module import Module
from .parameter import Parameter


class Fixed(Module):
    """A function of `nn.functional` with fixed options.

    options  their names and defaults, in the order in which the constructor takes them
    passed   what the function is given, where this is not all of them
    shown    the template of `extra_repr`; None shows `name=value` of each
    """

    function: ClassVar[Any]
    options: ClassVar[dict[str, Any]] = {}
    shown: ClassVar[str | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names, name = list(self.options), type(self).__name__
        if len(args) > len(names):
            raise TypeError(
                f"{name} takes the arguments {', '.join(names) or 'none'}, "
                f"but {len(args)} were given"
            )
        given = dict(zip(names, args, strict=False))
        for key in kwargs:
            if key not in self.options or key in given:
                raise TypeError(
                    f"{name} got an unexpected or repeated argument {key!r}; "
                    f"it takes {', '.join(names) or 'none'}"
                )
        for key, value in {**self.options, **given, **kwargs}.items():
            if value is ...:
                raise TypeError(f"{name} needs the argument {key!r}")
            setattr(self, key, value)

    def forward(self, input: Any) -> Any:
        return type(self).function(input, **{key: getattr(self, key) for key in self.options})

    def extra_repr(self) -> str:
        values = {key: getattr(self, key) for key in self.options}
        if self.shown is None:
            return ", ".join(f"{key}={value}" for key, value in values.items())
        return self.shown.format(**values) + (", inplace=True" if values.get("inplace") else "")


class _InPlace(Fixed):
    """One whose only option is where it writes."""

    options: ClassVar[dict[str, Any]] = {"inplace": False}

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """`functional.relu`.

    >>> import tracegrad as tg
    >>> tg.nn.ReLU()(tg.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    function = F.relu


class ReLU6(_InPlace):
    """`functional.relu6`."""

    function = F.relu6


class SELU(_InPlace):
    """`functional.selu`."""

    function = F.selu


class SiLU(_InPlace):
    """`functional.silu`."""

    function = F.silu


class Mish(_InPlace):
    """`functional.mish`."""

    function = F.mish


class Hardswish(_InPlace):
    """`functional.hardswish`."""

    function = F.hardswish


class Hardsigmoid(_InPlace):
    """`functional.hardsigmoid`."""

    function = F.hardsigmoid


class Hardtanh(Fixed):
    """`functional.hardtanh`."""

    function = F.hardtanh
    options: ClassVar[dict[str, Any]] = {"min_val": -1.0, "max_val": 1.0, "inplace": False}
    shown = "min_val={min_val}, max_val={max_val}"


class Hardshrink(Fixed):
    """`functional.hardshrink`."""

    function = F.hardshrink
    options: ClassVar[dict[str, Any]] = {"lambd": 0.5}
    shown = "{lambd}"


class Softshrink(Fixed):
    """`functional.softshrink`."""

    function = F.softshrink
    options: ClassVar[dict[str, Any]] = {"lambd": 0.5}
    shown = "{lambd}"


class ELU(Fixed):
    """`functional.elu`."""

    function = F.elu
    options: ClassVar[dict[str, Any]] = {"alpha": 1.0, "inplace": False}
    shown = "alpha={alpha}"


class CELU(Fixed):
    """`functional.celu`."""

    function = F.celu
    options: ClassVar[dict[str, Any]] = {"alpha": 1.0, "inplace": False}
    shown = "alpha={alpha}"


class LeakyReLU(Fixed):
    """`functional.leaky_relu`."""

    function = F.leaky_relu
    options: ClassVar[dict[str, Any]] = {"negative_slope": 0.01, "inplace": False}
    shown = "negative_slope={negative_slope}"


class GELU(Fixed):
    """`functional.gelu`."""

    function = F.gelu
    options: ClassVar[dict[str, Any]] = {"approximate": "none"}
    shown = "approximate={approximate!r}"


class Softplus(Fixed):
    """`functional.softplus`."""

    function = F.softplus
    options: ClassVar[dict[str, Any]] = {"beta": 1.0, "threshold": 20.0}


class Softsign(Fixed):
    """`functional.softsign`."""

    function = F.softsign


class Tanhshrink(Fixed):
    """`functional.tanhshrink`."""

    function = F.tanhshrink


class Sigmoid(Fixed):
    """`functional.sigmoid`."""

    function = F.sigmoid


class LogSigmoid(Fixed):
    """`functional.logsigmoid`."""

    function = F.logsigmoid


class Tanh(Fixed):
    """`functional.tanh`."""

    function = F.tanh


class GLU(Fixed):
    """`functional.glu`."""

    function = F.glu
    options: ClassVar[dict[str, Any]] = {"dim": -1}


class Softmax(Fixed):
    """`functional.softmax`."""

    function = F.softmax
    options: ClassVar[dict[str, Any]] = {"dim": None}


class Softmin(Fixed):
    """`functional.softmin`."""

    function = F.softmin
    options: ClassVar[dict[str, Any]] = {"dim": None}


class LogSoftmax(Fixed):
    """`functional.log_softmax`."""

    function = F.log_softmax
    options: ClassVar[dict[str, Any]] = {"dim": None}


class PReLU(Module):
    """`functional.prelu` with `num_parameters` learned slopes that start at `init`."""

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(tg.full((num_parameters,), init, dtype=dtype, device=device))

    def forward(self, input: Any) -> Any:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _Dropout(Fixed):
    options: ClassVar[dict[str, Any]] = {"p": 0.5, "inplace": False}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not 0.0 <= self.p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Any) -> Any:
        return type(self).function(input, self.p, self.training, self.inplace)


class Dropout(_Dropout):
    """`functional.dropout`, while training."""

    function = F.dropout


class Dropout1d(_Dropout):
    """`functional.dropout1d`, while training."""

    function = F.dropout1d


class Dropout2d(_Dropout):
    """`functional.dropout2d`, while training."""

    function = F.dropout2d


class Flatten(Module):
    """The axes from `start_dim` to `end_dim` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """The axis `dim` as several of these sizes."""

    def __init__(self, dim: int, unflattened_size: Sizes) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:
        sizes = (
            (self.unflattened_size,)
            if isinstance(self.unflattened_size, int)
            else tuple(self.unflattened_size)
        )
        at = self.dim % len(input.shape)
        return input.reshape(*input.shape[:at], *sizes, *input.shape[at + 1 :])

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Fixed",
    "Flatten",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Unflatten",
]
