"""torch.distributions: probabilities of numbers, entropies, and samples that gradients may flow
through.

>>> import tracegrad.torch as torch
>>> policy = torch.distributions.Categorical(logits=torch.tensor([0.0, 0.0]))
>>> policy.log_prob(torch.tensor(1)), policy.entropy()
(tensor(-0.6931), tensor(0.6931))
"""

from __future__ import annotations

from . import basic, scalars, vectors
from .basic import *  # noqa: F403
from .scalars import *  # noqa: F403
from .vectors import *  # noqa: F403

__all__ = [*basic.__all__, *scalars.__all__, *vectors.__all__]
