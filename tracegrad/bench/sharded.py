"""Evaluations over shards: what one costs on this machine, and what it would cost on many.

    python -m tracegrad.bench.sharded [ROWS [FILES]]

prints measured overheads of the local engines, measured points beside the cost model, and a
simulation of up to 10,000 workers with latencies and stragglers (docs/scaling.md); with a number,
how long so many rows take that are streamed from disk, and how much memory: from so many files (16
bytes for each row), which are read again and again where they have fewer rows.
"""

from __future__ import annotations

import heapq
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..derivatives.reverse import value_and_grad
from ..scale import close, sum_over


class ClusterModel(NamedTuple):
    """What a cluster is made of: seconds and bytes per second.

    send, answer    what the driver spends on one worker's task and on its answer
    latency         one way
    bandwidth       of the driver's connection
    straggling      of the logarithm of a worker's time, the standard deviation
    fan             answers that one worker puts together before the driver sees them (1: none)
    """

    send: float = 60e-6
    answer: float = 60e-6
    latency: float = 200e-6
    bandwidth: float = 1.25e9
    straggling: float = 0.1
    fan: int = 1


def predicted(model: ClusterModel, workers: int, work: float, nbytes: int) -> float:
    """The cost model: `work` is that of all shards on one worker, `nbytes` the parameters' size.

    The driver sends to one worker after the other; then the slowest of them decides, or how long
    it takes to take up all answers. With a tree of answers the driver has only
    `workers / fan` of them, and each level adds a message.
    """
    wire = nbytes / model.bandwidth
    slowest = np.exp(model.straggling * np.sqrt(2.0 * np.log(max(workers, 2))))
    sending = workers * (model.send + wire)
    levels = 0 if model.fan < 2 else int(np.ceil(np.log(workers) / np.log(model.fan)))
    heads = workers if model.fan < 2 else min(workers, model.fan)
    passing = levels * (model.latency + model.fan * (model.answer + wire))
    taking = heads * (model.answer + wire)
    computing = work / workers * slowest
    return float(2.0 * model.latency + sending + max(computing + passing, taking))


def simulated(
    model: ClusterModel, workers: int, work: float, nbytes: int, rng: np.random.Generator
) -> float:
    """One evaluation, event by event."""
    wire = nbytes / model.bandwidth
    each = work / workers * np.exp(model.straggling * rng.normal(size=workers))
    sent = (np.arange(workers) + 1.0) * (model.send + wire)
    ready = list(sent + model.latency + each)
    while model.fan > 1 and len(ready) > model.fan:
        groups = [ready[k : k + model.fan] for k in range(0, len(ready), model.fan)]
        ready = [model.latency + _taken(g, model.answer + wire) for g in groups]
    # The driver sends first, and takes up then.
    return _taken([t + model.latency for t in ready], model.answer + wire, float(sent[-1]))


def _taken(arrivals: Sequence[float], each: float, now: float = 0.0) -> float:
    """When the last of these was taken up by one that needs so long for each, from `now` on."""
    queue = list(arrivals)
    heapq.heapify(queue)
    while queue:
        now = max(now, heapq.heappop(queue)) + each
    return now


def table(work: float = 100.0, nbytes: int = 8000) -> str:
    """Seconds of an evaluation by the number of workers, as a table."""
    rng = np.random.default_rng(0)
    lines = ["| workers | direct: simulated | model | by a tree of 32: simulated | model |"]
    lines.append("|---|---|---|---|---|")
    for workers in (1, 10, 100, 1000, 10_000):
        cells = []
        for fan in (1, 32):
            model = ClusterModel(fan=fan)
            found = [simulated(model, workers, work, nbytes, rng) for _ in range(5)]
            cells += [statistics.median(found), predicted(model, workers, work, nbytes)]
        lines.append(f"| {workers:,} | " + " | ".join(f"{c:.3g} s" for c in cells) + " |")
    return "\n".join(lines)


def overhead(backend: str, workers: int, size: int, calls: int = 200) -> float:
    """Median seconds of a value and gradient of which the work is nothing, `size` parameters."""
    shards = [np.ones(1)] * workers
    total = sum_over(_nothing, shards, backend=backend, workers=workers)
    call: Any = value_and_grad(total)
    theta = np.zeros(size)
    call(theta)
    found = []
    for _ in range(calls):
        start = time.perf_counter()
        call(theta)
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _slow(seconds: float) -> Any:
    """A shard that takes so long to open, and no processor."""
    time.sleep(seconds)
    return np.ones(1)


def sleeping(workers: int, each: float, shards: int = 32, calls: int = 15) -> float:
    """Median seconds of a value and gradient on so many processes, in which each shard sleeps:
    measured points for the cost model, of more workers than the machine has cores."""
    opened = [partial(_slow, each)] * shards
    total = sum_over(_nothing, opened, backend="processes", workers=workers, keep=0)
    call: Any = value_and_grad(total)
    theta = np.zeros(1000)
    found = []
    for _ in range(2 + calls):
        start = time.perf_counter()
        call(theta)
        found.append(time.perf_counter() - start)
    close()
    return statistics.median(found[2:])


