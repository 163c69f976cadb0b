"""A source without a file: the moving pattern with its bar code, a simulated network and a simulated decoder."""

from __future__ import annotations

from collections import deque

import numpy as np

from app.config.source_text import SyntheticSpec
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.test_pattern import Canvas, MovingPattern
from app.engine.picture import ChromaLocation, Matrix, Picture, PictureFormat, Plane
from app.engine.sources.arrival_schedule import Arrival, ArrivalBuffer, ArrivalSchedule
from app.engine.sources.pacing import PacedSource, Pacer
from app.engine.sources.source import Delivery
from app.ipc.messages import SourceInfo


class SyntheticSource(PacedSource):
    """Implements `Source` for `synthetic:…`.

    Frames arrive by `ArrivalSchedule` whether or not anyone asks, wait in a bounded buffer, and are decoded one at a
    time by a server that is busy for a drawn time. A free-running source (`@0`) delivers a frame whenever it is asked.

    Args:
        spec: what was asked for.
        pacer: clock and waiting; a test gives one that does not sleep.
    """

    def __init__(self, spec: SyntheticSpec, pacer: Pacer | None = None) -> None:
        super().__init__(pacer)
        self._spec = spec
        self._pattern = MovingPattern(spec.width, spec.height)
        self._pool = _PicturePool(self._pattern)
        self._arrivals = None if spec.free else ArrivalBuffer(_schedule(spec))
        # The decoder draws from its own stream of numbers, so that arrivals do not depend on what is decoded.
        self._random = np.random.default_rng([spec.seed, 1])
        self._free_number = 0
        self._started = False
        self._info = _info(spec, self._pattern.has_bar_code)

    @property
    def info(self) -> SourceInfo:
        """What this source is; constant."""
        return self._info

    def next(self) -> Delivery | None:
        """Block until the next frame is decoded or lost; None after `interrupt`."""
        arrival = self._next_arrival()
        if arrival is None:
            return None
        if arrival.lost:
            return Delivery(None, self._pts_ns(arrival.number), arrival.arrive_ns, NO_STAMP_NS, NO_STAMP_NS)
        return self._decode(arrival)

    def close(self) -> None:
        """Let go of the picture buffers; pictures still in use stay valid."""
        self._pool.close()

    def take_notices(self) -> list[str]:
        """Return what the user should know; a synthetic source says everything in its description."""
        return []

    def _next_arrival(self) -> Arrival | None:
        if self._arrivals is None:
            self._postponement.take()
            arrival = Arrival(self._free_number, self._pacer.now_ns())
            self._free_number += 1
            return None if self._interrupted else arrival
        while not self._interrupted:
            if not self._started:
                self._started = True
                self._arrivals.start(self._pacer.now_ns())
            if by_ns := self._postponement.take():
                self._arrivals.put_off(by_ns)
            waiting = self._arrivals.take(self._pacer.now_ns())
            if waiting is not None:
                return waiting
            self._pacer.wait_until_ns(self._arrivals.next_arrival_ns)
        return None

    def _decode(self, arrival: Arrival) -> Delivery | None:
        start_ns = self._pacer.now_ns()
        picture = self._pool.picture(arrival.number)
        busy_ns = self._decode_time_ns()
        while busy_ns > 0 and not self._interrupted and not self._pacer.wait_until_ns(start_ns + busy_ns):
            pass  # disturbed by put_off: the frame in the decoder is finished all the same
        if self._interrupted:
            return None
        return Delivery(
            picture, self._pts_ns(arrival.number), arrival.arrive_ns, start_ns, self._pacer.now_ns(), key_frame=True
        )

    def _decode_time_ns(self) -> int:
        """Draw how long decoding takes: normal, cut at 0."""
        spec = self._spec
        if spec.decode_sd_ms == 0:
            return round(spec.decode_mean_ms * NS_PER_MS)
        return max(0, round(float(self._random.normal(spec.decode_mean_ms, spec.decode_sd_ms)) * NS_PER_MS))

    def _pts_ns(self, number: int) -> int:
        return NO_STAMP_NS if self._spec.free else round(number * NS_PER_S / self._spec.rate_hz)


