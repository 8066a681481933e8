"""Write torch's numbers to a file."""

from __future__ import annotations

import sys

import numpy as np
import torch

from tests.torch_calls import CASES, results

torch.set_default_dtype(torch.float64)
numbers = {}
for name in CASES:
    numbers |= results(name, torch)
np.savez_compressed(sys.argv[1], **numbers)
