"""The methods of boxed values: what both faces share, NumPy's names for `Array`, torch's for
`Tensor`."""
