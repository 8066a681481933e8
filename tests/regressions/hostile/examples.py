"""Arguments that work where names of parameters do not tell them; what public functions return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracegrad as tg
import tracegrad.torch as torch

from .networks import NETWORKS
from .things import (
    Maker,
    counted,
    decay,
    fn_of,
    grows,
    half,
    leaf,
    shifted,
    sine,
    small,
    square,
    step,
    total,
    vector,
    with_rule,
)

# What is not found by the names of the parameters alone.
EXAMPLES: dict[str, tuple[tuple[str, Maker], ...]] = {
    "tg.nn.Transformer": tuple(
        (name, lambda size=size: size)
        for name, size in (
            *(("d_model", 4), ("nhead", 2), ("dim_feedforward", 4)),
            *(("num_encoder_layers", 1), ("num_decoder_layers", 1)),
        )
    ),
    "tg.bmm": (("x", lambda: np.ones((1, 2, 2))), ("y", lambda: np.ones((1, 2, 2)))),
    "tg.debug_print": (("format", lambda: "text"),),
    "tg.cond": (
        ("predicate", lambda: True),
        ("true_function", fn_of(sine)),
        ("false_function", fn_of(half)),
        ("operand", vector),
    ),
    "tg.switch": (("index", lambda: 0), ("branches", lambda: [sine, half]), ("operand", vector)),
    "tg.fixed_point": (("f", fn_of(half)), ("x0", vector)),
    "tg.root": (("f", fn_of(shifted)), ("x0", vector)),
    "tg.minimize": (("f", fn_of(total)), ("x0", vector)),
    "tg.fori_loop": (
        ("lower", lambda: 0),
        ("upper", lambda: 3),
        ("body", fn_of(counted)),
        ("init", lambda: 1.0),
    ),
    "tg.while_loop": (("cond", fn_of(small)), ("body", fn_of(grows)), ("init", lambda: 1.0)),
    "tg.scan": (("f", fn_of(step)), ("init", lambda: 0.0), ("xs", vector)),
    "tg.odeint": (("f", fn_of(decay)), ("y0", vector), ("t", lambda: np.array([0.0, 0.1]))),
    "tg.linear_solve": (("product", fn_of(grows)), ("b", vector)),
    "tg.jvp": (
        ("function", fn_of(sine)),
        ("primals", lambda: (vector(),)),
        ("tangents", lambda: (vector(),)),
    ),
    "tg.func.jvp": (
        ("func", fn_of(sine)),
        ("primals", lambda: (vector(),)),
        ("tangents", lambda: (vector(),)),
    ),
    "tg.hvp": (
        ("function", fn_of(total)),
        ("primals", lambda: (vector(),)),
        ("tangents", lambda: (vector(),)),
    ),
    "tg.hessian_of_lagrangian": (
        ("function", fn_of(total)),
        ("constraints", fn_of(sine)),
    ),
    "tg.narrow": (
        ("input", lambda: tg.ones(2, 2)),
        ("dim", lambda: 0),
        ("start", lambda: 0),
        ("length", lambda: 1),
    ),
    "tg.autograd.backward": (("tensors", lambda: leaf(2).sum()),),
    "tg.autograd.grad": (("outputs", lambda: PAIR[0].sum()), ("inputs", lambda: PAIR[0])),
    "tg.autograd.gradcheck": (("func", fn_of(sine)), ("inputs", lambda: (leaf(2),))),
    "tg.autograd.functional.hvp": (
        ("func", fn_of(total)),
        ("inputs", lambda: tg.ones(2)),
        ("v", lambda: tg.ones(2)),
    ),
    "tg.autograd.functional.vhp": (
        ("func", fn_of(total)),
        ("inputs", lambda: tg.ones(2)),
        ("v", lambda: tg.ones(2)),
    ),
    "tg.autograd.functional.jvp": (
        ("func", fn_of(total)),
        ("inputs", lambda: tg.ones(2)),
        ("v", lambda: tg.ones(2)),
    ),
    "tg.autograd.graph.saved_tensors_hooks": (
        ("pack_hook", fn_of(half)),
        ("unpack_hook", fn_of(half)),
    ),
    "tg.autograd.graph.register_multi_grad_hook": (
        ("tensors", lambda: [leaf(2)]),
        ("fn", fn_of(half)),
    ),
    "tg.autograd.profiler.record_function": (("name", lambda: "part"),),
    "tg.utils.checkpoint.checkpoint_sequential": (
        ("functions", lambda: [sine, half]),
        ("segments", lambda: 1),
        ("input", lambda: tg.ones(2)),
    ),
    "tg.nn.init.calculate_gain": (("nonlinearity", lambda: "relu"),),
    "tg.nn.init.dirac_": (("tensor", lambda: tg.ones(2, 2, 3)),),
    "tg.nn.utils.vector_to_parameters": (
        ("vec", lambda: tg.ones(2)),
        ("parameters", lambda: [leaf(2)]),
    ),
    "tg.optim.lr_scheduler.ChainedScheduler": (
        ("schedulers", lambda: [tg.optim.lr_scheduler.StepLR(tg.optim.SGD([leaf(2)]), 2)]),
    ),
    "tg.nn.functional.ctc_loss": (
        ("log_probs", lambda: tg.zeros(3, 1, 2)),
        ("targets", lambda: np.array([[1]])),
        ("input_lengths", lambda: np.array([3])),
        ("target_lengths", lambda: np.array([1])),
    ),
    "tg.optim.lr_scheduler.LambdaLR": (
        ("optimizer", lambda: tg.optim.SGD([leaf(2)], lr=0.1)),
        ("lr_lambda", fn_of(half)),
    ),
    "Tensor.unflatten": (("dim", lambda: 0), ("sizes", lambda: (2, 1))),
    "Tensor.split_with_sizes": (("split_sizes", lambda: [1, 1]),),
    "Tensor.backward": (("gradient", lambda: tg.ones(2, 2)),),
}
LOOPS = {
    "tg.odeint": (
        "NaN",
        "infinity",
        "an empty array",
        "a huge number",
        "a number beyond int64",
        "a complex number",
        "complex numbers",
    ),
    **dict.fromkeys(
        ("tg.fori_loop", "tg.diff", "np.diff"), ("a huge number", "a number beyond int64")
    ),
    "tg.while_loop": (
        "a huge number",
        "a number beyond int64",
        "a negative number",
        "NaN",
        "infinity",
        "an empty array",
    ),
}
LOOPS |= {
    f"tg.nn.{name}": ("a huge number", "a number beyond int64")
    for name in dir(tg.nn)
    if name.startswith(("GRU", "LSTM", "RNN", "Transformer"))
}
"""What loops on and on, and rightly so: so many steps, so many layers, differences by NumPy."""
PAIR = [leaf(2)]
"""One leaf, to be found by several arguments."""

# What public functions return, and rules that users give.
MADE: dict[str, tuple[Callable[[], Any], tuple[tuple[str, Maker], ...]]] = {
    "grad of a function": (lambda: tg.grad(total), (("x", vector),)),
    "value_and_grad of a function": (lambda: tg.value_and_grad(total), (("x", vector),)),
    "jacobian of a function": (lambda: tg.jacobian(sine), (("x", vector),)),
    "hessian of a function": (lambda: tg.hessian(total), (("x", vector),)),
    "vmap of a function": (lambda: tg.vmap(sine), (("x", vector),)),
    "jit of a function": (lambda: JITTED, (("x", vector),)),
    "pullback of vjp": (lambda: tg.vjp(sine, vector())[1], (("cotangent", vector),)),
    "grad with argnums": (
        lambda: lambda argnums: tg.grad(total, argnums)(vector()),
        (("argnums", lambda: 0),),
    ),
    "vmap of something": (
        lambda: lambda function: tg.vmap(function)(vector()),
        (("function", lambda: sine),),
    ),
    "func.vmap of something": (
        lambda: lambda function: tg.func.vmap(function)(vector()),
        (("function", lambda: sine),),
    ),
    "func.jacfwd of something": (
        lambda: lambda function: tg.func.jacfwd(function)(vector()),
        (("function", lambda: sine),),
    ),
    "vmap with in_axes": (
        lambda: lambda in_axes: tg.vmap(sine, in_axes)(square()),
        (("in_axes", lambda: 0),),
    ),
    "vmap with out_axes": (
        lambda: lambda out_axes: tg.vmap(sine, 0, out_axes)(square()),
        (("out_axes", lambda: 0),),
    ),
    "grad of a function that gives": (
        lambda: lambda value: tg.grad(lambda x: value)(vector()),
        (("value", lambda: 1.0),),
    ),
    "grad with has_aux of a function that gives": (
        lambda: lambda value: tg.grad(lambda x: value, has_aux=True)(vector()),
        (("value", lambda: (1.0, 2.0)),),
    ),
    "jvp with has_aux of a function that gives": (
        lambda: lambda value: tg.jvp(lambda x: value, (1.0,), (1.0,), has_aux=True),
        (("value", lambda: (1.0, 2.0)),),
    ),
    "vjp with has_aux of a function that gives": (
        lambda: lambda value: tg.vjp(lambda x: value, vector(), has_aux=True),
        (("value", lambda: (1.0, 2.0)),),
    ),
    "vmap of a function that gives": (
        lambda: lambda value: tg.vmap(lambda x: value)(vector()),
        (("value", lambda: 1.0),),
    ),
    "jit of a function that gives": (
        lambda: lambda value: tg.jit(lambda x: value)(vector()),
        (("value", lambda: 1.0),),
    ),
    "custom_vjp whose forward gives": (
        lambda: lambda value: with_rule(lambda x: value, lambda r, ct: (ct,)),
        (("value", lambda: (vector(), None)),),
    ),
    "custom_vjp whose backward gives": (
        lambda: lambda value: with_rule(lambda x: (np.sin(x), x), lambda r, ct: value),
        (("value", lambda: (vector(),)),),
    ),
    "scan whose step gives": (
        lambda: lambda value: tg.scan(lambda c, x: value, 0.0, vector()),
        (("value", lambda: (0.0, 1.0)),),
    ),
    "while_loop whose condition gives": (
        lambda: lambda value: tg.while_loop(lambda c: value, grows, 1.0, max_steps=3),
        (("value", lambda: False),),
    ),
    "while_loop whose body gives": (
        lambda: lambda value: tg.while_loop(lambda c: c < 1.2, lambda c: value, 1.0, max_steps=3),
        (("value", lambda: 3.0),),
    ),
    "fori_loop whose body gives": (
        lambda: lambda value: tg.fori_loop(0, 2, lambda k, c: value, 1.0),
        (("value", lambda: 3.0),),
    ),
    "cond whose branch gives": (
        lambda: lambda value: tg.jit(lambda p: tg.cond(p > 0, lambda: value, lambda: 1.0))(1.0),
        (("value", lambda: 3.0),),
    ),
    "odeint of a function that gives": (
        lambda: (
            lambda value: tg.odeint(lambda y, t: value, 1.0, np.array([0.0, 0.1]), max_steps=20)
        ),
        (("value", lambda: 3.0),),
    ),
    "Tensor[key]": (lambda: tg.ones(2, 2).__getitem__, (("key", lambda: 0),)),
    "Tensor + other": (lambda: tg.ones(2, 2).add, (("other", lambda: 1.0),)),
}
JITTED = tg.jit(half)
NUMPY: dict[str, tuple[tuple[str, Maker], ...]] = {}
"""Of NumPy's functions."""
INTEGERS = {
    f"Tensor.bitwise_{name}{end}"
    for name in ("and", "left_shift", "not", "or", "right_shift", "xor")
    for end in ("", "_")
}
OF: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(INTEGERS | {"Tensor.bincount"}, lambda: tg.tensor([1, 2])),
    **dict.fromkeys(("Tensor.is_nonzero", "Tensor.item"), lambda: tg.ones(1)),
    **dict.fromkeys(
        (
            "Tensor.register_hook",
            "Tensor.register_post_accumulate_grad_hook",
            "Tensor.requires_grad_",
            "Tensor.retain_grad",
        ),
        lambda: leaf(2, 2),
    ),
    "Tensor.view_as_real": lambda: tg.ones(2) * 1j,
}
"""What a method is called of, where the usual Tensor has none."""


