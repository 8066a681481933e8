"""`python -m tracegrad bench`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..devices import driver
from . import SIZES, SUITES, Workload, beside_scipy, dense, machine, operations, page, programs
from .contestant import CONTESTANTS, OURS, PEERS
from .measure import usable_cores
from .program_texts import texts
from .report import plot, tables, targets
from .report.files import Findings, Section, threads
from .run import Outcome, Settings, failures, run, surroundings
from .scipy_expressions import EXPRESSIONS
from .small import ITEMS
from .startup import StartUp, measure

START_UPS = 11
PROGRAMS = tuple(texts())

DESCRIPTION = """\
Times derivatives in eager mode against jit, and checks every entry of every result against a
derivative written by hand. Each contestant runs in a process of its own, pinned to as many cores as
there are threads, and they take turns at each workload; a time is the median of many calls, and
what a first call costs (tracing and compiling, with an empty cache) stands in a column of its own.
"""
EPILOG = """\
examples:
  python -m tracegrad bench                                   everything, on one thread
  python -m tracegrad bench --workload gmm --workload kmeans  two workloads only
  python -m tracegrad bench --peers --startup --markdown results.md --plot results.png
  python -m tracegrad bench --peers --threads 0               all cores
  python -m tracegrad bench --suite wide --peers              twenty workloads of other fields
  python -m tracegrad bench --device cuda --peers --size large
  python -m tracegrad bench --memory --workload lennard_jones
  python -m tracegrad bench --operations --peers              single eager operations beside torch's
  python -m tracegrad bench --sparse                          sparse Jacobians beside loops by hand
  python -m tracegrad bench --linalg --peers                  factorisations beside torch's (MKL)
  python -m tracegrad bench --scipy --peers                   SciPy's names beside SciPy's and JAX's
  python -m tracegrad bench --programs --peers                plain Python beside Numba's and JAX's
  python -m tracegrad bench --page results.md --peers         all of these, into one page

The exit code is 1 when a result of eager or jit is wrong or missing, 2 for wrong usage, else 0.
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser], version: str) -> None:
    """Describe the command to argparse."""
    parser = commands.add_parser(
        "bench",
        help="time derivatives, eager against jit, and check them",
        description=DESCRIPTION,
        epilog=EPILOG
        + "\nworkloads:\n"
        + workload_list()
        + f"\nprograms:\n  {', '.join(PROGRAMS)}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = list(dict.fromkeys(w.name for suite in SUITES.values() for w in suite))
    parser.add_argument(
        "--workload",
        action="append",
        choices=[*names, *PROGRAMS],
        metavar="NAME",
        help="run only this workload, or with --programs this program (may be given several times)",
    )
    parser.add_argument(
        "--suite",
        choices=SUITES,
        default="public",
        help="which workloads: those that libraries are usually compared by, or those of many "
        "other fields (default: %(default)s; names given with --workload are looked for there)",
    )
    parser.add_argument(
        "--size",
        choices=SIZES,
        default="default",
        help="how large the problems are (default: %(default)s)",
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="where the arrays lie, of every contestant (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=natural,
        default=1,
        metavar="N",
        help="threads of every contestant; 0 is all cores (default: 1)",
    )
    parser.add_argument(
        "--repeat",
        type=positive,
        default=20,
        metavar="N",
        help="samples per time; the median is reported (default: 20)",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="also run hand-written Numba loops and every other library that is installed: "
        "JAX, torch, torch.compile, HIPS autograd, CasADi; on a GPU also CuPy",
    )
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        help=(
            "interpreter of another environment in which to look for the other "
            "libraries (implies --peers)"
        ),
    )
    parser.add_argument(
        "--memory",
        action="store_true",
        help=(
            "measure the peak memory of each case in a process of its own, "
            "and add lennard_jones with 4,000 particles"
        ),
    )
    parser.add_argument(
        "--startup",
        action="store_true",
        help=(
            "also time the start of processes: imports, a function from the cache against Numba's "
            "own, and how long loops of 10 to 10^6 steps compile"
        ),
    )
    parser.add_argument(
        "--operations",
        action="store_true",
        help=(
            "time single eager operations and short chains on small tensors instead, "
            "with --peers beside torch's"
        ),
    )
    parser.add_argument(
        "--programs",
        action="store_true",
        help=(
            "time programs in plain Python instead, beside Numba's compilation of the same text, "
            "with --peers beside JAX's loops"
        ),
    )
    parser.add_argument(
        "--sparse",
        action="store_true",
        help=(
            "time the values of sparse Jacobians and Hessians instead, beside loops written by "
            "hand, and CasADi and asdex where they are installed"
        ),
    )
    parser.add_argument(
        "--linalg",
        action="store_true",
        help=(
            "time factorisations of matrices with 100 to 1,000 rows and their derivatives instead, "
            "with --peers beside torch's"
        ),
    )
    parser.add_argument(
        "--scipy",
        action="store_true",
        help=(
            "time functions of NumPy and SciPy instead, compiled, beside NumPy's and SciPy's own "
            "(three minutes), with --peers their gradients beside JAX's"
        ),
    )
    parser.add_argument(
        "--json", type=Path, metavar="PATH", help="write everything that was measured"
    )
    parser.add_argument(
        "--markdown",
        type=Path,
        metavar="PATH",
        help="write the tables as Markdown; in a file with lines '<!-- begin 1 thread -->' and "
        "'<!-- end 1 thread -->' (or '2 threads', 'memory', 'operations', 'programs', 'sparse', "
        "'linalg', 'scipy', 'wide'), "
        "what is between them is replaced",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="PATH",
        help="measure everything but GPUs, one after another (an hour with --peers), and replace "
        "every section of this page",
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="PATH",
        help="write a picture of the times over the best peer's (the suffix says which format)",
    )
    parser.set_defaults(run=main, version=version)


