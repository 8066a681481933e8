"""What stands between a tree of unknowns and the vector that SciPy works on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .. import ops
from ..bridges.standing import plain, run
from ..checks import flag
from ..errors import DTypeError, ShapeError
from ..ir.trace import user_line
from ..solvers.vectors import Layout
from ..sparse.matrix_function import SparseDerivative
from ..tensor import Boxed, Tensor
from ..tree import flatten, unflatten

Function = Callable[..., Any]


class Unknowns:
    """How a tree lies in SciPy's vector of float64: leaf after leaf, of complex numbers the real
    parts and then the imaginary ones.

    Lists and tuples of numbers are arrays, as in SciPy, and integers are floats.
    """

    def __init__(self, like: Any, who: str) -> None:
        self.who = who
        leaves, spec = flatten(_as_scipy_reads(like))
        leaves = [x.detach().numpy() if isinstance(x, Boxed) else x for x in leaves]
        self.layout = Layout(unflatten(spec, [_floating(x) for x in leaves]), who)
        # Tensors come back where there were some.
        self.faces = [isinstance(x, Tensor) for x in flatten(_as_scipy_reads(like))[0]]
        self.size = int(self.layout.size)

    @property
    def is_vector(self) -> bool:
        """Whether the tree is one array already, of any shape."""
        return bool(self.layout.spec.is_leaf())

    def pack(self, tree: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The vector of a tree like the first one."""
        leaves, spec = flatten(_as_scipy_reads(tree))
        if spec != self.layout.spec:
            raise ValueError(
                f"{user_line()}: {self.who} has the structure {self.layout.spec}, "
                f"this one has {spec}"
            )
        parts = []
        for x, kind in zip(leaves, self.layout.kinds, strict=True):
            value = np.asarray(x.detach().numpy() if isinstance(x, Boxed) else x)
            if value.shape != kind.shape:
                raise ShapeError(
                    f"{user_line()}: an array of {self.who} has the shape {kind.shape}, "
                    f"this one has {value.shape}"
                )
            if kind.dtype.kind == "c":
                parts += [np.real(value).ravel(), np.imag(value).ravel()]
            else:
                parts.append(value.ravel())
        return np.concatenate(parts, dtype=np.float64)

    def unpack(self, vector: Any) -> Any:
        """The tree that lies in a vector; of a matrix whose columns are such vectors (the steps of
        `solve_ivp`), the tree with that axis last."""
        vector = np.asarray(vector)
        if vector.shape[:1] != (self.size,):
            raise ShapeError(
                f"{user_line()}: {self.who} has {self.size} numbers, "
                f"this is an array of shape {vector.shape}"
            )
        rest = vector.shape[1:]
        leaves: list[Any] = []
        start = 0
        for kind, count, size, boxed in zip(
            self.layout.kinds, self.layout.counts, self.layout.sizes, self.faces, strict=True
        ):
            part = vector[start : start + size]
            if kind.dtype.kind == "c":
                part = ops.complex_(part[:count], part[count:])
            leaf = part.reshape((*kind.shape, *rest)).astype(kind.dtype)
            leaves.append(Tensor(leaf) if boxed else leaf[()])
            start += size
        return unflatten(self.layout.spec, leaves)

    def of_vector(self, function: Function, place: int = 0) -> Function:
        """The function of such a tree, its argument number `place`, as one of the vector."""

        def of_vector(*args: Any, **kwargs: Any) -> Any:
            leaves = self.layout.unpack(args[place])
            tree = unflatten(self.layout.spec, leaves)
            return run(function, *args[:place], tree, *args[place + 1 :], **kwargs)

        return of_vector

    def check(self, x: np.ndarray[Any, Any], what: str) -> None:
        """A ShapeError where SciPy's vector is not one of these."""
        if x.shape != (self.size,):
            raise ShapeError(
                f"{user_line()}: {what} got x of shape {x.shape}; "
                f"it takes the vector of the {self.size} numbers of {self.who}"
            )


def _as_scipy_reads(like: Any) -> Any:
    """An array for a list or tuple of numbers."""
    return np.asarray(like) if type(like) in (list, tuple) and like and _regular(like) else like


def _regular(x: Any) -> bool:
    if type(x) in (list, tuple):
        return all(map(_regular, x))
    return isinstance(x, (int, float, complex, np.number)) and not isinstance(x, bool)


def _floating(x: Any) -> Any:
    kind = getattr(x, "dtype", None)
    return np.asarray(x, np.float64) if kind is not None and kind.kind in "iu" else x


def as_x(x: Any, unknowns: Unknowns | None, what: str) -> np.ndarray[Any, Any]:
    """What SciPy gives for x, as an array of floating-point numbers."""
    found: np.ndarray[Any, Any] = np.asarray(x)
    if found.dtype.kind in "iub":
        found = found.astype(np.float64)
    if found.dtype.kind not in "fc":
        raise DTypeError(
            f"{user_line()}: {what} got x of dtype {found.dtype}; it takes floating-point numbers"
        )
    if unknowns is not None:
        unknowns.check(found, what)
        found = found.astype(np.float64, copy=False)
    return found


def as_vector(tree: Any, what: str) -> Any:
    """The numbers of a result, which may be a tree, as one vector."""
    leaves = flatten(tree)[0]
    if not leaves:
        raise ShapeError(f"{user_line()}: {what} returns nothing")
    return Layout(leaves, f"{what} returns a value that").pack(leaves)


def matrix_of(derivative: Callable[..., Any]) -> Callable[..., Any]:
    """A Jacobian or Hessian as SciPy takes it: a sparse array, else an ndarray."""
    if isinstance(derivative, SparseDerivative):
        return derivative
    return lambda *args, **kwargs: np.asarray(derivative(*args, **kwargs))


class Adapter:
    """What the objects that SciPy's functions are taken from have in common."""

    def __init__(self, f: Function, like: Any, who: str, sparse: bool = False) -> None:
        self._f, self._like, self._who = plain(f), like, who
        self._sparse = flag("sparse", sparse)
        self._unknowns = None if like is None else Unknowns(like, who)

    def __reduce__(self) -> Any:
        return type(self), (self._f, self._like, self._who, self._sparse)

    def __repr__(self) -> str:
        name = getattr(self._f, "__qualname__", self._f)
        return f"<tg.scipy.{self._who.partition(':')[0]} of {name}>"

    def _of_vector(self, place: int = 0) -> Function:
        """The function as one of SciPy's vector."""
        if self._unknowns is None:
            return partial(run, self._f)
        return self._unknowns.of_vector(self._f, place)

    def _x(self, x: Any, part: str) -> np.ndarray[Any, Any]:
        return as_x(x, self._unknowns, f"{self._who.partition(':')[0]}: {part}")

    @property
    def unknowns(self) -> Unknowns:
        """How trees such as `like` lie in SciPy's vector."""
        if self._unknowns is None:
            raise ValueError(
                f"{user_line()}: {self._who.partition(':')[0]}: x is a vector, so there is nothing "
                "to pack; give like=x0 for trees such as x0"
            )
        return self._unknowns

    def pack(self, tree: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        """SciPy's vector for a tree such as `like`."""
        return self.unknowns.pack(tree)

    def unpack(self, x: Any) -> Any:
        """The tree that lies in SciPy's vector."""
        return self.unknowns.unpack(x)


__all__ = ["Adapter", "Function", "Unknowns", "as_vector", "as_x", "matrix_of"]
