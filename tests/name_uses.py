"""Uses of the public names of NumPy and SciPy, as text: each is read with `sp` as SciPy and as
tracegrad. Its letters are the arrays of `ARRAYS`; those of floats are differentiated."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests import composed_uses, scipy_uses


def arrays() -> dict[str, Any]:
    """What the letters mean: drawn away from ties, kinks and the ends of domains."""
    rng = np.random.default_rng(5)
    n = rng.normal
    spread = rng.permutation(12) * 0.37 + rng.uniform(-0.1, 0.1, size=12) - 1.9
    return {
        "s": np.float64(0.7), "t": np.float64(1.3),
        "v": n(size=5), "w": n(size=4), "g": np.sort(rng.uniform(0, 5, size=6)) + np.arange(6),
        "x": n(size=(3, 4)), "y": n(size=(3, 4)), "d": spread.reshape(3, 4), "e": spread[:7],
        "p": rng.uniform(0.5, 2.5, size=(3, 4)), "q": rng.uniform(0.3, 1.8, size=4),
        "u": rng.uniform(0.15, 0.85, size=(3, 4)), "r": rng.uniform(-0.8, 0.8, size=(3, 4)),
        "A": n(size=(3, 3)) + 2 * np.eye(3), "B": n(size=(3, 3)) + 2 * np.eye(3),
        "K": n(size=(2, 3, 3)) + 2 * np.eye(3), "L": n(size=(4, 3)), "M": n(size=(6, 7)),
        "T": n(size=(2, 3, 4)),
        "c": n(size=(3, 4)) + 1j * n(size=(3, 4)), "z": n(size=5) + 1j * n(size=5),
        "C": n(size=(3, 3)) + 1j * n(size=(3, 3)) + 2 * np.eye(3),
        "i": np.array([2, 0, 1]), "j": np.array([1, 3, 0, 2]), "k": np.arange(12).reshape(3, 4),
        "b": rng.uniform(size=(3, 4)) > 0.4,
    }  # fmt: skip


def sym(a: Any) -> Any:
    return a + np.conj(np.swapaxes(a, -1, -2))


def spd(a: Any) -> Any:
    return a @ np.conj(np.swapaxes(a, -1, -2)) + 2 * np.eye(a.shape[-1])


def size(z: Any) -> Any:
    return np.real(z) ** 2 + np.imag(z) ** 2


def copied(x: Any) -> Any:
    h = np.zeros((3, 4))
    np.copyto(h, x[0], where=np.array([True, False, True, True]))
    return h * x


def filled(x: Any, s: Any) -> Any:
    h = x * x
    np.fill_diagonal(h, s)
    return h * x


def put(x: Any, w: Any) -> Any:
    h = x * x
    np.put(h, [0, 5, 5, 11], w)
    return h * x


def put_along(x: Any, w: Any) -> Any:
    h = x * x
    np.put_along_axis(h, np.array([[1, 3, 0, 2]]), w[None] * w, 1) if h.shape[0] == 1 else None
    np.put_along_axis(h, np.array([[1], [3], [0]]), w[:3, None] * w[0], 1)
    return h * x


def placed(x: Any, w: Any) -> Any:
    h = x * x
    np.place(h, np.arange(12).reshape(3, 4) % 3 == 1, w)
    return h * x


def masked(x: Any, y: Any) -> Any:
    h = x * x
    np.putmask(h, np.arange(12).reshape(3, 4) % 3 == 1, y * y)
    return h * x


HELPERS = {f.__name__: f for f in (sym, spd, size, copied, filled, put, put_along, placed, masked)}

NUMPY = """
np.abs(x)|np.abs(c)|np.absolute(x)|np.fabs(x)|np.acos(r)|np.arccos(r)|np.acosh(p + 1)
np.arccosh(p + 1)|np.add(x, w)|np.all(b, 0)|np.allclose(x, y)|np.amax(d, 0)|np.amin(d, 1)
np.angle(c)|np.any(b, 1)|np.append(x, w)|np.append(x, w[None], 0)
np.apply_along_axis(lambda a: np.cumsum(a * a), 1, x)|np.apply_over_axes(np.sum, x, (0, 1))
np.arcsin(r)|np.asin(r)|np.arcsinh(x)|np.asinh(x)|np.arctan(x)|np.atan(x)|np.arctan2(x, w)
np.atan2(x, y)|np.arctanh(r)|np.atanh(r)|np.arctanh(c)|np.arcsin(c)|np.argmax(d, 0)|np.argmin(d)
np.argpartition(e, 3)[:3].sum()|np.argsort(d, 1)|np.argwhere(b)|np.around(d, 1)|np.round(d)
np.rint(d)|np.fix(d)|np.floor(d)|np.ceil(d)|np.trunc(d)|np.array_equal(x, x)|np.array_equiv(x, x)
np.array_split(v, 3)|np.array_split(x, [1, 3], 1)|np.astype(x, np.float64)
np.astype(c, np.complex128)|np.atleast_1d(s)|np.atleast_2d(v)|np.atleast_3d(x)
np.average(x, 0, y[:, 0] + 4)|np.average(x, weights=p)|np.bincount(j, w)|np.bitwise_and(k, 3)
np.bitwise_or(k, 3)|np.bitwise_xor(k, 3)|np.invert(k)|np.bitwise_not(k)|np.bitwise_invert(k)
np.left_shift(k, 2)|np.right_shift(k, 1)|np.bitwise_left_shift(k, 1)|np.bitwise_right_shift(k, 1)
np.block([[A, B], [B, A * A]])|np.broadcast_arrays(x, w)|np.broadcast_to(w, (3, 4))|np.cbrt(x)
np.can_cast(x.dtype, float)|np.choose(np.array([0, 1, 1, 0]), [x, y])|np.clip(d, -1.1, 1.1)
np.clip(x, y - 1, y + p)|np.column_stack([w, x.T])|np.compress([True, False, True], x, 0)
np.concat([x, y], 1)|np.concatenate([x, y, x * y])|np.concatenate([x, c], None)|np.conj(c)
np.conjugate(c * c)|np.convolve(v, w)|np.convolve(v, w, "same")|np.convolve(v, w, "valid")
np.convolve(z, w)|np.copy(x)|np.copysign(x, y)|copied(x) # np.copyto(|np.corrcoef(x)
np.corrcoef(x, y)|np.correlate(v, w, "full")|np.correlate(w, z)|np.cos(x)|np.cos(c)|np.cosh(x)
np.cosh(c)|np.count_nonzero(b, 0)|np.cov(x)|np.cov(x, y, bias=True)|np.cov(c)|np.cov(x, aweights=q)
np.cross(A, B)|np.cross(L, L[::-1] * L)|np.cumprod(x, 1)|np.cumprod(x)|np.cumsum(x, 0)|np.cumsum(x)
np.cumulative_prod(v)|np.cumulative_sum(x, axis=1, include_initial=True)|np.deg2rad(x)
np.degrees(x)|np.delete(x, 1, 0)|np.diag(v)|np.diag(x, 1)|np.diag_indices_from(A)|np.diagflat(x)
np.diagonal(T, 1, 1, 2)|np.diff(x)|np.diff(x, 2, 0)|np.diff(x, prepend=s, append=x)
np.digitize(d, [-1.0, 0, 1])|np.divide(x, p)|np.divide(c, C[:, :1])|np.divmod(p, q)|np.dot(x, w)
np.dot(T, L)|np.dsplit(T, 2)|np.dstack([x, y])|np.ediff1d(x)|np.ediff1d(v, s, w)
np.einsum("ij,kj->ik", x, y)|np.einsum("ij,jk,kl->il", A, B, A)|np.einsum("ii->i", A)
np.einsum("...i,i", T, w)|np.equal(x, y)|np.exp(x)|np.exp(c)|np.exp2(x)|np.expand_dims(x, (0, 2))
np.expm1(x)|np.expm1(c)|np.extract(b, x)|filled(x, s) # np.fill_diagonal(|np.flatnonzero(b)
np.flip(x)|np.flip(x, 1)|np.fliplr(x)|np.flipud(x)|np.float_power(p, x)|np.floor_divide(p, q)
np.fmax(x, y)|np.fmin(x, w)|np.fmod(p, q)|np.fmod(d, q)|np.full_like(x, s)|np.geomspace(s, t, 5)
np.geomspace(p, q, 4)|np.gradient(v)|np.gradient(x, 0.3, axis=1)|np.gradient(v, g[:5])
np.gradient(x, edge_order=2, axis=0)|np.gradient(x)|np.greater(x, y)|np.greater_equal(x, y)
np.less(x, y)|np.less_equal(x, y)|np.not_equal(x, y)|np.heaviside(x, s)|np.histogram(d, 4)
np.histogram(e, 3, weights=e * e)[0]|np.hsplit(x, 2)|np.hstack([x, y])|np.hypot(x, w)
np.hypot(x, y * 2)|np.i0(p)|np.imag(c)|np.real(c)|np.inner(x, y)|np.inner(T, w)
np.insert(x, 1, w, 0)|np.insert(v, [1, 3], s)|np.interp(u, q[:4].cumsum(), w)
np.interp(g[::-1] * 0.7, g, g * g)|np.interp(u * 3, np.arange(4.0), w, period=3.5)
np.interp(x, np.arange(4.0), w, left=s, right=t)|np.isclose(x, y)|np.iscomplex(c)
np.iscomplexobj(c)|np.isfinite(x)|np.isin(k, j)|np.isinf(x)|np.isnan(x)|np.isneginf(x)
np.isposinf(x)|np.isreal(c)|np.isrealobj(c)|np.kron(A, w)|np.kron(A, L)|np.lexsort((v, v[::-1]))
np.linspace(s, t, 6)|np.linspace(x, y, 3, axis=1)|np.linspace(s, w, 4, endpoint=False)|np.log(p)
np.log(c)|np.log10(p)|np.log10(c)|np.log1p(p)|np.log1p(c)|np.log2(p)|np.log2(c)|np.logaddexp(x, y)
np.logaddexp2(x, w)|np.logical_and(b, x)|np.logical_not(b)|np.logical_or(b, x)|np.logical_xor(b, x)
np.logspace(s, t, 4)|np.logspace(x, y, 3, base=2.0)|np.matmul(T, L)|np.matmul(A, C)
np.matrix_transpose(T)|np.matvec(K, L[:2])|np.vecmat(L[:2], K)|np.vecdot(x, y)|np.vecdot(c, x)
np.max(d)|np.max(d, 1, keepdims=True)|np.maximum(x, y)|np.minimum(x, w)|np.may_share_memory(x, y)
np.shares_memory(x, y)|np.mean(x, 1)|np.mean(c)|np.median(d, 0)|np.median(d)|np.median(e)
np.meshgrid(v, w)|np.meshgrid(v, w, indexing="ij")|np.min(d, 0)|np.mod(p, q)|np.mod(d, q)
np.remainder(d, p)|np.modf(d)|np.moveaxis(T, 0, 2)|np.multiply(x, w)|np.multiply(c, x)
np.nan_to_num(x)|np.nanargmax(d, 1)|np.nanargmin(d)|np.nancumprod(x, 1)|np.nancumsum(x)
np.nanmax(d, 0)|np.nanmean(x, 1)|np.nanmedian(d, 1)|np.nanmin(d)|np.nanpercentile(d, 30, 0)
np.nanprod(x, 0)|np.nanquantile(d, 0.3)|np.nanstd(x, 0)|np.nansum(x)|np.nanvar(x, 1, ddof=1)
np.ndim(x)|np.negative(x)|np.nextafter(x, y)|np.nonzero(b)|np.ones_like(x)|np.outer(v, w)
np.outer(x, w)|np.pad(x, 1)|np.pad(x, ((1, 2), (0, 1)), "reflect")|np.pad(x, 2, "wrap")
np.pad(x, 1, "edge")|np.pad(x, 2, "symmetric")|np.pad(x, 2, "linear_ramp", end_values=0.5)
np.pad(x, 1, "mean")|np.pad(x, 1, constant_values=2.0)|np.pad(d, 1, "maximum")
np.pad(x, 2, "reflect", reflect_type="odd")|np.pad(d, 1, "median")|np.partition(e, 3)[3]
np.percentile(d, [10, 60], 0)|np.permute_dims(T, (1, 2, 0))
np.piecewise(d, [d < 0, d > 1], [lambda a: a * a, np.exp, 0.5])|placed(x, w) # np.place(|np.poly(v)
np.polyadd(v, w)|np.polyder(v)|np.polyder(v, 2)|np.polyfit(g, g * v[0] + np.sin(g), 2)
np.polyint(v)|np.polyint(v, 2, [s, t])|np.polymul(v, w)|np.polysub(v, w)|np.polyval(v, x)
np.polyval(z, x)|np.positive(x)|np.pow(p, w)|np.power(p, x)|np.power(c, s)|np.power(x, 3)
np.power(C, C)|np.prod(x)|np.prod(x, 1)|np.prod(c, 0)|np.ptp(d)|np.ptp(d, 0)|put(x, w) # np.put(
put_along(x, w) # np.put_along_axis(|masked(x, y) # np.putmask(|np.quantile(d, 0.4)
np.quantile(d, u[0], 1)|np.quantile(e, 0.4, method="hazen")
np.quantile(d, 0.3, 1, weights=np.arange(1, 13).reshape(3, 4), method="inverted_cdf")|np.rad2deg(x)
np.radians(x)|np.ravel(x)|np.ravel(x, "F")|np.real_if_close(c)|np.reciprocal(p)|np.reciprocal(c)
np.repeat(x, 2, 1)|np.repeat(x, [1, 0, 2], 0)|np.reshape(x, (4, 3))
np.reshape(x, (2, -1), order="F")|np.resize(x, (5, 3))|np.result_type(x, y)|np.roll(x, 2)
np.roll(x, (1, -1), (0, 1))|np.rollaxis(T, 2)|size(np.roots(w)).sum()|np.rot90(x)|np.rot90(x, 3)
np.searchsorted(g, d)|np.select([b, ~b], [x, y], 0.0)|np.select([x > 0, y > 0], [x * y, y], s)
np.shape(x)|np.sign(x)|np.signbit(x)|np.sin(x)|np.sin(c)|np.sinc(x)|np.sinh(x)|np.sinh(c)
np.size(x)|np.sort(d)|np.sort(d, 0)|np.sort(d, None)|np.spacing(x)|np.split(x, 2, 1)|np.sqrt(p)
np.sqrt(c)|np.square(x)|np.square(c)|np.squeeze(x[None])|np.stack([x, y], 1)|np.std(x)
np.std(x, 0, ddof=1)|np.std(c, 1)|np.subtract(x, w)|np.sum(x)|np.sum(T, (0, 2))|np.sum(x, where=b)
np.swapaxes(T, 0, 2)|np.take(x, [1, 1, 2], 0)|np.take(x, [13, -1], mode="wrap")|np.take(x, 5)
np.take_along_axis(x, np.array([[1], [0], [3]]), 1)|np.tan(r)|np.tan(c)|np.tanh(x)|np.tanh(c)
np.tensordot(T, x, ((1, 2), (0, 1)))|np.tensordot(x, L, 1)|np.tile(x, 2)|np.tile(x, (2, 1, 2))
np.trace(x)|np.trace(T, 1, 0, 2)|np.transpose(T)|np.transpose(T, (2, 0, 1))|np.trapezoid(x)
np.trapezoid(w * w, q.cumsum())|np.trapezoid(x, dx=s, axis=0)|np.tril(A)|np.tril(x, 1)
np.tril_indices_from(A)|np.triu(x)|np.triu(x, -1)|np.triu_indices_from(A)|np.true_divide(x, p)
np.unique(e)|np.unique(k % 5, return_counts=True)|np.unique_all(k % 5)|np.unique_counts(k % 3)
np.unique_inverse(k % 3)|np.unique_values(k % 3)|np.unstack(x)|np.unstack(x, axis=1)
np.unwrap(d * 3)|np.vander(v)|np.vander(v, 3, True)|np.var(x)|np.var(c, 0)
np.var(x, 1, ddof=1, keepdims=True)|np.vdot(x, y)|np.vdot(c, c * c)|np.vsplit(T, 2)
np.vstack([x, w])|np.where(b, x, y)|np.where(x > 0, x * x, w)|np.zeros_like(x)
np.empty_like(x).shape|np.array2string(v)|np.array_repr(v)|np.array_str(v)|np.fft.fft(x)
np.fft.fft(c, 6)|np.fft.fft(c, 3, 0, "ortho")|np.fft.fft2(c)|np.fft.fft2(x, (5, 2))|np.fft.fftn(T)
np.fft.fftn(T, axes=(0, 2), norm="forward")|np.fft.fftshift(x)|np.fft.ifftshift(v)|np.fft.hfft(z)
np.fft.hfft(c, 5)|np.fft.ifft(c)|np.fft.ifft(x, 7)|np.fft.ifft2(c)|np.fft.ifftn(c, norm="ortho")
np.fft.ihfft(x)|np.fft.ihfft(v, 7)|np.fft.irfft(z)|np.fft.irfft(c, 5)|np.fft.irfft(c, 3, 0)
np.fft.irfft2(c)|np.fft.irfft2(c, (3, 5))|np.fft.irfftn(c)|np.fft.rfft(x)|np.fft.rfft(v)
np.fft.rfft(x, 7, 0)|np.fft.rfft2(x)|np.fft.rfft2(M, (4, 5))|np.fft.rfftn(T)
np.fft.rfftn(T, axes=(0, 1))|np.linalg.cholesky(spd(A))|np.linalg.cholesky(spd(C))
np.linalg.cholesky(spd(K), upper=True)|np.linalg.cond(A)|np.linalg.cond(A, 1)
np.linalg.cond(A, "fro")|np.linalg.cond(A, -2)|np.linalg.cross(A, B)|np.linalg.det(A)
np.linalg.det(K)|np.linalg.det(C)|np.linalg.diagonal(T)|size(np.linalg.eig(A)[0]).sum()
np.linalg.eigh(sym(A))[0]|np.abs(np.linalg.eigh(sym(A))[1])|np.abs(np.linalg.eigh(sym(C))[1])
np.linalg.eigh(sym(C), "U")[0]|size(np.linalg.eigvals(A)).sum()|np.abs(np.linalg.eigvals(C)).prod()
np.linalg.eigvalsh(sym(K))|np.linalg.inv(A)|np.linalg.inv(K)|np.linalg.inv(C)
np.linalg.lstsq(L, v[:4])[0]|np.linalg.lstsq(L, x.T)[1]|np.linalg.matmul(A, B)
np.linalg.matrix_norm(x)|np.linalg.matrix_norm(K, ord="nuc")|np.linalg.matrix_norm(x, ord=2)
np.linalg.matrix_norm(x, ord=-2)|np.linalg.matrix_norm(x, ord=1)
np.linalg.matrix_norm(x, ord=np.inf)|np.linalg.matrix_power(A, 3)|np.linalg.matrix_power(A, -2)
np.linalg.matrix_power(A, 0)|np.linalg.matrix_rank(A)|np.linalg.matrix_transpose(T)
np.linalg.multi_dot([A, B, A, L.T])|np.linalg.norm(x)|np.linalg.norm(x, axis=1)
np.linalg.norm(x, 3, 0)|np.linalg.norm(c)|np.linalg.norm(x, "nuc")|np.linalg.norm(v, 1)
np.linalg.norm(v, np.inf)|np.linalg.norm(v, -np.inf)|np.linalg.norm(c, 2)
np.linalg.norm(c, axis=0, keepdims=True)|np.linalg.norm(p, -1.5, 0)|np.linalg.outer(v, w)
np.linalg.pinv(L)|np.linalg.pinv(K)|np.linalg.pinv(c)|np.linalg.pinv(sym(A), hermitian=True)
np.linalg.qr(L)|np.linalg.qr(A)|np.linalg.qr(C)|np.linalg.qr(x, "r")|np.linalg.qr(K)
np.linalg.slogdet(A)|np.linalg.slogdet(C)|np.linalg.slogdet(K)|np.linalg.solve(A, B)
np.linalg.solve(K, L[:3, 0])|np.linalg.solve(C, x)|np.linalg.solve(A, x)|np.linalg.svd(L, False)[1]
np.linalg.svd(L, False)[0] @ np.linalg.svd(L, False)[2]|np.linalg.svd(c, compute_uv=False)
np.abs(np.linalg.svd(c, False)[0])|np.abs(np.linalg.svd(L, False)[2])|np.linalg.svdvals(x)
np.linalg.svdvals(K)|np.linalg.tensordot(T, x, axes=((1, 2), (0, 1)))
np.linalg.tensorinv(M.reshape(6, 7)[:, :6].reshape(2, 3, 6))
np.linalg.tensorsolve(M[:, :6].reshape(2, 3, 6), x[:2, :3])|np.linalg.trace(K)
np.linalg.trace(T, offset=1)|np.linalg.vecdot(c, x)|np.linalg.vector_norm(x)
np.linalg.vector_norm(x, axis=0, ord=3)|np.linalg.vector_norm(c, ord=1)|np.nan_to_num(c)
np.broadcast_shapes((3, 1), (1, 4))|np.ix_([0, 1], [1, 2])
"""

SCIPY = """
fft.dct(x)|fft.dct(x, 1)|fft.dct(x, 3, norm="ortho")|fft.dct(x, 4)|fft.dct(v, 2, 8)|fft.dct(c)
fft.dct(x, 1, norm="ortho")|fft.dctn(x)|fft.dctn(T, 3, axes=(0, 2))|fft.dst(x)|fft.dst(x, 1)
fft.dst(x, 3)|fft.dst(x, 4, norm="ortho")|fft.dstn(x)|fft.idct(x)|fft.idct(x, 1)|fft.idct(x, 3)
fft.idct(x, 4)|fft.idctn(x, norm="ortho")|fft.idst(x)|fft.idst(x, 1)|fft.idst(x, 3)|fft.idst(x, 4)
fft.idstn(x)|fft.fft(c)|fft.fft2(c)|fft.fftn(T)|fft.fftfreq(5)|fft.rfftfreq(5)|fft.fftshift(x)
fft.ifftshift(x)|fft.hfft(z)|fft.ihfft(v)|fft.ifft(c)|fft.ifft2(c)|fft.ifftn(T)|fft.irfft(z)
fft.irfft2(c)|fft.irfftn(c)|fft.rfft(x)|fft.rfft2(x)|fft.rfftn(T)|linalg.block_diag(A, x, s)
linalg.block_diag(C, v)|linalg.cho_solve(sp.linalg.cho_factor(spd(A)), L[:3])
linalg.cho_factor(spd(A), True)[0][2, 0]|linalg.cho_solve((np.linalg.cholesky(spd(C)), True), C)
linalg.cholesky(spd(A), lower=True)|linalg.circulant(v)|linalg.companion(v)|linalg.coshm(A)
linalg.cosm(A)|linalg.cosm(C)|linalg.det(A)|size(sp.linalg.eig(A)[0]).sum()|linalg.eigh(sym(A))[0]
size(sp.linalg.eigvals(A)).prod()|linalg.eigvalsh(sym(A))|linalg.expm(A)|linalg.expm(C)
linalg.expm(K)|linalg.expm(A * 4)|linalg.expm_frechet(A, B)
linalg.expm_frechet(A, B, compute_expm=False)|linalg.fiedler(v)|linalg.hankel(v)
linalg.hankel(v, w)|linalg.inv(A)|linalg.khatri_rao(A, B)|linalg.khatri_rao(L, x.T)
linalg.logm(spd(A))|linalg.logm(spd(C))|linalg.logm(sp.linalg.expm(A * 0.3))|linalg.lstsq(L, w)[0]
linalg.lu(A)|linalg.lu(A, True)|linalg.lu(C, p_indices=True)[1:]|linalg.lu(K)
linalg.lu_factor(A)[0]|linalg.lu_solve(sp.linalg.lu_factor(A), B)
linalg.lu_solve(sp.linalg.lu_factor(A), B, 1)|linalg.lu(L)|linalg.lu(x)|linalg.norm(x)
linalg.norm(x, 1)|linalg.pinv(L)|linalg.qr(A)|linalg.qr(L, mode="r")|linalg.sinhm(A)|linalg.sinm(A)
linalg.solve(A, x)|linalg.solve_banded((1, 1), A, v[:3])
linalg.solve_banded((1, 1), B + np.array([[0.0], [4], [0]]), A)
linalg.solve_continuous_lyapunov(A, B)|linalg.solve_continuous_lyapunov(C, C.T)
linalg.solve_discrete_lyapunov(A, B)|linalg.solve_discrete_lyapunov(A * 0.3, B, method="bilinear")
linalg.solve_sylvester(A, K[0], x[:, :3])|linalg.solve_sylvester(A + 0j, C, B)
linalg.solve_toeplitz(v + np.array([9.0, 0, 0, 0, 0]), v * v)
linalg.solve_toeplitz((q + 3, w), x.T)|linalg.solve_triangular(A, B)
linalg.solve_triangular(A, B, lower=True)
linalg.solve_triangular(A, v[:3], trans=1, unit_diagonal=True)
linalg.solve_triangular(C, C.T, "C", True)|linalg.sqrtm(spd(A))|linalg.sqrtm(spd(C))
linalg.svd(L, False)[1]|linalg.svdvals(x)|linalg.tanhm(A)|linalg.tanm(A)|linalg.toeplitz(v)
linalg.solveh_banded(np.stack([v, v * v + 5]), e[:5])
linalg.solveh_banded(M[:2, :5] + np.array([[9.0], [0]]), e[:5], lower=True)
linalg.cholesky_banded(np.stack([v, v * v + 5]) * (np.arange(2)[:, None] + np.arange(5) > 0))
linalg.cho_solve_banded((np.stack([v, v * v + 5]), False), e[:5])
linalg.eigh_tridiagonal(v, w)[0]|np.abs(sp.linalg.eigh_tridiagonal(v, w)[1])
linalg.eigvalsh_tridiagonal(v, w)
linalg.pinvh(sym(A))|linalg.fractional_matrix_power(spd(A), 0.7)
linalg.fractional_matrix_power(A, 3)
linalg.matmul_toeplitz(v, e[:5])|linalg.matmul_toeplitz((q, w), x.T)
linalg.solve_circulant(v, e[:5])
linalg.solve_circulant(z, e[:5])|linalg.solve_circulant(q, x.T)|linalg.convolution_matrix(v, 3)
linalg.convolution_matrix(v, 3, "same")|linalg.convolution_matrix(w, 6, "valid")
linalg.toeplitz(v, w)|linalg.toeplitz(z)|linalg.toeplitz(z, w)|linalg.sqrtm(sp.linalg.expm(A))
linalg.polar(A)|linalg.polar(L)|linalg.polar(x, side="left")|linalg.polar(C, "left")
linalg.orthogonal_procrustes(A, B)|linalg.orthogonal_procrustes(L, L + w[:, None])
linalg.solve_continuous_are(A, L[:3, :2], spd(B), spd(A[:2, :2]))
linalg.solve_continuous_are(C, C[:, :2], spd(B), spd(A[:2, :2]), s=C[:, 1:] * 0.1)
linalg.solve_discrete_are(A, L[:3, :2], spd(B), spd(A[:2, :2]))
linalg.solve_discrete_are(C, C[:, :2], spd(B), spd(A[:2, :2]), s=C[:, 1:] * 0.1)
integrate.cumulative_simpson(x)|integrate.cumulative_simpson(x, x=q.cumsum(), initial=0)
integrate.cumulative_simpson(x, dx=s, axis=0)|integrate.cumulative_simpson(x[:, :2])
integrate.cumulative_trapezoid(x)|integrate.cumulative_trapezoid(x, q.cumsum(), initial=0)
integrate.cumulative_trapezoid(x, dx=s, axis=0)
integrate.fixed_quad(lambda a: np.sin(s * a), s, t, n=4)[0]|integrate.simpson(v)
integrate.simpson(x)|integrate.simpson(x, q.cumsum())|integrate.simpson(x, dx=s, axis=0)
integrate.simpson(v, g[:5])|integrate.simpson(e, dx=t)|integrate.trapezoid(x, axis=0)
integrate.trapezoid(g * g, g)|interpolate.BSpline(np.arange(9.0), v, 3)(u * 2 + 3)
interpolate.BSpline(np.arange(9.0), v, 3)(s + 3, 1)
interpolate.BSpline(np.arange(9.0), np.stack([v, v * v], 1), 3)(g, extrapolate=False)[:1] * 0
interpolate.BSpline(np.arange(8.0), v, 2).derivative()(u * 2 + 3)
interpolate.BSpline(np.arange(9.0), v, 3).antiderivative()(u + 3)
interpolate.BSpline(np.arange(9.0), v, 3)(x * 4)
interpolate.CubicSpline(g, np.sin(g) * s)(u * 5 + 1)
interpolate.CubicSpline(g, x[:1, :1] + np.cos(g)[:, None], bc_type="natural")(u[0] * 4 + 2)
interpolate.CubicSpline(q.cumsum(), x, axis=1, bc_type="clamped")(s + 1)
interpolate.CubicSpline(g, np.sin(g))(s + 2, 1)
interpolate.CubicSpline(g, np.concatenate([e[:5], e[:1]]), bc_type="periodic")(x * 9)
interpolate.CubicSpline(q[:3].cumsum(), w[:3])(u)
interpolate.CubicSpline(g, np.sin(g), extrapolate=False)(g[:3] + 0.2)
interpolate.PchipInterpolator(g, np.sin(g * s))(u * 5 + 1)
interpolate.Akima1DInterpolator(g, np.sin(g) * s)(u * 5 + 1)
interpolate.Akima1DInterpolator(q.cumsum(), x, axis=1, method="makima")(u[0] + 1)
interpolate.CubicHermiteSpline(g, np.sin(g), g * s)(x * 5)
interpolate.CubicHermiteSpline(q.cumsum(), x, y, axis=1)(u[0] + 1, 1)
interpolate.RegularGridInterpolator((q[:3].cumsum(), q.cumsum()), x)(np.stack([u[0] + 0.9] * 2, 1))
interpolate.RegularGridInterpolator((g, np.arange(7.0)), M, "nearest")((u[0] * 5, q))
interpolate.RegularGridInterpolator((g, np.arange(7.0)), M, "linear", False, None)((x * 5, y * 5))
interpolate.RegularGridInterpolator((g, np.arange(7.0)), M, "linear", False)((x * 5, y * 5))
interpolate.interpn((np.arange(6.0),), M, u.reshape(-1, 1) * 4)
interpolate.interpn((g, np.arange(7.0)), M, np.stack([u * 4 + 1, u * 6], -1), bounds_error=False)
interpolate.PchipInterpolator(q.cumsum(), x, axis=1)(u[0] * 2 + 1)
interpolate.PchipInterpolator(g, np.exp(g / 5))(s + 1, 1)
interpolate.PchipInterpolator(g, d[0, 0] * g * g)(x * 9)
interpolate.PchipInterpolator(q[:2].cumsum(), w[:2])(u + q[0])
interpolate.make_interp_spline(g, np.sin(g) * s)(x * 9)
interpolate.make_interp_spline(q.cumsum(), x, 2, axis=1)(u[0] * 2, 1)
interpolate.make_interp_spline(g, np.sin(g), 4, bc_type=([(1, s)], [(1, t), (2, s)]))(u * 4 + 2)
interpolate.make_interp_spline(g, np.concatenate([e[:5], e[:1]]), 4, bc_type="periodic")(x * 9)
ndimage.affine_transform(M, A[:2, :2], order=1)
ndimage.affine_transform(M, np.array([[0.8, 0.13], [-0.1, 0.9]]), (s, t))
ndimage.affine_transform(M, np.array([0.8, 1.1]), s, order=2, mode="nearest")
ndimage.affine_transform(M, A[:2] * 0.3)|ndimage.center_of_mass(p)
ndimage.center_of_mass(p, np.array([[0, 1, 1, 2]] * 3), [1, 2])|ndimage.convolve(M, A)
ndimage.convolve(M, A, mode="constant", cval=0.4)|ndimage.convolve(M, L[:2, :2], origin=-1)
ndimage.convolve1d(M, w)|ndimage.convolve1d(M, w[:3], 0, mode="wrap", origin=1)
ndimage.correlate(M, A, mode="mirror")|ndimage.correlate1d(M, v, mode="reflect")
ndimage.correlate1d(x, v, mode="mirror")|ndimage.gaussian_filter(M, 1.2)
ndimage.gaussian_filter(M, s)|ndimage.gaussian_filter(M, (s, 0.6), order=(1, 0))
ndimage.gaussian_filter(T, 0.5, axes=(1, 2))|ndimage.gaussian_filter1d(M, 0.9, 0, 2)
ndimage.gaussian_filter1d(v, t, mode="nearest", radius=2)
ndimage.gaussian_gradient_magnitude(M, 1.0)|ndimage.gaussian_laplace(M, (1.0, 0.7))
ndimage.laplace(M)|ndimage.laplace(T, mode="wrap")
ndimage.map_coordinates(M, np.stack([u * 5, u * 3 + 1]))
ndimage.map_coordinates(M, np.stack([u * 5, u * 3 + 1]), order=1)
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=2, mode="mirror")
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=3, mode="wrap")
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=3, mode="reflect")
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=1, mode="grid-wrap")
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=4, mode="nearest")
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=5, mode="grid-constant", cval=0.3)
ndimage.map_coordinates(M, np.stack([x * 5, y * 3]), order=3, cval=0.3)
ndimage.map_coordinates(v, x[None] * 2, order=0)
ndimage.map_coordinates(M, np.stack([u * 5, u * 3 + 1]), prefilter=False)
ndimage.maximum_filter(M, 3)|ndimage.minimum_filter(M, (2, 3))|ndimage.median_filter(M, 3)
ndimage.median_filter(M, footprint=[[0, 1, 0], [1, 1, 1]])
ndimage.maximum_filter(M, 3, mode="constant", cval=0.5)|ndimage.minimum_filter(v, 3, origin=1)
ndimage.prewitt(M)|ndimage.sobel(M, 0)|ndimage.sobel(M, mode="constant")|ndimage.rotate(M, 20.0)
ndimage.rotate(M, s * 10, reshape=False)|ndimage.rotate(M, 90.0, order=1)
ndimage.rotate(M, -33.0, reshape=False, mode="nearest", order=2)|ndimage.rotate(T, 30.0, (1, 2))
ndimage.shift(M, s)|ndimage.shift(M, (s, -t), order=1)|ndimage.shift(M, w[:2], mode="wrap")
ndimage.shift(v, t, order=2, mode="mirror")|ndimage.shift(M, (0.3, 1.2), mode="grid-wrap")
ndimage.spline_filter(M)|ndimage.spline_filter(M, 2)|ndimage.spline_filter(M, 4)
ndimage.spline_filter1d(v)|ndimage.spline_filter1d(M, 5, 0, mode="reflect")
ndimage.spline_filter1d(M, 3, 1, mode="grid-wrap")|ndimage.uniform_filter(M)
ndimage.uniform_filter(M, (2, 4), mode="wrap")|ndimage.uniform_filter1d(M, 3)
ndimage.uniform_filter1d(v, 4, origin=1)|ndimage.zoom(M, 1.7)|ndimage.zoom(M, (0.6, 1.4), order=1)
ndimage.zoom(v, 2.0, order=2, mode="nearest")
ndimage.zoom(M, 1.5, grid_mode=True, mode="grid-constant")|signal.convolve(v, w)
signal.convolve(M, A, "same")|signal.convolve(M, A, "valid")|signal.convolve(z, w, method="fft")
signal.convolve(A, M, "same")|signal.correlate(v, z)|signal.correlate(M, A, "valid")
signal.correlate(A, M, "valid")|signal.correlate(A, M, "same")|signal.fftconvolve(M, A)
signal.fftconvolve(M, x, "same")|signal.fftconvolve(M, M[:1], axes=1)|signal.convolve2d(M, A)
signal.convolve2d(M, A, "same")|signal.correlate2d(M, A, "valid")|signal.correlate2d(M, C)
signal.correlate2d(A, M, "same")|signal.detrend(M)|signal.detrend(M, 0, "constant")
signal.detrend(v)|signal.hilbert(M)|signal.hilbert(M, 9)|signal.hilbert(x, axis=0)
signal.filtfilt(q[:2], np.array([1.0, 0.3]), M[:, :7] * 1, padlen=3)
signal.filtfilt(q[:3], np.concatenate([[1.0], r[0, :1]]), np.concatenate([e, e]), padlen=4)
signal.filtfilt(q[:2], [1.0, -0.4], e, padtype="even", padlen=2)
signal.filtfilt(q[:2], [1.0, -0.4], e, padtype=None)
signal.filtfilt(q[:2], [1.0, -0.4], M, 0, padtype="constant", padlen=3)|signal.lfilter(v, q, M)
signal.lfilter(v, [2.0], M, 0)|signal.lfilter(w[:2], z[:2], e)
signal.lfilter(w[:2], q[:2], e, zi=v[:1])|signal.lfilter([s], q, e)|signal.lfilter_zi(v, q)
signal.lfilter_zi(w[:2], q)
signal.sosfilt(np.array([[1.0, 0.4, 0.2, 1, 0.3, 0.1], [1, 0.2, 0.1, 1, -0.3, 0.2]]) * s / s, e)
signal.sosfilt(np.concatenate([x[:2, :3], np.ones((2, 1)), r[:2, :2]], 1), M)
signal.sosfilt_zi(np.concatenate([x[:2, :3], np.ones((2, 1)), r[:2, :2]], 1))
signal.sosfilt(np.concatenate([x[:2, :3], np.ones((2, 1)), r[:2, :2]], 1), e, zi=x[:2, :2])[1]
signal.upfirdn(w, M, 3, 2)|signal.upfirdn(v, c, 2, 3, 0, "line")|signal.upfirdn(z, e, 3)
signal.upfirdn(e, x, 2, 5, mode="antireflect")|signal.resample_poly(M, 3, 2)
signal.resample_poly(M, 2, 3, 1, w, "mean")|signal.resample_poly(c, 1, 2, 1, padtype="smooth")
signal.welch(M, nperseg=4)|signal.welch(M, 2.0, "hamming", 5, 2, 8, "linear", axis=0)
signal.welch(c, nperseg=3, detrend=False, scaling="spectrum")
signal.welch(M, nperseg=3, average="median")
signal.welch(e, window=np.array([0.5, 1, 0.7]), return_onesided=False)|signal.csd(x, y, nperseg=3)
signal.csd(c, x, nperseg=4, axis=0)|signal.coherence(M, M * M, nperseg=2)|signal.periodogram(M)
signal.periodogram(M, 3.0, "hann", 9, axis=0)|signal.periodogram(M, nfft=5, scaling="spectrum")
signal.spectrogram(M, nperseg=3)|signal.spectrogram(M, 2.0, nperseg=2, noverlap=1, axis=0)
signal.stft(M, nperseg=4)|signal.stft(c, 2.0, nperseg=3, noverlap=1, boundary=None, axis=0)
signal.istft(C)|signal.istft(c, 2.0, noverlap=1, input_onesided=False, scaling="psd")
signal.istft(T, nperseg=3, noverlap=2, time_axis=0, boundary=False)
signal.stft(e, nperseg=4, noverlap=3, padded=False)|signal.resample(M, 9, axis=1)
signal.resample(M, 4, axis=1)|signal.resample(e, 5)|signal.resample(x, 6, axis=1)
signal.resample(x, 2)
signal.savgol_filter(M, 5, 2)|signal.savgol_filter(M, 3, 1, axis=0)
signal.savgol_filter(e, 5, 3, 1, 0.3)
signal.savgol_filter(M, 3, 1, mode="mirror")
signal.savgol_filter(M, 4, 2, mode="constant", cval=0.3)
signal.sosfiltfilt(np.concatenate([x[:2, :3], np.ones((2, 1)), r[:2, :2]], 1), M, padlen=3)
signal.sosfiltfilt([[1.0, 0.4, 0, 1, 0.3, 0]], e, padtype="even")|signal.medfilt(e)
signal.medfilt(M, (3, 1))
signal.medfilt2d(M, 3)|signal.oaconvolve(M, A)|signal.deconvolve(e, w)|signal.deconvolve(e, q)
signal.freqz(w, q, 5)|signal.freqz(z, [1.0], np.array([0.3, 2.0]))
signal.freqz(v, whole=True, worN=4, fs=2)
signal.sawtooth(x * 3)|signal.sawtooth(x * 3, u)|signal.square(x * 3, u)|signal.chirp(x, s, 3.0, t)
signal.chirp(x, s, t, 0.3, "quadratic", 30)
signal.chirp(x, s, t, 0.3, "quadratic", vertex_zero=False)
signal.chirp(x, s, t, 0.4, "logarithmic")|signal.chirp(x, t, 5.0, s, "hyperbolic")
"""

SUMMARIES = """
gaussian_kde(x)(y)|gaussian_kde(e, s, p[:, 0].sum() * q[0] + np.arange(7))(u[0])
gaussian_kde(x, "silverman", q).logpdf(c.real * 3)|gaussian_kde(e).integrate_box_1d(-s, t)
zscore(x)|zscore(x, None, 1)|zscore(x, 1)|gmean(p)|gmean(p, 1, weights=q)|gmean(p, None)|hmean(p)
hmean(p, 1, weights=q, keepdims=True)|skew(x)|skew(x, 1, False)|skew(x, None)|kurtosis(x)
kurtosis(x, 1, False, False)|kurtosis(e, bias=False)|moment(x, 3)|moment(x, 2, 1, center=0.3)|sem(x)
sem(x, 1, 0)|variation(p)|variation(p, 1, ddof=1)|entropy(p)|entropy(p, p * p, 2.0, 1)
entropy(u, base=3)
"""
SPECIAL = """
beta(p, q)|betainc(1.3, 0.7, u)|betaincc(1.3, 0.7, u)|betaincinv(1.3, 0.7, u)|betaln(p, q)
binom(p + 2, q)|boxcox(p, x)|boxcox1p(p, w)|cbrt(x)|chdtr(3.0, p)|chdtrc(3.0, p)|comb(p + 3, q)
cosm1(x)|dawsn(x)|digamma(p)|digamma(x)|psi(p)|ellipe(r)|ellipeinc(x, 0.4)|ellipk(r)
ellipkinc(x, 0.4)|ellipeinc(x, u)|entr(p)|erf(x)|erf(c)|erfc(x)|erfc(c)|erfcinv(p / 2)|erfcx(x)
erfi(x)|erfinv(r)|exp1(p)|exp10(x)|exp2(x)|expi(p)|expit(x)|expm1(x)|exprel(x)|factorial(p)
fdtr(3.0, 5.0, p)|fdtrc(3.0, 5.0, p)|gamma(p)|gamma(x)|gammainc(1.3, p)|gammaincc(1.3, p)
gammainccinv(1.3, u)|gammaincinv(1.3, u)|gammaln(p)|gammaln(x)|gdtr(p, 1.3, q)|gdtrc(p, 1.3, q)
huber(p, x)|hyp0f1(1.3, x)|hyp1f1(1.3, 0.7, x)|hyp2f1(0.4, 0.9, 1.4, r)|i0(x)|i0e(x)|i1(x)|i1e(x)
inv_boxcox(p, u)|inv_boxcox1p(p, u)|iv(0.7, p)|ive(0.7, p)|iv(2, x)|j0(x)|j1(x)|jn(2, x)|jv(0.7, p)
k0(p)|k0e(p)|k1(p)|k1e(p)|kl_div(p, q)|kn(2, p)|kv(0.7, p)|kve(0.7, p)|log1p(p)|log_expit(x)
log_ndtr(x)|log_softmax(x)|log_softmax(x, 0)|loggamma(p)|logit(u)|logsumexp(x)|logsumexp(x, 1)
logsumexp(x, 0, p, True)|multigammaln(p + 3, 3)|ndtr(x)|ndtri(u)|owens_t(x, w)|owens_t(0.4, x)
pdtr(2, p)|pdtrc(2, p)|poch(p, q)|polygamma(2, p)|polygamma(0, p)|pseudo_huber(p, x)|rel_entr(p, q)
rgamma(x)|rgamma(p)|round(d)|sinc(x)|softmax(x)|softmax(x, 0)|softplus(x)|spence(p)|stdtr(3.0, x)
stdtrit(3.0, u)|wofz(x)|wofz(c)|xlog1py(x, p)|xlogy(x, p)|y0(p)|y1(p)|yn(2, p)|yv(0.7, p)
zeta(p + 1.5)|zeta(p + 1.5, q)|ellipkinc(x, u)|ellipkinc(x * 6, r)|ellipeinc(x * 6, r)
ellipkinc(d * 3, -p * 40)|ellipk(-p)|ellipe(-p * 9)|ellipkm1(u)|ellipkm1(u * 1e-9)|elliprc(p, u)
elliprc(p, -u)|elliprd(p, q, u)|elliprd(p, q, p + 1e-9)|elliprf(p, q, u)|elliprg(p, q, u)
ber(x)|ber(x * 9)|bei(x)|bei(x * 9)|berp(x)|berp(x * 9)|beip(x)|beip(x * 9)|ker(p)|ker(p * 5)
kei(p)|kei(p * 5)|kerp(p)|kerp(p * 5)|keip(p)|keip(p * 5)|kelvin(p)|airye(p)|airye(p * 9)
agm(p, q)|airy(x)|airy(x * 4)|sici(x)|sici(p * 9)|shichi(x)|fresnel(x)|ellipj(x, u)
ellipj(x * 7, u)|expn(2, p)|expn(1, p)|expn(0, p)|expn(np.array([1, 2, 3, 7]), p)|sindg(x * 90)
cosdg(x * 90)|tandg(x * 40)|cotdg(p * 40)|radian(x, y, w)|powm1(p, x)|voigt_profile(x, p, q)
ndtri_exp(-p * 3)|wrightomega(x)|bdtr(2.0, 5.0, u)|bdtrc(2.0, 5.0, u)|nbdtr(2, 5, u)
nbdtrc(2, 5, u)|chdtri(3.0, u)|perm(p + 3, q)|jvp(0.7, p)|jvp(2, p, 2)|yvp(0.7, p)|ivp(0.7, p)
ivp(1.3, p, 3)|kvp(0.7, p)|kvp(0.7, p, 2)|hankel1(0.7, p)|hankel2(0.7, p)|spherical_jn(1, x)
spherical_jn(3, x * 3)|spherical_jn(2, x, True)|spherical_yn(2, p)|spherical_yn(0, p, True)
spherical_in(2, x)|spherical_in(1, x * 2, True)|spherical_kn(1, p)|spherical_kn(2, p, True)
eval_legendre(4, x)|eval_legendre(np.array([0, 1, 3, 6]), x)|eval_chebyt(5, x)|eval_chebyu(3, x)
eval_hermite(4, x)|eval_hermitenorm(5, x)|eval_laguerre(3, x)|eval_genlaguerre(3, p, x)
eval_genlaguerre(0, p, x)|eval_gegenbauer(3, p, x)|eval_jacobi(3, p, q, x)|eval_chebyc(3, x)
eval_chebys(3, x)|eval_sh_legendre(3, x)|eval_sh_chebyt(3, x)|eval_sh_chebyu(3, x)|diric(x, 4)
elliprj(p, q, u, p + 1)|struve(0.7, p)|struve(0, x)|modstruve(0.7, p)|hankel1e(0.7, p)
hankel2e(0.7, p)|jve(0.7, p)|yve(0.7, p)|lambertw(p)|lambertw(c, -1)|lambertw(x - 3, 2)
sph_harm_y(2, 1, p, x)|sph_harm_y(np.array([[3], [2], [1]]), np.array([[-2], [0], [1]]), p, x)
"""


def uses() -> list[str]:
    """All of them, with the names that stand for the name of a use in a comment."""
    numpys = NUMPY + composed_uses.NUMPY
    found = [u.strip() for u in numpys.replace("\n", "|").split("|") if u.strip()]
    for text, prefix in (
        (SCIPY + composed_uses.SCIPY + scipy_uses.SCIPY + scipy_uses.KNOWN_RANK, "sp."),
        (SPECIAL + composed_uses.SPECIAL + scipy_uses.SPECIAL, "sp.special."),
        (SUMMARIES, "sp.stats."),
    ):
        for u in text.replace("\n", "|").split("|"):
            if u.strip():
                u = u.strip()
                found.append(u if u.startswith(("size(", "np.")) else prefix + u)
    return found
