"""What a jitted function shows of itself: graphs, programs, source, for every kind of signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.schedule.passes.pipeline import PIPELINE

X = np.linspace(0.1, 1.0, 6).reshape(2, 3)
AROUND = np.array([1.0, 2.0, 3.0])


def affine(x: Any) -> Any:
    return np.sin(x) * AROUND + 1.0


@tg.jit(donate_argnums=(0,))
def step(w: Any, g: Any) -> Any:
    return w - 0.1 * g


CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "captured array": (tg.jit(affine), (X,)),
    "Fortran order": (tg.jit(affine), (np.asfortranarray(X),)),
    "strided": (tg.jit(affine), (X[:, ::-1],)),
    "Tensor": (tg.jit(affine), (tg.tensor(X, requires_grad=True),)),
    "gradient": (tg.jit(tg.grad(lambda x: np.sum(affine(x)))), (X,)),
    "float32 in a loop": (
        tg.jit(lambda x: tg.fori_loop(0, 3, lambda k, c: c * x, x)),
        (X.astype(np.float32),),
    ),
    "empty": (tg.jit(affine), (np.zeros((0, 3)),)),
    "0-d": (tg.jit(lambda x: x * 2.0), (1.5,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_programs_name_every_pass(name: str) -> None:
    f, args = CALLS[name]
    stages = f.programs(*args)
    names = [stage.name for stage in stages]
    assert names == ["nests", *[name for name, _ in PIPELINE], "places in the arena"]
    assert len(stages) == len(names)
    assert all(
        str(stage).startswith(f"program {stage.program.name}:  # after ") for stage in stages
    )
    assert str(stages) == "\n\n".join(map(str, stages))


@pytest.mark.parametrize("name", CALLS)
def test_the_last_program_is_the_one_that_runs(name: str) -> None:
    f, args = CALLS[name]
    made, values = f._executable(args, {})
    compiled = made.kernel_for([x._data if isinstance(x, tg.Tensor) else x for x in values])
    assert f.programs(*args)[-1].program == compiled.program


def test_given_up_arguments_show_where_results_lie() -> None:
    w, g = np.ones(3), np.ones(3)
    assert (
        step.programs(w, g)[-1].name == "places in the arena"
    )  # nothing is known to be given up before a call
    step(w, g)
    last = step.programs(np.ones(3), g)[-1]
    assert last.name == "results in inputs"
    assert [b.role for b in last.program.buffers if b.role in ("in", "out")] == ["in", "in"]


def test_sizes_of_a_generic_program() -> None:
    f = tg.jit(lambda x: np.sum(x * x))
    for n in (3, 5, 7):
        f(np.ones(n))
    (size,) = f.programs(np.ones(9))[-1].program.sizes
    assert str(f.programs(np.ones(9))[-1]).count(f"size {size[0]} = x.shape[0]") == 1


def test_programs_of_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="jit: an argument of affine"):
        tg.jit(affine).programs(object())
