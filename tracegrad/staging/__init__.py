"""Programs as they are: Python's control flow as the operations that exist, where tracing stops."""
