"""Examples of names whose docstring has none: what is typed, by name. The site evaluates them and
shows what they give; a test runs all."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import numpy as np
from examples_of_distributions import DISTRIBUTIONS

import tracegrad as tg

V = "tg.tensor([-1.0, 0.5, 2.0])"
IMAGE = "tg.arange(16.0).reshape(1, 1, 4, 4)"
LINE = "tg.arange(8.0).reshape(1, 2, 4)"
BLOCK = "tg.ones(1, 1, 2, 4, 4)"
P, Q = "tg.tensor([0.2, 0.7])", "tg.tensor([0.0, 1.0])"
SCORES = "tg.tensor([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2]])"
ROWS = "tg.tensor([[1.0, 2.0], [3.0, 5.0]])"
SIGNS = "tg.tensor([1.0, -1.0])"
W = "w = tg.tensor([1.0, 2.0], requires_grad=True)"

EXAMPLES: dict[str, str] = {}


def of(place: str, text: str) -> None:
    """One example a line: the name, two spaces, what is typed; after a semicolon it may go on."""
    for line in text.replace(";\n", "; ").strip().splitlines():
        name, _, typed = line.strip().partition("  ")
        EXAMPLES[f"{place}.{name}"] = typed.strip()


def each(place: str, names: str, typed: str) -> None:
    """The same example for several names, which stand for `{}`."""
    for name in names.split():
        EXAMPLES[f"{place}.{name}"] = typed.replace("{}", name)


of(
    "tracegrad",
    f"""
