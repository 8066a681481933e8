"""Whole programs on a device: loops, branches and solvers under every transform, compiled and not,
equal those of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.cuda.common import same_on_both

Scalar = Callable[[Any], Any]
X = np.array([0.3, -0.7, 1.1, 0.5, -0.2])


def compiled_there(function: Callable[..., Any], device: str) -> Callable[..., Any]:
    """Compiled on the device; the CPU shows what is right operation by operation."""
    result: Callable[..., Any] = tg.jit(function) if device == "cuda" else function
    return result


def newton(v: Any) -> Any:
    return tg.root(lambda z: z**3 + 2 * z - v, v * 0.4).sum()


def read_and_written(v: Any) -> Any:
    def step(k: Any, c: Any) -> Any:
        c[k + 1] = c[k] * 0.5 + c[k + 1 : k + 3].sum()
        return c

    return (tg.fori_loop(0, 3, step, v * 1.0) ** 2).sum()


def nested(v: Any) -> Any:
    def outer(c: Any, x: Any) -> Any:
        inner = tg.fori_loop(0, 2, lambda k, d: d * x.cos() + k, c)
        return inner, tg.cond(inner > 1, lambda z: z.log(), lambda z: z * z, inner)

    last, all_ = tg.scan(outer, v[0], v)
    return last + (all_**2).sum()


PROGRAMS: dict[str, Scalar] = {
    "elementwise": lambda v: (v.sin() * v.exp()).sum(),
    "products": lambda v: ((v[:, None] * v).sum(0) @ v) + (v @ v) ** 2,
    "several results read": lambda v: sum(
        p.sum() * k for k, p in enumerate(((v * 2), v.cumsum(0), v.flip(0) * v))
    ),
    "scan": lambda v: tg.scan(lambda c, x: (c.sin() + x, c * x), v[0], v)[1].sum(),
    "scan of a tree": lambda v: tg.scan(
        lambda c, x: ({"a": c["b"], "b": c["a"] * x}, x), {"a": v, "b": v * 2}, v
    )[0]["a"].sum(),
    "no steps": lambda v: (
        tg.scan(lambda c, x: (c * x, c), v.sum(), v[:0])[0] ** 2
        + tg.fori_loop(3, 3, lambda k, c: c * 2, v[1])
    ),
    "while": lambda v: tg.while_loop(
        lambda c: (c * c).sum() < 50, lambda c: c * 1.5 + c.sin(), v
    ).sum(),
    "branches": lambda v: (
        tg.cond(v.sum() > 0.5, lambda w: (w**3).sum(), lambda w: w.exp().sum(), v)
        + tg.switch((v > 0).sum() % 6, [lambda w, k=k: w.sum() * k for k in range(6)], v)
    ),
    "map": lambda v: (
        tg.map(lambda x: tg.cond(x > 0, lambda y: y * y, lambda y: -y, x), v) * v
    ).sum(),
    "associative scan": lambda v: (tg.associative_scan(lambda a, b: a * b + a + b, v) ** 2).sum(),
    "nested": nested,
    "read and written": read_and_written,
    "checkpoint": lambda v: tg.checkpoint(lambda w: (w.sin() * w).exp().sum())(v),
    "root": newton,
    "minimize": lambda v: (
        tg.minimize(lambda z: ((z - v) ** 2).sum() + 0.1 * (z**4).sum(), v * 0.0) ** 2
    ).sum(),
    "fixed point": lambda v: tg.fixed_point(lambda z: (z + v).cos() * 0.3, v * 0.0).sum(),
    "linear solve": lambda v: (tg.linear_solve(lambda z: z * (2 + v * v), v, tol=1e-13) ** 2).sum(),
    "differential equation": lambda v: tg.odeint(
        lambda y, t: -y * y * v.cos(), v, np.array([0.0, 0.5]), method="rk4"
    )[-1].sum(),
    "matrices": lambda v: np.linalg.solve(
        v[:, None] * v + 3 * tg.eye(len(v), device=v.device), v
    ).sum(),
    "stopped": lambda v: (tg.stop_gradient(v) * v * v).sum(),
}
TRANSFORMS: dict[str, Callable[[Scalar], Callable[..., Any]]] = {
    "value and gradient": lambda f: tg.value_and_grad(f),
    "forward": lambda f: lambda v: tg.jvp(f, (v,), (v * 0.5,)),
    "Hessian": lambda f: tg.hessian(f),
    "batch of gradients": lambda f: (
        lambda v: tg.vmap(tg.grad(f))(v * np.array([[1.0], [-0.5], [1.2]]))
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str) -> None:
    for transform in TRANSFORMS.values():
        same_on_both(
            lambda d, v, transform=transform: compiled_there(transform(PROGRAMS[name]), d)(v),
            X,
            tolerance=1e-9,
        )


@pytest.mark.parametrize("name", PROGRAMS)
def test_by_the_tape(name: str) -> None:
    """Operation by operation, through a second order; and a compiled function as one node."""

    def orders(d: str, v: Any) -> Any:
        v.requires_grad_()
        (g,) = tg.autograd.grad(PROGRAMS[name](v), v, create_graph=True)
        (h,) = tg.autograd.grad((g * g).sum(), v)
        compiled_there(PROGRAMS[name], d)(v).backward()
        return g, h, v.grad

    same_on_both(orders, X, tolerance=1e-9)


# --- what comes in and goes out -------------------------------------------------------------------


def both(v: Any, w: Any) -> Any:
    return {"sum": v + w, "parts": [(v * w).sum(), (v - w)[..., :1]]}


@pytest.mark.parametrize(
    "shape", [(), (0,), (1,), (7,), (33,), (257,), (0, 3), (3, 0), (2, 1, 5), (17, 31), (1, 300)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_shapes(shape: tuple[int, ...], dtype: str) -> None:
    """Elementwise results, reductions over each axis, and gradients, of sizes that divide
    nothing."""
    rng = np.random.default_rng(0)

    def program(v: Any) -> Any:
        y = v.tanh() * 2 + v
        return [
            y,
            y.sum(),
            *[y.sum(axis) for axis in range(v.ndim)],
            *[y.amax(axis) for axis in range(v.ndim) if v.shape[axis]],
        ]

    def use(d: str, v: Any) -> Any:
        return compiled_there(
            lambda v: (program(v), tg.grad(lambda w: sum((r * r).sum() for r in program(w)))(v)), d
        )(v)

    def flat(d: str, v: Any) -> Any:
        values, gradient = use(d, v)
        return [*values, gradient]

    same_on_both(
        flat, rng.normal(size=shape).astype(dtype), tolerance=1e-10 if dtype == "float64" else 1e-4
    )


VIEWS: dict[str, Callable[[Any], Any]] = {
    "turned": lambda v: v.T,
    "every second": lambda v: v[:, ::2],
    "backwards": lambda v: v.flip(1)[:, 1:],
    "a column": lambda v: v[:, 2:3],
    "repeated": lambda v: v[:1].expand(4, 5),
    "moved": lambda v: v.reshape(2, 2, 5).permute(2, 0, 1),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_as_arguments(name: str) -> None:
    """A compiled function reads its arguments as they lie in memory, and writes to them so."""

    def use(d: str, v: Any) -> Any:
        @(lambda f: compiled_there(f, d))
        def change(w: Any) -> Any:
            w *= 2
            return w.sum(0), w.exp().mean()

        shown = VIEWS[name](v)
        results = [
            shown * 2,
            compiled_there(lambda w: w.cumsum(0) * w, d)(shown),
            tg.grad(lambda w: (w**3).sum())(shown),
        ]
        if name != "repeated":
            results += [*change(shown), v]
        return results

    same_on_both(use, np.random.default_rng(1).normal(size=(4, 5)), tolerance=1e-10)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int32", "int64", "uint64", "float32", "complex64", "complex128"],
)
def test_dtypes(dtype: str) -> None:
    """Compiled arithmetic, comparisons, reductions and conversions keep NumPy's types."""

    def program(v: Any) -> Any:
        found = [
            v == v[0],
            v.sum(),
            v.sum(1),
            v.double() if "complex" not in dtype else v.real,
            v[1:] * v[:1],
        ]
        if dtype == "bool":
            return [*found, v & v.T[0], ~v, v.any(0), v.all()]
        found += [v * 2, v + v.T[:1, :1], v.prod(0)]
        if "complex" in dtype:
            return [*found, v.conj(), abs(v), v.exp(), v * 1j, v @ v]
        return [*found, v.max(), v.argmax(1), v.cumsum(1), v / 2, v // 2, v % 2, v**2, v < 2, v @ v]

    given = (np.arange(9).reshape(3, 3) % 5).astype(dtype)
    if "complex" in dtype:
        given = (given + 0.5j).astype(dtype)
    same_on_both(
        lambda d, v: compiled_there(program, d)(v),
        given,
        tolerance=1e-5 if dtype in ("float32", "complex64") else 1e-12,
    )
    if "complex" in dtype or dtype == "float32":
        gradient = tg.grad(
            lambda v: (v * v.conj()).real.sum() if "complex" in dtype else (v * v).sum()
        )
        same_on_both(lambda d, v: compiled_there(gradient, d)(v), given, tolerance=1e-5)


def test_trees_closures_and_constants() -> None:
    def use(d: str, v: Any, w: Any) -> Any:
        table, scale = np.linspace(0.0, 1.0, 5), tg.tensor(2.0, device=d, requires_grad=True)

        def loss(tree: Any, flag: bool, k: int = 2) -> Any:
            a, (b, c) = tree["a"], tree["b"]
            return ((a * table + b) ** k * scale).sum() * (2.0 if flag else 1.0) + (c * 1.5).sum()

        fast = (
            compiled_there(loss, d) if d == "cpu" else tg.jit(loss, static_argnames=("flag", "k"))
        )
        tree = {"a": v, "b": (w, tg.arange(5, device=d))}
        results = []
        for flag in (True, False):
            given = {"a": v, "b": (w, 1.0)}
            gradients = tg.grad(lambda t, flag=flag: fast(t, flag=flag, k=3))(given)
            results += [fast(tree, flag=flag), gradients["a"], gradients["b"][0]]
        fast(tree, flag=True).backward()
        return [*results, scale.grad]

    same_on_both(use, X, X**2, tolerance=1e-10)


def test_several_results_and_unused_arguments() -> None:
    def use(d: str, v: Any, w: Any) -> Any:
        fast = compiled_there(both, d)
        found = fast(v, w)
        v.requires_grad_()
        w.requires_grad_()
        made = fast(v, w)
        (made["sum"].exp().sum() + made["parts"][1].sum()).backward()
        g = tg.autograd.grad(fast(v, v)["parts"][0], (v, w), allow_unused=True)
        assert g[1] is None
        value, pull = tg.vjp(fast, v.detach(), w.detach())
        pulled = pull({"sum": value["sum"], "parts": [value["parts"][0], value["parts"][1]]})
        moved = tg.jvp(fast, (v.detach(), w.detach()), (w.detach(), v.detach()))[1]
        jacobian = tg.jacobian(lambda a: fast(a, a)["sum"])(v.detach())
        return [
            found["sum"],
            *found["parts"],
            v.grad,
            w.grad,
            g[0],
            *pulled,
            moved["sum"],
            *moved["parts"],
            jacobian,
        ]

    same_on_both(use, X, X**2 + 1, tolerance=1e-10)


def test_sizes_and_layouts_that_change() -> None:
    """One compiled function over many shapes, some of them as symbols, and over memory in other
    orders."""

    def use(d: str) -> Any:
        f = compiled_there(lambda a, b: (a @ b).sum(1) + a.mean() * 2, d)
        results = []
        for m, k, n in ((2, 3, 4), (3, 3, 4), (4, 5, 1), (1, 1, 1), (0, 2, 2), (2, 0, 3)):
            rng = np.random.default_rng(m)
            with np.errstate(all="ignore"):
                results.append(
                    f(
                        tg.tensor(rng.normal(size=(m, k)), device=d),
                        tg.tensor(rng.normal(size=(n, k)), device=d).T,
                    )
                )
        return results

    same_on_both(use, tolerance=1e-10)


def test_nan_and_infinity() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324])

    def program(v: Any) -> Any:
        return [
            v.exp(),
            v.log1p(),
            v.sqrt(),
            v.max(),
            v.min(),
            v.sum(),
            v.sign(),
            v.isnan(),
            v * 0,
            1 / v,
            v // 2,
            v % 3,
            v.sort()[0],
            v.argmax(),
        ]

    def use(d: str, v: Any) -> Any:
        with np.errstate(all="ignore"):
            return [*program(v), *compiled_there(program, d)(v)]

    same_on_both(use, x)
    same_on_both(use, np.clip(x, -1e38, 1e38).astype(np.float32), tolerance=1e-6)


