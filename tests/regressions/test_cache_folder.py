"""Which folders compiled code is read from: none that anybody else could have put something in."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tracegrad.codegen.disk import cache
from tracegrad.codegen.disk import folder as cache_folder
from tracegrad.codegen.disk.entry import DiskEntry, pack
from tracegrad.codegen.disk.folder import UntrustedError, opened

from tests.cached import (
    KEY,
    OTHER,
    READS_ALL,
    ROOT,
    fetched,
    foreign_group,
    names,
    one_warning,
    used,
)
from tracegrad import config

grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
needs_root = pytest.mark.skipif(not ROOT, reason="only root may give files away")
STRANGER = 12345


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that is fine."""
    made = tmp_path / "place"
    made.mkdir(0o700)
    return made


def refused(root: Path, reason: str) -> bool:
    """Whether the folder is not used, with a warning, though it has a kernel."""
    before = names(root) if root.is_dir() else None
    with one_warning(root, reason):
        assert [fetched(root), fetched(root)] == ["built", "built"]
    return before == (names(root) if root.is_dir() else None)


# --- the folder itself ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o711, 0o2700], ids=oct)
def test_a_folder_to_which_only_its_user_writes_is_used(mode: int, place: Path) -> None:
    place.chmod(mode)
    assert used(place)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702, 0o1703, 0o707], ids=oct)
def test_a_folder_to_which_everybody_writes_is_not(mode: int, place: Path) -> None:
    fetched(place)
    place.chmod(mode)
    assert refused(place, "everybody may write to")


@pytest.mark.parametrize("mode", [0o770, 0o1770, 0o720], ids=oct)
def test_a_folder_to_which_a_group_writes_is_not(mode: int, place: Path) -> None:
    fetched(place)
    foreign_group(place)
    place.chmod(mode)
    assert refused(place, "may write to")


