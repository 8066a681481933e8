"""Functions of scipy.special beyond the common ones of `ops.elementwise.special`: SciPy's compiled
functions with derivatives, and compositions."""
