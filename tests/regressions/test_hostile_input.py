"""Every public function, called with wrong things, says what was wrong: no words from inside, and
no result that NumPy would refuse.

The sweep of `hostile` puts wrong things into the place of each argument of each public function,
operator, attribute and method, in turn, eagerly and inside of `jit`, of a derivative and of `vmap`,
and sorts what comes of it. `--soak 1` runs it in full.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.regressions.hostile.examples import LAME, NEEDS_A_GPU, NEEDS_A_RUN
from tests.regressions.hostile.targets import GROUPS, NAMESPACES, SAME, named
from tests.regressions.hostile.things import with_rule

ROOT = Path(__file__).parents[2]

# Calls whose errors may be in other words, and results that NumPy would not give, each with its
# reason.
KNOWN: dict[str, str] = {
    r"^tg\.getitem": (
        "of an ndarray it is `x[key]` and nothing else, so that the words are NumPy's about "
        "the user's own key"
    ),
    r"a number beyond int64": (
        "integers beyond 64 bits are taken as floats, which have a root and a sine"
    ),
    r"has no callable|= True: .*(positive|float16)": (
        "NumPy has half precision for booleans, which are taken as float64 here"
    ),
    r"(keepdims|correction|offset|k|hermitian|bias|stable|copy|full_matrices)=": (
        "any integer is true or false, and a far diagonal is empty"
    ),
    r"axis=an empty list|axis=a generator": "axes may be a list, as torch's",
    r"where=None|correction=None|casting=None|signature=None|order=None|nan=None": (
        "None is the option left out"
    ),
    r"dtype=a Tensor|Cannot construct a dtype": "a Tensor has a dtype, which is taken",
    r"a generator:": "a generator is read where a list would be",
    r"optimize=": "there is one way to take a small product",
    r"^tg\.select|^tg\.set_printoptions|^np\.(array2string|array_str|array_repr)": (
        "torch's function of NumPy's name; printing"
    ),
    r"NaN|infinity": "what a number that is none gives is not defined",
    r"^(np|tg)\.(linalg\.)?(cross|outer|tensorinv|tensordot|lstsq|matrix_rank|svd)": (
        "takes more than NumPy's"
    ),
    r"^(np|tg)\.(linalg\.)?(split|hsplit|vsplit|dsplit|array_split|diag|diagonal|trace)": (
        "takes more shapes and lists than NumPy's"
    ),
    r"^(np|tg)\.(result_type|can_cast|shares_memory|may_share_memory)": (
        "questions about lists, which have answers"
    ),
    r"^(np|tg)\.(trapezoid|squeeze|array_equal|percentile|quantile|piecewise|ediff1d)": (
        "takes numbers and lists where NumPy asks for arrays"
    ),
    r"^np\.(copyto|nan_to_num|put|putmask|take|argsort|sort|cumulative_\w+|cov)": "options",
    r"^np\.(gradient|linspace|reshape|astype|select|full_like)": "options",
    r"object arrays?|an array of objects": "an array of objects is looked at when it is used",
    r"output parameter|out=": "out= of another dtype is cast where NumPy casts",
    r"(hash|round) of .* \((Tensor|leaf|Array)\)": (
        "a Tensor is hashed by identity, as torch's, and rounded"
    ),
    r"nan_to_num|einsum": "no case of the option is met",
    r"^(tg|np)\.(clip|compress|around|round|empty_like|average|where)": (
        "options of both spellings, and elements that are not defined"
    ),
    r"^tg\.Tensor data=": "the dtype is named",
    (
        r"there is no parameter|relu is not defined|is not a Module subclass|must be a Module "
        r"or None"
    ): "what was asked for is named",
    r"^tg\.identity|^tg\.full": "the sizes are read once",
    r"gradcheck": "the message of a comparison that fails names the function that was compared",
    r"^torch\.\w+Tensor many arguments": "the constructor that all of them share",
    r"many arguments: TypeError: tracegrad\.Tensor takes": "the constructor that all of them share",
    r"^torch\.load": "a file that is not there",
    r"cannot pickle": "a layer is copied with what it was given",
    r"load_state_dict with (milestones|_phases|last_epoch)": (
        "a state of the right kind that no schedule has"
    ),
    r"requires_grad cannot be deleted": "the attribute is named",
    r"only integer scalar arrays can be converted to a scalar index": (
        "a string times an array is Python's repetition"
    ),
    r"^ConcatDataset\.__getitem__": "a number of an item is compared, as Python does",
    r"^Module\.forward": "linear is named, whose argument it is",
}
INSIDE: dict[str, str] = {
    r"out= \(or an in-place operator": (
        "what is wrong comes first: a traced value into a plain array"
    ),
    r"needs the value of a traced array|is used after the function that made it": (
        "what was done to a traced value comes first"
    ),
    r"needs floating-point or complex inputs|an argument (of users )?is an array of dtype": (
        "the argument of the transform"
    ),
    r"the traced function returned": "the function's result",
    r"changes a Tensor that it was not given": "what was done comes first",
    r"^tg\.getitem in ": "the words are about the user's own key",
    r"array is too big|iterator is too large|cannot be interpreted|MemoryError": (
        "sizes that no memory has"
    ),
    r"is out of bounds for axis|^tg\.sum_axes in ": (
        "a place, and a function for the library's own rules"
    ),
    r"^np\.(bitwise_)?\w+_shift in ": "the operation is named",
    r"^tg\.slice_put in ": "a function for the library's own rules",
    r"^tg\.cum(sum|prod) in vmap reverse=a Tensor": "a condition on a Tensor, in torch's words",
}
"""The same for calls inside of a trace."""


def known(group: str, entry: str) -> bool:
    tables = (KNOWN, INSIDE) if " in " in group else (KNOWN,)
    return any(re.search(pattern, entry) for table in tables for pattern in table)


def sweep(group: str, folder: Path, *options: str) -> dict[str, Any]:
    """Each group in a process of its own, since what the sweep calls changes settings, and in a
    folder of its own, where it may write."""
    process = subprocess.run(
        [sys.executable, "-m", "tests.regressions.hostile", group, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr[-4000:]
    found: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_no_error_speaks_of_the_inside(
    group: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    found = sweep(group, tmp_path, *(["--full"] if pytestconfig.getoption("--soak") else []))
    assert found["names"]
    assert sum(found["seen"].values())
    for kind in ("internal", "nameless", "lost", "lenient", "differs"):
        bad = [entry for name, what in found[kind] if not known(group, entry := f"{name} {what}")]
        assert not bad, (
            f"{kind}: {len(bad)} of {sum(found['seen'].values())} calls ({found['seen']}):\n"
            + "\n".join(bad[:40])
        )
    lame = [
        n for n in found["lame"] if n not in LAME and not n.startswith((*NEEDS_A_GPU, *NEEDS_A_RUN))
    ]
    assert group in ("attributes", "subscripts", "constructors") or not lame, (
        f"no arguments that work are known for {lame}"
    )


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
