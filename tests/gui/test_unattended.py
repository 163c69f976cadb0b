"""The window without a person, as a process: pictures, report, result, exit codes, and no engine left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from PySide6.QtGui import QImage

from app.config.store import save_config
from app.config.veoconfig import VeoConfig
from app.core.bar_code import read_bar_code
from app.core.vocabulary import PresentMode
from tests.gui.test_starting import run_gui

pytestmark = pytest.mark.x11

SOURCE = "synthetic:640x360@60,seed=1"


def bar_code_in(path: Path) -> int | None:
    """Look for the bar code at every place where the letterboxed picture can begin."""
    image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    pixels = rows[:, : image.width() * 3].reshape(image.height(), image.width(), 3)
    # The pattern's blue bar is the purest blue in the window: it tells where the picture is.
    blue = (pixels[:, :, 2] > 150) & (pixels[:, :, 0] < 30) & (pixels[:, :, 1] < 30)
    lines, columns = np.flatnonzero(blue.sum(1) > 40), np.flatnonzero(blue.sum(0) > 40)
    bar = columns.size
    left = int(columns[0]) - 6 * bar
    height = round(8 * bar * 9 / 16)
    top = int(lines[-1]) + 1 - round(height * 0.6875)
    for guess in range(top - 30, top + 30):
        number = read_bar_code(pixels[max(guess, 0) : max(guess, 0) + height, left : left + 8 * bar])
        if number is not None:
            return number
    return None


def test_a_run_writes_picture_report_and_result_and_ends_with_0(x_display: str, tmp_path: Path) -> None:
    picture, report, result = tmp_path / "window.png", tmp_path / "run.html", tmp_path / "run.json"
    done = run_gui(
        "--source", SOURCE, "--run-for", "3", "--gpu", "none", "--screenshot", str(picture),
        "--export-report", str(report), "--json", str(result), DISPLAY=x_display,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    frames = json.loads(result.read_text())["frames"]
    assert frames["produced"] == frames["displayed"] + sum(frames["lost"].values()) + frames["in_flight"]
    assert frames["displayed"] > 100
    assert "<html" in report.read_text()
    number = bar_code_in(picture)
    assert number is not None
    assert 100 < number < frames["produced"]


@pytest.mark.parametrize("scale", ["1", "2"])
def test_the_window_without_a_source_is_pictured_at_every_scale(x_display: str, tmp_path: Path, scale: str) -> None:
    picture = tmp_path / "window.png"
    done = run_gui("--run-for", "1", "--screenshot", str(picture), DISPLAY=x_display, QT_SCALE_FACTOR=scale)
    assert (done.returncode, done.stderr) == (0, "")
    image = QImage(str(picture))
    assert image.width() >= 900
    assert len({image.pixel(x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}) > 10


@pytest.mark.parametrize(
    ("source", "words"),
    [("/no/such/video.mp4", "/no/such/video.mp4"), ("synthetic:64x@60", "synthetic"), ("", "")],
)
def test_a_source_that_cannot_run_ends_with_1_and_a_sentence(x_display: str, source: str, words: str) -> None:
    done = run_gui("--source", source, "--run-for", "2", "--gpu", "none", DISPLAY=x_display)
    assert done.returncode == 1
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bad_preset_ends_with_1_and_names_the_file_and_the_key(x_display: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.VeoConfig.json"
    bad.write_text('{"frame_queue_depth": 0}')
    done = run_gui("--source", SOURCE, "--config", str(bad), "--run-for", "2", DISPLAY=x_display)
    assert done.returncode == 1
    assert "bad.VeoConfig.json" in done.stderr
    assert "frame_queue_depth" in done.stderr


def test_the_preset_given_is_what_runs(x_display: str, tmp_path: Path) -> None:
    preset, result = tmp_path / "mine.VeoConfig.json", tmp_path / "run.json"
    save_config(VeoConfig(frame_queue_depth=7, present_mode=PresentMode.MAILBOX), preset)
    done = run_gui(
        "--source", SOURCE, "--config", str(preset), "--run-for", "1", "--gpu", "none", "--json", str(result),
        DISPLAY=x_display,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(result.read_text())
    assert found["config"]["frame_queue_depth"] == 7
    assert found["sink"]["present_mode_requested"] == "MAILBOX"


def test_a_killed_window_takes_its_engine_along(x_display: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.gui", "--source", SOURCE, "--gpu", "none", "--no-record"],
        env={**os.environ, "DISPLAY": x_display, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    engines = _wait_for_engine(psutil.Process(process.pid))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    gone, alive = psutil.wait_procs(engines, timeout=10)
    assert (len(gone), alive) == (len(engines), [])
    assert not list(Path("/dev/shm").glob("veotuner*"))


def test_a_terminated_window_ends_in_order(x_display: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "app.gui", "--source", SOURCE, "--gpu", "none", "--no-record"],
        env={**os.environ, "DISPLAY": x_display, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    _wait_for_engine(psutil.Process(process.pid))
    process.terminate()
    assert process.wait(30) == 0


def _wait_for_engine(window: psutil.Process) -> list[psutil.Process]:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        engines = [child for child in window.children() if "app.engine" in " ".join(child.cmdline())]
        if engines:
            time.sleep(1.0)
            return engines
        time.sleep(0.05)
    pytest.fail("the window started no engine within 30 s")
