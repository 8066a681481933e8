"""The one place where the package meets `codegen`, which a checkout keeps beside it and a wheel
inside it.

The grammar of programs and what walks over them is loaded by the first program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import codegen as codegen
    from codegen import addresses as addresses
    from codegen import bands as bands
    from codegen import c_function as c_function
    from codegen import fallbacks as fallbacks
    from codegen import inplace as inplace
    from codegen import integers as integers
    from codegen import kernel as kernel
    from codegen import loading as loading
    from codegen import locks as locks
    from codegen import lowering as lowering
    from codegen import options as options
    from codegen import owners as owners
    from codegen import records as records
    from codegen import scalars as scalars
    from codegen import singular as singular
    from codegen import sparse_lu as sparse_lu
    from codegen import substitution as substitution
    from codegen import syntax as syntax
    from codegen import text as text
    from codegen import traversal as traversal
    from codegen import verify as verify
    from codegen import work as work
else:
    from tracegrad import codegen
    from tracegrad.codegen import (
        addresses,
        fallbacks,
        integers,
        loading,
        locks,
        lowering,
        options,
        records,
        scalars,
        syntax,
    )

    bands = loading.Late("tracegrad.codegen.bands")
    c_function = loading.Late("tracegrad.codegen.c_function")
    inplace = loading.Late("tracegrad.codegen.inplace")
    kernel = loading.Late("tracegrad.codegen.kernel")
    owners = loading.Late("tracegrad.codegen.owners")
    singular = loading.Late("tracegrad.codegen.singular")
    sparse_lu = loading.Late("tracegrad.codegen.sparse_lu")
    substitution = loading.Late("tracegrad.codegen.substitution")
    text = loading.Late("tracegrad.codegen.text")
    traversal = loading.Late("tracegrad.codegen.traversal")
    verify = loading.Late("tracegrad.codegen.verify")
    work = loading.Late("tracegrad.codegen.work")

__all__ = [
    "addresses",
    "bands",
    "c_function",
    "codegen",
    "fallbacks",
    "inplace",
    "integers",
    "kernel",
    "loading",
    "locks",
    "lowering",
    "options",
    "owners",
    "records",
    "scalars",
    "singular",
    "sparse_lu",
    "substitution",
    "syntax",
    "text",
    "traversal",
    "verify",
    "work",
]
