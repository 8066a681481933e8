"""A picture of a benchmark run: how far everyone is from the best peer, workload by workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..contestant import LIBRARIES
from ..run import Outcome
from .tables import by_case, present, significant

# Marker, size and colour; the colours are told apart by those who do not see red or green too.
LOOKS = {
    "eager": ("s", 26, "#9a9a9a"),
    "jit": ("*", 150, "#000000"),
    "hand-written Numba": ("D", 30, "#0072b2"),
    "floor": ("|", 130, "#d55e00"),
    "JAX": ("o", 34, "#e69f00"),
    "JAX on NumPy": ("o", 16, "#e69f00"),
    "torch eager": ("v", 34, "#56b4e9"),
    "torch.compile": ("^", 34, "#009e73"),
    "HIPS autograd": ("P", 34, "#cc79a7"),
    "CasADi": ("X", 34, "#8c6d31"),
    "CuPy": ("p", 34, "#8c6d31"),
}


def write(path: Path, outcomes: Sequence[Outcome], contestants: Sequence[str], title: str) -> None:
    """Times over that of the best peer on a logarithmic scale; over jit's where no peer ran."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    cases = by_case(outcomes)
    figure, axes = pyplot.subplots(figsize=(10, 2.0 + 0.36 * len(cases)), layout="constrained")
    for contestant in present(outcomes, contestants):
        points = [
            (r, row)
            for row, found in enumerate(cases.values())
            if (r := relative(found, contestant)) is not None
        ]
        marker, size, color = LOOKS[contestant]
        # What matters most lies on top.
        order = 4 if contestant == "jit" else 3
        axes.scatter(
            [r for r, _ in points],
            [row for _, row in points],
            s=size,
            marker=marker,
            color=color,
            label=contestant,
            zorder=order,
        )
    axes.axvline(1.0, color="#555555", linewidth=1.0, zorder=1)
    axes.set_yticks(
        range(len(cases)), [label(case, found) for case, found in cases.items()], fontsize=8
    )
    axes.set_ylim(len(cases) - 0.4, -0.6)
    axes.set_xscale("log")
    ticks = [
        t
        for t in (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
        if axes.get_xlim()[0] <= t <= axes.get_xlim()[1]
    ]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.set_xticks([], minor=True)
    measured_by_peers = any(o.contestant in LIBRARIES and o.good for o in outcomes)
    axes.set_xlabel(
        "time of the derivative over that "
        f"of {'the best peer' if measured_by_peers else 'jit'} (left is faster)"
    )
    axes.set_title(title, fontsize=9, loc="left")
    axes.grid(axis="both", alpha=0.3)
    axes.set_axisbelow(True)
    figure.legend(loc="outside lower center", ncols=5, fontsize=8)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def relative(found: Mapping[str, Outcome], contestant: str) -> float | None:
    """A contestant's time over the best peer's; None without a right result."""
    times = {name: o.derivative_s for name, o in found.items() if o.good and o.derivative_s}
    best = min((t for name, t in times.items() if name in LIBRARIES), default=times.get("jit"))
    return times[contestant] / best if contestant in times and best is not None else None


def label(case: tuple[str, str, str], found: Mapping[str, Outcome]) -> str:
    """The case and jit's time."""
    title, derivative, size = case
    jit = found.get("jit")
    time = (
        f", jit {significant(jit.derivative_s * 1e3)} ms"
        if jit is not None and jit.good and jit.derivative_s
        else ""
    )
    return f"{title} {derivative}\n{size}{time}"