def of(*args: Any) -> tuple[tuple[str, Maker], ...]:
    """Arguments for an example: makers by what they are called in messages of the sweep."""
    return tuple(
        (f"argument {k}", a if callable(a) else (lambda a=a: a)) for k, a in enumerate(args)
    )


def matrix() -> Any:
    return tg.tensor([[0.5, 0.25], [0.25, 0.75]])


def tensor_vector() -> Any:
    return tg.tensor([0.5, 0.25])


def places() -> Any:
    return tg.tensor([[0, 1], [1, 0]])


def optimizer() -> Any:
    return tg.optim.SGD([leaf(2)], lr=0.1)


def layer(kind: str) -> Any:
    return getattr(tg.nn, f"Transformer{kind}Layer")(4, 2, 8)


def torch_state() -> Any:
    return torch.get_rng_state()


def normal() -> Any:
    return torch.distributions.Normal(tg.zeros(2), tg.ones(2))


EXAMPLES |= {
    name: of(*args)
    for name, args in {
        **{f"{t}.is_nonzero": (lambda: tg.ones(1),) for t in ("tg", "torch")},
        **{f"{t}.clip": (matrix, 0.3, 0.6) for t in ("tg", "torch", "np")},
        **{f"{t}.masked_select": (matrix, lambda: matrix() > 0.3) for t in ("tg", "torch")},
        **{f"{t}.take_along_dim": (matrix, places, 0) for t in ("tg", "torch")},
        **{f"{t}.unflatten": (matrix, 0, lambda: (2, 1)) for t in ("tg", "torch")},
        **{
            f"{t}.{kind}with_sizes": (matrix, lambda: [1, 1])
            for t in ("torch",)
            for kind in ("split_", "unsafe_split_")
        },
        "tg.slice_array": (square, lambda: (0, 0), lambda: (1, 1)),
        **{f"Tensor.{f}": (0.3, 0.6) for f in ("clamp", "clamp_", "clip", "clip_")},
        **{f"Tensor.{f}": (tensor_vector, tensor_vector) for f in ("addr", "addr_")},
        **{
            f"Tensor.{f}{end}": (0, index, matrix, "amax")
            for f, index in (("scatter_reduce", places), ("index_reduce", lambda: tg.arange(2)))
            for end in ("", "_")
        },
        "Tensor.unfold": (0, 2, 1),
        "Tensor.unsafe_split_with_sizes": (lambda: [1, 1],),
        "Tensor.register_hook": (lambda: half,),
        "Tensor.register_post_accumulate_grad_hook": (lambda: half,),
        **{
            f"Tensor.bitwise_{n}{e}": (1,)
            for n in ("and", "left_shift", "or", "right_shift", "xor")
            for e in ("", "_")
        },
        "tg.func.functional_call": (
            lambda: tg.nn.Linear(2, 2),
            lambda: dict(tg.nn.Linear(2, 2).named_parameters()),
            matrix,
        ),
        "tg.func.stack_module_state": (lambda: [tg.nn.Linear(2, 2)],),
        "tg.nn.RNNBase": (lambda: "LSTM", 2, 2),
        "tg.nn.TransformerDecoder": (lambda: layer("Decoder"), 1),
        "tg.nn.TransformerEncoder": (lambda: layer("Encoder"), 1),
        "tg.nn.functional.conv3d": (lambda: tg.ones(1, 2, 3, 3, 3), lambda: tg.ones(2, 2, 1, 1, 1)),
        "tg.nn.functional.conv_transpose3d": (
            lambda: tg.ones(1, 2, 3, 3, 3),
            lambda: tg.ones(2, 2, 1, 1, 1),
        ),
        **NETWORKS,
        "tg.optim.lr_scheduler.LRScheduler": (optimizer,),
        "tg.optim.lr_scheduler.MultiStepLR": (optimizer, lambda: [1, 2]),
        "tg.optim.lr_scheduler.OneCycleLR": (optimizer, 0.1, 10),
        "tg.optim.lr_scheduler.CyclicLR": (optimizer, 0.1, 0.2, 3),
        "tg.optim.lr_scheduler.MultiplicativeLR": (optimizer, lambda: lambda epoch: 0.5),
        "tg.autograd.gradgradcheck": (lambda: total, lambda: (leaf(2),)),
        "torch.bincount": (lambda: tg.tensor([0, 1]),),
        "torch.clamp": (matrix, 0.3, 0.6),
        "tg.linalg.cross": (lambda: np.ones(3), lambda: np.ones(3)),
        "tg.linalg.cho_solve": (lambda: (np.eye(2), True), lambda: np.ones(2)),
        "tg.linalg.lu_solve": (lambda: (np.eye(2), np.arange(2)), lambda: np.ones(2)),
        "tg.linalg.cho_solve_banded": (lambda: (np.ones((1, 2)), True), lambda: np.ones(2)),
        "tg.linalg.eigh_tridiagonal": (lambda: np.ones(3), lambda: np.ones(2)),
        "tg.linalg.eigvalsh_tridiagonal": (lambda: np.ones(3), lambda: np.ones(2)),
        "tg.linalg.solve_banded": (lambda: (0, 0), lambda: np.ones((1, 2)), lambda: np.ones(2)),
        "torch.cross": (lambda: tg.ones(3), lambda: tg.ones(3)),
        "torch.einsum": ("ij->ji", matrix),
        "torch.iinfo": (lambda: np.int32,),
        "torch.imag": (lambda: tg.ones(2) * 1j,),
        "torch.linspace": (0, 1, 3),
        "torch.normal": (0.0, 1.0, lambda: (2,)),
        "torch.randint": (3, lambda: (2,)),
        "torch.view_as_real": (lambda: tg.ones(2) * 1j,),
        "torch.set_rng_state": (torch_state,),
        "torch.random.set_rng_state": (torch_state,),
        "torch.autograd.Variable": (matrix,),
        "torch.distributions.Bernoulli": (lambda: tg.tensor([0.5, 0.5]),),
        "torch.distributions.Categorical": (lambda: tg.tensor([0.5, 0.5]),),
        "torch.distributions.Binomial": (3, lambda: tg.tensor([0.5, 0.5])),
        "torch.distributions.Geometric": (lambda: tg.tensor([0.5, 0.5]),),
        "torch.distributions.Independent": (normal, 1),
        "torch.distributions.MultivariateNormal": (lambda: tg.zeros(2), matrix),
        "torch.distributions.kl_divergence": (normal, normal),
        **{f"torch.linalg.{f}": (matrix,) for f in ("cholesky", "inv", "inv_ex")},
        "torch.linalg.solve": (matrix, matrix),
        "torch.linalg.solve_ex": (matrix, matrix),
        "torch.linalg.cholesky_ex": (matrix,),
        "torch.linalg.tensorsolve": (matrix, lambda: tg.ones(2)),
        "torch.linalg.lu_solve": (matrix, lambda: tg.tensor([1, 2], dtype=tg.int32), matrix),
        "torch.lu_solve": (matrix, matrix, lambda: tg.tensor([1, 2], dtype=tg.int32)),
        "torch.diagonal_scatter": (matrix, lambda: tg.ones(2)),
        "torch.index_reduce": (matrix, 0, lambda: tg.arange(2), matrix, "amax"),
        "torch.scatter_reduce": (matrix, 0, lambda: tg.zeros(1, 1, dtype=int), matrix, "sum"),
        "torch.stft": (lambda: tg.ones(8), 4),
        "torch.istft": (lambda: torch.stft(tg.ones(8), 4), 4),
        "torch.unravel_index": (lambda: tg.tensor([1, 2]), lambda: (2, 2)),
        "tg.nn.functional.affine_grid": (lambda: tg.ones(1, 2, 3), lambda: (1, 1, 2, 2)),
        "tg.nn.functional.grid_sample": (
            lambda: tg.ones(1, 1, 2, 2),
            lambda: tg.zeros(1, 1, 1, 2),
        ),
        "torch.utils.data.BatchSampler": (lambda: [0, 1], 2, False),
        "Module.load_state_dict": (lambda: tg.nn.Linear(2, 2).state_dict(),),
        "Module.register_buffer": ("part", matrix),
        "Module.register_parameter": ("part", lambda: tg.nn.Parameter(matrix())),
        "Module.add_module": ("part", tg.nn.ReLU),
        "Module.apply": (lambda: type,),
        "Module.get_parameter": ("weight",),
        "Module.register_forward_hook": (lambda: lambda *_: None,),
        "Module.register_forward_pre_hook": (lambda: lambda *_: None,),
        "Sequential.append": (tg.nn.ReLU,),
        "Sequential.extend": (lambda: [tg.nn.ReLU()],),
        "Sequential.insert": (0, tg.nn.ReLU),
        "torch.Generator.set_state": (torch_state,),
        "optim.SGD.load_state_dict": (lambda: optimizer().state_dict(),),
        "LambdaLR.load_state_dict": (dict,),
        "ReduceLROnPlateau.load_state_dict": (dict,),
        "ModuleDict.pop": ("a",),
        "ModuleDict.update": (lambda: {"b": tg.nn.ReLU()},),
    }.items()
}
NUMPY |= {
    "np.clip": of(square, 0.3, 0.6),
    "np.apply_along_axis": of(lambda: np.sum, 1, square),
    "np.apply_over_axes": of(lambda: np.sum, square, 0),
    "np.choose": of(lambda: np.array([0, 1]), lambda: [np.ones(2), np.zeros(2)]),
    "np.bincount": of(lambda: np.array([0, 1])),
    "np.dsplit": of(lambda: np.ones((1, 1, 2)), 2),
    **dict.fromkeys(("np.argpartition", "np.partition"), of(lambda: np.ones(3), 1)),
    "np.linalg.cross": of(lambda: np.ones(3), lambda: np.ones(3)),
    "np.einsum": of("ij->ji", square),
    "np.ix_": of(lambda: np.array([0, 1]), lambda: np.array([1, 0])),
    "np.ravel_multi_index": of(lambda: np.array([[0, 1], [1, 0]]), lambda: (2, 2)),
    "np.unpackbits": of(lambda: np.array([1, 7], np.uint8)),
    "np.where": of(lambda: square() > 1, square, square),
}
LAME = {
    "tg.slice_array": "a function for the library's own rules",
    "tg.nn.RNNBase": "a base class",
    "tg.optim.Optimizer": "a base class",
    "tg.optim.lr_scheduler.LRScheduler": "a base class",
    "tg.optim.lr_scheduler.SequentialLR": "its schedules are those of its optimizer",
    "tg.autograd.forward_ad.make_dual": "only inside of a level",
    "Tensor.backward": "of a Tensor that was recorded",
    "Tensor.requires_grad_": "has no argument that must be given",
    "np.select": "its conditions stand before the arrays",
    "np.einsum": "its subscripts stand before the arrays",
    "np.where": "its condition stands before the arrays",
    "np.clip": "its bounds are arrays too",
    "tg.Array": "there for isinstance",
    "tg.autograd.graph.Node": "there for isinstance",
    "tg.autograd.profiler.FunctionEvent": "made by a profile",
    "tg.autograd.graph.queue_callback": "only inside of a backward pass",
    **dict.fromkeys(("Tensor.half", "Tensor.bfloat16"), "half precision is no dtype here"),
    "Tensor.dsplit": "of three dimensions",
    "np.linalg.tensorinv": "of four dimensions",
    "tg.linalg.tensorinv": "of four dimensions",
    "tg.load": "needs a library on disk",
    "torch.wrap": "needs PyTorch",
    "Jitted.export": "writes files",
    "torch.load": "needs a file",
    "torch.save": "needs a file",
    "torch.linalg.solve_triangular": "needs upper=",
    "torch.linalg.tensorinv": "of four dimensions",
    "Categorical.rsample": "its samples do not depend on the parameters differentiably",
    "ModuleList.forward": "a list of modules has no forward",
    "Module.get_buffer": "the module has none",
    "Module.get_submodule": "the module has none",
    "Module.register_module": "another name of add_module",
    "optim.LBFGS.add_param_group": "LBFGS has one group",
    "optim.LBFGS.step": "needs a closure that computes gradients",
    "optim.LBFGS.load_state_dict": "needs a state of its own",
}
"""What is called with wrong arguments alone, each with its reason."""
NEEDS_A_GPU = ("tg.cuda.", "Tensor.cuda", "Module.cuda")
NEEDS_A_RUN = ("profile.", "EventList.", "device.", "optim.")
"""Methods of strings that a device has, files that a profile writes, and the rules of optimizers,
which steps call."""
