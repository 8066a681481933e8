"""A package, so that pytest puts the folder above on the path and not this one, in which `sparse`
would be taken for the library of that name."""
