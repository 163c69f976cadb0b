"""What arrives in its own time is stamped when it arrives, shown as it was sent, and comes back after it was lost."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.video.stream import VideoStream

from app.config.source_text import NetworkSpec, parse_source
from app.core.bar_code import read_bar_code
from app.core.clock import NO_STAMP_NS
from app.core.errors import SourceError
from app.engine.picture import Picture
from app.engine.sources.hardware_decoding import open_container
from app.engine.sources.live_media import LiveMediaSource
from app.engine.sources.media_address import Cures
from app.engine.sources.network_address import NetworkAddress
from app.engine.sources.opening import open_network_source, open_source
from app.engine.sources.source import Delivery, Source
from tests.engine.sources.stream_servers import (
    FRAMES,
    GOP,
    RATE_HZ,
    broadcast,
    free_port,
    http_sender,
    sender,
    silent_server,
    tcp_sender,
)
from tests.engine.sources.videos import Video, write_video

MS = 1_000_000
INTERVAL_NS = 1e9 / RATE_HZ


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return broadcast(tmp_path_factory.mktemp("broadcast") / "clip.ts")


def opened(url: str) -> Source:
    return open_source(parse_source(url))


def play(source: Source, count: int) -> list[Delivery]:
    frames = []
    for _ in range(count):
        delivery = source.next()
        assert delivery is not None, "a live source has no end"
        frames.append(delivery)
    return frames


def number(picture: Picture | None) -> int | None:
    assert picture is not None
    data, stride_bytes = picture.planes[0]
    rows = np.frombuffer(memoryview(data), np.uint8).reshape(-1, stride_bytes)
    return read_bar_code(rows[: picture.format.height, : picture.format.width])


def numbers(frames: list[Delivery]) -> list[int | None]:
    return [number(frame.picture) for frame in frames]


def are_consecutive(found: list[int | None]) -> bool:
    return all(one is not None and other is not None and (other - one) % FRAMES == 1 for one, other in pairwise(found))


# --- what is sent is what is shown ------------------------------------------------------------------------------------


def test_mpeg_ts_over_http_is_shown_frame_by_frame_with_its_times(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        assert isinstance(source, LiveMediaSource)
        frames = play(source, 45)
        source.close()
    assert are_consecutive(numbers(frames))
    assert frames[0].pts_ns == 0
    # MPEG-TS counts in 1/90 000 s.
    assert np.abs(np.diff([frame.pts_ns for frame in frames]) - INTERVAL_NS).max() < 12_000
    assert (source.info.live, source.info.free_running, source.info.duration_s) == (True, False, None)
    assert source.info.rate_hz == RATE_HZ
    assert not any(frame.discontinuity for frame in frames)


def test_a_frame_arrives_when_it_was_read_and_not_when_it_is_due(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        asked_ns = time.monotonic_ns()
        frames = play(source, 45)
        ended_ns = time.monotonic_ns()
        source.close()
    arrivals = [frame.arrive_ns for frame in frames]
    assert asked_ns <= arrivals[0]
    assert arrivals[-1] <= ended_ns
    assert all(later > earlier for earlier, later in pairwise(arrivals))
    assert all(frame.arrive_ns <= frame.decode_start_ns <= frame.decode_end_ns for frame in frames)
    # The sender keeps to the clip's rate, so over one and a half seconds so do the arrivals.
    assert arrivals[-1] - arrivals[0] == pytest.approx(44 * INTERVAL_NS, rel=0.5)


def test_bare_tcp(clip: Path) -> None:
    port = free_port()
    with tcp_sender(clip, port):
        source = opened(f"tcp://127.0.0.1:{port}")
        assert are_consecutive(numbers(play(source, 15)))
        source.close()


def test_datagrams(clip: Path) -> None:
    port = free_port(socket.SOCK_DGRAM)
    with sender(clip, f"udp://127.0.0.1:{port}?pkt_size=1316", "-f", "mpegts"):
        source = opened(f"udp://127.0.0.1:{port}")
        assert are_consecutive(numbers(play(source, 15)))
        source.close()


def test_b_frames_come_out_in_order_with_the_stamps_of_their_own_packets(tmp_path: Path) -> None:
    clip = broadcast(tmp_path / "b.ts", {"bf": "2", "b-adapt": "0"})
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        frames = play(source, 30)
        source.close()
    assert are_consecutive(numbers(frames))
    arrivals = [frame.arrive_ns for frame in frames]
    assert arrivals != sorted(arrivals)
    assert all(later.pts_ns > earlier.pts_ns for earlier, later in pairwise(frames))


# --- a slow pipeline and a pause --------------------------------------------------------------------------------------


def until(source: Source, wanted: Callable[[Delivery], bool], pause_s: float = 0.0) -> list[Delivery]:
    frames = play(source, 1)
    while not wanted(frames[-1]):
        time.sleep(pause_s)
        frames += play(source, 1)
    return frames


def test_what_a_slow_decoder_leaves_waiting_is_lost_up_to_the_next_key_frame(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port):
        source = LiveMediaSource(NetworkAddress(NetworkSpec(f"http://127.0.0.1:{port}/"), live=True), capacity=5)
        # Fast enough to empty the buffer, which has its size from then on; then at a third of the sender's rate.
        play(source, 20)
        before = until(source, lambda frame: frame.picture is None, pause_s=3 / RATE_HZ)
        lost = [before.pop(), *until(source, lambda frame: frame.picture is not None)]
        source.close()
    gone, resumed = lost[:-1], lost[-1]
    assert all(frame.picture is None and frame.pts_ns == frame.decode_start_ns == NO_STAMP_NS for frame in gone)
    assert all(later.arrive_ns > earlier.arrive_ns for earlier, later in pairwise(lost))
    assert (number(resumed.picture) or 0) % GOP == 0
    assert resumed.key_frame
    # Nothing is missing: every frame between the last shown and the first shown again is reported as lost.
    last_shown = number(before[-1].picture)
    assert last_shown is not None
    assert ((number(resumed.picture) or 0) - last_shown) % FRAMES == len(gone) + 1


def test_what_comes_in_a_pause_is_left_out_and_what_comes_after_begins_a_segment(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        before = play(source, 5)
        time.sleep(0.5)
        resumed_ns = time.monotonic_ns()
        source.put_off(500 * MS)
        after = play(source, 10)
        source.close()
    assert [frame.discontinuity for frame in after] == ["the live source went on while the display stood still"] + [
        ""
    ] * 9
    assert after[0].arrive_ns >= resumed_ns
    assert source.postponed_ns == 500 * MS
    assert are_consecutive(numbers(after))
    assert not are_consecutive(numbers([before[-1], after[0]]))
    waited_ns = after[0].arrive_ns - before[-1].arrive_ns
    assert after[0].pts_ns - before[-1].pts_ns == waited_ns
    assert any("pictures came while nothing could be shown and are left out" in text for text in source.take_notices())


# --- loss and return --------------------------------------------------------------------------------------------------


def test_a_source_that_was_lost_comes_back_as_a_new_segment(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        before = play(source, 10)
    time.sleep(1.0)
    with http_sender(clip, port):
        after = until(source, lambda frame: bool(frame.discontinuity)) + play(source, 20)
        source.close()
    reasons = [frame.discontinuity for frame in after if frame.discontinuity]
    assert len(reasons) == 1
    assert reasons[0].startswith("the source was lost for ")
    lost_s = float(reasons[0].removeprefix("the source was lost for ").removesuffix(" s"))
    assert lost_s >= 1.0
    assert are_consecutive(numbers(after[-21:]))
    assert all(later.pts_ns > earlier.pts_ns for earlier, later in pairwise(before + after))
    notices = source.take_notices()
    assert any("the source was lost (the sender ended the stream); trying to reach it again" in one for one in notices)
    assert any("the source is back after" in one for one in notices)


def test_a_source_that_comes_back_in_another_size_says_both(clip: Path, tmp_path: Path) -> None:
    large = write_video(tmp_path / "large.ts", Video(width=640, height=360, frames=FRAMES, gop=GOP))
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        play(source, 3)
    with http_sender(large, port):
        after = until(source, lambda frame: bool(frame.discontinuity))
        source.close()
    assert after[-1].discontinuity.endswith(" s, resolution changed to 640×360")
    assert (source.info.width, source.info.height) == (640, 360)


def test_a_source_that_stays_away_is_tried_until_nobody_wants_it(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port):
        source = opened(f"http://127.0.0.1:{port}/")
        play(source, 3)
    ends = pulled_to_the_end(source)
    time.sleep(1.2)
    source.interrupt()
    ends.join(timeout=10)
    assert not ends.is_alive()
    notices = source.take_notices()
    assert sum("nobody listens there (connection refused); start the sender" in one for one in notices) == 1
    source.close()


def pulled_to_the_end(source: Source) -> threading.Thread:
    def pull() -> None:
        while source.next() is not None:
            pass

    thread = threading.Thread(target=pull)
    thread.start()
    return thread


def test_a_silent_sender_does_not_hold_up_an_interrupt(clip: Path) -> None:
    greeting = b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n" + clip.read_bytes()
    with silent_server(greeting) as port:
        source = open_network_source(NetworkAddress(NetworkSpec(f"http://127.0.0.1:{port}/")))
        ends = pulled_to_the_end(source)
        time.sleep(0.3)
        asked_ns = time.monotonic_ns()
        source.interrupt()
        ends.join(timeout=10)
        took_ns = time.monotonic_ns() - asked_ns
        source.close()
    assert not ends.is_alive()
    assert took_ns < 2000 * MS


def test_a_silence_longer_than_the_timeout_counts_as_lost(clip: Path) -> None:
    greeting = b"HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n" + clip.read_bytes()
    with silent_server(greeting) as port:
        address = NetworkAddress(NetworkSpec(f"http://127.0.0.1:{port}/"), live=True, read_timeout_s=0.5)
        source = LiveMediaSource(address)
        frames = until(source, lambda frame: bool(frame.discontinuity))
        source.close()
    assert frames[-1].discontinuity.startswith("the source was lost for ")
    assert any("the source was lost (no data came in time)" in one for one in source.take_notices())


# --- other live inputs of FFmpeg --------------------------------------------------------------------------------------


class TestPatternAddress:
    """Implements `MediaAddress` for FFmpeg's own test pattern in real time, which is read as a camera is."""

    __test__ = False

    name = "testsrc"
    cures = Cures("", "", "", "")

    def open(self, hwaccel: HWAccel | None = None) -> InputContainer:
        return open_container("testsrc=size=64x48:rate=50,realtime", hwaccel, format_name="lavfi")

    def shortcomings(self, stream: VideoStream) -> list[str]:
        return [f"testsrc: gives {stream.average_rate}"]


def test_a_capture_device_is_played_as_it_delivers() -> None:
    source = LiveMediaSource(TestPatternAddress())
    frames = play(source, 20)
    source.close()
    assert np.all(np.diff([frame.pts_ns for frame in frames]) == 20 * MS)
    assert "64×48, 50 fps, rgb24 rearranged to gbrp" in source.info.description
    assert source.take_notices() == ["testsrc: gives 50"]


# --- films on a server ------------------------------------------------------------------------------------------------


def test_a_live_stream_can_neither_loop_nor_run_free(clip: Path) -> None:
    port = free_port()
    with http_sender(clip, port), pytest.raises(SourceError, match="is live, which can neither run free nor loop"):
        opened(f"http://127.0.0.1:{port}/?loop")
