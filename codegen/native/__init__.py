"""From printed source to native code: what the source calls, how it is compiled, and where the
result is kept.

The only part of the project that imports Numba and llvmlite; it is loaded at the first compile,
never by `import tracegrad`.
"""
