"""What all optimizers share: groups of parameters, state by parameter, and one walk that applies a
rule and writes back.

A rule is arithmetic on values and gives new values: of raw arrays in eager code, of traced Tensors
inside `jit`. State and counters are Tensors, and the learning rate has a 0-d Tensor beside it, so
that a jitted training step reads and writes them by reference and is compiled once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from ..autograd.grad_mode import enable_grad, no_grad
from ..checks import describe
from ..devices import DeviceArray
from ..holders import GroupHolder, OptimizerHolder
from ..ir.dispatch import STATE
from ..tape.hooks import boxed
from ..tensor import Tensor
from .rules import as_reals, number, of_reals

Closure = Callable[[], Any]
State = dict[str, Any]


class Group(GroupHolder):
    """A group of parameters with its options. `rate` is the learning rate as a Tensor, which traces
    read: the given one, or one of its own."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(options)
        self._own = boxed(Tensor, np.array(0.0))
        self.rate = self._own
        self._set_rate()

    def __reduce__(self) -> tuple[Any, ...]:
        return Group, (dict(self),)

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        if key == "lr":
            self._set_rate()

    def update(self, *others: Any, **options: Any) -> None:
        """As of a dict."""
        super().update(*others, **options)
        self._set_rate()

    def _set_rate(self) -> None:
        given = self.get("lr")
        if isinstance(given, Tensor):
            self.rate = given
        elif given is not None:
            self._own._data[...] = given
            self.rate = self._own

    def lr(self) -> Any:
        """The learning rate: a number, or inside a trace what a compiled step reads at each
        call."""
        return self.rate if STATE.traces else self["lr"]


class Optimizer(OptimizerHolder):
    """Base of the optimizers: a subclass gives `rule`, and `make_state` where it keeps state.

    `params` is an iterable of Tensors, of (name, Tensor) pairs, or of dicts with "params" and
    options of their own.
    """

    param_groups: list[dict[str, Any]]
    state: dict[Any, State]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                "dicts, but got a Tensor: write [w]"
            )
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        listed = list(params)
        if not listed:
            raise ValueError("optimizer got an empty parameter list")
        for group in listed if isinstance(listed[0], dict) else [{"params": listed}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own, the others from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group).__name__}")
        params = param_group["params"]
        if isinstance(params, (set, frozenset)):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, "
                "but the order of sets changes between runs"
            )
        listed = [
            p[1] if isinstance(p, tuple) else p
            for p in ([params] if isinstance(params, Tensor) else params)
        ]
        for p in listed:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params "
                    f"is {type(p).__name__}"
                )
            if p.grad_fn is not None:
                raise ValueError("can't optimize a non-leaf Tensor")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if len({id(p) for p in listed}) != len(listed) or any(id(p) in known for p in listed):
            raise ValueError(
                "some parameters appear in more than one parameter group, or twice in one"
            )
        self.param_groups.append(Group({**self.defaults, **param_group, "params": listed}))

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for k, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {k}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # --- steps ------------------------------------------------------------------------------------

    def make_state(self, p: Any, group: Group) -> State:
        """State of a parameter at its first step."""
        return {}

    def rule(self, p: Any, g: Any, state: State, group: Group) -> Any:
        """The parameter's new value; new values of the state go into `state`."""
        raise NotImplementedError(f"{type(self).__name__} defines no rule")

    def step(self, closure: Closure | None = None) -> Any:
        """Move every parameter that has a gradient; `closure` computes the loss (and gradients)
        anew first, and its result is returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            self._move_all()
        return loss

    def _move_all(self) -> None:
        for group in self.param_groups:
            assert isinstance(group, Group)
            for p in group["params"]:
                if p.grad is not None:
                    self._move(p, group)

    def _move(self, p: Any, group: Group) -> None:
        if p not in self.state or not self.state[p]:
            made = self.make_state(p, group)
            if made:
                self.state[p] = made
        kept = self.state.get(p, {})
        # On the CPU the rule is NumPy's arithmetic; else operations.
        traced = bool(STATE.traces) or isinstance(p._data, DeviceArray)
        now = {
            key: t if traced or not isinstance(t, Tensor) else t._data for key, t in kept.items()
        }
        gradient = p.grad if traced else p.grad._data
        if group.get("maximize"):
            gradient = -gradient
        values = p if traced else p._data
        if p.dtype.kind == "c":
            values, gradient = as_reals(values), as_reals(gradient)
            now = {key: as_reals(t) for key, t in now.items()}
        before = dict(now)
        new = self.rule(values, gradient, now, group)
        for key, value in now.items():
            if value is not before[key]:
                write(kept[key], value)
        write(p, new)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    if p.grad.grad_fn is not None:
                        p.grad.detach_()
                    else:
                        p.grad.requires_grad_(False)
                    p.grad.zero_()

    # --- state ------------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """{"state": by number of the parameter, "param_groups": options, with numbers in place of
        parameters}."""
        numbers: dict[int, int] = {}
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
        groups = [
            {**group, "params": [numbers[id(p)] for p in group["params"]]}
            for group in self.param_groups
        ]
        return {
            "state": {numbers[id(p)]: kept for p, kept in self.state.items() if id(p) in numbers},
            "param_groups": groups,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave, of an optimizer over parameters of the same shapes in
        the same order.

        Values are copied into Tensors that are there, so that steps that are compiled already see
        them.
        """
        who = f"{type(self).__name__}.load_state_dict"
        if (
            not isinstance(state_dict, Mapping)
            or not {"state", "param_groups"} <= state_dict.keys()
        ):
            raise TypeError(
                f"{who}: state_dict is {describe(state_dict)}; it must be what state_dict() gave, "
                "with 'state' and 'param_groups'"
            )
        groups, saved = self.param_groups, state_dict["param_groups"]
        check_like(f"{who}: param_groups", saved, [])
        check_like(f"{who}: state", state_dict["state"], {})
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, options in zip(groups, saved, strict=True):
            check_like(f"{who}: a group", options, {})
            if not isinstance(options.get("params"), (list, tuple)):
                raise TypeError(
                    f"{who}: a group has no list of numbers of parameters under 'params'"
                )
            for key in (options.keys() & group.keys()) - {"params"}:
                check_like(f"{who}: {key}", options[key], group[key])
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size "
                "of optimizer's group"
            )
        places = {
            k: p
            for g, s in zip(groups, saved, strict=True)
            for k, p in zip(s["params"], g["params"], strict=True)
        }
        for k, entries in state_dict["state"].items():
            if k not in places:
                raise ValueError(
                    f"{who}: state has an entry for the parameter {k!r}, and there are "
                    f"{len(places)} parameters"
                )
            check_like(f"{who}: the state of parameter {k}", entries, {})
            p = places[k]
            mine = self.state[p]
            if not mine:
                group = next(g for g in groups if any(q is p for q in g["params"]))
                assert isinstance(group, Group)
                mine.update(self.make_state(p, group))
            for key, value in entries.items():
                old = mine.get(key)
                if isinstance(old, Tensor) and np.shape(value) == old.shape:
                    with no_grad():
                        old.copy_(value)
                else:
                    if old is not None:
                        check_like(f"{who}: {key} of parameter {k}", value, old)
                    mine[key] = (
                        boxed(Tensor, deepcopy(value._data))
                        if isinstance(value, Tensor)
                        else deepcopy(value)
                    )
        for group, options in zip(groups, saved, strict=True):
            group.update(
                {key: deepcopy(value) for key, value in options.items() if key != "params"}
            )


