"""Random programs of kinds of statements that `random_programs` has not: integers of Python's and
NumPy's below zero, narrow dtypes, views and rows written in place, steps backwards, several loops
side by side, functions inside of functions, loops with several exits."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.texts import executed

SIZE = 5
"""Elements of each vector; `m` is a matrix of three rows."""
LOOPS = (
    "for {i} in range({n}):",
    "for {i} in range({n} - 1, -1, -1):",
    "for {i} in range(4, -1, -2):",
    "for {i} in range(-2, 3):",
    "for {i} in range(1, {n}, 3):",
    "for {i}, w in enumerate(u):",
    "for {i}, w in enumerate(reversed(v)):",
    "for {i}, w in enumerate(v[::-1], -2):",
    "for {i}, (w, y) in enumerate(zip(u, v)):",
    "for {i}, y in zip(range({n}), reversed(u)):",
    "for {i}, w in zip(range(3, -5, -2), v[1:]):",
    "for {i} in reversed(range({n})):",
    "for {i}, row in enumerate(m):",
    "for {i}, {j} in zip(p, range({n})):",
    "for {i} in p:",
)
INTEGERS = (
    "({i} - 3) // 2", "(1 - {i}) % 3", "-{i} // 2", "{i} % -3", "{k} // 2", "-{k} % 4", "{i} ^ 1",
    "abs({i} - 2)", "divmod({i} - 2, 3)[0]", "divmod({k}, -2)[1]", "~{i}", "({i} << 1) - {k}",
    "int({a})", "int(-2.5 * {a})", "min({i}, 2)", "max({k}, 1 - {i})", "round({a})", "{k} - {i}",
    "({k} * 3 - {i}) % 7 - 3", "{i} * {i} // 3", "-7 // ({i} * {i} + 1)", "({k} > {i}) + 1",
    "{i} & 3", "({i} - 4) >> 1", "len(u) - {i}", "np.minimum({i}, 2)", "np.sign({k})",
    "int(u[1] > {a})", "p[{at}]", "-p[{at}] // 2", "h[{at}] // 3", "h[{at}] % -3", "{k} % 5",
    "({i} > 1) + ({k} > 0)", "({i} < 3) * 2 - ({k} > {i})", "-({i} > 1)", "2 ** ({i} % 4)",
)  # fmt: skip
NUMBERS = (
    "a", "b", "c", "u[{at}]", "v[{at}]", "m[{at3}, {at}]", "g[{at}]", "0.1 * {int}", "0.5", "w",
    "u[-1 - {at}]", "np.sin({num})", "({num} if {if} else {num})", "0.5 * ({num} - {num})",
    "np.where({if}, {num}, 0.3 * {int})", "np.minimum({num}, 0.2 * {int})", "u[p[{at}]]",
    "0.1 * np.maximum({i}, {num})", "max({num}, 0.1 * {i})", "inner({num}, {int})", "{num} * {num}",
    "np.clip({num}, -1, {at})", "0.3 * 2.0 ** -{at}", "np.cos({num}) / ({at} + 1)", "helper({num})",
    "0.1 * {num} // 0.3", "{num} % 0.7", "-0.3 * ({num} % -0.7)", "np.tanh(u).sum()", "v[::-2][1]",
    "g.sum()", "np.dot(u, v) * 0.1", "0.1 * h[{at}]", "(a, b, c)[{at3}]", "pair(a, b)[{at} % 2]",
    "0.2 * {num} * (-1) ** {at}", "np.float32(0.3) * {num}", "m[{at3}].sum()", "m[:, {at}].max()",
    "0.1 * {num} ** 2", "f32 * {num}", "0.2 * 2 ** -{at}", "q[{at}]", "np.float32(2) * q[{at}]",
)  # fmt: skip
CONDITIONS = (
    "{num} > {num}", "{int} > 0", "{i} % 2", "not {i} % 3", "{k} in (0, 2, -1)", "{num} < 0.2 <= b",
    "{i} != 2 and {num} > 0", "{num} < 0 or {int} == 1", "h[{at}] > 3", "u[{at}] > v[{at}]",
    "{int} <= {int}", "np.abs({num}) < 0.5", "bool({i})", "-1 < {k} < 3",
)  # fmt: skip
SIMPLE = (
    "a = {num}", "b = {num}", "c = 0.5 * c + {num}", "a += 0.3 * {num}", "k = {int}", "k += {int}",
    "k -= 1", "k = -k", "k //= 2", "k %= 3", "a, b = b, a", "a, b, c = c, a, 0.5 * b",
    "(a, b), c = (c, {num}), a", "u[{at}], v[{at}] = v[{at}], u[{at}]", "a, k = {num}, {int}",
    "u[{at}], a = a, u[{at}]", "u[{at}] = {num}", "v[{at}] += 0.5 * {num}", "v[-1 - {at}] *= 0.7",
    "m[{at3}] += 0.1 * u", "m[{at3}] *= np.cos({num})", "m[{at3}, 1:] -= 0.2 * v[:-1]",
    "m[:, {at}] = {num}", "m[{at3}][{at}] = {num}", "m[{at3}, ::-1] = v", "m[{at3}] = m[{at3b}]",
    "t = u[1:]; t *= 0.5", "t = m[{at3}]; t += {num}", "t = v[::-1]; t[{at}] = {num}",
    "u[::2] = 0.5 * v[1:4]", "u[::-1] += 0.1 * v", "u[1:4] = v[3:0:-1] * 0.5",
    "v = np.sin(u[::-1])",
    "g[{at}] = {num}", "g[{at}] += {num}", "g *= np.float32(0.7)", "h[{at}] += 1",
    "h[{at}] = {int}",
    "h[{at}] += 100", "h[::2] -= 90", "h[{at}] //= -2", "f32 = np.float32(a)", "f32 = g[{at}] * 2",
    "g += u", "put(v, {at}, {num})", "a = put(u, {at}, b)", "z = (a, {num}); b, c = z",
    "u, v = v, u", "u = 0.5 * u + 0.1 * {num}", "np.add(u, {num}, out=v)", "v[v > {num}] = 0.3",
    "p[{at}], p[0] = p[0], p[{at}]", "k = p[{at}]", "u = np.where(u > {num}, u, 0.5 * v)",
    "v.fill({num})", "u[:] = {num}", "a = a - 0.1 * a * {i}", "v[{at}:] *= 0.9", "v[:{at}] += 0.1",
    "a += v[{at}:].sum() * 0.1", "s['a'] = {num}", "b = s['a'] - 0.1", "s['k'] += 1",
    "o[0] = {num}",
    "c = 0.3 * o[0] + o[1]", "o[1], o[0] = o[0], 0.5 * a", "k = s['k'] - {i}", "inner2({num})",
)  # fmt: skip
HEAD = """\
def helper(x):
    if x > 0.5:
        for _ in range(2):
            x = 0.5 * x - 0.1
            if x < 0.1:
                return x * x
        return np.sin(x)
    if x < -1:
        return -0.5 * x
    return 0.3 * x


