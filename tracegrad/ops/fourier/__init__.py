"""Discrete Fourier transforms: the primitives along one axis, and the functions of numpy.fft."""
