"""Section 5 of the torch.autograd contract, line by line: all methods, operators and assignments
that write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tests.contract.refusals import LEAF

PLAIN = (
    (
        "exp exp2 expm1 log log1p log2 log10 sqrt rsqrt square reciprocal neg abs sin cos tan "
        "sinh cosh tanh asin acos atan asinh atanh"
    ),
    (
        "sigmoid logit relu erf erfc erfinv lgamma digamma sinc deg2rad rad2deg frac "
        "nan_to_num sgn sign floor ceil trunc round negative"
    ),
    "absolute tril triu fix",
)
BINARY = (
    (
        "add sub subtract mul multiply div divide true_divide pow remainder fmod float_power "
        "clamp_min clamp_max maximum minimum hypot atan2"
    ),
    "copysign eq ne lt le gt ge xlogy greater less_equal floor_divide",
)
METHODS: list[tuple[str, tuple[Any, ...]]] = [
    *[(name, ()) for line in PLAIN for name in line.split(" ")],
    *[(name, (0.5,)) for line in BINARY for name in line.split(" ")],
    ("clamp", (0.3, 0.6)),
    ("clip", (0.3,)),
    ("lerp", (2.0, 0.25)),
    ("cumsum", (0,)),
    ("cumprod", (1,)),
    ("polygamma", (1,)),
    ("masked_fill", (np.array([[True, False], [False, True]]), 7.0)),
    ("masked_scatter", (np.array([[True, False], [False, True]]), np.array([5.0, 6.0, 7.0]))),
    ("index_fill", (1, np.array([1]), 3.0)),
    ("index_add", (0, np.array([1, 1]), np.array([[1.0, 2.0], [3.0, 4.0]]))),
    ("index_copy", (0, np.array([1, 0]), np.array([[1.0, 2.0], [3.0, 4.0]]))),
    ("index_put", ((np.array([0, 1]), np.array([1, 1])), np.array([8.0, 9.0]))),
    ("scatter", (1, np.array([[1], [0]]), np.array([[5.0], [6.0]]))),
    ("scatter", (1, np.array([[1], [0]]), 2.5)),
    ("scatter_add", (0, np.array([[0, 0]]), np.array([[5.0, 6.0]]))),
    ("put", (np.array([3, 0]), np.array([5.0, 6.0]))),
    ("addcmul", (np.array([2.0, 3.0]), np.array([[1.0], [2.0]]))),
    ("addcdiv", (np.array([2.0, 3.0]), np.array([[1.0], [2.0]]))),
]


@pytest.mark.parametrize(
    ("name", "arguments"), METHODS, ids=[f"{name}-{k}" for k, (name, _) in enumerate(METHODS)]
)
@pytest.mark.filterwarnings("ignore:.*encountered")
def test_in_place_methods(name: str, arguments: tuple[Any, ...]) -> None:
    """Value, gradient, version and name of the node are those of the method without the underscore;
    so on a view of a larger base."""
    data = np.array([[0.2, 0.5], [0.7, 0.9]])
    given = [tg.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    found = []
    for in_place in (False, True):
        x = tg.tensor(data, requires_grad=True)
        y = x * 1
        if in_place:
            result = getattr(y, name + "_")(*given)
            assert result is y
            assert y._version == 1
        else:
            result = getattr(y, name)(*given)
        differentiable = result.requires_grad
        if differentiable:
            (result * tg.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        found.append(
            (
                np.array(result.tolist(), float),
                np.zeros((2, 2)) if x.grad is None else x.grad.numpy(),
            )
        )
        if in_place:
            assert differentiable
    for plain, changed in zip(*found, strict=True):
        np.testing.assert_allclose(changed, plain, rtol=1e-12)
    base = tg.tensor([data.tolist(), data.tolist()]) * 1
    getattr(base[1], name + "_")(*given)
    np.testing.assert_array_equal(base[0].numpy(), data)
    np.testing.assert_allclose(base[1].numpy(), found[0][0])
    assert base._version == 1


def test_products_in_place() -> None:
    """addmm_, addmv_, addr_, baddbmm_ with alpha and beta; where beta is 0 the old value is not
    read."""
    a, b = tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([[0.5, 1.0], [2.0, 0.0]])
    for beta, alpha in ((1, 1), (0.5, 2.0)):
        x = tg.ones(2, 2)
        assert np.allclose(
            x.addmm_(a, b, beta=beta, alpha=alpha).numpy(),
            beta * np.ones((2, 2)) + alpha * (a.numpy() @ b.numpy()),
        )
        y = tg.ones(2)
        assert np.allclose(
            y.addmv_(a, b[0], beta=beta, alpha=alpha).numpy(),
            beta + alpha * (a.numpy() @ b[0].numpy()),
        )
        z = tg.ones(2, 2)
        assert np.allclose(
            z.addr_(a[0], b[0], beta=beta, alpha=alpha).numpy(),
            beta + alpha * np.outer(a[0].numpy(), b[0].numpy()),
        )
        stack = tg.ones(1, 2, 2)
        assert np.allclose(
            stack.baddbmm_(a[None], b[None], beta=beta, alpha=alpha).numpy(),
            beta + alpha * (a.numpy() @ b.numpy()),
        )
    broken = tg.full((2, 2), float("nan")).addmm_(a, b, beta=0)
    assert np.allclose(broken.numpy(), a.numpy() @ b.numpy())


def test_an_operand_that_is_the_tensor_itself() -> None:
    """`y.mul_(y)` reads the old value, in its rule too."""
    x = leaf()
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    assert x.grad.tolist() == [2, 4, 6]
    x.grad = None
    y = x * 1
    y.addcmul_(tensor1=y, tensor2=y)
    y.sum().backward()
    assert x.grad.tolist() == [3, 5, 7]


def test_overwritten_with_constants() -> None:
    """zero_, fill_, copy_, x[...] = c and random numbers: still on the tape, with a gradient of
    0."""
    for write in (
        lambda y: y.zero_(),
        lambda y: y.fill_(3),
        lambda y: y.copy_(tg.ones(3)),
        lambda y: y.__setitem__(..., 5.0),
        lambda y: y.__setitem__(slice(None), 5.0),
        lambda y: y.uniform_(),
        lambda y: y.normal_(1.0, 2.0),
        lambda y: y.exponential_(),
        lambda y: y.bernoulli_(0.5),
        lambda y: y.random_(10),
        lambda y: y.floor_(),
        lambda y: y.gt_(1),
    ):
        x = leaf()
        y = x * 1
        write(y)
        assert y.requires_grad
        (y.sum() + x.sum()).backward()
        assert x.grad.tolist() == [1, 1, 1]


def test_copy_of_a_tensor_that_requires_grad() -> None:
    """copy_ lets gradients flow to the source, summed over what was repeated and in its dtype."""
    source = tg.tensor([2.0], dtype=np.float32, requires_grad=True)
    y = tg.zeros(3)
    y[1:].copy_(source)
    assert y.requires_grad
    (y * tg.tensor([1.0, 2.0, 4.0])).sum().backward()
    assert source.grad.tolist() == [6]
    assert source.grad.dtype == np.float32


def test_random_numbers() -> None:
    """Within their bounds, of the tensor's dtype, repeatable from a seed."""
    tg.manual_seed(0)
    u = tg.empty(1000).uniform_(2, 3)
    assert 2 <= u.min().item() <= u.max().item() < 3
    assert tg.empty(1000).float().normal_(5.0, 0.1).dtype == np.float32
    r = tg.empty(1000, dtype=np.int64).random_(3, 6)
    assert sorted(set(r.tolist())) == [3, 4, 5]
    assert set(tg.empty(100, dtype=np.bool_).random_().tolist()) == {True, False}
    assert set(tg.empty(1000).bernoulli_(tg.full((1000,), 0.5)).tolist()) == {0.0, 1.0}
    assert tg.empty(1000).exponential_(2.0).min().item() >= 0
    tg.manual_seed(0)
    assert tg.empty(1000).uniform_(2, 3).tolist() == u.tolist()


