"""What importing the package leaves out is there wherever it is asked for, once, with its failure
path."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess
import sys
import threading

import pytest

import tracegrad as tg
from tracegrad._codegen import loading

ROOT = pathlib.Path(__file__).resolve().parents[2]
LATE = (
    "nn",
    "optim",
    "func",
    "solvers",
    "picture",
    "autograd.profiler",
    "autograd.functional",
    "schedule.build",
)
LATE += ("codegen.kernel", "torch", "autograd.jacobian_check")
TRACING = (
    "compiled",
    "control",
    "cuda",
    "custom",
    "derivatives",
    "runtime",
    "surroundings",
    "transforms",
    "utils",
)
"""Rooms that an eager program has no use for."""


def _run(code: str) -> str:
    """What a fresh process prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED = (
    f"import sys; print([m for m in {LATE + TRACING} + ('optree', 'platformdirs') "
    "if m in sys.modules or 'tracegrad.' + m in sys.modules])"
)


def test_importing_loads_none_of_it() -> None:
    assert _run(f"import tracegrad; dir(tracegrad); {LOADED}") == "[]"


def test_eager_programs_load_none_of_it() -> None:
    code = """
import numpy as np
import tracegrad as tg

class Double(tg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

x = tg.ones(3, requires_grad=True)
(x.exp() @ x + np.sort(x).sum() + tg.linalg.norm(Double.apply(x))).backward()
tg.autograd.grad(x.sum(), x)
try:
    tg.reshape(x, 7)
except ValueError:
    str(x)
"""
    assert _run(f"{code}\n{LOADED}") == "[]"


def test_a_function_of_the_users_is_traced_where_nothing_but_jit_was_asked_for() -> None:
    code = """
import tracegrad as tg

class Double(tg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 5

x = tg.ones(3, requires_grad=True)
tg.jit(lambda x: Double.apply(x).sum())(x).backward()
print(x.grad)
"""
    assert _run(code) == "tensor([5., 5., 5.])"


FAILING = {
    "by the package": "tg.reshape(x, (2, 2))",
    "by NumPy": "np.reshape(x, (2, 2))",
    "of operands alone": "tg.add(x, object())",
    "of operands alone, by NumPy": "np.add(x, object())",
    "by another library function": "tg.linalg.inv(x)",
}


@pytest.mark.parametrize("call", FAILING)
def test_what_fails_is_named_whatever_was_asked_for_before(call: str) -> None:
    code = """
import numpy as np, tracegrad as tg
{asked}
x = tg.ones(3)
try:
    {call}
except Exception as error:
    print(type(error).__name__, error)
"""
    asked = "[getattr(tg, name) for name in dir(tg)]"
    first, later = (_run(code.format(asked=before, call=FAILING[call])) for before in ("", asked))
    assert first == later
    assert first


def test_no_module_hides_a_public_function_when_it_is_loaded() -> None:
    code = """
import tracegrad as tg
before = {name: getattr(tg, name) for name in dir(tg) if not name.startswith("_")}
import importlib, pkgutil
for path in (tg, tg.autograd):
    for found in pkgutil.iter_modules(path.__path__[:1], path.__name__ + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print([name for name, value in before.items() if getattr(tg, name) is not value])
import tracegrad.autograd.gradcheck
print(callable(tg.autograd.gradcheck), callable(tg.tensor))
"""
    assert _run(code).splitlines() == ["[]", "True True"]


def test_a_compiled_gradient_loads_no_modules_and_optimizers() -> None:
    code = "import tracegrad as tg; tg.jit(tg.grad(lambda x: (x * x).sum()))(tg.ones(3))"
    assert "'nn'" not in _run(f"{code}; {LOADED}")


