"""The data behind the graphs: taken from the real ring, in bounded memory, gaps as gaps, losses by class."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import psutil
import pytest

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.records import FLAG_INTERPOLATED, FrameArray, empty_frames
from app.core.vocabulary import DisplayTimeSource, Fate
from app.gui.live_series import FRAME_CAPACITY, LiveSeries
from app.gui.upload_bins import UploadBins
from app.ipc.frame_ring import FrameRingReader, FrameRingWriter, ring_bytes
from app.ipc.shared_block import SharedBlock
from app.telemetry.provider import Reading
from widgets.graph_source import TimeEvent

ORIGIN_NS = 1_000 * NS_PER_S
INTERVAL_NS = 16_666_667
BYTES = 1_382_400
CAPACITY = 4096


def frames_at_60_hz(first: int, count: int, *, segment: int = 1, source: DisplayTimeSource) -> FrameArray:
    frames = empty_frames(count)
    number = np.arange(first, first + count)
    frames["frame_id"] = number
    frames["segment"] = segment
    frames["fate"] = Fate.DISPLAYED
    frames["display_time_source"] = source
    frames["arrive_ns"] = ORIGIN_NS + number * INTERVAL_NS
    frames["process_end_ns"] = frames["arrive_ns"] + 2_000_000
    frames["present_call_ns"] = frames["arrive_ns"] + 30_000_000
    frames["displayed_ns"] = frames["arrive_ns"] + 33_000_000
    frames["bytes_uploaded"] = BYTES
    return frames


class Ring:
    """The engine's end of a real ring, and a reader of it."""

    def __init__(self) -> None:
        self.block = SharedBlock.create(ring_bytes(CAPACITY))
        self.writer = FrameRingWriter(self.block, CAPACITY)
        self.reader = FrameRingReader(self.block)

    def write(self, frames: FrameArray) -> None:
        for row in frames:
            self.writer.write(row.tobytes())


@pytest.fixture
def ring() -> Iterator[Ring]:
    ring = Ring()
    yield ring
    ring.writer.close()
    ring.block.close()


@pytest.fixture
def live(ring: Ring) -> Iterator[LiveSeries]:
    live = LiveSeries()
    live.begin(ORIGIN_NS)
    live.follow(ring.reader, None)
    yield live
    live.end()


TRUTH = DisplayTimeSource.VIRTUAL_DISPLAY


def test_intervals_come_out_as_they_were_stamped(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 120, source=TRUTH))
    assert live.pull()
    curve = live.curve("display_interval_ms")
    assert math.isnan(curve.y[0])
    assert curve.y[1:] == pytest.approx(16.666667)
    assert curve.x[0] == pytest.approx(0.033)
    assert live.note("interval").source == "display time: virtual_display"


def test_reading_in_pieces_gives_the_same_as_reading_at_once(ring: Ring, live: LiveSeries) -> None:
    frames = frames_at_60_hz(0, 300, source=TRUTH)
    frames["displayed_ns"] += np.random.default_rng(1).integers(-2_000_000, 2_000_000, 300)
    for start in range(0, 300, 7):
        ring.write(frames[start : start + 7])
        live.pull()
    whole = LiveSeries()
    whole.begin(ORIGIN_NS)
    whole.follow(FrameRingReader(ring.block), None)
    whole.pull()
    for metric_id in ("display_interval_ms", "jitter_sd_ms"):
        np.testing.assert_allclose(live.curve(metric_id).y, whole.curve(metric_id).y, rtol=1e-6)
    whole.end()


def test_a_new_segment_begins_with_a_gap_and_its_own_jitter(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 60, source=TRUTH))
    ring.write(frames_at_60_hz(200, 60, segment=2, source=TRUTH))
    live.pull()
    interval, jitter = live.curve("display_interval_ms").y, live.curve("jitter_sd_ms").y
    assert math.isnan(interval[60])
    assert np.nanmax(interval) < 17
    assert np.nanmax(jitter) < 0.001


