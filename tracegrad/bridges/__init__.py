"""Compiled functions inside of other libraries' autograd: PyTorch, JAX, PyTensor."""
