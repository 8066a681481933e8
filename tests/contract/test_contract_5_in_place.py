"""Section 5 of the torch.autograd contract, line by line: what may be written to, what views
follow, and what is noticed."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tests.contract.refusals import LEAF

VIEW_OF_LEAF = (
    r"^a view of a leaf Variable that requires grad is being used in an in-place operation"
)


MODIFIED = r"modified by an inplace operation: \[tracegrad.DoubleTensor \[3\]\]"


MANY = (
    r"Output {nr} of {name} is a view and is being modified inplace.*should replace the "
    r"inplace operation by an out-of-place one"
)


def add_in_place(x: Any) -> None:
    x += 1


def add_to_element(x: Any) -> None:
    x[0] += 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.zero_(),
        lambda x: x.copy_(tg.ones(3)),
        lambda x: x.normal_(),
        add_in_place,
        lambda x: x.__setitem__([0, 1], 1.0),
        lambda x: x.__setitem__(x > 0, 1.0),
    ],
)
def test_leaf(write: Callable[[Any], Any]) -> None:
    """A leaf that requires grad may not be written where that would be recorded; under no_grad it
    may, and stays a leaf."""
    x = leaf()
    with pytest.raises(RuntimeError, match=LEAF):
        write(x)
    assert x.tolist() == [1, 2, 3]
    assert x._version == 0
    with tg.no_grad():
        write(x)
    assert x.is_leaf
    assert x.requires_grad
    assert x._version >= 1


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.view(3, 1).add_(1),
        lambda x: x[1:].mul_(2),
        lambda x: x[0].fill_(2),
        lambda x: x[1:].view(-1)[:1].zero_(),
        add_to_element,
    ],
)
def test_view_of_a_leaf(write: Callable[[Any], Any]) -> None:
    """Nor through a view."""
    x = leaf()
    with pytest.raises(RuntimeError, match=VIEW_OF_LEAF):
        write(x)
    assert x.tolist() == [1, 2, 3]


def test_element_of_a_leaf() -> None:
    """`x[0] = 1` is such a write as well."""
    x = leaf()
    with pytest.raises(
        RuntimeError,
        match="leaf Variable that requires grad is being used in an in-place operation",
    ):
        x[0] = 1
    with tg.no_grad():
        x[0] = 7
    assert x.tolist() == [7, 2, 3]
    assert x._version == 1


def test_saved_value_changed() -> None:
    """The error is raised in the backward pass, not at the write, and names dtype, shape, producer
    and versions."""
    y = leaf() * 1
    z = y * y
    y.add_(1)
    with pytest.raises(
        RuntimeError,
        match=MODIFIED
        + r", which is output 0 of Add.* is at version 1; expected version 0 instead. Hint: ",
    ):
        z.sum().backward()
    e = leaf().exp()
    e.mul_(2)
    with pytest.raises(
        RuntimeError, match=r"which is output 0 of Exp.* is at version 1; expected version 0"
    ):
        e.sum().backward()
    x, w = leaf(), tg.ones(3)
    product = x * w
    w.add_(1).add_(1)
    with pytest.raises(RuntimeError, match=r"is at version 2; expected version 0"):
        product.sum().backward()


def test_what_was_not_saved_may_change() -> None:
    """Neither rule reads what the next one overwrites."""
    x = leaf()
    y = x * 1
    y.add_(1).mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    "write",
    [
        lambda w: w.add_(1),
        lambda w: w[1:].mul_(2),
        lambda w: w.view(3, 1).zero_(),
        lambda w: w.detach().add_(1),
        lambda w: w.detach()[0].add_(1),
        lambda w: w.unbind()[2].fill_(0),
        lambda w: w.data.add_(1),
        lambda w: w.data[1:].mul_(2),
        lambda w: w.numpy().__setitem__(0, 9.0),
        lambda w: w.detach().numpy().__setitem__(0, 9.0),
        lambda w: w.data.numpy().__iadd__(1),
        lambda w: w[1:].numpy().fill(0),
        lambda w: np.asarray(w).sort(),
        lambda w: np.copyto(w.view(3, 1).numpy()[::-1], 3.0),
        lambda w: np.add(w.numpy(), 1, out=w.numpy()),
    ],
)
@pytest.mark.parametrize("through", ["itself", "a view", "detached", "expanded"])
def test_every_way_to_write_is_noticed(write: Callable[[Any], Any], through: str) -> None:
    """A write into saved memory is noticed, through `.data` and NumPy arrays too, where torch gives
    a wrong gradient."""
    w = tg.tensor([3.0, 2.0, 1.0])
    saved = {"itself": w, "a view": w.view(3), "detached": w.detach(), "expanded": w.expand(3, 3)}[
        through
    ]
    y = (leaf() * saved).sum()
    write(w)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_arrays_that_were_lent_before() -> None:
    """An array taken before the value was saved is looked after as long as it, or a view of it,
    lives."""
    x, w = leaf(), tg.tensor([3.0, 2.0, 1.0])
    lent = w.numpy()
    lent[0] = 5
    part = lent[1:]
    del lent
    y = (x * w).sum()
    y.backward()
    assert x.grad.tolist() == [5, 2, 1]
    y = (x * w).sum()
    part[0] = 7
    del part
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    x.grad = None
    (x * w).sum().backward()
    assert x.grad.tolist() == [5, 7, 1]


def test_arrays_that_are_only_read() -> None:
    """Reading, NaN, and writing the same numbers are no change; an array stays writable and shares
    the memory."""
    x, w = leaf(), tg.tensor([np.nan, -0.0, 1.0])
    y = (x * w).sum()
    lent = w.numpy()
    lent[1] = lent[1]
    assert lent.flags.writeable
    assert np.asarray(w).tolist()[1:] == [0, 1]
    y.backward()
    assert np.array_equal(x.grad.numpy(), [np.nan, 0, 1], equal_nan=True)
    w.fill_(4)
    assert lent.tolist() == [4, 4, 4]
    lent[2] = 6
    assert w.tolist() == [4, 4, 6]
    for odd in (
        tg.tensor(3.0),
        tg.zeros(0, 3),
        tg.arange(6).view(2, 3).t(),
        tg.tensor([True]),
        tg.tensor([1j]),
    ):
        array = odd.numpy()
        assert array.shape == odd.shape
        assert array.dtype == odd.dtype
        assert array.tolist() == odd.tolist()


def test_lent_arrays_leave_nothing_behind() -> None:
    """Without the array nothing is compared any more, and nothing is kept alive."""
    w = tg.ones(3)
    w.numpy()[0] = 2
    assert w._version == 0
    count = len(gc.get_objects())
    for _ in range(100):
        w.numpy()
    assert len(gc.get_objects()) < count + 50


def test_memory_of_the_users_own_array() -> None:
    """What is written into an array of which a tensor was made without a copy is noticed, too (in
    torch it gives another gradient)."""
    array = np.array([1.0, 2.0, 3.0])
    x, w = leaf(), tg.from_numpy(array)
    y = (x * w).sum()
    array[0] = 10
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    y = (x * w).sum()
    y.backward()
    assert x.grad.tolist() == [10, 2, 3]


def test_copy_slices_and_as_strided() -> None:
    """After a write through a view the base's node is CopySlices and the view's AsStrided."""
    x = leaf(1.0, 2.0, 3.0, 4.0)
    base = x * 2
    v = base[:2]
    v.mul_(3)
    assert base.grad_fn.name() == "tracegrad::autograd::CopySlices"
    assert repr(base).endswith("grad_fn=<CopySlices>)")
    assert v.grad_fn.name() == "AsStridedBackward0"
    assert v.grad_fn.next_functions[0][0] is base.grad_fn
    base.sum().backward()
    assert x.grad.tolist() == [6, 6, 2, 2]
    plain = tg.ones(3)
    part = plain[1:]
    part.mul_(x[:2])
    assert plain.requires_grad
    assert plain.grad_fn.name() == "tracegrad::autograd::CopySlices"


def test_assignment_of_an_element() -> None:
    """`u[0] = 5` gives CopySlices and a zero gradient there."""
    x = leaf()
    u = x * 2
    u[0] = 5.0
    assert u.grad_fn.name() == "tracegrad::autograd::CopySlices"
    u.sum().backward()
    assert x.grad.tolist() == [0, 2, 2]
    for key in ([0, 1], tg.tensor([0, 1]), np.array([True, True, False])):
        u = x * 2
        u[key] = 5.0
        assert u.grad_fn.name() == "IndexPutBackward0"
        x.grad = None
        u.sum().backward()
        assert x.grad.tolist() == [0, 0, 2]


def test_a_view_follows_its_base() -> None:
    """A view used after its base was written leads to the base's new history."""
    x = leaf()
    for make in (
        lambda b: b[1],
        lambda b: b[1:][0],
        lambda b: b.view(3, 1)[1, 0],
        lambda b: b.unbind()[1],
        lambda b: b.split(1)[1][0],
    ):
        base = x * 1
        v = make(base)
        base.mul_(5)
        (g,) = tg.autograd.grad(v * 1, x)
        assert g.tolist() == [0, 5, 0]
        plain = tg.ones(3)
        v = make(plain)
        plain.mul_(x)
        (g,) = tg.autograd.grad(v * 1, x)
        assert g.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("split", "nr", "name"),
    [
        (lambda y: y.unbind(), 0, "Unbind"),
        (lambda y: y.unbind()[1:], 1, "Unbind"),
        (lambda y: list(y), 0, "Unbind"),
        (lambda y: y.split(2), 0, "Split"),
        (lambda y: y.split([1, 2]), 0, "SplitWithSizes"),
        (lambda y: y.chunk(2)[1:], 1, "Split"),
    ],
)
def test_one_of_several_views(split: Callable[[Any], Any], nr: int, name: str) -> None:
    """Views that one function has made together may not be written where that would be recorded;
    nor may their views."""
    x = leaf()
    for y in (x * 1, x):
        with pytest.raises(RuntimeError, match=MANY.format(nr=nr, name=name)):
            split(y)[0].add_(1)
        with pytest.raises(RuntimeError, match=MANY.format(nr=nr, name=name)):
            split(y)[0].view(-1)[:1].add_(1)
    assert split(x * 1)[0].grad_fn.name() == f"{name}Backward0"
    y = tg.ones(3)
    with pytest.raises(RuntimeError, match=MANY.format(nr=nr, name=name)):
        split(y)[0].mul_(x.sum())
    split(y)[0].add_(1)
    assert y.sum().item() > 3
    y = x * 1
    with tg.no_grad():
        split(y)[0].add_(1)


