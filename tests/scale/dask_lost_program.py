"""A Dask scheduler that is killed: a program, which `test_scale_clusters.py` runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback

import numpy as np

import tracegrad as tg
from tests.shard_functions import bits, logistic, rows

theta = np.array([0.3, -0.2, 0.5])
shards = rows()
expected = bits(tg.scale.sum_over(logistic, shards))


if __name__ == "__main__":
    from distributed import Client

    run = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            sys.argv[1],
        ]
    )
    worker = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "worker",
            "--scheduler-file",
            sys.argv[1],
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--death-timeout",
            "30",
        ]
    )
    code = 0
    try:
        client = Client(scheduler_file=sys.argv[1], timeout=30)
        client.wait_for_workers(1, timeout=60)
        total = tg.scale.sum_over(logistic, shards, client=client, limit=60.0)
        assert bits(total) == expected
        scheduler.kill()
        started = time.monotonic()
        for _ in range(3):
            try:
                found = bits(total)
            except (tg.scale.WorkerLostError, tg.scale.EvaluationTimeoutError) as error:
                print(type(error).__name__, error, file=sys.stderr)
            else:
                assert found == expected
        assert time.monotonic() - started < 100.0
        print("well", flush=True)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        # Dask's own end would wait for the scheduler.
        scheduler.kill()
        worker.kill()
        sys.stderr.flush()
        os._exit(code)
