"""The folder of compiled code, opened so that only its user can have put something there.

Machine code runs with all the rights of the process that loads it. So the folder must belong to
this user or to root, who can do everything anyway, and nobody else may write to it; the same
holds for each file in it. Of the folders above it, and of symbolic links on the way, the owner
must be one of these two as well, and nobody else may write there, unless a sticky bit keeps
people from exchanging what belongs to others, as in /tmp. Then, from the root of the file system
down, nobody else can change where the path leads, and what was checked stays as it was. Files are
opened relative to the open folder, without following links and without waiting for the other end
of a pipe, and judged by their descriptors.

Where there are no user ids (Windows) nothing of this can be asked, and the permissions that the
folder has from the user's profile must do.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    LOCKING = False
else:
    LOCKING = True

POSIX = hasattr(os, "geteuid")
OPEN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | OPEN
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN
DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | OPEN
LARGEST = 1 << 30
"""Bytes of a file that may be one of ours."""
LINKS = 40
"""Symbolic links on the way to a folder, as many as Linux follows."""
UNFINISHED = "building-"
PATIENCE = 120.0
"""Seconds after which somebody else who makes a file is taken for hanging."""
ABANDONED = 3600.0
"""Seconds after which nobody is still writing a file, or uses a folder of an older format."""
OLDER = re.compile(r"k[0-9a-f]{40}|(building|damaged)-\w+")
"""What is left behind: unfinished files, and the folders that kernels were kept in once."""


class UntrustedError(OSError):
    """Something that others could have put there."""


# --- who may have written ---------------------------------------------------------------------


def check_owner(place: str, state: os.stat_result, above: bool = False) -> None:
    """Raise UntrustedError unless this user or root owns it."""
    known = {0, os.geteuid()}
    if above:
        known |= _unmapped()
    if state.st_uid not in known:
        raise UntrustedError(f"{place} belongs to another user (id {state.st_uid})")


def check(place: str, state: os.stat_result, above: bool = False) -> None:
    """Raise UntrustedError where others may write; `above` the folder a sticky bit will do."""
    check_owner(place, state, above)
    if above and state.st_mode & stat.S_ISVTX:
        return
    if state.st_mode & stat.S_IWOTH:
        raise UntrustedError(f"everybody may write to {place}")
    if state.st_mode & stat.S_IWGRP and not _only_member(state.st_gid):
        raise UntrustedError(f"a group (id {state.st_gid}) may write to {place}")


def _unmapped() -> set[int]:
    """The id of all the users of whom this user namespace knows nothing, root among them."""
    try:
        if Path("/proc/self/uid_map").read_text().split() != ["0", "0", str(2**32 - 1)]:
            return {int(Path("/proc/sys/kernel/overflowuid").read_text())}
    except (OSError, ValueError):
        pass
    return set()


def _only_member(group: int) -> bool:
    """Whether only this user, or root, is in a group; many systems give each user one."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return group == 0
    own = user.pw_gid == group and found.gr_name == user.pw_name
    return group == 0 or (own and set(found.gr_mem) <= {user.pw_name})


# --- the way there ----------------------------------------------------------------------------


def _resolved(path: str, make: bool) -> str:
    """Where a path leads, each step checked; what is missing is made if wanted."""
    here, links = "/", 0
    check(here, os.lstat(here), above=True)
    todo = _steps(os.path.join(os.getcwd(), path))
    while todo:
        step = todo.pop()
        if step == "..":
            here = os.path.dirname(here)
            continue
        place = os.path.join(here, step)
        state = _made(place) if make else os.lstat(place)
        if stat.S_ISLNK(state.st_mode):
            check_owner(place, state, above=True)
            links += 1
            if links > LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(place)
            here = "/" if target.startswith("/") else here
            todo += _steps(target)
        elif stat.S_ISDIR(state.st_mode):
            check(place, state, above=True)
            here = place
        else:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), place)
    return here


