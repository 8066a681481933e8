"""Excuses of functions that have SciPy's names or are another library's, as in `excuses`, of which
no question can be asked that `reasons` would answer."""

from __future__ import annotations

EXCUSES: dict[str, list[tuple[str, str, str]]] = {
    "a fill value that NumPy has no type for is a number, too; a flag counts as one": [
        (
            "lenient",
            "fill_value=a number beyond int64",
            "tg.interpolate.RegularGridInterpolator|tg.interpolate.interpn",
        ),
        (
            "lenient",
            "x = True",
            "tg.special.factorial",
        ),
    ],
    "spectra of complex signals are of both sides, where SciPy asks for a setting": [
        (
            "lenient",
            "y = complex numbers",
            "tg.signal.coherence|tg.signal.csd",
        ),
    ],
    "coefficients that are NaN are leading ones, where NumPy leaves out none": [
        (
            "differs",
            "v = infinity",
            "np.polydiv",
        ),
    ],
    "a segment of one sample is none of these spectra's": [
        (
            "differs",
            "nperseg=True",
            "tg.signal.istft",
        ),
    ],
    "NaN of a number without end: it is multiplied by what may be 0": [
        (
            "differs",
            "a=infinity|fs=infinity",
            "tg.signal.freqz",
        ),
        (
            "differs",
            "alpha = infinity",
            "tg.special.eval_genlaguerre",
        ),
        (
            "differs",
            "ddof=infinity",
            "tg.stats.variation",
        ),
    ],
    "NaN where its documentation says so: real numbers above 0": [
        (
            "differs",
            "z = a negative number",
            "tg.special.spherical_kn",
        ),
    ],
    "a sine of places that rounding moves by many turns": [
        (
            "differs",
            "a = a huge number",
            "tg.integrate.fixed_quad",
        ),
    ],
    "the error is estimated in another variable, and is small in both": [
        (
            "differs",
            "b = a negative number",
            "tg.integrate.quad",
        ),
    ],
    "complex steps count with their imaginary part": [
        (
            "differs",
            "dx=complex numbers",
            "tg.integrate.romb|tg.integrate.trapezoid",
        ),
    ],
    "odd sizes and axes of transforms are taken where NumPy refuses, and numbers are shifted": [
        (
            "lenient",
            "axes=a generator",
            "tg.fft.irfft2|tg.fft.rfft2",
        ),
        (
            "lenient",
            "axes=a generator|axes=an empty array|axes=an empty string",
            "tg.fft.fft2|tg.fft.ifft2",
        ),
        (
            "lenient",
            "axes=a generator|axes=an empty array|axes=an empty string|s=True",
            "tg.fft.fftn|tg.fft.ifftn",
        ),
        (
            "lenient",
            "axes=a generator|s=True",
            "tg.fft.irfftn|tg.fft.rfftn",
        ),
        (
            "lenient",
            "d=floats in a tuple|d=tuples in a tuple",
            "tg.fft.rfftfreq",
        ),
        (
            "lenient",
            "d=floats in a tuple|d=tuples in a tuple|n = True",
            "tg.fft.fftfreq",
        ),
        (
            "lenient",
            "n=True",
            "tg.fft.fft|tg.fft.hfft|tg.fft.ifft|tg.fft.irfft",
        ),
        (
            "lenient",
            "x = NaN|x = True|x = a complex number|x = a float|x = a huge number|"
            "x = a negative number|x = infinity",
            "tg.fft.fftshift|tg.fft.ifftshift",
        ),
        (
            "differs",
            "axes=a generator",
            "tg.fft.fftshift|tg.fft.ifftshift",
        ),
    ],
    "what memory holds cannot be exchanged": [
        (
            "nameless",
            "x = an array of objects|x = an array of strings|x = dates",
            "tg.array_api.from_dlpack",
        ),
    ],
}
"""By reason: verdict, what was wrong, and the functions."""
MET = {
    "tg.signal.medfilt": "volume = half precision",
    "tg.special.yn": "n = infinity",
    "stats.dirichlet.pdf": "x = half precision",
}
"""Calls that each sweep makes, as they have reasons that are not met in all parts of it."""
