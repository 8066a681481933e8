"""Calls whose errors may be in other words, and results that NumPy would not give: by reason, with
the verdict, what was wrong, and the functions.

Every one of them is met in each sweep, or `test_hostile_input` fails: there is none for what
nobody does any more. A new one is written here by hand, with its reason.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .scipy_excuses import EXCUSES as SCIPYS
from .scipy_excuses import MET


class Excuse(NamedTuple):
    """`functions` each under each of these `inputs`; both are lists between bars."""

    verdict: str
    inputs: str
    functions: str


def both(names: str) -> str:
    """The functions of ours and of NumPy's that have these names."""
    return "|".join(f"{space}.{name}" for name in names.split() for space in ("tg", "np"))


EXCUSES: dict[str, list[Excuse]] = {
    "NumPy takes these, and means nothing by them": [
        Excuse(
            "differs",
            "axes=a generator",
            "np.fft.fftshift|np.fft.ifftshift",
        ),
    ],
    "odd sizes, axes and orders of transforms and polynomials are taken where NumPy refuses": [
        Excuse(
            "lenient",
            "mean=None|correction=None",
            "np.nanstd|np.nanvar",
        ),
        Excuse(
            "lenient",
            "m=a negative number|m=a huge number|m=a number beyond int64",
            "np.polyder",
        ),
        Excuse(
            "lenient",
            "y = half precision",
            "np.polyfit",
        ),
        Excuse(
            "lenient",
            "m=a negative number",
            "np.polyint",
        ),
        Excuse(
            "lenient",
            "argument 1 = a generator",
            "np.dsplit",
        ),
        Excuse(
            "lenient",
            "n=True",
            "np.fft.fft|np.fft.hfft|np.fft.ifft|np.fft.irfft",
        ),
        Excuse(
            "lenient",
            "axes=an empty string|axes=a generator|axes=an empty array",
            "np.fft.fft2|np.fft.ifft2",
        ),
        Excuse(
            "lenient",
            "s=True|axes=an empty string|axes=a generator|axes=an empty array",
            "np.fft.fftn|np.fft.ifftn",
        ),
        Excuse(
            "lenient",
            "axes=a generator",
            "np.fft.irfft2|np.fft.rfft2",
        ),
        Excuse(
            "lenient",
            "s=True|axes=a generator",
            "np.fft.irfftn|np.fft.rfftn",
        ),
    ],
    "None is the option left out": [
        Excuse(
            "lenient",
            "max=None|min=None",
            both("clip"),
        ),
        Excuse(
            "lenient",
            "append=None|prepend=None",
            both("diff"),
        ),
        Excuse(
            "lenient",
            "nan=None",
            "np.nan_to_num",
        ),
        Excuse(
            "lenient",
            "correction=None",
            both("std var"),
        ),
        Excuse(
            "lenient",
            "dtype=None",
            "tg.indices",
        ),
    ],
    "a Tensor stands for its dtype": [
        Excuse(
            "lenient",
            "dtype = a Tensor of another shape",
            "np.astype",
        ),
        Excuse(
            "lenient",
            "from_ = an array of another shape|from_ = an empty array|from_ = complex numbers|"
            "from_ = half precision|from_ = integers|to = a Tensor of another shape",
            "np.can_cast",
        ),
        Excuse(
            "lenient",
            "dtype=a Tensor of another shape",
            "tg.indices",
        ),
    ],
    "a path of contractions says nothing about values": [
        Excuse(
            "lenient",
            "optimize=None in a list|optimize=a ragged list|optimize=an empty list|"
            "optimize=floats in a tuple|optimize=strings in a list|optimize=tuples in a tuple",
            "tg.einsum",
        ),
    ],
    "a result is cast to the dtype of out": [
        Excuse(
            "lenient",
            "out=half precision",
            "np.compress|np.dot",
        ),
        Excuse(
            "lenient",
            "out=complex numbers",
            "np.compress|np.dot|np.linalg.multi_dot|np.take",
        ),
    ],
    "NumPy asks nobody but the array: a Tensor as the axis of a plain one is its own affair": [
        Excuse(
            "nameless",
            "argument 1 = an empty array|argument 1 = an array of another shape|argument 1 = half "
            "precision|argument 1 = integers|argument 1 = complex numbers",
            "np.apply_along_axis",
        ),
        Excuse(
            "internal",
            "argument 1 = complex numbers",
            "np.apply_along_axis in grad",
        ),
    ],
    "a class is called as any function, and says itself what it takes": [
        Excuse(
            "nameless",
            "function = a class",
            "vmap of something|func.vmap of something|func.jacfwd of something|tg.tree.map_leaves",
        ),
        Excuse("nameless", "is_leaf=a class", "tg.tree.flatten"),
    ],
    "what is wrong is that the function does not take so many": [
        Excuse("nameless", "many arguments", "tg.tree.map_leaves"),
    ],
    "a state of the right kind that no schedule has": [
        Excuse(
            "nameless",
            "last_epoch = infinity",
            "CosineAnnealingLR.load_state_dict with last_epoch",
        ),
        Excuse(
            "nameless",
            "milestones = a dict",
            "MultiStepLR.load_state_dict with milestones",
        ),
        Excuse(
            "nameless",
            "_phases = a ragged list|_phases = an empty list|_phases = tuples in a tuple",
            "OneCycleLR.load_state_dict with _phases",
        ),
    ],
    "an array of no numbers is refused by what calculates with it": [
        Excuse(
            "differs",
            "x = an array of objects",
            "tg.all|tg.count_nonzero",
        ),
        Excuse(
            "lenient",
            "x = an array of strings",
            "tg.conj|tg.conjugate",
        ),
        Excuse(
            "lenient",
            "x = dates",
            "tg.conj|tg.conjugate",
        ),
        Excuse(
            "lenient",
            "x = an array of objects",
            "tg.conj|tg.conjugate|tg.isneginf|tg.isposinf",
        ),
    ],
    "axes may stand in a list, as torch has it": [
        Excuse(
            "lenient",
            "axis=an empty list",
            "np.all|np.amax|np.amin|np.any|np.count_nonzero|np.linalg.norm|"
            "np.linalg.vector_norm|np.max|np.mean|np.min|np.nanmax|np.nanmean|np.nanmin|"
            "np.nansum|np.prod|np.ptp|np.squeeze|np.std|np.sum|np.var|tg.all|tg.amax|tg.amin|"
            "tg.any|tg.count_nonzero|tg.linalg.norm|tg.linalg.vector_norm|tg.max|tg.mean|"
            "tg.min|tg.nanmax|tg.nanmean|tg.nanmin|tg.nansum|tg.prod|tg.ptp|tg.squeeze|tg.std|"
            "tg.sum|tg.var",
        ),
    ],
    "half precision is taken up to single precision for LAPACK": [
        Excuse(
            "lenient",
            "b = half precision",
            both("linalg.lstsq linalg.solve"),
        ),
        Excuse(
            "lenient",
            "a = half precision",
            both("linalg.lstsq"),
        ),
        Excuse(
            "lenient",
            "out=half precision",
            "np.linalg.multi_dot",
        ),
    ],
    "integers beyond 64 bits are taken as numbers": [
        Excuse(
            "lenient",
            "atol=a number beyond int64|rtol=a number beyond int64",
            "np.allclose|np.isclose|tg.isclose",
        ),
        Excuse(
            "lenient",
            "ord=a number beyond int64",
            both("linalg.vector_norm"),
        ),
        Excuse(
            "lenient",
            "correction=a number beyond int64|ddof=a number beyond int64",
            both("std var"),
        ),
        Excuse(
            "lenient",
            "x = a number beyond int64",
            "tg.acos|tg.acosh|tg.angle|tg.arccos|tg.arccosh|tg.arcsin|tg.arcsinh|tg.arctan|"
            "tg.arctanh|tg.around|tg.asin|tg.asinh|tg.atan|tg.atanh|tg.cbrt|tg.cos|tg.cosh|"
            "tg.deg2rad|tg.degrees|tg.exp|tg.exp2|tg.expm1|tg.log|tg.log10|tg.log1p|"
            "tg.log2|tg.rad2deg|tg.radians|tg.rint|tg.round|tg.signbit|tg.sin|tg.sinc|tg.sinh|"
            "tg.sqrt|tg.tan|tg.tanh",
        ),
    ],
    "takes more than NumPy's function does": [
        Excuse(
            "lenient",
            "left=a complex number|right=a complex number",
            both("interp"),
        ),
        Excuse(
            "lenient",
            "pad_width = True",
            both("pad"),
        ),
        Excuse(
            "lenient",
            "x = tuples in a tuple",
            "tg.hsplit|tg.put_along_axis",
        ),
        Excuse(
            "lenient",
            "x = an empty list|x = floats in a tuple",
            "tg.hsplit|tg.split",
        ),
        Excuse(
            "lenient",
            "constant_values=complex numbers",
            "tg.pad",
        ),
        Excuse(
            "lenient",
            "x = True",
            "tg.positive",
        ),
        Excuse(
            "lenient",
            "k=floats in a tuple",
            "tg.tri",
        ),
    ],
    "what gives its elements once is read once, where NumPy asks for a list": [
        Excuse(
            "differs",
            "axis=a generator",
            "np.gradient|np.size",
        ),
        Excuse(
            "differs",
            "reps = a generator",
            both("tile"),
        ),
        Excuse(
            "lenient",
            "indices_or_sections = a generator",
            both("array_split hsplit split vsplit"),
        ),
        Excuse(
            "lenient",
            "axes=a generator",
            "np.linalg.tensordot|np.permute_dims|np.rot90|np.tensordot|np.transpose|"
            "tg.linalg.tensordot|tg.rot90|tg.tensordot|tg.transpose",
        ),
        Excuse(
            "lenient",
            "funclist = a generator",
            "np.piecewise",
        ),
        Excuse(
            "lenient",
            "size = a generator|size = a set",
            "tg.full",
        ),
    ],
    "what is no array shares no memory": [
        Excuse(
            "lenient",
            "a = a ragged list|b = a ragged list",
            "np.may_share_memory|np.shares_memory",
        ),
    ],
}

for _reason, _rows in SCIPYS.items():
    EXCUSES[_reason] = [Excuse(*row) for row in _rows]
ALLOWED: dict[str, set[tuple[str, str]]] = {}
"""By verdict, what is excused of which function."""
EXCUSED: dict[str, set[str]] = {name: {what} for name, what in MET.items()}
"""By function, what it is excused for."""
for _excuse in (e for excuses in EXCUSES.values() for e in excuses):
    for _name in _excuse.functions.split("|"):
        for _input in _excuse.inputs.split("|"):
            ALLOWED.setdefault(_excuse.verdict, set()).add((_name, _input))
            EXCUSED.setdefault(_name, set()).add(_input)


if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    # It refuses these itself.
    for _excused in ALLOWED.values():
        _excused.discard(("np.take", "out=complex numbers"))
