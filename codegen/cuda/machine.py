"""Machine code for a compute capability, from PTX by NVIDIA's linker; kept on disk. Needs the
toolkit's wheels, and no device."""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.metadata
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuda.core import Linker, LinkerOptions, ObjectCode
from cuda.pathfinder import load_nvidia_dynamic_lib

from ..disk import cache
from ..disk.entry import DamagedError, DiskEntry
from .compile import functions, ptx
from .kernels import DeviceKernel

Capability = tuple[int, int]


@dataclass(frozen=True)
class Machine:
    """A kernel's machine code, the name that it has there, and what each of its threads takes."""

    entry: str
    code: bytes
    registers: int
    spilled: int
    """Bytes that did not fit into registers and are stored in each thread's own memory."""


@functools.cache
def versions() -> str:
    """What besides the source decides on the machine code. A toolkit need not come as wheels
    (conda, the system's own): then its libraries answer, by where they lie and the version that
    they tell."""
    return " ".join(
        [importlib.metadata.version("numba-cuda"), *map(_version, ("nvvm", "nvJitLink"))]
    )


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(f"nvidia-{library.lower()}")
    except importlib.metadata.PackageNotFoundError:
        path = load_nvidia_dynamic_lib(library).abs_path
        told = importlib.import_module(f"cuda.bindings.{library.lower()}").version()
        return f"{told} {Path(str(path)).resolve()}"


def machine_code(
    source: str, kernels: Sequence[DeviceKernel], capability: Capability, folder: Path | None
) -> dict[str, Machine]:
    """The kernels of a module for a compute capability, compiled or taken from the disk cache below
    `folder` (None: memory only)."""
    if folder is None:
        return build(source, kernels, capability)[0]
    key = cache.key_of(
        source, "cuda", capability, [(k.name, k.words, k.threads) for k in kernels], versions()
    )
    made: dict[str, Machine] = cache.fetch(
        folder, key, functools.partial(build, source, kernels, capability), load
    )
    return made


def build(
    source: str, kernels: Sequence[DeviceKernel], capability: Capability
) -> tuple[dict[str, Machine], DiskEntry]:
    made = functions(source, kernels)
    found = {k.name: link(ptx(made[k.name], k, capability), capability) for k in kernels}
    data = {name: [m.entry, m.registers, m.spilled] for name, m in found.items()}
    return found, DiskEntry(data, {name: m.code for name, m in found.items()})


def load(entry: DiskEntry) -> dict[str, Machine]:
    found = {}
    for name, fields in entry.data.items():
        match fields:
            case [str(inner), int(registers), int(spilled)]:
                found[name] = Machine(inner, entry.part(name), registers, spilled)
            case _:
                raise DamagedError(f"what is said of {name}")
    return found


def link(text: str, capability: Capability) -> Machine:
    """PTX as machine code."""
    options = LinkerOptions(
        arch=f"sm_{capability[0]}{capability[1]}", verbose=True, ptxas_options=["-v"]
    )
    linker = Linker(ObjectCode.from_ptx(text.encode()), options=options)
    code = bytes(linker.link("cubin").code)
    (entry,) = re.findall(r"\.entry\s+(\w+)", text)
    log = linker.get_info_log()
    part = log[log.find(f"Compiling entry function '{entry}'") :]
    return Machine(
        entry,
        code,
        _number(r"Used (\d+) registers", part),
        _number(r"(\d+) bytes spill stores", part),
    )


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found.group(1)) if found else -1


def starter(
    machine: Machine, kernel: DeviceKernel, index: int, most: int
) -> Callable[[int, Sequence[int]], None]:
    """Launches a kernel on a device, on its default stream, with so many blocks (at most `most`
    where they wait for each other) and these words as arguments, for a thread that has entered the
    device (`driver.enter`)."""
    from cuda.bindings import driver as bindings
    from cuda.core import Device

    device: Any = Device(index)
    device.set_current()
    made = ObjectCode.from_cubin(machine.code)
    found = made.get_kernel(machine.entry)
    per_processor = found.occupancy.max_active_blocks_per_multiprocessor(kernel.threads, 0)
    resident = per_processor * device.properties.multiprocessor_count
    limit = max(1, min(resident, most) if kernel.waits else 4 * resident)
    function, stream = int(found.handle), int(device.default_stream.handle)
    threads, count, packed = kernel.threads, kernel.words, struct.Struct(f"{kernel.words}q")
    launch = bindings.cuLaunchCooperativeKernel if kernel.waits else bindings.cuLaunchKernel
    rest = () if kernel.waits else (0,)
    free: list[tuple[Any, int, Any]] = []

    def room() -> tuple[Any, int, Any]:
        """Memory for the arguments of one launch, which the driver copies: the words, the address
        of the list of their places, and that list."""
        words = (ctypes.c_int64 * count)()
        first = ctypes.addressof(words)
        places = (ctypes.c_uint64 * count)(*range(first, first + 8 * count, 8))
        return words, ctypes.addressof(places), places

    def start(blocks: int, words: Sequence[int]) -> None:
        # The driver is asked directly: what checks and converts arguments of all kinds takes
        # longer than a small kernel. Several threads may be here at once.
        try:
            given = free.pop()
        except IndexError:
            given = room()
        packed.pack_into(given[0], 0, *words)
        shape = (min(blocks, limit), 1, 1, threads, 1, 1, 0, stream, given[1])
        (code,) = launch(function, *shape, *rest)
        free.append(given)
        if code:
            raise RuntimeError(f"{machine.entry}: the device refused the kernel: {code.name}")

    # What the function is part of lives as long as it.
    start.made = made  # type: ignore[attr-defined]
    return start
