"""Matrices: products, systems, factorizations, spectra."""
