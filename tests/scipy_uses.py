"""More uses of SciPy's names, as in `name_uses`, each of which `tests/ops/test_scipy_uses.py`
checks: values, derivatives of both modes and second order, compiled and batched."""

from __future__ import annotations

LINALG = """
linalg.diagsvd(v, 5, 7)|linalg.diagsvd(w, 6, 4)|linalg.diagsvd(x, 4, 4)|linalg.diagsvd(z, 5, 5)
linalg.leslie(v, w)|linalg.leslie(x, p[:, :3])|linalg.leslie(v[:2], z[:1])
linalg.fiedler_companion(v)|linalg.fiedler_companion(w)|linalg.fiedler_companion(z)
linalg.fiedler_companion(x[:, :2])|linalg.fiedler_companion(v[:3])|linalg.fiedler_companion(v[:1])
linalg.signm(A)|linalg.signm(sym(A))|linalg.signm(C)|linalg.signm(A - 3 * np.eye(3))
linalg.solve_lyapunov(A, B)|linalg.subspace_angles(L[:, :2], M[:4, :2])
linalg.subspace_angles(L[:, :1], M[:4, :3])|linalg.subspace_angles(c.T[:, :2], M[:4, :2])
linalg.subspace_angles(K[:, :, :2], A[:, :1])
linalg.subspace_angles(M[:, :2], M[:, :2] + 1e-3 * M[:, 2:4])
linalg.rq(A)|linalg.rq(C)|linalg.rq(x, mode="economic")|linalg.rq(x, mode="r")|linalg.rq(L)
linalg.rq(K)|linalg.rq(L, mode="economic")|linalg.rq(c, mode="economic")|linalg.rq(x[:1])[0]
linalg.qr_multiply(L, x)|linalg.qr_multiply(A, B, "left")|linalg.qr_multiply(A, v[:3], "left")
linalg.qr_multiply(C, C.T, conjugate=True)|linalg.qr_multiply(L, w)|linalg.qr_multiply(C, x, "left")
linalg.qr_multiply(L, x, pivoting=True)[:2]|linalg.qr_multiply(x, A)
linalg.eig_banded(x[:2])[0]|np.abs(sp.linalg.eig_banded(x[:2])[1])|linalg.eigvals_banded(x)
np.abs(sp.linalg.eig_banded(x, lower=True)[1])|linalg.eig_banded(c[:2], True)[0]
linalg.eig_banded(c)[0]|np.abs(sp.linalg.eig_banded(c)[1])|linalg.eigvals_banded(M[:3], True)
linalg.eig_banded(M[:3], select="i", select_range=(1, 3))[0]|linalg.eigvals_banded(x[:2], True)
np.abs(sp.linalg.eig_banded(M[:3], False, False, False, "i", (5, 6))[1])
linalg.eig_banded(M[:2], eigvals_only=True, select="i", select_range=(0, 1))
linalg.eigvals_banded(v[None])
"""
NDIMAGE = """
ndimage.grey_erosion(M, 3)|ndimage.grey_dilation(M, (2, 3))|ndimage.grey_opening(M, 2)
ndimage.grey_closing(M, 2, mode="wrap")|ndimage.grey_erosion(M, footprint=[[0, 1, 0], [1, 1, 1]])
ndimage.grey_dilation(M, structure=B)|ndimage.grey_erosion(v, structure=w)
ndimage.grey_dilation(v, structure=w, origin=1, mode="constant", cval=0.3)
ndimage.grey_closing(T, 2, axes=(1, 2))|ndimage.morphological_gradient(M, 3)
ndimage.grey_opening(M, structure=A * 0.1, footprint=[[0, 1, 0], [1, 1, 1], [1, 0, 0]])
ndimage.morphological_laplace(M, 2)|ndimage.white_tophat(M, 2)|ndimage.black_tophat(M, 2)
ndimage.white_tophat(b, 2)|ndimage.binary_erosion(x > 0)|ndimage.binary_dilation(M > 0.3, b[:, :3])
ndimage.binary_opening(M > -0.5, iterations=2)|ndimage.binary_closing(M > 0.5, mask=M < 1)
ndimage.binary_hit_or_miss(M > 0)|ndimage.binary_dilation(T > 0, axes=(2,), border_value=1)
ndimage.rank_filter(M, 2, 3)|ndimage.rank_filter(v, -1, 3)|ndimage.percentile_filter(M, 30, 3)
ndimage.percentile_filter(M, -10, footprint=[[0, 1, 0], [1, 1, 1]], mode="nearest")
ndimage.maximum_filter1d(M, 3)|ndimage.minimum_filter1d(M, 4, 0, origin=1)
ndimage.rank_filter(M, 0, 2)
ndimage.sum_labels(x, k % 3, [0, 2])|ndimage.sum(x)|ndimage.sum_labels(c, k % 3, 1)
ndimage.mean(x, k % 3, [2, 0, 1])|ndimage.mean(x, k % 3)|ndimage.mean(x)|ndimage.mean(c)
ndimage.variance(x, k % 3, [2, 0, 1, 1])|ndimage.variance(x, k % 3, 2)|ndimage.variance(x)
ndimage.standard_deviation(x, j)|ndimage.standard_deviation(x, j, [[0, 1], [2, 3]])
ndimage.minimum(x, k % 5, [0, 2, 9])|ndimage.minimum(x, j)|ndimage.maximum(x, k % 5, 3)
ndimage.maximum(x)|ndimage.maximum(x, k * 100, [500, 700])|ndimage.median(x, k % 3, [0, 2])
ndimage.median(x, k % 2, 1)|ndimage.median(x)|ndimage.minimum_position(x, k % 5, [0, 2, 3])
ndimage.minimum_position(x)|ndimage.maximum_position(x, j)|ndimage.maximum_position(T)
ndimage.extrema(x, k % 5, [0, 2, 3])|ndimage.extrema(x)
ndimage.sum_labels(x, np.round(y), [0, 1])|ndimage.median(x, np.round(y), [0, 1])
ndimage.mean(x, y > 0, True)|ndimage.variance(x, np.round(y), [1, 0])
ndimage.fourier_gaussian(c, s)|ndimage.fourier_gaussian(x, (1.3, 0.2), n=7)
ndimage.fourier_gaussian(x, w[:2])|ndimage.fourier_uniform(c, t)|ndimage.fourier_uniform(x, w[:2])
ndimage.fourier_shift(c, s)|ndimage.fourier_shift(x, w[:2], n=6)|ndimage.fourier_shift(z, -1.5)
"""
SPECIAL = """
betainccinv(1.3, 0.7, u)|chndtr(p, 1.3, q)|chndtr(p * 9, 4.0, q)
chndtr(p, 3.0, 0.0)|fdtri(3.0, 5.0, u)|gdtria(u, 1.3, p)|gdtrix(p, 1.3, u)|nbdtri(2, 5, u)
nrdtrimn(u, p, x)|nrdtrisd(x, u, y)|pdtri(2, u)|kolmogorov(p)|kolmogorov(p * 0.3)|kolmogi(u)
iti0k0(p)|itj0y0(p)|it2i0k0(p)|it2i0k0(p * 5)|it2j0y0(p)|it2j0y0(p * 9)
itmodstruve0(p)|it2struve0(p)|it2struve0(x)|pbwa(0.4, x)|pbwa(-1.3, p)
wright_bessel(0.7, 1.3, p)|log_wright_bessel(0.7, 1.3, p)|zetac(p + 1.5)|zetac(u)|zetac(x * 3)
eval_sh_jacobi(3, p + 2, q, u)
"""
KNOWN_RANK = """
np.abs(sp.linalg.orth(L))|np.abs(sp.linalg.orth(x))|np.abs(sp.linalg.orth(c))
np.abs(sp.linalg.orth(np.outer(v, w)))|np.abs(sp.linalg.null_space(x))
np.abs(sp.linalg.null_space(c[:2, :3]))
np.dot(sp.linalg.null_space(x[:2]), np.conj(sp.linalg.null_space(x[:2])).T)
np.dot(sp.linalg.null_space(np.outer(v, w)), sp.linalg.null_space(np.outer(v, w)).T)
"""
"""Results whose size the data say, which compiled code refuses."""
SCIPY = LINALG + NDIMAGE
