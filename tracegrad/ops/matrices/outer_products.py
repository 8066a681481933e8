"""Products that keep the axes of both operands, and the cross product."""

from __future__ import annotations

from typing import Any

from ...errors import ShapeError
from ...sizes import same
from ...types import show
from ..arrays.concatenation import stack
from ..arrays.shape import moveaxis, reshape
from ..arrays.slices import slice_array
from ..define import ndim_of, shape_of
from ..elementwise.arithmetic import neg, sub
from ..elementwise.derived import mul
from .products import operand


def outer(x: Any, y: Any) -> Any:
    """`out[i, j] = x[i] * y[j]`, both flattened.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.outer(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    array([[3., 4.],
           [6., 8.]])
    """
    return mul(reshape(operand(x), (-1, 1)), reshape(operand(y), (1, -1)))


def kron(x: Any, y: Any) -> Any:
    """Kronecker product: blocks `x[i, j] * y`. The lower rank gets leading axes of size 1.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.kron(np.array([1.0, 10.0]), np.array([1.0, 2.0]))
    array([ 1.,  2., 10., 20.])
    """
    x, y = operand(x), operand(y)
    ndim = max(ndim_of(x), ndim_of(y))
    a = (1,) * (ndim - ndim_of(x)) + tuple(shape_of(x))
    b = (1,) * (ndim - ndim_of(y)) + tuple(shape_of(y))
    spread_x = reshape(x, [s for n in a for s in (n, 1)])
    spread_y = reshape(y, [s for n in b for s in (1, n)])
    return reshape(mul(spread_x, spread_y), tuple(n * m for n, m in zip(a, b, strict=True)))


def cross(
    x: Any, y: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Cross product of vectors of 3 (or 2) components along one axis of each, with broadcasting of
    the others.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.cross(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    array([0., 0., 1.])
    """
    x, y = operand(x), operand(y)
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    n, m = shape_of(x)[-1], shape_of(y)[-1]
    if not (any(same(n, s) for s in (2, 3)) and any(same(m, s) for s in (2, 3))):
        raise ShapeError(
            f"cross: vectors must have 2 or 3 components, got shapes {show(shape_of(x))} "
            f"and {show(shape_of(y))}"
        )
    a = [_component(x, k) for k in range(3 if same(n, 3) else 2)]
    b = [_component(y, k) for k in range(3 if same(m, 3) else 2)]
    last = sub(mul(a[0], b[1]), mul(a[1], b[0]))
    if len(a) == 2 and len(b) == 2:
        return last
    if len(a) == 3 and len(b) == 3:
        first, second = sub(mul(a[1], b[2]), mul(a[2], b[1])), sub(mul(a[2], b[0]), mul(a[0], b[2]))
    elif len(a) == 3:
        first, second = neg(mul(a[2], b[1])), mul(a[2], b[0])
    else:
        first, second = mul(a[1], b[2]), neg(mul(a[0], b[2]))
    return moveaxis(stack([first, second, last], -1), -1, axisc)


def _component(x: Any, k: int) -> Any:
    shape = tuple(shape_of(x))
    start = (*[0] * (len(shape) - 1), k)
    return reshape(slice_array(x, start, (*shape[:-1], 1), (1,) * len(shape)), shape[:-1])
