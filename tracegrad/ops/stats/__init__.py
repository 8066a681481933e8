"""Probability distributions with SciPy's names and arguments: densities, distribution functions and
quantiles as compositions of operations."""
