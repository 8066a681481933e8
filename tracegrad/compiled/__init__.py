"""A compiled call: its signatures, what it reads, what it changes, and the callers written for
it."""
