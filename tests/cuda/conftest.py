"""These tests need a device. On Numba's simulator tests/codegen/test_cuda.py runs them, in
processes of their own, since the simulator is chosen when numba.cuda is imported. On a GPU:
`TRACEGRAD_TEST_GPU=1 python -m pytest tests/cuda`.
"""

from __future__ import annotations

import os

collect_ignore_glob = (
    []
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" or os.environ.get("TRACEGRAD_TEST_GPU") == "1"
    else ["test_*.py"]
)
