"""What plain programs make of a size: a second size is the last one that is traced, and the numbers
are NumPy's at each. (`np.zeros(n)` asks a traced size for its number; the function is rewritten
then, and what makes arrays of sizes is an operation.)"""

from __future__ import annotations

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import counted_traces
from tests.texts import executed

FOR_ALL = """
x + np.zeros(n)
np.zeros((2, n + 1), np.float32)
np.ones(2 * n, complex)
np.full((n, n), 3) * x
np.full(n, np.arange(n)) * x
np.eye(n, n + 1).T * x
np.eye(n, k=-n + 1) * x
np.identity(n) @ x
x * np.arange(n)
np.arange(n - 1, -1, -1) * x
np.arange(1.0, n)
np.arange(-n, n)
np.arange(n, 2 * n, 3)
np.arange(n // 2)
x * np.linspace(0, 1, n)
np.linspace(0, 1, n, endpoint=False) * x
np.linspace(0, 1, n, retstep=True)[1] * x
np.linspace(-1, 1, 2 * n + 1)
np.linspace(0, 10, n, dtype=int)
np.linspace([0, 1], [1, 3], n, axis=1)
np.linspace(1j, 2, n)
np.linspace(0, 1, n + 1)[:-1] * x
np.logspace(0, 2, n, base=2)
np.sum(x) / len(x)
x * np.sqrt(n) + np.log(n)
x[n // 2 :]
x * (n % 2) + n**2
np.outer(x, np.ones(n))
np.concatenate([x, np.zeros(n)])
np.outer(x, x)[np.arange(n), np.arange(n)[::-1]]
np.where(np.arange(n) < n // 2, x, 0)
np.cumsum(x) / np.arange(1, n + 1)
np.interp(np.linspace(0, 1, 5), np.linspace(0, 1, n), x)
np.linalg.solve(np.eye(n) + np.outer(x, x), x)
np.linalg.cholesky(np.eye(n) + np.outer(x, x))
np.roll(x, n // 2)
np.fft.ifft(x + 1j)
np.fft.fftshift(x)
np.trapezoid(x, dx=1 / n)
np.median(x)
np.percentile(x, [10, 90])
np.tri(n) * x
x * int(n)
x / float(n)
np.hanning(n) * x + np.hamming(n)
np.bartlett(n) * x - np.blackman(n)
np.kaiser(n, 3.0) * x
np.indices((n, 2))[0] * 1.0
np.fft.fftfreq(n, 0.1) * x
np.fft.rfftfreq(n)
""".strip().splitlines()
OTHERS = """
x - np.float64(n)
np.linspace(0, 1, n - 1)
np.arange(0, n, 0.5)
np.linspace(0.0, n, n) * x
np.geomspace(1, 10, n) * x
x * np.array([n])
np.outer(x, x)[np.triu_indices(n)]
""".strip().splitlines()
SIZES = (7, 9, 4, 30, 2)


@pytest.mark.parametrize("text", [*FOR_ALL, *OTHERS])
def test_sizes(text: str, kernels_in_python: None) -> None:
    source = f"def f(x):\n    n = x.shape[0]\n    return {text}\n"
    f = executed(source, f"<{text}>", np=np)["f"]
    with counted_traces() as traced:
        compiled = tg.jit(f)
        for n in SIZES:
            x = 3 * np.cos(np.arange(n)) + 0.1
            found, expected = compiled(x), f(x)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=str(n))
    if text in FOR_ALL:
        # The second trace of some is stopped where it asks for a number, and begins again.
        assert len(traced) <= 4
