"""Lists too long to be read line by line: the distributions, by what they are spread over, and
torch's functions that are methods of its tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HOW = """\
A distribution is called with its parameters in SciPy's order, then `loc` and `scale` (integers:
`loc` alone):

```pycon
>>> round(float(tg.stats.gamma.logpdf(2.0, 3.0, scale=0.5)), 6)
-1.227411
>>> round(float(tg.stats.gamma(3.0, scale=0.5).logpdf(2.0)), 6)
-1.227411
```

Each has `pdf` and `logpdf` (integers: `pmf` and `logpmf`), and, where there is a formula, `cdf`,
`logcdf`, `sf`, `logsf`, `ppf`, `isf`. Derivatives go to `x` and to every parameter.
"""


def distributions(found: dict[str, Any], link: Callable[[str], str]) -> str:
    """The distributions as tables, one for each kind of support."""
    kinds: dict[str, list[str]] = {
        kind: [] for kind in ("all real numbers", "positive numbers", "other intervals", "integers")
    }
    of_vectors = []
    for name, x in found.items():
        if not hasattr(x, "support"):
            line = " ".join((type(x).__doc__ or "").partition("\n\n")[0].split())
            of_vectors.append(f"| {link(name)} | {line.partition('. ')[0].removesuffix('.')} |")
            continue
        kinds[kind_of(x)].append(
            f"| {link(name)} | {' '.join(f'`{s}`' for s in x.shapes)} | {support_of(x)} |"
        )
    parts = [HOW]
    for kind, rows in kinds.items():
        parts.append(f"## Over {kind}\n\n| | parameters | support |\n|---|---|---|")
        parts[-1] += "".join(f"\n{row}" for row in rows) + "\n"
    parts.append("## Over vectors and matrices\n\n| | |\n|---|---|\n" + "\n".join(of_vectors))
    return "\n".join(parts) + "\n"


def kind_of(distribution: Any) -> str:
    if distribution.discrete:
        return "integers"
    known = {"-∞ to ∞": "all real numbers", "0 to ∞": "positive numbers"}
    return known.get(support_of(distribution), "other intervals")


def support_of(distribution: Any) -> str:
    """Where the standard form has a density."""
    ends = distribution.support
    if any(callable(end) for end in ends):
        low, high = ("..." if callable(end) else shown(end) for end in ends)
        return f"{low} to {high}, by the parameters"
    return " to ".join(shown(end) for end in ends)


def shown(end: float) -> str:
    """A number that stands for an open end (the one next to it) is shown as the end."""
    if abs(end) > 1e300:
        return "∞" if end > 0 else "-∞"
    return "0" if abs(end) < 1e-300 else f"{end:.6g}"


def functions_of_tensors(found: dict[str, Any], first_line: Callable[[Any], str]) -> str:
    """torch's names: those that are a method of the tensor in one paragraph, the others with a
    line each."""
    lists: tuple[list[str], ...] = ([], [], [], [])
    alike, functions, classes, rest = lists
    for name, x in found.items():
        if not callable(x):
            rest.append(f"`{name}`")
            continue
        line = first_line(x)
        if line.startswith(f"`input.{name}("):
            alike.append(f"`{name}`")
        else:
            (classes if isinstance(x, type) else functions).append(f"| `{name}` | {line} |")
    return (
        "## Methods of tensors as functions\n\n`torch.NAME(input, ...)` is `input.NAME(...)`, with "
        f"torch's `out=`:\n\n{', '.join(alike)}.\n\n"
        "## Other functions\n\n| | |\n|---|---|\n" + "\n".join(functions)
        + "\n\n## Classes\n\n| | |\n|---|---|\n" + "\n".join(classes)
        + f"\n\n## Dtypes, numbers and other objects\n\n{', '.join(rest)}.\n"
    )  # fmt: skip
