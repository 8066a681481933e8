"""Elements at places: indexing, gathering, scattering, slices between traced ends."""
