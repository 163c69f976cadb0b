"""The whole engine on a real Wayland compositor: the records say what it shows, and when it shows it."""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib.image
import numpy as np
import numpy.typing as npt
import pytest

from app.core.bar_code import read_bar_code
from app.core.records import FrameArray
from app.core.vocabulary import DisplayTimeSource, Fate
from app.ipc.messages import EngineReady, RunFailed
from tests.support.disturbance import again_if_disturbed
from tests.support.engine_harness import EngineHarness, of_fate
from tests.support.weston import HEIGHT, WIDTH, Weston

SINK = "wayland:320x180"
AS_FAST_AS_IT_IS_TAKEN = "synthetic:320x180@0"


def refreshes_between(frames: FrameArray, period_ns: float) -> npt.NDArray[np.float64]:
    """Return the refreshes from one displayed frame to the next, without the first ones."""
    intervals: npt.NDArray[np.float64] = np.diff(of_fate(frames, Fate.DISPLAYED)["displayed_ns"])[10:] / period_ns
    return intervals


def compositor_period_ns() -> float:
    """Return the measured refresh period: MAILBOX shows the newest of many frames at every refresh."""
    config = {"present_mode": "MAILBOX", "latency_mode": "LOW_LATENCY"}
    with EngineHarness("synthetic:320x180@150", SINK, config) as engine:
        engine.ready()
        frames = engine.run_until(lambda frames: len(of_fate(frames, Fate.DISPLAYED)) > 80)
        engine.finish()
    return float(np.median(np.diff(of_fate(frames, Fate.DISPLAYED)["displayed_ns"])))


@again_if_disturbed
def test_fifo_paces_and_every_display_time_is_the_compositors(wayland_display: Weston) -> None:
    period_ns = compositor_period_ns()
    with EngineHarness(AS_FAST_AS_IT_IS_TAKEN, SINK, {"present_mode": "FIFO"}, validation=True) as engine:
        ready = engine.ready()
        frames = engine.run_frames(150)
        engine.finish()
    assert ready.sink.kind == "wayland"
    assert ready.sink.paces_fifo is True
    shown = of_fate(frames, Fate.DISPLAYED)
    assert len(shown) == len(frames)
    assert set(shown["display_time_source"]) == {DisplayTimeSource.PRESENTATION_FEEDBACK}
    assert np.all(np.diff(shown["displayed_ns"]) > 0)
    assert np.median(refreshes_between(frames, period_ns)) == pytest.approx(1, abs=0.05)
    assert not [message for message in engine.messages if "validation" in str(message)]


@again_if_disturbed
@pytest.mark.parametrize("rate_hz", [120, 240])
def test_mailbox_loses_one_minus_refresh_over_rate(wayland_display: Weston, rate_hz: int) -> None:
    config = {"present_mode": "MAILBOX", "latency_mode": "LOW_LATENCY"}
    with EngineHarness(f"synthetic:320x180@{rate_hz}", SINK, config) as engine:
        engine.ready()
        frames = engine.run_frames(2 * rate_hz)
        engine.finish()
    shown = of_fate(frames, Fate.DISPLAYED)
    refresh_hz = 1e9 / np.median(np.diff(shown["displayed_ns"]))
    lost = 1 - len(shown) / len(frames)
    assert set(frames["fate"]) == {Fate.DISPLAYED, Fate.SUPERSEDED}
    assert set(shown["display_time_source"]) == {DisplayTimeSource.PRESENTATION_FEEDBACK}
    assert lost == pytest.approx(1 - refresh_hz / rate_hz, abs=0.03)


@again_if_disturbed
def test_a_present_mode_changed_while_it_runs_changes_what_is_shown(wayland_display: Weston) -> None:
    with EngineHarness(AS_FAST_AS_IT_IS_TAKEN, SINK, {"present_mode": "FIFO"}) as engine:
        engine.ready()
        engine.run_frames(60)
        serial = engine.change(present_mode="MAILBOX")
        frames = engine.run_until(lambda frames: np.sum(frames["config_serial"] == serial) > 600)
        engine.finish()
    before, after = frames[frames["config_serial"] < serial], frames[frames["config_serial"] == serial]
    assert np.all(before["fate"] == Fate.DISPLAYED)
    assert np.mean(after["fate"] == Fate.SUPERSEDED) > 0.5


@pytest.mark.parametrize("mode", ["FIFO", "MAILBOX"])
@again_if_disturbed  # a starved compositor draws later than it promised
def test_a_photograph_shows_a_frame_that_the_records_say_was_displayed_then(
    wayland_display: Weston, tmp_path: Path, mode: str
) -> None:
    pictures = []
    source, sink = f"synthetic:{WIDTH}x{HEIGHT}@60", f"wayland:{WIDTH}x{HEIGHT}"
    with EngineHarness(source, sink, {"present_mode": mode}, validation=True) as engine:
        engine.ready()
        for number in range(4):
            engine.run_frames(30)
            pictures.append(photograph(wayland_display, tmp_path / f"{number}.png"))
        frames = engine.run_frames(10)
        engine.finish()
    for before_ns, pixels, after_ns in pictures:
        shown = read_bar_code(pixels)
        assert shown is not None
        assert shown in on_screen_between(frames, before_ns, after_ns)
    assert not [message for message in engine.messages if "validation" in str(message)]


def photograph(weston: Weston, path: Path) -> tuple[int, npt.NDArray[np.uint8], int]:
    """Return a picture of the compositor's output with the times before and after it was taken."""
    before_ns = time.monotonic_ns()
    weston.photograph(path)
    after_ns = time.monotonic_ns()
    return before_ns, np.rint(matplotlib.image.imread(path) * 255).astype(np.uint8)[..., :3], after_ns


def on_screen_between(frames: FrameArray, start_ns: int, end_ns: int) -> set[int]:
    """Return the frames that the records say were on the screen at some time of an interval."""
    shown = np.sort(of_fate(frames, Fate.DISPLAYED), order="displayed_ns")
    replaced_ns = np.append(shown["displayed_ns"][1:], end_ns)
    there = (shown["displayed_ns"] <= end_ns) & (replaced_ns >= start_ns)
    return set(shown["frame_id"][there].tolist())


@pytest.mark.parametrize("mode", ["FIFO", "MAILBOX"])
def test_a_compositor_that_dies_ends_the_run_with_a_sentence_and_a_cure(own_weston: Weston, mode: str) -> None:
    with EngineHarness("synthetic:320x180@60", SINK, {"present_mode": mode}) as engine:
        engine.ready()
        engine.run_frames(30)
        own_weston.process.kill()
        failed = engine.wait_for(RunFailed)
        engine.process.wait(10)
    assert "compositor ended" in failed.text
    assert "open the preview again" in failed.text


def test_without_a_compositor_the_run_does_not_start_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-nowhere")
    with EngineHarness(AS_FAST_AS_IT_IS_TAKEN, SINK) as engine:
        failed = engine.wait_for((EngineReady, RunFailed))
        engine.process.wait(10)
    assert isinstance(failed, RunFailed)
    assert "start one, or use --sink x11" in failed.text
