"""The text that comes with a library: a header, and an example in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._codegen import c_function as c
from .._codegen import integers


def header_text(parts: Any, symbols: Sequence[str], about: dict[str, Any]) -> str:
    """The header: one comment for each function."""
    name = parts.name
    guard = f"{name.upper()}_H"
    needs = ", ".join(about["features"]) or "nothing beyond its kind"
    lines = [
        f"/* {name}: written by tracegrad {about['tracegrad']}.",
        " *",
        " * Arrays are in C order; results must not overlap with arguments. Functions keep no",
        " * state, need no Python, and may be called by several threads at once; memory for",
        " * temporaries is on the stack, or kept for the next call. A status is 0 where all went",
        " * well; above 0 where another point may do: the number of a check, or",
        f" * {c.NOT_A_NUMBER} where a result holds NaN; below 0 where none will: {c.NO_MEMORY} for",
        f" * lack of memory, {c.WRONG_SIZE} for a size that the function was not made for.",
        " *",
        *_wrapped(f"The processor must have: {needs}."),
        " */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdbool.h>",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    words = " ".join([p.prototype for p in parts.pieces] + [q for _, q, _ in parts.exported])
    for word, meaning in (
        ("casadi_int", "long long"),
        ("npy_intp", "intptr_t"),
        ("N_Vector", "void *"),
        ("SUNMatrix", "void *"),
    ):
        if word in words:
            lines += [f"typedef {meaning}{'' if meaning[-1] == '*' else ' '}{word};"]
    for number, piece in enumerate(parts.pieces):
        lines += ["", *_comment(number, piece, symbols), f"{piece.prototype};"]
    for _, prototype, text in parts.exported:
        lines += ["", f"/* {text} */", f"{prototype};"]
    lines += [
        "",
        "/* The status of the last failure in this thread, 0 where there was none; the number of",
        " * the function that failed, and the number that was recorded (an index, a size). */",
        f"int {name}_last_status(int *function, long long *value);",
        "",
        "/* What the library is, as JSON. */",
        f"const char *{name}_about(void);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _comment(number: int, piece: Any, symbols: Sequence[str]) -> list[str]:
    lines = [f"/* {piece.function.name} (function {number}): {piece.text}."]
    lines += [f" *   {n}: a size, at least 2" for n in symbols]
    for relation, difference, fact in piece.kernel.form.facts:
        opposite = {"==": "!=", "<": ">=", "<=": ">"}
        lines.append(f" *   sizes: {difference} {relation if fact else opposite[relation]} 0")
    if piece.kind == "plain":
        for a, role in [
            *[(a, "argument") for a in piece.kernel.given],
            *[(a, "result") for a in piece.kernel.form.outputs],
        ]:
            shape = "".join(f"[{s}]" for s in a.shape) or ", a number"
            lines.append(f" *   {role} {a.name}: {a.dtype}{shape}")
    for code, text in enumerate(piece.kernel.program.errors):
        lines += [f" *   status {code + 1}: {text}"]
    return [*lines, " */"]


def _wrapped(text: str) -> list[str]:
    lines, line = [], " *"
    for word in text.split():
        if len(line) + len(word) > 96:
            lines.append(line)
            line = " *"
        line += f" {word}"
    return [*lines, line]


def example_text(parts: Any, symbols: Sequence[str], suffix: str) -> str:
    """A program that calls the first plain function for the example's arguments."""
    name = parts.name
    piece = next((p for p in parts.pieces if p.kind == "plain"), None)
    head = [
        f"/* cc {name}_example.c ./{name}{suffix} -o {name}_example && ./{name}_example */",
        "#include <stdio.h>",
        f'#include "{name}.h"',
        "",
        "int main(void) {",
    ]
    if piece is None:
        return "\n".join([*head, f"    puts({name}_about());", "    return 0;", "}", ""])
    kernel = piece.kernel
    sizes = _sizes(kernel, symbols)
    passed = [str(sizes[n]) for n in symbols]
    lines: list[str] = []
    parameters = list(piece.function.parameters[len(symbols) :])
    for leaf, array, parameter in zip(kernel.leaves, kernel.given, parameters, strict=False):
        values = np.asarray(getattr(leaf, "_data", leaf), array.dtype)
        if parameter.kind != "pointer":
            passed.append(_number(values[()]))
            continue
        lines.append(f"    static {_declared(parameter, values)};")
        passed.append(parameter.name)
    results = parameters[len(kernel.given) :]
    for array, parameter in zip(kernel.form.outputs, results, strict=True):
        count = _count(array.shape, sizes)
        lines.append(f"    static {_element(parameter)} {parameter.name}[{max(count, 1)}];")
        passed.append(parameter.name)
    lines += [
        f"    int status = {piece.function.name}({', '.join(passed)});",
        '    printf("status %d\\n", status);',
    ]
    for array, parameter in zip(kernel.form.outputs, results, strict=True):
        count = _count(array.shape, sizes)
        if array.dtype.kind in "fiub" and count:
            lines += [
                f"    for (int k = 0; k < {min(count, 8)}; k++)",
                f'        printf("{parameter.name}[%d] = %.17g\\n", k, '
                f"(double){parameter.name}[k]);",
            ]
    return "\n".join([*head, *lines, "    return status;", "}", ""])


def _sizes(kernel: Any, symbols: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for leaf, array in zip(kernel.leaves, kernel.given, strict=True):
        for extent, symbol in zip(np.shape(leaf), array.shape, strict=True):
            if str(symbol) in symbols:
                found[str(symbol)] = extent
    return found


def _count(shape: Sequence[Any], sizes: dict[str, int]) -> int:
    return int(np.prod([integers.evaluate(s, sizes) for s in shape], dtype=np.int64))


def _element(parameter: Any) -> str:
    text: str = parameter.text.removeprefix("const ").rpartition("*")[0].strip()
    return text


def _declared(parameter: Any, values: np.ndarray[Any, Any]) -> str:
    count = max(values.size, 1)
    start = f"{_element(parameter)} {parameter.name}[{count}]"
    if values.dtype.kind == "c" or not 0 < values.size <= 64:
        return start
    return f"{start} = {{{', '.join(map(_number, values.reshape(-1)))}}}"


def _number(value: Any) -> str:
    if value.dtype.kind == "f":
        text = repr(float(value))
        return {"inf": "1.0 / 0.0", "-inf": "-1.0 / 0.0", "nan": "0.0 / 0.0"}.get(text, text)
    return str(int(value))


__all__ = ["example_text", "header_text"]
