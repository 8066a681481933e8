"""Modules as functions of `torch` or of `tracegrad.torch`, so that torch computed
tests/data/modules.npz from the very same text.

`python tests/module_cases.py FILE`, in an environment with torch, writes that file again.
Parameters and buffers are drawn by NumPy, in the order of `state_dict`, which is compared as well,
as is the module's text.
"""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Arrays = dict[str, Any]
Make = Callable[[np.random.Generator], Any]


def real(*shape: int) -> Make:
    return lambda rng: rng.standard_normal(shape)


def whole(low: int, high: int, *shape: int) -> Make:
    return lambda rng: rng.integers(low, high, shape)


def signs(*shape: int) -> Make:
    return lambda rng: rng.integers(0, 2, shape) * 2.0 - 1.0


def positive(*shape: int) -> Make:
    return lambda rng: rng.uniform(0.2, 2.0, shape)


def flags(*values: Any) -> Make:
    return lambda rng: np.array(values, bool)


def plain(module: Any, *xs: Any) -> Any:
    return module(*xs)


def with_state(module: Any, x: Any, h: Any, c: Any) -> Any:
    return module(x, (h, c))


def packed(module: Any, x: Any, *state: Any) -> Any:
    """Of lengths 2 and 4, or of 4 and 2 in order, where a state is given."""
    rnn = sys.modules[type(module).__module__.partition(".")[0]].nn.utils.rnn
    lengths = [4, 2] if state else [2, 4]
    sequences = rnn.pack_padded_sequence(x, lengths, module.batch_first, bool(state))
    found, ends = module(sequences, state or None)
    return rnn.pad_packed_sequence(found, module.batch_first, 0.5, 5)[0], ends


def to_size(module: Any, x: Any) -> Any:
    return module(x, output_size=(6, 6))


def to_target(module: Any, *xs: Any) -> Any:
    return module(*xs[:-1], xs[-1].detach())


