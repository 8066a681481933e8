"""The eager engine: the tape and its nodes, the reverse sweep, what an operation does, saved
values, hooks, versions."""
