"""The command line: `python -m tracegrad bench | doctor | cache | docs`."""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import inspect
import io
import os
import platform
import shutil
import subprocess
import sys
import traceback
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import __version__, config, errors
from .bench import command
from .bench.machine import cpu_name, installed
from .bench.measure import seconds_per_call, usable_cores
from .compiled.jit import jit
from .derivatives.reverse import value_and_grad
from .devices import driver
from .runtime.threads import get_num_threads
from .scale.progress import UnderWay

THREAD_VARIABLES = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
)
VECTOR_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "avx512vl", "neon", "sve")

DOCTOR = """\
Shows versions, processor, threads, linear algebra, CUDA and the cache of compiled code, compiles
and checks one gradient, and then the routines that programs share (products, factorisations,
Fourier transforms; some ten seconds, once), so that no first call waits for them. Put its output
into a bug report. The exit code is 1 where the self-test or an import fails, else 0.
"""
CACHE = """\
Compiled functions are kept on disk, so that a later process loads them instead of compiling again.
The folder is $TRACEGRAD_CACHE_DIR, else the one of this platform for caches; TRACEGRAD_CACHE_DIR=
(empty) keeps nothing. A folder that others may write to is not used. More:
`python -m tracegrad docs cache`.
"""
DOCS = """\
Opens the documentation in a browser: its first page, or the one of a public name (grad, nn.Linear),
of an error class (ShapeError), or by its place (howto/fitting). The pages are made from the docs/
folder of the source, where there is no copy yet; that takes a minute or two, in which the examples
of the gallery run, and needs no network.
"""


def generation(module: str) -> Any:
    """A module of code generation that loads Numba, which no other command may wait for."""
    return importlib.import_module(f".codegen.{module}", __package__)


# --- doctor ---------------------------------------------------------------------------------------


def doctor(options: argparse.Namespace) -> int:
    """Print what there is; a section that cannot be found out says why and the others go on."""
    good = True
    for title, section in SECTIONS:
        print(title)
        try:
            rows = section()
        except Exception as error:
            good = False
            rows = [("problem", f"{type(error).__name__}: {error}")]
            if options.verbose:
                traceback.print_exc()
        width = max((len(name) for name, _ in rows), default=0)
        for name, text in rows:
            print(f"  {name:{width}}  {text}")
    good = self_test(options.verbose) and good
    if good:
        print("Shared routines")
        print(f"  {shared_routines()}")
    return 0 if good else 1


Rows = list[tuple[str, str]]


def versions() -> Rows:
    """Of what compiled code depends on."""
    rows = [
        ("tracegrad", __version__),
        (
            "python",
            f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})",
        ),
    ]
    rows += [
        (name, installed(name) or "not installed")
        for name in ("numpy", "numba", "llvmlite", "scipy", "optree")
    ]
    return [*rows, ("system", platform.platform())]


def processor() -> Rows:
    """The name on the box, and what code is generated for."""
    binding = generation("disk.cache").binding
    features = binding.get_host_cpu_features()
    there = [name for name in VECTOR_FEATURES if features.get(name)]
    return [
        ("name", cpu_name()),
        ("generated for", binding.get_host_cpu_name()),
        ("vectors", ", ".join(there) or "none known here"),
    ]


def threads() -> Rows:
    """What limits the number of threads."""
    rows = [
        ("cores", f"{os.cpu_count()}, of which this process may use {usable_cores()}"),
        ("of one call", str(get_num_threads())),
    ]
    return rows + [(name, os.environ.get(name, "not set")) for name in THREAD_VARIABLES]


def linear_algebra() -> Rows:
    """The BLAS libraries of NumPy and SciPy."""
    if installed("threadpoolctl") is None:
        return [("numpy", _blas_of(np)), ("scipy", _blas_of(importlib.import_module("scipy")))]
    importlib.import_module("scipy.linalg")  # loads SciPy's own library, which compiled code calls
    rows = []
    for pool in importlib.import_module("threadpoolctl").threadpool_info():
        if pool["user_api"] == "blas":
            architecture = f", {pool['architecture']}" if "architecture" in pool else ""
            text = f"{pool['internal_api']} {pool['version']}"
            text += f", {pool['num_threads']} threads{architecture}"
            rows.append((Path(pool["filepath"]).name.partition("-")[0], text))
    return rows


