"""`tg.jax.wrap`: a compiled function as an operation of JAX, of any order.

JAX is imported when `wrap` is called, and not before.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import checks
from ..errors import ShapeError, TracegradError
from ..tree import flatten, orders, unflatten
from ..types import ArrayType
from .flat import FlatFunction, Function, by_structure, replaced
from .needs import needs


def wrap(f: Function) -> Function:
    """The function of NumPy calls `f`, compiled, as an operation of JAX: it takes and returns JAX's
    arrays, inside of `jax.jit`, `jax.vmap` and JAX's derivatives of any order too.

    f   takes arrays and trees of them, and returns an array or a tree; it is traced by tracegrad. A
        jitted function as it is

    Derivatives and batches are compiled functions of tracegrad's (`vmap` is one call, not one for
    each row). A real number is computed together with its gradient where JAX differentiates. Inside
    of `jax.jit` XLA calls the compiled function without Python; where that reads arrays around it,
    gives other dtypes than JAX wants, or shares its work among threads, the host is called
    (`jax.experimental.buffer_callback`), which takes Python's lock and some 15 us. Arrays are read
    and written where they lie. It runs on the CPU. Numbers are arrays as everywhere in JAX: float32
    unless `jax_enable_x64` is set, and results are converted to what JAX has.

    It needs JAX (`pip install 'tracegrad[jax]'`), which this function imports:

        energy = tg.jax.wrap(lambda x, k: np.sum(np.exp(-k * (x[1:] - x[:-1]) ** 2)))
        jax.jit(jax.grad(energy))(jnp.linspace(0.0, 1.0, 6), 2.0)
    """
    needs("jax.wrap", f, "jax", "pip install 'tracegrad[jax]'")
    jnp, primitive = importlib.import_module("jax.numpy"), _primitive()
    flat_of = by_structure(f)

    @functools.wraps(f, updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten((args, kwargs))
        leaves = [jnp.asarray(x) for x in leaves]
        flat = flat_of(spec, orders((args, kwargs)))
        if flat.is_outdated():
            # JAX keeps what it made of an operation.
            flat_of.cache_clear()
            flat = flat_of(spec, orders((args, kwargs)))
        out_spec = flat.results(_examples(leaves))[1]
        return unflatten(out_spec, primitive.bind(*leaves, flat=flat, linear=0))

    return wrapped


def _examples(values: Sequence[Any]) -> list[Any]:
    """Arrays of these shapes and dtypes, which take no memory."""
    # A literal of JAX's is a float with a dtype.
    return [np.broadcast_to(np.zeros((), x.dtype), getattr(x, "shape", ())) for x in values]


def _read_only(x: Any) -> np.ndarray[Any, Any]:
    """The memory of an array of JAX's."""
    found: np.ndarray[Any, Any] = np.asarray(x).view()
    found.flags.writeable = False
    return found


def _real(types: Sequence[Any]) -> tuple[int, ...]:
    """Which of these have derivatives."""
    return tuple(k for k, t in enumerate(types) if t.dtype.kind in "fc")