def test_without_a_display_time_present_intervals_are_drawn_and_named_so(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 60, source=DisplayTimeSource.PRESENT_FENCE))
    live.pull()
    assert live.interval_metric() == "present_interval_ms"
    assert live.curve("display_interval_ms").x.size == 0
    assert live.curve("present_interval_ms").y[1:] == pytest.approx(16.666667)
    assert "no display time here (only present_fence)" in live.note("interval").source


def test_no_interval_spans_a_change_of_the_display_time_source(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 30, source=DisplayTimeSource.CALL_RETURN))
    live.pull()
    ring.write(frames_at_60_hz(30, 30, source=TRUTH))
    live.pull()
    assert math.isnan(live.curve("display_interval_ms").y[30])


def test_losses_are_kept_by_class_at_the_time_of_their_last_stamp(ring: Ring, live: LiveSeries) -> None:
    frames = frames_at_60_hz(0, 10, source=TRUTH)
    frames["fate"][4] = Fate.QUEUE_OVERFLOW
    for name in ("present_call_ns", "displayed_ns"):
        frames[name][4] = empty_frames(1)[name][0]
    ring.write(frames)
    live.pull()
    marks = live.losses()
    assert marks.fate.tolist() == [Fate.QUEUE_OVERFLOW]
    assert marks.x[0] == pytest.approx((4 * INTERVAL_NS + 2_000_000) / NS_PER_S)


def test_upload_bandwidth_is_bytes_over_time(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 600, source=TRUTH))
    live.pull()
    curve = live.curve("upload_bandwidth_bytes_per_s")
    assert curve.y[1:-1] == pytest.approx(BYTES * 60, rel=0.04)


def test_half_a_second_without_any_frame_is_a_gap_in_bandwidth_not_a_zero(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 120, source=TRUTH))
    ring.write(frames_at_60_hz(300, 120, segment=2, source=TRUTH))
    live.pull()
    curve = live.curve("upload_bandwidth_bytes_per_s")
    assert np.isnan(curve.y[(curve.x > 2.5) & (curve.x < 4.5)]).all()


def test_bandwidth_of_hours_stays_in_its_memory() -> None:
    bins = UploadBins()
    for hour in range(3):
        frames = frames_at_60_hz(hour * 216_000, 60, source=TRUTH)
        bins.add(frames, ORIGIN_NS)
    curve = bins.curve()
    assert curve.x.size < 8192
    assert curve.x[-1] == pytest.approx(7200, abs=1.5)


class Feed:
    def __init__(self, *readings: Reading) -> None:
        self.readings = list(readings)

    def read(self) -> list[Reading]:
        taken, self.readings = self.readings, []
        return taken


def reading(metric_id: str, value: float, reason: str = "", provider: str = "nvml") -> Reading:
    return Reading(metric_id, value, reason, ORIGIN_NS + NS_PER_S, 10.0, provider, "GPU-1")


def test_a_missing_reading_is_missing_with_its_reason_and_never_zero() -> None:
    live = LiveSeries()
    live.begin(ORIGIN_NS)
    live.follow(None, Feed(reading("gpu_temperature_c", math.nan, "the driver does not report it")))
    live.pull()
    assert live.curve("gpu_temperature_c").x.size == 0
    assert "the driver does not report it" in live.note("temperature").missing


def test_a_simulated_gpu_is_called_simulated() -> None:
    live = LiveSeries()
    live.begin(ORIGIN_NS)
    live.follow(None, Feed(reading("gpu_temperature_c", 61.0, provider="simulated")))
    live.pull()
    assert live.note("temperature").simulated == "GPU"
    assert live.note("bandwidth").simulated == "PCIe"
    assert live.note("interval").simulated == ""
    assert live.newest_reading("gpu_temperature_c") == 61.0


def test_the_frame_under_the_cursor_is_the_nearest_with_every_value_there(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 120, source=TRUTH))
    live.pull()
    sample = live.sample_at(1.0)
    assert sample is not None
    assert sample.frame_id == 58
    assert sample.values["display_interval_ms"] == pytest.approx(16.666667)
    assert math.isnan(sample.values["gpu_temperature_c"])
    record = live.record_at(1.0)
    assert record is not None
    assert record["frame_id"][0] == 58