def _blas_of(package: Any) -> str:
    with redirect_stdout(io.StringIO()):
        shown = package.show_config(mode="dicts")
    found = shown.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def cuda() -> Rows:
    """numba-cuda with what it needs, and the devices; or what is missing, and how to get it."""
    target = driver()
    found = target.versions()
    if not found["numba-cuda"]:
        return [
            (
                "numba-cuda",
                f"not installed; computing on the CPU needs none. For GPUs: {target.INSTALL}",
            )
        ]
    lacking = [name for name, version in found.items() if not version]
    tools = ", ".join(
        f"{name.removeprefix('nvidia-')} {version}"
        for name, version in found.items()
        if version and name != "numba-cuda"
    )
    rows = [("numba-cuda", found["numba-cuda"]), ("toolkit", tools or "none")]
    if lacking:
        rows.append(
            (
                "not there",
                f"{', '.join(lacking)}: {target.INSTALL} brings them, unless a CUDA toolkit on "
                "this machine stands in for them",
            )
        )
    rows.append(("simulator", "on (NUMBA_ENABLE_CUDASIM)" if target.simulated() else "off"))
    if reason := target.missing():
        return [*rows, ("devices", f"none: {reason}")]
    for k in range(target.device_count()):
        free, total = target.memory_info(k)
        memory = f", {size(total)} of memory, {size(free)} free" if total else ""
        major, minor = target.capability(k)
        rows.append(
            (f"cuda:{k}", f"{target.device_name(k)}, compute capability {major}.{minor}{memory}")
        )
    return rows


def kept() -> Rows:
    """The cache of compiled code."""
    folder = config.cache_dir()
    if folder is None:
        return [("folder", "none: TRACEGRAD_CACHE_DIR is empty, so that nothing is kept")]
    module = generation("disk.cache")
    rows = [("folder", str(folder))]
    try:
        info = module.cache_info(folder)
    except OSError as error:
        return [
            *rows,
            ("not used", f"{error}; functions are compiled in memory, by each process anew"),
        ]
    rows.append(("kept", f"{info['kernels']} functions, {size(info['bytes'])}"))
    try:
        module.trial(folder)
    except OSError as error:
        return [*rows, ("writable", f"no: {error}")]
    return [*rows, ("writable", "yes")]


def engines() -> Rows:
    """What sums over shards can be computed by."""
    found = [("serial, threads, processes", "always there")]
    for name, package in (("joblib", "joblib"), ("dask", "distributed"), ("mpi", "mpi4py")):
        version = installed(package)
        lacking = f"not installed: pip install 'tracegrad[{name}]'"
        found.append((name, f"{package} {version}" if version else lacking))
    by_value = installed("cloudpickle") or "not installed: functions travel by name only"
    return [*found, ("cloudpickle", by_value)]


def size(count: int) -> str:
    """Bytes for people."""
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


SECTIONS: tuple[tuple[str, Callable[[], Rows]], ...] = (
    ("Versions", versions),
    ("Processor", processor),
    ("Threads", threads),
    ("Linear algebra", linear_algebra),
    ("CUDA", cuda),
    ("Cache", kept),
    ("Engines of tg.scale", engines),
)


def self_test(verbose: bool) -> bool:
    """Compile one gradient with an elementwise chain, a reduction and a product, and compare it
    with the one by hand."""
    print("Self-test")
    rng = np.random.default_rng(0)
    matrix, x = rng.standard_normal((40, 7)), rng.standard_normal(7)

    def f(x: Any) -> Any:
        return np.sum(np.tanh(matrix @ x) ** 2)

    try:
        compiled = jit(value_and_grad(f))
        start = perf_counter()
        found = compiled(x)
        first = perf_counter() - start
        later = seconds_per_call(lambda: compiled(x), repeat=5, budget=0.1)
        t = np.tanh(matrix @ x)
        for have, want in zip(found, (np.sum(t**2), matrix.T @ (2 * t * (1 - t**2))), strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-12)
    except Exception as error:
        print(f"  FAILED  {type(error).__name__}: {error}")
        if verbose:
            traceback.print_exc()
        else:
            print("          (doctor --verbose shows the traceback)")
        return False
    print(
        f"  ok      a compiled gradient is right: first call {first:.2f} s, "
        f"later calls {later * 1e6:.1f} us"
    )
    for text in generation("fallbacks").FALLBACKS:
        print(f"  slow    compiled by Numba's own pipeline, 3 to 10 times as slowly: {text}")
    return True


