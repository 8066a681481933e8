"""More uses of names, as in `name_uses`: of NumPy's and SciPy's functions that are compositions of
others here."""

from __future__ import annotations

NUMPY = """
np.ldexp(x, k - 5)|np.ldexp(s, 3)|np.frexp(x)|np.frexp(x * 1e-30)[0]|np.gcd(k, 8)|np.lcm(k, j)
np.bitwise_count(k)|np.packbits(k % 3)|np.packbits(k % 2, 1, "little")
np.unpackbits(k.astype(np.uint8))|np.unpackbits(k.astype(np.uint8), 1, 11, "little")
np.ix_(i, j)|x[np.ix_(i, j)]|np.unravel_index(i, (2, 2))|np.unravel_index(k, (4, 3), "F")
np.ravel_multi_index((i, j[:3]), (3, 4))|np.ravel_multi_index((k, k), (2, 5), ("wrap", "clip"), "F")
np.histogram_bin_edges(x)|np.histogram_bin_edges(x, 3, (0, 1))|np.histogram2d(v, e[:5], 3)
np.histogram2d(v, z.real, [2, [-9.0, 0.0, 9.0]], weights=v * v)
np.histogram2d(v, e[:5], [-3.0, 0.0, 0.5, 3.0], density=True, weights=v * v)
np.histogramdd(L, 2, weights=w * w)|np.histogramdd(L, (2, 3, 1), [(-1, 1), None, None])
np.histogramdd([v, v], 2, density=True)|np.polydiv(v, w[:2])|np.polydiv(w[:2], v)
np.polydiv(v, s)|np.sort_complex(c)|np.sort_complex(d)|np.union1d(e, v)
np.intersect1d(e, np.concatenate([v, e[2:5]]))|np.intersect1d(k, j, return_indices=True)
np.setdiff1d(e, e[1:3])|np.setdiff1d(k, j, True)|np.setxor1d(e, np.concatenate([v, e[2:5]]))
np.trim_zeros(np.array([0, 1, 1, 0, 1, 0, 0]) * e)|np.trim_zeros(np.array([0, 1, 0]) * L[0], "b")
"""
SCIPY = """
integrate.quad(lambda a: np.exp(-a * a * s), -0.3, t)[0]
integrate.quad(lambda a, b: b / (1 + a * a), s, np.inf, (t,))[0]
integrate.quad(lambda a: abs(a - 0.4) * t, 0.0, s, points=[0.4])[0]
integrate.quad(lambda a: np.exp(1j * a * s), 0, t, complex_func=True)[0]
integrate.quad_vec(lambda a: np.cos(a * w) + t, s, 1.0)[0]
integrate.dblquad(lambda a, b: np.exp(-a * b * s), 0.0, t, 0.0, lambda b: b)[0]
integrate.tplquad(lambda a, b, o: a * b * s + o, 0.0, t, 0.0, 1.0, 0.0, lambda o, b: o)[0]
integrate.nquad(lambda a, b: np.cos(a * s) * b, [lambda b: (0.0, b), (0.2, t)])[0]
integrate.solve_ivp(lambda m, o: -o * o * s, (0, 1), q, t_eval=[0.3, 1], rtol=1e-10, atol=1e-12).y
integrate.romb(v, 0.3)|integrate.romb(x[:, :3] * t, s)|integrate.romb(x[:2], axis=0)
"""
SPECIAL = """
"""
