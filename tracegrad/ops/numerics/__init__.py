"""Quadrature, interpolation and filters under SciPy's names."""
