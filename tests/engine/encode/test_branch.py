"""The encode branch: every offered frame is accounted for, the encoder's delay is measured, and nothing holds it up."""

from __future__ import annotations

import errno
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.governors import IframeGuard
from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS
from app.core.encode_records import EncodeArray, EncodeFate
from app.core.errors import InvalidInputError
from app.core.records import MISSING_COUNT
from app.engine.encode.branch import EncodeBranch, open_encode_branch
from app.engine.encode.codec_choice import CodecChoice
from app.engine.encode.packet_file import PacketFile
from app.engine.picture import Picture, PictureFormat
from app.ipc.messages import EncoderState, GovernorDecision
from tests.engine.encode.pictures import INTERVAL_60_NS, config_of, moving_picture, yuv420p
from tests.engine.encode.stub_encoders import StubEncoder
from tests.support.waiting import wait_until

Told = list[EncoderState | GovernorDecision]
STUB = CodecChoice("h264_nvenc", "")
PICTURE = moving_picture(0)


def offer(branch: EncodeBranch, number: int, picture: Picture | None = None) -> bool:
    return branch.offer(number, 0, 1, number * INTERVAL_60_NS, INTERVAL_60_NS, picture or moving_picture(number))


def has_room(branch: EncodeBranch) -> bool:
    admission = branch._admission
    return admission.in_flight < 2 or (admission._idle and not admission._waiting)


def offer_with_room(
    branch: EncodeBranch,
    count: int,
    picture_format: PictureFormat | None = None,
    *,
    first: int = 0,
    noisy: bool = False,
) -> None:
    """Offer frames no faster than they are coded, so that none is skipped."""
    for number in range(first, first + count):
        picture = moving_picture(number, picture_format, noisy=noisy)
        wait_until(lambda: has_room(branch))
        assert offer(branch, number, picture)


def of_fate(rows: EncodeArray, fate: EncodeFate) -> EncodeArray:
    chosen: EncodeArray = rows[rows["fate"] == fate]
    return chosen


def coded(keys: dict[str, Any], count: int = 60, destination: str = "", **of_frames: Any) -> tuple[EncodeArray, Told]:
    told: Told = []
    branch = open_encode_branch(config_of(**keys), destination, told.append)
    offer_with_room(branch, count, **of_frames)
    end = branch.close(60)
    assert (end.skipped, end.lost, end.hung) == (0, 0, False)
    return branch.take_records(), told


def states(told: Told) -> list[EncoderState]:
    return [message for message in told if isinstance(message, EncoderState)]


@contextmanager
def stalled_branch(
    config: VeoConfig, encoder: StubEncoder, told: Told
) -> Iterator[tuple[EncodeBranch, threading.Event]]:
    """A branch whose encoder has taken its first frame and does not come back before the event is set."""
    gate = encoder.gate = threading.Event()
    branch = EncodeBranch(config, STUB, None, told.append, encoder.open)
    try:
        assert offer(branch, 0)
        assert encoder.entered.wait(20)
        yield branch, gate
    finally:
        gate.set()
        branch.close(20)
        branch._thread.join(20)


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [{}, {"tune": "hq", "b_frames": 2}, {"tune": "hq", "lookahead": 10}], ids=str)
def test_every_packet_is_put_down_to_the_frame_it_codes(keys: dict[str, Any]) -> None:
    rows, _ = coded({"gop_frames": 20, "depth": 32, **keys})
    assert rows["frame_id"].tolist() == list(range(60))
    assert np.all(rows["fate"] == EncodeFate.ENCODED)
    assert np.all(rows["bytes_out"] > 0)
    assert rows["frame_id"][rows["key_frame"] == 1].tolist() == [0, 20, 40]
    assert np.all(rows["encode_in_ns"] <= rows["encode_start_ns"])
    assert np.all(rows["encode_start_ns"] <= rows["encode_out_ns"])
    assert np.all((rows["queue_in"] >= 0) & (rows["queue_in"] <= 32))


@pytest.mark.parametrize("tune", ["ll", "ull"])
@pytest.mark.parametrize("preset", ["p1", "p4", "p7"])
def test_a_low_latency_libx264_gives_each_frame_out_at_once(preset: str, tune: str) -> None:
    rows, told = coded({"tune": tune, "preset": preset, "bitrate_kbps": 2000})
    assert np.all(rows["delay_frames"] == 0)
    assert states(told)[-1].holds_frames == 1
    assert "gives each frame out at once" in states(told)[-1].description