def shared_routines() -> str:
    """Compile what compiled functions call by name, or find it on disk; what came of it."""
    if config.cache_dir() is None:
        return "none is kept: TRACEGRAD_CACHE_DIR is empty"
    prebuilt, start = generation("native.prebuilt"), perf_counter()
    with UnderWay("doctor", len(prebuilt.ROUTINES), "routines") as running:
        for name in prebuilt.ROUTINES:
            prebuilt.address(name)
            running.one()
    return (
        f"{len(prebuilt.ROUTINES)} for products, factorisations and Fourier transforms are kept "
        f"({perf_counter() - start:.1f} s)"
    )


# --- cache ----------------------------------------------------------------------------------------


def cache(options: argparse.Namespace) -> int:
    """Tell about the cache of compiled code, or empty it."""
    folder = config.cache_dir()
    if folder is None:
        print("nothing is kept on disk (TRACEGRAD_CACHE_DIR is empty)")
        return 0
    module = generation("disk.cache")
    try:
        info = module.cache_info(folder)
        count = module.cache_clear(folder) if options.action == "clear" else 0
        left = module.cache_info(folder)["kernels"]
    except OSError as error:
        sys.stderr.write(f"{folder} is not used: {error}\n")
        return 1
    if options.action == "info":
        print(
            f"folder     {folder}\nfunctions  {info['kernels']}\nsize       {size(info['bytes'])}"
        )
        with suppress(OSError):
            print(f"disk       {shutil.disk_usage(folder).free / 1e9:.1f} GB free")
        return 0
    print(f"deleted {count} compiled functions ({size(info['bytes'])}) from {folder}")
    if left:
        sys.stderr.write(f"{left} compiled functions there are new or could not be deleted\n")
    return 0


# --- docs -----------------------------------------------------------------------------------------


ROOT = __package__
NEEDED_BY_DOCS = {
    "sphinx": "sphinx",
    "myst_parser": "myst-parser",
    "pydata_sphinx_theme": "pydata-sphinx-theme",
    "sphinx_copybutton": "sphinx-copybutton",
    "sphinx_gallery": "sphinx-gallery",
    "matplotlib": "matplotlib",
    "sklearn": "scikit-learn",
}


def docs(options: argparse.Namespace) -> int:
    """Open a page of the local copy of the documentation, which is made where it is absent; where
    it cannot be made, print what is known of the name."""
    source = Path(options.source or Path(__file__).parents[1] / "docs").resolve()
    if not (source / "conf.py").is_file():
        if (text := text_of(source, options.page)) is not None:
            print(text)
            return 0
        sys.stderr.write(
            f"there are no pages in {source}: they are part of the source, not of the installed "
            "package. Run this command in a checkout, or name the folder: --source CHECKOUT/docs\n"
        )
        return 1
    built = source / "_build" / "html"
    if options.build or not (built / "index.html").is_file():
        lacking = [n for m, n in NEEDED_BY_DOCS.items() if importlib.util.find_spec(m) is None]
        if lacking and not options.build and (text := text_of(source, options.page)) is not None:
            print(f"{text}\n\n(as text: pip install 'tracegrad[docs]' makes pages of it)")
            return 0
        if lacking:
            sys.stderr.write(
                f"making the documentation needs {', '.join(lacking)}: "
                "pip install 'tracegrad[docs]' (in a checkout: pip install -e '.[docs]')\n"
            )
            return 1
        print(f"making the documentation in {built}, which takes a minute or two", flush=True)
        done = subprocess.run([sys.executable, "-m", "sphinx", "-q", str(source), str(built)])
        if done.returncode:
            sys.stderr.write("Sphinx has failed; its messages stand above\n")
            return 1
    elif any(page.stat().st_mtime > (built / "index.html").stat().st_mtime
             for page in source.rglob("*.md") if "_build" not in page.parts):  # fmt: skip
        print("some pages have changed since this copy was made: --build makes it anew")
    address = page_of(built, options.page)
    if address is None:
        sys.stderr.write(f"no page is called {options.page!r}; the search box on {built} finds\n")
        return 1
    print(address)
    if not options.no_browser:
        webbrowser.open(address)
    return 0


