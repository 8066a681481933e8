"""Program to program: memory, registers, loops that fuse or are cut, items that go in lockstep.
`pipeline` has the order."""