Array  tg.jit(lambda x: x * (2.0 if isinstance(x, tg.Array) else 1.0))(1.0)
empty  tg.empty(2, 3).shape
empty_like  tg.empty_like(tg.ones(2, 3)).shape
from_numpy  tg.from_numpy(np.array([1.0, 2.0]))
full_like  tg.full_like(tg.ones(2), 7.0)
ones_like  tg.ones_like(tg.zeros(2))
rand_like  tg.rand_like(tg.ones(2, 3)).shape
randint  tg.randint(0, 10, (2, 3)).shape
randn  tg.randn(2, 3).shape
randn_like  tg.randn_like(tg.ones(2, 3)).shape
Size  tg.ones(2, 3).size().numel()
zeros_like  tg.zeros_like(tg.ones(2))
add  tg.add(np.array([1.0, 2.0]), 1.0)
conj  tg.conj(np.array([1 + 2j]))
div  tg.div(np.array([1.0, 3.0]), 2.0)
equal  tg.equal(np.array([1.0, 2.0]), 2.0)
greater  tg.greater(np.array([1.0, 2.0]), 1.0)
greater_equal  tg.greater_equal(np.array([1.0, 2.0]), 2.0)
imag  tg.imag(np.array([1 + 2j]))
less  tg.less(np.array([1.0, 2.0]), 2.0)
less_equal  tg.less_equal(np.array([1.0, 3.0]), 2.0)
mul  tg.mul(np.array([1.0, 2.0]), 3.0)
neg  tg.neg(np.array([1.0, -2.0]))
not_equal  tg.not_equal(np.array([1.0, 2.0]), 2.0)
real  tg.real(np.array([1 + 2j]))
strong_mul  tg.strong_mul(np.array([0.0, 2.0]), np.array([np.inf, 3.0]))
sub  tg.sub(np.array([1.0, 2.0]), 1.0)
where  tg.where(np.array([True, False]), 1.0, 2.0)
broadcast_to  tg.broadcast_to(np.array([1.0, 2.0]), (2, 2))
concatenate  tg.concatenate([np.array([1.0]), np.array([2.0, 3.0])])
embed  tg.embed(np.array([1.0, 2.0]), (4,), (1,))
expand_dims  tg.expand_dims(np.array([1.0, 2.0]), 0)
flip  tg.flip(np.array([1.0, 2.0]))
moveaxis  tg.moveaxis(np.ones((2, 3, 4)), 0, -1).shape
slice_array  tg.slice_array(np.arange(5.0), (1,), (5,), (2,))
slice_put  tg.slice_put(np.zeros(5), np.ones(2), (1,), (2,))
squeeze  tg.squeeze(np.ones((1, 2)))
stack  tg.stack([np.array([1.0]), np.array([2.0])])
sum_axes  tg.sum_axes(np.ones((2, 3)), (1,))
sum_to  tg.sum_to(np.ones((2, 3)), (3,))
swapaxes  tg.swapaxes(np.ones((2, 3)), 0, 1).shape
transpose  tg.transpose(np.ones((2, 3))).shape
addcdiv  tg.addcdiv(tg.ones(2), tg.ones(2), 2 * tg.ones(2), value=1.0)
addcmul  tg.addcmul(tg.ones(2), tg.ones(2), 2 * tg.ones(2), value=1.0)
allclose  tg.allclose(tg.ones(2), tg.ones(2) + 1e-12)
chunk  tg.chunk(tg.arange(4.0), 2)
clamp  tg.clamp({V}, 0.0, 1.0)
clone  tg.clone(tg.ones(2))
det  tg.det({ROWS})
detach  tg.detach(tg.ones(2, requires_grad=True)).requires_grad
eq  tg.eq({V}, 0.5)
ge  tg.ge({V}, 0.5)
gt  tg.gt({V}, 0.5)
inverse  tg.inverse(2 * tg.eye(2))
is_complex  tg.is_complex(tg.ones(2))
is_floating_point  tg.is_floating_point(tg.ones(2))
is_inference  tg.is_inference(tg.ones(2))
is_nonzero  tg.is_nonzero(tg.tensor(1.0))
le  tg.le({V}, 0.5)
lerp  tg.lerp(tg.zeros(2), tg.ones(2), 0.25)
lt  tg.lt({V}, 0.5)
masked_select  tg.masked_select({V}, {V} > 0)
movedim  tg.movedim(tg.ones(2, 3), 0, 1).shape
narrow  tg.narrow(tg.arange(5.0), 0, 1, 3)
ne  tg.ne({V}, 0.5)
numel  tg.numel(tg.ones(2, 3))
repeat_interleave  tg.repeat_interleave(tg.tensor([1.0, 2.0]), 2)
rsqrt  tg.rsqrt(tg.tensor([1.0, 4.0]))
select  tg.select({ROWS}, 0, 1)
t  tg.t({ROWS})
take_along_dim  tg.take_along_dim({ROWS}, tg.tensor([[1], [0]]), dim=1)
unflatten  tg.unflatten(tg.arange(6.0), 0, (2, 3)).shape
unique  tg.unique(tg.tensor([2.0, 1.0, 2.0]))
unsqueeze  tg.unsqueeze(tg.ones(2), 0).shape
default_dtype  tg.default_dtype()
""",
)
of("tracegrad.stats", DISTRIBUTIONS)
PLAIN = """
CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish PReLU ReLU6 SELU
Sigmoid SiLU Softplus Softshrink Softsign Tanh Tanhshrink Identity
"""
each("tracegrad.nn", PLAIN, f"tg.nn.{{}}()({V}).detach()")
each("tracegrad.nn", "LogSoftmax Softmax Softmin", f"tg.nn.{{}}(dim=0)({V})")
LOSSES = "BCELoss HuberLoss L1Loss SmoothL1Loss PoissonNLLLoss BCEWithLogitsLoss"
each("tracegrad.nn", LOSSES, f"tg.nn.{{}}()({P}, {Q})")
each("tracegrad.nn", "HingeEmbeddingLoss SoftMarginLoss", f"tg.nn.{{}}()({P}, {SIGNS})")
each(
    "tracegrad.nn",
    "CrossEntropyLoss MultiMarginLoss NLLLoss",
    f"tg.nn.{{}}()({SCORES}, tg.tensor([0, 1]))",
)
UNPOOLED = "tg.nn.MaxUnpool{0}d(2)(*tg.nn.MaxPool{0}d(2, return_indices=True)({1})).shape"
for dim, what in enumerate((LINE, IMAGE, BLOCK), 1):
    POOLS = " ".join(f"{kind}Pool{dim}d" for kind in ("AdaptiveAvg", "AdaptiveMax", "Avg", "Max"))
    each("tracegrad.nn", POOLS, f"tg.nn.{{}}(2)({what}).shape")
    each("tracegrad.nn", f"LPPool{dim}d", f"tg.nn.{{}}(2, 2)({what}).shape")
    each("tracegrad.nn", f"MaxUnpool{dim}d", UNPOOLED.format(dim, what))
each("tracegrad.nn", "BatchNorm1d InstanceNorm1d", f"tg.nn.{{}}(2)({LINE}).shape")
each("tracegrad.nn", "BatchNorm3d InstanceNorm3d", f"tg.nn.{{}}(1)({BLOCK}).shape")
each(
    "tracegrad.nn",
    "CircularPad1d ReflectionPad1d ReplicationPad1d ZeroPad1d",
    f"tg.nn.{{}}(1)({LINE})[0, 0]",
)
each(
    "tracegrad.nn",
    "CircularPad2d ReflectionPad2d ReplicationPad2d",
    f"tg.nn.{{}}(1)({IMAGE}).shape",
)
each("tracegrad.nn", "ReflectionPad3d ReplicationPad3d ZeroPad3d", f"tg.nn.{{}}(1)({BLOCK}).shape")
each("tracegrad.nn", "ConstantPad1d", f"tg.nn.{{}}(1, 9.0)({LINE})[0, 0]")
each("tracegrad.nn", "ConstantPad2d", f"tg.nn.{{}}(1, 9.0)({IMAGE}).shape")
each("tracegrad.nn", "ConstantPad3d", f"tg.nn.{{}}(1, 9.0)({BLOCK}).shape")
each("tracegrad.nn", "Dropout Dropout1d Dropout2d", f"tg.nn.{{}}(0.5).eval()({LINE})[0, 0]")
each("tracegrad.nn", "Conv1d ConvTranspose1d", f"tg.nn.{{}}(2, 3, 2)({LINE}).shape")
each("tracegrad.nn", "Conv3d ConvTranspose3d", f"tg.nn.{{}}(1, 2, 2)({BLOCK}).shape")
each(
    "tracegrad.nn",
    "UpsamplingBilinear2d UpsamplingNearest2d",
    f"tg.nn.{{}}(scale_factor=2)({IMAGE}).shape",
)
each("tracegrad.nn", "CosineSimilarity PairwiseDistance", f"tg.nn.{{}}()({ROWS}, {ROWS} + 1)")
each("tracegrad.nn", "TripletMarginWithDistanceLoss", f"tg.nn.{{}}()({ROWS}, {ROWS} + 1, {ROWS})")
each("tracegrad.nn", "RNNCell GRUCell", "tg.nn.{}(3, 2)(tg.ones(1, 3)).shape")
ENCODER = "layer = tg.nn.Transformer{}Layer(4, 2, dim_feedforward=4, batch_first=True)"
of(
    "tracegrad.nn",
    f"""