def test_augmented_operators() -> None:
    """`+=` and its family write in place, also into elements, and keep the object."""
    x = leaf(4.0, 9.0, 16.0)
    y = x * 1
    same = y
    y += 1
    y -= 2.0
    y *= 3
    y /= 2
    y **= 2
    assert same is y
    assert y._version == 5
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), 2 * 1.5 * 1.5 * (x.detach().numpy() - 1))
    m = tg.zeros(2, 2)
    m[0] += tg.ones(2)
    m[:, 1] *= 5
    m[[0, 0]] += 1
    m[m > 3] -= 1
    assert m.tolist() == [[2, 5], [0, 0]]
    i = tg.arange(4)
    i //= 2
    i %= 2
    i <<= 2
    i |= 1
    i ^= 3
    i &= 6
    i >>= 1
    assert i.tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (0, 5.0),
        (-1, [1.0, 2.0, 3.0]),
        ((1, 2), 9.0),
        ((slice(None), 1), 4.0),
        ((..., 0), [7.0, 8.0]),
        ((slice(None, None, -1),), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        ((slice(None), slice(None, None, 2)), 6.0),
        (None, 2.0),
        (True, 3.0),
        ([1, 0], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        (([0, 1], [2, 0]), [5.0, 6.0]),
        ((slice(None), [2, 0]), 1.5),
        ((slice(None), np.array([True, False, True])), 2.5),
        (np.array([[True, False, True], [False, True, False]]), [1.0, 2.0, 3.0]),
        (np.array([True, False]), 0.5),
        ((0, [0, 0]), 3.0),
        (slice(0, 0), 1.0),
    ],
)
def test_assignment_in_all_forms(key: Any, value: Any) -> None:
    """As NumPy's, with gradients to what stays and to what is written; tensors are indices as
    arrays are."""
    data = np.arange(6.0).reshape(2, 3)
    expected = data.copy()
    expected[key] = value
    x, v = tg.tensor(data, requires_grad=True), tg.tensor(value, requires_grad=True)
    y = x * 1
    y[key] = v
    assert y.tolist() == expected.tolist()
    y.sum().backward()
    kept = np.ones((2, 3))
    kept[key] = 0
    assert (np.zeros((2, 3)) if x.grad is None else x.grad.numpy()).tolist() == kept.tolist()
    if not isinstance(key, tuple) or 0 not in np.ravel(key[-1]):
        assert (0 if v.grad is None else v.grad.sum().item()) == 6 - kept.sum()
    if isinstance(key, (np.ndarray, list)) and np.ndim(key):
        y = tg.tensor(data)
        y[tg.tensor(key)] = tg.tensor(value)
        assert y.tolist() == expected.tolist()


