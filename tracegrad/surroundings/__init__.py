"""What a traced function reads and changes around it: arrays, Python state, clocks and random
sources."""
