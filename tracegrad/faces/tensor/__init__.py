"""The methods of Tensors, as torch has them."""