def test_random_numbers_in_compiled_code() -> None:
    def use(d: str, v: Any) -> Any:
        tg.manual_seed(7)
        dropout = tg.nn.Dropout(0.5)
        f = tg.jit(lambda v: dropout(v) + tg.randn(5, device=d) * tg.rand(5, device=d))
        return [f(v), f(v), tg.randint(9, size=(3,), device=d)]

    same_on_both(use, X, tolerance=1e-10)


def test_convolutions_and_batches_of_modules() -> None:
    """A small network with every kind of layer, trained one compiled step."""

    def use(d: str, x: Any) -> Any:
        tg.manual_seed(1)
        model = tg.nn.Sequential(
            tg.nn.Conv2d(1, 2, 2),
            tg.nn.ReLU(),
            tg.nn.MaxPool2d(2),
            tg.nn.BatchNorm2d(2),
            tg.nn.Flatten(),
            tg.nn.Linear(2, 3),
        ).to(d)
        optimizer = tg.optim.AdamW(model.parameters(), lr=0.05)
        target = tg.tensor([0, 2], device=d)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = tg.nn.functional.cross_entropy(model(x), target)
            loss.backward()
            optimizer.step()
            return loss.detach()

        losses = [compiled_there(step, d)(x) for _ in range(2)]
        return [
            *losses,
            *[p.detach() for p in model.parameters()],
            *[b for b in model.buffers() if b.ndim],
        ]

    same_on_both(use, np.random.default_rng(0).normal(size=(2, 1, 3, 3)), tolerance=1e-8)


def test_variables_with_names_that_kernels_use() -> None:
    """Values have the names of the user's variables; kernels have words of their own."""

    def hostile(x: Any, y: Any) -> Any:
        block = x * 2.0
        lane = np.tanh(block + y)
        shared = np.sum(lane, axis=1)
        own = shared * shared
        arena = np.exp(-own)
        status = arena[:, None] * lane
        first = np.max(status, axis=0)
        thread, total, tile, cuda = first + 1.0, first * 2.0, first - 3.0, first * first
        i = thread * total
        phase = tile * cuda + i
        return phase, np.sum(phase)

    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(40, 7)), rng.normal(size=7)
    for function in (hostile, tg.grad(lambda x, y: hostile(x, y)[1], (0, 1))):
        compiled = tg.jit(function)
        same_on_both(lambda device, *a, f=compiled: f(*a), *arrays)