def workload_list() -> str:
    """One line per workload, for the help text."""
    return "".join(
        [
            f"  {w.title + ', ' + w.derivative:40s} {w.doc}; {w.label('default')}\n"
            for suite in SUITES.values()
            for w in suite
        ]
    )


def natural(text: str) -> int:
    """A number of threads."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def positive(text: str) -> int:
    """A number of samples."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value


def chosen(
    names: list[str] | None, size: str, memory: bool, suite: str = "public"
) -> list[tuple[Workload, str]]:
    """The cases that the options ask for."""
    cases = [(w, size) for w in SUITES[suite] if names is None or w.name in names]
    if memory and size != "large":
        cases += [(w, "large") for w, _ in cases if w.name == "lennard_jones"]
    return cases


def misplaced(names: list[str] | None, of_programs: bool, suite: str = "public") -> str:
    """What is wrong with the names that were asked for: a workload is no program, and stands in one
    suite."""
    for name in names or ():
        if (name in PROGRAMS) != of_programs:
            return f"{name}: {'no program' if of_programs else 'a program, for --programs'}"
        if not of_programs and all(w.name != name for w in SUITES[suite]):
            return f"{name}: not in --suite {suite}"
    return ""


def main(options: argparse.Namespace) -> int:
    """Run, print, write; the exit code."""
    missing = [
        p
        for p, wanted in (("rich", True), ("matplotlib", options.plot is not None))
        if wanted and find_spec(p) is None
    ]
    if missing:
        sys.stderr.write(f"bench needs {' and '.join(missing)}: pip install 'tracegrad[bench]'\n")
        return 2
    python = interpreter(options.peer_python)
    if python is None:
        sys.stderr.write(f"--peer-python: there is no interpreter {options.peer_python}\n")
        return 2
    if other := misplaced(options.workload, options.programs, options.suite):
        sys.stderr.write(f"--workload {other}\n")
        return 2
    for path in (options.json, options.markdown, options.plot, options.page):
        if path is not None and not path.absolute().parent.is_dir():
            sys.stderr.write(f"the folder of {path} does not exist\n")
            return 2
    if options.device == "cuda" and (reason := driver().missing()):
        sys.stderr.write(f"--device cuda: {reason}\n")
        return 2
    wanted = PEERS if options.peers or options.peer_python else ()
    peers = tuple(name for name in wanted if options.device in CONTESTANTS[name].devices)
    settings = Settings(
        threads=1 if special(options) else options.threads or usable_cores(),
        device=options.device,
        repeat=options.repeat,
        separate=options.memory,
        peer_python=python,
    )
    cases = chosen(options.workload, options.size, options.memory, options.suite)
    head = {
        "tracegrad": options.version,
        "machine": machine.summary(python, options.device),
        "settings": {**asdict(settings), "size": options.size, "suite": options.suite},
    }
    del head["settings"]["peer_python"]  # a path of this machine
    if options.page:
        return rewrite(options.page, python if peers else None, head)
    if (time := special(options)) is not None:
        return tell(time(head, python if peers else None, options), options)
    outcomes, start_up = with_progress(cases, (*OURS, *peers), settings, options.startup)
    findings = Findings(head, outcomes, peers, start_up)
    show(findings)
    if options.json:
        findings.write_json(options.json)
    if options.markdown:
        findings.write_markdown(options.markdown)
    if options.plot:
        plot.write(
            options.plot,
            outcomes,
            (*OURS, *peers),
            f"tracegrad {options.version}, "
            f"{head['machine']['gpu'] or head['machine']['cpu']}, {threads(head)}",
        )
    return 1 if failures(outcomes) else 0


def rewrite(path: Path, python: str | None, head: dict[str, Any]) -> int:
    """`--page`; the exit code."""
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=len(page.RUNS) + 1)
        failed = page.write(
            path, python, head, lambda name: bar.update(task, advance=1, description=name)
        )
    sys.stderr.write("".join(f"{line}\n" for line in failed))
    return 1 if failed else 0


