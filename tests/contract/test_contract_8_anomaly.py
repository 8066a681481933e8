"""Section 8 of the torch.autograd contract, line by line: anomaly detection."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tests.checks import leaf
from tracegrad import autograd
from tracegrad.autograd import graph

# --- anomaly detection ----------------------------------------------------------------------------


def bad(x: Any) -> Any:
    return x.sqrt()  # the line to blame


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_detect_anomaly() -> None:
    """`detect_anomaly()` warns when it is made; a NaN is an error with the name of the function;
    the forward lines are in a warning."""
    x = leaf(-1, 1)
    with pytest.warns(
        UserWarning, match="Anomaly Detection has been enabled. This mode will increase the runtime"
    ):
        mode = autograd.detect_anomaly()
    assert not autograd.is_anomaly_enabled()
    with mode, warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert autograd.is_anomaly_enabled()
        y = bad(x)
        with pytest.raises(
            RuntimeError, match=r"^Function 'SqrtBackward0' returned nan values in its 0th output.$"
        ):
            y.sum().backward()
    assert not autograd.is_anomaly_enabled()
    (warning,) = [w for w in seen if w.category is UserWarning]
    text = str(warning.message)
    assert text.startswith(
        "Error detected in SqrtBackward0. Traceback of forward call that caused the error:"
    )
    assert "the line to blame" in text
    assert "test_contract_8_anomaly.py" in text
    assert "tracegrad/ops" not in text.replace("\\", "/")
    assert warning.filename == __file__


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_nan_in_a_second_input() -> None:
    """The message counts the outputs of the backward function."""
    x, y = leaf(1), leaf(np.nan)
    with autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            RuntimeError, match="'MulBackward0' returned nan values in its 0th output"
        ):
            (x * y).sum().backward()
        with pytest.raises(
            RuntimeError, match="'MulBackward0' returned nan values in its 1th output"
        ):
            (y.detach() * x).sum().backward()


def test_traceback_in_metadata() -> None:
    """Under anomaly detection nodes keep 'traceback_' (only the user's frames), and 'parent_' where
    a backward pass made them."""
    x = leaf(4, 9)
    assert "traceback_" not in x.exp().grad_fn.metadata
    with autograd.set_detect_anomaly(True):
        y = bad(x)
        (g,) = autograd.grad(y.sum(), x, create_graph=True)
    lines = y.grad_fn.metadata["traceback_"]
    assert "the line to blame" in lines[-1]
    assert lines[-1].startswith('  File "')
    assert "parent_" not in y.grad_fn.metadata
    assert g.grad_fn.metadata["parent_"] is y.grad_fn


def test_errors_in_a_recorded_backward_pass() -> None:
    """An error in a node that a backward pass made also shows the operation that induced it."""
    x, v = leaf(4, 9), leaf(1, 1)
    with autograd.set_detect_anomaly(True):
        y = x.exp()  # the line behind it
        (g,) = autograd.grad(y, x, v, create_graph=True)
        y.add_(1)
        with pytest.warns(
            UserWarning,
            match=(
                "(?s)in MulBackward0.*Previous calculation was induced by ExpBackward0.*the "
                "line behind it"
            ),
        ):
            # The gradient read the result y, which has changed since.
            with pytest.raises(RuntimeError, match="modified by an inplace"):
                autograd.grad(g.sum(), v)


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_anomaly_in_one_pass_only() -> None:
    """Forward outside: no traceback is known. Backward outside: nothing is checked."""
    x = leaf(-1)
    y = bad(x)
    with (
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information available"),
    ):
        with pytest.raises(RuntimeError, match="returned nan values"):
            y.sum().backward()
    with autograd.set_detect_anomaly(True):
        y = bad(x)
    y.sum().backward()
    assert np.isnan(x.grad.item())


def test_set_detect_anomaly() -> None:
    """`set_detect_anomaly(mode, check_nan=True)`: function and context manager; both flags can be
    asked for."""
    assert (autograd.is_anomaly_enabled(), autograd.is_anomaly_check_nan_enabled()) == (False, True)
    autograd.set_detect_anomaly(True, check_nan=False)
    try:
        assert (autograd.is_anomaly_enabled(), autograd.is_anomaly_check_nan_enabled()) == (
            True,
            False,
        )
        with autograd.set_detect_anomaly(False):
            assert (autograd.is_anomaly_enabled(), autograd.is_anomaly_check_nan_enabled()) == (
                False,
                True,
            )
            assert "traceback_" not in leaf(1).exp().grad_fn.metadata
        assert "traceback_" in leaf(1).exp().grad_fn.metadata
    finally:
        autograd.set_detect_anomaly(False)
    assert not autograd.is_anomaly_enabled()
    assert "traceback_" not in leaf(1).exp().grad_fn.metadata


@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_no_check_of_nan() -> None:
    """check_nan=False lets NaN pass, and still blames errors."""
    x = leaf(-1)
    with autograd.set_detect_anomaly(True, check_nan=False):
        bad(x).sum().backward()
        assert np.isnan(x.grad.item())
        y = leaf(1, 2) * 1
        z = y * y
        y.add_(1)
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(RuntimeError, match="modified by"),
        ):
            z.sum().backward()


def test_hint_of_the_version_error() -> None:
    """The error about an overwritten tensor hints at anomaly detection, and at its traceback where
    that is on."""
    for mode, hint in (
        (False, r"Hint: enable anomaly detection .*set_detect_anomaly\(True\)"),
        (True, "backtrace further above .* Good luck!"),
    ):
        with autograd.set_detect_anomaly(mode), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = leaf(1, 2) * 1
            z = y * y
            y.add_(1)
            with pytest.raises(RuntimeError, match=hint):
                z.sum().backward()


def test_blame_where_warnings_are_errors() -> None:
    """Where warnings are errors, the error of the backward pass comes through, with the traceback
    as a note."""
    x = leaf(1, 2)
    with autograd.set_detect_anomaly(True):
        y = x * 1
        z = y * y
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by") as caught:
            z.sum().backward()
    assert "Error detected in MulBackward0" in caught.value.__notes__[0]
    assert not autograd.is_anomaly_enabled()


def test_the_mode_is_of_one_thread() -> None:
    """Different on purpose: anomaly detection and hooks of saved tensors, as all modes, are of the
    thread that opened them."""
    import threading

    seen: list[Any] = []
    with (
        autograd.set_detect_anomaly(True),
        graph.saved_tensors_hooks(lambda t: seen.append(t), lambda t: t),
    ):
        thread = threading.Thread(
            target=lambda: seen.append(
                (autograd.is_anomaly_enabled(), leaf(1).exp().grad_fn.metadata)
            )
        )
        thread.start()
        thread.join()
    assert seen == [(False, {})]


class Boom(autograd.Function):
    """A function whose backward fails."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        raise ValueError("boom")


def test_anomaly_in_a_custom_function() -> None:
    """An error in a user's backward keeps its type, and its forward call is shown."""
    with autograd.set_detect_anomaly(True):
        y = Boom.apply(leaf(1))  # here it was called
        with pytest.warns(
            UserWarning, match=r"(?s)Error detected in BoomBackward.*here it was called"
        ):
            with pytest.raises(ValueError, match=r"^boom$"):
                y.sum().backward()


def test_anomaly_in_a_compiled_function() -> None:
    """A compiled function is one node: its name and the line of its call are what is known."""

    @tg.jit
    def f(x: Any) -> Any:
        return tg.sqrt(x)

    x = leaf(-1, 1)
    with autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = f(x)  # the call
        with pytest.raises(
            RuntimeError, match="Function 'CallBackward0' returned nan values in its 0th output"
        ):
            y.sum().backward()
    assert "the call" in y.grad_fn.metadata["traceback_"][-1]
