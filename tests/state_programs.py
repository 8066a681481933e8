"""Random programs over Python's state: functions that read and write globals, attributes, lists,
dicts, closures, and changes of these between the calls. Each is a module, loaded twice: the one is
run as it is, the other compiled."""

from __future__ import annotations

import random
import re
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import tracegrad as tg

HEAD = """
import numpy as np
from dataclasses import dataclass
import tracegrad as tg
from tracegrad import nn

def t(*v): return tg.tensor([float(a) for a in v])
class Box:
    rate = 0.5
    shared = tg.tensor([0.25, 0.5])
    def __init__(self, v, w):
        self.v, self.w, self.n = v, w, 1
        self.items, self.table = [v, t(3, 1)], {'p': w, 'z': 2.0}
        self.cache = self.pair = None
        self.log = []
    @property
    def twice(self): return 2 * self.w
    def scaled(self, x): return (x * self.v).sum() * self.n
class Box2(Box):
    def scaled(self, x): return (x + self.w).sum() * self.n
@dataclass
class Pair:
    first: object
    second: object
A, B, N, I = t(1, 2), t(.5, 1.5), np.array([2., 3.]), np.array([1, 2])
K, F, FLAG, NPF = 3, 0.5, True, np.float64(1.5)
S, P, L, D, T = Box(t(1, 1), t(2, 0.5)), Pair(A, B), [A, t(1, 3)], {'a': B, 'k': 2.0}, (A, B)
S.pair = Pair(B, N)
M = nn.Linear(2, 1)
M.weight.data.copy_(tg.tensor([[1., 2.]]))
M.bias.data.zero_()
def h(x): return (x * A).sum() + F
def h2(x): return (x * B).sum() * K
def g(x, w=B, s=2.0): return (x * w).sum() * s
"""
TENSORS = """A;B;S.v;S.w;S.items[0];S.items[-1];S.table['p'];P.first;P.second;L[0];L[-1];T[0];T[1]
D['a'];c;Box.shared;S.pair.first;S.shared"""
READ = f"""{TENSORS};N;I;S.twice;S.pair.second;M.weight[0];getattr(S, 'v');vars(S)['w'];T[:1][0]
[A, B][K % 2];tg.tensor(A.numpy(force=True));S.v.tolist()[0] * B"""
NUMBERS = """K;F;S.n;Box.rate;S.rate;len(L);D.get('k', 2.0);k;S.table.get('z', 1.0);NPF
len(S.items);float(FLAG);I.sum();int(I[0]);N.sum();len(D);float(N[0]);(1 if S.cache is None else 2)
len(S.log)"""
CONDITIONS = """FLAG;S.n > 2;K % 2 == 0;'q' in D;A is B;S.v is S.w;L[0] is A;T[0] is S.v;k > 2
hasattr(S, 'extra');isinstance(S, Box2);len(L) > 2;S.cache is not None;D.get('q') is None
callable(h);P.first is P.second;c is A;A.requires_grad"""
CALLS = """h(x);S.scaled(x);g(x);M(x)[0];g(x, s=F);S.table['p'].sum();sum(v.sum() for v in L)
sum((x * v).sum() for v in D.values() if isinstance(v, tg.Tensor))"""
WRITTEN = "A;B;S.v;S.w;S.items[0];L[0];D['a'];c;P.first;Box.shared"
WRITES = """with tg.no_grad(): {a}.add_({b});with tg.no_grad(): {a}.mul_(0.5)
with tg.no_grad(): {a}[0] = F;with tg.no_grad(): {a}.copy_({b});with tg.no_grad(): {a}[:] = {b}
S.n += 1;D['k'] = D.get('k', 2.0) * 0.5;S.v = S.v * 0.5;S.w = {t};S.v, S.w = S.w, S.v
S.cache = r.detach();S.log.append(K);L[0] = L[0] + 1;P.second = P.first;D['a'] = {t}
S.cache = None;S.table['z'] = S.table.get('z', 1.0) + 1;S.v = S.w = S.v + 1;S.w = x;S.v = A[:]
S.w = A.detach()"""
CHANGES = """A = t(R, R);B = t(R, R);A = B;B = A;A = B.detach();S.v = A;S.v = A.detach();S.w = S.v
S.w = t(R, R);S.v = t(R, R);L[0] = A;L[0] = t(R, R);L.append(A);L.append(t(R, R));L[:] = L[:1]
L.reverse();D['a'] = S.v;D['a'] = t(R, R);D['q'] = R;D.pop('q', None);T = (B, A);T = (A, A)
T = (A, B);P.first = S.v;P.second = P.first;P = Pair(B, A);K += 1;K = 2;F = R;FLAG = not FLAG
S.n = 5;S.n = 2.5;Box.rate = R;S.rate = R;S.__dict__.pop('rate', None);N[0] = R;N = N * 2;N[:] = 1.
I[0] += 1;I = np.array([3, 1]);A.mul_(2);A.data = t(R, R);S.v.add_(1);h = h2
h = lambda x: (x * B).sum();Box.scaled = lambda self, x: (x - self.v).sum();S.__class__ = Box2
S.__class__ = Box;put(c=t(R, R));put(c=A);put(k=1);put(k=4);M.weight.data.mul_(1.5)
M.weight = nn.Parameter(tg.tensor([[R, 1.]]));S.items.reverse();S.items = S.items[::-1]
S.items = [A, B];S.items.append(S.v);S.extra = 1;S.__dict__.pop('extra', None);Box.shared = A
Box.shared = t(R, R);S.shared = t(R, R);S.__dict__.pop('shared', None);S.cache = None
S.table = {'p': A, 'z': R};S.table['p'] = S.w;S = Box(A, B);S.pair = Pair(t(R, R), N)
S.pair.second = I;NPF = np.float64(R);g.__defaults__ = (A, R);D = {'a': A};D['b'] = t(R, R);L = L[:]
A = np.array([R, 1.]);A = t(1, 2);S.log.clear();A = A.clone();A = A[:];S.v = A[:]
B = tg.from_numpy(N);A = tg.stack([A, B])[0];N = A.numpy();L[-1] = L[0]"""
SHOWN = "A;B;N;I;K;F;FLAG;S.v;S.w;S.n;S.items;S.table;S.cache;S.log;P;L;D;T;Box.rate;Box.shared"


