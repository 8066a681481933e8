"""Functions of numbers without branches, so that loops over them vectorise."""
