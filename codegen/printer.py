"""Prints a `Program` as a module of plain Python that is translated to native code and that also
runs as it stands."""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import kernel
from .integers import Binary, Int, Integer, Symbol, symbol, symbols
from .options import CodeOptions

_PLACE = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"\w+")
_CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")
_SUPPORT = ("acc", "apart", "arithmetic", "grown", "index", "signed", "view")
_PYTHON = {
    "abs",
    "min",
    "max",
    "float",
    "int",
    "bool",
    "complex",
    "range",
    "round",
    "divmod",
    "len",
    "not",
    "and",
    "or",
    "if",
    "else",
    "in",
    "is",
}


@dataclass(frozen=True)
class PrintedProgram:
    """`arena_bytes` is the scratch size over the sizes, and `arena_code` the same as a Python
    expression of plain ints."""

    source: str
    arena_bytes: Int
    arena_code: str
    sizes: tuple[tuple[str, tuple[str, int]], ...]


def print_program(program: kernel.Program) -> PrintedProgram:
    """The source text of a program, and what its caller must know to allocate the arena."""
    printer = Printer(program)
    return PrintedProgram(printer.module(), program.arena, plain(program.arena), program.sizes)


def plain(value: Int) -> str:
    """An integer expression in Python's own integers."""
    return str(value)


def integer(value: Int, word: str = "index({})") -> str:
    """An integer expression in unsigned machine words: every constant is typed, unless `word` says
    how else to write it, and subtractions come last."""
    if isinstance(value, int):
        return f"{'-' if value < 0 else ''}{word.format(abs(value))}"
    parts: list[tuple[bool, str]] = []
    for monomial, coefficient in value.terms:
        factors = [_atom(a, word) for a in monomial]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, word.format(abs(coefficient)))
        parts.append((coefficient < 0, " * ".join(factors)))
    parts.sort(key=lambda part: part[0])
    text = ""
    for negative, part in parts:
        if not text:
            text = f"-{part}" if negative else part
        else:
            text += f" {'-' if negative else '+'} {part}"
    return text


def _atom(atom: Any, word: str) -> str:
    if isinstance(atom, Symbol):
        return atom.name
    assert isinstance(atom, Binary)
    left, right = integer(atom.left, word), integer(atom.right, word)
    if atom.op in ("min", "max"):
        return f"{atom.op}({left}, {right})"
    if atom.op == "root":
        return f"index(int(({integer(atom.left)}) ** 0.5))"
    return f"(({left}) {atom.op} ({right}))"


def dtype_name(dtype: np.dtype[Any]) -> str:
    return "bool_" if dtype.kind == "b" else dtype.name


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A constant that has `dtype` in native code and in Python."""
    if dtype.kind == "b":
        return str(bool(value))
    if dtype.kind == "c":
        number = complex(value)
        return f"np.{dtype.name}(complex({_float(number.real)}, {_float(number.imag)}))"
    if dtype.kind == "f":
        text = _float(float(value))
        if dtype.itemsize < 8:
            return f"np.{dtype.name}({text})"
        return f"({text})" if text.startswith("-") else text
    number = int(value)
    if dtype.name == "int64":
        return (
            str(number)
            if number >= 0
            else f"({number})"
            if number > -(2**63)
            else "(-9223372036854775807 - 1)"
        )
    return f"np.{dtype.name}({number})"


def _float(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if cmath.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def arithmetic_of(options: CodeOptions) -> str:
    """What `support.arithmetic` is told of a kernel; nothing where its arithmetic is NumPy's."""
    words = [w for w in ("contract", "flush_denormals") if getattr(options, w)]
    return ", ".join([f"{w}=True" for w in words])


_INNER = (kernel.Loop, kernel.While, kernel.If, kernel.Call, kernel.Allocate, kernel.Grow)
"""What a loop has inside that does not become one vectorised loop."""


def _of_parts(loop: kernel.Loop) -> kernel.Call | None:
    """The one call of a loop over the parts of a routine, of all parts from `first` to `last`: a
    routine gains by several at once."""
    part = symbol(loop.index)
    match loop.body:
        case (kernel.Call(share=(begin, end, parts)) as call,):
            if begin == part and end == part + 1:
                return replace(call, share=(symbol("first"), symbol("last"), parts))
    return None