def padded(module: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    return module(q, k, v, key_padding_mask=mask)


def masked(module: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    return module(q, k, v, attn_mask=mask, need_weights=False)


def by_head(module: Any, q: Any, k: Any, v: Any, mask: Any) -> Any:
    return module(q, k, v, attn_mask=mask, average_attn_weights=False)


def causal(module: Any, source: Any, target: Any) -> Any:
    return module(source, target, tgt_mask=module.generate_square_subsequent_mask(target.shape[1]))


Case = tuple[Callable[[Any], Any], tuple[Make, ...], Callable[..., Any]]


def case(make: Callable[[Any], Any], *inputs: Make, call: Callable[..., Any] = plain) -> Case:
    return make, inputs, call


X = real(4, 2, 3)
CASES: dict[str, Case] = {
    # --- recurrent
    "RNN": case(lambda t: t.nn.RNN(3, 5), X),
    "RNN relu": case(lambda t: t.nn.RNN(3, 5, nonlinearity="relu", num_layers=2), X),
    "RNN state": case(lambda t: t.nn.RNN(3, 5, bidirectional=True, num_layers=2), X, real(4, 2, 5)),
    "RNN no bias": case(lambda t: t.nn.RNN(3, 5, bias=False), X),
    "GRU": case(lambda t: t.nn.GRU(3, 5), X),
    "GRU batch_first": case(
        lambda t: t.nn.GRU(3, 5, num_layers=2, batch_first=True, bidirectional=True), real(2, 4, 3)
    ),
    "GRU unbatched": case(lambda t: t.nn.GRU(3, 5), real(4, 3), real(1, 5)),
    "LSTM": case(lambda t: t.nn.LSTM(3, 5), X),
    "LSTM layers": case(
        lambda t: t.nn.LSTM(3, 5, num_layers=2, bidirectional=True, dropout=0.5).eval(), X
    ),
    "LSTM batch_first state": case(
        lambda t: t.nn.LSTM(3, 5, batch_first=True),
        real(2, 4, 3),
        real(1, 2, 5),
        real(1, 2, 5),
        call=with_state,
    ),
    "GRU packed": case(lambda t: t.nn.GRU(3, 5, num_layers=2, bidirectional=True), X, call=packed),
    "LSTM packed": case(
        lambda t: t.nn.LSTM(3, 5, batch_first=True),
        real(2, 4, 3),
        real(1, 2, 5),
        real(1, 2, 5),
        call=packed,
    ),
    "LSTM projected": case(
        lambda t: t.nn.LSTM(3, 5, 2, proj_size=2), X, real(2, 2, 2), real(2, 2, 5), call=with_state
    ),
    "LSTM projected both ways": case(
        lambda t: t.nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True), X
    ),
    "LSTM unbatched": case(
        lambda t: t.nn.LSTM(3, 5, bias=False), real(4, 3), real(1, 5), real(1, 5), call=with_state
    ),
    "weight_norm": case(
        lambda t: t.nn.utils.weight_norm(t.nn.ConvTranspose1d(2, 3, 2), dim=1), real(2, 2, 4)
    ),
    "weight_norm whole": case(
        lambda t: t.nn.utils.weight_norm(t.nn.Linear(3, 2), dim=None), real(4, 3)
    ),
    "spectral_norm": case(
        lambda t: t.nn.utils.spectral_norm(t.nn.Conv1d(2, 3, 2), n_power_iterations=2),
        real(2, 2, 4),
    ),
    "RNNCell": case(lambda t: t.nn.RNNCell(3, 5, nonlinearity="relu"), real(2, 3), real(2, 5)),
    "GRUCell": case(lambda t: t.nn.GRUCell(3, 5), real(2, 3), real(2, 5)),
    "GRUCell alone": case(lambda t: t.nn.GRUCell(3, 5, bias=False), real(3)),
    "LSTMCell": case(
        lambda t: t.nn.LSTMCell(3, 5), real(2, 3), real(2, 5), real(2, 5), call=with_state
    ),
    "LSTMCell alone": case(lambda t: t.nn.LSTMCell(3, 5), real(2, 3)),
    # --- convolutions, places
    "ConvTranspose1d": case(
        lambda t: t.nn.ConvTranspose1d(2, 3, 3, stride=2, padding=1, output_padding=1),
        real(2, 2, 4),
    ),
    "ConvTranspose2d": case(lambda t: t.nn.ConvTranspose2d(2, 3, 2), real(2, 2, 3, 4)),
    "ConvTranspose2d everything": case(
        lambda t: t.nn.ConvTranspose2d(
            4,
            6,
            (3, 2),
            stride=(2, 3),
            padding=(1, 0),
            output_padding=(1, 2),
            groups=2,
            dilation=(2, 1),
        ),
        real(2, 4, 3, 2),
    ),
    "ConvTranspose2d unbatched": case(
        lambda t: t.nn.ConvTranspose2d(2, 3, 3, stride=2, bias=False), real(2, 3, 3)
    ),
    "ConvTranspose2d size": case(
        lambda t: t.nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1), real(1, 2, 3, 3), call=to_size
    ),
    "ConvTranspose3d": case(lambda t: t.nn.ConvTranspose3d(2, 1, 2, stride=2), real(1, 2, 2, 2, 2)),
    "Conv3d": case(
        lambda t: t.nn.Conv3d(2, 3, 2, padding=1, stride=(1, 2, 1)), real(1, 2, 3, 3, 3)
    ),
    "Conv1d reflect": case(
        lambda t: t.nn.Conv1d(2, 3, 3, padding=2, padding_mode="reflect"), real(1, 2, 5)
    ),
    "Conv2d circular": case(
        lambda t: t.nn.Conv2d(
            2, 3, (3, 2), padding=(2, 1), stride=2, padding_mode="circular", bias=False
        ),
        real(1, 2, 4, 5),
    ),
    "Conv2d replicate same": case(
        lambda t: t.nn.Conv2d(2, 2, (2, 3), padding="same", padding_mode="replicate"),
        real(1, 2, 4, 5),
    ),
    "Fold": case(lambda t: t.nn.Fold((4, 5), (2, 3), padding=1, stride=(2, 1)), real(2, 12, 15)),
    "Unfold": case(lambda t: t.nn.Unfold((2, 3), padding=1, stride=(2, 1)), real(2, 2, 4, 5)),
    "Upsample nearest": case(lambda t: t.nn.Upsample(scale_factor=2), real(1, 2, 3, 2)),
    "Upsample nearest size": case(lambda t: t.nn.Upsample(size=(5, 7)), real(1, 2, 3, 4)),
    "Upsample factors": case(lambda t: t.nn.Upsample(scale_factor=(1.7, 0.6)), real(1, 2, 3, 5)),
    "Upsample linear": case(
        lambda t: t.nn.Upsample(scale_factor=2.5, mode="linear"), real(1, 2, 4)
    ),
    "Upsample bilinear": case(
        lambda t: t.nn.Upsample(scale_factor=2, mode="bilinear"), real(1, 2, 3, 2)
    ),
    "Upsample bilinear factor": case(
        lambda t: t.nn.Upsample(scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
        real(1, 2, 3, 5),
    ),
    "Upsample bilinear corners": case(
        lambda t: t.nn.Upsample(size=(5, 1), mode="bilinear", align_corners=True), real(1, 2, 3, 2)
    ),
    "Upsample bicubic": case(
        lambda t: t.nn.Upsample(scale_factor=2, mode="bicubic"), real(1, 1, 3, 4)
    ),
    "Upsample trilinear": case(
        lambda t: t.nn.Upsample(size=3, mode="trilinear"), real(1, 1, 2, 2, 4)
    ),
    "UpsamplingNearest2d": case(
        lambda t: t.nn.UpsamplingNearest2d(scale_factor=2), real(1, 2, 3, 2)
    ),
    "UpsamplingBilinear2d": case(
        lambda t: t.nn.UpsamplingBilinear2d(size=(4, 4)), real(1, 2, 3, 2)
    ),
    "PixelShuffle": case(lambda t: t.nn.PixelShuffle(2), real(1, 8, 2, 3)),
    "PixelUnshuffle": case(lambda t: t.nn.PixelUnshuffle(2), real(1, 2, 4, 6)),
    "ChannelShuffle": case(lambda t: t.nn.ChannelShuffle(2), real(1, 6, 2, 2)),
    "ReflectionPad1d": case(lambda t: t.nn.ReflectionPad1d(2), real(1, 2, 4)),
    "ReflectionPad2d": case(lambda t: t.nn.ReflectionPad2d((1, 2, 0, 1)), real(1, 2, 3, 4)),
    "ReplicationPad1d": case(lambda t: t.nn.ReplicationPad1d((1, 2)), real(1, 2, 3)),
    "ReplicationPad2d": case(lambda t: t.nn.ReplicationPad2d(1), real(1, 2, 3, 4)),
    "CircularPad2d": case(lambda t: t.nn.CircularPad2d(1), real(1, 2, 3, 4)),
    "ConstantPad1d": case(lambda t: t.nn.ConstantPad1d((1, 2), 3.5), real(1, 2, 3)),
    "ConstantPad2d": case(lambda t: t.nn.ConstantPad2d(1, 3.5), real(1, 2, 3)),
    "ZeroPad2d": case(lambda t: t.nn.ZeroPad2d((1, 0, 2, -1)), real(1, 3, 3)),
    # --- normalisation
    "InstanceNorm1d": case(lambda t: t.nn.InstanceNorm1d(2), real(2, 2, 5)),
    "InstanceNorm1d unbatched": case(lambda t: t.nn.InstanceNorm1d(2, affine=True), real(2, 5)),
    "InstanceNorm2d": case(
        lambda t: t.nn.InstanceNorm2d(3, affine=True, track_running_stats=True), real(2, 3, 2, 2)
    ),
    "InstanceNorm2d eval": case(
        lambda t: t.nn.InstanceNorm2d(3, affine=True, track_running_stats=True).eval(),
        real(2, 3, 2, 2),
    ),
    "InstanceNorm3d": case(lambda t: t.nn.InstanceNorm3d(2, eps=1e-3), real(1, 2, 2, 2, 2)),
    "BatchNorm3d": case(lambda t: t.nn.BatchNorm3d(2), real(2, 2, 2, 1, 2)),
    "RMSNorm": case(lambda t: t.nn.RMSNorm((2, 3)), real(4, 2, 3)),
    "LocalResponseNorm": case(lambda t: t.nn.LocalResponseNorm(3, alpha=0.1), real(2, 5, 2)),
    "LocalResponseNorm even": case(
        lambda t: t.nn.LocalResponseNorm(2, alpha=0.1, k=2.0), real(2, 5, 2)
    ),
    # --- losses
    "SoftMarginLoss": case(
        lambda t: t.nn.SoftMarginLoss(), real(3, 2), signs(3, 2), call=to_target
    ),
    "HingeEmbeddingLoss": case(
        lambda t: t.nn.HingeEmbeddingLoss(margin=0.7), real(6), signs(6), call=to_target
    ),
    "MultiLabelSoftMarginLoss": case(
        lambda t: t.nn.MultiLabelSoftMarginLoss(), real(3, 2), positive(3, 2), call=to_target
    ),
    "PoissonNLLLoss": case(
        lambda t: t.nn.PoissonNLLLoss(full=True), real(6), positive(6), call=to_target
    ),
    "PoissonNLLLoss rates": case(
        lambda t: t.nn.PoissonNLLLoss(log_input=False, reduction="sum"),
        positive(6),
        positive(6),
        call=to_target,
    ),
    "MarginRankingLoss": case(
        lambda t: t.nn.MarginRankingLoss(0.5), real(6), real(6), signs(6), call=to_target
    ),
    "CosineEmbeddingLoss": case(
        lambda t: t.nn.CosineEmbeddingLoss(0.1, reduction="none"),
        real(6, 3),
        real(6, 3),
        signs(6),
        call=to_target,
    ),
    "TripletMarginWithDistanceLoss": case(
        lambda t: t.nn.TripletMarginWithDistanceLoss(margin=0.8), real(6, 3), real(6, 3), real(6, 3)
    ),
    "MultiMarginLoss": case(lambda t: t.nn.MultiMarginLoss(2), real(6, 3), whole(0, 3, 6)),
    "MultiLabelMarginLoss": case(
        lambda t: t.nn.MultiLabelMarginLoss(reduction="sum"), real(6, 3), whole(-1, 3, 6, 3)
    ),
    "CTCLoss": case(
        lambda t: t.nn.CTCLoss(reduction="sum"),
        real(6, 2, 4),
        whole(1, 4, 2, 2),
        whole(6, 7, 2),
        whole(1, 3, 2),
        call=lambda m, x, *others: m(x - x.logsumexp(-1, keepdim=True), *others),
    ),
    "EmbeddingBag": case(lambda t: t.nn.EmbeddingBag(5, 3, padding_idx=-2), whole(0, 5, 4, 2)),
    "Hardshrink": case(lambda t: t.nn.Hardshrink(0.4), X),
    "Softshrink": case(lambda t: t.nn.Softshrink(0.4), X),
    "TripletMarginLoss": case(
        lambda t: t.nn.TripletMarginLoss(0.8, swap=True), real(6, 3), real(6, 3), real(6, 3)
    ),
    "GaussianNLLLoss": case(
        lambda t: t.nn.GaussianNLLLoss(full=True), real(6), real(6), positive(6)
    ),
    "PairwiseDistance": case(
        lambda t: t.nn.PairwiseDistance(3, keepdim=True), real(6, 3), real(6, 3)
    ),
    "MSELoss size_average": case(lambda t: t.nn.MSELoss(size_average=False), real(6), real(6)),
    "CrossEntropyLoss positional": case(
        lambda t: t.nn.CrossEntropyLoss(None, None, 1), real(6, 3), whole(0, 3, 6)
    ),
    # --- attention
    "MultiheadAttention": case(
        lambda t: t.nn.MultiheadAttention(6, 2), real(4, 2, 6), real(3, 2, 6), real(3, 2, 6)
    ),
    "MultiheadAttention batch_first": case(
        lambda t: t.nn.MultiheadAttention(6, 3, bias=False, batch_first=True), *[real(2, 3, 6)] * 3
    ),
    "MultiheadAttention sizes": case(
        lambda t: t.nn.MultiheadAttention(6, 2, kdim=4, vdim=5),
        real(4, 2, 6),
        real(3, 2, 4),
        real(3, 2, 5),
    ),
    "MultiheadAttention unbatched": case(
        lambda t: t.nn.MultiheadAttention(6, 2), real(4, 6), real(3, 6), real(3, 6)
    ),
    "MultiheadAttention additions": case(
        lambda t: t.nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True),
        real(4, 2, 6),
        real(3, 2, 6),
        real(3, 2, 6),
        flags([False, False, True], [False, True, False]),
        call=padded,
    ),
    "MultiheadAttention masks": case(
        lambda t: t.nn.MultiheadAttention(6, 2),
        real(3, 2, 6),
        real(3, 2, 6),
        real(3, 2, 6),
        flags([False, True, True], [False, False, True], [False, False, False]),
        call=masked,
    ),
    "MultiheadAttention heads": case(
        lambda t: t.nn.MultiheadAttention(4, 2),
        real(3, 2, 4),
        real(3, 2, 4),
        real(3, 2, 4),
        real(4, 3, 3),
        call=by_head,
    ),
    "TransformerEncoderLayer": case(
        lambda t: t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), real(3, 2, 4)
    ),
    "TransformerEncoderLayer options": case(
        lambda t: t.nn.TransformerEncoderLayer(
            4, 2, 8, 0.0, "gelu", batch_first=True, norm_first=True, bias=False
        ),
        real(3, 2, 4),
    ),
    "TransformerDecoderLayer": case(
        lambda t: t.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), real(3, 2, 4), real(5, 2, 4)
    ),
    "TransformerEncoder": case(
        lambda t: t.nn.TransformerEncoder(
            t.nn.TransformerEncoderLayer(4, 2, 8, 0.0),
            2,
            t.nn.LayerNorm(4),
            enable_nested_tensor=False,
        ),
        real(3, 2, 4),
    ),
    "TransformerDecoder": case(
        lambda t: t.nn.TransformerDecoder(t.nn.TransformerDecoderLayer(4, 1, 8, 0.0), 2),
        real(3, 2, 4),
        real(2, 2, 4),
    ),
    "Transformer": case(
        lambda t: t.nn.Transformer(4, 2, 1, 1, 8, 0.0, batch_first=True),
        real(2, 3, 4),
        real(2, 2, 4),
        call=causal,
    ),
}


