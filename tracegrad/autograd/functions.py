"""`backward` and `grad`: the reverse sweep from tensors to tensors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import ops
from ..checks import describe
from ..devices import IN_USE, DeviceArray, from_host
from ..errors import ShapeError
from ..ir import upward
from ..ir.dispatch import SPECIAL, STATE, Value
from ..ir.graph import Var
from ..ops.arrays.transfer import place_of
from ..sizes import numel, same
from ..tape.batched import over_rows
from ..tape.boxes import fresh
from ..tape.engine import Place, like_of, place, receive, release, sweep
from ..tape.hooks import boxed
from ..tape.modes import restoring
from ..tape.tape import AccumulateGrad, Edge, GradientEdge
from .grad_mode import set_grad_enabled

CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad "
    "when creating the graph to avoid this. If you have to use this function, make sure to reset "
    "the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
GIVEN = (Value, np.ndarray, np.generic)
"""What may be given as a cotangent."""
BATCHED = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as "
    "the batch dimension. The sizes of the remaining dimensions are expected to match the shape "
    "of corresponding output, but a mismatch was detected: grad_output[{0}] has a shape of {1} "
    "and output[{0}] has a shape of {2}. If you only want some tensors in `grad_output` to be "
    "considered batched, consider using vmap."
)


def _tuple(x: Any) -> tuple[Any, ...]:
    if isinstance(x, (Value, np.ndarray, GradientEdge)) or x is None:
        return (x,)
    if not isinstance(x, Iterable):
        raise TypeError(
            f"a Tensor, a GradientEdge or a sequence of them is wanted, not {describe(x)}"
        )
    return tuple(x)


def _size(shape: Sequence[Any]) -> str:
    return f"tracegrad.Size([{', '.join(map(str, shape))}])"


def _agree(a: Sequence[Any], b: Sequence[Any]) -> bool:
    if not (SPECIAL and STATE.special):
        return a == b
    # Sizes in a trace may be symbols, whose comparison decides something.
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def _edge(x: Any) -> Edge:
    return (x.node, x.output_nr) if isinstance(x, GradientEdge) else x._end()


def _face(x: Any) -> Any:
    return upward.FACES.tensor if isinstance(x, GradientEdge) else x.face


def _outputs(given: Any) -> tuple[Any, ...]:
    """The differentiated tensors or edges, up to date."""
    outputs = _tuple(given)
    for out in outputs:
        if isinstance(out, Value):
            out._refresh()
        elif not isinstance(out, GradientEdge):
            raise TypeError(
                "what is differentiated must be a Tensor or a GradientEdge, "
                f"but got {type(out).__name__}"
            )
    return outputs


def _inputs(given: Any, who: str) -> list[Any]:
    """The tensors or edges with respect to which is differentiated, up to date."""
    wanted: list[Any]
    if isinstance(given, (list, tuple, Value)):
        wanted = list(_tuple(given))
    elif isinstance(given, dict):
        wanted = list(given.values())
    elif isinstance(given, Mapping):
        raise TypeError(
            f"`inputs` argument to `{who}()` must be a dict, not {type(given).__name__}. "
            "Other Mapping types are not supported."
        )
    else:
        wanted = list(_tuple(given))
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{who}()` cannot be empty.")
    for x in wanted:
        if isinstance(x, Value):
            x._refresh()
        elif not isinstance(x, GradientEdge):
            raise TypeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(x).__name__}"
            )
    return wanted


def _cotangents(outputs: Sequence[Any], given: Sequence[Any], batched: bool = False) -> list[Any]:
    """The given cotangents, checked; ones for real scalars where none is given."""
    if len(outputs) != len(given):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    result: list[Any] = []
    for k, (out, grad) in enumerate(zip(outputs, given, strict=True)):
        kind: Any = out if isinstance(out, Value) else like_of(_edge(out))
        if grad is None:
            result.append(_one(kind) if kind is not out or out._requires_grad else None)
            continue
        if not isinstance(grad, GIVEN):
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(grad).__name__}"
            )
        value: Any = grad
        if batched and (not value.shape or not _agree(value.shape[1:], kind.shape)):
            raise RuntimeError(BATCHED.format(k, _size(value.shape[1:]), _size(kind.shape)))
        if not batched and not _agree(value.shape, kind.shape):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{k}] has a shape of {_size(value.shape)} "
                f"and output[{k}] has a shape of {_size(kind.shape)}."
            )
        if IN_USE and value.shape and not STATE.traces and isinstance(out, Value):
            value = _placed(k, out, value)
        if value.dtype == kind.dtype:
            result.append(value)
            continue
        if (value.dtype.kind == "c") != (kind.dtype.kind == "c"):
            raise RuntimeError(
                "For complex Tensors, "
                "both grad_output and output are required to have the same dtype. "
                f"Mismatch in dtype: grad_output[{k}] has a dtype of tracegrad.{value.dtype.name} "
                f"and output[{k}] has a dtype of tracegrad.{kind.dtype.name}."
            )
        result.append(ops.convert(value, kind.dtype))
    return result


def _placed(k: int, out: Any, grad: Any) -> Any:
    """A cotangent where its output lies: an array of NumPy goes there, a Tensor has to be there."""
    where, to = place_of(grad), place_of(out)
    if where == to:
        return grad
    if isinstance(grad, Value):
        raise RuntimeError(
            f"grad_output[{k}] is on {where} and output[{k}] on {to}: expected all tensors to be "
            f"on the same device. Move the gradient with .to({str(to)!r})"
        )
    return boxed(out.face, from_host(to, grad))


def _one(out: Any) -> Any:
    """The implicit cotangent of a real scalar."""
    shape, dtype = out.shape, out.dtype
    if shape and not same(numel(shape), 1):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if dtype.kind == "c":
        raise RuntimeError(
            "grad can be implicitly created only for real scalar outputs but got "
            f"tracegrad.{dtype.name}"
        )
    data = getattr(out, "_data", None)
    if isinstance(data, Var):
        return ops.ones_like(out)
    if isinstance(data, DeviceArray):
        return boxed(out.face, from_host(data.device, np.ones(shape, dtype)))
    return np.ones(shape, dtype) if shape else dtype.type(1)


def _roots(
    outputs: Sequence[Any], cotangents: Sequence[Any], create_graph: bool
) -> list[tuple[Edge, Any]]:
    roots = []
    for k, (out, ct) in enumerate(zip(outputs, cotangents, strict=True)):
        edge = _edge(out)
        if edge[0] is out and not out._requires_grad:
            raise RuntimeError(
                f"element {k} of tensors does not require grad and does not have a grad_fn"
            )
        if create_graph:
            # Where the user gave an array, it may be written to.
            ct = _face(out)(ct) if type(ct) is np.ndarray else boxed(_face(out), ct)
        elif isinstance(ct, Value):
            box: Any = ct
            # What a rule does with an array on a device it does with the box.
            if type(box._data) is np.ndarray and not (box._tangents and STATE.levels):
                ct = box._data
        roots.append((edge, ct))
    return roots


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves they
    depend on, or of `inputs`.

    tensors         a Tensor, a gradient edge, or a sequence of them
    grad_tensors    a weight per tensor, of its shape, converted to its dtype; None (for all or for
                    one) is 1 for a single real number
    retain_graph    keep what the graph saved, for another backward pass; left out: as create_graph
    create_graph    record the pass, so that the gradients can be differentiated; `.grad` is then
                    replaced, and otherwise added to in place
    inputs          Tensors (also results of operations), or a dict of them: only these get a
                    gradient

    Raises RuntimeError for weights that do not fit, for tensors without a graph, and where the
    graph was freed by an earlier pass; TypeError for what is no tensor.

    >>> import tracegrad as tg
    >>> x = tg.ones(2, requires_grad=True)
    >>> tg.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 2.])
    """
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed "
                "to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if create_graph:
        warnings.warn(CYCLE, UserWarning, stacklevel=2)
    targets: list[Place] | None = None
    into: list[Any] = []
    if inputs is not None:
        into = _inputs(inputs, "backward")
        for k, x in enumerate(into):
            if isinstance(x, GradientEdge):
                if not isinstance(x.node, AccumulateGrad):
                    raise RuntimeError(
                        "backward() adds gradients to tensors: give the tensor itself, "
                        "or take the edge's gradient with grad()"
                    )
                into[k] = x = x.node.variable
            if not x._requires_grad:
                raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        targets = [place(x._end()) for x in into]
    outputs = _outputs(tensors)
    given = [None] * len(outputs) if grad_tensors is None else _tuple(grad_tensors)
    roots = _roots(outputs, _cotangents(outputs, given), create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    found = sweep(roots, targets, create_graph, keep, accumulate=True)
    for x in into:
        # The sweep has added to leaves where it reached them; what was computed has no such place
        # on the tape.
        if x._grad_fn is not None and (ct := found.pop(place(x._end()), None)) is not None:
            receive(x, ct, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`: a tuple, or
    a dict for a dict of inputs.

    outputs, grad_outputs, retain_graph, create_graph
                        as the first arguments of `backward`; no `.grad` changes
    inputs              Tensors or gradient edges, one or several, also results of operations; each
                        gradient has the input's shape and dtype
    allow_unused        None in the place of an input that the outputs do not depend on, which is an
                        error otherwise
    materialize_grads   zeros in such places
    is_grads_batched    the first axis of each weight is a batch: all its rows in one pass, along
                        the first axis of the gradients

    Raises as `backward` does, and RuntimeError for an input that does not require grad.

    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 3.0], requires_grad=True)
    >>> tg.autograd.grad((x * x).sum(), x)
    (tensor([2., 6.]),)
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). "
            "To accumulate gradient for other parts of the graph, "
            "please use tracegrad.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    wanted = _inputs(inputs, "grad")
    if not all(isinstance(x, GradientEdge) or x._requires_grad for x in wanted):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    outs = _outputs(outputs)
    given = [None] * len(outs) if grad_outputs is None else _tuple(grad_outputs)
    if is_grads_batched:
        _check_batch(outs, given)
    cts = _cotangents(outs, given, is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    targets = [place(_edge(x)) for x in wanted]
    found = (_batched if is_grads_batched else _swept)(outs, targets, cts, keep, create_graph)
    taken = {id(getattr(c, "_data", c)) for c in cts}
    for k, (x, ct) in enumerate(zip(wanted, found, strict=True)):
        if ct is None:
            if not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {k} appears to not have been used in the "
                    "graph. Set allow_unused=True if this is the desired behavior."
                )
            if materialize_grads:
                kind = like_of(_edge(x)) if isinstance(x, GradientEdge) else x
                traced = isinstance(x, Value) and isinstance(x._data, Var)
                found[k] = (
                    ops.zeros_like(x)
                    if traced
                    else _face(x)(np.zeros(kind.shape, kind.dtype), create_graph)
                )
            continue
        if not isinstance(ct, Value):
            # Rules may hand on the cotangent they got, or a read-only broadcast: a result is the
            # caller's own.
            if type(ct) is not np.ndarray:
                ct = np.asarray(ct)
            if ct.base is not None or id(ct) in taken or not ct.flags.writeable:
                ct = ct.copy()
            taken.add(id(ct))
            found[k] = fresh(_face(x), ct)
            continue
        found[k] = boxed(_face(x), ct)
    return dict(zip(inputs, found, strict=True)) if isinstance(inputs, dict) else tuple(found)


def _swept(
    outs: Sequence[Any],
    targets: Sequence[Place],
    cts: Sequence[Any],
    keep: bool,
    create_graph: bool,
) -> list[Any]:
    found = sweep(_roots(outs, cts, create_graph), targets, create_graph, keep)
    return [found.get(target) for target in targets]


@restoring
def _batched(
    outs: Sequence[Any],
    targets: Sequence[Place],
    cts: Sequence[Any],
    keep: bool,
    create_graph: bool,
) -> list[Any]:
    """The sweep over all rows of the cotangents at once."""

    def swept(rows: list[Any]) -> list[Any]:
        return _swept(outs, targets, rows, True, create_graph)

    with set_grad_enabled(create_graph):
        found = over_rows(swept, cts)
    if not keep:
        release(_roots(outs, cts, create_graph), targets)
    return found


def _check_batch(outs: Sequence[Any], given: Sequence[Any]) -> None:
    for k, ct in enumerate(given):
        if ct is None:
            raise ValueError(
                "is_grads_batched=True needs a grad_output with a batch axis for each output, "
                f"but grad_output[{k}] is None."
            )
    sizes = [ct.shape[0] for ct in given if getattr(ct, "shape", ())]
    if not all(same(s, sizes[0]) for s in sizes):
        raise ShapeError(
            "is_grads_batched=True: the first dimensions of the grad_outputs must agree, "
            f"but they are {sizes}."
        )