@pytest.mark.parametrize(("keys", "delay"), [({"b_frames": 2}, 2), ({"lookahead": 12}, 12), ({"lookahead": 40}, 40)])
def test_what_an_encoder_holds_is_measured_and_shown(keys: dict[str, Any], delay: int) -> None:
    rows, told = coded({"tune": "hq", "depth": 4, **keys}, count=100)
    steady = rows["delay_frames"][:20]
    held = states(told)[-1].holds_frames
    assert held is not None
    assert np.max(steady) >= delay
    assert np.max(steady) == held - 1
    assert f"holds {held} frames ({held - 1} ×" in states(told)[-1].description
    assert ("more than nvenc_queue_depth 4" in states(told)[-1].description) == (held > 4)


def test_frames_without_a_packet_have_no_stamps_of_one() -> None:
    told: Told = []
    with stalled_branch(config_of(depth=2), StubEncoder(), told) as (branch, _):
        assert [offer(branch, number) for number in (1, 2)] == [True, False]
        skipped = branch.take_records()
    assert skipped["frame_id"].tolist() == [2]
    assert skipped["fate"][0] == EncodeFate.SKIPPED
    assert skipped["queue_in"][0] == 2
    assert skipped["delay_frames"][0] == MISSING_COUNT
    assert skipped["encode_start_ns"][0] == skipped["encode_out_ns"][0] == NO_STAMP_NS
    assert skipped["bytes_out"][0] == skipped["key_frame"][0] == 0


# --- a branch that cannot keep up -------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(1, 8), st.integers(0, 60))
def test_a_stalled_encoder_is_offered_frames_and_takes_no_more_than_there_is_room_for(depth: int, count: int) -> None:
    told: Told = []
    with stalled_branch(config_of(depth=depth), StubEncoder(), told) as (branch, gate):
        let_in = [offer(branch, number) for number in range(1, count + 1)]
        assert let_in == [number < depth for number in range(1, count + 1)]
        assert branch.in_flight == min(depth, count + 1)
        gate.set()
        end = branch.close(60)
    assert (end.encoded, end.skipped, end.lost) == (min(depth, count + 1), max(0, count + 1 - depth), 0)
    assert branch.take_records()["frame_id"].tolist() == list(range(count + 1))


def test_a_hung_encoder_is_left_behind_in_bounded_time_and_said_to_be() -> None:
    told: Told = []
    with stalled_branch(config_of(depth=3), StubEncoder(), told) as (branch, gate):
        for number in range(1, 5):
            offer(branch, number)
        end = branch.close(0.05)
        assert (end.encoded, end.skipped, end.lost, end.hung) == (0, 2, 3, True)
        assert "did not end within 0.05 s and was left behind" in states(told)[-1].notice
        rows = branch.take_records()
        assert of_fate(rows, EncodeFate.LOST)["frame_id"].tolist() == [0, 1, 2]
        assert not offer(branch, 5)
        gate.set()
        branch._thread.join(20)
        assert len(branch.take_records()) == 0, "what was lost came back"


def test_an_encoder_that_breaks_off_ends_the_branch_alone() -> None:
    told: Told = []
    failure = av.error.ExternalError(-542398533, "it caught fire")
    branch = EncodeBranch(config_of(), STUB, None, told.append, StubEncoder(failure=failure).open)
    offer(branch, 0)
    wait_until(lambda: bool(states(told)[-1].notice) if told else False)
    assert "h264_nvenc broke off (it caught fire); the preview goes on without it" in states(told)[-1].notice
    assert not offer(branch, 1)
    assert branch.close().lost == 1
    assert of_fate(branch.take_records(), EncodeFate.LOST)["frame_id"].tolist() == [0]


def test_a_picture_that_the_encoder_cannot_have_ends_the_branch_alone() -> None:
    told: Told = []
    branch = open_encode_branch(config_of(), "", told.append)
    offer(branch, 0, moving_picture(0, yuv420p(40_000, 2)))
    wait_until(lambda: bool(told) and "libx264 does not open: " in states(told)[-1].notice)
    assert states(told)[-1].notice.endswith("the preview goes on without it")
    assert branch.close().lost == 1


def test_a_fault_of_the_branch_itself_is_told_and_ends_it() -> None:
    told: Told = []
    branch = EncodeBranch(config_of(), STUB, None, told.append, StubEncoder(failure=ZeroDivisionError("oh")).open)
    offer(branch, 0)
    wait_until(lambda: bool(told) and "an error of its own (ZeroDivisionError: oh)" in states(told)[-1].notice)
    assert branch.close().lost == 1


def test_an_encoder_that_holds_more_than_the_queue_is_not_starved() -> None:
    told: Told = []
    branch = EncodeBranch(config_of(depth=2), STUB, None, told.append, StubEncoder(held=9).open)
    offer_with_room(branch, 40)
    assert branch.close(60) == (40, 0, 0, False)
    assert states(told)[-1].holds_frames == 9
    assert "fed beyond it" in states(told)[-1].description


