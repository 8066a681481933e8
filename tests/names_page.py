"""The page that lists the public functions of NumPy and SciPy with what each is here, made from the
code: `python -m tests.names_page` writes docs/numpy_and_scipy.md."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy

import tracegrad as tg
from tracegrad.faces.numpy.lookup import counterpart_of
from tracegrad.faces.numpy.numpy_functions import FUNCTIONS
from tracegrad.faces.numpy.refusals import INSTEAD
from tracegrad.faces.numpy.ufuncs import counterpart

PAGE = Path(__file__).parent.parent / "docs" / "numpy_and_scipy.md"
OF_NUMPY = ("np", "np.fft", "np.linalg")
OF_SCIPY = ("fft", "linalg", "special", "integrate", "interpolate", "ndimage", "signal", "stats")
WHATEVER = {
    "stats": "its distributions, and the summaries of samples that work (others are not listed)",
}
HEAD = """# NumPy's and SciPy's functions by name

Which functions take traced and differentiated values, made from the code for NumPy {numpy} and
SciPy {scipy}. What works has derivatives in both modes to every order, under `jit` and `vmap`
(functions of integers and questions have none, and results of a size that only the data know are no
part of compiled code); arguments that change that are refused by name, as is a derivative that
there is none of ([why](decisions/scipy_names.md)). On plain arrays NumPy's and SciPy's functions
are NumPy's and SciPy's. `tg.linalg` has NumPy's arguments where both have a function, and SciPy's
`lower` of `cholesky`. `np.r_`, `np.c_` and functions made by `np.vectorize` take traced values in
functions that are differentiated or compiled (not Tensors beside of such a function). `np.polymul`
and the remainder of `np.polydiv` keep leading zeros of traced and differentiated coefficients,
which NumPy's leaves out: the shape of a result does not depend on numbers.
"""


SIZES = "scipy.{}: of sizes, degrees and options alone, which are plain numbers"
PLAIN = {
    f"scipy.{place}.{name}": SIZES.format(place)
    for place, names in {
        "fft": "fhtoffset get_workers next_fast_len prev_fast_len register_backend set_backend "
               "set_global_backend set_workers skip_backend",
        "linalg": "dft find_best_blas_type get_blas_funcs get_lapack_funcs hadamard helmert "
                  "hilbert invhilbert invpascal pascal",
        "special": "ai_zeros bei_zeros beip_zeros ber_zeros bernoulli berp_zeros bi_zeros c_roots "
                   "cg_roots chebyc chebys chebyt chebyu erf_zeros euler fresnel_zeros "
                   "fresnelc_zeros fresnels_zeros gegenbauer genlaguerre geterr h_roots he_roots "
                   "hermite hermitenorm j_roots jacobi jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros "
                   "js_roots kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros l_roots "
                   "la_roots laguerre legendre p_roots ps_roots roots_chebyc roots_chebys "
                   "roots_chebyt roots_chebyu roots_gegenbauer roots_genlaguerre roots_hermite "
                   "roots_hermitenorm roots_jacobi roots_laguerre roots_legendre roots_sh_chebyt "
                   "roots_sh_chebyu roots_sh_jacobi roots_sh_legendre s_roots seterr sh_chebyt "
                   "sh_chebyu sh_jacobi sh_legendre stirling2 t_roots ts_roots u_roots us_roots "
                   "y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros",
        "integrate": "lebedev_rule newton_cotes",
        "ndimage": "generate_binary_structure iterate_structure",
        "signal": "bessel besselap buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 "
                  "cheby2 check_COLA check_NOLA correlation_lags czt_points ellip ellipap ellipord "
                  "firls firwin firwin2 firwin_2d gammatone get_window iircomb iirdesign iirfilter "
                  "iirnotch iirpeak kaiser_atten kaiser_beta kaiserord max_len_seq remez "
                  "savgol_coeffs unit_impulse",
    }.items()
    for name in names.split()
}  # fmt: skip
"""What no traced value is given to."""


def is_function(x: Any) -> bool:
    return isinstance(x, np.ufunc) or (
        callable(x) and not isinstance(x, type) and not isinstance(x, ModuleType)
    )


def numpys(place: str) -> dict[str, str | None]:
    """For each function of NumPy's that can be handed over: "" where it works, else what to write,
    or None."""
    module = {"np": np, "np.fft": np.fft, "np.linalg": np.linalg}[place]
    found: dict[str, str | None] = {}
    for name in sorted(set(dir(module))):
        function = getattr(module, name, None)
        handed = isinstance(function, np.ufunc) or hasattr(function, "_implementation")
        if name.startswith("_") or not handed:
            continue
        known = (
            counterpart(function)
            if isinstance(function, np.ufunc)
            else FUNCTIONS.get(function) or counterpart_of(function)[0]  # type: ignore[arg-type]
        )
        found[name] = "" if known is not None else INSTEAD.get(f"{place}.{name}")
    return found


def scipys(place: str) -> dict[str, str | None]:
    module = importlib.import_module(f"scipy.{place}")
    ours = getattr(tg, place, None)
    listed = getattr(module, "__all__", None) or dir(module)
    found: dict[str, str | None] = {}
    for name in sorted(set(listed)):
        function = getattr(module, name, None)
        if name.startswith("_") or isinstance(function, (ModuleType, type(None))):
            continue
        here = ours is not None and name in ours.__all__
        if place == "stats":
            if not here and not hasattr(function, "logpdf") and not hasattr(function, "logpmf"):
                continue
        elif not (is_function(function) or here):
            continue
        if isinstance(function, np.ufunc) and counterpart(function) is not None:
            found[name] = ""
        elif f"scipy.{place}.{name}" in PLAIN:
            found[name] = PLAIN[f"scipy.{place}.{name}"]
        elif here:
            instead, same = INSTEAD.get(f"scipy.{place}.{name}", ""), f"tg.{place}.{name}"
            # With options, where what is left out means something else there.
            found[name] = instead if instead.startswith(f"{same}(") else same
        else:
            found[name] = INSTEAD.get(f"scipy.{place}.{name}")
    return found


def wrapped(names: list[str]) -> str:
    return textwrap.fill(
        ", ".join(f"`{n}`" for n in names) + ".", 100, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def section(title: str, found: dict[str, str | None], own: str) -> str:
    parts = [f"## {title}\n"]
    kinds: tuple[tuple[str, Callable[[str, str | None], bool]], ...] = (
        ("Work as they are:", lambda _, what: what == ""),
        (f"Under the same name in `{own}`:", lambda n, what: what == f"{own}.{n}"),
    )
    for words, belongs in kinds:
        names = [n for n, what in found.items() if belongs(n, what)]
        if names:
            parts.append(f"{words} {len(names)}.\n\n{wrapped(names)}\n")
    plain = SIZES.format(title.split("`")[1].removeprefix("scipy."))
    names = [n for n, what in found.items() if what == plain]
    if names:
        parts.append(
            f"SciPy's, as they are: {len(names)}, which take sizes, degrees and options alone.\n\n"
            f"{wrapped(names)}\n"
        )
    others = {n: what for n, what in found.items() if what and what not in (f"{own}.{n}", plain)}
    for head, kept in (("with SciPy's defaults", True), ("refused", False)):
        rows = [f"| `{n}` | {what.replace('|', chr(92) + '|')} |" for n, what in others.items()
                if what.startswith(f"{own}.{n}(") == kept]  # fmt: skip
        if rows:
            parts.append("\n".join([f"| {head} | write |", "|---|---|", *rows]) + "\n")
    refused = [n for n, what in found.items() if what is None]
    if refused:
        parts.append(f"Refused: {len(refused)}.\n\n{wrapped(refused)}\n")
    return "\n".join(parts)


def page() -> str:
    versions = {"numpy": minor(np.__version__), "scipy": minor(scipy.__version__)}
    parts = [HEAD.format(**versions)]
    parts += [section(f"`{place}`", numpys(place), place) for place in OF_NUMPY]
    for place in OF_SCIPY:
        more = f", {WHATEVER[place]}" if place in WHATEVER else ""
        parts.append(section(f"`scipy.{place}`{more}", scipys(place), f"tg.{place}"))
    return "\n".join(parts)


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
