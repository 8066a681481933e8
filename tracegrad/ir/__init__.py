"""The intermediate representation: operations, graphs, tracing, and the interpreters that every
transform shares."""
