"""The programs of `program_texts` with JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .jax_programs import fields, jax, jnp, matrices, searches, series

PROGRAMS: dict[str, Callable[..., Any]] = {
    "LU": matrices.lu,
    "Cholesky": matrices.cholesky,
    "Gram-Schmidt": matrices.gram_schmidt,
    "tridiagonal": matrices.tridiagonal,
    "Durbin": matrices.durbin,
    "FFT": matrices.fourier,
    "Gauss-Seidel": matrices.gauss_seidel,
    "relaxation": fields.relaxation,
    "red-black": fields.red_black,
    "filter": fields.filter_rows,
    "columns": fields.columns,
    "ADI": fields.alternating,
    "sandpile": fields.sandpile,
    "spline": searches.spline,
    "recurrence": series.recurrence,
    "RNN": series.network,
    "GARCH": series.garch,
    "Kalman": series.kalman,
    "Metropolis": series.metropolis,
    "queue": series.waits,
    "Viterbi": series.viterbi,
    "warping": series.warping,
    "shortest paths": matrices.shortest_paths,
    "sorting network": searches.sorting_network,
    "bodies": searches.bodies,
    "option lattice": series.lattice,
    "escape": searches.escape,
    "ray marching": searches.marching,
    "quadrature": searches.quadrature,
    "bisection": searches.bisection,
    "Newton": searches.newton,
}


def prepare(name: str, arguments: list[Any]) -> dict[str, Callable[[], Any]]:
    """The program, and value and gradient of the squared distance of its result from ones, on
    arrays of JAX. The number of threads follows from the affinity mask, which stands before JAX is
    imported."""
    program = PROGRAMS[name]
    inputs = [jnp.asarray(a) for a in arguments]
    function = jax.jit(program)
    both = jax.jit(
        jax.value_and_grad(lambda *a: jnp.sum((program(*a) - 1.0) ** 2), tuple(range(len(inputs))))
    )
    # Calls return before their work is done.
    wait = jax.block_until_ready
    return {
        "function": lambda: wait(function(*inputs)),
        "value and gradient": lambda: wait(both(*inputs)),
    }


def arrays(result: Any) -> list[Any]:
    """What a call gave, for NumPy."""
    return [np.asarray(a) for a in jax.tree_util.tree_leaves(result)]
