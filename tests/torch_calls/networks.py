"""Calls of networks and signals: Fourier transforms, windows, factors, samples of pictures."""

from __future__ import annotations

from tests.torch_calls.draws import Case, M, definite, floats, positive, real, whole

SIGNAL = real(2, 24)
PICTURE, PLACES = real(2, 3, 4, 5), real(2, 3, 2, 2, scale=0.7)


def spectrum(t, x, name, *args, **words):  # type: ignore[no-untyped-def]
    """The parts of a transform, of a real input or of a complex one."""
    return t.view_as_real(getattr(t.fft, name)(x, *args, **words) * 1.0)


def sampled(**words):  # type: ignore[no-untyped-def]
    return lambda t, x, g: t.nn.functional.grid_sample(x, g, **words)


CASES: dict[str, Case] = {
    "fft.fft": (lambda t, x: spectrum(t, x, "fft"), (M,)),
    "fft.fft n dim norm": (lambda t, x: spectrum(t, x, "fft", 5, 0, "ortho"), (M,)),
    "fft.ifft complex": (
        lambda t, x, y: spectrum(t, t.complex(x, y), "ifft", n=3, dim=0), (M, M),
    ),
    "fft.rfft": (lambda t, x: spectrum(t, x, "rfft", dim=0, norm="forward"), (real(5, 2),)),
    "fft.irfft": (lambda t, x, y: t.fft.irfft(t.complex(x, y), 7), (M, M)),
    "fft.hfft": (lambda t, x, y: t.fft.hfft(t.complex(x, y)), (M, M)),
    "fft.ihfft": (lambda t, x: spectrum(t, x, "ihfft"), (M,)),
    "fft.fft2": (lambda t, x: spectrum(t, x, "fft2"), (real(2, 3, 4),)),
    "fft.rfft2 s": (lambda t, x: spectrum(t, x, "rfft2", s=(-1, 6)), (real(2, 3, 4),)),
    "fft.fftn s": (lambda t, x: spectrum(t, x, "fftn", (2, 5)), (real(2, 3, 4),)),
    "fft.irfftn": (
        lambda t, x, y: t.fft.irfftn(t.complex(x, y), s=(3, 5), dim=(0, 1)), (M, M),
    ),
    "fft of integers": (lambda t, x: spectrum(t, x, "fft"), (whole(-4, 5, 6),)),
    "fft.fftfreq": (lambda t: t.fft.fftfreq(5, d=0.5), ()),
    "fft.rfftfreq": (lambda t: t.fft.rfftfreq(6), ()),
    "fft.fftshift": (lambda t, x: t.fft.fftshift(x), (M,)),
    "fft.ifftshift": (lambda t, x: t.fft.ifftshift(x, dim=1), (real(2, 5),)),
    # --- windows and pieces
    "hann_window": (lambda t: t.hann_window(6), ()),
    "hann_window symmetric": (lambda t: t.hann_window(5, periodic=False), ()),
    "hamming_window": (lambda t: t.hamming_window(6, False, 0.6, 0.4), ()),
    "blackman_window": (lambda t: t.blackman_window(1), ()),
    "blackman_window 7": (lambda t: t.blackman_window(7), ()),
    "stft": (
        lambda t, x, w: t.view_as_real(
            t.stft(x, 8, 3, window=w, return_complex=True) * 1.0
        ), (SIGNAL, positive(8)),
    ),
    "stft plain": (
        lambda t, x, w: t.view_as_real(
            t.stft(x, 8, win_length=5, window=w, center=False, normalized=True, onesided=False,
                   return_complex=True) * 1.0
        ), (real(24), positive(5)),
    ),
    "istft": (
        lambda t, x, y, w: t.istft(t.complex(x, y), 8, 3, window=w),
        (real(2, 5, 6), real(2, 5, 6), positive(8)),
    ),
    "istft length": (
        lambda t, x, y: t.istft(t.complex(x, y), 8, 2, center=False, normalized=True, length=17,
                                window=t.ones(8, dtype=t.float64)),
        (real(5, 6), real(5, 6)),
    ),
    # --- factors
    "cholesky": (lambda t, x: t.cholesky(x), (definite(3),)),
    "cholesky_solve": (
        lambda t, b, x: t.cholesky_solve(b, t.linalg.cholesky(x)), (real(3, 2), definite(3)),
    ),
    "cholesky_solve upper": (
        lambda t, b, x: t.cholesky_solve(b, t.cholesky(x, upper=True), upper=True),
        (real(3, 2), definite(3)),
    ),
    "cholesky_inverse": (
        lambda t, x: t.cholesky_inverse(t.linalg.cholesky(x)), (definite(3),),
    ),
    "linalg.cholesky_ex": (lambda t, x: t.linalg.cholesky_ex(x, upper=True)[0], (definite(3),)),
    "linalg.lu": (lambda t, x: t.linalg.lu(x), (real(3, 3),)),
    "linalg.lu_factor": (lambda t, x: tuple(t.linalg.lu_factor(x)), (real(3, 3),)),
    "linalg.lu_solve": (
        lambda t, x, b: t.linalg.lu_solve(*t.linalg.lu_factor(x), b), (definite(3), real(3, 2)),
    ),
    "linalg.lu_solve right": (
        lambda t, x, b: t.linalg.lu_solve(*t.linalg.lu_factor(x), b, left=False),
        (real(3, 3), real(2, 3)),
    ),
    "linalg.lu_solve adjoint": (
        lambda t, x, b: t.linalg.lu_solve(*t.linalg.lu_factor(x), b, adjoint=True),
        (real(3, 3), real(3, 2)),
    ),
    "linalg.lu_solve right adjoint": (
        lambda t, x, b: t.linalg.lu_solve(*t.linalg.lu_factor(x), b, left=False, adjoint=True),
        (real(3, 3), real(2, 3)),
    ),
    "linalg.solve_ex": (lambda t, x, b: t.linalg.solve_ex(x, b)[0], (definite(3), real(3, 2))),
    "linalg.tensorsolve": (
        lambda t, x, b: t.linalg.tensorsolve(x, b), (real(2, 3, 6), real(2, 3)),
    ),
    "linalg.vander": (lambda t, x: t.linalg.vander(x, N=4), (real(2, 3),)),
    "matrix_exp": (lambda t, x: t.matrix_exp(x), (real(3, 3, scale=0.5),)),
    "mvlgamma": (lambda t, x: t.mvlgamma(x + 1.0, 2), (positive(3),)),
    "torch.polygamma": (lambda t, x: t.polygamma(1, x), (positive(3),)),
    "igamma": (lambda t, x: t.igamma(t.tensor(1.5), x), (positive(3),)),
    "ldexp": (lambda t, x, k: t.ldexp(x, k), (M, whole(0, 4, 4))),
    "rsub": (lambda t, x, y: t.rsub(x, y, alpha=2), (M, M)),
    # --- parts that are replaced
    "select_scatter": (lambda t, x, y: t.select_scatter(x, y, 1, -2), (M, real(3))),
    "torch.slice_scatter": (lambda t, x, y: t.slice_scatter(x, y, 1, 0, None, 2), (M, real(3, 2))),
    "diagonal_scatter": (lambda t, x, y: t.diagonal_scatter(x, y, 1), (M, real(3))),
    "unravel_index": (lambda t, k: t.unravel_index(k, (2, 3, 4)), (whole(0, 24, 5),)),
    "fill": (lambda t, x: t.fill(x, 2.0), (M,)),
    "hsplit": (lambda t, x: t.hsplit(x, 2), (M,)),
    "broadcast_to": (lambda t, x: t.broadcast_to(x, (2, 3, 4)), (M,)),
    "sin_": (lambda t, x: t.sin_(x * 1.0), (M,)),
    # --- networks
    "layer_norm": (lambda t, x, w, b: t.layer_norm(x, (4,), w, b), (M, real(4), real(4))),
    "embedding": (lambda t, w, k: t.embedding(w, k), (M, whole(0, 3, 2, 2))),
    "threshold": (lambda t, x: t.threshold(x, 0.5, -1.0), (M,)),
    "pdist": (lambda t, x: t.pdist(x), (real(4, 3),)),
    "pdist 1": (lambda t, x: t.nn.functional.pdist(x, 1.0), (real(4, 3),)),
    "pdist equal rows": (lambda t, x: t.pdist(x), (floats([1.0, 2.0], [1.0, 2.0], [0.0, 1.0]),)),
    "affine_grid": (
        lambda t, m: t.nn.functional.affine_grid(m, (2, 1, 3, 4), align_corners=False),
        (real(2, 2, 3),),
    ),
    "affine_grid corners 3d": (
        lambda t, m: t.nn.functional.affine_grid(m, (1, 2, 3, 1, 2), align_corners=True),
        (real(1, 3, 4),),
    ),
    "grid_sample": (sampled(align_corners=False), (PICTURE, PLACES)),
    "grid_sample corners": (sampled(align_corners=True), (PICTURE, PLACES)),
    "grid_sample border": (sampled(padding_mode="border", align_corners=False), (PICTURE, PLACES)),
    "grid_sample reflection": (
        sampled(padding_mode="reflection", align_corners=False),
        (PICTURE, real(2, 3, 2, 2, scale=3.0)),
    ),
    "grid_sample reflection corners": (
        sampled(padding_mode="reflection", align_corners=True),
        (PICTURE, real(2, 3, 2, 2, scale=3.0)),
    ),
    "grid_sample nearest": (
        sampled(mode="nearest", padding_mode="reflection", align_corners=False), (PICTURE, PLACES),
    ),
    "grid_sample 3d": (
        sampled(align_corners=False), (real(1, 2, 3, 4, 2), real(1, 2, 2, 1, 3, scale=0.6)),
    ),
}  # fmt: skip
