"""Random programs as a person writes them: nested loops, branches, jumps, writes in place, helper
functions, loops to a condition. All end, and all numbers stay of moderate size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.texts import executed

SIZE = 4
HEAD = """\
def helper(v, w):
    if v > w:
        return np.sin(v) * w
    elif v < -1.0:
        return 0.5 * v
    t = v - w
    while t > 0.3:
        t = t * 0.5 - 0.1
        w = w + 0.1
    return t + w


def filled(out, v):
    for k in range(len(out)):
        if out[k] < v:
            out[k] = 0.5 * out[k] + 0.1 * v
            continue
        if out[k] > 2.0:
            break
        out[k] -= 0.25 * v
    return out[0]


class Sums:
    def __init__(self, v):
        self.total = v
        self.count = 0

    def add(self, v):
        if v > 0:
            self.total = 0.9 * self.total + v
        else:
            self.count += 1
        return self.total


"""


class Maker:
    """Writes one program; `depth` is how deep statements stand in others."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counters = 0
        self.loops = 0
        self.indices: list[str] = []
        self.counted = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def index(self) -> str:
        if self.indices and self.random.random() < 0.7:
            i = self.pick(*self.indices)
            return self.pick(i, f"({i} + 1) % {SIZE}", f"{SIZE - 1} - {i}", f"-1 - {i}")
        return str(self.random.randrange(-SIZE, SIZE))

    def number(self, depth: int = 0) -> str:
        """An expression of moderate size."""
        kind = self.random.randrange(12 if depth < 2 else 5)
        if kind < 3:
            return str(self.pick("a", "b", "c"))
        if kind == 3:
            return f"{self.pick('u', 'v')}[{self.index()}]"
        if kind == 4:
            return str(self.pick("0.5", "-0.3", "x[1]", "x[0]", "o.total", f"m[{self.index()}, 1]"))
        one, two = self.number(depth + 1), self.number(depth + 1)
        if kind == 5:
            return f"({one} {self.pick('+', '-')} {two}) * 0.5"
        if kind == 6:
            return f"np.{self.pick('sin', 'cos', 'tanh')}({one})"
        if kind == 7:
            return f"np.sin({one}) * ({two})"
        if kind == 8:
            return f"({one} if {self.condition(depth + 1)} else {two})"
        if kind == 9:
            return f"{self.pick('min', 'max')}({one}, {two})"
        if kind == 10:
            return f"helper({one}, {two})"
        return str(self.pick(f"abs({one})", "0.2 * np.sum(u)", "0.3 * v.max()", f"-({one})"))

    def condition(self, depth: int = 0) -> str:
        kind = self.random.randrange(7 if depth < 2 else 3)
        if kind < 3:
            return f"{self.number(2)} {self.pick('<', '>', '<=')} {self.number(2)}"
        if kind == 3:
            one, two = self.condition(depth + 1), self.condition(depth + 1)
            return f"({one} {self.pick('and', 'or')} {two})"
        if kind == 4:
            return f"not {self.condition(2)}"
        if kind == 5 and self.indices:
            i = self.pick(*self.indices)
            return str(self.pick(f"{i} % 2 == 0", f"{i} > 1", f"v[{i}] > u[{i}]"))
        return f"-1.0 < {self.number(2)} < 0.7"

    def block(self, depth: int, jumps: bool) -> list[str]:
        lines: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(depth, jumps)
        return lines

    def statement(self, depth: int, jumps: bool) -> list[str]:
        simple = depth >= 3 or self.random.random() < 0.55
        return list(self.simple(depth, jumps) if simple else self.compound(depth, jumps))

    def simple(self, depth: int, jumps: bool) -> Iterator[str]:
        kind = self.random.randrange(15)
        value = self.number()
        if kind < 3:
            yield f"{self.pick('a', 'b', 'c')} = {value}"
        elif kind == 3:
            yield f"{self.pick('a', 'b', 'c')} {self.pick('+', '-')}= 0.3 * {value}"
        elif kind < 6:
            yield f"{self.pick('u', 'v')}[{self.index()}] = {value}"
        elif kind == 6:
            yield f"{self.pick('u', 'v')}[{self.index()}] += 0.2 * np.sin({value})"
        elif kind == 7:
            yield f"m[{self.index()}, {self.index()}] = {value}"
        elif kind == 8:
            yield str(
                self.pick(
                    "u[1:] = 0.5 * u[:-1] + 0.1 * a",
                    "v[:] = np.tanh(v) + 0.1 * u",
                    "m[1] = 0.5 * m[2] + 0.1 * u",
                    "a, b = b, a",
                    "u[0], u[2] = u[2], u[0]",
                    "v = 0.5 * v + 0.2 * u",
                    f"row = m[{self.index()}]; row[1:] = row[1:] * 0.5 + 0.1 * c",
                    "c = filled(u, b)",
                    "c = filled(v[1:], a)",
                )
            )
        elif kind == 9:
            yield f"a = 0.2 * o.add({value})"
        elif kind == 10:
            yield "n += 1"
        elif kind == 11:
            yield f"late({value})"
        elif kind == 12 and jumps:
            yield f"if {self.condition()}:"
            yield f"    {self.pick('break', 'continue')}"
        elif kind == 13 and depth:
            yield f"if {self.condition()}:"
            yield f"    return {self.number()} + 0.1 * n"
        else:
            yield f"c = 0.5 * c + 0.1 * {value}"

    def compound(self, depth: int, jumps: bool) -> Iterator[str]:
        kind = self.random.randrange(9)
        if kind < 4:
            yield f"if {self.condition()}:"
            yield from indented(self.block(depth + 1, jumps))
            if self.random.random() < 0.3:
                yield f"elif {self.condition()}:"
                yield from indented(self.block(depth + 1, jumps))
            if self.random.random() < 0.5:
                yield "else:"
                yield from indented(self.block(depth + 1, jumps))
            return
        self.loops += 1
        name = f"i{self.loops}"
        if kind < 7:
            yield self.pick(
                f"for {name} in range({SIZE}):",
                f"for {name} in range({SIZE - 1}, -1, -1):",
                f"for {name} in range(1, {SIZE}):",
                f"for {name} in range({self.indices[-1] if self.indices else 2}, {SIZE}):",
                f"for {name}, w in enumerate(u):",
            )
            self.indices.append(name)
            yield from indented(self.block(depth + 1, True))
            self.indices.pop()
            if self.random.random() < 0.15:
                yield "else:"
                yield from indented(self.block(depth + 1, jumps))
        else:
            count = f"k{self.loops}"
            yield f"{count} = 0"
            yield f"while {count} < {self.random.randint(2, 5)} and {self.condition()}:"
            yield f"    {count} += 1"
            yield from indented(self.block(depth + 1, True))


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def text_of(seed: int) -> str:
    """The text of a program `f` of one vector of `SIZE` numbers."""
    maker = Maker(seed)
    body: list[str] = []
    while len(body) < 6:
        body += maker.statement(0, False)
    return HEAD + "\n".join(
        [
            "def f(x):",
            "    a, b, c, n = x[0], 0.7, 0.0, 0",
            "    u, v = x.copy(), np.zeros(len(x))",
            "    m = np.outer(x, np.cos(x))",
            "    o = Sums(x[2])",
            "",
            "    def late(w):",
            "        nonlocal c",
            "        if w > c:",
            "            c = 0.5 * w",
            "",
            *indented(body),
            "    rest = np.sum(m[0]) + o.total * 0.1 * o.count",
            "    return a + b * c + 0.1 * n + np.sum(u * v) + rest",
            "",
        ]
    )


def program_of(seed: int) -> Callable[[Any], Any]:
    """The function, whose source can be found."""
    found: Callable[[Any], Any] = executed(text_of(seed), f"/random/program_{seed}.py")["f"]
    return found
