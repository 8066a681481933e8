"""Beyond one machine: sums over shards of data, and independent problems, on engines that people
have (docs/scaling.md)."""

from .. import checks
from .choosing import close
from .errors import EvaluationTimeoutError, ShardError, WorkerLostError
from .sources import read
from .sums import Total, sum_over

__all__ = [
    "EvaluationTimeoutError",
    "ShardError",
    "Total",
    "WorkerLostError",
    "close",
    "read",
    "sum_over",
]

checks.publish(globals(), __all__, checks.OFTEN)
