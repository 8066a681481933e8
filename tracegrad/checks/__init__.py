"""Errors that name the public function, the argument, what it was and what it must be; all of it
paid by calls that fail."""

from __future__ import annotations

from .failures import (
    REFUSED,
    argument_numbers,
    array,
    at_fault,
    before_looking,
    called,
    explained,
    explained_here,
    flag,
    named,
    pair_of,
    placed,
)
from .kinds import describe, fault_of_array
from .often import OFTEN
from .publish import check_methods, checked, has_failure_path, publish, published, quick

__all__ = [
    "OFTEN",
    "REFUSED",
    "argument_numbers",
    "array",
    "at_fault",
    "before_looking",
    "called",
    "check_methods",
    "checked",
    "describe",
    "explained",
    "explained_here",
    "fault_of_array",
    "flag",
    "has_failure_path",
    "named",
    "pair_of",
    "placed",
    "publish",
    "published",
    "quick",
]
