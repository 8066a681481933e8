"""Random programs with lists that grow, stacks, queues and heaps, in nested loops and branches."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.texts import executed

SIZE = 5
HEAD = "import heapq\nfrom collections import deque\n\nimport numpy as np\n\n\ndef f(x):\n"
EMPTY = {"heap": "[]", "stack": "[]", "queue": "deque()", "out": "[]"}


class Maker:
    """Writes one program of about so many statements."""

    def __init__(self, seed: int, statements: int) -> None:
        self.random, self.left = random.Random(seed), statements
        self.numbers, self.integers = ["s"], list[str]()
        """The variables that are bound here, floats and integers."""
        self.lists = self.random.sample(sorted(EMPTY), self.random.choice((1, 2, 2, 3)))
        self.lines: list[str] = []
        self.depth = self.named = 0

    def write(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    def name(self) -> str:
        self.named += 1
        return f"v{self.named}"

    def number(self) -> str:
        pick, chance = self.random.choice, self.random.random()
        if chance < 0.35:
            return pick(self.numbers)
        if chance < 0.6 or not self.integers:
            return f"x[{self.random.randrange(SIZE)}]"
        if chance < 0.75:
            return f"x[{pick(self.integers)} % {SIZE}]"
        return pick((*self.integers, "0.5", "1.5", "2"))

    def value(self) -> str:
        pick, chance = self.random.choice, self.random.random()
        if chance < 0.4:
            return self.number()
        if chance < 0.9:
            return f"({self.number()} {pick('+-*')} {self.number()})"
        return f"np.{pick(('sin', 'cos', 'tanh'))}({self.number()})"

    def test(self) -> str:
        pick, chance = self.random.choice, self.random.random()
        if chance < 0.5:
            return f"{self.number()} {pick('<>')} {self.value()}"
        if chance < 0.8:
            return f"len({pick(self.lists)}) > {self.random.randrange(4)}"
        return f"{self.number()} < {self.number()} and len({pick(self.lists)}) < 6"

    def inside(self, most: int, *integers: str) -> None:
        """A block, with variables of its own."""
        outer = self.numbers, self.integers
        self.numbers, self.integers = [*outer[0]], [*outer[1], *integers]
        self.depth += 1
        before = len(self.lines)
        for _ in range(self.random.randint(1, most)):
            if self.left > 0:
                self.statement()
        if len(self.lines) == before:
            self.write(f"s = s + 0.1 * {self.value()}")
        self.depth -= 1
        self.numbers, self.integers = outer

    def statement(self) -> None:
        self.left -= 1
        chance, pick = self.random.random(), self.random.choice
        if chance < 0.3:
            self.add(pick(self.lists))
        elif chance < 0.55:
            self.take(pick(self.lists))
        elif chance < 0.7 or self.depth > 3:
            self.write(f"s = {pick(('s', '0.5 * s'))} + {self.value()}")
        elif chance < 0.84:
            self.write(f"if {self.test()}:")
            self.inside(2)
            if self.random.random() < 0.4:
                self.write("else:")
                self.inside(1)
        elif chance < 0.95:
            i = self.name()
            self.write(f"for {i} in range({pick(('2', '3', '5', 'x.shape[0]'))}):")
            self.inside(3, i)
        else:
            count = self.name()
            self.write(f"{count} = 0")
            self.write(f"while len({pick(self.lists)}) > 0 and {count} < {pick((3, 5, 7))}:")
            self.write(f"    {count} += 1")
            self.inside(3)

    def add(self, to: str) -> None:
        if to == "heap":
            tag = self.random.choice((*self.integers, "0", "3"))
            self.write(f"heapq.heappush(heap, ({self.value()}, {tag}))")
        elif to == "queue" and self.random.random() < 0.3:
            self.write(f"queue.appendleft({self.value()})")
        else:
            self.write(f"{to}.append({self.value()})")

    def take(self, of: str) -> None:
        pick = self.random.choice
        if of == "out":
            self.write("if len(out) > 1:")
            self.write(f"    s = s + out[{pick(('-1', '0', '1', '-2'))}] * 0.5")
            return
        self.write(f"if len({of}) > 0:")
        self.depth += 1
        value, tag = self.name(), self.name()
        if of == "heap":
            self.write(f"{value}, {tag} = heapq.heappop(heap)")
            self.write(f"s = s + 0.5 * {value} * (1 + {tag})")
        else:
            left = of == "queue" and self.random.random() < 0.5
            self.write(f"{value} = {of}.{'popleft' if left else 'pop'}()")
            self.write(f"s = s + {value} * {self.number()}")
        self.numbers.append(value)
        if self.random.random() < 0.5 and self.left > 0:
            self.statement()
        self.numbers.remove(value)
        self.depth -= 1

    def text(self) -> str:
        self.write("s = 0.25")
        for name in self.lists:
            self.write(f"{name} = {EMPTY[name]}")
        while self.left > 0:
            self.statement()
        for name in self.lists:
            each, more = ("a, b", "a * (b + 1)") if name == "heap" else ("a", "1.5 * a")
            self.write(f"for {each} in {name}:")
            self.write(f"    s = s + {more}")
        self.write("return s")
        return HEAD + "\n".join(self.lines) + "\n"


def text_of(seed: int, statements: int = 12) -> str:
    """The text of a program `f` of one vector of `SIZE` numbers."""
    return Maker(seed, statements).text()


def program_of(seed: int, statements: int = 12) -> Callable[[Any], Any]:
    """The function, whose source can be found."""
    text = text_of(seed, statements)
    found: Callable[[Any], Any] = executed(text, f"/random/lists_{seed}_{statements}.py")["f"]
    return found
