"""Words of derivative operators to length 4, eagerly and with `jit` at random places, against
derivatives known in closed form. `--soak N` adds some 50 N words of length 5 of each kind.

A letter turns a function into another one of the same kind, whichever operator it stands for, so
that all words of one length agree.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.utils.checkpoint import checkpoint

Function = Callable[[Any], Any]

# --- functions of one number: a letter is the derivative ------------------------------------------

C, AT = 1.3, 0.7


def wave(x: Any) -> Any:
    return np.sin(C * x)


def wave_derivative(order: int) -> float:
    return float(C**order * np.sin(C * AT + order * np.pi / 2))


ON_NUMBERS: dict[str, Callable[[Function], Function]] = {
    "grad": tg.grad,
    "jvp": lambda g: lambda x: tg.jvp(g, (x,), (1.0,))[1],
    "vjp": lambda g: lambda x: tg.vjp(g, x)[1](1.0)[0],
    "value_and_grad": lambda g: lambda x: tg.value_and_grad(g)(x)[1],
    "linearize": lambda g: lambda x: tg.linearize(g, x)[1](1.0),
    "jacrev": tg.jacrev,
    "jacfwd": tg.jacfwd,
    "vmap": lambda g: lambda x: tg.vmap(tg.grad(g))(np.stack([x, x]))[0],
}

# --- fields: a letter is the derivative in the direction V of a gradient field -------------------
# (its Jacobian is symmetric)

A, V, X = np.array([0.7, -0.4]), np.array([0.3, 0.9]), np.array([0.3, 0.7])
BOTH = np.stack([V, 2 * V])


def field(x: Any) -> Any:
    """The gradient of exp(a x) + sum(x^4)."""
    return A * np.exp(x @ A) + 4 * x**3


def field_derivative(order: int) -> np.ndarray:
    powers = [4 * X**3, 12 * X**2 * V, 24 * X * V**2, 24 * V**3, 0 * V, 0 * V]
    return A * (A @ V) ** order * np.exp(X @ A) + powers[order]


def along(g: Function) -> Function:
    """The gradient of a field's component along V."""
    return tg.grad(lambda y: V @ g(y))


ON_FIELDS: dict[str, Callable[[Function], Function]] = {
    "grad": along,
    "jvp": lambda g: lambda x: tg.jvp(g, (x,), (V,))[1],
    "vjp": lambda g: lambda x: tg.vjp(g, x)[1](V)[0],
    "value_and_grad": lambda g: lambda x: tg.value_and_grad(lambda y: V @ g(y))(x)[1],
    "linearize": lambda g: lambda x: tg.linearize(g, x)[1](V),
    "jacrev": lambda g: lambda x: tg.jacrev(g)(x) @ V,
    "jacfwd": lambda g: lambda x: tg.jacfwd(g)(x) @ V,
    "vmap": lambda g: lambda x: tg.vmap(along(g))(x[None])[0],
}


def with_tensors(g: Function) -> Function:
    """Through torch's functions: a leaf, a scalar, `create_graph`."""

    def derivative(x: Any) -> Any:
        t = x if getattr(x, "requires_grad", False) else tg.as_tensor(x).requires_grad_()
        return tg.autograd.grad((tg.as_tensor(V) * g(t)).sum(), t, create_graph=True)[0]

    return derivative


def captured_tensor(g: Function) -> Function:
    """A Tensor that requires grad stands beside the argument, and adds nothing."""
    beside = tg.tensor([0.5, 2.0], requires_grad=True)
    return lambda x: tg.grad(lambda y: V @ g(y) + 0.0 * (y * beside).sum())(x)


def tree(g: Function) -> Function:
    def derivative(x: Any) -> Any:
        found = tg.grad(lambda d: V @ g(np.stack([d["a"], d["b"][0]])))({"a": x[0], "b": (x[1],)})
        return np.stack([found["a"], found["b"][0]])

    return derivative


def two_arguments(g: Function) -> Function:
    return lambda x: np.stack(
        tg.grad(lambda p, q: V @ g(np.stack([p, q])), argnums=(0, 1))(x[0], x[1])
    )


def in_place(g: Function) -> Function:
    def component(y: Any) -> Any:
        z = y * 0.0
        z[0] = y[0]
        z[1:] += y[1:]
        return V @ g(z)

    return tg.grad(component)


def by_its_own_rule(g: Function) -> Function:
    """With a forward rule of the user's, which is itself made of derivatives."""
    custom = tg.custom_jvp(lambda x: g(x))
    custom.defjvp(lambda primals, tangents: tg.jvp(g, primals, tangents))
    return along(custom)


