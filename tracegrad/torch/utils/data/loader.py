"""`DataLoader`: batches of a data set, one after the other."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ....ops import Generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def get_worker_info() -> None:
    """None: there are no worker processes."""


class DataLoader:
    """Batches of a data set: `batch_size` items in the order of `sampler` (or in a random one with
    `shuffle`), made one by `collate_fn`.

    With `num_workers` items are fetched in so many threads ahead of their use, in unchanged order;
    the data set's `__getitem__` is then called from several threads at once. `pin_memory`,
    `persistent_workers` and `timeout` mean nothing here.

    >>> import tracegrad.torch as torch
    >>> loader = torch.utils.data.DataLoader(range(5), batch_size=2, drop_last=True)
    >>> len(loader), [batch.tolist() for batch in loader]
    (2, [[0, 1], [2, 3]])
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; "
                "use num_workers=0 to disable multiprocessing."
            )
        if multiprocessing_context is not None:
            raise ValueError(
                "DataLoader: workers are threads here, "
                "so there is no multiprocessing_context; leave it out"
            )
        if worker_init_fn is not None and num_workers:
            raise ValueError(
                "DataLoader: workers are threads of one process here, which worker_init_fn "
                "cannot seed; leave it out"
            )
        streamed = isinstance(dataset, IterableDataset)
        if streamed and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError(
                "DataLoader with IterableDataset: expected no shuffle, sampler "
                "or batch_sampler option"
            )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching "
                "and is mutually exclusive with drop_last"
            )
        if sampler is None and not streamed:
            sampler = (
                RandomSampler(dataset, generator=generator)
                if shuffle
                else SequentialSampler(dataset)
            )
        if batch_sampler is None and batch_size is not None and not streamed:
            assert sampler is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last, self.sampler = (
            dataset,
            batch_size,
            drop_last,
            sampler,
        )
        self.batch_sampler, self.num_workers, self.generator = batch_sampler, num_workers, generator
        self.prefetch_factor = prefetch_factor or 2
        batched = batch_sampler is not None or (streamed and batch_size is not None)
        self.collate_fn = collate_fn or (default_collate if batched else default_convert)
        self.pin_memory, self.timeout, self.worker_init_fn = pin_memory, timeout, worker_init_fn

    def _fetch(self, index: Any) -> Any:
        if self.batch_sampler is None:
            return self.collate_fn(self.dataset[index])
        several = getattr(self.dataset, "__getitems__", None)
        return self.collate_fn(
            several(index) if several is not None else [self.dataset[k] for k in index]
        )

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            return self._streamed()
        order = self.sampler if self.batch_sampler is None else self.batch_sampler
        assert order is not None
        return self._ahead(order) if self.num_workers else map(self._fetch, order)

    def _streamed(self) -> Iterator[Any]:
        items = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate_fn, items)
            return
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def _ahead(self, order: Iterable[Any]) -> Iterator[Any]:
        """Batches that threads make while those before them are used."""
        pool = ThreadPoolExecutor(self.num_workers, "DataLoader")
        try:
            yield from self._fetched(order, pool)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _fetched(self, order: Iterable[Any], pool: ThreadPoolExecutor) -> Iterator[Any]:
        waiting: deque[Future[Any]] = deque()
        for index in order:
            waiting.append(pool.submit(self._fetch, index))
            if len(waiting) > self.num_workers * self.prefetch_factor:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)  # type: ignore[arg-type]
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        drawn: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(drawn)
