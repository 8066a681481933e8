"""Sizes as a traced function sees them, and who answers what it asks about them.

In the types of a graph a size is an int or an `Integer`, an expression that is compared by its form
alone. What a traced function gets to see of it is a `Size`, which behaves as Python's int: it stays
an expression in arithmetic with integers, and where a truth or a number is needed it asks the
innermost owner (the trace, or the sizes of the graph that is worked on), which records the answer
as a fact that the graph relies on. `same`, `less` and `at_most` ask the same about expressions.

Of a length that only a run knows, which may be 0, there is no answer. What a rule then asks:

- `less`, `at_most`: it cannot go on without the answer, and is refused;
- `known_less`: it has another way for what is short, and its own way is right at any length;
- `refuse_less` (ops/fits.py): it is an error where the length is too small;
- `at_most_of`: it takes so many elements, or all that there are;
- `meeting`: it needs arrays of one shape, which is checked when the program runs;
- `number_of`: it calculates with the length beside floats; `traced_number`: always in the graph.
"""

from __future__ import annotations

from .owners import SIZES as SIZES
from .owners import Meeting as Meeting
from .owners import Owner as Owner
from .owners import Sizes as Sizes
from .owners import meeting as meeting
from .owners import pinned as pinned
from .shapes import at_most_of as at_most_of
from .shapes import known_less as known_less
from .shapes import larger_of as larger_of
from .shapes import number_of as number_of
from .shapes import numel as numel
from .shapes import quotient_of as quotient_of
from .shapes import root_of as root_of
from .shapes import smaller_of as smaller_of
from .shapes import traced_number as traced_number
from .size import INTEGRAL as INTEGRAL
from .size import OF_SHAPES as OF_SHAPES
from .size import SYMBOLIC as SYMBOLIC
from .size import Size as Size
from .size import at_most as at_most
from .size import form as form
from .size import forms as forms
from .size import is_empty as is_empty
from .size import less as less
from .size import same as same
from .size import same_shape as same_shape
from .size import seen as seen
from .size import seen_shape as seen_shape
from .size import seen_within as seen_within
from .size import shown as shown
from .size import within_64_bits as within_64_bits
