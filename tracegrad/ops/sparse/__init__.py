"""Sparse matrices: patterns, products and systems, and the operand that SciPy's sparse arrays
become in traced functions."""