def choices(text: str) -> list[str]:
    return [part for line in text.split("\n") for part in line.split(";")]


class Tables(NamedTuple):
    """What random statements are made of; texts are choices between `;`."""

    reads: str
    numbers: str
    conditions: str
    calls: str
    writes: str
    places: dict[str, str]
    """What stands in the places of `writes`."""
    sequences: str
    bounds: tuple[float, float, float, float]
    """Up to where a number drawn means a read, a call, a loop over a sequence, a branch."""
    total: str = "({} * 1.0).sum()"


TABLES = Tables(
    READ,
    NUMBERS,
    CONDITIONS,
    CALLS,
    WRITES,
    {"a": WRITTEN, "b": READ, "t": TENSORS},
    "L;S.items;T",
    (0.4, 0.5, 0.55, 0.7),
    "{}.sum()",
)


def statements(rng: random.Random, tables: Tables, depth: int, writes: bool) -> list[str]:
    """Random statements that add to `r`."""

    def one(text: str) -> str:
        return rng.choice(choices(text))

    lines: list[str] = []
    read, call, loop, branch = tables.bounds
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < read:
            lines.append(f"r = r + (x * {one(tables.reads)}).sum() * {one(tables.numbers)}")
        elif kind < call:
            lines.append(f"r = r + {one(tables.calls)}")
        elif kind < loop:
            lines.append(f"for v in {one(tables.sequences)}: r = r + (x * v).sum()")
        elif kind < branch and depth < 2:
            for head in [f"if {one(tables.conditions)}:", "else:"][: 1 + (rng.random() < 0.4)]:
                lines.append(head)
                inside = statements(rng, tables, depth + 1, writes)
                lines += ["    " + line for line in inside]
        elif writes:
            write = one(tables.writes)
            lines.append(write.format(**{k: one(text) for k, text in tables.places.items()}))
        else:
            lines.append(f"r = r - {tables.total.format(one(tables.reads))}")
    return lines