KLDivLoss  tg.nn.KLDivLoss(reduction="sum")(tg.log({P}), {P})
BatchNorm2d  tg.nn.BatchNorm2d(1)({IMAGE}).shape
Bilinear  tg.nn.Bilinear(2, 3, 4)(tg.ones(1, 2), tg.ones(1, 3)).shape
ChannelShuffle  tg.nn.ChannelShuffle(2)(tg.arange(4.0).reshape(1, 4, 1))[0, :, 0]
CosineEmbeddingLoss  tg.nn.CosineEmbeddingLoss()({ROWS}, {ROWS}, {SIGNS})
Embedding  tg.nn.Embedding(10, 3)(tg.tensor([1, 4])).shape
EmbeddingBag  tg.nn.EmbeddingBag(10, 3)(tg.tensor([[1, 4, 2]])).shape
Flatten  tg.nn.Flatten()(tg.ones(2, 3, 4)).shape
Fold  tg.nn.Fold((3, 3), (2, 2))(tg.ones(1, 4, 4))[0, 0]
GaussianNLLLoss  tg.nn.GaussianNLLLoss()({P}, {Q}, tg.ones(2))
GLU  tg.nn.GLU()(tg.tensor([1.0, 2.0, 0.0, 0.0]))
GroupNorm  tg.nn.GroupNorm(1, 2)({LINE}).shape
LayerNorm  tg.nn.LayerNorm(2)({ROWS}).detach()
RMSNorm  tg.nn.RMSNorm(2)({ROWS}).detach()
LocalResponseNorm  tg.nn.LocalResponseNorm(2)({LINE}).shape
MultiLabelMarginLoss  tg.nn.MultiLabelMarginLoss()({ROWS}, tg.tensor([[1, -1], [0, 1]]))
MarginRankingLoss  tg.nn.MarginRankingLoss()({P}, {Q}, {SIGNS})
ModuleDict  list(tg.nn.ModuleDict({{"a": tg.nn.Tanh(), "b": tg.nn.ReLU()}}))
ModuleList  len(tg.nn.ModuleList([tg.nn.Linear(2, 2) for _ in range(3)]))
MultiLabelSoftMarginLoss  tg.nn.MultiLabelSoftMarginLoss()({ROWS}, tg.eye(2))
ParameterDict  list(tg.nn.ParameterDict({{"a": tg.nn.Parameter(tg.ones(2))}}))
ParameterList  len(tg.nn.ParameterList([tg.nn.Parameter(tg.ones(2))]))
PixelShuffle  tg.nn.PixelShuffle(2)(tg.ones(1, 4, 2, 2)).shape
PixelUnshuffle  tg.nn.PixelUnshuffle(2)({IMAGE}).shape
RNNBase  issubclass(tg.nn.LSTM, tg.nn.RNNBase)
TransformerDecoderLayer  {ENCODER.format("Decoder")};
layer(tg.ones(1, 2, 4), tg.ones(1, 3, 4)).shape
TransformerDecoder  {ENCODER.format("Decoder")};
tg.nn.TransformerDecoder(layer, 2)(tg.ones(1, 2, 4), tg.ones(1, 3, 4)).shape
TransformerEncoder  {ENCODER.format("Encoder")};
tg.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)(tg.ones(1, 2, 4)).shape
Unflatten  tg.nn.Unflatten(1, (2, 2))(tg.ones(3, 4)).shape
Unfold  tg.nn.Unfold((2, 2))({IMAGE}).shape
""",
)
F = "tracegrad.nn.functional"
each(
    F,
    """celu elu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu
