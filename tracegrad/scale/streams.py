"""Sums over a stream of chunks: two of them are in memory, one that is computed with and one that
is being loaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..checks import describe
from ..errors import TracegradError
from ..ir.lines import user_line
from .engines.local import Serial
from .form_code import as_given
from .functions import kinds_of
from .pairwise import Pairwise, PartialSum
from .progress import UnderWay
from .reports import LOG, Evaluation
from .session import Asked, FormTypes, ShardedFunction, bytes_of
from .sources import as_arrays
from .worker import Timing, addends_of, described, failure, here, open_shard

_END = object()


def is_stream(shards: Any) -> bool:
    """Whether chunks come one after the other: an iterator, or a function that begins one."""
    if hasattr(shards, "__dask_graph__"):
        return False
    return isinstance(shards, Iterator) or (callable(shards) and not hasattr(shards, "__array__"))


class StreamedFunction(ShardedFunction):
    """A function of chunks that pass by. They are added up in the order in which they come, in the
    same tree as shards."""

    def __init__(
        self, function: Callable[..., Any], chunks: Any, limit: float | None, who: str
    ) -> None:
        self.chunks = chunks
        self.begun: Iterator[Any] | None = None
        self.first: Any = _END
        super().__init__(function, (), Serial(), 0, limit, who)
        self.count = 1

    def shard_types(self) -> list[tuple[bytes, Any]]:
        """Of the first chunk; others may have other sizes."""
        with self.lock:
            if self.types is None:
                stream = self._begin_stream()
                self.first = next(stream, _END)
                if self.first is _END:
                    raise ValueError(
                        f"{self.who}: the stream has no chunk; a sum needs at least one"
                    )
                self.first = as_arrays(self.first)
                self.types = [described(open_shard(self.first))]
                self.begun = stream
            return self.types

    def _begin_stream(self) -> Iterator[Any]:
        if isinstance(self.chunks, Iterator):
            if self.begun is self.chunks:
                raise TracegradError(
                    f"{self.who}: the iterator of chunks has been used up by an evaluation, and "
                    "there is a further one (a derivative, or a step of an optimizer). Give a "
                    "function that begins the stream anew: sum_over(f, lambda: chunks(...))"
                )
            self.begun = self.chunks
            return self.chunks
        found = self.chunks()
        if not hasattr(found, "__iter__"):
            raise TypeError(
                f"{user_line()}: {self.who}: the function that begins the stream returned "
                f"{describe(found)}; it must return an iterator of chunks"
            )
        return iter(found)

    def _stream(self) -> Iterator[Any]:
        """The chunks of one evaluation; the one that was looked at first comes first."""
        if self.first is not _END and self.begun is not None:
            first, self.first = self.first, _END
            rest = self.begun
            if not isinstance(self.chunks, Iterator):
                self.begun = None
            yield first
            yield from rest
        else:
            yield from self._begin_stream()

    def evaluate(
        self, asked: Asked, arrays: Sequence[Any], kind: FormTypes
    ) -> list[np.ndarray[Any, Any]]:
        form = asked.form
        if asked.own or kind.gathered:
            raise TracegradError(
                f"{self.who}: results of a stream's chunks are added up, and cannot be gathered: "
                "take reduce='sum', or give a list of shards"
            )
        kinds = kinds_of(form)
        function = self.local.code(form, kinds).traced
        given = as_given(arrays, kinds)
        expected = [(t.dtype, t.shape) for t in kind.summed]
        total, number, seconds, began = Pairwise(), 0, [], time.time()
        end = None if self.limit is None else time.monotonic() + self.limit
        with (
            self.lock,
            UnderWay(self.name, None) as running,
            ThreadPoolExecutor(1, "tracegrad-stream") as loader,
        ):
            stream = self._stream()
            try:
                coming = loader.submit(next, stream, _END)
                while (chunk := coming.result()) is not _END:
                    coming = loader.submit(next, stream, _END)
                    start = time.perf_counter()
                    leaves = addends_of(function(given, (), as_arrays(chunk))[0])
                    del chunk
                    found = [(x.dtype, x.shape) for x in leaves]
                    if found != expected:
                        raise TypeError(
                            f"{self.name} gave results of {found} for this chunk, and of "
                            f"{expected} for the first one, which cannot be added"
                        )
                    total.add(PartialSum(0, number, leaves))
                    number += 1
                    running.one()
                    if end is not None and time.monotonic() > end:
                        raise TimeoutError(f"the limit of {self.limit} s is over")
                    seconds.append(time.perf_counter() - start)
            except TracegradError:
                raise
            except Exception as error:
                raise self._error(failure(error, number, "chunk")) from error
        if not total.blocks:
            raise TracegradError(f"{self.who}: the stream was empty this time")
        timing = Timing(*here(), began, time.time(), tuple(seconds), number, 0)
        LOG.append(
            Evaluation(
                self.name,
                "stream",
                form,
                began,
                time.time(),
                [(0, number)],
                (timing,),
                bytes_of(arrays),
                bytes_of(total.total()),
            )
        )
        return [np.array(x) for x in total.total()]


__all__ = ["StreamedFunction", "is_stream"]
