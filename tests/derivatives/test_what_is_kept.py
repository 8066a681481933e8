"""The memory that the derivatives of loops plan: counted in bytes, not timed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.bench import long_loop

pytestmark = pytest.mark.usefixtures("kernels_in_python")


def stacked(body: Callable[..., Any], *args: Any, n: int = 1000, argnums: Any = 0) -> float:
    """The bytes that the gradient of a loop keeps for each of its steps; arguments, results and
    what is there for one step do not count."""
    found = []
    for length in (n, 2 * n):
        f = lambda c, *rest, length=length: np.sum(  # noqa: E731
            tg.fori_loop(0, length, lambda i, c: body(c, i, *rest), c)
        )
        found.append(tg.jit(tg.grad(f, argnums)).memory(*args).temporaries)
    return (found[1] - found[0]) / n


def rotation(c: Any, i: Any, w: Any) -> Any:
    return np.sin(c) * w


class TestWhatIsKept:
    """Bytes per step."""

    C, TABLE = np.linspace(0.1, 0.5, 5), np.linspace(0.0, 1.0, 5000)
    CASES: ClassVar[dict[str, tuple[Any, ...]]] = {
        "a linear body: nothing": (0, lambda c, i: 2.0 * c - np.roll(c, 1), C),
        "linear with a coefficient of the number of the step: nothing": (
            0,
            lambda c, i: c * np.cos(i * 0.1),
            C,
        ),
        "linear with a coefficient that is read: nothing": (0, lambda c, i, t: c * t[i], C, TABLE),
        "a cheap body: its carry": (40, lambda c, i: np.sin(c) * c + 1.0, C),
        "a cheap body of many operations: its carry": (
            40,
            lambda c, i: np.sin(c * c + np.cos(c) * i) / (2 + c * c),
            C,
        ),
        "of a carry that only grows by what does not depend on it: nothing": (
            0,
            lambda c, i, w: c + np.sin(w * i),
            C,
            0.5,
        ),
        "of a slice that is multiplied: one number": (
            8,
            lambda c, i: c + np.sum(c[1:2] * c[1:2] * 0.1) * np.cos(i),
            C,
        ),
        "of a large array that is read at one place: the number read": (
            8,
            lambda c, i, t: np.sin(c * t[i]),
            0.5,
            TABLE,
        ),
    }

    @pytest.mark.parametrize("name", CASES)
    def test_bytes_of_a_step(self, name: str) -> None:
        expected, body, *args = self.CASES[name]
        assert stacked(body, *args) == pytest.approx(expected, abs=0.5)

    def test_gradients_of_constants(self) -> None:
        # Of sin(c) * w the adjoint reads c and sin(c), which is cheap.
        assert stacked(rotation, self.C, np.full(5, 0.9), argnums=(0, 1)) == pytest.approx(
            40, abs=0.5
        )
        # The sums over the steps are carries of the adjoint, not stacks: also of a table that is
        # read in places.
        assert stacked(
            lambda c, i, t: np.sin(c * t[i]), 0.5, np.linspace(0.0, 1.0, 5000), argnums=1
        ) == pytest.approx(8, abs=0.5)

    def test_results_that_follow_from_what_is_kept_are_not_stacked(self) -> None:
        f = tg.jit(
            tg.grad(lambda x: np.sum(tg.scan(lambda c, x: (np.sin(c * x) + c, c * x), 0.3, x)[1]))
        )
        small, large = (f.memory(np.linspace(0, 1, n)).temporaries for n in (1000, 2000))
        assert (large - small) / 1000 == pytest.approx(8, abs=0.5)

    def test_a_million_steps(self) -> None:
        """Steps x live residuals; with segments below one percent of that, and below a tenth of a
        percent with two levels."""
        n, planned = 1_000_000, {}
        blocks = 16_384  # what loops over blocks of steps hand to each other
        for checkpoint in (None, "sqrt", (10_000, 100)):
            f = tg.jit(
                tg.grad(
                    lambda c, k=checkpoint: np.sum(
                        tg.scan(
                            lambda c, _: (np.sin(c) * c, None), c, None, length=n, checkpoint=k
                        )[0]
                    )
                )
            )
            planned[checkpoint] = f.memory(np.ones(3))
        assert n * 24 <= planned[None].temporaries <= n * 24 + blocks
        assert planned[None].largest[0][1] == n * 24
        assert planned["sqrt"].temporaries <= 2 * 1000 * 24 + blocks
        assert planned[10_000, 100].temporaries <= 3 * 100 * 24 + blocks
        assert (planned[None].arguments, planned[None].results, planned[None].counted) == (
            24,
            24,
            "",
        )
        assert "temporaries 24,0" in str(planned[None])

    def test_a_loop_of_unknown_length(self) -> None:
        def make(checkpoint: Any) -> Any:
            return tg.jit(
                tg.grad(
                    lambda x: tg.while_loop(
                        lambda c: c < 1e3,
                        lambda c: c * np.sin(c) ** 2 + c,
                        x,
                        checkpoint=checkpoint,
                    )
                )
            )

        assert make(None).memory(1.5).counted == "8*steps"
        counted = make("sqrt").memory(1.5).counted
        needed = {
            steps: eval(counted, {"max": max, "int": int, "steps1": steps})
            for steps in (100, 10_000, 1_000_000)
        }
        assert needed == {100: 160, 10_000: 1600, 1_000_000: 16_000}

    @pytest.mark.skipif(
        sys.platform != "linux", reason="the high-water mark of a process is reset on Linux only"
    )
    def test_peak_of_a_process(self) -> None:
        """What is planned is what is taken: 48 MB more for 2 million steps of 24 bytes, nearly
        nothing with segments."""
        code = (
            "import numpy as np, tracegrad as tg\n"
            "from tracegrad.bench.measure import PeakMemory\n"
            "for k in ('sqrt', None):\n"
            "    step = lambda c, _: (np.sin(c) * c, None)\n"
            "    last = lambda c: tg.scan(step, c, None, length=2_000_000, checkpoint=k)[0]\n"
            "    f = tg.jit(tg.grad(lambda c: np.sum(last(c))))\n"
            "    f.source(np.ones(3))\n"
            "    start = PeakMemory()\n"
            "    f(np.ones(3))\n"
            "    print(start.megabytes())\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
        )
        segments, whole = map(float, done.stdout.split())
        assert 45 <= whole <= 60
        assert segments <= 3

    def test_the_table_of_long_loops(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            long_loop, "in_a_process", lambda way, steps: long_loop.measured(way, steps, 1)
        )
        assert long_loop.main(["--steps", "1000"]) == 0
        rows = [
            [cell.strip() for cell in line.split("|")[1:-1]]
            for line in capsys.readouterr().out.splitlines()[2:]
        ]
        assert [r[0] for r in rows] == ["None", "'sqrt'", "(100, 10)"]
        planned = [int(r[1].replace(",", "")) for r in rows]
        assert 24_000 <= planned[0] <= 24_500
        assert planned[2] < planned[1] <= 24 * (25 + 40) + 500
