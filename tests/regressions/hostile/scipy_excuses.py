"""Excuses of functions that have SciPy's names or are another library's, as in `excuses`."""

from __future__ import annotations

RULES: dict[str, tuple[str, str, str]] = {
    "past all sizes: SciPy takes the logarithm of a number that has become 0, or divides "
    "infinities; ours is the limit or its logarithm, NaN where a parameter is infinite": (
        "differs",
        ".* = (a huge number|a number beyond int64|infinity)",
        r"stats\..*",
    ),
    "the same, where a quantile or a sum of SciPy's gives up": (
        "lenient",
        ".* = (infinity|NaN)",
        r"stats\.(?!norm\().*",
    ),
    "SciPy's logarithm above the end of a support is 0 of parameters that are none; ours is NaN": (
        "differs",
        "(p|n|N|high) = .*",
        r"stats\.(bernoulli|binom|boltzmann|randint)\.logcdf",
    ),
    "SciPy compares with NaN, and finds it below the support": (
        "differs",
        "b = NaN",
        r"stats\.truncpareto\..*",
    ),
    "that shares and probabilities sum to 1 is not checked, as a gradient could not be": (
        "lenient",
        "x = (floats in a tuple|half precision)",
        r"stats\.dirichlet\..*",
    ),
    "near 1 its logarithm is no more than three digits": (
        "differs",
        "x = half precision",
        r"stats\.johnsonsb\.logpdf",
    ),
    "probabilities likewise, of which SciPy replaces the last": (
        "differs",
        "p = .*|n = a negative number",
        r"stats\.multinomial\..*",
    ),
    "one count is a vector of one": ("lenient", "x = .*", r"stats\.multinomial\..*"),
    "parameters out of their range give NaN, as of other distributions": (
        "lenient",
        "df = .*",
        r"stats\.(multivariate_t|wishart)\..*",
    ),
}
"""Of many rows that have one reason: verdict, and patterns of what was wrong and of functions."""

