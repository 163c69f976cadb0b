"""Encoders that behave as a test says: at once, with a delay in frames, not at all for a while, or failing."""

from __future__ import annotations

import threading
from collections import deque
from fractions import Fraction
from typing import NamedTuple

from app.engine.picture import Picture, PictureFormat


class StubPacket(NamedTuple):
    pts: int | None
    size: int
    is_keyframe: bool


class StubEncoder:
    """Gives a frame out when it holds `held`; blocks in `encode` while `gate` is closed."""

    def __init__(self, held: int = 1, gate: threading.Event | None = None, failure: Exception | None = None) -> None:
        self.held = held
        self.gate = gate
        self.failure = failure
        self.all_key_frames = False
        self.entered = threading.Event()
        self.bitrates: list[int] = []
        self.pictures = 0
        self.opened_with: list[tuple[str, dict[str, str], PictureFormat, Fraction]] = []
        self.formats: list[PictureFormat] = []
        self._inside: deque[int] = deque()

    def open(self, codec: str, options: dict[str, str], picture_format: PictureFormat, rate: Fraction) -> StubEncoder:
        self.opened_with.append((codec, options, picture_format, rate))
        return self

    @property
    def description(self) -> str:
        return "stub"

    def load(self, picture: Picture, pts: int) -> None:
        self.formats.append(picture.format)
        self._inside.append(pts)

    def encode(self) -> list[StubPacket]:
        self.entered.set()
        if self.gate is not None:
            self.gate.wait()
        if self.failure is not None:
            raise self.failure
        self.pictures += 1
        if len(self._inside) < self.held:
            return []
        return [StubPacket(self._inside.popleft(), 1000, self.all_key_frames or self.pictures == self.held)]

    def flush(self) -> list[StubPacket]:
        packets = [StubPacket(pts, 1000, False) for pts in self._inside]
        self._inside.clear()
        return packets

    def set_bitrate(self, bits_per_s: int) -> bool:
        self.bitrates.append(bits_per_s)
        return True