def test_odd_sizes() -> None:
    """Empty tensors, tensors without dimensions, and memory with gaps or out of order."""
    assert tg.zeros(0).add_(1).tolist() == []
    assert tg.zeros(2, 0).mul_(tg.ones(0)).shape == (2, 0)
    s = tg.tensor(2.0)
    s += 1
    s[...] = s * 2
    s[()] = s + 1
    assert s.item() == 7
    m = tg.zeros(3, 4)
    m.t()[::2, ::-2].add_(tg.arange(4.0).view(2, 2))
    assert m.tolist() == [[1, 0, 3, 0], [0, 0, 0, 0], [0, 0, 2, 0]]
    assert tg.tensor([np.nan, 1.0]).nan_to_num_(5.0).tolist() == [5, 1]


def test_in_place_inside_transforms() -> None:
    """Compiled and transformed functions give what running code gives."""

    def f(t: Any) -> Any:
        y = t * 1
        v = y[1:]
        v.mul_(3)
        y.clamp_(max=5.0)
        y[0] += 2
        y.view(-1).addcmul_(y.detach(), y.detach(), value=0.5)
        return (y * y).sum()

    x = tg.tensor([1.0, 1.5, 4.0])
    eager = x.clone().requires_grad_()
    f(eager).backward()
    assert np.allclose(tg.grad(f)(x).numpy(), eager.grad.numpy())
    assert np.allclose(tg.jit(tg.grad(f))(x).numpy(), eager.grad.numpy())
    compiled = x.clone().requires_grad_()
    tg.jit(f)(compiled).backward()
    assert np.allclose(compiled.grad.numpy(), eager.grad.numpy())
    assert x.tolist() == [1, 1.5, 4]