def points(each: float = 0.02, shards: int = 32) -> str:
    """Measured evaluations beside the model, whose constants are those of 1 and 16 workers that do
    not sleep."""
    first, last = (sleeping(w, 0.0, shards) for w in (1, 16))
    message = max(0.0, (last - first) / 15.0) / 2.0
    latency = max(0.0, first - 2.0 * message) / 2.0
    model = ClusterModel(message, message, latency, straggling=0.0)
    lines = ["| workers | measured | model |", "|---|---|---|"]
    for workers in (1, 2, 4, 8, 16):
        seconds = 1e3 * sleeping(workers, each, shards)
        expected = 1e3 * predicted(model, workers, shards * each, 8000)
        lines.append(f"| {workers} | {seconds:.3g} ms | {expected:.3g} ms |")
    lines.append(f"\n(a message {1e6 * message:.0f} us, latency {1e6 * latency:.0f} us)")
    return "\n".join(lines)


def _nothing(theta: Any, shard: Any) -> Any:
    return theta[0] * shard[0]


def negative_log_likelihood(theta: Any, rows: Any) -> Any:
    """Of a logistic regression over rows of features, the last column the outcome."""
    z = rows[:, :-1] @ theta
    return np.sum(np.logaddexp(0.0, z) - rows[:, -1] * z)


class Streamed(NamedTuple):
    """What a value and gradient over a stream took: by how many bytes the memory of the process
    grew meanwhile (the mapped file's pages too), and how far the gradient is from NumPy's."""

    seconds: float
    grown: int
    rows: int
    error: float


def streamed(rows: int, chunk: int, in_file: int, folder: str, files: int = 1) -> Streamed:
    """Value and gradient of a logistic regression over so many rows, which are streamed from
    mapped files of `in_file` rows each, one after the other, again and again."""
    import resource

    paths = [Path(folder) / f"rows-{k}.npy" for k in range(files)]
    _write(paths, chunk, in_file)
    wanted = [chunk]
    done = 0

    def chunks() -> Iterator[Any]:
        nonlocal done
        done = 0
        for path in itertools.cycle(paths):
            mapped = np.load(path, mmap_mode="r")
            for k in range(0, in_file, chunk):
                part = np.array(mapped[k : k + min(chunk, wanted[0] - done)])
                done += len(part)
                yield part
                if done == wanted[0]:
                    return

    theta = np.array([0.3, -0.2, 0.5], np.float32)
    call: Any = value_and_grad(sum_over(negative_log_likelihood, chunks))
    call(theta)
    wanted[0] = rows
    unit = 1 if sys.platform == "darwin" else 1024
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    _, gradient = call(theta)
    seconds = time.perf_counter() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    counted, expected = done, _by_numpy(paths, rows, in_file, theta)
    error = float(np.abs(gradient - expected).max() / np.abs(expected).max())
    return Streamed(seconds, grown * unit, counted, error)


def _write(paths: Sequence[Path], chunk: int, in_file: int) -> None:
    """Files of different rows, of which nothing stays in the system's cache."""
    rng = np.random.default_rng(0)
    whole = np.empty((in_file, 4), np.float32)
    for k in range(0, in_file, chunk):
        part = rng.normal(size=(min(chunk, in_file - k), 4))
        part[:, -1] = part[:, -1] > 0.5
        whole[k : k + chunk] = part
    for path in paths:
        with path.open("wb") as file:
            np.save(file, whole)
            file.flush()
            if hasattr(os, "posix_fadvise"):
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        whole[:, :3] = -np.roll(whole[:, :3], 1, axis=1) * np.float32(1.001)


def _by_numpy(paths: Sequence[Path], rows: int, in_file: int, theta: Any) -> Any:
    """The gradient; of a file that is read again the former result is taken."""
    known: dict[Any, Any] = {}
    total = np.zeros(3)
    for k, path in enumerate(itertools.cycle(paths)):
        count = min(in_file, rows - k * in_file)
        if count <= 0:
            return total
        if (path, count) not in known:
            part = np.load(path, mmap_mode="r")[:count]
            known[path, count] = sum(
                _gradient(part[j : j + 100_000].astype(float), theta)
                for j in range(0, count, 100_000)
            )
        total = total + known[path, count]
    return total


def _gradient(part: Any, theta: Any) -> Any:
    x = part[:, :3]
    return x.T @ (1.0 / (1.0 + np.exp(-(x @ theta))) - part[:, 3])


def main() -> None:
    """Print both; with a number, the stream of so many rows."""
    if len(sys.argv) > 1:
        rows, files = int(float(sys.argv[1])), int(sys.argv[2]) if len(sys.argv) > 2 else 1
        in_file = min(rows, 4_000_000)
        with tempfile.TemporaryDirectory() as folder:
            found = streamed(rows, min(rows, 500_000), in_file, folder, files)
        print(
            f"{found.rows:,} rows from {files} files of {in_file:,}: {found.seconds:.3g} s, "
            f"{found.grown / 1e6:,.0f} MB more than before, gradient to {found.error:.1e}"
        )
        return
    print("| engine | workers | parameters | value and gradient of nothing |\n|---|---|---|---|")
    for backend, workers in (("serial", 1), ("threads", 2), ("processes", 2), ("joblib", 2)):
        for size in (10, 1000, 1_000_000):
            seconds = overhead(backend, workers, size, 200 if size < 10_000 else 30)
            print(f"| {backend} | {workers} | {size:,} | {1e3 * seconds:.2f} ms |", flush=True)
    close()
    print(f"\n32 shards that sleep for 20 ms each:\n\n{points()}")
    print(f"\n100 s of work, 1,000 parameters:\n\n{table()}")


if __name__ == "__main__":
    main()
