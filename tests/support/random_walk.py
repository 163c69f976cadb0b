"""Random walks through everything a session may ask of a running engine, and what must hold of the records they leave.

A walk is a function of its seed, save for what the machine's own timing adds.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.config.options import OPTIONS, Effect, Kind, Option
from app.config.veoconfig import VeoConfig, config_from_object, config_to_object
from app.core.clock import NO_STAMP_NS
from app.core.errors import InvalidInputError
from app.core.records import FLAG_INTERPOLATED, FrameArray
from app.core.vocabulary import Fate
from app.ipc.channel import ChannelClosedError
from app.ipc.messages import (
    CaptureFrame,
    EngineEvent,
    GovernorReadings,
    Message,
    Resize,
    RunFinished,
    SegmentEnded,
    SegmentStarted,
    SetOccluded,
    SetPaused,
    SetScreen,
)
from tests.support.engine_harness import EngineHarness

_CHANGING: Final = (Effect.LIVE, Effect.SWAPCHAIN, Effect.PIPELINE)
_LEFT_ALONE: Final = ("realtime.", "device.", "alerts.", "iframe_guard.", "recapture.")
WALKED: Final = tuple(row for row in OPTIONS if row.effect in _CHANGING and not row.key.startswith(_LEFT_ALONE))
"""Options that a walk changes: what the frame path obeys. Those left alone are the system's, or act beside it."""

_MODEST: Final[Mapping[str, tuple[float, float]]] = {
    "render_latency_ms": (0, 120),
    "batch_window_us": (0, 30_000),
    "frame_compensation.window": (16, 64),
    "encoder.gop_frames": (1, 60),
    "encoder.bitrate_kbps": (200, 8000),
    "encoder.max_rate_kbps": (200, 8000),
    "thermal_guard.dwell_s": (0, 1),
}
"""Narrower than the option allows, so that a walk of seconds gets somewhere."""

_TABLES: Final = ([[0.001, 30]], [[0.001, 45], [20, 20]], [[40, 60], [80, 45], [200, 30]])


def random_value(option: Option, draw: random.Random) -> Any:
    """Return a value that the option allows; the rules between options may still refuse it."""
    if option.nullable and draw.random() < 0.5:
        return None
    if option.kind is Kind.FLAG:
        return draw.random() < 0.6
    if option.kind is Kind.CHOICE:
        return draw.choice(option.choices)
    if option.kind is Kind.TABLE:
        return draw.choice(_TABLES)
    assert option.minimum is not None
    assert option.maximum is not None
    low, high = _MODEST.get(option.key, (option.minimum, option.maximum))
    if draw.random() < 0.2:
        low = high = draw.choice((low, high))
    return draw.randint(round(low), round(high)) if option.kind is Kind.INT else draw.uniform(low, high)


class Walk:
    """One random walk of an engine that is ready."""

    def __init__(self, engine: EngineHarness, seed: int, captures: Path | None) -> None:
        self._engine = engine
        self._draw = random.Random(seed)
        self._config = config_to_object(VeoConfig()) | engine.config
        self._captures = captures
        self._steps: tuple[Callable[[], None], ...] = (
            *[self._change] * 8,
            self._pause,
            self._occlude,
            self._resize,
            self._move,
            self._heat,
            self._capture,
        )
        self.log: list[str] = []

    def go(self, seconds: float) -> None:
        """Take random steps for so long; the run stands neither paused nor hidden afterwards."""
        end = time.monotonic() + seconds
        with contextlib.suppress(ChannelClosedError):  # its sources have ended meanwhile, or `finish` finds out why
            while time.monotonic() < end and not self._has_ended():
                self._draw.choice(self._steps)()
                self._engine.frames()
                self._engine.drain_messages(self._draw.choice((0.0, 0.005, 0.05, 0.3)))
            self._engine.send(SetPaused(False))
            self._engine.send(SetOccluded(False))

    def _has_ended(self) -> bool:
        return any(isinstance(message, RunFinished) for message in self._engine.messages)

    def _change(self) -> None:
        for option in self._draw.sample(WALKED, self._draw.choice((1, 1, 2, 4))):
            self._set(option, random_value(option, self._draw))
        self._engine.change(**self._config)

    def _set(self, option: Option, value: Any) -> None:
        changed = config_to_object(config_from_object(self._config))
        target = changed
        *parents, last = option.key.split(".")
        for parent in parents:
            target = target[parent]
        target[last] = value
        try:
            config_from_object(changed)
        except InvalidInputError:
            return
        self._config = changed
        self.log.append(f"{option.key}={value}")

    def _pause(self) -> None:
        self.log.append("pause")
        self._engine.send(SetPaused(self._draw.random() < 0.3))

    def _occlude(self) -> None:
        self.log.append("occlude")
        self._engine.send(SetOccluded(self._draw.random() < 0.3))

    def _resize(self) -> None:
        self.log.append("resize")
        self._engine.send(Resize(self._draw.choice((0, 320, 801)), self._draw.choice((240, 599))))

    def _move(self) -> None:
        self.log.append("move")
        self._engine.send(SetScreen("other", self._draw.choice((None, 60.0, 75.0))))

    def _heat(self) -> None:
        self.log.append("heat")
        reading = self._draw.choice((None, 50.0, 80.0, 99.0))
        ratio = self._draw.choice((None, 0.1, 0.99))
        self._engine.send(GovernorReadings(time.monotonic_ns(), reading, None, None, ratio, "PCIe"))

    def _capture(self) -> None:
        if self._captures is not None:
            self.log.append("capture")
            self._engine.send(CaptureFrame(str(self._captures / f"{len(self.log)}.png")))


