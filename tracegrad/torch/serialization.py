"""`save` and `load`: tensors, numbers, texts and nested containers of them in NumPy's npz files.
Such a file holds data only: reading it runs no code, so it may come from anywhere.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import OrderedDict
from typing import Any, BinaryIO

import numpy as np

from ..devices import CPU, Device
from ..faces.tensor.shapes import Size
from ..nn.modules.module import Module
from ..nn.modules.parameter import Parameter
from ..tensor import Tensor

FileLike = str | os.PathLike[str] | BinaryIO
_FORMAT = "tracegrad 1"
_CONTAINERS: dict[type, str] = {
    list: "list",
    tuple: "tuple",
    Size: "size",
    set: "set",
    frozenset: "frozenset",
}


class _Encoder:
    """An object as JSON, in which arrays stand as their numbers."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.known: dict[int, list[Any]] = {}
        self.open: set[int] = set()

    def array(self, x: np.ndarray[Any, Any]) -> int:
        if x.dtype.kind not in "biufc":
            raise TypeError(
                f"save: an array of dtype {x.dtype} holds objects or texts; "
                "save numbers, or lists of texts"
            )
        self.arrays.append(x)
        return len(self.arrays) - 1

    def write(self, x: Any, path: str) -> Any:
        kind = type(x)
        if x is None or kind in (bool, int, float, str):
            return ["value", x]
        if id(x) in self.known:
            return self.known[id(x)]
        if isinstance(x, Tensor):
            found = [
                "parameter" if isinstance(x, Parameter) else "tensor",
                self.array(x.detach().cpu().numpy()),
                x.requires_grad,
            ]
            self.known[id(x)] = found
            return found
        if kind is np.ndarray:
            return ["array", self.array(x)]
        if isinstance(x, np.generic):
            return ["scalar", self.array(np.asarray(x))]
        if kind is complex:
            return ["complex", x.real, x.imag]
        if isinstance(x, np.dtype):
            return ["dtype", x.name]
        if isinstance(x, Device):
            return ["device", str(x)]
        if kind in (bytes, bytearray):
            return ["bytes", self.array(np.frombuffer(bytes(x), np.uint8))]
        if kind in (dict, OrderedDict) or kind in _CONTAINERS:
            if id(x) in self.open:
                raise ValueError(f"save: {path} contains itself")
            self.open.add(id(x))
            try:
                if isinstance(x, dict):
                    pairs = [
                        [self.write(k, f"{path}, a key"), self.write(v, f"{path}[{k!r}]")]
                        for k, v in x.items()
                    ]
                    return ["ordered" if kind is OrderedDict else "dict", pairs]
                return [_CONTAINERS[kind], [self.write(v, f"{path}[{k}]") for k, v in enumerate(x)]]
            finally:
                self.open.discard(id(x))
        advice = (
            "save what its state_dict() gives"
            if isinstance(x, Module) or hasattr(x, "state_dict")
            else "save the data in it"
        )
        raise TypeError(
            f"save: {path} is of type {kind.__name__}, which is no data: "
            "files hold tensors, numbers, texts, and dicts, lists, tuples and sets of them, "
            f"and no code. {advice[0].upper()}{advice[1:]}."
        )


def save(obj: Any, f: FileLike, *args: Any, **kwargs: Any) -> None:
    """Write `obj` to a file: tensors (their elements, `requires_grad`, and whether they are
    Parameters), arrays, numbers, texts, and dicts, lists, tuples and sets of them; so
    `model.state_dict()` and `optimizer.state_dict()`. A tensor that stands in several places is one
    tensor again when it is loaded. Other objects, Modules above all, are a TypeError: `torch.save`
    would write code for them.

    >>> import io
    >>> import tracegrad.torch as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    writer = _Encoder()
    structure = json.dumps([_FORMAT, writer.write(obj, "the object")])
    members = {f"a{k}": x for k, x in enumerate(writer.arrays)}
    members["structure"] = np.frombuffer(structure.encode(), np.uint8)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            np.savez(file, allow_pickle=False, **members)
    else:
        np.savez(f, allow_pickle=False, **members)


class _Reader:
    def __init__(self, file: Any, place: Any) -> None:
        self.file, self.place = file, place
        self.tensors: dict[int, Tensor] = {}

    def tensor(self, number: int, requires_grad: bool, face: type[Tensor]) -> Tensor:
        if number not in self.tensors:
            made = Tensor(self.file[f"a{number}"]).to(device=self.place)
            self.tensors[number] = (
                Parameter(made, requires_grad)
                if face is Parameter
                else made.requires_grad_(requires_grad)
            )
        return self.tensors[number]

    def read(self, x: Any) -> Any:
        kind, *rest = x
        if kind == "value":
            return rest[0]
        if kind in ("tensor", "parameter"):
            return self.tensor(
                int(rest[0]), bool(rest[1]), Parameter if kind == "parameter" else Tensor
            )
        if kind in ("array", "scalar", "bytes"):
            array = self.file[f"a{int(rest[0])}"]
            return array if kind == "array" else array[()] if kind == "scalar" else array.tobytes()
        if kind == "complex":
            return complex(rest[0], rest[1])
        if kind == "dtype":
            return np.dtype(str(rest[0]))
        if kind == "device":
            return Device(str(rest[0]))
        if kind in ("dict", "ordered"):
            return (OrderedDict if kind == "ordered" else dict)(
                (self.read(k), self.read(v)) for k, v in rest[0]
            )
        for made, name in _CONTAINERS.items():
            if kind == name:
                return made(map(self.read, rest[0]))
        raise ValueError(
            f"load: the file holds something of kind {kind!r}, which this version does not know"
        )


def load(
    f: FileLike,
    map_location: Any = None,
    *args: Any,
    weights_only: bool | None = None,
    **kwargs: Any,
) -> Any:
    """What `save` has written, the tensors on the device `map_location` (the CPU where it is None).
    Files of torch's own `save` are refused: in torch, save the arrays with `numpy.savez`.
    """
    place: Any = map_location
    if map_location is None or isinstance(map_location, dict) or callable(map_location):
        # All was saved from the CPU's memory, which is what a map or a function is asked about.
        place = CPU
        if isinstance(map_location, dict) and "cpu" in map_location:
            place = map_location["cpu"]
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, place)
    return _read(f, place)


def _read(f: Any, place: Any) -> Any:
    try:
        opened = np.load(f, allow_pickle=False)
        if not isinstance(opened, np.lib.npyio.NpzFile) or "structure" not in opened.files:
            raise _foreign()
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise _foreign() from error
    with opened:
        version, structure = json.loads(opened["structure"].tobytes().decode())
        if version != _FORMAT:
            raise ValueError(
                f"load: the file is of format {version!r}, this version reads {_FORMAT!r}"
            )
        return _Reader(opened, place).read(structure)


def _foreign() -> ValueError:
    return ValueError(
        "load: this file was not written by tracegrad.torch.save. Files of torch.save hold code, "
        "which is not run here; load them in torch and write their arrays with numpy.savez"
    )


__all__ = ["load", "save"]
