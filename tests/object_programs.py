"""Random programs over objects: methods, modules with buffers, dataclasses, named tuples, slots,
dicts with an order, properties; and changes of all these between calls."""

from __future__ import annotations

import functools
import random
import types
from collections.abc import Callable
from typing import Any

import tracegrad as tg
from tests.state_programs import (
    Tables,
    choices,
    compared,
    loaded,
    statements,
    with_numbers,
)

HEAD = """
import numpy as np
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
import tracegrad as tg
from tracegrad import nn

def t(*v): return tg.tensor([float(a) for a in v])
Two = namedtuple("Two", "u v")
@dataclass
class Cfg:
    rate: float = 0.5
    deep: list = field(default_factory=lambda: [1.0, 2.0])
    w: object = None
class Slotted:
    __slots__ = ("a", "n")
    def __init__(self): self.a, self.n = t(1, 3), 2
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l, self.w = nn.Linear(2, 2), nn.Parameter(t(1, 2))
        self.steps, self.scale, self.hist, self.mode = 0, 2.0, [], "a"
        self.cfg = Cfg(w=t(2, 1))
        self.register_buffer("mean", t(0.5, 0.25))
        with tg.no_grad():
            self.l.weight.copy_(tg.tensor([[1., .5], [-.5, 2.]]))
            self.l.bias.zero_()
    def forward(self, x):
        r = self.l(x).sum()
FORWARD        return r
class Obj:
    count = 0
    def __init__(self):
        self.a, self.b, self.arr = t(1, 2), t(3, 1), np.array([1., 4.])
        self.two, self.od = Two(self.a, t(1, 1)), OrderedDict(p=self.b, q=2.0)
        self.dd, self.sl, self.cfg = defaultdict(float), Slotted(), Cfg(w=self.a)
        self.dd['m'], self.net, self.n, self._p, self.tags = 1.0, N0, 1, 3.0, {'x'}
    @property
    def p(self): return self._p
    @p.setter
    def p(self, v): self._p = v * 2
    def __call__(self, x): return self.run(x)
    def helper(self, x, k=2): return (x * self.b).sum() * k
    @DECORATED
    def run(self, x, extra=None, flag=True):
        r = (x * 1.0).sum()
RUN        return r
N0 = Net()
O = Obj()
G = {'o': O, 'list': [t(1, 1), t(2, 2)], 'k': 2}
"""
READ = """self.a;self.b;self.two.u;self.two.v;self.od['p'];self.sl.a;self.cfg.w;self.net.w
self.net.mean;G['list'][0];G['list'][-1];G['o'].a;self.arr;getattr(self, 'b');self.net.cfg.w"""
NUMBERS = """self.n;self.od['q'];self.dd['m'];self.dd.get('z', 1.5);self.sl.n;self.cfg.rate;self.p
self.cfg.deep[0];sum(self.cfg.deep);len(self.cfg.deep);Obj.count;G['k'];self.net.steps
self.net.scale;len(self.net.hist);len(self.tags);float(self.arr[0]);len(G['list']);self.arr.max()
(2.0 if 'x' in self.tags else 3.0);(2 if flag else 5);(1 if self.net.training else 4)"""
CONDITIONS = """self.n > 2;flag;'x' in self.tags;self.two.u is self.a;self.net.training
self.net.mode == 'a';hasattr(self, 'late');extra is None;'r' in self.dd;self.cfg.rate > 0.4
isinstance(self.sl, Slotted);self.arr.max() > 3;len(self.cfg.deep) > 1;self.p > 4"""
WRITES = """self.n += 1;self.dd['m'] += 0.5;self.dd['r'] = 2.0;self.p = 1.5;Obj.count += 1
self.net.steps += 1;self.cfg.rate = self.cfg.rate * 0.5;self.sl.n += 1;self.sl.a = self.sl.a * 0.5
self.a, self.b = self.b, self.a;self.two = Two(self.two.v, self.two.u);self.od['p'] = self.a
self.two = self.two._replace(u=self.a);self.cfg.w = x;self.cfg.deep[0] = 3.0
self.cfg.deep = [self.cfg.deep[0] + 1];with tg.no_grad(): self.net.mean.mul_(0.5)
self.net.mean = self.net.mean * 0.9 + 0.1;self.net.hist.append(1);self.tags.add('y');G['k'] += 1
G['list'][0] = self.b;with tg.no_grad(): self.b.add_(self.a);with tg.no_grad(): self.a[0] = self.n
self.last = r.detach();self.arr = self.arr * 0.5;self.late = 1;self.pair = (self.a, self.n)
self.a = self.b = self.a + 1;G['list'] = G['list'][::-1];self.cfg = Cfg(w=self.b)
with tg.no_grad(): self.sl.a.copy_(self.b);self.od = OrderedDict(p=self.a, q=1.0)"""
CALLS = """self.helper(x);self.helper(x, k=3);self.net(x);self.net.forward(x)
sum((x * v).sum() for v in self.two);sum((x * v).sum() for v in G['list'])
(x * (extra if extra is not None else self.b)).sum()"""
FORWARD = """r = r + (x * self.w).sum() * self.scale;r = r + (x * self.mean).sum();self.steps += 1
r = r * 2 if self.training else r;r = r + self.cfg.w.sum() * self.cfg.rate;r = r + len(self.hist)
r = r + self.steps;r = r if self.mode == 'a' else -r"""
CHANGES = """O.a = t(R, R);O.b = O.a;O.a = O.b.detach();O.two = Two(O.b, O.a);O.od['p'] = t(R, R)
O.two = Two(t(R, R), O.two.u);O.od['q'] = R;O.od.move_to_end('p');O.dd['m'] = R;O.dd['z'] = R
O.dd.pop('r', None);O.sl.a = O.a;O.sl.n = 5;O.cfg.rate = R;O.cfg.w = O.b;O.cfg.deep = [R]
O.cfg.deep.append(R);O.cfg = Cfg(w=t(R, R));O.net.w.data.mul_(2);O.net.w = nn.Parameter(t(R, R))
O.net.mean = t(R, R);O.net.mean.add_(1);O.net = Net();O.net.eval();O.net.train();O.net.mode = 'b'
O.net.scale = R;O.net.steps = 7;O.net.l = nn.Identity();O.n = 1;O.n = 4;O.n = 2.5;O.arr[0] = R
O.arr = np.array([R, 9.]);O.p = R;O._p = R;Obj.count = 3;O.count = 5;O.tags.add('x')
O.tags.discard('x');O.tags = {'x', 'z'};G['list'].append(O.a);G['list'] = [O.a, O.a]
G['list'].reverse();G['k'] = 4;O.late = 2;O.__dict__.pop('late', None)
O.helper = lambda x, k=2: x.sum() * k;O.__dict__.pop('helper', None)
Obj.helper = lambda self, x, k=2: (x - self.a).sum() * k;O.b.mul_(0.5);O.a.data = t(R, R)
G['o'] = Obj();O.sl = Slotted();O.b = O.b[:];O.a = tg.from_numpy(O.arr);O.net.double()
O.net.w.requires_grad_(False);O.net.w.requires_grad_(True);O.net.zero_grad()"""
SHOWN = """O.a;O.b;O.two;O.od;O.dd;O.sl.a;O.sl.n;O.cfg.w;O.cfg.rate;O.cfg.deep;O.net.w;O.net.mean
O.net.steps;O.net.hist;O.net.cfg.w;O.n;O.arr;O._p;Obj.count;G['list'];G['k'];O.tags
O.__dict__.get('last');O.__dict__.get('pair')"""
TABLES = Tables(READ, NUMBERS, CONDITIONS, CALLS, WRITES, {}, "", (0.4, 0.52, 0.52, 0.65))


