"""Whatever is wrong with the disk, compiled code is right, nothing crashes, and one warning says
what to do."""

from __future__ import annotations

import errno
import os
import pickle
import socket
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tracegrad.codegen.disk import cache
from tracegrad.codegen.disk import folder as cache_folder

import tracegrad as tg
from tests.cached import (
    KEY,
    OTHER,
    READS_ALL,
    ROOT,
    fetched,
    foreign_group,
    names,
    one_warning,
    sealed,
    used,
)
from tracegrad import __main__ as cli

posix = pytest.mark.skipif(not cache_folder.POSIX, reason="asks for user ids and modes")

# --- entries ----------------------------------------------------------------------------------


class Planted:
    """What a pickle runs when it is read."""

    def __reduce__(self) -> Any:
        return os.mkdir, (os.environ["PLANTED"],)


@pytest.mark.parametrize(
    "wrap", [lambda b: b, sealed, lambda b: sealed(b"{}", b)], ids=["bare", "header", "part"]
)
def test_nothing_in_an_entry_is_run(
    wrap: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED", str(tmp_path / "planted"))
    root = tmp_path / "cache"
    fetched(root)
    (root / names(root)[0]).write_bytes(wrap(pickle.dumps(Planted())))
    assert fetched(root) == "built"
    assert not (tmp_path / "planted").exists()
    package = Path(cache.__file__).parent.parent
    assert not [
        p for p in package.rglob("*.py") if "pickle" in p.read_text(encoding="utf-8").lower()
    ]


SILENT: dict[str, Callable[[Path], Any]] = {
    "truncated": lambda p: p.write_bytes(p.read_bytes()[:100]),
    "empty": lambda p: p.write_bytes(b""),
    "flipped": lambda p: p.write_bytes(p.read_bytes()[:-1] + b"?"),
    "longer": lambda p: p.write_bytes(p.read_bytes() + b"?"),
    "foreign": lambda p: p.write_bytes(b"not ours" * 1000),
    "another key's": lambda p: p.write_bytes(p.with_name(OTHER + cache.SUFFIX).read_bytes()),
    "missing": Path.unlink,
}


@pytest.mark.parametrize("damage", SILENT.values(), ids=SILENT.keys())
def test_damaged_entries_are_replaced(damage: Callable[[Path], Any], tmp_path: Path) -> None:
    fetched(tmp_path), fetched(tmp_path, OTHER)
    damage(tmp_path / (KEY + cache.SUFFIX))
    assert [fetched(tmp_path), fetched(tmp_path)] == ["built", "loaded"]
    assert fetched(tmp_path, OTHER) == "loaded"
    assert names(tmp_path) == [KEY + cache.SUFFIX, OTHER + cache.SUFFIX]


def test_swapped_entries_are_noticed(tmp_path: Path) -> None:
    fetched(tmp_path), fetched(tmp_path, OTHER)
    one, two = (tmp_path / (key + cache.SUFFIX) for key in (KEY, OTHER))
    one.rename(tmp_path / "x")
    two.rename(one)
    (tmp_path / "x").rename(two)
    assert [fetched(tmp_path), fetched(tmp_path, OTHER)] == ["built", "built"]
    assert [fetched(tmp_path), fetched(tmp_path, OTHER)] == ["loaded", "loaded"]


def a_link(p: Path) -> None:
    target = p.rename(p.with_name("elsewhere"))
    p.symlink_to(target)


def a_socket(p: Path) -> None:
    p.unlink()
    here = os.getcwd()
    os.chdir(p.parent)  # names of sockets are short
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(p.name)
    finally:
        os.chdir(here)


def replaced(make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def damage(p: Path) -> None:
        p.unlink()
        make(p)

    return damage


def a_full_folder(p: Path) -> None:
    p.mkdir()
    (p / "file").write_text("")


TOLD: dict[str, Callable[[Path], Any]] = {
    "a pipe": replaced(lambda p: os.mkfifo(p)),
    "a folder": replaced(Path.mkdir),
    "a folder with files": replaced(a_full_folder),
    "a link to an entry": a_link,
    "a link to nothing": replaced(lambda p: p.symlink_to("nothing")),
    "a link to itself": replaced(lambda p: p.symlink_to(p.name)),
    "a socket": a_socket,
    "writable by its group": lambda p: p.chmod(0o660) or foreign_group(p),
    "writable by everybody": lambda p: p.chmod(0o602),
    "of another user": lambda p: os.chown(p, 12345, -1),
    "enormous": lambda p: os.truncate(p, cache_folder.LARGEST + 1),
    "not readable": lambda p: p.chmod(0),
}


@posix
@pytest.mark.parametrize("kind", TOLD)
def test_entries_that_others_could_have_put_there_are_not_used(kind: str, tmp_path: Path) -> None:
    if (kind == "of another user" and not ROOT) or (kind == "not readable" and READS_ALL):
        pytest.skip("not for this user to do")
    fetched(tmp_path)
    TOLD[kind](tmp_path / (KEY + cache.SUFFIX))
    with one_warning(tmp_path, KEY if kind not in ("a socket", "not readable") else "["):
        assert [fetched(tmp_path), fetched(tmp_path)] == ["built", "loaded"]
    (entry,) = (p for p in tmp_path.iterdir() if p.name.endswith(cache.SUFFIX))
    state = entry.lstat()
    assert stat.S_ISREG(state.st_mode)
    assert stat.S_IMODE(state.st_mode) == 0o600


# --- the disk ---------------------------------------------------------------------------------


def failing(name: str, code: int, after: int = 0) -> Callable[[pytest.MonkeyPatch], None]:
    """A system call that fails, once it was called so many times."""

    def install(monkeypatch: pytest.MonkeyPatch) -> None:
        original, calls = getattr(os, name), [0]

        def call(first: Any, *rest: Any, **named: Any) -> Any:
            ours = name in ("write", "close") or "building-" in str(first) or name == "mkdir"
            calls[0] += ours
            if not ours or calls[0] <= after:
                # Disks fill in the middle of a file.
                return original(
                    first, *(bytes(r)[:100] if name == "write" else r for r in rest), **named
                )
            if name == "close":
                original(first)
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(cache_folder.os, name, call)

    return install


FULL = {
    "full": failing("write", errno.ENOSPC),
    "full after some": failing("write", errno.ENOSPC, after=2),
    "beyond a quota": failing("write", errno.EDQUOT, after=1),
    "beyond ulimit -f": failing("write", errno.EFBIG, after=1),
    "broken": failing("write", errno.EIO, after=1),
    "without inodes": failing("open", errno.ENOSPC),
    "read-only": failing("open", errno.EROFS),
    "not ours to write": failing("open", errno.EACCES),
    "without descriptors": failing("open", errno.EMFILE),
    "without links": failing("replace", errno.EMLINK),
}


@posix
@pytest.mark.parametrize("fault", FULL)
def test_what_cannot_be_kept_is_compiled_in_memory(fault: str, tmp_path: Path) -> None:
    fetched(tmp_path, OTHER)
    with pytest.MonkeyPatch.context() as patch:
        FULL[fault](patch)
        with one_warning(tmp_path, "[Errno "):
            assert [fetched(tmp_path), fetched(tmp_path)] == ["built", "built"]
        assert fetched(tmp_path, OTHER) == "loaded", "what is there is used"
    assert names(tmp_path) == [OTHER + cache.SUFFIX], "no part of a file is left"
    assert [fetched(tmp_path), fetched(tmp_path)] == ["built", "loaded"], (
        "the disk may have room again"
    )


@posix
def test_a_full_disk_that_tells_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems over a network may report at close."""
    failing("close", errno.EDQUOT)(monkeypatch)
    with (
        pytest.raises(OSError, match=os.strerror(errno.EDQUOT)),
        cache_folder.opened(tmp_path) as folder,
    ):
        folder.write("name", b"content")
    assert names(tmp_path) == []


@posix
def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing("mkdir", errno.EROFS)(monkeypatch)
    with one_warning(tmp_path / "a" / "b", os.strerror(errno.EROFS)):
        assert fetched(tmp_path / "a" / "b") == "built"


def test_functions_run_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "cache"
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(root))
    failing("write", errno.ENOSPC, after=1)(monkeypatch)
    with one_warning(root, os.strerror(errno.ENOSPC)):
        for factor in (2.0, 3.0):
            f = tg.jit(tg.grad(lambda x, factor=factor: (factor * x * x).sum()))
            np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2 * factor))
    assert names(root) == []


@posix
def test_functions_run_under_a_limit_on_files(tmp_path: Path) -> None:
    """A shell's `ulimit -f` ends programs with a signal that Python ignores."""
    script = """
import resource, signal, sys, warnings
import numpy as np, tracegrad as tg
assert signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert (tg.jit(tg.grad(lambda x: (x * x).sum()))(np.ones(3)) == 2).all()
    assert (tg.jit(tg.grad(lambda x: (x * x * x).sum()))(np.ones(3)) == 3).all()
(only,) = caught
print(only.category.__name__, only.filename, only.message)
"""
    variables = {
        "TRACEGRAD_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(tg.__file__).parent.parent),
    }
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.startswith("RuntimeWarning <string> tracegrad cannot use the folder"), (
        done.stdout
    )
    assert "File too large" in done.stdout
    assert names(tmp_path / "cache") == []


def test_warnings_that_are_errors_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "file"
    root.write_text("")
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(root))
    f = tg.jit(lambda x: x * 7.25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="cannot use the folder"):
            f(np.ones(2))
        np.testing.assert_array_equal(f(np.ones(2)), [7.25, 7.25])


# --- what is left over ------------------------------------------------------------------------


def test_leftovers_are_cleaned_up_when_they_are_old(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    root = tmp_path / "cache"
    root.mkdir(0o700)
    old = [
        f"building-{'0' * 16}",
        "building-abc_1234",
        "damaged-abc_1234",
        "k" + "c" * 40,
        "building-link",
    ]
    new = [f"building-{'1' * 16}", "k" + "d" * 40]
    strangers = ["mine", "kernel", "k" + "e" * 39, "building", "x" + "c" * 40]
    for name in [*old[1:4], new[1], *strangers]:
        (root / name).mkdir()
        (root / name / "manifest.json").write_text("{}")
    for name in (old[0], new[0]):
        (root / name).write_text("half")
    (root / old[4]).symlink_to(outside)
    before = time.time() - 2 * cache_folder.ABANDONED
    for name in [*old, *strangers]:
        os.utime(root / name, (before, before), follow_symlinks=False)
    assert fetched(root) == "built"
    assert set(names(root)) == {KEY + cache.SUFFIX, *new, *strangers}
    assert (outside / "file").read_text() == "mine"
    assert cache.cache_clear(root) == 1
    assert set(names(root)) == set(strangers)


CROWD = """
import os, random, signal, sys, time
from pathlib import Path
from tracegrad.codegen.disk import cache
from tracegrad.codegen.disk.entry import DiskEntry

root, rounds, kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
keys = [format(k, "040x") for k in range(3)]
codes = {key: os.urandom(1 << 16) for key in keys}

def fetch(key):
    build = lambda: (codes[key], DiskEntry({}, {"code": codes[key]}))
    assert cache.fetch(root, key, build, lambda entry: entry.part("code")) == codes[key]

def crowd(work, count):
    children = []
    for k in range(count):
        if not (child := os.fork()):
            random.seed(k)
            try:
                work()
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        children.append(child)
    return children

def fetch_and_damage():
    for _ in range(rounds):
        fetch(random.choice(keys))
        name = random.choice(keys) + cache.SUFFIX
        match random.randrange(8):
            case 0:
                (root / name).unlink(missing_ok=True)
            case 1:
                if random.random() < 0.5:
                    (root / "x").write_bytes(b"damaged")
                else:
                    cache.cache_clear(root)
            case 2:
                try:
                    os.truncate(root / name, random.randrange(1 << 16))
                except FileNotFoundError:
                    pass

for child in crowd(fetch_and_damage, 8):
    assert os.waitpid(child, 0)[1] == 0

def write_on():
    while True:
        for key in keys:
            cache._keep(root, key, DiskEntry({}, {"code": codes[key]}))

for _ in range(kills):
    children = crowd(write_on, 2)
    time.sleep(random.uniform(0, 0.02))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    for key in keys:
        fetch(key)
left = [p.name for p in root.iterdir() if p.name.startswith("building-")]
before = time.time() - 2 * 3600
for name in left:
    os.utime(root / name, (before, before))
cache._CLEANED.clear()
cache._keep(root, keys[0], DiskEntry({}, {"code": codes[keys[0]]}))
assert not [p.name for p in root.iterdir() if p.name.startswith("building-")]
print("killed in the middle:", len(left))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_processes_may_write_damage_clear_and_die_at_once(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Eight at a time; then two that are killed at random moments. `--soak N` makes N times as many
    rounds and kills."""
    soak = max(1, request.config.getoption("--soak"))
    variables = {
        "PYTHONPATH": str(Path(tg.__file__).parent.parent),
        "OMP_NUM_THREADS": "1",
        "PYTHONWARNINGS": "error",
    }
    command = [sys.executable, "-c", CROWD, str(tmp_path / "cache"), str(60 * soak), str(12 * soak)]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240 * soak
    )
    assert done.returncode == 0, done.stderr
    assert "killed in the middle" in done.stdout


def test_without_user_ids_the_profile_must_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way of Windows: no ids, no modes, no descriptors of folders."""
    monkeypatch.setattr(cache_folder, "POSIX", False)
    tmp_path.chmod(0o777)
    root = tmp_path / "a" / "b"
    assert used(root)
    (entry,) = root.iterdir()
    entry.write_bytes(b"damaged")
    assert used(root)
    with cache_folder.opened(root) as folder:
        assert folder.descriptor is None
        folder.try_writing()
        assert list(folder.sizes("")) == [entry.name]
        folder.remove(entry.name)
        assert names(root) == []

    def taken(source: str, target: str, **_: Any) -> None:
        Path(target).write_bytes(b"another process's")
        raise PermissionError(errno.EACCES, "somebody reads it")

    monkeypatch.setattr(cache_folder.os, "replace", taken)
    with cache_folder.opened(root) as folder:
        folder.write("name", b"content")
    assert names(root) == ["name"]


# --- the command line -------------------------------------------------------------------------


def test_commands_tell_of_a_folder_that_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "file"
    root.write_text("")
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(root))
    for action in ("info", "clear"):
        assert cli.main(["cache", action]) == 1
        assert str(root) in capsys.readouterr().err
    assert [name for name, _ in cli.kept()] == ["folder", "not used"]
    monkeypatch.setenv("TRACEGRAD_CACHE_DIR", str(tmp_path / "cache"))
    assert [text for _, text in cli.kept()[1:]] == ["0 functions, 0.0 kB", "yes"]
    assert names(tmp_path / "cache") == []
    failing("write", errno.ENOSPC)(monkeypatch)
    assert f"no: [Errno {errno.ENOSPC}]" in cli.kept()[-1][1]