def of_a_solution(g: Function) -> Function:
    return along(lambda x: tg.root(lambda y: y - g(x), np.zeros(2)))


def by_the_direction(g: Function) -> Function:
    """The gradient of a forward derivative with respect to its direction: only tangents are on the
    tape."""
    return lambda x: tg.grad(lambda t: tg.jvp(g, (x,), (t,))[1] @ V)(V)


functional = tg.autograd.functional
MORE: dict[str, Callable[[Function], Function]] = {
    **ON_FIELDS,
    "vmap of grad by what is captured": lambda g: (
        lambda x: tg.vmap(lambda w: tg.grad(lambda y: w @ g(y))(x))(BOTH)[0]
    ),
    "vmap of jvp": lambda g: lambda x: tg.vmap(lambda w: tg.jvp(g, (x,), (w,))[1])(BOTH)[0],
    "vmap of a pullback": lambda g: lambda x: tg.vmap(tg.vjp(g, x)[1])(BOTH)[0][0],
    "vmap of a pushforward": lambda g: lambda x: tg.vmap(tg.linearize(g, x)[1])(BOTH)[0],
    "custom_jvp": by_its_own_rule,
    "root": of_a_solution,
    "direction": by_the_direction,
    "tensors": with_tensors,
    "captured tensor": captured_tensor,
    "tree": tree,
    "two arguments": two_arguments,
    "in place": in_place,
    "fori_loop": lambda g: (
        lambda x: tg.fori_loop(0, 2, lambda i, c: along(g)(x) + 0 * c, np.zeros(2) * x)
    ),
    "scan": lambda g: (
        lambda x: tg.scan(lambda c, w: (c, tg.grad(lambda y: w @ g(y))(x)), x, BOTH)[1][0]
    ),
    "scan of a carry": lambda g: (
        lambda x: tg.scan(lambda c, w: (tg.grad(lambda y: w @ g(y))(c), c), x, V[None])[0]
    ),
    "while_loop": lambda g: (
        lambda x: tg.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, along(g)(s[1])), (0, x))[1]
    ),
    "cond": lambda g: (
        lambda x: tg.cond(np.sum(x * x) > 0.0, lambda q: along(g)(x) + 0 * q, lambda q: q, x)
    ),
    "map": lambda g: lambda x: tg.map(lambda w: tg.jvp(g, (x,), (w,))[1], BOTH)[0],
    "checkpoint of a derivative": lambda g: tg.checkpoint(along(g)),
    "derivative of a checkpoint": lambda g: along(tg.checkpoint(g)),
    "func.jvp": lambda g: lambda x: tg.func.jvp(g, (tg.as_tensor(x),), (tg.as_tensor(V),))[1],
    "functional.vjp": lambda g: (
        lambda x: functional.vjp(g, tg.as_tensor(x), tg.as_tensor(V), create_graph=True)[1]
    ),
    "functional.jvp": lambda g: (
        lambda x: functional.jvp(g, tg.as_tensor(x), tg.as_tensor(V), create_graph=True)[1]
    ),
    "functional.jacobian": lambda g: (
        lambda x: functional.jacobian(g, tg.as_tensor(x), create_graph=True) @ tg.as_tensor(V)
    ),
}


def spelled(
    word: Sequence[str],
    letters: dict[str, Callable[[Function], Function]],
    start: Function,
    jits: int = 0,
) -> Function:
    """The word's function; bit k of `jits` compiles it after k letters."""
    made = start
    for k, letter in enumerate(reversed(word)):
        made = letters[letter](tg.jit(made) if jits >> k & 1 else made)
    return tg.jit(made) if jits >> len(word) & 1 else made


def is_plain(x: Any) -> bool:
    return type(x) is np.ndarray or isinstance(x, (float, np.floating))


def some(
    letters: Iterable[str], length: int, first: str, every: int, config: pytest.Config
) -> list[tuple[str, ...]]:
    """What follows the first letter: of words of four letters one in so many."""
    words = list(itertools.product(letters, repeat=length - 1))
    every = 1 if length < 4 or config.getoption("--soak") else every
    return words[list(letters).index(first) % every :: every]


@pytest.mark.parametrize("first", ON_NUMBERS)
def test_words_on_numbers(first: str, pytestconfig: pytest.Config) -> None:
    """Every other word of four letters; all with `--soak 1`."""
    for length in (1, 2, 3, 4):
        for rest in some(ON_NUMBERS, length, first, 2, pytestconfig):
            found = spelled((first, *rest), ON_NUMBERS, wave)(AT)
            assert is_plain(found), (first, *rest)
            assert np.isclose(found, wave_derivative(length), rtol=1e-12), (first, *rest)


