"""The synthetic source arrives by its schedule, decodes like one busy server, and proves each frame by its bar code."""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.config.source_text import SyntheticSpec
from app.core.bar_code import read_bar_code
from app.core.clock import NO_STAMP_NS
from app.engine.picture import Picture
from app.engine.sources.arrival_schedule import ARRIVAL_BUFFER_FRAMES
from app.engine.sources.opening import open_source
from app.engine.sources.source import Delivery, Source
from app.engine.sources.synthetic import SyntheticSource
from tests.engine.sources.virtual_pacer import VirtualPacer

MS = 1_000_000


def spec(**changes: Any) -> SyntheticSpec:
    plain = SyntheticSpec(
        width=320,
        height=240,
        rate_hz=100.0,
        decode_mean_ms=0.0,
        decode_sd_ms=0.0,
        arrival_jitter_ms=0.0,
        stall_probability=0.0,
        stall_ms=0.0,
        seed=1,
    )
    return replace(plain, **changes)


def deliveries(source: Source, count: int) -> list[Delivery]:
    taken = [source.next() for _ in range(count)]
    return [delivery for delivery in taken if delivery is not None]


def luma(picture: Picture | None) -> npt.NDArray[np.uint8]:
    assert picture is not None
    data, stride_bytes = picture.planes[0]
    return np.frombuffer(memoryview(data), np.uint8).reshape(-1, stride_bytes)


def test_frames_arrive_on_the_grid_of_their_rate_and_carry_their_number() -> None:
    pacer = VirtualPacer()
    start_ns = pacer.now_ns()
    frames = deliveries(SyntheticSource(spec(), pacer), 20)
    assert [frame.arrive_ns - start_ns for frame in frames] == [n * 10 * MS for n in range(20)]
    assert [frame.pts_ns for frame in frames] == [n * 10 * MS for n in range(20)]
    assert [read_bar_code(luma(frame.picture)) for frame in frames] == list(range(20))


def test_decoding_is_one_server_that_is_busy_for_the_drawn_time() -> None:
    source = SyntheticSource(spec(decode_mean_ms=15.0), VirtualPacer())
    frames = deliveries(source, 10)
    assert [frame.decode_end_ns - frame.decode_start_ns for frame in frames] == [15 * MS] * 10
    assert all(later.decode_start_ns == earlier.decode_end_ns for earlier, later in pairwise(frames))


def test_drawn_decode_times_have_the_mean_and_deviation_asked_for() -> None:
    frames = deliveries(SyntheticSource(spec(decode_mean_ms=5.0, decode_sd_ms=1.0), VirtualPacer()), 2000)
    times_ms = [(frame.decode_end_ns - frame.decode_start_ns) / MS for frame in frames]
    assert np.mean(times_ms) == pytest.approx(5.0, abs=0.1)
    assert np.std(times_ms) == pytest.approx(1.0, abs=0.07)


def test_the_network_delivers_whether_or_not_the_pipeline_looks() -> None:
    pacer = VirtualPacer()
    source = SyntheticSource(spec(), pacer)
    first = deliveries(source, 1)[0]
    pacer.pass_ms(200)
    late = deliveries(source, 20)
    assert [frame.arrive_ns - first.arrive_ns for frame in late] == [n * 10 * MS for n in range(1, 21)]


