"""A library that `export` wrote, opened from Python: `tg.load`."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._codegen import c_function as c
from .._codegen import loading
from ..checks import describe
from ..errors import TracegradError
from .exporting import FORMAT
from .kernels import refuse
from .native_function import Status

_C: dict[str, Any] = {
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
    "pointer": ctypes.c_void_p,
}


class CLibrary:
    """The functions of a library, by name: those of the plain form are called with arrays and give
    arrays, and raise what their status says; of the others there are `address` and `ctypes`."""

    def __init__(self, path: Path, library: Any, about: dict[str, Any]) -> None:
        self.path, self.about = path, about
        self._library = library
        self._last = getattr(library, f"{about['name']}_last_status")
        self.functions = {
            told["name"]: LibraryFunction(self, number, told)
            for number, told in enumerate(about["functions"])
        }

    def __getattr__(self, name: str) -> LibraryFunction:
        functions = vars(self).get("functions", {})
        if name in functions:
            found: LibraryFunction = functions[name]
            return found
        raise AttributeError(
            f"{self.path.name} has no function {name}; there are {', '.join(functions)}"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return f"<library {self.path.name}: {', '.join(self.functions)}>"

    def last_status(self) -> Status | None:
        """Why a function of the library failed last in this thread."""
        number, value = ctypes.c_int(), ctypes.c_longlong()
        code = self._last(ctypes.byref(number), ctypes.byref(value))
        if code == 0:
            return None
        return [*self.functions.values()][number.value].status(code, value.value)


class LibraryFunction:
    """One function of a library."""

    def __init__(self, library: CLibrary, number: int, told: dict[str, Any]) -> None:
        self.library, self.number, self.told = library, number, told
        self.name, self.prototype = told["name"], told["prototype"]
        self.ctypes = getattr(library._library, self.name)
        self.ctypes.argtypes = [_C[kind] for _, kind in told["parameters"]]
        words = {"void": None, "double": ctypes.c_double}
        self.ctypes.restype = words.get(self.prototype.partition(" ")[0], ctypes.c_int)
        self.address = ctypes.cast(self.ctypes, ctypes.c_void_p).value

    def __repr__(self) -> str:
        return f"<{self.prototype} of {self.library.path.name}>"

    def __call__(self, *args: Any) -> Any:
        """Results as the Python call has them; several as a tuple."""
        told = self.told
        if told["signature"] != "plain":
            raise TypeError(f"{self.name} has the form {told['signature']!r}: call its `ctypes`")
        if len(args) != len(told["inputs"]):
            names = ", ".join(name for name, _, _ in told["inputs"])
            raise TypeError(f"{self.name} takes {names}, and was given {len(args)} arguments")
        sizes: dict[str, int] = {}
        arrays = [self._array(x, a, sizes) for x, a in zip(args, told["inputs"], strict=True)]
        results = [
            np.empty([_extent(s, sizes) for s in shape], dtype)
            for _, dtype, shape in told["outputs"]
        ]
        passed: list[Any] = [sizes[n] for n in told["sizes"]]
        kinds = [kind for _, kind in told["parameters"]][len(passed) :]
        for x, kind in zip([*arrays, *results], kinds, strict=True):
            passed.append(x.ctypes.data if kind == "pointer" else x.item())
        code = self.ctypes(*passed)
        if code:
            found = self.library.last_status()
            raise found.error if found is not None else self.status(code, 0).error
        leaves = [x if x.ndim else x[()] for x in results]
        return leaves[0] if len(leaves) == 1 else tuple(leaves)

    def _array(self, x: Any, told: Any, sizes: dict[str, int]) -> np.ndarray[Any, Any]:
        name, dtype, shape = told
        array = np.asarray(x)
        if array.ndim and array.dtype != np.dtype(dtype):
            raise TypeError(f"{self.name}: {name} is an array of {dtype}, not of {array.dtype}")
        fits = array.ndim == len(shape) and all(
            s == n if isinstance(s, int) else sizes.setdefault(s, n) == n
            for s, n in zip(shape, array.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"{self.name}: {name} has the shape {shape}, not {array.shape}")
        return np.require(array, dtype, ["C", "A"])

    def status(self, code: int, value: int) -> Status:
        """What a status means."""
        errors = self.told["errors"]
        error: Exception
        if code == c.NOT_A_NUMBER:
            error = FloatingPointError(f"{self.name}: a result holds NaN")
        elif code == c.WRONG_SIZE:
            error = ValueError(f"{self.name}: called for sizes that it was not made for ({value})")
        elif code < 0:
            error = MemoryError(f"{self.name}: no memory")
        else:
            text = errors[code - 1].replace("{value}", str(value))
            error = (IndexError if "index" in text else np.linalg.LinAlgError)(text)
        return Status(code, str(error), error)


def _extent(told: Any, sizes: dict[str, int]) -> int:
    if isinstance(told, int):
        return told
    return int(eval(told, {"__builtins__": {}, "min": min, "max": max, "int": int}, dict(sizes)))


def load(path: Any) -> CLibrary:
    """Open a library that `f.export` wrote.

    path    the file; a library can run code, so open none that you would not run

    Raises FileNotFoundError, TracegradError for a file that is no such library or has another
    format, and for one that was made for another processor.

    >>> import numpy as np, tempfile
    >>> import tracegrad as tg
    >>> f = tg.jit(lambda x: np.sum(x**2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     try:
    ...         path = f.export(folder, "squares", np.ones(2), derivatives=["grad"])
    ...         print(tg.load(path).squares_grad(np.array([1.0, 2.0])))
    ...     except RuntimeError:  # there is no linker
    ...         print("[2. 4.]")
    [2. 4.]
    """
    if not isinstance(path, (str, os.PathLike)):
        refuse("load", f"path is {describe(path)}; it must be a file's name")
    file = Path(path).absolute()
    if not file.exists():
        raise FileNotFoundError(f"load: there is no {file}")
    try:
        library = ctypes.CDLL(str(file))
        tell = getattr(library, f"{file.stem}_about")
    except (OSError, AttributeError) as error:
        raise TracegradError(
            f"load: {file} is no library that export wrote under this name ({error})"
        ) from None
    tell.restype = ctypes.c_char_p
    about = json.loads(tell())
    if about["format"] != FORMAT:
        raise TracegradError(
            f"load: {file.name} was written by tracegrad {about['tracegrad']} in the format "
            f"{about['format']}, and this one reads {FORMAT}: export it again"
        )
    missing = loading.imported("..codegen.native.c_library", __package__).missing
    if lacking := missing(about["features"]):
        raise TracegradError(
            f"load: {file.name} was made for a processor with {', '.join(lacking)}, which this one "
            "has not: export it here, or with cpu='x86-64-v2'"
        )
    return CLibrary(file, library, about)


__all__ = ["CLibrary", "LibraryFunction", "load"]