@pytest.mark.parametrize("first", ON_FIELDS)
def test_words_on_fields(first: str, pytestconfig: pytest.Config) -> None:
    """Every fifth word of four letters; all with `--soak 1`."""
    for length in (1, 2, 3, 4):
        for rest in some(ON_FIELDS, length, first, 5, pytestconfig):
            found = spelled((first, *rest), ON_FIELDS, field)(X)
            assert is_plain(found), (first, *rest)
            assert np.allclose(found, field_derivative(length), rtol=1e-12), (first, *rest)


def some_words(seed: int, count: int) -> Iterator[tuple[str, ...]]:
    draw = random.Random(seed)
    while count:
        count -= 1
        yield tuple(draw.choice(list(MORE)) for _ in range(draw.choice((2, 3, 3, 4))))


@pytest.mark.parametrize("first", MORE)
def test_words_of_programs(first: str) -> None:
    """Loops, branches, trees, writes, checkpoints and Tensors around a derivative: all words of two
    letters, some longer ones."""
    longer = [(first, *word) for word in some_words(sum(map(ord, first)), 12)]
    for word in [(first,), *[(first, second) for second in MORE], *[w[:4] for w in longer]]:
        found = spelled(word, MORE, field)(X)
        found = found.detach().numpy() if isinstance(found, tg.Tensor) else found
        assert type(found) is np.ndarray, word
        assert np.allclose(found, field_derivative(len(word)), rtol=1e-12), word


@pytest.mark.parametrize("kind", [letter for letter in MORE if "checkpoint" in letter])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_checkpoint_in_a_forward_rule(kind: str, compiled: bool) -> None:
    """What the rule was differentiated by is done when the function runs again, and counts as it
    did."""
    draw = random.Random(f"{kind} {compiled}")
    words = [word for other in MORE for word in itertools.permutations((other, "custom_jvp", kind))]
    for word in [
        ("tensors", "custom_jvp", kind, "cond"),
        *draw.sample(words, 3 if compiled else 25),
    ]:
        found = spelled(word, MORE, field, draw.randrange(1, 16) if compiled else 0)(X)
        found = found.detach().numpy() if isinstance(found, tg.Tensor) else found
        assert np.allclose(found, field_derivative(len(word)), rtol=1e-12), word


@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("seed", range(8))
def test_words_with_jit_at_random_places(seed: int) -> None:
    draw = random.Random(seed)
    for word in some_words(100 + seed, 6):
        jits = draw.randrange(1, 2 ** (len(word) + 1))
        found = spelled(word, MORE, field, jits)(X)
        found = found.detach().numpy() if isinstance(found, tg.Tensor) else found
        assert type(found) is np.ndarray, (word, bin(jits))
        assert np.allclose(found, field_derivative(len(word)), rtol=1e-12), (word, bin(jits))


@pytest.mark.soak
@pytest.mark.usefixtures("kernels_in_python")
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "fields", "programs"])
def test_words_of_length_5(request: pytest.FixtureRequest, kind: str, compiled: bool) -> None:
    letters = {"numbers": ON_NUMBERS, "fields": ON_FIELDS, "programs": MORE}[kind]
    draw, count = random.Random(f"{kind} {compiled}"), 50 * request.config.getoption("--soak")
    start, at = (wave, AT) if kind == "numbers" else (field, X)
    wanted = wave_derivative(5) if kind == "numbers" else field_derivative(5)
    failed = []
    for _ in range(count):
        word = draw.choices(list(letters), k=5)
        jits = draw.randrange(1, 2**6) if compiled else 0
        try:
            found = spelled(word, letters, start, jits)(at)
            found = found.detach().numpy() if isinstance(found, tg.Tensor) else found
            assert is_plain(found), type(found)
            assert np.allclose(found, wanted, rtol=1e-11), found
        except Exception as error:
            failed.append(f"{word} {jits:b}: {error!r:.200}")
    assert not failed, f"{len(failed)} of {count}\n" + "\n".join(failed)


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize("first", [letter for letter in MORE if letter != "direction"])
def test_a_tensor_gives_a_tensor(first: str, tracked: bool) -> None:
    for second in ("grad", "vjp", "jacfwd", "vmap", "vmap of a pullback", "scan"):
        x = tg.tensor(X, dtype=np.float64, requires_grad=tracked)
        found = spelled((first, second), MORE, field)(x)
        assert isinstance(found, tg.Tensor), second
        if tracked:
            again = tg.autograd.grad((found * tg.as_tensor(V)).sum(), x)[0]
            assert np.allclose(again.numpy(), field_derivative(3), rtol=1e-12), second


