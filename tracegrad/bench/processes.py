"""A process that answers lines with lines of JSON, for as long as it is asked."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Self

from .worker import MARK


class Process:
    """A library in a process of its own; `missing` says that it is not installed there."""

    def __init__(self, library: str, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self.library = library
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=variables)
        said = self._listen()
        self.missing: str = said.get("missing", "")

    def ask(self, line: str) -> dict[str, Any]:
        """The answer to a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._listen()

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listen(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(MARK):
                found: dict[str, Any] = json.loads(line[len(MARK) :])
                return found
        raise RuntimeError(
            f"bench: the process of {self.library} ended with code {self.process.wait()}"
        )
