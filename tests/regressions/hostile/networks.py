"""Arguments that work, of poolings and of weights that are computed."""

from __future__ import annotations

from typing import Any

import tracegrad as tg

RNN, PARAMETRIZE = tg.nn.utils.rnn, tg.nn.utils.parametrize


def packed() -> Any:
    return RNN.pack_padded_sequence(tg.ones(3, 2, 4), tg.tensor([3, 2]))


def parametrized() -> Any:
    layer = tg.nn.Linear(2, 2)
    PARAMETRIZE.register_parametrization(layer, "weight", tg.nn.Identity())
    return layer


NETWORKS: dict[str, tuple[Any, ...]] = {
    **{
        f"tg.nn.functional.max_unpool{d}d": (
            lambda d=d: tg.ones(1, 2, *[2] * d),
            lambda d=d: tg.arange(2**d).reshape(1, 1, *[2] * d).expand(1, 2, *[2] * d),
            2,
        )
        for d in (1, 2, 3)
    },
    **{
        f"tg.nn.functional.{name}_pool3d": (lambda: tg.ones(1, 2, 2, 2, 2), 1)
        for name in ("max", "avg", "adaptive_max", "adaptive_avg")
    },
    **{
        f"tg.nn.functional.lp_pool{d}d": (lambda d=d: tg.ones(1, 2, *[2] * d), 2.0, 1)
        for d in (1, 2, 3)
    },
    **{
        f"tg.nn.utils.{name}": (
            lambda name=name: getattr(tg.nn.utils, name[7:])(tg.nn.Linear(2, 2)),
        )
        for name in ("remove_weight_norm", "remove_spectral_norm")
    },
    **{
        f"tg.nn.utils.{name}": (lambda: tg.nn.Linear(2, 2),)
        for name in ("weight_norm", "spectral_norm")
    },
    **{
        f"tg.nn.utils.parametrizations.{name}": (lambda: tg.nn.Linear(2, 2),)
        for name in ("weight_norm", "spectral_norm")
    },
    "tg.nn.utils.rnn.pack_padded_sequence": (
        lambda: tg.ones(3, 2, 4),
        lambda: tg.tensor([3, 2]),
    ),
    "tg.nn.utils.rnn.pad_packed_sequence": (packed,),
    "tg.nn.utils.rnn.unpack_sequence": (packed,),
    "tg.nn.utils.rnn.PackedSequence": (
        lambda: tg.ones(5, 4),
        lambda: tg.tensor([2, 2, 1]),
    ),
    "tg.nn.utils.parametrize.ParametrizationList": (
        lambda: [tg.nn.Identity()],
        lambda: tg.nn.Parameter(tg.ones(2)),
    ),
    "tg.nn.utils.parametrize.is_parametrized": (parametrized,),
    "tg.nn.utils.parametrize.register_parametrization": (
        lambda: tg.nn.Linear(2, 2),
        "weight",
        lambda: tg.nn.Identity(),
    ),
    "tg.nn.utils.parametrize.remove_parametrizations": (parametrized, "weight"),
    "tg.nn.functional.interpolate": (lambda: tg.ones(1, 2, 4), 2),
    "tg.nn.functional.upsample": (lambda: tg.ones(1, 2, 4), 2),
    "tg.nn.functional.pixel_shuffle": (lambda: tg.ones(1, 4, 2, 2), 2),
}