# --- nothing comes back tracked that nobody asked for ---------------------------------------------


def cube(x: Any) -> Any:
    return x**3


def test_pullbacks_do_not_show_their_tape() -> None:
    ones = np.ones(2)
    found = tg.vmap(tg.vjp(cube, ones)[1])(np.eye(2))[0]
    assert type(found) is np.ndarray
    assert np.array_equal(found, 3 * np.eye(2))
    assert float(tg.jvp(lambda v: tg.vjp(lambda x: x * x, 2.0)[1](v)[0], (3.0,), (1.0,))[1]) == 4.0
    pulled = tg.vjp(cube, ones)[1](tg.ones(2))[0]
    assert type(pulled) is np.ndarray  # a gradient is what its argument is
    # A cotangent that is tracked is asked for.
    ct = tg.ones(2, requires_grad=True)
    tg.vjp(cube, ones)[1](ct)[0].sum().backward()
    assert np.array_equal(ct.grad, [3.0, 3.0])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "result",
    [
        lambda: tg.value_and_grad(lambda y: ((y**3).sum(), {"twice": y * 2}), has_aux=True)(
            np.ones(2)
        ),
        lambda: tg.grad(lambda y: ((y**3).sum(), {"twice": y * 2}), has_aux=True)(np.ones(2)),
        lambda: [
            r
            for r in tg.vjp(lambda y: (y**3, [y * 2]), np.ones(2), has_aux=True)
            if not callable(r)
        ],
        lambda: tg.jvp(lambda y: (y**3, (y * 2,)), (np.ones(2),), (np.ones(2),), has_aux=True),
        lambda: tg.jvp(
            lambda x: tg.grad(lambda y: ((y**3).sum(), y * 2), has_aux=True)(x),
            (np.ones(2),),
            (np.ones(2),),
        ),
        lambda: tg.jvp(tg.jacrev(cube), (np.ones(2),), (np.ones(2),)),
        lambda: tg.linearize(tg.grad(lambda y: (y**3).sum()), np.ones(2))[1](np.ones(2)),
        lambda: tg.vmap(tg.linearize(tg.jacrev(cube), np.ones(2))[1])(np.eye(2)),
    ],
)
def test_results_and_what_comes_beside_them_are_arrays(
    result: Callable[[], Any], compiled: bool
) -> None:
    from tracegrad.tree import flatten

    for leaf in flatten((tg.jit(result) if compiled else result)())[0]:
        assert isinstance(leaf, (np.ndarray, np.floating, float)), type(leaf)


# --- checkpoints of functions that differentiate inside -------------------------------------------


def wavy(x: Any) -> Any:
    return np.sum(np.sin(x) * x)


INSIDE: dict[str, Callable[[Function], Function]] = {
    "grad": tg.grad,
    "jvp": lambda h: lambda x: tg.jvp(h, (x,), (np.ones(2),))[1],
    "vjp": lambda h: lambda x: tg.vjp(h, x)[1](np.float64(1.0))[0],
    "hessian": tg.hessian,
    "vmap": lambda h: lambda x: tg.vmap(tg.grad(h))(x[None])[0],
    "two sweeps": lambda h: (
        lambda x: tg.grad(h)(x) * np.cos(tg.grad(lambda y: np.sum(np.exp(y)))(x))
    ),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", INSIDE)
def test_checkpoint_of_a_derivative(kind: str, compiled: bool) -> None:
    inner = INSIDE[kind](wavy)
    wanted = tg.jacrev(inner)(X)
    compile = tg.jit if compiled else lambda f: f
    assert np.allclose(compile(tg.jacrev(tg.checkpoint(inner)))(X), wanted, rtol=1e-12)
    assert np.allclose(compile(tg.jacfwd(tg.checkpoint(inner)))(X), wanted, rtol=1e-12)
    assert np.allclose(
        compile(tg.jacrev(tg.checkpoint(INSIDE[kind](tg.checkpoint(wavy)))))(X), wanted, rtol=1e-12
    )
    for early in (False, True):
        assert np.allclose(
            compile(tg.jacrev(lambda x, e=early: checkpoint(inner, x, early_stop=e)))(X),
            wanted,
            rtol=1e-12,
        )
