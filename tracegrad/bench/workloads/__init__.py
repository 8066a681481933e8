"""What is measured: one workload, or a family of them, a file."""
