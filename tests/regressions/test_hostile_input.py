"""Every public function, called with wrong things, says what was wrong: no words from inside.

The sweep of `hostile` puts wrong things into the place of each argument of each public function, in turn, and sorts what comes of it.
"""

from __future__ import annotations

import collections
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions import hostile

# Whose errors may be in the words of others, each with its reason.
KNOWN = {"tg.getitem": "of an ndarray it is `x[key]` and nothing else, so that the words are NumPy's about the user's own key"}


@pytest.fixture
def settings() -> Iterator[None]:
    """What calls may change of the process, as it was."""
    shown, threads, dtype = tg.get_printoptions(), tg.get_num_threads(), tg.get_default_dtype()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
    tg.set_printoptions(**shown)
    tg.set_num_threads(threads)
    tg.set_default_dtype(dtype)
    tg.use_deterministic_algorithms(True)
    tg.set_grad_enabled(True)
    tg.autograd.set_detect_anomaly(False)
    tg.utils.checkpoint.set_checkpoint_early_stop(True)


def groups() -> dict[str, list[hostile.Target]]:
    """The targets, in a few groups of about equal size."""
    found: dict[str, list[hostile.Target]] = collections.defaultdict(list)
    for target in hostile.targets():
        found[target.name.rpartition(".")[0] or "what they return"].append(target)
    return found


GROUPS = groups()


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.usefixtures("settings")
def test_no_error_speaks_of_the_inside(group: str) -> None:
    bad: list[str] = []
    seen = collections.Counter[str]()
    for target in GROUPS[group]:
        for what, args, kwargs in hostile.calls(target):
            kind, error = hostile.outcome(target, args, kwargs)
            seen[kind] += 1
            if kind == "internal" and target.name not in KNOWN:
                bad.append(f"{target.name}: {what}: {hostile.shown(error)}")
    assert not bad, f"{len(bad)} of {sum(seen.values())} calls ({dict(seen)}):\n" + "\n".join(bad[:40])


def test_the_sweep_reaches_all_that_is_public() -> None:
    names = {t.name for group in GROUPS.values() for t in group}
    assert {f"tg.{n}" for n in tg.__all__ if callable(getattr(tg, n)) and not isinstance(getattr(tg, n), type)} <= names
    assert len(names) > 1000
    working = sum(t.works for group in GROUPS.values() for t in group)
    assert working > 0.93 * len(names), [t.name for group in GROUPS.values() for t in group if not t.works]


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
        (lambda: hostile.with_rule(lambda x: x, lambda r, ct: (ct,)), r"the forward rule must return a pair \(result, residuals\)"),
        (lambda: hostile.with_rule(lambda x: (x, x), lambda r, ct: (ct, ct)), "the backward rule returned 2 cotangents for 1 arguments"),
        (lambda: hostile.with_rule(lambda x: (x, x), lambda r, ct: (ct[0],)), "the rule returned a derivative of shape"),
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
