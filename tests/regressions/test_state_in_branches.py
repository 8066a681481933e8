"""What a branch or a loop on traced values sets around the function: as plain Python, or refused
with the line; never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracegrad as tg
from tests.state_programs import loaded

TEXT = """
import tracegrad as tg
class O: pass
class H: pass
o, G = O(), {}
o.rate, o.a, o.b, o.n, o.flag, o.two = 0.5, tg.ones(2), tg.tensor([3., 4.]), 1, False, 2.0
o.tup, o.d, o.sub = (o.a, 5), {'old': 'x'}, O()
def f(x):
    r = x.sum()
    o.rate = o.rate * 0.75
BODY    return r * o.rate
def state():
    return repr([{k: v for k, v in vars(o).items() if k != 'sub'}, G, vars(o.sub), len(vars(H))])
"""
BODIES = {
    "where it holds": "    if x[0] > 0:\n        SET\n    else:\n        r = r * 2\n",
    "where it does not": "    if x[0] > 5:\n        r = r * 2\n    else:\n        SET\n",
    "in a loop": "    k = x[0]\n    while k < 4:\n        k = k + 1\n        SET\n        r += k\n",
}
SETS = (
    "o.new = (o.a, o.n)", "o.new = 1", "o.new = o.a", "o.new = None", "o.new = 'text'",
    "o.d['k'] = o.a", "o.d['k'] = None", "G['x'] = 1", "H.late = 1", "o.sub.z = 1",
    "setattr(o, 'new', 1)", "setattr(o, 'two', 3.0)", "o.__dict__['new'] = 1",
    "o.tup = (o.a, o.n)", "o.a, o.b = o.b, o.a", "o.n += 1", "o.two = 3.5", "o.two = o.two",
    "o.d['old'] = 'y'",
)  # fmt: skip


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("where", BODIES)
@pytest.mark.parametrize("what", SETS)
def test_nothing_is_lost(what: str, where: str, tmp_path: Path) -> None:
    text = TEXT.replace("BODY", BODIES[where].replace("SET", what))
    plain, compiled = (loaded(text, f"_state_in_branches_{k}", str(tmp_path)) for k in "ab")
    call, before = tg.jit(compiled.f), compiled.state()
    refused = ""
    for k in range(2):
        x = tg.tensor([1.0, 1.0 - k])
        wanted = float(plain.f(x)), plain.state()
        try:
            found = float(call(x)), compiled.state()
        except tg.TracegradError as error:
            refused = str(error)
            break
        assert found == wanted
    if refused:
        assert "_state_in_branches_b.py:" in refused
        assert compiled.state() == before