def test_three_frames_held_are_called_three_frames_and_the_cure_is_named() -> None:
    told: Told = []
    branch = EncodeBranch(config_of(tune="hq"), STUB, None, told.append, StubEncoder(held=3).open)
    assert "by its settings holds 3 frames" in branch.state.description
    assert branch.state.holds_frames is None
    offer_with_room(branch, 40)
    assert branch.close(60) == (40, 0, 0, False)
    assert states(told)[-1].holds_frames == 3
    assert "by its settings" not in states(told)[-1].description
    assert "holds 3 frames (2 × the frame interval of delay; tune ll or ull" in states(told)[-1].description


def test_a_branch_that_is_closing_takes_nothing_more_in() -> None:
    with stalled_branch(config_of(depth=3), StubEncoder(), []) as (branch, gate):
        closing = threading.Thread(target=branch.close, args=(20,))
        closing.start()
        wait_until(lambda: not branch._accepts)
        assert not offer(branch, 1)
        gate.set()
        closing.join(20)
        assert branch.close() == (1, 0, 0, False)


def test_two_who_take_records_at_once_share_them() -> None:
    branch = EncodeBranch(config_of(depth=8), STUB, None, lambda _: None, StubEncoder().open)
    taken: list[list[int]] = [[], []]
    done = threading.Event()

    def take(mine: list[int]) -> None:
        while not done.is_set():
            mine.extend(branch.take_records()["frame_id"].tolist())

    threads = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    offered = 2000
    for number in range(offered):
        offer(branch, number, PICTURE)
    branch.close(20)
    done.set()
    for thread in threads:
        thread.join(20)
    rest = branch.take_records()["frame_id"].tolist()
    assert sorted([*taken[0], *taken[1], *rest]) == list(range(offered))


def test_a_picture_is_let_go_of_once_the_encoder_has_it() -> None:
    class Keep:
        """Stands for a decoder's frame."""

    keep = Keep()
    gone = weakref.ref(keep)
    picture = moving_picture(0)
    picture.keep = keep
    with stalled_branch(config_of(depth=3), StubEncoder(), []) as (branch, gate):
        assert offer(branch, 1, picture)
        del keep, picture
        assert gone() is not None
        gate.set()
        wait_until(lambda: gone() is None)


def test_closing_twice_and_a_branch_without_a_frame_are_nothing_special(tmp_path: Path) -> None:
    branch = open_encode_branch(config_of(), str(tmp_path / "clip.mp4"), lambda _: None)
    assert branch.close() == branch.close() == (0, 0, 0, False)
    assert len(branch.take_records()) == 0
    assert list(tmp_path.iterdir()) == []


# --- files ------------------------------------------------------------------------------------------------------------


def frames_in(path: Path) -> list[tuple[int, int, float]]:
    with av.open(str(path)) as container:
        return [(frame.width, frame.height, float(frame.time)) for frame in container.decode(video=0)]


@pytest.mark.parametrize("name", ["clip.mp4", "clip.ts", "clip.mkv"])
def test_what_was_coded_is_in_the_file(tmp_path: Path, name: str) -> None:
    rows, told = coded({}, destination=str(tmp_path / name))
    assert len(frames_in(tmp_path / name)) == len(rows) == 60
    assert {state.destination for state in states(told)} == {str(tmp_path / name)}


def test_another_picture_size_goes_on_in_a_part_of_its_own(tmp_path: Path) -> None:
    told: Told = []
    branch = open_encode_branch(config_of(tune="hq", lookahead=8), str(tmp_path / "clip.mp4"), told.append)
    offer_with_room(branch, 20)
    offer_with_room(branch, 20, yuv420p(161, 96), first=20)
    assert branch.close(60) == (40, 0, 0, False)
    first, second = frames_in(tmp_path / "clip.mp4"), frames_in(tmp_path / "clip.part2.mp4")
    assert {(width, height) for width, height, _ in first} == {(320, 192)}
    assert {(width, height) for width, height, _ in second} == {(160, 96)}
    assert (len(first), len(second)) == (20, 20)
    notice = states(told)[-1].notice
    assert f"goes on in {tmp_path / 'clip.part2.mp4'} as 160×96 yuv420p" in notice
    assert "libx264 codes 160×96 of 161×96" in notice


def test_a_full_disk_ends_the_branch_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_file: PacketFile, _packet: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    told: Told = []
    branch = open_encode_branch(config_of(), str(tmp_path / "clip.mp4"), told.append)
    monkeypatch.setattr(PacketFile, "write", refuse)
    offer(branch, 0)
    wait_until(lambda: "No space left on device" in states(told)[-1].notice if told else False)
    assert "clip.mp4: writing the encoded video broke off" in states(told)[-1].notice
    assert not offer(branch, 1)
    assert branch.close().encoded == 1, "its packet came out; only the writing failed"


