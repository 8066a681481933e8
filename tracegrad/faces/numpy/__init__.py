"""What NumPy and SciPy find in a boxed value: functions, ufuncs, methods of arrays."""