def drawn(seed: int) -> tuple[str, list[int | None], str]:
    """A module's text, in which order it is changed between calls (None: not), and which way its
    function is called."""
    rng = random.Random(seed)
    body = [*statements(rng, TABLES, 0, rng.random() < 0.7), "r = r + h(x)"]
    changes = [rng.choice(choices(CHANGES)) for _ in range(rng.randint(4, 10))]
    text = HEAD + (
        "def made():\n    c, k = t(2, 2), 3\n    def put(**kw):\n        nonlocal c, k\n"
        "        c, k = kw.get('c', c), kw.get('k', k)\n"
        "    def f(x):\n        r = (x * 1.0).sum()\n"
    )
    text += "".join(f"        {line}\n" for line in body)
    text += "        return r\n    return f, put, lambda: (c, k)\nf, put, cells = made()\n"
    for j, change in enumerate(changes):
        text += f"def m{j}():\n    global A, B, D, F, FLAG, I, K, L, M, N, NPF, P, S, T, h\n"
        text += f"    {with_numbers(change, rng)}\n"
    text += (
        f"def state(): return ({SHOWN.replace(';', ', ')}, S.pair, vars(S), M.weight, cells())\n"
    )
    order = [None, None, *[rng.choice([*range(len(changes)), None]) for _ in range(8)]]
    return text, order, rng.choice(["jit", "jit", "jit", "grad", "grad inside", "nested"])


def loaded(text: str, name: str, folder: str, **given: Any) -> types.ModuleType:
    """A module of this text, in a file in which the source of its functions is found."""
    module = types.ModuleType(name)
    module.__file__ = path = f"{folder}/{name}.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    sys.modules[name] = module
    module.__dict__.update(given)
    exec(compile(text, path, "exec"), module.__dict__)
    return module


def with_numbers(change: str, rng: random.Random) -> str:
    """A change with a number in place of each R."""
    change = re.sub(r"\bR\b", "#", change)
    while "#" in change:
        change = change.replace("#", str(rng.choice([0.5, 1.5, 2.0, 3.0, -1.0])), 1)
    return change


def shown(x: Any) -> Any:
    """What there is to compare of a value of the state."""
    if isinstance(x, tg.Tensor):
        return "tensor", str(x.dtype), np.round(np.asarray(x.detach().numpy(), float), 9).tolist()
    if isinstance(x, np.ndarray):
        return "array", str(x.dtype), x.tolist()
    if isinstance(x, dict):
        return {key: shown(v) for key, v in x.items() if not callable(v)}
    if isinstance(x, (set, frozenset)):
        return sorted(x)
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *map(shown, x)]
    if type(x).__name__ == "Pair":
        return "pair", shown(x.first), shown(x.second)
    return round(x, 9) if isinstance(x, float) else repr(x)


WAYS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "jit": (lambda f: f, tg.jit),
    "grad": (tg.grad, lambda f: tg.grad(tg.jit(f))),
    "grad inside": (tg.grad, lambda f: tg.jit(tg.grad(f))),
    "nested": (lambda f: f, lambda f: (lambda g: tg.jit(lambda x: g(x) * 1))(tg.jit(f))),
}


def check(seed: int, folder: str) -> str:
    """Run the program of a seed both ways; what differs, if anything does."""
    text, order, way = drawn(seed)
    plain, compiled = (loaded(text, f"_state_program_{k}_{seed}", folder) for k in "ab")
    return compared(
        f"seed {seed}, {way}",
        order,
        (plain, WAYS[way][0](plain.f)),
        (compiled, WAYS[way][1](compiled.f)),
    )


Running = tuple[types.ModuleType, Callable[[Any], Any]]


def compared(name: str, order: Sequence[int | None], one: Running, other: Running) -> str:
    """Call both modules' functions, with changes of the modules between the calls: what differs. A
    program that is refused, or is wrong as it is, ends there, with nothing changed."""
    (plain, run), (compiled, run_compiled) = one, other
    x = tg.tensor([1.0, -2.0])
    try:
        for step, change in enumerate(order):
            at = f"{name}, step {step} after change {change}"
            if change is not None:
                try:
                    getattr(plain, f"m{change}")()
                except Exception:
                    return ""  # half done, perhaps
                getattr(compiled, f"m{change}")()
            before = shown(compiled.state())
            if before != shown(plain.state()):
                return f"{at}: memory is shared otherwise"
            try:
                wanted = shown(run(x))
            except Exception:
                return ""
            try:
                found = shown(run_compiled(x))
            except (tg.TracegradError, ValueError):
                return "" if shown(compiled.state()) == before else f"{at}: refused half way"
            if found != wanted:
                return f"{at}: {found}, not {wanted}"
            if shown(compiled.state()) != shown(plain.state()):
                return f"{at}: the state differs"
        return ""
    finally:
        for module in (plain, compiled):
            sys.modules.pop(module.__name__, None)
