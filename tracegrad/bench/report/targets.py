"""What the project aims at on these workloads, held against what a run measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .. import SUITES, WORKLOADS, find
from ..contestant import LIBRARIES
from ..run import Outcome
from ..startup import StartUp
from ..workload import Workload

FEW_NODES = 100
GRADIENTS = ("value_and_grad", "grad")
FASTER_THAN_PEERS = (
    *(
        "lse-grad",
        "lse-short-grad",
        "llsq-grad",
        "llsq-short-grad",
        "kmeans-grad",
        "kmeans-hvp",
        "gmm-grad",
        "gmm-hessian",
    ),
    *("logistic-breast-cancer-value_and_grad", "logistic-breast-cancer-hessian"),
)
NEAR_LOOPS = (
    "llsq-grad",
    "llsq-short-grad",
    "kmeans-grad",
    "kmeans-hvp",
    "lennard_jones-value_and_grad",
)
LOOPS = ("lorenz63-grad", "lorenz96-grad", "lstm-grad", "newton-grad", "ode-grad")
"""Against loops written by hand with an adjoint written by hand."""
TRAINING = ("training-SGD-step", "training-Adam-step")
NEAR_BLAS = (
    "mlp-value_and_grad",
    "gmm-wide-grad",
    "logistic-random-value_and_grad",
    "logistic-random-hessian",
)


class Results:
    """The right results of a run at the default sizes, or on a GPU at those of the run, by workload
    and contestant."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        start_up: StartUp | None = None,
        size: str = "default",
        device: str = "cpu",
        suite: str = "public",
    ) -> None:
        self.suite, self.workloads = suite, SUITES[suite]
        self.device, self.size = device, size if device != "cpu" else "default"
        wanted: dict[tuple[str, str, str], str] = {
            (w.title, w.derivative, w.label(self.size)): w.key for w in self.workloads
        }
        names = [(wanted.get(o.case), o) for o in outcomes]
        self.found = {
            (key, o.contestant): o
            for key, o in names
            if key is not None and o.good and o.derivative_s
        }
        self.start_up = start_up

    def of(self, contestant: str) -> list[tuple[Workload, Outcome]]:
        """A contestant's results."""
        return [
            (w, o) for w in self.workloads if (o := self.found.get((w.key, contestant))) is not None
        ]

    def ratio(self, key: str, slow: str, fast: str) -> float | None:
        """Time of one over time of the other."""
        a, b = self.found.get((key, slow)), self.found.get((key, fast))
        return (
            a.derivative_s / b.derivative_s
            if a is not None and b is not None and a.derivative_s and b.derivative_s
            else None
        )

    def ahead(self, key: str) -> tuple[float, str] | None:
        """How many times faster than the best peer jit is, and which peer that is."""
        ratios = [
            (r, name) for name in LIBRARIES if (r := self.ratio(key, name, "jit")) is not None
        ]
        return min(ratios, default=None)

    def geometric_mean(self) -> tuple[float, str] | None:
        """Of how many times faster than the best peer jit is."""
        logarithms = [
            math.log(a[0]) for w in self.workloads if (a := self.ahead(w.key)) is not None
        ]
        return (
            (math.exp(sum(logarithms) / len(logarithms)), f"{len(logarithms)} cases")
            if logarithms
            else None
        )

    def least_ahead(self) -> tuple[float, str] | None:
        """How many times faster than the best peer jit is where it is least ahead."""
        found = [(a[0], f"{a[1]}, {w.title}") for w in self.workloads if (a := self.ahead(w.key))]
        return min(found, default=None)

    def farthest_from_loops(self) -> tuple[float, str] | None:
        """The largest of jit's times over those of hand-written loops."""
        found = [
            (r, w.title)
            for w in self.workloads
            if (r := self.ratio(w.key, "jit", "hand-written Numba")) is not None
        ]
        return max(found, default=None)

    def worst_factor(self, elementwise: bool) -> tuple[float, str] | None:
        """The largest time of a derivative over that of its function; a dense Hessian has many
        columns and does not count."""
        factors = [
            (o.derivative_s / o.primal_s, name_of(w))
            for w, o in self.of("jit")
            if w.elementwise == elementwise
            and w.derivative != "hessian"
            and o.derivative_s
            and o.primal_s
        ]
        return max(factors, default=None)

    def slowest_start(self, nodes: float) -> tuple[float, str] | None:
        """The longest first call of a gradient whose graph has fewer operations than this."""
        calls = [
            (o.first_call_s, name_of(w))
            for w, o in self.of("jit")
            if w.derivative in GRADIENTS
            and o.first_call_s
            and o.nodes is not None
            and o.nodes < nodes
        ]
        return max(calls, default=None)

    def against_all_pairs(self) -> float | None:
        """The memory of a call over that of an array of all pairs of particles."""
        w = find("lennard_jones-value_and_grad")
        found = self.found.get((w.key, "jit"))
        return (
            None
            if found is None or found.call_mb is None
            else found.call_mb / (w.sizes[self.size]["n"] ** 2 * 8e-6)
        )


Measured = float | tuple[float, str] | None