class _Lease:
    """Owner of a canvas while its picture is in use; gives the canvas back when the picture is let go.

    Reference counting runs this at the very moment the pipeline drops the picture. `deque.append` is atomic, so the
    thread that drops it does not matter.
    """

    __slots__ = ("_canvas", "_free")

    def __init__(self, canvas: tuple[Canvas, tuple[Plane, ...]], free: deque[tuple[Canvas, tuple[Plane, ...]]]) -> None:
        self._canvas = canvas
        self._free = free

    def __del__(self) -> None:
        self._free.append(self._canvas)


class _PicturePool:
    """Picture buffers that are painted over again once the pipeline has let go of them.

    A canvas is a whole luma plane that still shows its last frame, so a frame costs only the parts that move. The pool
    grows to the most pictures that were ever in use at once, as a decoder's does: it depends on the queue depths that
    the user sets, and a ring of fixed length would be too short for some and wasted on most.
    """

    def __init__(self, pattern: MovingPattern) -> None:
        self._pattern = pattern
        self._free: deque[tuple[Canvas, tuple[Plane, ...]]] = deque()
        self._format = PictureFormat(
            width=pattern.width,
            height=pattern.height,
            plane_count=3,
            chroma_shift_x=1,
            chroma_shift_y=1,
            bit_depth=8,
            high_aligned=False,
            matrix=Matrix.BT709,
            full_range=False,
            chroma_location=ChromaLocation.LEFT,
            name="yuv420p",
        )

    def picture(self, number: int) -> Picture:
        """Return a picture of frame `number`, valid for as long as it is kept."""
        canvas, planes = entry = self._free.popleft() if self._free else self._new_entry()
        self._pattern.paint(canvas, number)
        return Picture(self._format, planes, keep=_Lease(entry, self._free))

    def close(self) -> None:
        """Forget the buffers that are free."""
        self._free.clear()

    def _new_entry(self) -> tuple[Canvas, tuple[Plane, ...]]:
        canvas = self._pattern.new_canvas()
        planes = (canvas.luma, *self._pattern.chroma)
        return canvas, tuple(Plane(plane.reshape(-1).data, plane.shape[1]) for plane in planes)


def _schedule(spec: SyntheticSpec) -> ArrivalSchedule:
    return ArrivalSchedule(
        spec.rate_hz,
        jitter_sd_ns=spec.arrival_jitter_ms * NS_PER_MS,
        stall_probability=spec.stall_probability,
        stall_ns=round(spec.stall_ms * NS_PER_MS),
        seed=spec.seed,
    )


def _info(spec: SyntheticSpec, has_bar_code: bool) -> SourceInfo:
    return SourceInfo(
        description=", ".join(_description(spec, has_bar_code)),
        width=spec.width,
        height=spec.height,
        rate_hz=None if spec.free else spec.rate_hz,
        free_running=spec.free,
        live=not spec.free,
        pixel_format="yuv420p",
        matrix="bt709",
        colour_range="limited",
        rotation_degrees=0,
        decoder="simulated",
        duration_s=None,
    )


def _description(spec: SyntheticSpec, has_bar_code: bool) -> list[str]:
    parts = [
        f"synthetic pattern {spec.width}×{spec.height}",
        "free-running" if spec.free else f"{spec.rate_hz:g} fps",
        "bar code" if has_bar_code else "too small for a bar code",
    ]
    if spec.decode_mean_ms > 0 or spec.decode_sd_ms > 0:
        parts.append(f"simulated decode {spec.decode_mean_ms:g} ± {spec.decode_sd_ms:g} ms")
    if spec.arrival_jitter_ms > 0:
        parts.append(f"arrival jitter {spec.arrival_jitter_ms:g} ms (sd)")
    if spec.stall_probability > 0:
        parts.append(f"stalls of {spec.stall_ms:g} ms with probability {spec.stall_probability:g} a frame")
    parts.append(f"seed {spec.seed}")
    return parts