def inputs(name: str) -> list[Any]:
    """The arrays of a case."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return [np.asarray(make(rng)) for make in CASES[name][1]]


def made(name: str, torch: Any) -> Any:
    """The module of a case, with drawn parameters and buffers."""
    module = CASES[name][0](torch)
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    state = {}
    for key, value in module.state_dict().items():
        drawn = rng.standard_normal(tuple(value.shape)) * 0.5
        positive = np.abs(drawn) + 0.5
        counted = np.asarray(value.detach()).dtype.kind != "f"
        state[key] = (
            value.clone()
            if counted
            else torch.tensor(positive if key.endswith("running_var") else drawn)
        )
    module.load_state_dict(state)
    return module


def flat(x: Any) -> list[Any]:
    """The tensors in nested tuples, without those that are None."""
    return (
        []
        if x is None
        else [y for part in x for y in flat(part)]
        if isinstance(x, (tuple, list))
        else [x]
    )


def results(name: str, torch: Any) -> Arrays:
    """The results of a case, the gradients of a combination of them, and what the module is
    called."""
    module = made(name, torch)
    given = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in inputs(name)]
    leaves = {f"input {k}": x for k, x in enumerate(given) if x.requires_grad} | dict(
        module.named_parameters()
    )
    leaves = {key: x for key, x in leaves.items() if x.requires_grad}
    outs = flat(CASES[name][2](module, *given))
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 2)
    found, total = {}, None
    for k, o in enumerate(outs):
        found[f"out {k}"] = np.asarray(o.detach())
        if o.requires_grad:
            part = (o * torch.tensor(rng.standard_normal(tuple(o.shape)))).sum()
            total = part if total is None else total + part
    if total is not None:
        for (key, _), g in zip(
            leaves.items(),
            torch.autograd.grad(total, list(leaves.values()), allow_unused=True),
            strict=True,
        ):
            if g is not None:
                found[f"gradient {key}"] = np.asarray(g.detach())
    for key, buffer in module.named_buffers():
        found[f"buffer {key}"] = np.asarray(buffer.detach())
    found["keys"] = np.array(list(module.state_dict()), str)
    found["text"] = np.array(re.sub(r"(affine=\w+), bias=(True|False)", r"\1", repr(module)))
    return {f"{name}/{key}": value for key, value in found.items()}


def main(file: str) -> None:
    """Write torch's numbers."""
    import torch

    torch.set_default_dtype(torch.float64)
    numbers: Arrays = {}
    for name in CASES:
        numbers |= results(name, torch)
    np.savez_compressed(file, **numbers)


if __name__ == "__main__":
    main(sys.argv[1])
