"""The recorded graph: its nodes, what they save, hooks for several tensors, and who is told of new
nodes."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..ir.dispatch import STATE, Value
from ..tape.engine import RUNNING, SweepTask
from ..tape.hooks import RemovableHandle
from ..tape.saved import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)
from ..tape.tape import GradientEdge
from ..tape.tape import Producer as Node


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The place in the graph where the gradient of `tensor` arrives: `grad` and `backward` take it
    in the tensor's place, which need not be kept for that.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> y = x * 3
    >>> tg.autograd.grad(y.sum(), tg.autograd.graph.get_gradient_edge(y))
    (tensor([1., 1.]),)
    """
    if not isinstance(tensor, Value):
        raise TypeError(f"get_gradient_edge takes a Tensor, not {type(tensor).__name__}")
    box: Any = tensor
    box._refresh()
    if not box.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that "
            "does not require gradients"
        )
    return GradientEdge(*box._edge())


def increment_version(tensor: Any) -> None:
    """Note that a tensor (or each of several) was changed in a way that the library could not see:
    a saved value that was overwritten is then noticed in the backward pass. Tensors made in
    inference mode have no version and are passed over.

    >>> import tracegrad as tg
    >>> x = tg.zeros(2)
    >>> tg.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    tensors = (tensor,) if isinstance(tensor, Value) else tensor
    if not isinstance(tensors, Iterable):
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
    for t in tensors:
        if not isinstance(t, Value):
            raise RuntimeError("increment_version expect a Iterable[Tensor] as input")
        box: Any = t
        if not (hasattr(box, "is_inference") and box.is_inference()):
            box._version_counter.advance()


class _Handles(RemovableHandle):
    """One handle for the hooks of several tensors."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take all of them away."""
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once in each backward pass that reaches some of these tensors.

    With mode "all" it is called when the last of their gradients is known, with all of them: None
    for tensors that the pass does not reach. With "any" it is called with the first gradient. It
    returns nothing and leaves the gradients as they are.

    >>> import tracegrad as tg
    >>> a, b = tg.ones(1, requires_grad=True), tg.ones(1, requires_grad=True)
    >>> c = a * b
    >>> handle = tg.autograd.graph.register_multi_grad_hook(
    ...     (a, b, c), lambda grads: print([g.tolist() for g in grads])
    ... )
    >>> c.sum().backward()
    [[1.0], [1.0], [1.0]]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if not callable(fn):
        raise TypeError(f"a hook must be callable, not {type(fn).__name__}")
    if mode == "any":
        tensors = [t for t in tensors if t.requires_grad]
    for t in tensors:
        if not t.requires_grad:
            raise RuntimeError(
                "register_multi_grad_hook waits for gradients, but one of the tensors "
                "doesn't require gradient"
            )
    shared = _Together(tuple(tensors), fn, mode == "all")
    return _Handles(
        [t.register_hook(functools.partial(shared.arrived, k)) for k, t in enumerate(tensors)]
    )


class _Together:
    """One hook for several tensors. What has arrived is noted with the sweep, so that sweeps inside
    sweeps and in other threads do not meddle."""

    def __init__(self, tensors: tuple[Any, ...], fn: Callable[[Any], None], every: bool) -> None:
        self.count, self.fn, self.every = len(tensors), fn, every
        # By reference to what the graph holds anyway: the graph holds this.
        self.places = [weakref.ref(t if t.grad_fn is None else t.grad_fn) for t in tensors]

    def arrived(self, k: int, grad: Any) -> None:
        task = RUNNING.task
        assert task is not None
        if not self.every:
            if self not in task.notes:
                task.notes[self] = True
                self.fn(grad)
            return
        if self not in task.notes:
            task.notes[self] = self._expected(task), [None] * self.count
            # A rule may give no gradient where one was expected.
            task.callbacks.append(self._finish)
        left, grads = task.notes[self]
        grads[k] = grad
        task.notes[self] = left - 1, grads
        if left == 1:
            self._finish()

    def _expected(self, task: SweepTask) -> int:
        reached = task.reached()
        return sum(
            p is not None and p._order in reached for p in [place() for place in self.places]
        )

    def _finish(self) -> None:
        task = RUNNING.task
        assert task is not None
        grads = task.notes[self][1]
        if grads is not None:
            task.notes[self] = 0, None
            self.fn(grads)


def queue_callback(fn: Callable[[], Any]) -> None:
    """Call `fn()` when the backward pass that runs is through and all gradients are in place; for
    hooks.

    >>> import tracegrad as tg
    >>> x = tg.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda g: tg.autograd.graph.queue_callback(lambda: print(x.grad)))
    >>> (x * 2).sum().backward()
    tensor([2.])
    """
    if RUNNING.task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if not callable(fn):
        raise TypeError(f"queue_callback takes a function, not {type(fn).__name__}")
    RUNNING.task.callbacks.append(fn)


@contextlib.contextmanager
def node_creation_hook(fn: Callable[[Node], Any]) -> Iterator[None]:
    """Inside, `fn(node)` is called for each new node of the graph in this thread, also for those of
    a backward pass that is recorded.

    >>> import tracegrad as tg
    >>> x = tg.ones(1, requires_grad=True)
    >>> with tg.autograd.graph.node_creation_hook(lambda node: print(node.name())):
    ...     y = (x * 2).sum()
    MulBackward0
    SumBackward0
    """
    if not callable(fn):
        raise TypeError(f"a hook must be callable, not {type(fn).__name__}")

    def tell(node: Node) -> None:
        # What a function records while it is traced is its own business, and happens once.
        if not STATE.traces:
            fn(node)

    created, special = STATE.created, STATE.special
    try:
        STATE.created, STATE.special = [*created, tell], special + 1
    except BaseException:  # Ctrl-C: the block is not entered, nor left
        STATE.created, STATE.special = created, special
        raise
    try:
        yield
    finally:
        STATE.created = [one for one in STATE.created if one is not tell]
        STATE.special -= 1


__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "node_creation_hook",
    "queue_callback",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