def test_views_made_under_no_grad() -> None:
    """A view made in no_grad mode may not be written where that would be recorded."""
    x = leaf()
    for base in (x, x * 1, tg.ones(3)):
        with tg.no_grad():
            v = base[1:]
            v.add_(1)
        factor = x[0] if base.is_leaf and not base.requires_grad else 2.0
        with pytest.raises(
            RuntimeError,
            match=(
                "A view was created in no_grad mode and is being modified inplace with grad "
                "mode enabled"
            ),
        ):
            v.mul_(factor)
    with tg.no_grad():
        v = tg.ones(3)[1:]
    assert v.add_(1).tolist() == [2, 2]


def test_expanded() -> None:
    """Several elements at one place cannot be written; where nothing is repeated they can."""
    for e in (
        tg.ones(1).expand(3),
        tg.ones(3, 1).expand(3, 2),
        tg.tensor(1.0).expand(2),
        tg.ones(2, 1).expand(2, 2)[0],
        tg.ones(1).expand(4)[::2],
    ):
        with pytest.raises(
            RuntimeError,
            match=(
                "more than one element of the written-to tensor refers to a single memory location"
            ),
        ):
            e.add_(1)
    one = tg.ones(1)
    one.expand(1, 1).add_(1)
    assert one.tolist() == [2]
    assert one.expand(3)._base is one