@dataclass(frozen=True)
class Aim:
    """A number of a run, and how large or how small it should be; `measure` gives None where the
    run does not tell."""

    what: str
    sign: str
    limit: float
    measure: Callable[[Results], Measured]

    def row(self, results: Results) -> list[str]:
        """The cells of its row: what, wanted, measured, met; none where it was not measured."""
        found = self.measure(results)
        if found is None:
            return []
        value, remark = found if isinstance(found, tuple) else (found, "")
        met = value >= self.limit if self.sign == ">=" else value <= self.limit
        shown = f"{value:.3g}" + (f" ({remark})" if remark else "")
        return [self.what, f"{self.sign} {self.limit:g}", shown, "met" if met else "missed"]


def name_of(workload: Workload) -> str:
    """As rows show it."""
    return f"{workload.title} {workload.derivative}"


def compared(key: str, slow: str, fast: str, sign: str, limit: float) -> Aim:
    """One contestant's time over another's."""
    shown = (
        next((w.floor.name for w in WORKLOADS if w.key == key and w.floor is not None), "")
        if fast == "floor"
        else fast
    )
    return Aim(
        f"{name_of(find(key))}: {slow} / {shown}", sign, limit, lambda r: r.ratio(key, slow, fast)
    )


def faster(key: str, limit: float) -> Aim:
    """Over the best peer."""
    return Aim(f"{name_of(find(key))}: best peer / jit", ">=", limit, lambda r: r.ahead(key))


AIMS = (
    compared("dispatch-value_and_grad", "JAX", "jit", ">=", 2.0),
    compared("dispatch-value_and_grad", "JAX on NumPy", "jit", ">=", 4.0),
    compared("rosenbrock-value_and_grad", "jit", "floor", "<=", 1.2),
    faster("rosenbrock-value_and_grad", 1.5),
    compared("rosenbrock-hessian", "JAX", "jit", ">=", 2.0),
    compared("black_scholes-value_and_grad", "torch.compile", "jit", ">=", 1.0),
    compared("black_scholes-value_and_grad", "JAX", "jit", ">=", 5.0),
    *[faster(key, 1.0) for key in FASTER_THAN_PEERS],
    faster("lennard_jones-value_and_grad", 3.0),
    compared("lorenz63-grad", "JAX", "jit", ">=", 30.0),
    compared("lorenz96-grad", "JAX", "jit", ">=", 5.0),
    compared("lstm-grad", "JAX", "jit", ">=", 1.5),
    faster("ode-grad", 10.0),
    *[compared(key, "jit", "hand-written Numba", "<=", 1.5) for key in LOOPS],
    *[compared(key, "jit", "hand-written Numba", "<=", 1.3) for key in NEAR_LOOPS],
    *[compared(key, "eager", "jit", ">=", 3.0) for key in TRAINING],
    Aim(
        "lennard_jones: MB of a call / MB of all pairs", "<=", 0.5, lambda r: r.against_all_pairs()
    ),
    *[compared(key, "jit", "floor", "<=", 1.1) for key in NEAR_BLAS],
    Aim(
        "derivative / function, elementwise workloads, worst",
        "<=",
        2.5,
        lambda r: r.worst_factor(True),
    ),
    Aim(
        "derivative / function, other gradients and products, worst",
        "<=",
        4.0,
        lambda r: r.worst_factor(False),
    ),
    Aim("first call of a gradient, s, slowest", "<=", 1.0, lambda r: r.slowest_start(math.inf)),
    Aim(
        f"first call of a gradient below {FEW_NODES} operations, s, slowest",
        "<=",
        0.4,
        lambda r: r.slowest_start(FEW_NODES),
    ),
    Aim(
        "second process above Numba's, s",
        "<=",
        0.15,
        lambda r: None if r.start_up is None else r.start_up.above_numba,
    ),
    Aim(
        "import above NumPy's and scipy.linalg's, s",
        "<=",
        0.1,
        lambda r: None if r.start_up is None else r.start_up.above_numpy,
    ),
    Aim("geometric mean of best peer / jit", ">=", 3.0, lambda r: r.geometric_mean()),
)


AIMS_ON_A_GPU = (
    compared("rosenbrock-value_and_grad", "jit", "floor", "<=", 1.25),
    faster("black_scholes-value_and_grad", 1.0),
    faster("lennard_jones-value_and_grad", 1.0),
    compared("lorenz96-batch-grad", "JAX", "jit", ">=", 5.0),
    Aim("geometric mean of best peer / jit", ">=", 1.0, lambda r: r.geometric_mean()),
)


AIMS_OF_WIDE = (
    Aim("geometric mean of best peer / jit", ">=", 4.0, lambda r: r.geometric_mean()),
    Aim("best peer / jit, least", ">=", 1.0, lambda r: r.least_ahead()),
    Aim("jit / hand-written Numba, most", "<=", 1.3, lambda r: r.farthest_from_loops()),
    Aim("first call, s, slowest", "<=", 1.0, lambda r: r.slowest_start(math.inf)),
)


def aims(results: Results) -> tuple[Aim, ...]:
    """Those of the suite that ran, and of where."""
    if results.suite == "wide":
        return AIMS_OF_WIDE
    return AIMS if results.device == "cpu" else AIMS_ON_A_GPU


def rows(results: Results) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of aims that the run tells about."""
    return ["aim", "wanted", "measured", "met"], [
        row for aim in aims(results) if (row := aim.row(results))
    ]