NUMBERS = (int, float, np.number, np.ndarray, Tensor)


def check_like(what: str, value: Any, present: Any) -> None:
    """A TypeError for a loaded value that is not of the kind of the one in whose place it comes."""
    if isinstance(present, Mapping):
        fits, wanted = isinstance(value, Mapping), "a dict"
    elif isinstance(present, str):
        fits, wanted = isinstance(value, str), "a string"
    elif isinstance(present, (list, tuple)):
        fits, wanted = isinstance(value, (list, tuple)), "a list"
        if fits and present:
            for part in value:
                check_like(f"a part of {what}", part, present[0])
    elif isinstance(present, NUMBERS) and not isinstance(present, bool):
        shape = np.shape(present)
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        own = getattr(getattr(present, "dtype", None), "kind", "f")
        kinds, real = ("biufc", "") if own == "c" else ("biuf", "real ")
        fits = isinstance(value, NUMBERS) and np.shape(value) == shape and kind in kinds
        wanted = (
            f"an array of {real}numbers of shape {tuple(shape)}" if shape else f"a {real}number"
        )
    else:
        return
    if not fits:
        raise TypeError(f"{what} is {describe(value)}; it must be {wanted}")


def write(place: Tensor, value: Any) -> None:
    """Write a new value in place, pairs of real numbers into complex ones; in a trace and outside
    of it."""
    if place.dtype.kind == "c" and value.dtype.kind != "c":
        value = of_reals(value)
    if isinstance(value, Tensor):
        place._write(number(value, place))
    else:
        place._write(np.asarray(value, place.dtype))


__all__ = ["Closure", "Group", "Optimizer", "State", "check_like", "write"]