def test_read_only_memory() -> None:
    """A tensor on a read-only array cannot be written, and the error says why."""
    array = np.ones(2)
    array.flags.writeable = False
    x = tg.as_tensor(array)
    with pytest.raises(RuntimeError, match=r"read-only.*clone"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="read-only"):
        x[:1].add_(1)
    assert not array.flags.writeable
    assert tg.tensor(array).add_(1).tolist() == [2, 2]


def test_shapes_and_dtypes() -> None:
    """What is written is broadcast and cast to the tensor; what does not fit is refused, and the
    tensor is as it was."""
    x = tg.ones(3)
    with pytest.raises(RuntimeError, match="does not fit"):
        x.add_(tg.ones(2, 3))
    with pytest.raises(RuntimeError, match="cannot be broadcast"):
        x.add_(tg.ones(2))
    with pytest.raises(RuntimeError, match="cannot be"):
        x[:2] = tg.ones(3)
    for integer in (tg.arange(3), tg.arange(3).byte()):
        for write in (lambda i: i.add_(0.5), lambda i: i.div_(2), lambda i: i.exp_()):
            with pytest.raises(RuntimeError, match="cannot be cast to the written array's"):
                write(integer)
    with pytest.raises(RuntimeError, match="cannot be cast"):
        x.mul_(1j)
    with pytest.raises(RuntimeError, match="complex value cannot fill"):
        x.fill_(1j)
    with pytest.raises(RuntimeError, match="value without dimensions"):
        x.fill_(tg.ones(3))
    assert x.tolist() == [1, 1, 1]
    assert x._version == 0
    assert x.float().add_(tg.ones(3)).dtype == np.float32
    assert tg.arange(3).byte().add_(tg.ones(3, dtype=np.int64)).tolist() == [1, 2, 3]
    assert tg.arange(3).copy_(tg.tensor([2.7, -1.2, 0.0])).tolist() == [2, -1, 0]
    i = tg.arange(3)
    i[0] = 2.7
    assert i.tolist() == [2, 1, 2]
    assert tg.ones(2, 3).add_(tg.arange(3)).tolist() == [[1, 2, 3]] * 2
    assert tg.tensor([0.5, 2.0]).gt_(1).tolist() == [0, 1]


def test_nothing_is_written_where_an_operation_fails() -> None:
    """An error leaves value, version and history as they were."""
    x = leaf()
    y = x * 1
    node = y.grad_fn
    with pytest.raises(IndexError):
        y[5] = 1
    with pytest.raises(RuntimeError):
        y.copy_(tg.ones(2))
    assert y.grad_fn is node
    assert y._version == 0


# method, arguments: the method with an underscore does in place what the one without does