sigmoid silu softshrink softsign tanh tanhshrink""",
    f"tg.nn.functional.{{}}({V})",
)
each(F, "log_softmax softmin normalize", f"tg.nn.functional.{{}}({V}, dim=0)")
each(
    F,
    "binary_cross_entropy huber_loss l1_loss poisson_nll_loss smooth_l1_loss",
    f"tg.nn.functional.{{}}({P}, {Q})",
)
each(F, "hinge_embedding_loss soft_margin_loss", f"tg.nn.functional.{{}}({P}, {SIGNS})")
each(F, "dropout dropout1d dropout2d", f"tg.nn.functional.{{}}({LINE}, training=False)[0, 0]")
each(
    F,
    "adaptive_avg_pool2d adaptive_max_pool2d max_pool2d pixel_unshuffle unfold",
    f"tg.nn.functional.{{}}({IMAGE}, 2).shape",
)
TRIPLET = "triplet_margin_with_distance_loss"
each(F, TRIPLET, f"tg.nn.functional.{{}}({ROWS}, {ROWS} + 1, {ROWS} - 2)")
each(
    F,
    "multilabel_margin_loss",
    f"tg.nn.functional.{{}}({ROWS}, tg.tensor([[1, -1], [0, 1]]))",
)
each(F, "avg_pool1d", f"tg.nn.functional.{{}}({LINE}, 2)")
each(F, "lp_pool2d", f"tg.nn.functional.{{}}({IMAGE}, 2, 2).shape")
each(F, "lp_pool3d", f"tg.nn.functional.{{}}({BLOCK}, 2, 2).shape")
POOLED = "tg.nn.functional.max_pool{0}d({1}, 2, return_indices=True)"
for dim, what in ((2, IMAGE), (3, BLOCK)):
    unpooled = f"tg.nn.functional.{{}}(*{POOLED.format(dim, what)}, 2).shape"
    each(F, f"max_unpool{dim}d", unpooled)
each(F, "conv3d conv_transpose3d", f"tg.nn.functional.{{}}({BLOCK}, tg.ones(1, 1, 2, 2, 2)).shape")
of(
    F,
    f"""
