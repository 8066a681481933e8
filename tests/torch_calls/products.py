"""Calls of products: matrices, attention; and distributions."""

from __future__ import annotations

from typing import Any

from tests.torch_calls.draws import (
    Case,
    M,
    definite,
    exactly,
    flags,
    positive,
    real,
    whole,
)

DRAWN = {"p": positive(3), "r": real(3), "P": positive(2, 3), "R": real(2, 3)}
KINDS = {
    "Exponential": "pP", "Gamma": "ppP", "Chi2": "pP", "StudentT": "prpR", "Laplace": "rpR",
    "Cauchy": "rpR", "Gumbel": "rpR", "LogNormal": "rpP", "HalfNormal": "pP",
}  # fmt: skip
"""Kinds of parameters (positive, any), and of values."""


def of_kind(distributions: Any, kind: str, given: Any) -> Any:
    made = getattr(distributions, kind)(*given[:-1])
    if kind in ("Cauchy", "StudentT"):
        # No moments; torch's trigamma has 9 digits here.
        return made.log_prob(given[-1]), made.entropy().detach()
    return made.log_prob(given[-1]), made.entropy(), made.mean, made.stddev


def vectors(made: Any, value: Any) -> Any:
    return made.log_prob(value), made.entropy(), made.variance


CASES: dict[str, Case] = {
    # --- products
    "mm": (lambda t, x, y: t.mm(x, mat2=y), (M, real(4, 2))),
    "bmm": (lambda t, x, y: t.bmm(x, y), (real(2, 3, 4), real(2, 4, 2))),
    "mv": (lambda t, x, y: t.mv(x, y), (M, real(4))),
    "dot": (lambda t, x, y: t.dot(x, y), (real(4), real(4))),
    "outer": (lambda t, x, y: t.outer(x, y), (real(2), real(3))),
    "matmul": (lambda t, x, y: t.matmul(x, y), (real(2, 3, 4), real(4, 2))),
    "addmm": (
        lambda t, x, y, z: t.addmm(x, y, z, beta=0.5, alpha=2),
        (real(2), real(2, 3), real(3, 2)),
    ),
    "addmm keywords": (
        lambda t, x, y, z: t.addmm(input=x, mat1=y, mat2=z),
        (real(2, 2), real(2, 3), real(3, 2)),
    ),
    "addmv": (lambda t, x, y, z: t.addmv(x, y, z), (real(2), real(2, 3), real(3))),
    "addbmm": (
        lambda t, x, y, z: t.addbmm(x, y, z, beta=2),
        (real(2, 2), real(3, 2, 3), real(3, 3, 2)),
    ),
    "baddbmm": (
        lambda t, x, y, z: t.baddbmm(x, y, z, alpha=2),
        (real(3, 2, 2), real(3, 2, 3), real(3, 3, 2)),
    ),
    "chain_matmul": (
        lambda t, x, y, z: t.chain_matmul(x, y, z),
        (real(2, 3), real(3, 4), real(4, 2)),
    ),
    "einsum": (lambda t, x, y: t.einsum("ij,kj->ik", x, y), (M, real(2, 4))),
    "einsum list": (lambda t, x, y: t.einsum("ij,kj->ik", [x, y]), (M, real(2, 4))),
    "tensordot": (lambda t, x, y: t.tensordot(x, y, dims=([1], [0])), (M, real(4, 2))),
    "cross": (lambda t, x, y: t.linalg.cross(x, y), (real(2, 3), real(2, 3))),
    "cdist": (lambda t, x, y: t.cdist(x, y), (real(3, 2), real(4, 2))),
    "cdist one": (lambda t, x, y: t.cdist(x, y, p=1.0), (real(2, 3, 2), real(2, 4, 2))),
    "kron": (lambda t, x, y: t.kron(x, y), (real(2, 2), real(1, 2))),
    "matrix_power": (lambda t, x: t.matrix_power(x, 3), (real(3, 3),)),
    "det": (lambda t, x: t.det(x), (real(3, 3),)),
    "inverse": (lambda t, x: t.inverse(x), (definite(3),)),
    "logdet": (lambda t, x: t.logdet(x), (definite(3),)),
    "slogdet": (lambda t, x: t.slogdet(x), (real(3, 3),)),
    "linalg.solve": (lambda t, x, y: t.linalg.solve(x, y), (definite(3), real(3, 2))),
    "linalg.solve right": (
        lambda t, x, y: t.linalg.solve(x, y, left=False),
        (definite(3), real(2, 3)),
    ),
    "linalg.solve_triangular": (
        lambda t, x, y: t.linalg.solve_triangular(x, y, upper=True),
        (definite(3), real(3, 2)),
    ),
    "linalg.solve_triangular right": (
        lambda t, x, y: t.linalg.solve_triangular(x, y, upper=False, left=False),
        (definite(3), real(2, 3)),
    ),
    "linalg.cholesky": (lambda t, x: t.linalg.cholesky(x), (definite(3),)),
    "linalg.svd": (lambda t, x: t.linalg.svd(x, full_matrices=False).S, (M,)),
    "linalg.eigh": (lambda t, x: t.linalg.eigh(x).eigenvalues, (definite(3),)),
    "linalg.qr": (lambda t, x: t.linalg.qr(x), (real(4, 3),)),
    "linalg.pinv": (lambda t, x: t.linalg.pinv(x), (M,)),
    "linalg.norm": (lambda t, x: t.linalg.norm(x, dim=1), (M,)),
    "linalg.norm matrix": (lambda t, x: t.linalg.norm(x, "nuc"), (M,)),
    "linalg.norm inf": (lambda t, x: t.linalg.norm(x, float("inf")), (M,)),
    "linalg.vector_norm": (lambda t, x: t.linalg.vector_norm(x, 3, keepdim=True), (M,)),
    "linalg.matrix_norm": (lambda t, x: t.linalg.matrix_norm(x, 1), (M,)),
    "linalg.lstsq": (lambda t, x, y: t.linalg.lstsq(x, y).solution, (real(4, 2), real(4, 1))),
    "linalg.vecdot": (lambda t, x, y: t.linalg.vecdot(x, y, dim=0), (M, M)),
    "linalg.multi_dot": (lambda t, x, y: t.linalg.multi_dot([x, y]), (M, real(4, 2))),
    # --- attention
    "sdpa": (
        lambda t, q, k, v: t.nn.functional.scaled_dot_product_attention(q, k, v),
        (real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)),
    ),
    "sdpa causal": (
        lambda t, q, k: t.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True),
        (real(2, 3, 4), real(2, 5, 4)),
    ),
    "sdpa flags": (
        lambda t, q, m: t.nn.functional.scaled_dot_product_attention(
            q, q, q, attn_mask=m, scale=0.3
        ),
        (real(2, 3, 4), exactly([True, False, True], [False, False, False], [True, True, True])),
    ),
    "sdpa numbers": (
        lambda t, q, m: t.nn.functional.scaled_dot_product_attention(q, q, q, m),
        (real(2, 3, 4), real(3, 3)),
    ),
    "sdpa grouped": (
        lambda t, q, k: t.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        (real(1, 4, 3, 2), real(1, 2, 3, 2)),
    ),
    "tril of flags": (lambda t, c: t.tril(c), (flags(3, 4),)),
    "triu of flags": (lambda t, c: ~c.triu(1), (flags(3, 4),)),
    # --- distributions of more kinds
    **{
        f"distributions.{kind}": (
            lambda t, *given, kind=kind: of_kind(t.distributions, kind, given),
            tuple(DRAWN[letter] for letter in letters),
        )
        for kind, letters in KINDS.items()
    },
    "distributions.MultivariateNormal": (
        lambda t, m, s, x: vectors(t.distributions.MultivariateNormal(m, s @ s.T + t.eye(3)), x),
        (real(3), real(3, 3), real(2, 3)),
    ),
    "distributions.MultivariateNormal tril": (
        lambda t, m, s, x: t.distributions.MultivariateNormal(m, scale_tril=t.tril(s)).log_prob(x),
        (real(3), positive(3, 3), real(2, 3)),
    ),
    "distributions.Dirichlet": (
        lambda t, a, x: vectors(t.distributions.Dirichlet(a), x / x.sum(-1, keepdim=True)),
        (positive(3), positive(2, 3)),
    ),
    "distributions.Independent": (
        lambda t, m, s, x: vectors(t.distributions.Independent(t.distributions.Normal(m, s), 1), x),
        (real(2, 3), positive(2, 3), real(4, 2, 3)),
    ),
    # --- distributions
    "Normal": (
        lambda t, m, s, x: t.distributions.Normal(m, s).log_prob(x),
        (real(3), positive(3), real(2, 3)),
    ),
    "Normal entropy": (
        lambda t, m, s: t.distributions.Normal(m, s).entropy(),
        (real(3), positive(3)),
    ),
    "Normal cdf": (
        lambda t, m, s, x: t.distributions.Normal(m, s).cdf(x),
        (real(3), positive(3), real(3)),
    ),
    "Normal icdf": (
        lambda t, m, s: t.distributions.Normal(m, s).icdf(t.tensor([0.1, 0.5, 0.8])),
        (real(3), positive(3)),
    ),
    "Normal kl": (
        lambda t, m, s, n, u: t.distributions.kl_divergence(
            t.distributions.Normal(m, s), t.distributions.Normal(n, u)
        ),
        (real(3), positive(3), real(3), positive(3)),
    ),
    "Uniform": (
        lambda t, a, d: t.distributions.Uniform(a, a + d).log_prob(a + d / 2),
        (real(3), positive(3)),
    ),
    "Uniform outside": (
        lambda t, a, d: (
            t.distributions.Uniform(a, a + d, validate_args=False).log_prob(a - 1).detach()
        ),
        (real(3), positive(3)),
    ),
    "Categorical probs": (
        lambda t, p, k: t.distributions.Categorical(p).log_prob(k),
        (positive(2, 4), whole(0, 4, 2)),
    ),
    "Categorical logits": (
        lambda t, x, k: t.distributions.Categorical(logits=x).log_prob(k),
        (real(4), whole(0, 4, 5)),
    ),
    "Categorical broadcast": (
        lambda t, x, k: t.distributions.Categorical(logits=x).log_prob(k),
        (real(3, 4), whole(0, 4, 2, 1)),
    ),
    "Categorical entropy": (
        lambda t, x: t.distributions.Categorical(logits=x).entropy(),
        (real(2, 4),),
    ),
    "Categorical entropy probs": (
        lambda t, p: t.distributions.Categorical(probs=p).entropy(),
        (positive(2, 4),),
    ),
    "Categorical kl": (
        lambda t, x, y: t.distributions.kl_divergence(
            t.distributions.Categorical(logits=x), t.distributions.Categorical(logits=y)
        ),
        (real(2, 4), real(2, 4)),
    ),
    "Categorical probabilities": (
        lambda t, p: t.distributions.Categorical(p).probs,
        (positive(2, 4),),
    ),
    "Bernoulli": (
        lambda t, p: t.distributions.Bernoulli(p).log_prob(t.tensor([0.0, 1.0, 1.0])),
        (lambda rng: rng.uniform(0.1, 0.9, 3),),
    ),
    "Bernoulli logits": (
        lambda t, x: t.distributions.Bernoulli(logits=x).log_prob(t.tensor([0.0, 1.0, 1.0])),
        (real(3),),
    ),
    "Bernoulli entropy": (lambda t, x: t.distributions.Bernoulli(logits=x).entropy(), (real(3),)),
    "Bernoulli kl": (
        lambda t, x, y: t.distributions.kl_divergence(
            t.distributions.Bernoulli(logits=x), t.distributions.Bernoulli(logits=y)
        ),
        (real(3), real(3)),
    ),
}
