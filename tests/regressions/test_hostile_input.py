"""Every public function, called with wrong things, says what was wrong: no words from inside, and
no result that NumPy would refuse.

The sweep of `hostile` puts wrong things into the place of each argument of each public function,
operator, attribute and method, in turn, eagerly and inside of `jit`, of a derivative and of `vmap`,
and sorts what comes of it. It makes every second call, inside of transforms every 24th; all with
`--soak 1`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions.hostile.examples import LAME, NEEDS_A_GPU, NEEDS_A_RUN
from tests.regressions.hostile.excuses import ALLOWED, EXCUSED
from tests.regressions.hostile.reasons import REASONS
from tests.regressions.hostile.scipy_names import NEEDS_A_LIBRARY
from tests.regressions.hostile.targets import GROUPS, NAMESPACES, SAME, named
from tests.regressions.hostile.things import with_rule
from tests.regressions.hostile.verdict import BAD

ROOT = Path(__file__).parents[2]


def sweep(groups: Sequence[str], folder: Path, *options: str) -> list[dict[str, Any]]:
    """Each group in a process of its own, since what the sweep calls changes settings, and in a
    folder of its own, where it may write."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.regressions.hostile", *options, *groups],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr[-4000:]
    return [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]


SPLIT = 4
"""So many processes sweep the groups, each a part of them."""


@pytest.mark.parametrize("part", range(SPLIT))
def test_no_error_speaks_of_the_inside(
    part: int, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    options = ["--full"] if pytestconfig.getoption("--soak") else []
    for found in sweep(GROUPS[part::SPLIT], tmp_path, *options):
        group, seen, names = found["group"], found["seen"], set(found["names"])
        assert names
        assert sum(seen.values())
        for kind in BAD:
            allowed = ALLOWED.get(kind, set())
            bad = [
                f"{name} {what}: {result}"
                for name, what, result in found[kind]
                if (name, what) not in allowed
            ]
            assert not bad, (
                f"{group}: {kind}: {len(bad)} of {sum(seen.values())} calls ({seen}):\n"
                + "\n".join(bad[:40])
            )
            met = {(name, what) for name, what, _ in found[kind]}
            stale = {x for x in allowed if x[0] in names} - met
            assert not stale, f"{group}: {kind}: excused, and not met: {sorted(stale)}"
        unused = [r.says for r in REASONS if r.group == group and r.says not in found["reasons"]]
        assert not unused, f"{group}: reasons that no call has: {unused}"
        lame = [
            n
            for n in found["lame"]
            if n not in LAME and not n.startswith((*NEEDS_A_GPU, *NEEDS_A_RUN, *NEEDS_A_LIBRARY))
        ]
        assert group in ("attributes", "subscripts", "constructors") or not lame, (
            f"no arguments that work are known for {lame}"
        )


def test_every_excuse_is_of_something_that_is_swept(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """What the sweeps of the groups do not meet, they cannot find stale."""
    if not pytestconfig.getoption("--soak"):
        pytest.skip("it finds the arguments of everything once more: only with --soak 1")
    left = set(EXCUSED)
    for found in sweep(GROUPS, tmp_path, "--names"):
        left -= set(found["names"])
    assert not left


def test_the_sweep_reaches_all_that_is_public() -> None:
    reached = {id(value) for prefix in NAMESPACES for value in named(prefix).values()}
    assert {
        id(v)
        for n in tg.__all__
        if callable(v := getattr(tg, n)) and not isinstance(v, type) and hasattr(v, "__name__")
    } <= reached
    import tracegrad.torch as torch

    for theirs, ours in SAME.items():
        module = torch
        for part in theirs.split(".")[1:]:
            module = getattr(module, part)
        mine = set(map(id, vars(NAMESPACES[ours]).values()))
        other = [
            n
            for n in module.__all__
            if id(getattr(module, n)) not in mine and callable(getattr(module, n))
        ]
        assert not [n for n in other if id(getattr(module, n)) not in reached], (theirs, other)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tg.exp("a"),
            "exp: x is the string 'a'; it must be an array, a Tensor or a number",
        ),
        (
            lambda: tg.matmul(np.ones(3), [[1.0], [2.0, 3.0]]),
            "matmul: y is a list of length 2 of list, whose parts differ in shape",
        ),
        (lambda: tg.add(1.0, None), "add: y is None; it must be an array"),
        (
            lambda: tg.ones(2).add(np.array(["a"])),
            "Tensor.add: dtype <U1 is not supported; the supported dtypes are",
        ),
        (lambda: tg.sum(np.ones(2), axis="a"), "sum: an axis is an integer"),
        (
            lambda: tg.zeros("a"),
            "zeros: size is the string 'a'; it must be an integer or a sequence of integers",
        ),
        (lambda: tg.zeros(2, dtype="no"), "zeros: dtype is the string 'no'; it must be a dtype"),
        (
            lambda: tg.ones(2, 2).topk(1.5),
            "Tensor.topk: k is the number 1.5; it must be an integer",
        ),
        (lambda: tg.ones(2).reshape(slice(2)), "Tensor.reshape: shape is slice"),
        (
            lambda: tg.nn.Linear("a", 2),
            "Linear: in_features is the string 'a'; it must be an integer",
        ),
        (
            lambda: tg.nn.functional.linear(tg.ones(2), 3.0),
            "linear: weight is the number 3.0; it must be an array or a Tensor",
        ),
        (lambda: tg.optim.SGD([tg.ones(2)], lr="fast"), "SGD: .*lr"),
        (
            lambda: tg.grad(np.sin, argnums=slice(1)),
            "grad: argnums is slice.*; it must be an integer or a sequence of integers",
        ),
        (
            lambda: tg.grad(lambda x: x, has_aux=True)(1.0),
            "grad: with has_aux the function must return a pair",
        ),
        (
            lambda: tg.vmap(np.sin, in_axes="a")(np.ones(2)),
            "vmap: in_axes and out_axes are integers",
        ),
        (
            lambda: with_rule(lambda x: x, lambda r, ct: (ct,)),
            r"the forward rule must return a pair \(result, residuals\)",
        ),
        (
            lambda: with_rule(lambda x: (x, x), lambda r, ct: (ct, ct)),
            "the backward rule returned 2 cotangents for 1 arguments",
        ),
        (
            lambda: with_rule(lambda x: (x, x), lambda r, ct: (ct[0],)),
            "the rule returned a derivative of shape",
        ),
        (lambda: tg.eye(2**62), "eye: n=4611686018427387904.* more elements than memory can hold"),
    ],
)
def test_messages(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_errors_of_the_users_own_functions_stay() -> None:
    def broken(x: Any) -> Any:
        return x.no_such_thing

    for call in (
        lambda: tg.grad(broken)(1.0),
        lambda: tg.vmap(broken)(np.ones(2)),
        lambda: tg.fori_loop(0, 2, lambda k, c: broken(c), 1.0),
    ):
        with pytest.raises(AttributeError, match="no_such_thing"):
            call()


def test_what_is_called_often_has_no_call_around_it() -> None:
    for function in (
        tg.exp,
        tg.add,
        tg.matmul,
        tg.reshape,
        tg.zeros,
        tg.Tensor.sum,
        tg.Tensor.reshape,
        tg.Tensor.dim,
        tg.Tensor.add_,
        tg.Tensor.mul,
    ):
        assert not hasattr(function, "is_checked"), function
