"""Kernel programs: a small imperative language, its printer to readable Python, and its compilation
to native code.

This package knows nothing of tensors, operations or derivatives. It is installed as
`tracegrad.codegen`.
"""