def test_a_group_of_this_user_alone_may_write(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems that give each user a group of his own let it write to what he makes."""
    me = SimpleNamespace(pw_name="me", pw_gid=place.stat().st_gid)
    groups = {"me": [], "me, listed": ["me"], "others": [], "me, others": ["me", "you"]}
    place.chmod(0o770)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: me)
    state = os.stat(place)
    monkeypatch.setattr(cache_folder, "_only_member", only := cache_folder._only_member)
    for name, members in groups.items():
        group = SimpleNamespace(gr_name=name.split(",")[0], gr_mem=members)
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        mine = name in ("me", "me, listed") or state.st_gid == 0
        assert only(state.st_gid) is mine
        if mine:
            cache_folder.check("place", state)
        else:
            with pytest.raises(UntrustedError, match="a group"):
                cache_folder.check("place", state)
    me.pw_gid += 1
    assert only(state.st_gid) is (state.st_gid == 0)


@needs_root
def test_a_folder_of_another_user_is_not_used(place: Path) -> None:
    fetched(place)
    os.chown(place, STRANGER, -1)
    assert refused(place, f"belongs to another user (id {STRANGER})")


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that all users may enter, as those of pytest are not."""
    made = Path(tempfile.mkdtemp(dir="/tmp", prefix="tracegrad-tests-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@needs_root
def test_a_folder_of_root_is_used_by_others(public: Path) -> None:
    """One that an administrator filled; whoever may not write there compiles the rest in memory."""
    fetched(public)
    (entry,) = public.iterdir()
    entry.chmod(0o644)

    def as_another() -> None:
        assert fetched(public) == "loaded"
        with one_warning(public, os.strerror(errno.EACCES)):
            assert fetched(public, OTHER) == "built"

    run_as(STRANGER, as_another)


def run_as(user: int, work: Callable[[], None]) -> None:
    """In a child process of that user."""
    with warnings.catch_warnings():
        # The child needs no other thread of this process.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


@needs_root
@pytest.mark.parametrize("where", ["sticky", "their folder", "link to their folder"])
def test_an_entry_planted_by_another_user_is_not_used(where: str, public: Path) -> None:
    """What this user would have run: the right name, key and seal, and other code."""
    shared = public / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    places = {
        "sticky": shared,
        "their folder": shared / "theirs",
        "link to their folder": shared / "link",
    }
    root = places[where]
    evil = pack(KEY, DiskEntry({}, {"code": b"evil"}))

    def plant() -> None:
        folder = shared if where == "sticky" else shared / "theirs"
        folder.mkdir(exist_ok=True)
        (folder / (KEY + cache.SUFFIX)).write_bytes(evil)
        if where.startswith("link"):
            (shared / "link").symlink_to(folder)

    run_as(STRANGER, plant)
    with one_warning(
        root, "everybody may write" if where == "sticky" else "belongs to another user"
    ):
        assert fetched(root) == "built"


# --- the folders above it ---------------------------------------------------------------------


def test_missing_folders_are_made_for_this_user_alone(place: Path) -> None:
    root = place / "a" / "b" / "c"
    assert used(root)
    for made in (root, root.parent, root.parent.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    (entry,) = root.iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_a_folder_in_one_like_tmp_is_used(place: Path) -> None:
    place.chmod(0o1777)
    assert used(place / "mine")


def test_a_folder_below_one_that_everybody_may_exchange_is_not(place: Path) -> None:
    root = place / "a" / "b"
    fetched(root)
    place.chmod(0o777)
    assert refused(root, f"everybody may write to {place}")


def test_a_folder_below_one_that_a_group_may_exchange_is_not(place: Path) -> None:
    root = place / "a" / "b"
    fetched(root)
    foreign_group(place)
    place.chmod(0o770)
    assert refused(root, f"may write to {place}")


@needs_root
def test_a_folder_below_one_of_another_user_is_not(place: Path) -> None:
    root = place / "a" / "b"
    fetched(root)
    os.chown(place, STRANGER, -1)
    assert refused(root, f"{place} belongs to another user")


@pytest.mark.skipif(not Path("/proc/self/uid_map").exists(), reason="user namespaces are Linux's")
def test_owners_without_a_number_in_a_namespace_stand_above_and_never_inside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobody = os.stat_result((0o40755, 0, 0, 1, 65534, 65534, 0, 0, 0, 0))
    for mapped, fine in (("0 0 4294967295", False), ("1000 0 1", True)):
        texts = {"/proc/self/uid_map": mapped, "/proc/sys/kernel/overflowuid": "65534"}
        monkeypatch.setattr(Path, "read_text", lambda p, texts=texts: texts[str(p)])
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        for above in (False, True):
            if fine and above:
                cache_folder.check("place", nobody, above)
            else:
                with pytest.raises(UntrustedError, match="another user"):
                    cache_folder.check("place", nobody, above)


# --- the way there ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["absolute", "relative", "above", "chain", "to nothing yet"])
def test_links_are_followed_to_good_folders(kind: str, place: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    if kind == "chain":
        for k in range(cache_folder.LINKS - 1):
            (tmp_path / f"link{k}").symlink_to(place if k == 0 else f"link{k - 1}")
        link.symlink_to(f"link{k}")
    else:
        inner = place / "inner"
        inner.mkdir(0o700)
        link.symlink_to(
            {
                "absolute": inner,
                "relative": "place/inner",
                "above": "place/inner/../x",
                "to nothing yet": "place/y/z",
            }[kind]
        )
    assert used(link)
    assert used(link / "below")


@pytest.mark.parametrize("mode", [0o777, 0o1777], ids=oct)
def test_links_to_folders_of_everybody_are_not_followed(
    mode: int, place: Path, tmp_path: Path
) -> None:
    fetched(place)
    place.chmod(mode)
    link = tmp_path / "link"
    link.symlink_to(place)
    assert refused(link, f"everybody may write to {place}")


@needs_root
def test_links_of_others_are_not_followed(place: Path, tmp_path: Path) -> None:
    """Even to a good folder: they choose which."""
    fetched(place)
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    link = shared / "link"
    link.symlink_to(place)
    os.lchown(link, STRANGER, STRANGER)
    assert refused(link, f"{link} belongs to another user")


def test_loops_of_links_end(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.symlink_to(two)
    two.symlink_to(one)
    for root in (one, two / "below"):
        assert refused(root, os.strerror(errno.ELOOP))
    long = tmp_path / "long0"
    long.mkdir()
    for k in range(cache_folder.LINKS + 1):
        (tmp_path / f"long{k + 1}").symlink_to(f"long{k}")
    assert refused(tmp_path / f"long{k + 1}", os.strerror(errno.ELOOP))


WAYS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a file": (lambda p: file_at(p / "x"), os.strerror(errno.ENOTDIR)),
    "below a file": (lambda p: file_at(p / "x") / "y", os.strerror(errno.ENOTDIR)),
    "a pipe": (lambda p: pipe_at(p / "x"), os.strerror(errno.ENOTDIR)),
    "a long name": (lambda p: p / ("x" * 300), os.strerror(errno.ENAMETOOLONG)),
    "a long path": (lambda p: p.joinpath(*["x" * 200] * 40), os.strerror(errno.ENAMETOOLONG)),
    "no home": (lambda p: Path("~nobody-of-this-name", "x"), "no home folder is known"),
    "not to be entered": (lambda p: locked(p, 0o600) / "x", os.strerror(errno.EACCES)),
    "not to be written to": (lambda p: locked(p, 0o500) / "x", os.strerror(errno.EACCES)),
    "not to be listed or read": (lambda p: locked(p, 0o300), os.strerror(errno.EACCES)),
}


def file_at(p: Path) -> Path:
    p.write_text("")
    return p


def pipe_at(p: Path) -> Path:
    os.mkfifo(p)
    return p


def locked(p: Path, mode: int) -> Path:
    if READS_ALL:
        pytest.skip("root may do so")
    p.chmod(mode)
    return p


@pytest.mark.parametrize("kind", WAYS)
def test_what_is_no_folder_is_told_once(
    kind: str, place: Path, request: pytest.FixtureRequest
) -> None:
    make, reason = WAYS[kind]
    request.addfinalizer(lambda: place.chmod(0o700))
    root = make(place)
    with one_warning(root, reason):
        assert [fetched(root), fetched(root)] == ["built", "built"]


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "TRACEGRAD_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)

    def unknown(_: Any) -> Any:
        raise KeyError("no such user")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.chdir(tmp_path)
    root = config.cache_dir()
    assert root is not None
    with one_warning(root, "no home folder is known"):
        assert fetched(root) == "built"
    assert names(tmp_path) == [], "no folder of the name ~"


def test_a_home_that_cannot_be_written_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TRACEGRAD_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(file_at(tmp_path / "home")))
    root = config.cache_dir()
    assert root is not None
    assert refused(root, os.strerror(errno.ENOTDIR))


def test_relative_folders(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert used(Path("a/../b/./c"))
    assert names(place) == ["a", "b"]
    gone = place / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert [fetched(Path("b")), fetched(Path("b"))] == ["built", "built"]


def test_home_is_meant_by_a_tilde(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(place))
    assert used(Path("~/a"))
    assert names(place) == ["a"]


def test_descriptors_are_given_back(place: Path) -> None:
    open_before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        fetched(place)
        with pytest.raises(OSError), opened(place / ("x" * 300)):
            pass
    place.chmod(0o777)
    assert refused(place, "everybody")
    assert len(os.listdir("/dev/fd")) == open_before
