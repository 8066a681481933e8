"""Executables: compiled graphs, their memory, and the cache on disk."""
