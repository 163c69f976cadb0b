"""Encoder and thumbnails follow the last wish, however fast the wishes come, and nothing outlives the run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import av
import pytest

from app.config.veoconfig import VeoConfig, config_from_object
from app.engine.branches import Branches, EncodeTap, ThumbnailTap, wanted_thumbnail
from app.engine.encode.branch import EncodeBranch, open_encode_branch
from app.engine.outbox import Outbox
from app.engine.stages import Stages
from app.engine.thumbnails import ThumbnailFeed
from app.ipc.messages import EncoderState
from app.ipc.shared_block import SharedBlock
from app.ipc.thumbnail_block import thumbnail_block_bytes
from tests.engine.encode.pictures import INTERVAL_60_NS, moving_picture
from tests.support.waiting import wait_until


class _Outbox:
    def __init__(self) -> None:
        self.told: list[Any] = []

    def post(self, message: object) -> None:
        self.told.append(message)


class Bench:
    """Branches without stages before them."""

    def __init__(self, block: SharedBlock, destination: str = "") -> None:
        self.stages = SimpleNamespace(branches=())
        self.outbox = _Outbox()
        self.config = config()
        feed = ThumbnailFeed(block, wanted_thumbnail(self.config))
        self.branches = Branches(cast("Stages", self.stages), destination, feed, cast("Outbox", self.outbox))
        self.branches.open(self.config)

    def wish(self, **keys: Any) -> None:
        wanted = config(**keys)
        self.branches.change(self.config, wanted)
        self.config = wanted

    def settle(self) -> None:
        """Wait until every wish is followed."""
        wait_until(lambda: self.branches._changing is None)

    @property
    def taps(self) -> list[type]:
        return [type(tap) for tap in self.stages.branches]


def config(*, encodes: bool = False, codec: str = "libx264", serves: bool = False, bitrate: int = 900) -> VeoConfig:
    encoder = {"enabled": encodes, "codec": codec, "preset": "p1", "rc": "vbr", "bitrate_kbps": bitrate}
    return config_from_object({"encoder": encoder, "enable_preview": serves})


@pytest.fixture
def block() -> Iterator[SharedBlock]:
    with SharedBlock.create(thumbnail_block_bytes()) as made:
        yield made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[EncodeBranch]:
    """Every encoder that was opened, each as slowly as a driver may."""
    branches: list[EncodeBranch] = []
    slow = threading.Event()

    def open_slowly(*arguments: Any) -> EncodeBranch:
        slow.wait(0.1)
        branches.append(open_encode_branch(*arguments))
        return branches[-1]

    monkeypatch.setattr("app.engine.branches.open_encode_branch", open_slowly)
    return branches


def open_ones(opened: list[EncodeBranch]) -> list[EncodeBranch]:
    return [branch for branch in opened if branch._thread.is_alive()]


def test_the_preview_stream_switched_while_the_encoder_opens_stays_as_it_was_switched(
    block: SharedBlock, opened: list[EncodeBranch]
) -> None:
    bench = Bench(block)
    bench.wish(encodes=True)
    bench.wish(encodes=True, serves=True)
    bench.settle()
    assert bench.taps == [EncodeTap, ThumbnailTap]
    bench.wish(encodes=False, serves=True)
    bench.wish(encodes=False, serves=False)
    bench.settle()
    assert bench.taps == []
    bench.branches.close()
    assert not open_ones(opened)


def test_of_many_wishes_in_quick_succession_the_last_one_stands(block: SharedBlock, opened: list[EncodeBranch]) -> None:
    bench = Bench(block)
    for number in range(21):
        bench.wish(encodes=number % 3 != 1, bitrate=500 + number)
    bench.settle()
    assert [branch.state.codec for branch in open_ones(opened)] == ["libx264"]
    assert "520 kbit/s" in open_ones(opened)[0].state.description
    assert len(opened) < 10
    bench.branches.close()
    assert not open_ones(opened)


def test_a_run_that_ends_while_the_encoder_opens_leaves_none_behind(
    block: SharedBlock, opened: list[EncodeBranch]
) -> None:
    bench = Bench(block)
    for number in range(4):
        bench.wish(encodes=True, bitrate=500 + number)
    bench.branches.close()
    assert bench.taps == []
    assert not open_ones(opened)
    assert not [thread for thread in threading.enumerate() if thread.name == "encoder-change"]


def test_a_codec_that_is_refused_ends_the_encoder_and_the_next_wish_opens_it_again(block: SharedBlock) -> None:
    bench = Bench(block)
    bench.wish(encodes=True, codec="av1_nvenc")
    bench.settle()
    assert bench.taps == []
    assert any(isinstance(told, EncoderState) and "av1_nvenc" in told.notice for told in bench.outbox.told)
    bench.wish(encodes=True)
    bench.settle()
    assert bench.taps == [EncodeTap]
    bench.branches.close()


def test_each_time_the_encoder_is_switched_on_it_writes_a_file_of_its_own(block: SharedBlock, tmp_path: Path) -> None:
    bench = Bench(block, str(tmp_path / "clip.mp4"))
    for _ in range(3):
        bench.wish(encodes=True)
        bench.settle()
        (tap,) = bench.stages.branches
        for number in range(8):
            tap.branch.offer(number, 0, 1, number * INTERVAL_60_NS, INTERVAL_60_NS, moving_picture(number))
        wait_until(lambda tap=tap: tap.branch._encoded > 0)  # type: ignore[misc]
        bench.wish(encodes=False)
        bench.settle()
    bench.branches.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clip.mp4", "clip.take2.mp4", "clip.take3.mp4"]
    for path in tmp_path.iterdir():
        with av.open(str(path)) as container:
            assert len(list(container.decode(video=0))) > 0