def _turning(f: Callable[..., Any]) -> Callable[[Any], Any]:
    """Called with one flag and with the other, in turns."""
    calls: list[int] = []

    def called(x: Any) -> Any:
        calls.append(0)
        return f(x, flag=len(calls) % 2 == 0)

    return called


def _with_extra(m: Any, jit: Any) -> Callable[[Any], Any]:
    f = jit(lambda x, extra: m.O.run(x, extra=extra))
    return lambda x: f(x, extra=m.O.b)


def _by_two(m: Any, jit: Any) -> Callable[[Any], Any]:
    f = jit(lambda number, x: m.G["o"].run(x) + x.sum() * number)
    return lambda x: f(1.0, x)


def _twice(m: Any, jit: Any) -> Any:
    inner = jit(m.O.run)
    return jit(lambda x: inner(x) + inner(x * 2))


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "method": lambda m, jit: jit(m.O.run),
    "object": lambda m, jit: jit(m.O),
    "partial": lambda m, jit: jit(functools.partial(m.Obj.run, m.O, flag=False)),
    "lambda": lambda m, jit: jit(lambda x: m.O.run(x)),
    "static": lambda m, jit: _turning(jit(m.O.run, static_argnames=("flag",))),
    "keyword": _with_extra,
    "gradient": lambda m, jit: jit(tg.grad(m.O.run)),
    "nested": _twice,
    "two arguments": _by_two,
    "decorated": lambda m, jit: lambda x: m.O.run(x),
}


def check(seed: int, folder: str) -> str:
    """Run the program of a seed as it is and compiled; what differs, if anything does."""
    rng = random.Random(seed)
    forward = [rng.choice(choices(FORWARD)) for _ in range(rng.randint(1, 3))]
    text = HEAD.replace("FORWARD", "".join(f"        {line}\n" for line in forward))
    body = statements(rng, TABLES, 0, rng.random() < 0.7)
    text = text.replace("RUN", "".join(f"        {line}\n" for line in body))
    changes = [rng.choice(choices(CHANGES)) for _ in range(rng.randint(4, 9))]
    for j, change in enumerate(changes):
        text += f"def m{j}():\n    {with_numbers(change, rng)}\n"
    text += f"def state(): return ({', '.join(choices(SHOWN))})\n"
    way = rng.choice(list(WAYS))
    order = [None, None, *[rng.choice([*range(len(changes)), None]) for _ in range(8)]]

    def as_is(f: Any, **_: Any) -> Any:
        return f

    def one(letter: str, jit: Any) -> tuple[types.ModuleType, Callable[[Any], Any]]:
        decorated = jit if way == "decorated" else as_is
        module = loaded(text, f"_object_program_{letter}_{seed}", folder, DECORATED=decorated)
        return module, WAYS[way](module, jit)

    return compared(f"seed {seed}, {way}", order, one("a", as_is), one("b", tg.jit))
