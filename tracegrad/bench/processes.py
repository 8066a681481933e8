"""A process that answers lines with lines of JSON, for as long as it is asked."""

from __future__ import annotations

import json
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from .worker import MARK


class EndedError(RuntimeError):
    """The process ended, or was silent for too long."""


class Process:
    """A library in a process of its own; `missing` says that it is not installed there. An answer
    that takes longer than `timeout` seconds is an EndedError, as the process' end is."""

    def __init__(
        self,
        library: str,
        command: Sequence[str],
        variables: Mapping[str, str],
        timeout: float | None = None,
    ) -> None:
        self.library, self.timeout = library, timeout
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=self.errors, text=True, env=variables
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        try:
            self.missing: str = self._listen().get("missing", "")
        except BaseException:
            self.close()
            raise

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # where it has ended, `_listen` says how
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        return self._listen()

    def close(self) -> None:
        """End it: nothing is asked of it any more, whether it waits, works or hangs."""
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.errors.close()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(MARK):
                self.lines.put(line[len(MARK) :])
        self.lines.put("")

    def _listen(self) -> dict[str, Any]:
        try:
            line = self.lines.get(timeout=self.timeout)
        except queue.Empty:
            raise EndedError(f"no result after {self.timeout:.0f} s") from None
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self.lines.put("")  # for whoever asks again
        code = self.process.wait()
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        raise EndedError(
            f"the process of {self.library} ended with code {code}"
            + (f": {said[-1][:300]}" if said else "")
        )
