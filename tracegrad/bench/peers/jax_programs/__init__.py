"""Programs for JAX: loops that carry rows, columns or whole fields where a program allows it,
choices by `where`, and loops of unknown length as many steps of which the last change nothing. Of
several ways to write one, the fastest stands here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)
jnp: Any = import_module("jax.numpy")
lax: Any = jax.lax
solve_triangular: Any = import_module("jax.scipy.linalg").solve_triangular
Array = Any

__all__ = ["Array", "jax", "jnp", "lax", "solve_triangular"]
