"""A preview stream as a source: true stamps, gaps that are told, and nothing another machine sends can harm it."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.jitter import arrival_jitter_ms
from app.config.source_text import PreviewStreamSpec
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.errors import SourceError
from app.core.records import empty_frames
from app.engine.sources import preview_message, preview_receiver, preview_stream
from app.engine.sources.preview_message import (
    JpegDecoder,
    MalformedMessageError,
    PreviewMessage,
    parse_preview_message,
)
from app.engine.sources.preview_receiver import BUFFERED_MESSAGES, BackOff, Received, without_pause
from app.engine.sources.preview_stream import PreviewStreamSource, ServerTimeline
from app.engine.sources.source import Delivery
from app.ipc.thumbnail_block import ThumbnailWriter
from app.session.stream_process import StreamProcess
from tests.engine.sources.preview_server import (
    JPEG,
    TOKEN,
    ScriptedServer,
    jpeg_of,
    message_of,
    scripted_server,
    ticking,
)
from tests.support.disturbance import again_if_disturbed


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as server:
        yield server


@contextlib.contextmanager
def opened(server: ScriptedServer) -> Iterator[PreviewStreamSource]:
    """A source whose first picture came from a ticker that has ended since."""
    with ticking(server):
        source = PreviewStreamSource(server.spec)
    try:
        yield source
    finally:
        source.interrupt()
        source.close()


def begin(source: PreviewStreamSource, server: ScriptedServer) -> Delivery:
    """Let the source ask for pictures, then send one; what came before the first call of `next` does not count."""
    threading.Timer(0.2, server.send, [message_of(0, 1000)]).start()
    return taken(source)


def taken(source: PreviewStreamSource) -> Delivery:
    watchdog = threading.Timer(20, source.interrupt)
    watchdog.start()
    delivery = source.next()
    watchdog.cancel()
    watchdog.join()
    assert delivery is not None, "no delivery came"
    return delivery


# --- pictures and times -----------------------------------------------------------------------------------------------


def test_a_picture_comes_with_its_stamps_in_order_and_the_servers_time_from_0(server: ScriptedServer) -> None:
    with opened(server) as source:
        before_ns = time.monotonic_ns()
        first = begin(source, server)
        server.send(message_of(12, 1250.5, jpeg_of(200)))
        second = taken(source)
    assert (first.pts_ns, second.pts_ns) == (0, 250_500_000)
    assert before_ns < first.arrive_ns < second.arrive_ns < second.decode_start_ns < second.decode_end_ns
    assert (first.discontinuity, second.discontinuity, second.key_frame) == ("", "", True)
    assert second.picture is not None
    luma = np.frombuffer(memoryview(second.picture.planes[0].data), np.uint8)
    assert abs(int(luma[0]) - 200) <= 1


def test_what_the_source_is_is_told_without_its_token(server: ScriptedServer) -> None:
    with opened(server) as source:
        info = source.info
    assert info.description == (
        f"preview stream of 127.0.0.1:{server.port}, JPEG 64×36, yuvj420p, BT.601 full, rate as it comes"
    )
    assert (info.width, info.height, info.rate_hz, info.live, info.free_running) == (64, 36, None, True, False)
    assert (info.matrix, info.colour_range, info.decoder) == ("bt601", "full", "software")


def test_a_change_of_resolution_begins_a_segment(server: ScriptedServer) -> None:
    with opened(server) as source:
        begin(source, server)
        server.send(message_of(1, 1100, jpeg_of(90, 128, 72)))
        assert taken(source).discontinuity == "resolution changed to 128×72"
        assert (source.info.width, source.info.height) == (128, 72)


def test_a_server_whose_clock_is_set_begins_a_segment_and_time_goes_on_rising(server: ScriptedServer) -> None:
    with opened(server) as source:
        begin(source, server)
        server.send(message_of(1, 1500))
        server.send(message_of(2, 300))
        server.send(message_of(3, 400))
        deliveries = [taken(source) for _ in range(3)]
    assert [delivery.pts_ns for delivery in deliveries] == [500 * NS_PER_MS, 501 * NS_PER_MS, 601 * NS_PER_MS]
    assert [delivery.discontinuity for delivery in deliveries] == ["", "the server's time went back by 1.2 s", ""]


@given(st.lists(st.floats(0, 1e14), min_size=1, max_size=30))
def test_presentation_times_begin_at_0_never_fall_and_never_leap_whatever_the_server_claims(times: list[float]) -> None:
    timeline = ServerTimeline()
    placed = [timeline.place(timestamp_ms)[0] for timestamp_ms in times]
    steps = np.diff(placed)
    assert placed[0] == 0
    assert all(0 <= step <= 3600 * NS_PER_S + 1 for step in steps)


def rows_of(deliveries: list[Delivery]) -> np.ndarray:
    frames = empty_frames(len(deliveries))
    frames["frame_id"] = np.arange(len(deliveries))
    frames["arrive_ns"] = [delivery.arrive_ns for delivery in deliveries]
    frames["pts_ns"] = [delivery.pts_ns for delivery in deliveries]
    return frames


def send_on_schedule(server: ScriptedServer, lateness_ms: list[float], interval_ms: float) -> None:
    """Send a picture each interval, each as much later than its server time as the list says."""
    origin = time.monotonic() + 0.2
    for index, late_ms in enumerate(lateness_ms):
        remaining = origin + (index * interval_ms + late_ms) / 1000 - time.monotonic()
        time.sleep(max(0.0, remaining))
        server.send(message_of(index, 1000 + index * interval_ms))


@again_if_disturbed
def test_arrival_jitter_is_that_of_the_server_within_a_tenth() -> None:
    count, swing_ms = 96, 20.0
    with scripted_server() as server, opened(server) as source:
        # Every other picture is 20 ms late, so that |D| of RFC 3550 is 20 ms each time.
        lateness_ms = [swing_ms * (index % 2) for index in range(count)]
        sender = threading.Thread(target=send_on_schedule, args=(server, lateness_ms, 30.0))
        sender.start()
        deliveries = [taken(source) for _ in range(count)]
        sender.join()
    expected_ms = swing_ms * (1 - (15 / 16) ** (count - 1))
    assert arrival_jitter_ms(rows_of(deliveries)) == pytest.approx(expected_ms, rel=0.1)


# --- gaps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["stop", "cut"])
def test_a_server_that_comes_back_is_found_again_and_the_gap_is_marked_once(server: ScriptedServer, end: str) -> None:
    with opened(server) as source:
        begin(source, server)
        if end == "cut":
            server.cut()
        server.stop()
        time.sleep(0.4)
        server.start()
        server.wait_for_client()
        server.send(message_of(1, 3000))
        server.send(message_of(2, 3200))
        behind, next_one = taken(source), taken(source)
        notices = source.take_notices()
    assert behind.discontinuity.startswith("the preview stream came back after ")
    assert float(behind.discontinuity.split()[-2]) >= 0.4
    assert (behind.pts_ns, next_one.discontinuity) == (2000 * NS_PER_MS, "")
    lost = {"stop": "the server shut down", "cut": "the connection was lost"}[end]
    name = f"preview+ws://127.0.0.1:{server.port}/v1/preview/7#token=***"
    assert notices[0] == f"{name}: {lost}; trying again until it comes back"
    assert len(notices) == len(set(notices)) <= 2  # and the connection that was refused meanwhile, once


@pytest.mark.parametrize(
    ("status", "told"), [(404, "does not run this request"), (503, "no room"), (401, "does not accept the token")]
)
def test_a_server_that_refuses_for_a_while_after_a_gap_is_asked_again(
    server: ScriptedServer, status: int, told: str
) -> None:
    with opened(server) as source:
        begin(source, server)
        asked = server.asked
        server.status = status
        server.cut()
        deadline = time.monotonic() + 20
        while server.asked < asked + 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        server.status = 0
        server.wait_for_client()
        server.send(message_of(1, 5000))
        assert "came back" in taken(source).discontinuity
        assert [told in notice for notice in source.take_notices()] == [False, True]


def test_the_back_off_doubles_from_a_quarter_of_a_second_to_five_and_begins_anew_after_a_steady_connection() -> None:
    back_off = BackOff()
    assert [back_off.next_s(0.1) for _ in range(7)] == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert [back_off.next_s(3600), back_off.next_s(0.1)] == [0.25, 0.5]


def test_the_source_follows_a_real_server_that_is_killed_and_started_again() -> None:
    stream = StreamProcess()
    writer = ThumbnailWriter(stream.block)
    stop = threading.Event()

    def write() -> None:
        luma = np.full((36, 64), 50, np.uint8)
        index = 0
        while not stop.wait(0.02):
            writer.write(index, 0, time.time_ns(), (luma, luma[::2, ::2], luma[::2, ::2]))
            index += 1

    engine = threading.Thread(target=write)
    try:
        stream.start()
        engine.start()
        while not stream.url:
            time.sleep(0.01)
        source = PreviewStreamSource(PreviewStreamSpec(stream.url, stream.token))
        assert taken(source).discontinuity == ""
        assert stream._server is not None
        stream._server.process.kill()
        while not (delivery := taken(source)).discontinuity:
            assert delivery.picture is not None
        assert "came back after" in delivery.discontinuity
        assert taken(source).discontinuity == ""
        source.interrupt()
        source.close()
    finally:
        stop.set()
        engine.join()
        writer.close()
        stream.close()


# --- opening ----------------------------------------------------------------------------------------------------------


def failure(spec: PreviewStreamSpec) -> str:
    with pytest.raises(SourceError) as caught:
        PreviewStreamSource(spec)
    text = str(caught.value)
    assert TOKEN not in text.replace("#token=TOKEN", "")
    return text.partition(": ")[2]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (
            401,
            "the server does not accept the token (401); write the token of that run behind the address: #token=TOKEN",
        ),
        (404, "the server does not run this request (404); check the id at the end of the address"),
        (503, "the server has no room for another client (503); close one of its clients, then try again"),
        (500, "the server answers with HTTP status 500, so this is no preview stream; check the address"),
    ],
)
def test_a_server_that_refuses_at_first_is_an_error_with_a_cure(server: ScriptedServer, status: int, text: str) -> None:
    server.status = status
    assert failure(server.spec) == text
    assert server.asked == 1


def test_a_server_that_does_not_run_is_an_error_with_a_cure(server: ScriptedServer) -> None:
    server.stop()
    assert failure(server.spec) == (
        "it cannot be reached (connection refused); check host and port, and whether the server runs"
    )


def test_a_host_that_nobody_knows_is_told_as_such() -> None:
    assert failure(PreviewStreamSpec("ws://no-such-host.invalid/v1/preview/7", TOKEN)) == (
        "the host is not known; check its name"
    )


def test_something_else_than_a_websocket_server_is_told_as_such() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(4096)
                client.sendall(b"220 mail.example.org ESMTP\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        text = failure(PreviewStreamSpec(f"ws://127.0.0.1:{listener.getsockname()[1]}/v1/preview/7", TOKEN))
        thread.join()
    assert text == "no WebSocket server answers there; check the address, or try preview+wss://"


def test_a_secure_address_of_a_server_without_tls_is_told_as_such(server: ScriptedServer) -> None:
    text = failure(PreviewStreamSpec(server.spec.url.replace("ws://", "wss://"), TOKEN))
    assert text.startswith("no secure connection comes about (")
    assert text.endswith("; check the certificate, or try preview+ws://")


def test_a_server_that_sends_nothing_is_told_after_a_while(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_stream, "FIRST_PICTURE_TIMEOUT_S", 0.3)
    assert failure(server.spec) == (
        "connected, but no picture came within 0.3 s; check that the run it shows is not paused"
    )


def test_a_server_that_sends_something_else_is_told_after_a_while(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview_stream, "FIRST_PICTURE_TIMEOUT_S", 0.5)

    def chat() -> None:
        server.wait_for_client()
        server.send("hello")

    thread = threading.Thread(target=chat)
    thread.start()
    text = failure(server.spec)
    thread.join()
    assert text == (
        "nothing that came could be read (of the last message: it is no JSON); "
        "check that the address is that of a preview stream"
    )


# --- what another machine may send ------------------------------------------------------------------------------------

GOOD = {"frame_index": 1, "timestamp_ms": 2.5, "data": base64.b64encode(JPEG).decode()}


def test_a_message_says_what_it_says() -> None:
    assert parse_preview_message(json.dumps(GOOD).encode()) == PreviewMessage(1, 2.5, JPEG)


def test_fields_that_the_protocol_may_gain_do_no_harm() -> None:
    assert parse_preview_message(json.dumps({**GOOD, "more": [1]}).encode()).frame_index == 1


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ([], "no JSON object"),
        ({}, "frame_index"),
        ({**GOOD, "frame_index": -1}, "frame_index"),
        ({**GOOD, "frame_index": True}, "frame_index"),
        ({**GOOD, "frame_index": 1.5}, "frame_index"),
        ({**GOOD, "frame_index": 2**63}, "frame_index"),
        ({**GOOD, "timestamp_ms": "now"}, "timestamp_ms"),
        ({**GOOD, "timestamp_ms": -1}, "timestamp_ms"),
        ({**GOOD, "timestamp_ms": float("nan")}, "timestamp_ms"),
        ({**GOOD, "timestamp_ms": float("inf")}, "timestamp_ms"),
        ({**GOOD, "timestamp_ms": 10**400}, "timestamp_ms"),
        ({**GOOD, "timestamp_ms": None}, "timestamp_ms"),
        ({**GOOD, "data": ""}, "no picture"),
        ({**GOOD, "data": 5}, "no picture"),
        ({**GOOD, "data": "not base64!"}, "Base64"),
        ({**GOOD, "data": "é"}, "Base64"),
    ],
)
def test_a_message_that_breaks_the_protocol_is_refused_with_the_reason(fields: object, reason: str) -> None:
    with pytest.raises(MalformedMessageError, match=reason):
        parse_preview_message(json.dumps(fields).encode())


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_at_all_do_more_than_be_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedMessageError):
        parse_preview_message(data)


def test_json_that_nests_without_end_is_refused() -> None:
    with pytest.raises(MalformedMessageError, match="no JSON"):
        parse_preview_message(b"[" * 200_000)


def claiming(width: int, height: int) -> bytes:
    """A small JPEG whose header claims another size."""
    at = JPEG.index(b"\xff\xc0") + 5
    return JPEG[:at] + height.to_bytes(2, "big") + width.to_bytes(2, "big") + JPEG[at + 4 :]


@pytest.mark.parametrize("jpeg", [b"GIF89a", b"\xff\xd8\xff\xd9", JPEG[:20], claiming(9_000, 9_000)])
def test_a_picture_that_is_none_is_refused_and_the_next_one_is_decoded(jpeg: bytes) -> None:
    decoder = JpegDecoder()
    with pytest.raises(MalformedMessageError):
        decoder.decode(jpeg)
    assert decoder.decode(JPEG).format.width == 64


def test_a_picture_larger_than_any_screen_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_message, "_MAX_PIXELS", 64 * 36 - 1)  # a real one would take long to code
    with pytest.raises(MalformedMessageError, match="cannot be decoded"):
        JpegDecoder().decode(JPEG)


@given(st.binary(max_size=300), st.integers(0, len(JPEG) - 1))
def test_no_damage_to_a_picture_does_more_than_have_it_refused(damage: bytes, at: int) -> None:
    decoder = JpegDecoder()
    with contextlib.suppress(MalformedMessageError):
        decoder.decode(JPEG[:at] + damage + JPEG[at + len(damage) :] or b"\0")
    assert decoder.decode(JPEG).format.width == 64


def test_what_cannot_be_read_is_skipped_and_told_in_one_sentence(server: ScriptedServer) -> None:
    with opened(server) as source:
        begin(source, server)
        server.send("{}")
        server.send(b"\0\1")
        server.send(message_of(1, 1100, b"no picture"))
        server.send(message_of(2, 1200))
        assert taken(source).pts_ns == 200 * NS_PER_MS
        (notice,) = source.take_notices()
        assert "3 messages could not be read and had to be skipped; of the last: its picture cannot be" in notice
        assert source.take_notices() == []


def test_a_message_beyond_all_measure_ends_the_connection_and_the_source_comes_back(server: ScriptedServer) -> None:
    with opened(server) as source:
        begin(source, server)
        server.send("x" * (9 << 20))
        deadline = time.monotonic() + 20
        notices: list[str] = []
        while not notices and time.monotonic() < deadline:
            notices = source.take_notices()
            time.sleep(0.01)
        assert "the server sent a message of more than 8 MiB" in notices[0]
        with ticking(server):
            assert "came back" in taken(source).discontinuity


# --- queues, pauses, ends ---------------------------------------------------------------------------------------------


def test_what_finds_no_room_is_lost_with_its_times_and_told_in_its_place(server: ScriptedServer) -> None:
    with opened(server) as source:
        begin(source, server)
        count = BUFFERED_MESSAGES + 5
        for index in range(1, count + 1):
            server.send(message_of(index, 1000 + index * 10))
        deadline = time.monotonic() + 20
        while len(source._receiver._waiting) < count and time.monotonic() < deadline:
            time.sleep(0.005)
        deliveries = [taken(source) for _ in range(count)]
    assert [delivery.picture is None for delivery in deliveries] == [True] * 5 + [False] * BUFFERED_MESSAGES
    assert [delivery.pts_ns for delivery in deliveries] == [index * 10 * NS_PER_MS for index in range(1, count + 1)]
    assert deliveries[0].decode_start_ns == NO_STAMP_NS


def waiting_at(*arrivals: int) -> list[Received]:
    return [Received(arrival, PreviewMessage(index, 0, b"x")) for index, arrival in enumerate(arrivals)]


def test_of_what_came_in_a_pause_the_newest_is_kept_and_the_gap_before_it() -> None:
    waiting = waiting_at(90, 110, 120, 130, 210)
    waiting[1].gap = "came back"
    kept = without_pause(waiting, by_ns=100, until_ns=200)
    assert [(received.message.frame_index, received.arrive_ns) for received in kept] == [(0, 190), (3, 200), (4, 210)]
    assert [received.gap for received in kept] == ["", "came back", ""]


@given(st.lists(st.integers(0, 1000), max_size=20).map(sorted), st.integers(0, 500), st.integers(0, 1000))
def test_a_pause_leaves_what_came_before_and_after_it_and_keeps_the_order(
    arrivals: list[int], by_ns: int, until_ns: int
) -> None:
    kept = without_pause(waiting_at(*arrivals), by_ns, until_ns)
    indexes = [received.message.frame_index for received in kept]
    outside = [index for index, arrival in enumerate(arrivals) if not until_ns - by_ns <= arrival < until_ns]
    assert set(outside) <= set(indexes)
    assert len(indexes) <= len(outside) + 1
    assert [received.arrive_ns for received in kept] == sorted(received.arrive_ns for received in kept)
    assert indexes == sorted(indexes)


def test_a_pause_is_left_out_of_the_stamps_and_counted(server: ScriptedServer) -> None:
    with opened(server) as source:
        begin(source, server)
        server.send(message_of(1, 1100))
        server.send(message_of(2, 1200))
        deadline = time.monotonic() + 20
        while len(source._receiver._waiting) < 2 and time.monotonic() < deadline:
            time.sleep(0.005)
        source.put_off(5 * NS_PER_S)  # both came in it
        resumed_ns = time.monotonic_ns()
        delivery = taken(source)
        assert delivery.pts_ns == 200 * NS_PER_MS
        assert 0 <= resumed_ns - delivery.arrive_ns < NS_PER_S
        assert source.postponed_ns == 5 * NS_PER_S


def test_an_interrupt_ends_a_waiting_next_and_the_source_is_at_its_end(server: ScriptedServer) -> None:
    with opened(server) as source:
        threading.Timer(0.2, source.interrupt).start()
        assert source.next() is None
        server.send(message_of(1, 1100))
        assert source.next() is None


def test_an_interrupt_ends_the_wait_for_a_server_that_is_gone(server: ScriptedServer) -> None:
    with opened(server) as source:
        server.stop()
        threading.Timer(0.6, source.interrupt).start()
        assert source.next() is None


def test_an_error_of_the_receivers_own_is_raised_where_it_is_waited_for(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: bytes) -> PreviewMessage:
        raise RuntimeError("of its own")

    with opened(server) as source:
        begin(source, server)
        monkeypatch.setattr(preview_receiver, "parse_preview_message", broken)
        server.send(message_of(1, 1100))
        with pytest.raises(SourceError, match="receiving broke off"):
            source.next()
