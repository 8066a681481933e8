"""Linear algebra with NumPy's names, and with SciPy's where NumPy has none: `tracegrad.linalg`;
torch's words are in `tracegrad.torch.linalg`."""

from __future__ import annotations

from .checks import OFTEN, publish
from .faces.numpy.refusals import tell_missing
from .ops.matrices.band_spectra import *  # noqa: F403
from .ops.matrices.band_spectra import __all__ as _BAND_SPECTRA
from .ops.matrices.banded import *  # noqa: F403
from .ops.matrices.banded import __all__ as _BANDED
from .ops.matrices.linalg import *  # noqa: F403
from .ops.matrices.linalg import __all__ as _NUMPYS
from .ops.matrices.made_of_others import *  # noqa: F403
from .ops.matrices.made_of_others import __all__ as _MADE
from .ops.matrices.patterned import *  # noqa: F403
from .ops.matrices.patterned import __all__ as _PATTERNED
from .ops.matrices.polar import *  # noqa: F403
from .ops.matrices.polar import __all__ as _POLAR
from .ops.matrices.riccati import *  # noqa: F403
from .ops.matrices.riccati import __all__ as _RICCATI
from .ops.matrices.scipy_names import *  # noqa: F403
from .ops.matrices.scipy_names import __all__ as _SCIPYS
from .ops.matrices.subspaces import *  # noqa: F403
from .ops.matrices.subspaces import __all__ as _SUBSPACES
from .ops.matrices.toeplitz_systems import *  # noqa: F403
from .ops.matrices.toeplitz_systems import __all__ as _TOEPLITZ
from .ops.matrices.tridiagonal import *  # noqa: F403
from .ops.matrices.tridiagonal import __all__ as _TRIDIAGONAL

__all__ = [
    *_NUMPYS,
    *_SCIPYS,
    *_MADE,
    *_BANDED,
    *_BAND_SPECTRA,
    *_PATTERNED,
    *_POLAR,
    *_RICCATI,
    *_SUBSPACES,
    *_TOEPLITZ,
    *_TRIDIAGONAL,
]

publish(globals(), __all__, OFTEN)
tell_missing(globals())
