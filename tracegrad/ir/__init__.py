"""The intermediate representation: operations, graphs, tracing, and the interpreters that every
transform shares."""

from . import printer as printer  # makes str(graph) the printed graph
