"""The transforms that users apply to functions: reverse and forward derivatives, Jacobians, `vmap`,
checkpoints."""
