"""What a run is made into: files, tables, pictures, targets."""
