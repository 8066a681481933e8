"""Programs for NVIDIA GPUs: the kernel language divided among threads, printed as Numba CUDA
kernels, compiled and launched.

Loaded at the first use of a device; the only part that imports `numba.cuda`.
"""
