"""Solvers made of traced loops, with their derivatives."""
