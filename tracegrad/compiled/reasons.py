"""Why a function is traced again: what of a call is not as in the calls that it was traced for."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..tensor import Tensor
from ..types import ArrayType

LOG = logging.getLogger("tracegrad.recompiles")
FIRST = "the first call"


def differences(asked: Any, known: Any, names: Sequence[str]) -> Iterator[str]:
    """What of a signature is not as in another one, part by part; `names` are those of the
    leaves."""
    if asked.spec != known.spec:
        yield f"the structure of the arguments is {_tree(asked)}, was {_tree(known)}"
    else:
        for k, (new, old) in enumerate(zip(asked.types, known.types, strict=True)):
            name = names[k] if k < len(names) and names[k] else f"argument {k}"
            if new != old:
                yield f"{name} is {type_text(new)}, was {type_text(old)}"
            elif asked.faces[k] != known.faces[k]:
                yield f"{name} is {_kind(asked.faces[k])}, was {_kind(known.faces[k])}"
            elif asked.standing[k][:2] != known.standing[k][:2]:
                yield f"{name} {_standing(asked.standing[k], known.standing[k])}"
            elif asked.standing[k] != known.standing[k]:
                yield f"{name} has another .grad or other hooks"
    before = {given.place: given for given in known.static}
    for given in asked.static:
        place = given.place
        if given != before.get(place):
            was = f", was {before[place].value!r:.60}" if place in before else ", was not given"
            which = place if isinstance(place, str) else place + 1
            yield f"the static argument {which} is {given.value!r:.60}{was}"
    if asked.orders != known.orders:
        yield "the keys of a dict, or of keywords, come in another order"
    if asked.device != known.device:
        yield f"it runs on {asked.device or 'the CPU'}, ran on {known.device or 'the CPU'}"
    if asked.grad != known.grad:
        yield "gradients are recorded" + (", were not" if asked.grad else " no more")


def nearest(asked: Any, known: Iterable[Any], names: Sequence[str]) -> str:
    """How a signature differs from that of the others which is most like it."""
    found = [(list(differences(asked, k, names)), _distance(asked, k)) for k in known]
    best, _ = min(reversed(found), key=lambda f: (len(f[0]), f[1]), default=([], 0))
    return "; ".join(best) or "what was kept of it was dropped"


def _distance(asked: Any, known: Any) -> int:
    """In how many respects the types of the leaves differ; another structure is far away."""
    return 100 * int(asked.spec != known.spec) + sum(
        [new.dtype != old.dtype, new.shape != old.shape, new.ndim != old.ndim].count(True)
        for new, old in zip(asked.types, known.types, strict=False)
    )


def _tree(signature: Any) -> str:
    text = str(signature.spec).removeprefix("PyTreeSpec(").removesuffix(")")
    return text.replace(", namespace='tracegrad'", "")


def type_text(t: ArrayType) -> str:
    """An argument's type as people write it: `float64[3, 4]`."""
    if t.weak:
        return f"a Python {_PYTHON[t.dtype.kind]}"
    return f"{t.dtype.name}[{', '.join(map(str, t.shape))}]"


_PYTHON = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}


def _kind(face: Any) -> str:
    return "a Tensor" if isinstance(face, type) and issubclass(face, Tensor) else "an array"


def _standing(new: Any, old: Any) -> str:
    if new.tracked != old.tracked:
        return "requires grad, did not" if new.tracked else "requires no grad, did"
    return "is a leaf, was none" if new.leaf else "is no leaf, was one"


__all__ = ["FIRST", "LOG", "differences", "nearest", "type_text"]