def test_a_new_run_forgets_the_last_one(ring: Ring, live: LiveSeries) -> None:
    ring.write(frames_at_60_hz(0, 60, source=TRUTH))
    live.pull()
    live.begin(ORIGIN_NS)
    assert live.curve("display_interval_ms").x.size == 0
    assert live.sample_at(0.5) is None
    assert live.newest_s == 0.0


def test_memory_after_thirty_minutes_is_that_after_three(ring: Ring, live: LiveSeries) -> None:
    process = psutil.Process()

    def run_minutes(first: int, minutes: int) -> None:
        for start in range(first * 3600, (first + minutes) * 3600, 1200):
            live._take(frames_at_60_hz(start, 1200, source=TRUTH))

    run_minutes(0, 3)
    after_three = process.memory_info().rss
    run_minutes(3, 27)
    assert process.memory_info().rss <= after_three * 1.1
    assert live.curve("display_interval_ms").x.size <= FRAME_CAPACITY


def test_a_picture_made_up_in_the_place_of_a_frame_is_a_picture_on_the_screen(ring: Ring, live: LiveSeries) -> None:
    frames = frames_at_60_hz(0, 60, source=TRUTH)
    frames["fate"][1::2] = Fate.DECIMATED
    frames["flags"][1::2] = FLAG_INTERPOLATED
    ring.write(frames)
    live.pull()
    assert live.curve("display_interval_ms").y[1:] == pytest.approx(16.666667)
    assert live.losses().fate.tolist() == [Fate.DECIMATED] * 30
    record = live.record_at(live.curve("display_interval_ms").x[1])
    assert record is not None
    assert Fate(int(record["fate"][0])) is Fate.DECIMATED


def test_a_decimated_frame_without_a_picture_of_its_own_leaves_its_neighbours_two_intervals_apart(
    ring: Ring, live: LiveSeries
) -> None:
    frames = frames_at_60_hz(0, 60, source=TRUTH)
    frames["fate"][1::2] = Fate.DECIMATED
    frames["displayed_ns"][1::2] = NO_STAMP_NS
    ring.write(frames)
    live.pull()
    assert live.curve("display_interval_ms").y[1:] == pytest.approx(33.333333)


def of_source(index: int, frames: FrameArray) -> FrameArray:
    frames["source_index"] = index
    return frames


def test_two_sources_in_one_ring_have_each_their_own_curves_losses_and_counts(ring: Ring) -> None:
    live = LiveSeries()
    live.begin(ORIGIN_NS, source_count=2)
    live.follow(ring.reader, None)
    slow = of_source(1, frames_at_60_hz(0, 120, source=TRUTH)[::2].copy())
    slow["fate"][10] = Fate.SUPERSEDED
    both = np.concatenate((of_source(0, frames_at_60_hz(0, 120, source=TRUTH)), slow))
    ring.write(both[np.argsort(both["displayed_ns"], kind="stable")])
    live.pull()
    assert live.curve("display_interval_ms").y[1:] == pytest.approx(16.666667)
    assert live.losses().fate.size == 0
    live.choose(1)
    intervals = live.curve("display_interval_ms").y[1:]
    assert np.median(intervals) == pytest.approx(33.333333)
    assert live.shown_source.lost[Fate.SUPERSEDED] == 1
    assert set(live.recent_records(10.0)["source_index"]) == {1}
    assert live.note("interval").source.startswith("source 2 of 2")
    assert live.note("bandwidth").source == "all sources together"
    live.end()


def test_a_line_that_concerns_one_source_is_drawn_for_that_source_alone() -> None:
    live = LiveSeries()
    live.begin(ORIGIN_NS, source_count=2)
    live.add_event(TimeEvent(1.0, "stall", "segment"), source_index=1)
    live.add_event(TimeEvent(2.0, "a 1 → 2", "config"))
    assert [event.time_s for event in live.events()] == [2.0]
    live.choose(1)
    assert [event.time_s for event in live.events()] == [1.0, 2.0]


def test_a_source_that_does_not_exist_cannot_be_chosen() -> None:
    live = LiveSeries()
    with pytest.raises(ValueError, match="no source 1 of 1"):
        live.choose(1)