# --- what must hold of every walk -------------------------------------------------------------------------------------


def walk_faults(frames: FrameArray, messages: list[Message], finished: RunFinished) -> list[str]:
    """Return what a walk's records and messages contradict; empty where all is well."""
    return [
        *_message_faults(messages),
        *_segment_faults(frames, messages),
        *_stage_faults(frames),
        *_fate_faults(frames),
        *_completeness_faults(frames, finished),
    ]


def _message_faults(messages: list[Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, EngineEvent) and message.severity == "error" and message.kind != "capture":
            yield f"{message.kind}: {message.text}"


def _segment_faults(frames: FrameArray, messages: list[Message]) -> Iterator[str]:
    started: dict[int, int] = {}
    open_segments: dict[int, int] = {}
    for message in messages:
        if isinstance(message, SegmentStarted):
            if message.segment in started or message.source_index in open_segments:
                yield f"segment {message.segment} begins while {open_segments} is open, or again"
            started[message.segment] = message.source_index
            open_segments[message.source_index] = message.segment
        elif isinstance(message, SegmentEnded) and open_segments.pop(message.source_index, None) != message.segment:
            yield f"segment {message.segment} of source {message.source_index} ends, which is not open"
    if open_segments:
        yield f"segments {open_segments} never end"
    for segment, source in np.unique(frames[["segment", "source_index"]]):
        if segment and started.get(segment) != source:
            yield f"frames of source {source} lie in segment {segment}, which is of source {started.get(segment)}"


_ORDER: Final = ("arrive_ns", "decode_start_ns", "decode_end_ns", "process_start_ns", "process_end_ns")
_ORDER_OF_PRESENT: Final = ("acquire_start_ns", "acquire_end_ns", "submit_ns", "present_call_ns", "displayed_ns")


def _stage_faults(frames: FrameArray) -> Iterator[str]:
    shown = frames[frames["displayed_ns"] != NO_STAMP_NS]
    for order in (_ORDER, ("process_end_ns", *_ORDER_OF_PRESENT), ("present_call_ns", "present_return_ns")):
        for earlier, later in pairwise(order):
            known = shown[(shown[earlier] != NO_STAMP_NS) & (shown[later] != NO_STAMP_NS)]
            wrong = known[known[earlier] > known[later]]
            if len(wrong):
                worst_ms = (wrong[earlier] - wrong[later]).max() / 1e6
                yield f"{len(wrong)} of {len(shown)} frames: {earlier} after {later}, by {worst_ms:.3f} ms at most"
        missing = [name for name in order if (shown[name] == NO_STAMP_NS).any()]
        if missing:
            yield f"displayed frames lack {missing}"
    for source in np.unique(shown["source_index"]):
        own = np.sort(shown[shown["source_index"] == source], order="frame_id")
        back = np.flatnonzero(np.diff(own["displayed_ns"]) < 0)
        if len(back):
            yield f"source {source}: frame {own['frame_id'][back[0] + 1]} is displayed before the one it follows"


def _fate_faults(frames: FrameArray) -> Iterator[str]:
    made_up = (frames["flags"] & FLAG_INTERPOLATED) != 0
    has_time = frames["displayed_ns"] != NO_STAMP_NS
    decimated = frames["fate"] == Fate.DECIMATED
    shown = frames["fate"] == Fate.DISPLAYED
    claims = {
        "made up and not decimated": made_up & ~decimated,
        "made up and never shown": made_up & ~has_time,
        "made up without an image": made_up & (frames["image_index"] < 0),
        "decimated by nobody": decimated & (frames["governor"] == 0),
        "decided by a governor and not decimated": ~decimated & (frames["governor"] != 0),
        "displayed without a time": shown & ~has_time,
        "lost with a display time": has_time & ~shown & ~made_up,
        "with the time of making up and not made up": ~made_up & (frames["interpolation_ns"] != NO_STAMP_NS) & has_time,
    }
    for claim, mask in claims.items():
        if mask.any():
            yield f"{mask.sum()} frames are {claim}"


def _completeness_faults(frames: FrameArray, finished: RunFinished) -> Iterator[str]:
    missing = 0
    for source in np.unique(frames["source_index"]):
        numbers = frames["frame_id"][frames["source_index"] == source]
        missing += int(numbers.max()) + 1 - len(numbers)
    left = sum(finished.in_flight_by_place.values())
    if missing > left:
        yield f"{missing} frame numbers have no record, and {left} were in flight"