def pair(x, y):
    if x > y:
        return y, 0.5 * x
    return x, np.cos(y)


def put(t, at, x):
    t[at] = 0.5 * t[at] + x
    if t[at] > 1:
        t[at] -= 1
        return t[at]
    return 0.5 * x


"""


class Maker:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers: list[str] = []
        """The numbers of the open loops."""
        self.names: set[str] = set()
        """Other variables of loops that are bound here."""
        self.loops = 0

    def filled(self, text: str, depth: int = 0) -> str:
        """A template with expressions in its places."""
        while "{" in text:
            start = text.index("{")
            end = text.index("}", start)
            made = self.part(text[start + 1 : end], depth)
            text = text[:start] + made + text[end + 1 :]
        return text

    def part(self, what: str, depth: int) -> str:
        pick = self.random.choice
        i = pick(self.numbers) if self.numbers else "2"
        if what == "i":
            return i
        if what == "k":
            return pick(("k", "k", "j"))
        if what == "a":
            return pick(("a", "b", "u[2]"))
        if what == "n":
            return pick(("5", "len(u)", "3"))
        if what == "at":
            return pick((f"{i} % 5", f"(k + {i}) % 5", f"-{i} % 5", "1", "4", f"abs({i}) % 4"))
        if what in ("at3", "at3b"):
            return pick((f"{i} % 3", f"(k - {i}) % 3", "0", "2", f"-{i} // 2 % 3"))
        if what == "int":
            return self.filled(pick(INTEGERS if depth < 2 else INTEGERS[:3]), depth + 1)
        if what == "if":
            return self.filled(pick(CONDITIONS), depth + 1)
        assert what == "num"
        found = pick(NUMBERS if depth < 2 else NUMBERS[:9])
        while found == "w" and "w" not in self.names:
            found = pick(NUMBERS[:9])
        return "(" + self.filled(found, depth + 1) + ")"

    def block(self, depth: int, jumps: bool) -> list[str]:
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, jumps)
        return lines

    def statement(self, depth: int, jumps: bool) -> list[str]:
        chance = self.random.random()
        if depth >= 3 or chance < 0.55:
            return [self.filled(self.random.choice(SIMPLE))]
        if jumps and chance < 0.65:
            ways = ("continue", "break", "continue", f"return {self.part('num', 1)}")
            jump = self.random.choice(ways)
            return [f"if {self.part('if', 0)}:", f"    {jump}"]
        if chance < 0.78:
            lines = [f"if {self.part('if', 0)}:", *self.inside(depth, jumps)]
            if self.random.random() < 0.3:
                lines += [f"elif {self.part('if', 0)}:", *self.inside(depth, jumps)]
            if self.random.random() < 0.4:
                lines += ["else:", *self.inside(depth, jumps)]
            return lines
        self.loops += 1
        if chance < 0.86:
            name = f"n{self.loops}"
            test = self.random.choice(
                ("True", self.part("if", 0), f"b < 3 and {self.part('if', 0)}")
            )
            lines = [f"{name} = 0", f"while {test}:", f"    {name} += 1", f"    if {name} > 4:"]
            self.numbers.append(name)
            lines += ["        break", *self.inside(depth, True)]
            self.numbers.pop()
        else:
            i, j = f"i{self.loops}", f"j{self.loops}"
            head = self.random.choice(LOOPS).replace("{i}", i).replace("{j}", j)
            names = self.names
            self.numbers.append(i)
            if " w" in head or "(w" in head:
                self.names = {*names, "w"}
            lines = [self.filled(head), *self.inside(depth, True)]
            self.numbers.pop()
            self.names = names
        if self.random.random() < 0.15:
            lines += ["else:", *self.inside(depth, jumps)]
        return lines

    def inside(self, depth: int, jumps: bool) -> list[str]:
        return ["    " + line for line in self.block(depth + 1, jumps)]


def text_of(seed: int) -> str:
    """The text of a program `f` of one vector of `SIZE` numbers."""
    maker, body = Maker(seed), []
    while len(body) < 5:
        body += maker.statement(0, False)
    return HEAD + "\n".join(
        [
            "def f(x):",
            "    a, b, c, k, j = x[0], 0.7, -0.2, 1, 3",
            "    u, v, w = x.copy(), np.cos(x), 0.4",
            "    m = np.outer(x[:3], x)",
            "    g, h = np.zeros(5, np.float32), np.array([3, -4, 0, 5, -7], np.int8)",
            "    p, f32 = np.array([2, 0, 4, 1, 3]), np.float32(0.4)",
            "    s, o = {'a': x[1], 'k': 0}, [x[2], 0.5]",
            "    q = [0.5, -0.2, 0.1, 0.7, 1.1]",
            "",
            "    def inner(y, i):",
            "        if y > b:",
            "            return b - 0.1 * i",
            "        if i % 2:",
            "            return y * y",
            "        return y",
            "",
            "    def inner2(y):",
            "        nonlocal c, k",
            "        if y > c:",
            "            c, k = 0.5 * y, k + 1",
            "            return",
            "        k -= 2",
            "",
            *["    " + line for line in body],
            "    rest = 0.1 * k + 0.01 * np.sum(h) + np.sum(g) + np.sum(p * u) + f32 + s['k']",
            "    rest += s['a'] * o[0] + o[1]",
            "    return a + b * c + np.sum(u * v) + np.sum(m[1] * m[2]) + rest",
            "",
        ]
    )


def program_of(seed: int) -> Callable[[Any], Any]:
    """The function, whose source can be found."""
    found: Callable[[Any], Any] = executed(text_of(seed), f"/random/kinds_{seed}.py")["f"]
    return found