kl_div  tg.nn.functional.kl_div(tg.log({P}), {P}, reduction="sum")
batch_norm  tg.nn.functional.batch_norm({ROWS}, tg.zeros(2), tg.ones(2))
bilinear  tg.nn.functional.bilinear(tg.ones(1, 2), tg.ones(1, 3), tg.ones(4, 2, 3))
channel_shuffle  tg.nn.functional.channel_shuffle(tg.arange(4.0).reshape(1, 4, 1), 2)[0, :, 0]
conv_transpose2d  tg.nn.functional.conv_transpose2d({IMAGE}, tg.ones(1, 1, 2, 2)).shape
cosine_embedding_loss  tg.nn.functional.cosine_embedding_loss({ROWS}, {ROWS}, {SIGNS})
embedding  tg.nn.functional.embedding(tg.tensor([1, 0]), {ROWS})
gaussian_nll_loss  tg.nn.functional.gaussian_nll_loss({P}, {Q}, tg.ones(2))
glu  tg.nn.functional.glu(tg.tensor([1.0, 2.0, 0.0, 0.0]))
group_norm  tg.nn.functional.group_norm({LINE}, 1).shape
instance_norm  tg.nn.functional.instance_norm({LINE}).shape
local_response_norm  tg.nn.functional.local_response_norm({LINE}, 2).shape
margin_ranking_loss  tg.nn.functional.margin_ranking_loss({P}, {Q}, {SIGNS})
multilabel_soft_margin_loss  tg.nn.functional.multilabel_soft_margin_loss({ROWS}, tg.eye(2))
multi_margin_loss  tg.nn.functional.multi_margin_loss({SCORES}, tg.tensor([0, 1]))
nll_loss  tg.nn.functional.nll_loss({SCORES}, tg.tensor([0, 1]))
prelu  tg.nn.functional.prelu({V}, tg.tensor([0.25]))
rms_norm  tg.nn.functional.rms_norm({ROWS}, (2,))
triplet_margin_loss  tg.nn.functional.triplet_margin_loss({ROWS}, {ROWS} + 1, {ROWS} - 2)
upsample  tg.nn.functional.interpolate({IMAGE}, scale_factor=2).shape
""",
)
PACKED = "tg.nn.utils.rnn.pack_sequence([tg.ones(2), tg.zeros(1)])"
of(
    "tracegrad.nn.utils.rnn",
    f"""
pack_sequence  {PACKED}.data
unpack_sequence  tg.nn.utils.rnn.unpack_sequence({PACKED})
""",
)
of(
    "tracegrad.nn.utils.parametrize",
    """
ParametrizationList  tg.nn.utils.parametrize.ParametrizationList([tg.nn.Tanh()], tg.zeros(2))()
""",
)
each("tracegrad.nn.init", "constant_", "tg.nn.init.{}(tg.empty(2, 2), 3.0)")
each("tracegrad.nn.init", "eye_ ones_ zeros_", "tg.nn.init.{}(tg.empty(2, 2))")
each("tracegrad.nn.init", "dirac_", "tg.nn.init.{}(tg.empty(1, 1, 3))")
each(
    "tracegrad.nn.init",
    """kaiming_normal_ kaiming_uniform_ normal_ orthogonal_ trunc_normal_
xavier_normal_ xavier_uniform_""",
    "tg.nn.init.{}(tg.empty(3, 5)).shape",
)
of(
    "tracegrad.nn.utils",
    f"""
clip_grad_value_  {W}; (w**2).sum().backward(); tg.nn.utils.clip_grad_value_([w], 3.0); w.grad
get_total_norm  tg.nn.utils.get_total_norm([tg.tensor([3.0, 4.0])])
vector_to_parameters  {W}; tg.nn.utils.vector_to_parameters(tg.tensor([5.0, 6.0]), [w]); w.detach()
""",
)
of(
    "tracegrad.nn.utils.rnn",
    """
unpad_sequence  tg.nn.utils.rnn.unpad_sequence(tg.ones(3, 2), tg.tensor([3, 1]))
""",
)
STEP = "(w * w).sum().backward(); optimizer.step(); w.detach()"
each(
    "tracegrad.optim",
    "Adadelta Adagrad Adamax AdamW",
    f"{W}; optimizer = tg.optim.{{}}([w], lr=0.1); {STEP}",
)
of("tracegrad.optim", "Optimizer  issubclass(tg.optim.Adam, tg.optim.Optimizer)")
RATE = (f"{W}; optimizer = tg.optim.SGD([w], lr=1.0); s = tg.optim.lr_scheduler.%s; "
        "optimizer.step(); s.step(); s.get_last_lr()")  # fmt: skip
of(
    "tracegrad.optim.lr_scheduler",
    "\n".join(
        f"{made.partition('(')[0]}  {RATE % made}"
        for made in (
            "ConstantLR(optimizer, factor=0.5)",
            "CosineAnnealingLR(optimizer, 2)",
            "ExponentialLR(optimizer, 0.5)",
            "LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))",
            "LinearLR(optimizer, 0.5, total_iters=2)",
            "MultiStepLR(optimizer, [1, 5])",
        )
    ),
)
EXAMPLES["tracegrad.optim.lr_scheduler.LRScheduler"] = (
    "issubclass(tg.optim.lr_scheduler.StepLR, tg.optim.lr_scheduler.LRScheduler)"
)
EXAMPLES["tracegrad.optim.lr_scheduler.ReduceLROnPlateau"] = (
    RATE % "ReduceLROnPlateau(optimizer, patience=0)"
).replace("s.step()", "s.step(1.0); s.step(1.0)")
of(
    "tracegrad.autograd",
    """