@functools.cache
def _primitive() -> Any:
    """The operation, made when it is first needed.

    `flat` is what it computes, `linear` how many of its last arguments it is linear in: those are
    tangents or cotangents, and JAX asks for the transpose.
    """
    jax: Any = importlib.import_module("jax")
    extending: Any = importlib.import_module("jax.extend.core")
    ad, batching, mlir = (
        importlib.import_module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir")
    )
    buffers: Any = importlib.import_module("jax.experimental.buffer_callback")
    jnp = jax.numpy
    operation: Any = extending.Primitive("tracegrad")
    operation.multiple_results = True

    def results(flat: FlatFunction, values: Sequence[Any]) -> list[Any]:
        """As JAX has them, which without its x64 are shorter."""
        types = flat.results(_examples(values))[0]
        return [
            jax.ShapeDtypeStruct(t.shape, jax.dtypes.canonicalize_dtype(t.dtype)) for t in types
        ]

    def on_host(flat: FlatFunction, values: Sequence[Any]) -> list[Any]:
        return flatten(flat.compiled(*map(_read_only, values)))[0]

    def run(*values: Any, flat: FlatFunction, linear: int) -> list[Any]:
        types = results(flat, values)
        return [jnp.asarray(y, t.dtype) for y, t in zip(on_host(flat, values), types, strict=True)]

    def abstract(*values: Any, flat: FlatFunction, linear: int) -> list[Any]:
        return [jax.core.ShapedArray(t.shape, t.dtype) for t in results(flat, values)]

    def called(*values: Any, flat: FlatFunction, linear: int) -> Any:
        """XLA calls the compiled function itself, where that has what JAX wants to have."""
        types = results(flat, values)
        name = _target(jax.ffi, flat, _examples(values), types)
        if name is None:
            return called_back(*values, flat=flat, linear=linear)
        return jax.ffi.ffi_call(name, types)(*values)

    def called_back(*values: Any, flat: FlatFunction, linear: int) -> Any:
        def fill(context: Any, outs: Any, *given: Any) -> None:
            for out, y in zip(outs, on_host(flat, given), strict=True):
                target = np.asarray(out)
                if np.shape(y) != target.shape:
                    raise ShapeError(
                        f"jax.wrap: {flat.function.__name__} returned an array of shape "
                        f"{np.shape(y)}, and one of {target.shape} when JAX traced it"
                    )
                target[...] = y

        return buffers.buffer_callback(fill, results(flat, values))(*values)

    def along(gradient: Any, tangent: Any) -> Any:
        """Gradients of complex numbers are tracegrad's here, conjugate to JAX's."""
        if gradient.dtype.kind == "c":
            return jnp.sum(jnp.real(jnp.conj(gradient) * tangent))
        return jnp.sum(gradient * tangent)

    def pushed(primals: Any, tangents: Any, *, flat: FlatFunction, linear: int) -> Any:
        moved = tuple(k for k, t in enumerate(tangents) if type(t) is not ad.Zero)
        given = [tangents[k] for k in moved]
        if not linear and flat.gives_one_real_number(_examples(primals)):
            value, *found = operation.bind(*primals, flat=flat.with_gradient(moved), linear=0)
            parts = [along(g, t) for g, t in zip(found, given, strict=True)]
            return [value], [sum(parts[1:], parts[0]).astype(value.dtype)]
        outs = operation.bind(*primals, flat=flat, linear=linear)
        kept = _real(outs)
        found = [ad.Zero(jax.typeof(y).to_tangent_aval()) for y in outs]
        if kept:
            push = flat.push(moved, kept)
            rates = operation.bind(*primals, *given, flat=push, linear=len(given))
            found = replaced(found, kept, rates)
        return outs, found

    def transposed(cotangents: Any, *values: Any, flat: FlatFunction, linear: int) -> Any:
        places = tuple(k for k, x in enumerate(values) if ad.is_undefined_primal(x))
        types = tuple(ArrayType(values[k].aval.dtype, values[k].aval.shape) for k in places)
        seeds = [ad.instantiate_zeros(c) for c in cotangents]
        back = flat.transposed(places, types, len(seeds))
        rest = [x for k, x in enumerate(values) if k not in places]
        found = operation.bind(*rest, *seeds, flat=back, linear=len(seeds))
        return replaced([None] * len(values), places, found)

    def batched(values: Any, axes: Any, *, flat: FlatFunction, linear: int) -> Any:
        found = operation.bind(*values, flat=flat.batched(tuple(axes)), linear=linear)
        return found, [0] * len(found)

    operation.def_impl(run)
    operation.def_abstract_eval(abstract)
    ad.primitive_jvps[operation] = pushed
    ad.primitive_transposes[operation] = transposed
    batching.primitive_batchers[operation] = batched
    mlir.register_lowering(operation, mlir.lower_fun(called_back, multiple_results=True))
    mlir.register_lowering(operation, mlir.lower_fun(called, multiple_results=True), platform="cpu")
    return operation


def _target(ffi: Any, flat: FlatFunction, examples: list[Any], types: Sequence[Any]) -> str | None:
    """The name by which XLA knows the function for such arguments; None where its results are of
    other dtypes, where it reads arrays around it, which are to be read at each call, and where its
    work is shared by threads."""
    key = tuple((x.shape, x.dtype) for x in examples)
    if key not in flat.targets:
        flat.targets[key] = None
        own = [t.dtype for t in flat.results(examples)[0]]
        if own == [t.dtype for t in types]:
            with contextlib.suppress(TracegradError, NotImplementedError):
                made = flat.compiled.cfunc(*examples, signature="ffi")
                if not made.captures and not made.kernel.compiled.shared.shares:
                    # XLA keeps the address for ever.
                    _KEPT.append(made)
                    name = flat.targets[key] = f"tracegrad_{next(_TARGETS)}"
                    capsule = ffi.pycapsule(made.ctypes)
                    ffi.register_ffi_target(name, capsule, platform="cpu", api_version=1)
    return flat.targets[key]


_KEPT: list[Any] = []
_TARGETS = itertools.count()

__all__ = ["wrap"]

checks.publish(globals(), __all__, checks.OFTEN)
