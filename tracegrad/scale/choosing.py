"""The engines by their names, made once and used by all who ask for the same."""

from __future__ import annotations

import atexit
from typing import Any

from .._codegen import locks
from ..checks import describe
from ..ir.lines import user_line
from ..runtime.threads import usable
from .engines.local import Serial, Threads
from .engines.processes import Processes

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
    count = workers or usable()
    with _LOCK:
        key = backend, id(client) if client is not None else count
        found = _MADE.get(key)
        if found is None:
            found = _MADE[key] = _made(backend, client, count)
        return found


def _made(backend: str, client: Any, count: int) -> Any:
    if backend == "serial":
        return Serial()
    return Threads(count) if backend == "threads" else Processes(count, backend)


def _of_client(who: str, client: Any) -> str:
    for cls in type(client).__mro__:
        module = cls.__module__.partition(".")[0]
        if module in ("distributed", "mpi4py"):
            return "dask" if module == "distributed" else "mpi"
    raise TypeError(
        f"{user_line()}: {who}: client is {describe(client)}; it must be a distributed.Client or "
        "an MPI communicator"
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
