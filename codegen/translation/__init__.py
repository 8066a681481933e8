"""From the syntax tree of a generated function to LLVM code, in one pass."""
