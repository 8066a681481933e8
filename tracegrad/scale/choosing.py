"""The engines by their names, made once and used by all who ask for the same."""

from __future__ import annotations

import atexit
from typing import Any

from .._codegen import loading, locks
from ..checks import describe
from ..dtypes import module_of
from ..ir.lines import user_line
from ..runtime.threads import usable
from .engines.cluster import DaskWorkers
from .engines.local import Serial, Threads
from .engines.processes import Processes
from .engines.ranks import MpiDriver, MpiRanks

BACKENDS = ("serial", "threads", "processes", "joblib", "dask", "mpi")
_MADE: dict[Any, Any] = {}
_LOCK = locks.lock()


def engine_for(who: str, backend: Any, client: Any, workers: Any) -> Any:
    """The engine that `backend`, `client` and `workers` ask for."""
    if backend is None:
        backend = _of_client(who, client) if client is not None else "serial"
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ValueError(
            f"{user_line()}: {who}: backend is {backend!r:.60}; it must be one of "
            f"{', '.join(map(repr, BACKENDS))}"
        )
    if workers is not None and (
        isinstance(workers, bool) or not isinstance(workers, int) or workers < 1
    ):
        raise ValueError(
            f"{user_line()}: {who}: workers is {describe(workers)}; it must be a count from 1 on"
        )
    if client is not None and backend not in ("dask", "mpi"):
        raise TypeError(
            f"{user_line()}: {who}: client goes with backend='dask' (a distributed.Client) or "
            f"'mpi' (a communicator), not with {backend!r}"
        )
    if isinstance(client, MpiDriver):
        client.workers()
        return client
    count = workers or usable()
    with _LOCK:
        if backend == "dask" and client is None:
            client = _dask_client(who)
        if backend == "mpi" and client is None:
            client = _library(who, "mpi4py.MPI", "mpi").COMM_WORLD
        key = backend, id(client) if client is not None else count
        found = _MADE.get(key)
        if found is None:
            found = _MADE[key] = _made(backend, client, count)
        return found


def _library(who: str, name: str, extra: str) -> Any:
    try:
        return loading.imported(name)
    except ImportError as error:
        raise ModuleNotFoundError(
            f"{user_line()}: {who}: backend={extra!r} needs {name.partition('.')[0]}, which is not "
            f"there: pip install 'tracegrad[{extra}]'",
            name=error.name,
        ) from error


def _dask_client(who: str) -> Any:
    distributed = _library(who, "distributed", "dask")
    try:
        return distributed.get_client()
    except ValueError as error:
        raise ValueError(
            f"{user_line()}: {who}: there is no Dask client; make one, Client(cluster), and give "
            "it as client="
        ) from error


def _made(backend: str, client: Any, count: int) -> Any:
    if backend == "serial":
        return Serial()
    if backend == "dask":
        return DaskWorkers(client)
    if backend == "mpi":
        return MpiRanks(client)
    return Threads(count) if backend == "threads" else Processes(count, backend)


def _of_client(who: str, client: Any) -> str:
    if isinstance(client, MpiDriver):
        return "mpi"
    for cls in type(client).__mro__:
        module = module_of(cls).partition(".")[0]
        if module in ("distributed", "mpi4py"):
            return "dask" if module == "distributed" else "mpi"
    raise TypeError(
        f"{user_line()}: {who}: client is {describe(client)}; it must be a distributed.Client, "
        "an MPI communicator, or what mpi_driver gives"
    )


def close() -> None:
    """End the workers that `sum_over` and `map_over` started: processes and threads. A later call
    starts them anew; those of a Dask cluster or of MPI are not ended.

    >>> import tracegrad as tg
    >>> tg.scale.close()
    """
    with _LOCK:
        for engine in list(_MADE.values()):
            engine.close()
        _MADE.clear()


atexit.register(close)
__all__ = ["BACKENDS", "close", "engine_for"]
