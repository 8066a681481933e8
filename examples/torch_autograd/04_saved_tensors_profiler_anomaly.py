"""What the tape keeps, put on disk by hooks; where the time goes; and who made the NaN."""

from __future__ import annotations

import json
import pathlib
import tempfile
import uuid
import warnings

import numpy as np

import tracegrad as tg
from tracegrad import autograd
from tracegrad.autograd import profiler


# In [1]: Each saved tensor goes through the two hooks: packed when it is saved, unpacked when it is
# read.
def pack(x):
    print("pack", tuple(x.shape))
    return x


def unpack(x):
    print("unpack", tuple(x.shape))
    return x


a = tg.ones(5, requires_grad=True)
b = tg.ones(5, requires_grad=True) * 2
with autograd.graph.saved_tensors_hooks(pack, unpack):
    y = a * b
y.sum().backward()

# In [2]: So they can be kept on disk, each in a file that goes away with its last user.
folder = tempfile.TemporaryDirectory()


class OnDisk:
    def __init__(self, x):
        self.path = pathlib.Path(folder.name) / f"{uuid.uuid4().hex}.npy"
        np.save(self.path, x.detach().numpy())

    def load(self):
        return tg.tensor(np.load(self.path))

    def __del__(self):
        self.path.unlink(missing_ok=True)


def files():
    return len(list(pathlib.Path(folder.name).iterdir()))


x = tg.linspace(0.0, 1.0, 5, requires_grad=True)
with autograd.graph.saved_tensors_hooks(OnDisk, OnDisk.load):
    y = (x.sin() * x.exp()).sum()
print("files while the graph lives:", files() > 0)
y.backward()
print(x.grad)
print(
    bool(
        np.allclose(
            x.grad.numpy(),
            np.exp(x.detach().numpy()) * (np.sin(x.detach().numpy()) + np.cos(x.detach().numpy())),
        )
    )
)
del y
print("files afterwards:", files())
folder.cleanup()

# In [3]: Hooks can be forbidden where they would do harm.
try:
    with autograd.graph.disable_saved_tensors_hooks("no hooks here, please"):
        with autograd.graph.saved_tensors_hooks(pack, unpack):
            pass
except RuntimeError as error:
    print(error)

# In [4]: Where the time goes: operations forward and backward, and a part under a name of one's
# own.
m = tg.ones(60, 60, requires_grad=True)
with profiler.profile(record_shapes=True) as prof:
    with profiler.record_function("model"):
        out = (m @ m).tanh().mean()
    out.backward()
averages = {row.key: row for row in prof.key_averages()}
for name in ("model", "matmul", "tanh", "TanhBackward0", "MmBackward0"):
    print(name, averages[name].count)
print(averages["model"].cpu_time_total >= averages["tanh"].cpu_time_total > 0)
table = prof.key_averages().table(sort_by="cpu_time_total", row_limit=5).splitlines()
print("  ".join(table[1].split()), table[-1].split(":")[0], sep="\n")

# In [5]: A compiled function: each stage of compiling it, once, and its calls.
step = tg.jit(lambda m: (m @ m).tanh().mean())
with profiler.profile() as prof:
    for _ in range(3):
        step(m.detach())
names = {row.key: row.count for row in prof.key_averages()}
print({name: count for name, count in names.items() if "trace" in name or "compiled" in name})

# In [6]: The same as a file that chrome://tracing and Perfetto open.
with tempfile.TemporaryDirectory() as place:
    path = pathlib.Path(place) / "trace.json"
    prof.export_chrome_trace(str(path))
    print(sorted({event["ph"] for event in json.loads(path.read_text())["traceEvents"]}))

# In [7]: A gradient that is no number: anomaly detection says which operation made it, and where
# that was called.
x = tg.tensor([4.0, -1.0], requires_grad=True)
with np.errstate(invalid="ignore"):
    x.sqrt().sum().backward()
    print(x.grad)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with autograd.detect_anomaly():
                x.sqrt().sum().backward()
        except RuntimeError as error:
            print(error)
print(any("x.sqrt()" in str(warning.message) for warning in caught))
