"""Random programs whose loops take slices of computed length, write them in place and fill arrays
element by element: the loops that may become operations on whole arrays, and their likes that may
not."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tests.texts import executed

# Slices of equal length, by what they are made of; `{i}` is the number of a loop over `range(n)`.
OF_EQUAL_LENGTH = (
    (":{i}", "n - {i}:", ":{i}", ":{i}"),
    ("{i}:", ":n - {i}", "{i}:", "{i}:"),
    ("{i} + 1:", ":n - {i} - 1", "{i}:n - 1", "{i} + 1:"),
    (":{i} + 1", "n - 1 - {i}:", ":{i} + 1"),
    ("1:", ":-1", ":n - 1"),
    (":", ":n"),
)
RANGES = (
    "range(n)", "range(1, n)", "range(n - 1)", "range(n - 1, -1, -1)", "range(n - 2, 0, -1)",
    "range(0, n, 2)",
)  # fmt: skip
INNER = ("range({i})", "range({i} + 1, n)", "range(n - {i})", "range({i}, -1, -1)", "range(n)")


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def vector(self, ends: tuple[str, ...], i: str) -> str:
        """An array of the length that these ends have."""
        part = self.pick(*ends).format(i=i)
        kind = self.random.randrange(8)
        if kind < 4:
            return f"{self.pick('u', 'v', 'x')}[{part}]"
        if kind == 4:
            return f"m[{i}, {part}]"
        if kind == 5:
            return f"m[{part}, {self.pick(i, '0', '-1')}]"
        if kind == 6:
            return f"u[{part}][::-1]"
        return f"np.sin({self.pick('u', 'v')}[{part}])"

    def number(self, *indices: str) -> str:
        i = self.pick(*indices)
        kind = self.random.randrange(7)
        if kind < 3:
            at = self.pick(i, "-1", "0", f"n - 1 - {i}", f"{i} - 1")
            return f"{self.pick('u', 'v', 'x')}[{at}]"
        if kind == 3:
            return f"m[{i}, {self.pick(*indices)}]"
        ends = self.pick(*OF_EQUAL_LENGTH)
        if kind == 4:
            return f"np.sum({self.vector(ends, i)})"
        if kind == 5:
            return f"{self.vector(ends, i)} @ {self.vector(ends, i)}"
        return str(self.pick("a", "0.7", "np.cos(a)"))

    def statement(self, *indices: str) -> list[str]:
        i = self.pick(*indices)
        ends = self.pick(*OF_EQUAL_LENGTH)
        to = f"{self.pick('u', 'v')}[{self.pick(*ends).format(i=i)}]"
        kind = self.random.randrange(9)
        if kind < 3:
            one, two = self.vector(ends, i), self.vector(ends, i)
            return [f"{to} = 0.5 * {one} + 0.3 * {two} * np.tanh({self.number(*indices)})"]
        if kind == 3:
            return [f"{to} {self.pick('+=', '-=')} 0.2 * np.sin({self.vector(ends, i)})"]
        if kind == 4:
            part = self.pick(*ends).format(i=i)
            row = self.pick(f"m[{i}, {part}]", f"m[{part}, {i}]", f"m[{part}, 0]")
            return [f"{row} = 0.6 * np.cos({self.vector(ends, i)})"]
        if kind == 5:
            part = self.pick(*ends).format(i=i)
            one, two = self.vector(ends, i), self.vector(ends, i)
            return [f"m[{part}, {part}] -= 0.1 * np.outer(np.sin({one}), np.tanh({two}))"]
        if kind == 6:
            return [f"a = 0.5 * a + 0.2 * np.tanh({self.number(*indices)})"]
        at = self.pick(i, f"n - 1 - {i}", self.pick(*indices))
        name = self.pick("u", "v", "u", "v", f"m[{self.pick(*indices)}]")
        return [f"{name}[{at}] = np.sin({self.number(*indices)}) + 0.4 * {name}[{at}]"]

    def apart(self, i: str, *outer: str) -> list[str]:
        """What no other step of a loop over `i` needs, or may seem not to."""
        j = self.pick("0", "-1", *outer)
        ends = self.pick(*OF_EQUAL_LENGTH)
        value = self.pick(
            f"x[{i}]",
            f"u[{i} - 1] * x[{i}]",
            f"np.sin(u[n - 1 - {i}])",
            f"np.sum({self.vector(ends, i)})",
            f"x[{j}] * m[{i}, {j}]",
            f"{self.vector(ends, i)} @ {self.vector(ends, i)}",
            f"(x[{i}] if x[{i}] > 0.2 else u[{i}] * {i})",
        )
        part = self.pick(*ends)
        return [
            self.pick(
                f"v[{i}] = {value}",
                f"v[n - 1 - {i}] = 0.5 * v[n - 1 - {i}] + {value}",
                f"m[{i}, {j}] = np.tanh({value})",
                f"m[{j}, {i}] = np.cos({value}) * m[{j}, {i}]",
                f"a += 0.1 * np.tanh({value})",
                f"m[{i}, {part.format(i=j)}] = np.sin({self.vector(ends, j)}) + a",
                f"m[{part.format(i=j)}, {i}] *= np.cos({value})",
                f"v[{i}] += np.sin({value}); u[{i}] = v[{i}] * {value}",
            )
        ]

    def loop(self, outer: tuple[str, ...]) -> list[str]:
        self.names += 1
        i = f"i{self.names}"
        steps = self.pick(*INNER).format(i=outer[-1]) if outer else self.pick(*RANGES)
        lines = []
        kinds = self.random.choices((self.apart, self.statement), (3, 1), k=1)
        for _ in range(self.random.randint(1, 2)):
            deeper = len(outer) < 2 and self.random.random() < 0.4
            lines += self.loop((*outer, i)) if deeper else kinds[0](i, *outer)
        return [f"for {i} in {steps}:", *["    " + line for line in lines]]


def program_of(seed: int) -> Callable[[Any], Any]:
    """A function of a vector, whose source can be found."""
    maker = Maker(seed)
    lines = [line for _ in range(maker.random.randint(1, 2)) for line in maker.loop(())]
    text = "\n".join(
        [
            "def f(x):",
            "    n, a = len(x), 0.3",
            "    u, v = np.sin(x), np.zeros(len(x))",
            "    m = np.outer(x, np.cos(x))",
            *["    " + line for line in lines],
            "    return np.sum(u * v) + a + np.sum(np.tanh(m)) + np.sum(v)",
            "",
        ]
    )
    found: Callable[[Any], Any] = executed(text, f"/random/slices_{seed}.py")["f"]
    return found


__all__ = ["program_of"]
