"""The reference: a page for each public name and a list for each namespace, made from the code into
docs/api before Sphinx looks for pages."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import long_lists
import public_names
import short_examples


class Group(NamedTuple):
    """A list of names on one page."""

    file: str
    title: str
    about: str
    place: str
    homes: tuple[str, ...] = ()
    """Of `tracegrad` itself: the modules that the names come from."""


OF_THE_TOP = (
    Group(
        "transforms",
        "Derivatives, jit and vmap",
        "Functions of functions.",
        "tracegrad",
        ("derivatives", "compiled", "custom"),
    ),
    Group(
        "loops",
        "Loops and branches",
        "Control flow on traced values, by hand.",
        "tracegrad",
        ("control", "staging"),
    ),
    Group(
        "solvers",
        "Solutions of equations",
        "Differentiated at the solution.",
        "tracegrad",
        ("solvers",),
    ),
    Group(
        "sparse",
        "Sparse derivatives",
        "Patterns are found by themselves.",
        "tracegrad",
        ("sparse",),
    ),
    Group(
        "tensors",
        "Tensors",
        "What makes Tensors, and Tensor itself.",
        "tracegrad",
        ("tensor", "tensors", "faces.tensor"),
    ),
    Group(
        "elementwise",
        "Elementwise functions",
        "NumPy's names, for arrays and Tensors.",
        "tracegrad",
        ("ops.elementwise",),
    ),
    Group(
        "totals",
        "Sums, means, order",
        "Reductions, scans, sorting, quantiles.",
        "tracegrad",
        ("ops.totals",),
    ),
    Group(
        "arrays",
        "Shapes and places",
        "Creation, rearrangement, indices.",
        "tracegrad",
        ("ops.arrays", "ops.places", "ops.random"),
    ),
    Group(
        "matrices",
        "Products",
        "Products of matrices and tensors.",
        "tracegrad",
        ("ops.matrices",),
    ),
    Group(
        "torch_words",
        "Functions under torch's names",
        "As in torch, arguments included.",
        "tracegrad",
        ("torch_names",),
    ),
    Group(
        "errors",
        "Error classes",
        "[The page on errors](../errors.md) says what to do.",
        "tracegrad",
        ("errors",),
    ),
    Group("settings", "Settings, modes, pictures", "", "tracegrad", ("",)),
)
OF_NAMESPACES = (
    Group("linalg", "linalg", "scipy.linalg's and numpy.linalg's names.", "tracegrad.linalg"),
    Group("fft", "fft", "scipy.fft's names.", "tracegrad.fft"),
    Group("special", "special", "scipy.special's names.", "tracegrad.special"),
    Group("stats", "stats", "scipy.stats' distributions.", "tracegrad.stats"),
    Group("ndimage", "ndimage", "scipy.ndimage's names.", "tracegrad.ndimage"),
    Group("signal", "signal", "scipy.signal's names.", "tracegrad.signal"),
    Group("integrate", "integrate", "scipy.integrate's names.", "tracegrad.integrate"),
    Group("interpolate", "interpolate", "scipy.interpolate's.", "tracegrad.interpolate"),
    Group("sparse_arrays", "sparse", "[The page](../sparse_arrays.md).", "tracegrad.sparse"),
    Group("scale", "scale", "[The page](../scaling.md).", "tracegrad.scale"),
    Group("scipy", "scipy", "[What SciPy takes](../native/scipy.md).", "tracegrad.scipy"),
    Group("nn", "nn", "torch.nn's modules.", "tracegrad.nn"),
    Group("nn_functional", "nn.functional", "", "tracegrad.nn.functional"),
    Group("nn_init", "nn.init", "", "tracegrad.nn.init"),
    Group("nn_utils", "nn.utils", "", "tracegrad.nn.utils"),
    Group(
        "nn_utils_parametrizations", "nn.utils.parametrizations", "",
        "tracegrad.nn.utils.parametrizations",
    ),
    Group("nn_utils_parametrize", "nn.utils.parametrize", "", "tracegrad.nn.utils.parametrize"),
    Group("nn_utils_rnn", "nn.utils.rnn", "", "tracegrad.nn.utils.rnn"),
    Group("optim", "optim", "torch.optim's optimizers.", "tracegrad.optim"),
    Group("schedulers", "optim.lr_scheduler", "", "tracegrad.optim.lr_scheduler"),
    Group("autograd", "autograd", "torch.autograd's names.", "tracegrad.autograd"),
    Group("autograd_functional", "autograd.functional", "", "tracegrad.autograd.functional"),
    Group("autograd_forward", "autograd.forward_ad", "", "tracegrad.autograd.forward_ad"),
    Group("autograd_graph", "autograd.graph", "", "tracegrad.autograd.graph"),
    Group("profiler", "autograd.profiler", "", "tracegrad.autograd.profiler"),
    Group("func", "func", "torch.func's names.", "tracegrad.func"),
    Group("checkpoints", "utils.checkpoint", "", "tracegrad.utils.checkpoint"),
    Group("cuda", "cuda", "torch.cuda's names, for an NVIDIA GPU.", "tracegrad.cuda"),
    Group("jax", "jax", "[Inside of JAX](../native/jax.md).", "tracegrad.jax"),
    Group("pytensor", "pytensor", "[Inside of PyMC](../native/samplers.md).", "tracegrad.pytensor"),
)  # fmt: skip
GROUPS = (*OF_THE_TOP, *OF_NAMESPACES)
WITH_PAGES = tuple(dict.fromkeys(group.place for group in GROUPS))
OF_OTHERS = (
    Group(
        "torch", "torch: torch's namespace",
        "`import tracegrad.torch as torch` has torch's names with torch's meaning; torch's own "
        "pages describe them, and [this one](../torch_compatibility.md) what differs.",
        "tracegrad.torch",
    ),
    Group(
        "array_api", "array_api: the array API standard",
        "The functions of the standard, which describes them; see [the page](../array_api.md).",
        "tracegrad.array_api",
    ),
)  # fmt: skip


def members(group: Group) -> dict[str, Any]:
    """The names of a group; of the top those whose home is the group's, and no other's."""
    found = public_names.names(group.place)
    if not group.homes:
        return found
    return {name: x for name, x in found.items() if callable(x) and home_of(x) is group}


def home_of(x: Any) -> Group:
    home = getattr(x, "__module__", "").removeprefix("tracegrad.") + "."
    fits = [
        (len(start), n)
        for n, group in enumerate(OF_THE_TOP)
        for start in group.homes
        if start == "" or home.startswith(start + ".")
    ]
    return OF_THE_TOP[max(fits, key=lambda fit: (fit[0], -fit[1]))[1]]


def first_line(x: Any, place: str) -> str:
    """The first sentence of a docstring, in Markdown."""
    text = " ".join((inspect.getdoc(x) or "").partition("\n\n")[0].split())
    sentence = text.partition(". ")[0].removesuffix(".")
    return sentence.replace("|", r"\|")


def heading(text: str) -> str:
    return f"# {text}\n"


def group_page(group: Group) -> str:
    """A list of names, with their pages below."""
    found = members(group)

    def link(name: str) -> str:
        return f"[`{shown(group.place, name)}`](names/{group.place}.{name}.rst)"

    if group.file == "stats":
        listed = long_lists.distributions(found, link)
    else:
        rows = (f"| {link(name)} | {first_line(x, group.place)} |" for name, x in found.items())
        listed = "| | |\n|---|---|\n" + "\n".join(rows)
    toc = "\n".join(f"{shown(group.place, name)} <names/{group.place}.{name}>" for name in found)
    return (
        f"{heading(group.title)}\n{group.about}\n\n{listed}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{toc}\n```\n"
    )


def table_page(group: Group) -> str:
    """Names that others document: a table of what each is."""
    if group.file == "torch":
        listed = long_lists.functions_of_tensors(
            members(group), lambda x: first_line(x, group.place)
        )
        return f"{heading(group.title)}\n{group.about}\n\n{listed}"
    rows = "\n".join(
        f"| `{name}` | {first_line(x, group.place) if callable(x) else ''} |"
        for name, x in members(group).items()
    )
    return f"{heading(group.title)}\n{group.about}\n\n| | |\n|---|---|\n{rows}\n"


def shown(place: str, name: str) -> str:
    return f"{place.replace('tracegrad', 'tg', 1)}.{name}"


def name_page(place: str, name: str, x: Any) -> str:
    """The page of one name, which autodoc fills."""
    title = shown(place, name)
    lines = [title, "=" * len(title), "", f".. currentmodule:: {place}", ""]
    if inspect.isclass(x):
        lines.append(f".. autoclass:: {name}")
        if place != "tracegrad" and public_names.names("tracegrad").get(name) is x:
            lines.append("   :no-index:")  # a class is known by one page alone
        if x.__module__.startswith("tracegrad") and not is_module_of_a_network(x):
            lines.append("   :members:")
            if name == "Tensor":
                lines.append("   :inherited-members: object")
    elif callable(x) and inspect.isroutine(x):
        lines.append(f".. autofunction:: {name}")
    else:
        methods = [m for m in dir(x) if not m.startswith("_") and callable(getattr(x, m))]
        lines += [f".. autodata:: {name}", "   :no-value:", ""]
        lines.append("Methods: " + ", ".join(f"``{m}``" for m in methods) + ".")
    if f"{place}.{name}" in short_examples.EXAMPLES:
        lines += ["", ".. rubric:: Example", "", short_examples.session(f"{place}.{name}")]
    return "\n".join(lines) + "\n"


def is_module_of_a_network(x: type) -> bool:
    """Whose methods are those of Module, but for `forward`."""
    return x.__name__ != "Module" and any(c.__name__ == "Module" for c in x.__mro__)


def constants() -> str:
    """Names that are no functions: dtypes and numbers."""
    found = {n: x for n, x in public_names.names("tracegrad").items() if not callable(x)}
    rows = "\n".join(f"| `tg.{name}` | `{x!r}` |" for name, x in found.items())
    return (
        f"{heading('Constants and dtypes')}\nDtypes are NumPy's own objects, so NumPy takes them "
        f"and they are keys of dicts.\n\n```pycon\n>>> import tracegrad as tg\n"
        f">>> tg.zeros(2, dtype=tg.float32).dtype is tg.float32\nTrue\n```\n\n"
        f"| | |\n|---|---|\n{rows}\n"
    )


def index() -> str:
    def listed(title: str, files: Iterator[str]) -> str:
        return f"```{{toctree}}\n:maxdepth: 1\n:caption: {title}\n\n" + "\n".join(files) + "\n```\n"

    return (
        f"{heading('Reference')}\nA page for each public name, with an example; "
        "`import tracegrad as tg` is taken for granted.\n\n"
        + listed("In `tg` itself", iter([*(g.file for g in OF_THE_TOP), "constants"]))
        + "\n"
        + listed("Namespaces", iter([g.file for g in (*OF_NAMESPACES, *OF_OTHERS)]))
    )


def pages() -> dict[str, str]:
    """Path below docs/api and text of each page."""
    made = {"index.md": index(), "constants.md": constants()}
    made |= {f"{group.file}.md": table_page(group) for group in OF_OTHERS}
    for group in GROUPS:
        made[f"{group.file}.md"] = group_page(group)
        for name, x in members(group).items():
            made[f"names/{group.place}.{name}.rst"] = name_page(group.place, name, x)
    return made


def write(folder: Path) -> None:
    """All pages. One that is right already keeps its time, so that Sphinx leaves it alone."""
    made = pages()
    for path, text in made.items():
        file = folder / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    for file in folder.rglob("*.*"):
        if file.relative_to(folder).as_posix() not in made:
            file.unlink()


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", lambda app, config: write(Path(app.srcdir) / "api"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
