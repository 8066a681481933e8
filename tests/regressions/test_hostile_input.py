"""Every public function, called with wrong things, says what was wrong: no words from inside.

The sweep of `hostile` puts wrong things into the place of each argument of each public function, in turn, and sorts what comes of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions.hostile.targets import GROUPS, with_rule

ROOT = Path(__file__).parents[2]

# Whose errors may be in the words of others, each with its reason.
KNOWN = {"tg.getitem": "of an ndarray it is `x[key]` and nothing else, so that the words are NumPy's about the user's own key"}


@pytest.mark.parametrize("group", GROUPS)
def test_no_error_speaks_of_the_inside(group: str) -> None:
    """Each group in a process of its own, since what the sweep calls changes settings."""
    process = subprocess.run([sys.executable, "-m", "tests.regressions.hostile", group], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[-4000:]
    found = json.loads(process.stdout.splitlines()[-1])
    bad = [f"{name}: {what}" for name, what in found["internal"] if name not in KNOWN]
    assert not bad, f"{len(bad)} of {sum(found['seen'].values())} calls ({found['seen']}):\n" + "\n".join(bad[:40])
    assert len(found["lame"]) <= 2 + 0.1 * len(found["names"]), found["lame"]
    if group == "tg":
        assert {f"tg.{n}" for n in tg.__all__ if callable(getattr(tg, n)) and not isinstance(getattr(tg, n), type)} <= {*found["names"]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tg.exp("a"), "exp: x is the string 'a'; it must be an array, a Tensor or a number"),
        (lambda: tg.matmul(np.ones(3), [[1.0], [2.0, 3.0]]), "matmul: y is a list of length 2 of list, whose parts differ in shape"),
        (lambda: tg.add(1.0, None), "add: y is None; it must be an array"),
        (lambda: tg.ones(2).add(np.array(["a"])), "Tensor.add: dtype <U1 is not supported; the supported dtypes are"),
        (lambda: tg.sum(np.ones(2), axis="a"), "sum: an axis is an integer"),
        (lambda: tg.zeros("a"), "zeros: size is the string 'a'; it must be an integer or a sequence of integers"),
        (lambda: tg.zeros(2, dtype="no"), "zeros: dtype is the string 'no'; it must be a dtype"),
        (lambda: tg.ones(2, 2).topk(1.5), "Tensor.topk: k is the number 1.5; it must be an integer"),
        (lambda: tg.ones(2).reshape(slice(2)), "Tensor.reshape: shape is slice"),
        (lambda: tg.nn.Linear("a", 2), "Linear: in_features is the string 'a'; it must be an integer"),
        (lambda: tg.nn.functional.linear(tg.ones(2), 3.0), "linear: weight is the number 3.0; it must be an array or a Tensor"),
        (lambda: tg.optim.SGD([tg.ones(2)], lr="fast"), "SGD: .*lr"),
        (lambda: tg.grad(np.sin, argnums=slice(1)), "grad: argnums is slice.*; it must be an integer or a sequence of integers"),
        (lambda: tg.grad(lambda x: x, has_aux=True)(1.0), "grad: with has_aux the function must return a pair"),
        (lambda: tg.vmap(np.sin, in_axes="a")(np.ones(2)), "vmap: in_axes and out_axes are integers"),
        (lambda: with_rule(lambda x: x, lambda r, ct: (ct,)), r"the forward rule must return a pair \(result, residuals\)"),
        (lambda: with_rule(lambda x: (x, x), lambda r, ct: (ct, ct)), "the backward rule returned 2 cotangents for 1 arguments"),
        (lambda: with_rule(lambda x: (x, x), lambda r, ct: (ct[0],)), "the rule returned a derivative of shape"),
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