ROUTES = {
    "attribute": (
        "import tracegrad as tg; linear, schedule = tg.nn.functional.linear, "
        "tg.optim.lr_scheduler.StepLR"
    ),
    "from the package": (
        "from tracegrad import nn, optim; linear, schedule = nn.functional.linear, "
        "optim.lr_scheduler.StepLR"
    ),
    "submodules": (
        "from tracegrad.nn.functional import linear; from tracegrad.optim.lr_scheduler "
        "import StepLR as schedule"
    ),
    "star": (
        "from tracegrad import *; linear, schedule = nn.functional.linear, "
        "optim.lr_scheduler.StepLR"
    ),
    "the compiler first": (
        "import tracegrad as tg; tg.jit(lambda x: x + 1)(1.0); linear, schedule = "
        "tg.nn.functional.linear, tg.optim.lr_scheduler.StepLR"
    ),
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_gives_the_same_with_its_failure_path(route: str) -> None:
    code = f"""
{ROUTES[route]}
import tracegrad
print(linear is tracegrad.nn.functional.linear, schedule is tracegrad.optim.lr_scheduler.StepLR)
for call in (lambda: linear(object(), tracegrad.ones(2, 2)), lambda: schedule("no optimizer", 1)):
    try:
        call()
    except TypeError as error:
        print(error)
"""
    same, *errors = _run(code).splitlines()
    assert same == "True True"
    assert errors[0].startswith("linear: input is ")
    assert "Optimizer" in errors[1]
    assert len(errors) == 2


def test_all_public_names_are_listed_and_found() -> None:
    code = """
import tracegrad as tg
names = set(tg.__all__) | {"func", "functional"}
print(sorted(names - set(dir(tg))), [n for n in sorted(names) if not hasattr(tg, n)])
late = tg.autograd.profiler.profile, tg.autograd.functional.jacobian
print(*[f.__name__ for f in late], tg.odeint is tg.odeint)
try:
    tg.nonsense
except AttributeError as error:
    print(error)
try:
    tg.autograd.nonsense
except AttributeError as error:
    print(error)
late = tg.odeint, tg.minimize, tg.graph_picture, tg.func.hessian, tg.autograd.functional.hvp
print([f.is_checked for f in late])
"""
    assert _run(code).splitlines() == [
        "[] []",
        "profile jacobian True",
        "module 'tracegrad' has no attribute 'nonsense'",
        "module 'tracegrad.autograd' has no attribute 'nonsense'",
        "[True, True, True, True, True]",
    ]


def test_pickles_are_read_by_a_process_that_has_loaded_nothing(tmp_path: pathlib.Path) -> None:
    tg.manual_seed(0)
    model = tg.nn.Sequential(tg.nn.Linear(2, 3), tg.nn.LSTM(3, 2))
    optimizer = tg.optim.Adam(model.parameters(), lr=0.5)
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps((model, optimizer, tg.nn.functional.relu)))
    code = f"""
import pickle
model, optimizer, relu = pickle.load(open({str(path)!r}, "rb"))
import tracegrad as tg
print(isinstance(model, tg.nn.Module), isinstance(optimizer, tg.optim.Optimizer))
print(relu is tg.nn.functional.relu)
print(optimizer.param_groups[0]["lr"], float(sum(p.sum() for p in model.parameters()).detach()))
"""
    total = float(sum(p.sum() for p in model.parameters()).detach())
    assert _run(code).splitlines() == ["True True", "True", f"0.5 {total}"]


def test_many_threads_ask_first() -> None:
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
import tracegrad as tg
barrier = threading.Barrier(8)
found, failed = [], []

def ask(k):
    try:
        barrier.wait()
        order = [lambda: tg.nn.Linear, lambda: tg.optim.Adam, lambda: tg.odeint]
        order.append(lambda: tg.jit(lambda x: x * k)(2.0))
        got = [f() for f in order[k % 4:] + order[:k % 4]]
        shift = -(k % 4) % 4
        *names, product = got[shift:] + got[:shift]
        found.append((*names, product / 2.0 == k))
    except BaseException as error:
        failed.append(error)

threads = [threading.Thread(target=ask, args=(k,)) for k in range(8)]
[t.start() for t in threads]
[t.join(120) for t in threads]
print(failed, len(found), len(set(found)), all(f[3] for f in found))
"""
    assert _run(code) == "[] 8 1 True"


def test_first_calls_at_any_moment_while_the_compiler_is_loaded() -> None:
    code = """
import sys, threading, time
import tracegrad as tg
# Every module of ours stays half loaded for a while, at each of its imports.
ours = lambda args: args[0].startswith("tracegrad") or args[0].startswith("numba.core")
sys.addaudithook(lambda event, args: time.sleep(2e-3) if event == "import" and ours(args) else None)
done, failed = threading.Event(), []

def call():
    try:
        assert tg.jit(lambda x: x + 1.0)(2.0) == 3.0
        done.set()
    except BaseException as error:
        failed.append(error)

threads = []
while not done.wait(2e-2) and not failed:
    threads.append(threading.Thread(target=call))
    threads[-1].start()
[t.join(120) for t in threads]
print(failed, len(threads) > 20)
"""
    assert _run(code) == "[] True"


def test_a_fork_waits_for_what_is_being_loaded() -> None:
    begun, go_on, forked = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        with loading.LOADING:
            begun.set()
            go_on.wait(60)

    def fork() -> None:
        child = os.fork()
        if child == 0:
            os._exit(0 if loading.LOADING.acquire(timeout=1) else 1)
        forked.status = os.waitpid(child, 0)[1]  # type: ignore[attr-defined]
        forked.set()

    holder = threading.Thread(target=hold)
    holder.start()
    begun.wait(60)
    forker = threading.Thread(target=fork)
    forker.start()
    assert not forked.wait(0.2)
    go_on.set()
    forker.join(60)
    holder.join(60)
    assert forked.is_set()
    assert forked.status == 0  # type: ignore[attr-defined]