def test_what_does_not_fit_the_arrival_buffer_is_lost_oldest_first_and_counted() -> None:
    pacer = VirtualPacer()
    source = SyntheticSource(spec(), pacer)
    deliveries(source, 1)
    pacer.pass_ms(1000)
    frames = deliveries(source, 100)
    lost = [frame for frame in frames if frame.picture is None]
    assert frames[: len(lost)] == lost
    assert len(lost) == 100 - ARRIVAL_BUFFER_FRAMES
    assert all(frame.decode_start_ns == frame.decode_end_ns == NO_STAMP_NS for frame in lost)
    assert [frame.pts_ns // (10 * MS) for frame in frames] == list(range(1, 101))
    assert read_bar_code(luma(frames[len(lost)].picture)) == len(lost) + 1


def test_the_decoder_does_not_change_what_arrives() -> None:
    jittery = spec(arrival_jitter_ms=4.0, stall_probability=0.05, stall_ms=80.0)
    quick, slow = (
        deliveries(SyntheticSource(replace(jittery, decode_mean_ms=mean, decode_sd_ms=mean / 3), VirtualPacer()), 300)
        for mean in (0.0, 6.0)
    )
    assert [frame.arrive_ns for frame in quick] == [frame.arrive_ns for frame in slow]


def test_a_pause_puts_the_schedule_off_and_changes_nothing_else() -> None:
    pacer = VirtualPacer()
    source = SyntheticSource(spec(), pacer)
    before = deliveries(source, 3)
    pacer.pass_ms(60_000)
    source.put_off(60_000 * MS)
    frames = deliveries(source, 3)
    assert [frame.arrive_ns - before[-1].arrive_ns - 60_000 * MS for frame in frames] == [10 * MS, 20 * MS, 30 * MS]
    assert [read_bar_code(luma(frame.picture)) for frame in frames] == [3, 4, 5]
    assert source.postponed_ns == 60_000 * MS


def test_a_free_source_delivers_when_asked_and_has_no_due_times() -> None:
    pacer = VirtualPacer()
    source = SyntheticSource(spec(rate_hz=0.0), pacer)
    pacer.pass_ms(5)
    asked_ns = pacer.now_ns()
    frame = deliveries(source, 1)[0]
    assert (frame.arrive_ns, frame.pts_ns) == (asked_ns, NO_STAMP_NS)
    assert (source.info.rate_hz, source.info.free_running, source.info.live) == (None, True, False)


def test_a_picture_stays_as_it_is_for_as_long_as_it_is_kept() -> None:
    source = SyntheticSource(spec(rate_hz=0.0), VirtualPacer())
    kept = [frame.picture for frame in deliveries(source, 140)]
    assert [read_bar_code(luma(picture)) for picture in kept] == list(range(140))


def test_buffers_are_used_again_once_the_pipeline_lets_go() -> None:
    source = SyntheticSource(spec(rate_hz=0.0), VirtualPacer())
    held: list[Picture | None] = []
    addresses = set()
    for frame in (source.next() for _ in range(500)):
        assert frame is not None
        held = [*held[-3:], frame.picture]
        addresses.add(luma(frame.picture).__array_interface__["data"][0])
    assert len(addresses) <= 6


def test_pictures_outlive_the_source() -> None:
    source = SyntheticSource(spec(), VirtualPacer())
    picture = deliveries(source, 1)[0].picture
    source.close()
    assert read_bar_code(luma(picture)) == 0


@pytest.mark.parametrize("decode_ms", [0.0, 3_600_000.0])
def test_another_thread_ends_a_blocked_next_for_good(decode_ms: float) -> None:
    source = open_source(spec(rate_hz=0.001, decode_mean_ms=decode_ms))
    results: list[Delivery | None] = []

    def pull() -> None:
        while (delivery := source.next()) is not None:
            results.append(delivery)
        results.append(None)

    puller = threading.Thread(target=pull)
    puller.start()
    source.interrupt()
    puller.join(timeout=10)
    assert results[-1:] == [None]
    assert source.next() is None
    source.close()


@pytest.mark.parametrize("size", [(1, 1), (853, 479), (64, 32), (3840, 2160)])
def test_planes_have_the_size_their_format_says(size: tuple[int, int]) -> None:
    source = SyntheticSource(spec(width=size[0], height=size[1]), VirtualPacer())
    picture = deliveries(source, 1)[0].picture
    assert picture is not None
    for index, (data, stride_bytes) in enumerate(picture.planes):
        width, height = picture.format.plane_size(index)
        assert stride_bytes >= width
        assert memoryview(data).nbytes == stride_bytes * height


def test_the_description_says_what_is_simulated() -> None:
    info = SyntheticSource(
        spec(
            width=32,
            decode_mean_ms=4.0,
            decode_sd_ms=1.0,
            arrival_jitter_ms=2.0,
            stall_probability=0.01,
            stall_ms=300.0,
        )
    ).info
    assert info.decoder == "simulated"
    assert info.description == (
        "synthetic pattern 32×240, 100 fps, too small for a bar code, simulated decode 4 ± 1 ms, "
        "arrival jitter 2 ms (sd), stalls of 300 ms with probability 0.01 a frame, seed 1"
    )