def time_operations(
    head: dict[str, Any], python: str | None, options: argparse.Namespace
) -> Section:
    """`--operations`."""
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=len(ITEMS))
        return operations.measure(
            head,
            python,
            options.repeat,
            lambda item: bar.update(
                task, advance=1, description=f"{item.name}, n = {item.size:,} done"
            ),
        )


def time_programs(head: dict[str, Any], python: str | None, options: argparse.Namespace) -> Section:
    """`--programs`."""
    names = [name for name in PROGRAMS if name in (options.workload or PROGRAMS)]
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=len(names))
        return programs.measure(
            head,
            names,
            options.size,
            python,
            lambda name: bar.update(task, advance=1, description=f"{name} done"),
        )


def time_sparse(head: dict[str, Any], python: str | None, options: argparse.Namespace) -> Section:
    """`--sparse`."""
    sparse = import_module(".sparse", __package__)  # loads Numba
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=sparse.problems(options.size))
        found: Section = sparse.measure(
            head,
            options.size,
            options.repeat,
            lambda name: bar.update(task, advance=1, description=f"{name} done"),
        )
        return found


def time_linalg(head: dict[str, Any], python: str | None, options: argparse.Namespace) -> Section:
    """`--linalg`."""
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=dense.steps(options.size))
        return dense.measure(
            head,
            options.size,
            python,
            options.repeat / 20,
            lambda name: bar.update(task, advance=1, description=f"{name} done"),
        )


def time_names(head: dict[str, Any], python: str | None, options: argparse.Namespace) -> Section:
    """`--scipy`."""
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=len(EXPRESSIONS))
        return beside_scipy.measure(
            head,
            options.size,
            python,
            options.repeat / 600,
            lambda name: bar.update(task, advance=1, description=f"{name} done"),
        )


def special(options: argparse.Namespace) -> Callable[..., Section] | None:
    """What measures other things than workloads, where that is asked for."""
    if options.sparse:
        return time_sparse
    if options.programs:
        return time_programs
    if options.linalg:
        return time_linalg
    if options.scipy:
        return time_names
    return time_operations if options.operations else None


def tell(findings: Section, options: argparse.Namespace) -> int:
    """Print and write what a run found that measures other things than workloads; the exit code."""
    out = console()
    for title, rows in findings.tables():
        out.print(tables.rich_table(title, *rows))
    for line in findings.remarks:
        out.print(line, markup=False, highlight=False)
    if options.json:
        findings.write_json(options.json)
    if options.markdown:
        findings.write_markdown(options.markdown)
    return 1 if findings.wrong else 0


def interpreter(given: str | None) -> str | None:
    """The interpreter to run peers in, None where there is none of this name."""
    return sys.executable if given is None else shutil.which(given)


def with_progress(
    cases: list[tuple[Workload, str]],
    contestants: tuple[str, ...],
    settings: Settings,
    startup: bool,
) -> tuple[list[Outcome], StartUp | None]:
    """Run the cases, and the start of processes where that is wanted, with a progress bar on the
    terminal."""
    with progress_bar() as bar:
        task = bar.add_task("preparing", total=len(cases) * len(contestants))

        def advance(contestant: str, title: str) -> None:
            bar.update(task, advance=1, description=f"{contestant}: {title} done")

        def describe(text: str) -> None:
            bar.update(task, description=text)

        outcomes = run(cases, contestants, settings, advance)
        return outcomes, measure(surroundings(settings), START_UPS, describe) if startup else None


def progress_bar() -> Any:
    """A bar on the terminal, while something is measured."""
    progress = import_module("rich.progress")
    columns = (
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    return progress.Progress(*columns, console=console(stderr=True), transient=True)


def show(findings: Findings) -> None:
    """The tables on the terminal; the files say more."""
    out = console()
    count = threads(findings.head)
    separate = findings.head["settings"]["separate"]
    out.print(
        tables.rich_table(
            f"Eager against jit, {count}, medians", *tables.main_rows(findings.outcomes, separate)
        )
    )
    if findings.peers:
        rows = tables.peer_rows(findings.outcomes, findings.peers)
        out.print(tables.rich_table(f"jit against others, {count}, ms per derivative", *rows))
    if findings.start_up is not None:
        out.print(
            tables.rich_table(
                f"Start-up, medians of {findings.start_up.repeat}", *findings.start_up.rows()
            )
        )
        out.print(
            tables.rich_table("CPU seconds to compile a loop", *findings.start_up.loop_rows())
        )
    if findings.peers or findings.start_up is not None:
        out.print(tables.rich_table("Aims", *targets.rows(findings.results)))
    for line in tables.remarks(findings.outcomes, findings.peers):
        out.print(line, markup=False, highlight=False)


def console(stderr: bool = False):  # type: ignore[no-untyped-def]
    """rich's console; output that goes to a file is as wide as the tables want."""
    made = import_module("rich.console").Console(stderr=stderr)
    if not made.is_terminal:
        made.width = 260
    return made
