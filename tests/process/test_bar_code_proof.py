"""The proof that the preview shows what the records claim: a picture of the screen carries the number of its frame."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import numpy.typing as npt
import pytest

from app.core.bar_code import read_bar_code
from app.core.records import FrameArray
from app.core.vocabulary import Fate
from app.ipc.messages import CaptureFrame, FrameCaptured
from tests.support.disturbance import again_if_disturbed
from tests.support.engine_harness import EngineHarness, of_fate

WIDTH, HEIGHT = 960, 540
SOURCE = f"synthetic:{WIDTH}x{HEIGHT}@60"


def photograph(path: Path) -> tuple[int, npt.NDArray[np.uint8], int]:
    """Return a picture of the X server's screen with the times before and after it was taken."""
    before_ns = time.monotonic_ns()
    subprocess.run(["import", "-window", "root", "-depth", "8", f"PNG24:{path}"], check=True)
    after_ns = time.monotonic_ns()
    pixels = np.rint(matplotlib.image.imread(path) * 255).astype(np.uint8)[..., :3]
    return before_ns, pixels, after_ns


def on_screen_between(frames: FrameArray, start_ns: int, end_ns: int) -> set[int]:
    """Return the frames that the records say were on the screen at some time of an interval."""
    shown = np.sort(of_fate(frames, Fate.DISPLAYED), order="displayed_ns")
    replaced_ns = np.append(shown["displayed_ns"][1:], end_ns)
    there = (shown["displayed_ns"] <= end_ns) & (replaced_ns >= start_ns)
    return set(shown["frame_id"][there].tolist())


@pytest.mark.x11
@pytest.mark.parametrize("mode", ["FIFO", "IMMEDIATE"])
@again_if_disturbed  # a present fence signals when the X server has been told; a starved server draws later
def test_a_screenshot_shows_a_frame_that_the_records_say_was_displayed_then(
    x_display: str, tmp_path: Path, mode: str
) -> None:
    assert x_display
    pictures = []
    with EngineHarness(SOURCE, f"x11,{WIDTH}x{HEIGHT}", {"present_mode": mode}, validation=True) as engine:
        engine.ready()
        for number in range(4):
            engine.run_frames(30)
            pictures.append(photograph(tmp_path / f"{number}.png"))
        frames = engine.run_frames(10)
        engine.finish()
    for before_ns, pixels, after_ns in pictures:
        shown = read_bar_code(pixels[:HEIGHT, :WIDTH])
        assert shown is not None
        assert shown in on_screen_between(frames, before_ns, after_ns)
    assert not [message for message in engine.messages if "validation" in str(message)]


@pytest.mark.x11
@pytest.mark.parametrize("sink", [f"x11,{WIDTH}x{HEIGHT}", f"headless:{WIDTH}x{HEIGHT}", "virtual:60"])
def test_a_captured_frame_carries_the_number_that_the_engine_says_it_has(
    x_display: str, tmp_path: Path, sink: str
) -> None:
    assert x_display
    with EngineHarness(SOURCE, sink, validation=True) as engine:
        engine.ready()
        engine.run_frames(30)
        engine.send(CaptureFrame(str(tmp_path / "frame.png")))
        captured = engine.wait_for(FrameCaptured)
        frames = engine.run_frames(30)
        engine.finish()
    pixels = np.rint(matplotlib.image.imread(captured.path) * 255).astype(np.uint8)[..., :3]
    assert read_bar_code(pixels) == captured.frame_id
    assert captured.frame_id in of_fate(frames, Fate.DISPLAYED)["frame_id"]
