"""Products of matrices and vectors, and linear algebra, with torch's names for Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ops
from ...ir.dispatch import Value
from ..operators import operand
from .casts import titled


def _product(name: str, title: str, doc: str) -> Callable[[Any, Any], Any]:
    function = getattr(ops, name)

    def method(self: Any, other: Any) -> Any:
        other = operand(other)
        return titled(function(self, other), title + "Backward0", self, other)

    method.__name__, method.__doc__ = title.lower(), doc
    return method


def _added(name: str) -> Callable[..., Any]:
    """`beta * self + alpha * product`."""

    def method(self: Any, first: Any, second: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        product = getattr(first, name)(second)
        scaled = product if isinstance(alpha, int) and alpha == 1 else alpha * product
        # Where beta is 0 this tensor is not read, NaN in it included.
        kept = self if isinstance(beta, int) and beta == 1 else beta * self
        result = (
            ops.broadcast_to(scaled, scaled.shape)
            if isinstance(beta, (int, float)) and beta == 0
            else kept + scaled
        )
        return titled(result, f"Add{name}Backward0", self, product)

    method.__name__, method.__doc__ = (
        "add" + name,
        f"beta times this tensor plus alpha times the product `{name}` of two others.",
    )
    return method


class TensorProducts(Value):
    """torch's names."""

    __slots__ = ()

    matmul = _product("matmul", "Matmul", "Matrix product.")
    mm = _product("matmul", "Mm", "Product of two matrices.")
    bmm = _product("matmul", "Bmm", "Products of two stacks of matrices.")
    mv = _product("matmul", "Mv", "Matrix times vector.")
    dot = _product("matmul", "Dot", "Inner product of two vectors.")
    vdot = _product(
        "vdot", "Vdot", "Inner product of two vectors, of which the first is conjugated."
    )
    inner = _product("inner", "Inner", "Sums of products over the last dimension.")
    outer = _product("outer", "Outer", "All products of elements of two vectors.")
    ger = outer
    kron = _product("kron", "Kron", "The Kronecker product.")
    addmm, addmv, addr = _added("mm"), _added("mv"), _added("outer")
    baddbmm = _added("bmm")

    def cross(self: Any, other: Any, dim: int = -1) -> Any:
        """The vector product along a dimension of size 3."""
        return ops.cross(self, operand(other), axis=dim)

    def det(self: Any) -> Any:
        """The determinant."""
        return ops.linalg.det(self)

    def slogdet(self: Any) -> Any:
        """(sign, logabsdet) of the determinant."""
        return ops.linalg.slogdet(self)

    def logdet(self: Any) -> Any:
        """The logarithm of the determinant; NaN where that is negative."""
        sign, logarithm = ops.linalg.slogdet(self)
        return ops.where(sign < 0, float("nan"), logarithm)

    def inverse(self: Any) -> Any:
        """The inverse matrix."""
        return ops.linalg.inv(self)

    def pinverse(self: Any, rcond: float = 1e-15) -> Any:
        """The pseudo-inverse."""
        return ops.linalg.pinv(self, rcond)

    def matrix_power(self: Any, n: int) -> Any:
        """The matrix multiplied with itself n times."""
        return ops.linalg.matrix_power(self, n)