def _steps(path: str) -> list[str]:
    """The parts of a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _made(place: str) -> os.stat_result:
    """The state of a folder that is there now."""
    with suppress(FileNotFoundError):
        return os.lstat(place)
    with suppress(FileExistsError):
        os.mkdir(place, 0o700)
    return os.lstat(place)


@contextmanager
def opened(root: Path, make: bool = False) -> Iterator[Folder]:
    """The folder of compiled code. FileNotFoundError where it is not there and not to be made.

    Raises UntrustedError where others could write, and OSError for what else is in the way.
    """
    path = os.path.expanduser(root)
    if path.startswith("~"):
        raise OSError("no home folder is known")
    if not POSIX:
        if make:
            os.makedirs(path, 0o700, exist_ok=True)
        yield Folder(path, None)
        return
    path = _resolved(path, make)
    descriptor = os.open(path, DIRECTORY)
    try:
        check(path, os.fstat(descriptor))
        yield Folder(path, descriptor)
    finally:
        os.close(descriptor)


# --- what is in it ----------------------------------------------------------------------------


class Folder:
    """Files of an open folder, each a whole that is read at once and replaced at once."""

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path, self.descriptor = path, descriptor

    def _at(self, name: str) -> str:
        return os.path.join(self.path, name) if self.descriptor is None else name

    def read(self, name: str) -> bytes:
        """The content of a file; UntrustedError for one that is not ours, or is no file."""
        descriptor = os.open(self._at(name), READ, dir_fd=self.descriptor)
        try:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST:
                raise UntrustedError(f"{os.path.join(self.path, name)} is no file of tracegrad's")
            if POSIX:
                check(os.path.join(self.path, name), state)
            with open(descriptor, "rb", buffering=0, closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)

    def write(self, name: str, content: bytes) -> None:
        """Put a file there, of which nobody ever sees a part."""
        unfinished = self._create(content)
        try:
            self._rename(unfinished, name)
        except BaseException:
            self._unlink(unfinished)
            raise

    def try_writing(self) -> None:
        """Raise the OSError that writing a file would raise."""
        self._unlink(self._create(bytes(4096)))

    def _create(self, content: bytes) -> str:
        name = UNFINISHED + secrets.token_hex(8)
        descriptor = os.open(self._at(name), CREATE, 0o600, dir_fd=self.descriptor)
        try:
            try:
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
            finally:
                # A file system over a network may tell of its full disk only here.
                os.close(descriptor)
        except BaseException:
            self._unlink(name)
            raise
        return name

    def _rename(self, unfinished: str, name: str) -> None:
        source, target, at = self._at(unfinished), self._at(name), self.descriptor
        try:
            os.replace(source, target, src_dir_fd=at, dst_dir_fd=at)
        except IsADirectoryError:
            # No doing of ours: it goes aside, to be cleaned up with what else is left over.
            aside = self._at(UNFINISHED + secrets.token_hex(8))
            os.replace(target, aside, src_dir_fd=at, dst_dir_fd=at)
            os.replace(source, target, src_dir_fd=at, dst_dir_fd=at)
        except PermissionError:
            # Windows: somebody reads the file that another has put there, which is as good.
            if POSIX or not os.path.exists(target):
                raise
            self._unlink(unfinished)

    def _unlink(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self.descriptor)

    @contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """A block for which one process at a time has this name; the name of a process that ends is
        free. After `PATIENCE` seconds nobody is waited for any more."""
        if not LOCKING:
            yield
            return
        file = UNFINISHED + name
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | OPEN
        descriptor = os.open(self._at(file), flags, 0o600, dir_fd=self.descriptor)
        try:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    if error.errno not in (errno.EAGAIN, errno.EACCES):
                        break  # a file system without locks
                    time.sleep(0.01)
                else:
                    break
            yield
        finally:
            # Who waits for it has it open; who comes later finds what was made.
            self._unlink(file)
            os.close(descriptor)

    def sizes(self, suffix: str) -> dict[str, int]:
        """The files whose names end so, and their bytes."""
        found = {}
        for name in self._names():
            with suppress(OSError):
                if name.endswith(suffix) and stat.S_ISREG((state := self._state(name)).st_mode):
                    found[name] = state.st_size
        return found

    def remove(self, name: str) -> None:
        """Delete a file, or a folder with all that is in it, where that is possible."""
        with suppress(OSError):
            if stat.S_ISDIR(self._state(name).st_mode):
                shutil.rmtree(self._at(name), ignore_errors=True, dir_fd=self.descriptor)
            else:
                self._unlink(name)

    def clean_up(self, age: float = ABANDONED) -> None:
        """Delete what killed processes and older versions left, untouched for so many seconds."""
        now = time.time()
        for name in filter(OLDER.fullmatch, self._names()):
            with suppress(OSError):
                if now - self._state(name).st_mtime >= age:
                    self.remove(name)

    def _names(self) -> list[str]:
        return os.listdir(self.path if self.descriptor is None else self.descriptor)

    def _state(self, name: str) -> os.stat_result:
        return os.stat(self._at(name), dir_fd=self.descriptor, follow_symlinks=False)