EXCUSES: dict[str, list[tuple[str, str, str]]] = {
    "an empty signal, a flag or a place of a Tensor that SciPy refuses or reads in another way": [
        (
            "lenient",
            "data = an empty array|data = an empty list",
            "tg.signal.detrend",
        ),
        (
            "lenient",
            "extrapolate=a Tensor of another shape",
            "tg.interpolate.CubicHermiteSpline|tg.interpolate.CubicSpline",
        ),
        (
            "lenient",
            "extrapolate=a Tensor of another shape|extrapolate=an array of another shape|"
            "extrapolate=an array of objects|extrapolate=an array of strings|"
            "extrapolate=an empty array|extrapolate=complex numbers|extrapolate=integers",
            "tg.interpolate.PchipInterpolator",
        ),
        (
            "lenient",
            "initial=an empty array|initial=an empty list|initial=complex numbers|"
            "initial=floats in a tuple|initial=integers",
            "tg.integrate.cumulative_simpson",
        ),
        (
            "lenient",
            "x = an empty array|x = an empty list",
            "tg.signal.sosfilt",
        ),
        (
            "lenient",
            "y = complex numbers",
            "tg.signal.coherence|tg.signal.csd",
        ),
        (
            "differs",
            "axes=an empty array|axes=an empty list|input = a complex number|input = a float",
            "tg.ndimage.gaussian_gradient_magnitude",
        ),
        (
            "differs",
            "dx=a complex number|dx=complex numbers",
            "tg.integrate.trapezoid",
        ),
        (
            "differs",
            "nperseg=True",
            "tg.signal.istft",
        ),
        (
            "differs",
            "xi = floats in a tuple",
            "tg.interpolate.interpn",
        ),
    ],
    "half precision stays what it is, where SciPy refuses it or asks for one number": [
        (
            "lenient",
            "extrapolate=half precision",
            "tg.interpolate.PchipInterpolator",
        ),
        (
            "lenient",
            "initial=half precision",
            "tg.integrate.cumulative_simpson",
        ),
        (
            "lenient",
            "input = half precision",
            "tg.signal.medfilt2d",
        ),
        (
            "lenient",
            "volume = half precision",
            "tg.signal.medfilt",
        ),
    ],
    "of numbers without end and past all sizes there is NaN, or what SciPy cannot count up to": [
        (
            "differs",
            "N = NaN|k = NaN",
            "tg.special.perm",
        ),
        (
            "differs",
            "a = a huge number",
            "tg.integrate.fixed_quad",
        ),
        (
            "differs",
            "a = infinity",
            "tg.signal.lfilter_zi",
        ),
        (
            "differs",
            "a = infinity|b = infinity",
            "tg.special.agm",
        ),
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
            "beta = a huge number|x = infinity",
            "tg.special.eval_jacobi",
        ),
        (
            "differs",
            "ddof=a huge number|ddof=a number beyond int64|ddof=infinity",
            "tg.stats.variation|tg.stats.zscore",
        ),
        (
            "differs",
            "dfd = a huge number|dfd = a number beyond int64|dfn = infinity",
            "tg.special.fdtrc",
        ),
        (
            "differs",
            "dfd = infinity|dfn = a huge number|dfn = a number beyond int64",
            "tg.special.fdtr",
        ),
        (
            "differs",
            "duty=NaN",
            "tg.signal.square",
        ),
        (
            "differs",
            "gamma = infinity|x = infinity",
            "tg.special.voigt_profile",
        ),
        (
            "differs",
            "input = infinity",
            "tg.ndimage.gaussian_gradient_magnitude",
        ),
        (
            "differs",
            "k = infinity|n = a huge number|n = infinity",
            "tg.special.nbdtr|tg.special.nbdtrc",
        ),
        (
            "differs",
            "n = a huge number",
            "tg.special.expn",
        ),
        (
            "differs",
            "n = a huge number|n = infinity",
            "tg.special.bdtr|tg.special.bdtrc|tg.special.yn",
        ),
        (
            "differs",
            "offset=NaN",
            "tg.ndimage.affine_transform",
        ),
        (
            "differs",
            "r = infinity",
            "tg.special.pseudo_huber",
        ),
        (
            "differs",
            "shift = NaN",
            "tg.ndimage.shift",
        ),
        (
            "differs",
            "tol=NaN|tol=a huge number|tol=a number beyond int64|tol=infinity",
            "tg.special.lambertw",
        ),
        (
            "differs",
            "v = a huge number|v = a number beyond int64|v = infinity|z = a huge number|"
            "z = a number beyond int64",
            "tg.special.jve",
        ),
        (
            "differs",
            "x = infinity",
            "tg.special.eval_gegenbauer|tg.special.eval_hermite|tg.special.eval_hermitenorm|"
            "tg.special.eval_legendre|tg.special.eval_sh_legendre",
        ),
        (
            "differs",
            "y = NaN|y = infinity",
            "tg.special.powm1",
        ),
        (
            "differs",
            "z = a huge number",
            "tg.special.hankel1|tg.special.hankel1e|tg.special.hankel2|tg.special.hankel2e",
        ),
        (
            "differs",
            "z = a huge number|z = a number beyond int64",
            "tg.special.hyp0f1|tg.special.yve",
        ),
        (
            "differs",
            "z = infinity",
            "tg.special.spherical_in|tg.special.spherical_jn|tg.special.spherical_yn",
        ),
        (
            "lenient",
            "fill_value=a number beyond int64",
            "tg.interpolate.RegularGridInterpolator|tg.interpolate.interpn",
        ),
        (
            "lenient",
            "zoom = a huge number",
            "tg.ndimage.zoom",
        ),
    ],
    "outside of what SciPy defines: NaN where its integers are cut off, a pole or a polynomial": [
        (
            "lenient",
            "tol=a Tensor of another shape|tol=a ragged list|tol=an array of another shape|"
            "tol=an empty array|tol=an empty list|tol=tuples in a tuple",
            "tg.special.lambertw",
        ),
        (
            "lenient",
            "x = True",
            "tg.special.factorial",
        ),
        (
            "lenient",
            "x = an empty array|x = an empty list",
            "tg.special.log_softmax|tg.special.softmax",
        ),
        (
            "differs",
            "alpha = a negative number",
            "tg.special.eval_gegenbauer|tg.special.eval_genlaguerre|tg.special.eval_jacobi",
        ),
        (
            "differs",
            "k = a float|k = floats in a tuple|n = a float|n = floats in a tuple",
            "tg.special.nbdtr|tg.special.nbdtrc",
        ),
        (
            "differs",
            "n = a float|n = floats in a tuple",
            "tg.special.bdtr|tg.special.bdtrc",
        ),
        (
            "differs",
            "tol=True|tol=a float|tol=a negative number|tol=floats in a tuple",
            "tg.special.lambertw",
        ),
        (
            "differs",
            "z = a negative number",
            "tg.special.spherical_kn|tg.special.spherical_yn",
        ),
        (
            "differs",
            "z = integers",
            "tg.special.hankel1|tg.special.hankel2|tg.special.yve",
        ),
    ],
    "a pole over a pole, whose limit depends on the way there, is NaN; SciPy has the one along a": [
        (
            "differs",
            "a = a negative number|b = a negative number",
            "tg.special.beta|tg.special.betaln",
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