def _vectorises(body: tuple[kernel.Statement, ...]) -> bool:
    """Whether a loop is innermost and stores at places in order, not at any that it computes."""
    if any(isinstance(s, _INNER) for s in body):
        return False
    made = {s.name for s in body if isinstance(s, kernel.Let)}
    return not any(
        made & symbols(i)
        for s in body
        if isinstance(s, kernel.Store)
        for i in s.index
        if isinstance(i, (int, Integer))
    )


class Printer:
    """Writes statements and expressions as lines of Python."""

    word = "{}"
    """How constants among indices are written: translation types them (indices.py)."""
    defers = True
    """Whether loops check their indices once, behind their end."""

    def __init__(self, program: kernel.Program) -> None:
        self.program = program
        self.lines: list[str] = []
        self.deferred = 0
        """Checks that were moved behind their loops."""
        self.used: dict[str, set[str]] = {
            "support": set(),
            "scalar": set(),
            "extremes": set(),
            "library": set(),
            "routines": set(),
        }

    def module(self) -> str:
        self.function()
        text = "\n".join(self.lines)
        # A pattern that begins with a border is looked for letter by letter: 9 ms in 4,000 lines.
        called = [name for name in _SUPPORT if f"{name}(" in text]
        self.used["support"].update(name for name in called if re.search(rf"\b{name}\(", text))
        header = [
            f"from tracegrad.codegen.native.{module} import {', '.join(sorted(names))}"
            for module, names in self.used.items()
            if names
        ]
        header = ["import numpy as np", *([""] if header else []), *header]
        return "\n".join(header) + "\n\n\n" + text + "\n"

    def integer(self, value: Int) -> str:
        return integer(value, self.word)

    def shape(self, shape: tuple[Int, ...]) -> str:
        return "(" + ", ".join(map(self.integer, shape)) + (",)" if len(shape) == 1 else ")")

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def function(self) -> None:
        program = self.program
        arguments = [b.name for b in program.buffers if b.role in ("in", "out")]
        arguments += ["arena", "status", "phase", "lo", "hi"]
        if said := arithmetic_of(program.options):
            self.line(0, f"@arithmetic({said})")
        self.line(0, f"def {program.name}({', '.join(arguments)}):")
        text = program.doc.replace("\\", "\\\\").replace('"""', "'''")
        doc = text.strip().splitlines() or ["A compiled graph."]
        self.line(1, f'"""{doc[0]}')
        for text in doc[1:]:
            self.line(1 if text else 0, text)
        self.line(1, '"""')
        for name, (source, axis) in program.sizes:
            self.line(1, f"{name} = index({source}.shape[{axis}])")
        head, self.lines = self.lines, []
        many = len(program.phases) > 1 or any(p.local for p in program.phases)
        for number, phase in enumerate(program.phases):
            depth = 1
            if phase.comment:
                self.line(1, f"# {phase.comment}")
            if many:
                self.line(1, f"if phase < 0 or phase == {number}:")
                depth = 2
            if phase.kind == "parallel":
                (loop,) = phase.body
                assert isinstance(loop, kernel.Loop)
                self.body(depth, phase.local) if phase.local else None
                self.line(depth, f"first = {self.integer(loop.lo)} if phase < 0 else index(lo)")
                self.line(depth, f"last = {self.integer(loop.hi)} if phase < 0 else index(hi)")
                if (call := _of_parts(loop)) is not None:
                    self.statement(depth, call)
                else:
                    self.counted(depth, loop, "first", "last")
            else:
                self.body(depth, phase.body)
        if not program.phases:
            self.line(1, "return")
        self.lines[:0] = [*head, *self.views("\n".join(self.lines))]

    def views(self, text: str) -> list[str]:
        """The lines that give the buffers which the code reads or writes their shapes."""
        lines: list[str] = []
        words = set(_WORD.findall(text))
        for buffer in reversed(self.program.buffers):
            if buffer.name in words and (shown := self.shown(buffer)):
                lines.append(f"    {buffer.name} = view({shown})")
                words.add(buffer.of)
        return lines[::-1]

    def shown(self, buffer: kernel.Buffer) -> str:
        """What a buffer is a view of; nothing where an argument is taken as it is."""
        owner: str = buffer.of or buffer.name
        offset: Int = 0
        if buffer.role == "temp" and not buffer.of:
            owner, offset = "arena", buffer.offset
        elif not buffer.of and (buffer.layout == "A" or len(buffer.shape) < 2):
            return ""
        # With the strides known, rows of constant length and interleaved columns vectorise.
        shape = self.shape(buffer.shape)
        return f"{owner}, {self.integer(offset)}, {shape}, np.{dtype_name(buffer.dtype)}"

    def body(self, depth: int, statements: Iterable[kernel.Statement]) -> None:
        empty = True
        for statement in statements:
            empty = False
            self.statement(depth, statement)
        if empty:
            self.line(depth, "pass")

    def statement(self, depth: int, s: kernel.Statement) -> None:
        match s:
            case kernel.Let(name, value, comment):
                self.line(
                    depth,
                    f"{name} = {self.expression(value)}" + (f"  # {comment}" if comment else ""),
                )
            case kernel.Declare(name, value):
                self.line(depth, f"{name} = {self.expression(value)}")
            case kernel.Update(name, value, combine, exact):
                self.line(depth, f"{name} = {self.combined(name, value, combine, exact)}")
            case kernel.Store(buffer, at, value, combine):
                place = f"{buffer}[{self.position(at)}]"
                self.line(depth, f"{place} = {self.combined(place, value, combine, True)}")
            case kernel.Loop(_, lo, hi, _, _):
                self.counted(depth, s, self.integer(lo), self.integer(hi))
            case kernel.While(condition, body, checked):
                going = self.expression(condition)
                if checked:
                    going = f"{going} and status[{self.integer(0)}] == 0"
                self.line(depth, f"while {going}:")
                self.body(depth + 1, body)
            case kernel.If(condition, then, otherwise):
                self.line(depth, f"if {self.expression(condition)}:")
                self.body(depth + 1, then)
                if otherwise:
                    self.line(depth, "else:")
                    self.body(depth + 1, otherwise)
            case kernel.Allocate(name, dtype, shape, of):
                made = (
                    f"view({of}, {self.integer(0)}, {self.shape(shape)}, "
                    if of
                    else f"np.empty({self.shape(shape)}, "
                )
                self.line(depth, f"{name} = {made}np.{dtype_name(dtype)})")
            case kernel.Grow(name, length):
                self.line(depth, f"{name} = grown({name}, {self.expression(length)})")
            case kernel.Call(routine, _, comment):
                module, _, name = routine.rpartition(".")
                self.used[module or "library"].add(name)
                text = ", ".join(self.argument(a) for a in s.given)
                self.line(depth, f"{name}({text})" + (f"  # {comment}" if comment else ""))
            case kernel.Check(condition, code, value):
                self.failed(
                    depth, f"not ({self.expression(condition)})", code, self.expression(value)
                )

    def counted(self, depth: int, loop: kernel.Loop, lo: str, hi: str) -> None:
        """A loop; what it checks of indices is the largest of them, asked behind the loop: so the
        loop vectorises."""
        body: list[kernel.Statement] = []
        checks: list[tuple[str, int, str]] = []
        defers = self.defers and _vectorises(loop.body)
        for s in loop.body:
            if (
                defers
                and isinstance(s, kernel.Check)
                and isinstance(s.condition, kernel.Apply)
                and s.condition.code == kernel.IN_AXIS
            ):
                name = f"farthest_{self.deferred}"
                self.deferred += 1
                self.line(depth, f"{name} = index(0)")
                # As numbers without a sign, those below 0 are larger than any size.
                body.append(
                    kernel.Update(
                        name,
                        kernel.Apply("index({w})", s.condition.arguments, np.dtype(np.uintp)),
                        "max",
                    )
                )
                checks.append((name, s.code, self.expression(dict(s.condition.arguments)["n"])))
            else:
                body.append(s)
        steps = "apart" if loop.apart else "range"
        self.line(depth, f"for {loop.index} in {steps}({lo}, {hi}):")
        self.body(depth + 1, body)
        for name, code, size in checks:
            limit = size if size.isdigit() and self.word == "{}" else f"index({size})"
            value = f"signed({name}) - {size} if signed({name}) < 0 else signed({name})"
            # Where there is nothing to index, a loop without passes is fine.
            passed = "" if size.isdigit() else f" and {lo} < {hi}"
            self.failed(depth, f"{name} >= {limit}{passed}", code, value)

    def failed(self, depth: int, condition: str, code: int, value: str) -> None:
        """Record the first failure: its code, and the value that was wrong."""
        first, second = self.integer(0), self.integer(1)
        self.line(depth, f"if {condition} and status[{first}] == 0:")
        self.line(depth + 1, f"status[{first}] = {code}")
        self.line(depth + 1, f"status[{second}] = {value}")

    def argument(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, int):
            return str(value)
        if isinstance(
            value, (kernel.Name, kernel.Literal, kernel.Load, kernel.Index, kernel.Apply)
        ):
            return self.expression(value)
        return f"signed({self.integer(value)})"

    def position(self, at: tuple[Any, ...]) -> str:
        return ", ".join(map(self.place, at)) or "()"

    def place(self, i: Any) -> str:
        if isinstance(i, (kernel.Name, kernel.Literal, kernel.Load)):
            return self.expression(i)
        # What is calculated with values has constants of theirs.
        computed = isinstance(i, (kernel.Index, kernel.Apply))
        return f"index({self.expression(i)})" if computed else self.integer(i)

    def combined(
        self, target: str, value: kernel.Expression, combine: kernel.Combine | None, exact: bool
    ) -> str:
        text, dtype = self.expression(value, atomic=True), value.dtype
        if combine is None:
            return self.expression(value)
        if combine in ("max", "min"):
            function, module = {"max": "maximum", "min": "minimum"}[combine], "scalar"
            if dtype.kind == "f":
                function, module = {"max": "greatest", "min": "least"}[combine], "extremes"
            self.used[module].add(function)
            return f"{function}({target}, {text})"
        if combine == "add" and dtype.kind == "f" and not exact:
            return f"acc({target}, {text})"
        operator = {"add": "+", "mul": "*", "and": "&", "or": "|"}[combine]
        return self.cast(f"{target} {operator} {text}", dtype)

    def cast(self, text: str, dtype: np.dtype[Any], always: bool = False) -> str:
        narrow = (
            dtype.kind == "b"
            or (dtype.kind in "iu" and dtype.itemsize < 8)
            or dtype.name in ("float32", "complex64")
        )
        return f"np.{dtype_name(dtype)}({text})" if narrow or always else text

    def expression(self, e: kernel.Expression, atomic: bool = False) -> str:
        match e:
            case kernel.Name(name, _):
                return name
            case kernel.Literal(value, dtype):
                return literal(value, dtype)
            case kernel.Load(buffer, at, _):
                return f"{buffer}[{self.position(at)}]"
            case kernel.Index(value, _):
                return str(value) if isinstance(value, int) else f"signed({self.integer(value)})"
            case kernel.Apply(code, arguments, dtype):
                return self.apply(code, dict(arguments), dtype, atomic)
        raise AssertionError(f"not an expression: {e!r}")

    def apply(
        self, code: str, arguments: dict[str, kernel.Expression], dtype: np.dtype[Any], atomic: bool
    ) -> str:
        if code == "{x}":
            return self.cast(self.expression(arguments["x"]), dtype, always=True)
        for name in _CALLED.findall(code):
            if name not in _PYTHON and name not in _SUPPORT:
                self.used["scalar"].add(name)
        known = all(isinstance(a, kernel.Literal) for a in arguments.values())

        def place(match: re.Match[str]) -> str:
            key = match.group(1)
            if key == "dtype":
                return dtype_name(dtype)
            argument = arguments[key]
            if (
                known
                and isinstance(argument, kernel.Literal)
                and argument.dtype.name in ("float64", "int64")
            ):
                return f"np.{argument.dtype.name}({literal(argument.value, argument.dtype)})"
            return self.expression(argument, atomic=True)

        text = _PLACE.sub(place, code)
        result = self.cast(text, dtype)
        return (
            f"({result})"
            if atomic and result is text and not re.fullmatch(r"\w+\([^()]*\)", text)
            else result
        )
