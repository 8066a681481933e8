"""Discrete Fourier transforms in the machine's vector registers: the stages (`stages`), the roots
of unity (`roots`), whole transforms (`transform`)."""
