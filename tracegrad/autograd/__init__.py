"""Automatic differentiation of running programs: the tape, the reverse sweep, dual numbers and the modes."""
