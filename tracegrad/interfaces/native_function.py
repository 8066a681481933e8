"""A C function of this process, in all the forms in which others take it."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._codegen import c_function, loading
from ..runtime.execute import failure
from .kernels import TracedKernel

_WRAPPING = loading.imported("..codegen.native.c_wrapper", __package__)
_SUPPORT = loading.imported("..codegen.native.c_support", __package__)
_LOADING = loading.imported("..codegen.native.c_loading", __package__)
_C: dict[str, Any] = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "pointer": ctypes.c_void_p,
}
_COUNTER = (ctypes.c_int64 * 1)()
"""How many failures there were, in all functions."""
_PINNED: list[Any] = []
"""Functions whose capsules or addresses went to somebody who keeps no Python object."""


@dataclass(frozen=True)
class Status:
    """Why a call failed: `code` as C has it (above 0: another point may do; below 0: none will),
    in words, and as the error that the Python call raises."""

    code: int
    message: str
    error: Exception = field(compare=False)

    def __str__(self) -> str:
        return self.message


class NativeFunction(_LOADING.FunctionValue):  # type: ignore[misc, name-defined]
    """A C function; keeps alive what it needs as long as it lives.

    address            where it is, as an int
    prototype          as C declares it
    workspace_bytes    the memory for temporaries that a call uses, on the stack or kept for later
    captures           copies of the arrays that the function read around it, by name: what is
                       written into them holds from the next call on (but for what NumPy computed
                       of them while the function was traced)
    """

    def __init__(
        self, function: c_function.CFunction, kernel: TracedKernel, spelled: str, prototype: str
    ) -> None:
        if not isinstance(kernel, TracedKernel):
            raise TypeError("NativeFunction: it is made by the method cfunc of a jitted function")
        super().__init__()
        self.function, self.kernel = function, kernel
        self.prototype, self._spelled = prototype, spelled
        self.captures = dict(zip(kernel.names, kernel.captured, strict=True))
        self._table = (ctypes.c_void_p * max(len(kernel.captured), 1))(
            *[x.ctypes.data for x in kernel.captured]
        )
        self._failures = (ctypes.c_int64 * (c_function.FAILURES * c_function.WORDS))()
        address = kernel.compiled.address()
        if not address:
            raise NotImplementedError(
                f"{function.name}: this Python's kernels cannot be called from C "
                "(NUMBA_DISABLE_JIT, or an unknown layout of arrays)"
            )
        text = _WRAPPING.wrapper(
            function,
            kernel.form,
            _pointer(address),
            f"ptr {_pointer(_COUNTER)}, ptr {_pointer(self._failures)}",
            _pointer(self._table),
        )
        text = _SUPPORT.module_text([text], _WRAPPING.structures(function))
        self._owner, (self.address,) = _LOADING.loaded(text, [function.name])
        self._returned = _RETURNED[function.returns][0]
        self._taken = [p.kind for p in function.parameters]
        self._memory = _memory_of(function, kernel)
        self.workspace_bytes = kernel.form.arena if isinstance(kernel.form.arena, int) else None

    def __repr__(self) -> str:
        return f"<C function {self.prototype}>"

    def __call__(self, *args: Any) -> Any:
        """Call it from Python, as C would; arrays are passed by address. A TypeError or ValueError
        for one in which C would find something else, or find the end."""
        passed = list(args)
        for k, x in enumerate(args):
            if isinstance(x, np.ndarray):
                if k < len(self._taken):
                    self._check(x, self.function.parameters[k].name)
                passed[k] = x.ctypes.data
        return self.ctypes(*passed)

    def _check(self, x: np.ndarray[Any, Any], name: str) -> None:
        who = f"{self.function.name}: the array for {name}"
        for dtype, elements, written in self._memory.get(name, ()):
            if x.dtype != dtype or not x.dtype.isnative:
                raise TypeError(f"{who} has the dtype {x.dtype.str!r}; it must be {dtype.str!r}")
            if not (x.flags.c_contiguous and x.flags.aligned):
                raise ValueError(f"{who} must be in C order and aligned: np.require(x, None, 'CA')")
            if x.size < elements:
                raise ValueError(f"{who} has {x.size} elements, of {elements} that there must be")
            if written and not x.flags.writeable:
                raise ValueError(f"{who} is read-only, and results are written into it")

    def __reduce__(self) -> Any:
        raise TypeError(
            f"{self.function.name} is an address in this process: pickle the jitted function, and "
            "call its cfunc where it arrives"
        )

    @property
    def ctypes(self) -> Any:
        """A ctypes function, which keeps this one alive."""
        returned = None if self._returned == "nothing" else _C[self._returned]
        made = ctypes.CFUNCTYPE(returned, *[_C[kind] for kind in self._taken])(self.address)
        made.native_function = self  # type: ignore[attr-defined]
        return made

    @property
    def capsule(self) -> Any:
        """A PyCapsule of the address, named as `scipy.LowLevelCallable` reads it. Who takes it may
        keep the address for ever, and so this function stays for ever."""
        if self not in _PINNED:
            _PINNED.append(self)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [
                ctypes.c_void_p,
                ctypes.c_char_p,
                ctypes.c_void_p,
            ],
        )
        return new(self.address, self._name, None)

    @property
    def _name(self) -> bytes:
        return _NAMES.setdefault(self._spelled, self._spelled.encode())

    @property
    def scipy(self) -> Any:
        """A `scipy.LowLevelCallable`; its user data, where the form has any, are the addresses of
        the captured arrays."""
        from scipy import LowLevelCallable

        if self._spelled.endswith("void *)"):
            return LowLevelCallable(self.capsule, ctypes.c_void_p(ctypes.addressof(self._table)))
        return LowLevelCallable(self.capsule)

    def last_status(self, clear: bool = False) -> Status | None:
        """Why this function failed last in this thread, None where it has not; `clear` forgets
        it."""
        found = self._last(clear)
        return None if found is None else found[1]

    def _last(self, clear: bool) -> tuple[int, Status] | None:
        words = c_function.WORDS
        own = c_function.THREAD == "pthread_self"
        thread = threading.get_ident() if own else threading.get_native_id()
        for k in range(0, len(self._failures), words):
            owner, noted, value, number = self._failures[k : k + words]
            code = ctypes.c_int32(noted & 0xFFFFFFFF).value
            if owner % 2**64 == thread % 2**64:
                if code == 0:
                    return None
                if clear:
                    self._failures[k + 1] = 0
                return number, self._status(code, value)
        return None

    def _status(self, code: int, value: int) -> Status:
        name = self.function.name
        error: Exception
        if code == c_function.NOT_A_NUMBER:
            result = self.kernel.form.outputs[value].name
            error = FloatingPointError(f"{name}: the result {result} holds NaN")
        elif code == c_function.WRONG_SIZE:
            error = ValueError(f"{name}: called for sizes that it was not made for ({value})")
        elif code == c_function.NO_MEMORY:
            error = MemoryError(f"{name}: no memory for {value} bytes")
        else:
            error = failure(self.kernel.program, code, value)
        return Status(code, str(error), error)


Memory = tuple[np.dtype[Any], int, bool]


def _memory_of(function: c_function.CFunction, kernel: TracedKernel) -> dict[str, list[Memory]]:
    """What lies where a parameter points, by its name: the dtype, how many elements there are at
    least, and whether they are written."""
    found: dict[str, list[Memory]] = {}
    form = kernel.form
    given = [(p, x, False) for p, x in zip(function.inputs, form.inputs, strict=True)]
    given += [(p, x, True) for p, x in zip(function.outputs, form.outputs, strict=True)]
    for place, array, written in given:
        if isinstance(place, c_function.At) and not place.through:
            sizes = (place.offset, *array.shape)
            # Those that are told how many there are answer for it themselves.
            known = not function.sizes and all(isinstance(n, int) for n in sizes)
            elements = int(place.offset) + math.prod(map(int, array.shape)) if known else 0
            found.setdefault(place.parameter, []).append((array.dtype, elements, written))
    return found


_NAMES: dict[str, bytes] = {}
"""The names of capsules, which point at these bytes."""


def _pointer(where: Any) -> str:
    address = where if isinstance(where, int) else ctypes.addressof(where)
    return f"inttoptr (i64 {address} to ptr)"


def prototype_of(function: c_function.CFunction) -> str:
    """The function as C declares it."""
    written = ", ".join([p.text or _written(p) for p in function.parameters])
    return f"{_RETURNED[function.returns][1]} {function.name}({written or 'void'})"


_RETURNED = {
    "status": ("int32", "int"),
    "success": ("int32", "int"),
    "value": ("float64", "double"),
    "nothing": ("nothing", "void"),
    "xla": ("pointer", "void *"),
}
"""What a function returns, and how C writes it."""
_WORDS = {
    "int32": "int",
    "int64": "long long",
    "float32": "float",
    "float64": "double",
    "pointer": "void *",
}


def _written(parameter: c_function.CParameter) -> str:
    word = _WORDS[parameter.kind]
    return f"{word}{'' if word[-1] == '*' else ' '}{parameter.name}"


def native(
    function: c_function.CFunction, kernel: TracedKernel, spelled: str | None = None
) -> NativeFunction:
    """The C function around a kernel; `spelled` is what its capsule is called, by default its
    prototype without names."""
    if spelled is None:
        kinds = ", ".join([_WORDS[p.kind] for p in function.parameters])
        spelled = f"{_RETURNED[function.returns][1]} ({kinds})"
    return NativeFunction(function, kernel, spelled, prototype_of(function))


def newest(functions: Sequence[NativeFunction], clear: bool) -> Status | None:
    """The last failure of several functions in this thread."""
    found = [last for f in functions if (last := f._last(False)) is not None]
    if clear:
        for f in functions:
            f._last(True)
    return max(found, key=lambda pair: pair[0])[1] if found else None


__all__ = ["NativeFunction", "Status", "native", "newest", "prototype_of"]