@pytest.mark.parametrize(
    ("keys", "name", "fault"),
    [
        ({}, "clip.avi", r"\.mp4, \.ts and \.mkv"),
        ({}, "kept.mp4", "exists already"),
        ({"codec": "av1_nvenc"}, "", "av1"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_runs(
    tmp_path: Path, keys: dict[str, Any], name: str, fault: str
) -> None:
    (tmp_path / "kept.mp4").write_bytes(b"kept")
    with pytest.raises(InvalidInputError, match=fault):
        open_encode_branch(
            config_of(**keys),
            str(tmp_path / name) if name else "",
            lambda _: None,
            trial=lambda codec, _: "" if codec == "libx264" else "no device",
        )
    assert (tmp_path / "kept.mp4").read_bytes() == b"kept"


# --- bitrate ----------------------------------------------------------------------------------------------------------


def bytes_of(rows: EncodeArray, first: int, last: int) -> int:
    return int(rows["bytes_out"][(rows["frame_id"] >= first) & (rows["frame_id"] < last)].sum())


@pytest.mark.parametrize("keys", [{"rc": "cbr"}, {"rc": "vbr"}, {"rc": "vbr", "max_rate_kbps": 6000}], ids=str)
def test_a_bitrate_that_is_changed_while_it_runs_is_followed(tmp_path: Path, keys: dict[str, Any]) -> None:
    told: Told = []
    config = config_of(bitrate_kbps=4000, gop_frames=30, tune="ull", **keys)
    branch = open_encode_branch(config, str(tmp_path / "clip.mp4"), told.append)
    offer_with_room(branch, 120, noisy=True)
    assert branch.set_bitrate(800)
    offer_with_room(branch, 240, first=120, noisy=True)
    assert branch.close(60) == (360, 0, 0, False)
    rows = branch.take_records()
    assert bytes_of(rows, 240, 360) < 0.5 * bytes_of(rows, 0, 120)
    assert len(frames_in(tmp_path / "clip.mp4")) == 360
    assert list(tmp_path.iterdir()) == [tmp_path / "clip.mp4"]
    keys_at = rows["frame_id"][rows["key_frame"] == 1]
    assert np.all(keys_at % 30 == 0), "a change of the bitrate makes no key frame of its own"


def test_a_changed_bitrate_holds_for_the_next_picture_size_too() -> None:
    stub = StubEncoder()
    branch = EncodeBranch(config_of(bitrate_kbps=4000), STUB, None, lambda _: None, stub.open)
    offer_with_room(branch, 4)
    assert branch.set_bitrate(1000)
    offer_with_room(branch, 4, first=4)
    offer_with_room(branch, 4, yuv420p(160, 96), first=8)
    branch.close(20)
    assert [options["b"] for _, options, _, _ in stub.opened_with] == ["4000000", "4000000"]
    assert stub.bitrates == [1_000_000, 1_000_000]


def test_where_no_bitrate_is_aimed_at_there_is_none_to_change() -> None:
    branch = open_encode_branch(config_of(guard={"enabled": True}), "", lambda _: None)
    assert not branch.set_bitrate(1000)
    assert "iframe_guard acts on a bitrate" in branch.state.notice
    branch.close()


def test_the_iframe_guard_lowers_the_bitrate_of_a_stream_of_bursts_and_says_so() -> None:
    told: Told = []
    keys: dict[str, Any] = {"tune": "hq", "rc": "vbr", "bitrate_kbps": 2000, "gop_frames": 15}
    counts = {}
    for enabled in (False, True):
        guard = {"enabled": enabled, "high_water": 0.1, "recover_step": 0.001}
        branch = open_encode_branch(config_of(guard=guard, **keys), "", told.append)
        offer_with_room(branch, 240, noisy=True)
        branch.close(60)
        counts[enabled] = bytes_of(branch.take_records(), 120, 240)
    decisions = [message for message in told if isinstance(message, GovernorDecision)]
    assert [decision.action for decision in decisions][:1] == ["bitrate 1400 kbit/s"]
    assert counts[True] < 0.8 * counts[False]


def test_the_guard_s_rule_can_be_replaced_while_it_runs() -> None:
    told: Told = []
    stub = StubEncoder()
    branch = EncodeBranch(config_of(bitrate_kbps=100, gop_frames=1), STUB, None, told.append, stub.open)
    offer_with_room(branch, 2)
    wait_until(lambda: branch.in_flight == 0)
    assert stub.bitrates == []
    branch.set_iframe_guard(IframeGuard(enabled=True, high_water=0.1, floor_ratio=0.5))
    stub.all_key_frames = True
    offer_with_room(branch, 12, first=2)
    branch.close(20)
    assert stub.bitrates[0] == 70_000