is_anomaly_check_nan_enabled  tg.autograd.is_anomaly_check_nan_enabled()
SavedTensor  x = tg.ones(2, requires_grad=True); type(x.exp().grad_fn._raw_saved_result).__name__
""",
)
DUAL = "from tracegrad.autograd import forward_ad as fwd"
of(
    "tracegrad.autograd.forward_ad",
    f"""
exit_dual_level  {DUAL}; fwd.enter_dual_level(); fwd.exit_dual_level()
make_dual  {DUAL}; level = fwd.enter_dual_level();
y = fwd.make_dual(tg.ones(2), 3 * tg.ones(2)) ** 2; fwd.unpack_dual(y).tangent;
fwd.exit_dual_level()
unpack_dual  {DUAL}; level = fwd.enter_dual_level();
y = fwd.make_dual(tg.ones(2), tg.ones(2)).sin(); fwd.unpack_dual(y).primal; fwd.exit_dual_level()
UnpackedDualTensor  {DUAL}; level = fwd.enter_dual_level(); fwd.unpack_dual(tg.ones(2));
fwd.exit_dual_level()
""",
)
of(
    "tracegrad.autograd.graph",
    """
GradientEdge  x = tg.ones(2, requires_grad=True); tg.autograd.graph.get_gradient_edge(x).output_nr
Node  isinstance((2 * tg.ones(2, requires_grad=True)).grad_fn, tg.autograd.graph.Node)
""",
)
RUN = "with tg.autograd.profiler.profile() as p: y = tg.ones(3, requires_grad=True).sin().sum()"
of(
    "tracegrad.autograd.profiler",
    f"""
EventList  {RUN}; len(p.key_averages()) > 0
FunctionEvent  {RUN}; p.function_events[0].count
FunctionEventAvg  {RUN}; p.key_averages()[0].count
""",
)
of(
    "tracegrad.func",
    """
stack_module_state  parameters, _ = tg.func.stack_module_state([tg.nn.Linear(2, 1)] * 3);
parameters["weight"].shape
""",
)
of(
    "tracegrad.utils.checkpoint",
    """
CheckpointError  issubclass(tg.utils.checkpoint.CheckpointError, RuntimeError)
noop_context_fn  len(tg.utils.checkpoint.noop_context_fn())
set_checkpoint_early_stop  with tg.utils.checkpoint.set_checkpoint_early_stop(False): pass
""",
)
each(
    "tracegrad.scale",
    "EvaluationTimeoutError ShardError WorkerLostError",
    "issubclass(tg.scale.{}, tg.TracegradError)",
)
of("tracegrad.scale", "Evaluation  tg.scale.Evaluation._fields[:2]")
of("tracegrad.scale", "Evaluations  tg.scale.Evaluations()")
of("tracegrad.scale", "Total  total = tg.scale.sum_over(lambda p, x: np.sum(p * x), [1.0, 2.0])")
ELSEWHERE = ("tracegrad.cuda.", "tracegrad.jax.", "tracegrad.pytensor.")
"""What needs a GPU or another library: the examples stand on the pages about those."""


def session(name: str) -> str:
    """The example of a name with what it prints, as a reader would see it."""
    space: dict[str, Any] = {"np": np, "tg": tg}
    lines = [">>> import numpy as np", ">>> import tracegrad as tg"]
    typed = EXAMPLES[name]
    if "np." not in typed:
        del lines[0]
    tg.manual_seed(0)
    for statement in typed.split("; "):
        lines.append(f">>> {statement}")
        out = io.StringIO()
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(statement + "\n", f"<{name}>", "single"), space)
        lines += ["..."] if statement.startswith("with ") else []
        lines += out.getvalue().rstrip("\n").splitlines()
    return "\n".join(lines)
