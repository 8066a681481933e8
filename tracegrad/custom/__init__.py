"""Derivatives that the user gives: `custom_jvp`, `custom_vjp`, and `autograd.Function` inside of a
trace."""
