"""`demo` and `gui`: the main job in a window where there is a display, and without one where there is none."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import display_probe
from app.cli.exit_codes import OK, USAGE
from app.cli.interruption import Interruption
from app.session.child_python import module_command, module_environment
from app.session.recording import open_recording


def without_display(folder: Path) -> dict[str, str]:
    environment = {key: value for key, value in module_environment().items() if "DISPLAY" not in key}
    return {**environment, "XDG_DATA_HOME": str(folder)}


def test_demo_without_a_display_prints_results_and_says_where_report_and_preset_are(tmp_path: Path) -> None:
    ended = subprocess.run(
        module_command("app", "demo"), env=without_display(tmp_path), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert ended.returncode == OK, ended.stderr
    assert "No display was found" in ended.stderr
    assert "Frames displayed" in ended.stdout
    places = dict(line.split(": ", 1) for line in ended.stdout.splitlines() if line.startswith(("re", "preset")))
    assert Path(places["report"]).read_text().startswith("<!DOCTYPE html>")
    assert Path(places["preset"]).name == "VeoConfig.json"
    assert open_recording(Path(places["recording"])).config.name == "balanced-60"


def test_the_window_reads_its_own_arguments_and_refuses_them_itself() -> None:
    ended = subprocess.run(
        module_command("app", "gui", "--no-such-option"), env=module_environment(), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == USAGE
    assert "veotuner gui: error: unrecognized arguments: --no-such-option" in ended.stderr


def test_the_window_explains_its_own_arguments() -> None:
    ended = subprocess.run(
        module_command("app", "gui", "--help"), env=module_environment(), capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert ended.returncode == OK
    assert all(option in ended.stdout for option in ("--source", "--run-for", "--screenshot", "--export-report"))


@pytest.fixture
def listening() -> Iterator[Path]:
    """A folder with a socket `wayland-7` that somebody listens on and a file `wayland-8` that nobody does."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:  # a socket's path is short
        server.bind(f"{folder}/wayland-7")
        server.listen()
        Path(folder, "wayland-8").touch()
        yield Path(folder)


@pytest.mark.parametrize(("name", "answers"), [("wayland-7", True), ("wayland-8", False), ("", False)])
def test_a_wayland_display_is_one_that_answers(
    listening: Path, monkeypatch: pytest.MonkeyPatch, name: str, answers: bool
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(listening))
    monkeypatch.setenv("WAYLAND_DISPLAY", name)
    assert display_probe.has_display() is answers


@pytest.mark.x11
def test_a_running_x_server_is_a_display(x_display: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", x_display)
    assert display_probe.has_display()


@pytest.mark.parametrize("display", ["", ":4711", "nonsense", "localhost:4711.0"])
def test_a_display_variable_without_a_server_is_no_display(monkeypatch: pytest.MonkeyPatch, display: str) -> None:
    monkeypatch.setenv("DISPLAY", display)
    assert not display_probe.has_display()


def test_the_first_signal_asks_and_the_second_ends() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.requested
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_that_was_ignored_before_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGHUP)
        assert not interruption.requested
    finally:
        signal.signal(signal.SIGHUP, before)
