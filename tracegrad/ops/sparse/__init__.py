"""Sparse matrices: patterns, products and systems, and the operand that `scipy.sparse` arrays become
in traced functions."""
