"""Who takes part: one library a file."""