def test_a_value_from_the_same_memory() -> None:
    """What is assigned may be a part of the tensor itself; then it is copied first."""
    x = leaf()
    y = x * 1
    y[0] = y[1]
    y[1] = y[2]
    y[2] = y[0].clone() * y[1].clone()
    assert y.tolist() == [2, 3, 6]
    (y * tg.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [0, 301, 210]
    plain = tg.arange(5)
    plain[1:] = plain[:-1]
    assert plain.tolist() == [0, 0, 1, 2, 3]


def test_an_element_of_a_large_tensor() -> None:
    """Writing an element copies no more than the element, recorded or not: the rest may be
    anything."""
    x = tg.tensor(2.0, requires_grad=True)
    large = tg.zeros(1000, 1000)
    address = large.data_ptr()
    for k in range(100):
        large[k, k] = x * k
    assert large.data_ptr() == address
    assert large._version == 100
    large[7].sum().backward()
    assert x.grad.item() == 7


def test_other_shapes_in_place() -> None:
    """t_, transpose_, unsqueeze_, squeeze_: the tensor has another shape; views from before and
    after show the same memory."""
    x = tg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    y = x * 1
    before = y[0]
    node = y.grad_fn
    assert y.t_() is y
    assert y.shape == (3, 2)
    assert y._version == 1
    assert y.grad_fn.next_functions[0][0] is node
    after = y[:, 1]
    y.mul_(2)
    before.add_(1)
    after.mul_(10)
    y.unsqueeze_(0).transpose_(0, 2).squeeze_(2)
    assert y.tolist() == [[1, 3, 5], [60, 80, 100]]
    assert before.tolist() == [1, 3, 5]
    assert after.tolist() == [60, 80, 100]
    (y * y).sum().backward()
    assert x.grad.tolist() == [[4, 12, 20], [2400, 3200, 4000]]
    square = tg.tensor([[1.0, 2.0], [3.0, 4.0]])
    row = square[0]
    z = (square.clone().requires_grad_() * row).sum()
    square.t_()
    square[0, 1] = 7
    assert row.tolist() == [1, 2]
    assert square.tolist() == [[1, 7], [2, 4]]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    with pytest.raises(RuntimeError, match=LEAF):
        leaf().unsqueeze_(0)
    w = leaf()
    with tg.no_grad():
        w.unsqueeze_(0)
    assert w.is_leaf
    assert w.requires_grad
    (w * 2).sum().backward()
    assert w.grad.tolist() == [[2, 2, 2]]
    assert tg.ones(3).t_().shape == (3,)
    assert tg.jit(lambda t: (t * 1).t_() + 1)(tg.zeros(2, 3)).shape == (3, 2)


def test_a_slice_of_an_expanded_tensor() -> None:
    """Its elements lie at places of their own, but others show them too: not written where that
    would be recorded."""
    x = leaf()
    y = x * 1
    e = y.expand(2, 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        e[0] = 0.5
    assert y.tolist() == [1, 2, 3]
    y[None].expand(1, 3)[0].mul_(2)
    y.expand(1, 1, 3).view(3)[0] = 5.0
    y.sum().backward()
    assert x.grad.tolist() == [0, 2, 2]
    plain = tg.ones(3)
    plain.expand(2, 3)[0].fill_(4)
    assert plain.tolist() == [4, 4, 4]


def test_views_that_change_nothing_are_views() -> None:
    """The same shape, no dimension to drop, one piece: another tensor, whose flags and shape are
    its own."""
    m, v, s = tg.ones(2, 3), tg.ones(3), tg.tensor(1.0)
    for base, view in (
        (m, m.view(2, 3)),
        (m, m.reshape(2, 3)),
        (m, m.squeeze()),
        (m, m.permute(0, 1)),
        (m, m.transpose(1, 1)),
        (m, m.movedim(0, 0)),
        (m, m.expand(2, 3)),
        (m, m.chunk(1)[0]),
        (v, v.t()),
        (v, v.T),
        (s, s.transpose(0, -1)),
        (s, s.view(())),
    ):
        assert view is not base
        assert view._base is base
        assert view.equal(base)
    m.chunk(1)
    x = tg.ones(2, 3, requires_grad=True)
    m.add_(x)
    assert m.squeeze().t_().shape == (3, 2)
    assert m.shape == (2, 3)
    with pytest.raises(RuntimeError, match="out of range"):
        s.transpose(0, 1)


def test_shapes_in_place_under_no_grad() -> None:
    """The history follows, and the tensor may be written afterwards."""
    x = leaf()
    y = x * 2
    c = tg.ones(1, 3)
    with tg.no_grad():
        y.unsqueeze_(0)
        c.squeeze_()
    (y * tg.tensor([[1.0, 2.0, 3.0]])).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]
    c[0] = x[1]
    assert c.requires_grad


def test_quotients_may_be_overwritten() -> None:
    """As in torch, the rule of a division does not read its result."""
    x, y = leaf(), leaf()
    z = x / y
    z.add_(1)
    z /= y
    z.mul_(2)
    z.sum().backward()
    a, b = x.detach().numpy(), y.detach().numpy()
    assert np.allclose(x.grad.numpy(), 2 / b**2)
    assert np.allclose(y.grad.numpy(), -2 * a / b**3 * 2 - 2 / b**2)


def test_a_leaf_that_was_detached_in_place() -> None:
    """It gets no gradient from what was computed from it before."""
    x = leaf()
    y = x * 2
    x.detach_()
    y.sum().backward()
    assert x.grad is None


def test_narrow_checks_its_bounds() -> None:
    """Unlike a slice, which is cut off."""
    x = tg.arange(4)
    assert x.narrow(0, -2, 2).tolist() == [2, 3]
    for start, length in ((3, 2), (0, -1), (-5, 1)):
        with pytest.raises(IndexError, match="exceeds dimension size"):
            x.narrow(0, start, length)


def test_another_shape_of_data_is_no_write() -> None:
    """`x.data.t_()` changes the shape of that tensor alone."""
    x, w = leaf(), tg.tensor([[1.0, 2.0, 3.0]])
    y = (x * w).sum()
    other = w.data
    assert other.t_().shape == (3, 1)
    assert other._version == 1
    assert w._version == 0
    y.backward()
    assert x.grad.tolist() == [1, 2, 3]
