"""Between the thread that reads and the one that decodes, every packet is either decodable or counted as lost."""

from __future__ import annotations

import threading
from itertools import pairwise
from pathlib import Path
from typing import cast

import av
import pytest
from av.packet import Packet
from av.video.stream import VideoStream
from hypothesis import given
from hypothesis import strategies as st

from app.engine.sources.file_address import FileAddress
from app.engine.sources.live_packets import (
    MOST_BEFORE_START,
    MOST_LOSSES_KEPT,
    MOST_WITHOUT_KEY_FRAME,
    ConnectionLost,
    ConnectionMade,
    LiveEvent,
    LivePackets,
    PacketArrived,
    PacketLost,
    PacketsDamaged,
)
from app.engine.sources.media_opening import OpenedMedia, open_media
from tests.engine.sources.videos import Video, write_video


def packet(is_key: bool) -> Packet[VideoStream]:
    made = Packet(1)
    made.is_keyframe = is_key
    return cast("Packet[VideoStream]", made)


def in_use(capacity: int) -> LivePackets:
    """Return a queue that has been emptied once, so that its capacity holds."""
    packets = LivePackets(capacity)
    packets.put(packet(True), 0)
    packets.take()
    return packets


def taken(packets: LivePackets) -> list[LiveEvent]:
    """Take everything that waits; the mark at the end keeps the last take from waiting."""
    packets.announce(PacketsDamaged(-1))
    events: list[LiveEvent] = []
    while (event := packets.take()) != PacketsDamaged(-1):
        assert event is not None
        events.append(event)
    return events


def stamps(events: list[LiveEvent]) -> list[int]:
    return [event.arrive_ns for event in events if isinstance(event, PacketArrived | PacketLost)]


@given(
    capacity=st.integers(1, 8),
    # None takes one event, as a decoder does; True and False arrive as key frames and others.
    steps=st.lists(st.sampled_from([True, False, False, False, None]), max_size=80),
)
def test_every_packet_comes_out_once_in_order_and_none_without_its_key_frame(
    capacity: int, steps: list[bool | None]
) -> None:
    packets = in_use(capacity)
    events: list[LiveEvent] = []
    count, waiting = 0, 0
    for step in steps:
        if step is None and waiting:
            event = packets.take()
            assert event is not None
            events.append(event)
            waiting -= 1
        elif step is not None:
            count += 1
            waiting += 1
            packets.put(packet(step), count)
    rest = taken(packets)
    assert sum(isinstance(event, PacketArrived) for event in rest) <= capacity
    events += rest
    assert stamps(events) == list(range(1, count + 1))
    for before, event in pairwise(events):
        if isinstance(before, PacketLost) and isinstance(event, PacketArrived):
            assert event.packet.is_keyframe


@given(capacity=st.integers(1, 8), count=st.integers(0, 60))
def test_of_pictures_that_need_no_other_only_the_oldest_are_lost(capacity: int, count: int) -> None:
    packets = in_use(capacity)
    for number in range(count):
        packets.put(packet(True), number)
    kinds = [type(event) for event in taken(packets)]
    lost = max(0, count - capacity)
    assert kinds == [PacketLost] * lost + [PacketArrived] * (count - lost)


def test_a_stream_without_key_frames_goes_on_after_a_while() -> None:
    packets = in_use(4)
    for number in range(MOST_WITHOUT_KEY_FRAME + 20):
        packets.put(packet(False), number)
        if number > 10:
            taken(packets)
    packets.put(packet(False), 10**6)
    assert isinstance(taken(packets)[-1], PacketArrived)


def test_more_may_wait_before_the_first_is_asked_for() -> None:
    packets = LivePackets(4)
    for number in range(MOST_BEFORE_START):
        packets.put(packet(False), number)
    assert not any(isinstance(event, PacketLost) for event in taken(packets))


def test_a_start_skips_to_the_latest_key_frame_without_a_loss() -> None:
    packets = LivePackets(4)
    for number in range(25):
        packets.put(packet(number % 10 == 0), number)
    packets.skip_to_latest_key_frame()
    assert stamps(taken(packets)) == [20, 21, 22, 23, 24]


def test_losses_that_nobody_takes_do_not_grow_for_ever() -> None:
    packets = in_use(1)
    for number in range(MOST_LOSSES_KEPT + 50):
        packets.put(packet(True), number)
    assert packets.unrecorded == 49
    assert len(taken(packets)) == MOST_LOSSES_KEPT + 1


def test_closing_ends_a_wait() -> None:
    packets = LivePackets()
    ends: list[LiveEvent | None] = []
    taker = threading.Thread(target=lambda: ends.append(packets.take()))
    taker.start()
    packets.close()
    taker.join(timeout=8)
    assert ends == [None]


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> OpenedMedia:
    folder: Path = tmp_path_factory.mktemp("media")
    return open_media(FileAddress(str(write_video(folder / "a.mp4", Video(frames=2)))), low_delay=True)


def test_a_change_of_connection_keeps_its_place_and_is_never_lost(media: OpenedMedia) -> None:
    packets = in_use(3)
    packets.put(packet(False), 1)
    packets.announce(ConnectionLost(media))
    packets.announce(ConnectionMade(media, 5))
    for number in range(2, 12):
        packets.put(packet(False), number)
    kinds = [type(event) for event in taken(packets)]
    assert kinds == [PacketLost, ConnectionLost, ConnectionMade] + [PacketLost] * 10


def test_a_new_connection_needs_no_key_frame_of_the_old_one(media: OpenedMedia) -> None:
    packets = in_use(2)
    for number in range(5):
        packets.put(packet(False), number)
    packets.announce(ConnectionMade(media, 5))
    packets.put(packet(False), 6)
    assert isinstance(taken(packets)[-1], PacketArrived)
    assert isinstance(media.container, av.container.InputContainer)
