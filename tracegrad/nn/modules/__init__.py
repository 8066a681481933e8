"""The modules of `tracegrad.nn`, by family."""
