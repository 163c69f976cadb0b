from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.config.atomic_file import backup_path, write_atomically
from app.config.store import load_config

OLD = b"old" * 5000
NEW = b"new" * 7000

STEPS = ("open", "fdopen", "fsync", "fchown", "chmod", "link", "replace")
"""Every call of the operating system by which a save changes something."""


def temporaries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".veotuner-tmp")]


def test_a_new_file_is_made_with_the_permissions_an_editor_would_give(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    mask = os.umask(0o027)
    try:
        write_atomically(path, NEW)
    finally:
        os.umask(mask)
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755])
def test_permission_bits_survive(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(OLD)
    path.chmod(mode)
    write_atomically(path, NEW, keep_backup=True)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file of another owner")
def test_the_owner_survives_a_save_by_root(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(OLD)
    os.chown(path, 1234, 2345)
    write_atomically(path, NEW)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_the_backup_is_the_version_before(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for data in (b"1", b"2", b"3"):
        write_atomically(path, data, keep_backup=True)
    assert path.read_bytes() == b"3"
    assert backup_path(path).read_bytes() == b"2"


def test_without_hard_links_the_backup_is_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    path = tmp_path / "a.json"
    path.write_bytes(OLD)
    monkeypatch.setattr(os, "link", refuse)
    write_atomically(path, NEW, keep_backup=True)
    assert (path.read_bytes(), backup_path(path).read_bytes()) == (NEW, OLD)


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "a.json", tmp_path / "link.json"
    real.parent.mkdir()
    real.write_bytes(OLD)
    link.symlink_to(real)
    write_atomically(link, NEW, keep_backup=True)
    assert link.is_symlink()
    assert real.read_bytes() == NEW
    assert backup_path(link) == real.parent / "a.json.bak"
    assert backup_path(link).read_bytes() == OLD


def test_a_dangling_symbolic_link_makes_its_target(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real.json")
    write_atomically(link, NEW)
    assert link.is_symlink()
    assert (tmp_path / "real.json").read_bytes() == NEW


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="not an ordinary file"):
        write_atomically(pipe, NEW)


def test_what_a_killed_save_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    old, fresh, foreign = (tmp_path / f".{name}.veotuner-tmp" for name in ("a.json.1", "a.json.2", "b.json.1"))
    for leftover in (old, fresh, foreign):
        leftover.write_bytes(b"")
    for leftover in (old, foreign):
        os.utime(leftover, (time.time() - 7200, time.time() - 7200))
    write_atomically(path, NEW)
    assert sorted(temporaries(tmp_path)) == sorted([fresh.name, foreign.name])


@pytest.mark.parametrize("name", ["a" * 251, "é" * 125])
def test_a_name_near_the_limit_can_be_saved(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_atomically(path, OLD)
    write_atomically(path, NEW, keep_backup=True)
    assert (path.read_bytes(), backup_path(path).read_bytes()) == (NEW, OLD)


class Breaker:
    """Lets the n-th of the steps fail, counting over all of them."""

    def __init__(self, fail_at: int) -> None:
        self.fail_at = fail_at
        self.calls = 0

    def around(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def broken(*args: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.fail_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return step(*args, **named)

        return broken


def _break(monkeypatch: pytest.MonkeyPatch, fail_at: int) -> Breaker:
    breaker = Breaker(fail_at)
    for name in STEPS:
        monkeypatch.setattr(os, name, breaker.around(getattr(os, name)))
    return breaker


def _count_steps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    path = folder / "count.json"
    path.write_bytes(OLD)
    with monkeypatch.context() as patch:
        breaker = _break(patch, fail_at=0)
        write_atomically(path, NEW, keep_backup=True)
    return breaker.calls


def test_a_failure_of_any_step_leaves_one_version_whole_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = _count_steps(tmp_path, monkeypatch)
    assert steps >= 8
    for fail_at in range(1, steps + 1):
        folder = tmp_path / str(fail_at)
        folder.mkdir()
        path = folder / "a.json"
        path.write_bytes(OLD)
        with monkeypatch.context() as patch:
            breaker = _break(patch, fail_at)
            try:
                write_atomically(path, NEW, keep_backup=True)
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017 - some steps have a second way and do not fail
        assert breaker.calls >= fail_at
        assert path.read_bytes() in (OLD, NEW)
        assert backup_path(path).read_bytes() == OLD if backup_path(path).exists() else path.read_bytes() == OLD
        assert temporaries(folder) == []


CHILD = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from app.config.atomic_file import write_atomically

    path, die_at, steps = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3].split(",")
    calls = 0

    def around(step):
        def dying(*args, **named):
            global calls
            calls += 1
            if calls == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*args, **named)
        return dying

    for name in steps:
        setattr(os, name, around(getattr(os, name)))
    write_atomically(path, b"new" * 7000, keep_backup=True)
    """
)


def test_a_kill_before_any_step_leaves_the_old_or_the_new_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = _count_steps(tmp_path, monkeypatch)
    outcomes = set()
    for die_at in range(1, steps + 1):
        folder = tmp_path / str(die_at)
        folder.mkdir()
        path = folder / "a.json"
        path.write_bytes(OLD)
        command = [sys.executable, "-c", CHILD, str(path), str(die_at), ",".join(STEPS)]
        done = subprocess.run(command, check=False, capture_output=True, timeout=60)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        assert path.read_bytes() in (OLD, NEW)
        outcomes.add(path.read_bytes())
        if backup_path(path).exists():
            assert backup_path(path).read_bytes() == OLD
        write_atomically(path, b"after", keep_backup=True)
        assert path.read_bytes() == b"after"
    assert outcomes == {OLD, NEW}


LOOPING_CHILD = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from app.config.store import save_config
    from app.config.veoconfig import VeoConfig

    path = Path(sys.argv[1])
    save_config(VeoConfig(name="0"), path)
    print("ready", flush=True)
    for number in range(1, 1_000_000):
        save_config(VeoConfig(name=str(number), description="x" * (number % 50)), path)
    """
)


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_a_random_moment_leaves_a_file_and_a_backup_that_load(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "a.json"
    with subprocess.Popen([sys.executable, "-c", LOOPING_CHILD, str(path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(random.Random(seed).uniform(0.02, 0.2))
        child.kill()
    present = int(load_config(path).config.name)
    assert int(load_config(backup_path(path)).config.name) in (present, present - 1)
