"""From graphs to graphs: tracing a function, differentiation, batching, and the passes that
simplify."""