def text_of(source: Path, name: str) -> str | None:
    """A page as it is written, or what a public name or an error class says of itself; None of the
    start page, and where there is no such name."""
    page = source / f"{name.removesuffix('.md')}.md"
    if name == "index" or (page.is_file() and source in page.resolve().parents):
        return None if name == "index" else page.read_text(encoding="utf-8").rstrip()
    bare = name.removeprefix("tracegrad.").removeprefix("tg.")
    found: Any = getattr(errors, bare, None)
    try:
        found = found or functools.reduce(getattr, bare.split("."), importlib.import_module(ROOT))
    except (AttributeError, ImportError):
        return None
    parameters = ""
    with suppress(TypeError, ValueError):
        parameters = _names_and_defaults(found) if callable(found) else ""
    said = inspect.getdoc(found) or "It has no description."
    address = getattr(found, "help_page", "")
    more = f"\n\nMore: docs/{address.replace('.html', '.md')}" if address else ""
    return f"tracegrad.{bare}{parameters}\n\n{said}{more}"


def _names_and_defaults(function: Any) -> str:
    """A signature without its annotations."""
    nothing = inspect.Parameter.empty
    found = inspect.signature(function)
    plain = [p.replace(annotation=nothing) for p in found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=nothing))


def page_of(built: Path, name: str) -> str | None:
    """The address of a page by its place, of a public name or of an error class; None: no such."""
    bare = name.removeprefix("tracegrad.").removeprefix("tg.")
    error = getattr(errors, bare, None)
    if isinstance(error, type) and issubclass(error, errors.TracegradError):
        page, _, anchor = error.help_page.partition("#")
        return f"{(built / page).as_uri()}#{anchor}"
    for place in (name.removesuffix(".md"), f"api/names/tracegrad.{bare}", f"{name}/index"):
        file = built / f"{place}.html"
        if file.is_file():
            return file.as_uri()
    return None


# --- the parser -----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    result = argparse.ArgumentParser(
        prog="python -m tracegrad",
        description="JIT-compiled automatic differentiation of NumPy code.",
        epilog="`python -m tracegrad COMMAND --help` describes a command.",
    )
    result.add_argument("--version", action="version", version=f"tracegrad {__version__}")
    commands = result.add_subparsers(metavar="COMMAND", required=True)
    command.add_parser(commands, __version__)
    form = argparse.RawDescriptionHelpFormatter
    made = commands.add_parser(
        "doctor",
        help="show versions and the machine, and test the compiler",
        description=DOCTOR,
        formatter_class=form,
    )
    made.add_argument(
        "-v", "--verbose", action="store_true", help="show the traceback of what fails"
    )
    made.set_defaults(run=doctor)
    made = commands.add_parser(
        "cache",
        help="show or empty the cache of compiled code",
        description=CACHE,
        formatter_class=form,
    )
    made.add_argument(
        "action",
        choices=("info", "clear"),
        help="info: folder, number and size; clear: delete what is kept",
    )
    made.set_defaults(run=cache)
    made = commands.add_parser(
        "docs", help="open the documentation", description=DOCS, formatter_class=form
    )
    made.add_argument("page", nargs="?", default="index", help="a name or a page (default: index)")
    made.add_argument("--build", action="store_true", help="make the pages anew")
    made.add_argument("--no-browser", action="store_true", help="print the address only")
    made.add_argument("--source", metavar="FOLDER", help="the docs folder of a checkout")
    made.set_defaults(run=docs)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    options = parser().parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
