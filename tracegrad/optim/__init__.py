"""Optimizers and schedules of the learning rate, with torch's names, options and numbers; `step`
works eagerly and inside `jit`.

>>> import tracegrad as tg
>>> def train(steps):
...     model = tg.nn.Linear(2, 1)
...     optimizer = tg.optim.Adam(model.parameters(), lr=0.1)
...
...     @tg.jit
...     def step(x, y):
...         optimizer.zero_grad()
...         loss = tg.nn.functional.mse_loss(model(x), y)
...         loss.backward()
...         optimizer.step()
...         return loss.detach()
...
...     x = tg.rand(8, 2)
...     return [float(step(x, x.sum(1, keepdim=True))) for _ in range(steps)]
>>> losses = train(100)
>>> losses[-1] < losses[0] / 10
True
"""

from __future__ import annotations

from ..checks import OFTEN, publish
from . import lr_scheduler
from .first_order import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop
from .lbfgs import LBFGS
from .optimizer import Optimizer
from .rectified import RAdam
from .signs_and_momenta import NAdam, Rprop

__all__ = [
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]

publish(globals(), __all__, OFTEN)
publish(vars(lr_scheduler), lr_scheduler.__all__, OFTEN)
