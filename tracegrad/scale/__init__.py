"""Beyond one machine: sums over shards of data, and independent problems, on engines that people
have."""

from .. import checks
from .choosing import close
from .engines.ranks import mpi_driver
from .errors import EvaluationTimeoutError, ShardError, WorkerLostError
from .mapping import map_over
from .reports import Evaluation, Evaluations, report
from .sources import read
from .sums import Total, sum_over

__all__ = [
    "Evaluation",
    "EvaluationTimeoutError",
    "Evaluations",
    "ShardError",
    "Total",
    "WorkerLostError",
    "close",
    "map_over",
    "mpi_driver",
    "read",
    "report",
    "sum_over",
]

checks.publish(globals(), __all__, checks.OFTEN)
