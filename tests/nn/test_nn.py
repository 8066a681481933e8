"""Modules: registration, state, modes, hooks, text and starting values."""

from __future__ import annotations

import copy
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad import nn


class Net(nn.Module):
    """Parameters, a buffer, a module and plain attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.scale = nn.Parameter(tg.ones(4))
        self.register_buffer("offset", tg.zeros(4))
        self.register_buffer("scratch", tg.zeros(1), persistent=False)
        self.register_parameter("nothing", None)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.size = 3

    def forward(self, x: Any) -> Any:
        return self.rest(self.first(x) * self.scale + self.offset)


NAMES = ["scale", "first.weight", "first.bias", "rest.1.weight"]


def test_registration() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == NAMES
    assert [n for n, _ in net.named_parameters(recurse=False)] == ["scale"]
    assert [n for n, _ in net.named_parameters(prefix="net")][0] == "net.scale"
    assert [n for n, _ in net.named_buffers()] == ["offset", "scratch"]
    assert [n for n, _ in net.named_modules()] == ["", "first", "rest", "rest.0", "rest.1"]
    assert [n for n, _ in net.named_children()] == ["first", "rest"]
    assert all(
        isinstance(p, nn.Parameter) and p.requires_grad and p.is_leaf for p in net.parameters()
    )
    assert net.nothing is None
    assert net.get_parameter("rest.1.weight") is net.rest[1].weight
    assert net.get_submodule("rest.1") is net.rest[1]
    assert net.get_buffer("offset") is net.offset
    assert "first" in dir(net)
    net.first = nn.Identity()
    assert len(list(net.parameters())) == 2
    net.scale = None
    assert net.scale is None
    del net.offset
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'offset'"):
        net.offset.zero_()


def test_shared_parameters_count_once() -> None:
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    b.weight = a.weight
    both = nn.Sequential(a, b, a)
    assert [n for n, _ in both.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert len(both.state_dict()) == 6


def test_results_are_ordinary_tensors() -> None:
    p = nn.Parameter(tg.ones(2))
    for value in (
        p * 2,
        p.detach(),
        p.data,
        p.clone(),
        p[0],
        p.view(2, 1),
        tg.zeros_like(p),
        p.float(),
    ):
        assert type(value) is tg.Tensor
    (p * p).sum().backward()
    assert type(p.grad) is tg.Tensor
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert not nn.Parameter(tg.ones(1), requires_grad=False).requires_grad
    x = tg.zeros(2)
    nn.Parameter(x).data.fill_(3.0)
    assert x.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="floating point and complex"):
        nn.Parameter(tg.tensor([1]))


def test_state() -> None:
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "offset", "first.weight", "first.bias", "rest.1.weight"]
    assert all(type(v) is tg.Tensor and not v.requires_grad for v in state.values())
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    x = tg.rand(5, 3)
    np.testing.assert_array_equal(net(x).detach(), other(x).detach())
    with tg.no_grad():
        net.first.weight.zero_()
    assert not state["first.weight"].any()
    assert other.first.weight.detach().any()
    with pytest.raises(
        RuntimeError,
        match=(
            r"(?s)for Net:.*Unexpected key\(s\) in state_dict: 'more'.*Missing key\(s\) in "
            r"state_dict: 'scale'"
        ),
    ):
        other.load_state_dict(
            {**{k: v for k, v in state.items() if k != "scale"}, "more": tg.zeros(1)}
        )
    with pytest.raises(RuntimeError, match=r"size mismatch for scale: .*\(3,\).*\(4,\)"):
        other.load_state_dict({**state, "scale": tg.zeros(3)})
    assert (
        other.load_state_dict({"scale": tg.zeros(4)}, strict=False).missing_keys == list(state)[1:]
    )
    held = tg.ones(4)
    other.load_state_dict({**state, "offset": held}, assign=True)
    assert other.offset is held
    assert isinstance(other.scale, nn.Parameter)


def test_copies_and_pickles() -> None:
    net = Net()
    x = tg.rand(2, 3)
    for made in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        np.testing.assert_array_equal(made(x).detach(), net(x).detach())
        assert isinstance(made.scale, nn.Parameter)
        with tg.no_grad():
            made.scale.zero_()
    assert net.scale.detach().all()


def test_modes_and_flags() -> None:
    net = Net()
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    assert net.train().rest[1].training
    with pytest.raises(ValueError, match="boolean"):
        net.train(1)  # type: ignore[arg-type]
    net.requires_grad_(False)
    assert not net(tg.ones(1, 3)).requires_grad
    seen: list[str] = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]


def test_gradients_are_forgotten() -> None:
    net = Net()
    net(tg.ones(1, 3)).sum().backward()
    held = net.scale.grad
    net.zero_grad(set_to_none=False)
    assert net.scale.grad is held
    assert not held.any()
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_other_dtypes() -> None:
    net = Net()
    weight = net.first.weight
    net(tg.ones(1, 3)).sum().backward()
    assert net.float() is net
    assert net.first.weight is weight
    assert {p.dtype for p in (*net.parameters(), *net.buffers())} == {np.dtype(np.float32)}
    assert weight.grad.dtype == np.float32
    assert net(tg.ones(1, 3, dtype=np.float32)).dtype == np.float32
    assert net.double().to("cpu").scale.dtype == np.float64
    norm = nn.BatchNorm1d(2).float()
    assert norm.num_batches_tracked.dtype == np.int64


def test_hooks() -> None:
    net = nn.Linear(1, 1, bias=False)
    with tg.no_grad():
        net.weight.fill_(2.0)
    calls: list[str] = []

    def note(name: str, result: Any) -> Callable[..., Any]:
        def hook(*given: Any) -> Any:
            calls.append(name)
            return result(*given)

        return hook

    x = tg.ones(1)
    first = net.register_forward_hook(note("after", lambda module, args, out: out + 1))
    net.register_forward_hook(note("earlier", lambda module, args, out: None), prepend=True)
    with net.register_forward_pre_hook(note("before", lambda module, args: args[0] * 10)):
        net.register_forward_pre_hook(lambda module, args, kwargs: (args, kwargs), with_kwargs=True)
        assert net(x).item() == 21.0
    assert calls == ["before", "earlier", "after"]
    assert net(x).item() == 3.0
    first.remove()
    assert net(x).item() == 2.0


def test_containers() -> None:
    seq = nn.Sequential(OrderedDict([("a", nn.Linear(2, 3)), ("b", nn.Tanh())]))
    assert seq.a is seq[0]
    assert [n for n, _ in seq.named_children()] == ["a", "b"]
    seq = nn.Sequential(nn.Linear(2, 3), nn.Tanh()).append(nn.Linear(3, 1))
    assert len(seq) == 3
    assert isinstance(seq[-1], nn.Linear)
    assert isinstance(seq[:2], nn.Sequential)
    seq[1] = nn.ReLU()
    assert isinstance(seq.pop(0), nn.Linear)
    assert list(seq._modules) == ["0", "1"]
    seq.insert(0, nn.Identity())
    assert [type(m).__name__ for m in seq] == ["Identity", "ReLU", "Linear"]
    modules = nn.ModuleList([nn.Linear(1, 1)])
    modules += [nn.Tanh(), nn.ReLU()]
    assert len(modules[1:]) == 2
    del modules[0]
    assert [type(m).__name__ for m in modules] == ["Tanh", "ReLU"]
    with pytest.raises(IndexError):
        modules[5]
    named = nn.ModuleDict({"x": nn.Linear(1, 2)})
    named["y"] = nn.Tanh()
    assert list(named) == ["x", "y"]
    assert "x" in named
    assert [n for n, _ in named.named_parameters()] == ["x.weight", "x.bias"]
    numbers = nn.ParameterList([tg.ones(2), nn.Parameter(tg.zeros(1))])
    assert [n for n, _ in numbers.named_parameters()] == ["0", "1"]
    assert repr(numbers).splitlines()[1] == "  (0): Parameter containing: [float64 of size 2]"
    table = nn.ParameterDict({"w": tg.ones(2)})
    assert table["w"].requires_grad
    assert len(table) == len(list(table.parameters())) == 1


MADE: dict[str, tuple[nn.Module, tuple[int, ...], str]] = {
    "linear": (
        nn.Linear(3, 2, bias=False),
        (4, 3),
        "Linear(in_features=3, out_features=2, bias=False)",
    ),
    "conv1d": (
        nn.Conv1d(2, 4, 3, padding="same"),
        (1, 2, 5),
        "Conv1d(2, 4, kernel_size=(3,), stride=(1,), padding=same)",
    ),
    "conv2d": (
        nn.Conv2d(2, 4, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2, bias=False),
        (1, 2, 6, 6),
        (
            "Conv2d(2, 4, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), dilation=(1, 2), "
            "groups=2, bias=False)"
        ),
    ),
    "batch norm": (
        nn.BatchNorm2d(3),
        (2, 3, 2, 2),
        "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
    ),
    "layer norm": (
        nn.LayerNorm([3, 2]),
        (4, 3, 2),
        "LayerNorm((3, 2), eps=1e-05, elementwise_affine=True)",
    ),
    "group norm": (nn.GroupNorm(2, 4), (2, 4, 3), "GroupNorm(2, 4, eps=1e-05, affine=True)"),
    "relu": (nn.ReLU(inplace=True), (2,), "ReLU(inplace=True)"),
    "elu": (nn.ELU(0.5), (2,), "ELU(alpha=0.5)"),
    "leaky": (nn.LeakyReLU(0.2, inplace=True), (2,), "LeakyReLU(negative_slope=0.2, inplace=True)"),
    "gelu": (nn.GELU(), (2,), "GELU(approximate='none')"),
    "softplus": (nn.Softplus(), (2,), "Softplus(beta=1.0, threshold=20.0)"),
    "softmax": (nn.Softmax(dim=-1), (2, 2), "Softmax(dim=-1)"),
    "hardtanh": (nn.Hardtanh(), (2,), "Hardtanh(min_val=-1.0, max_val=1.0)"),
    "prelu": (nn.PReLU(2), (1, 2), "PReLU(num_parameters=2)"),
    "dropout": (nn.Dropout(0.1), (2,), "Dropout(p=0.1, inplace=False)"),
    "max pool": (
        nn.MaxPool2d(2),
        (1, 4, 4),
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
    ),
    "avg pool": (
        nn.AvgPool2d(2, padding=1),
        (1, 4, 4),
        "AvgPool2d(kernel_size=2, stride=2, padding=1)",
    ),
    "adaptive": (nn.AdaptiveAvgPool2d(1), (1, 4, 4), "AdaptiveAvgPool2d(output_size=1)"),
    "flatten": (nn.Flatten(), (2, 3, 4), "Flatten(start_dim=1, end_dim=-1)"),
    "unflatten": (nn.Unflatten(1, (2, 3)), (1, 6), "Unflatten(dim=1, unflattened_size=(2, 3))"),
    "sigmoid": (nn.Sigmoid(), (2,), "Sigmoid()"),
}


@pytest.mark.parametrize("name", MADE)
def test_layers_run_and_print_as_torchs(name: str) -> None:
    module, shape, text = MADE[name]
    assert repr(module) == text
    result = module(tg.rand(*shape))
    assert np.isfinite(result.detach()).all()
    assert result.shape[0] == shape[0]


def test_modules_that_look_up_and_multiply() -> None:
    table = nn.Embedding(4, 2, padding_idx=-1)
    assert repr(table) == "Embedding(4, 2, padding_idx=3)"
    found = table(tg.tensor([[0, 3]]))
    assert found.shape == (1, 2, 2)
    assert found[0, 1].detach().tolist() == [0.0, 0.0]
    found.sum().backward()
    assert table.weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    pair = nn.Bilinear(2, 3, 4)
    x, y = tg.rand(5, 2), tg.rand(5, 3)
    expected = np.einsum("bi,oij,bj->bo", x, pair.weight.detach(), y) + pair.bias.detach().numpy()
    np.testing.assert_allclose(pair(x, y).detach(), expected)


def test_losses_as_modules() -> None:
    x, p = tg.tensor([[0.5, -1.0, 2.0]]), tg.tensor([[0.2, 0.3, 0.5]])
    F = nn.functional
    weight = tg.tensor([1.0, 2.0, 3.0])
    assert nn.MSELoss(reduction="sum")(x, p).item() == F.mse_loss(x, p, reduction="sum").item()
    assert nn.L1Loss()(x, p).item() == F.l1_loss(x, p).item()
    assert nn.HuberLoss(delta=0.3)(x, p).item() == F.huber_loss(x, p, delta=0.3).item()
    assert nn.SmoothL1Loss(beta=0.3)(x, p).item() == F.smooth_l1_loss(x, p, beta=0.3).item()
    loss = nn.CrossEntropyLoss(weight, label_smoothing=0.1)
    assert (
        loss(x, tg.tensor([1])).item()
        == F.cross_entropy(x, tg.tensor([1]), weight, label_smoothing=0.1).item()
    )
    assert [n for n, _ in loss.named_buffers()] == ["weight"]
    assert nn.NLLLoss(ignore_index=2)(x, tg.tensor([1])).item() == 1.0
    assert nn.BCELoss()(p, p).item() == F.binary_cross_entropy(p, p).item()
    assert (
        nn.BCEWithLogitsLoss(pos_weight=weight)(x, p).item()
        == F.binary_cross_entropy_with_logits(x, p, pos_weight=weight).item()
    )
    assert (
        nn.KLDivLoss(reduction="batchmean")(x, p).item()
        == F.kl_div(x, p, reduction="batchmean").item()
    )
    assert nn.CosineSimilarity()(x, x).item() == pytest.approx(1.0)
    assert repr(nn.MSELoss()) == "MSELoss()"
    with pytest.raises(ValueError, match="not a valid value for reduction"):
        nn.MSELoss(reduction="all")


def test_batch_norm_keeps_statistics() -> None:
    rng = np.random.default_rng(0)
    norm = nn.BatchNorm1d(2, momentum=None)
    batches = [rng.standard_normal((5, 2)) for _ in range(3)]
    for batch in batches:
        norm(tg.tensor(batch))
    assert norm.num_batches_tracked.item() == 3
    np.testing.assert_allclose(
        norm.running_mean, np.mean([b.mean(axis=0) for b in batches], axis=0)
    )
    np.testing.assert_allclose(
        norm.running_var, np.mean([b.var(axis=0, ddof=1) for b in batches], axis=0)
    )
    norm.eval()
    x = tg.tensor(batches[0])
    np.testing.assert_allclose(
        norm(x).detach(),
        (batches[0] - norm.running_mean.numpy()) / np.sqrt(norm.running_var.numpy() + 1e-5),
    )
    norm.reset_running_stats()
    assert norm.running_var.tolist() == [1.0, 1.0]
    free = nn.BatchNorm1d(2, affine=False, track_running_stats=False).eval()
    np.testing.assert_allclose(free(x).detach().numpy().mean(axis=0), 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="expected 4D input"):
        nn.BatchNorm2d(2)(x)


def test_starting_values() -> None:
    tg.manual_seed(0)
    w = tg.empty(200, 50)
    bounds = {
        "kaiming_uniform_": math.sqrt(6 / 50),
        "xavier_uniform_": math.sqrt(6 / 250),
        "uniform_": 1.0,
    }
    for name, bound in bounds.items():
        made = getattr(nn.init, name)(w)
        assert made is w
        assert 0.98 * bound < w.abs().max().item() <= bound
    nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu")
    assert w.std().item() == pytest.approx(math.sqrt(2 / 200), rel=0.03)
    nn.init.xavier_normal_(w, gain=2.0)
    assert w.std().item() == pytest.approx(2 * math.sqrt(2 / 250), rel=0.03)
    nn.init.normal_(w, 3.0, 0.5)
    assert w.mean().item() == pytest.approx(3.0, abs=0.02)
    nn.init.trunc_normal_(w, std=1.0, a=-1.0, b=0.5)
    assert -1.0 <= w.min().item() < -0.99
    assert 0.49 < w.max().item() <= 0.5
    nn.init.orthogonal_(w, gain=2.0)
    np.testing.assert_allclose(w.T @ w, 4 * np.eye(50), atol=1e-12)
    assert nn.init.eye_(tg.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    image = tg.rand(1, 2, 5, 5)
    np.testing.assert_array_equal(
        nn.functional.conv2d(image, nn.init.dirac_(tg.empty(2, 2, 3, 3)), padding="same"), image
    )
    assert nn.init.constant_(nn.Parameter(tg.empty(2)), 0.5).detach().tolist() == [0.5, 0.5]
    assert nn.init.calculate_gain("leaky_relu", 1.0) == 1.0
    for call in (
        lambda: nn.init.kaiming_uniform_(tg.empty(3)),
        lambda: nn.init.calculate_gain("cube"),
        lambda: nn.init.eye_(tg.empty(2)),
    ):
        with pytest.raises(ValueError, match=r"fewer than 2|Unsupported nonlinearity|2 dimensions"):
            call()
    tg.manual_seed(1)
    first = nn.Linear(400, 30)
    assert first.weight.abs().max().item() <= 1 / 20
    assert first.bias.abs().max().item() <= 1 / 20
    tg.manual_seed(1)
    np.testing.assert_array_equal(nn.Linear(400, 30).weight.detach(), first.weight.detach())


def test_helpers() -> None:
    a, b = tg.tensor([3.0], requires_grad=True), tg.tensor([[4.0, 0.0]], requires_grad=True)
    (a.square().sum() / 2 + b.square().sum() / 2).backward()
    assert nn.utils.clip_grad_norm_([a, b], 10.0).item() == 5.0
    np.testing.assert_allclose(a.grad, [3.0])
    assert nn.utils.clip_grad_norm_([a, b], 1.0).item() == pytest.approx(5.0)
    np.testing.assert_allclose([a.grad.item(), b.grad[0, 0].item()], [0.6, 0.8], rtol=1e-6)
    assert nn.utils.clip_grad_norm_(b, 1.0, norm_type=math.inf).item() == pytest.approx(0.8)
    nn.utils.clip_grad_value_([a, b], 0.5)
    assert (a.grad.item(), b.grad.tolist()) == (0.5, [[0.5, 0.0]])
    a.grad.fill_(math.nan)
    with pytest.raises(RuntimeError, match="is non-finite"):
        nn.utils.clip_grad_norm_([a, b], 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([tg.zeros(1)], 1.0).item() == 0.0
    vector = nn.utils.parameters_to_vector([a, b])
    assert vector.detach().tolist() == [3.0, 4.0, 0.0]
    assert vector.requires_grad
    nn.utils.vector_to_parameters(tg.tensor([1.0, 2.0, 3.0]), [a, b])
    assert (a.item(), b.detach().tolist()) == (1.0, [[2.0, 3.0]])
    with pytest.raises(RuntimeError, match="3 elements"):
        nn.utils.vector_to_parameters(tg.zeros(2), [a, b])


class Early(nn.Module):
    """Assigns before the base is ready."""

    def __init__(self) -> None:
        self.w = nn.Parameter(tg.ones(1))


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "early": (Early, AttributeError, r"cannot assign parameters before Module.__init__\(\) call"),
    "forward": (lambda: nn.Module()(1), NotImplementedError, 'missing the required "forward"'),
    "a tensor for a parameter": (
        lambda: setattr(nn.Linear(1, 1), "weight", tg.ones(1, 1)),
        TypeError,
        "to parameter 'weight'",
    ),
    "a number for a module": (
        lambda: setattr(Net(), "first", 1),
        TypeError,
        "to child module 'first'",
    ),
    "a dot": (lambda: nn.Module().register_buffer("a.b", None), KeyError, r'can\\*\'t contain "."'),
    "taken": (
        lambda: nn.Linear(1, 1).register_buffer("in_features", None),
        KeyError,
        "already exists",
    ),
    "no module": (lambda: nn.Sequential(1), TypeError, "int is not a Module subclass"),
    "no submodule": (
        lambda: Net().get_submodule("second"),
        AttributeError,
        "no submodule `second`",
    ),
    "groups": (lambda: nn.Conv2d(3, 4, 1, groups=2), ValueError, "divisible by groups"),
    "same": (lambda: nn.Conv1d(1, 1, 3, stride=2, padding="same"), ValueError, "strided"),
    "dropout": (lambda: nn.Dropout(2.0), ValueError, "between 0 and 1"),
    "options": (lambda: nn.ELU(beta=1.0), TypeError, "unexpected or repeated argument 'beta'"),
    "needed": (lambda: nn.MaxPool2d(), TypeError, "needs the argument 'kernel_size'"),
    "padding_idx": (lambda: nn.Embedding(2, 2, padding_idx=2), ValueError, "within num_embeddings"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_was_wrong(name: str) -> None:
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message):
        call()
