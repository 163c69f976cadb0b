"""Small pictures of what runs, for the preview stream: taken from the process thread, scaled in a thread of their own.

The process thread only compares two times and, once an interval, hands over a reference. The scaling thread lives in
C (numpy and libswscale, without the interpreter lock); what it cannot keep up with is replaced, never queued.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Final, NamedTuple

import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter

from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.engine.picture import Matrix, Picture, PictureFormat, Plane
from app.ipc.shared_block import SharedBlock
from app.ipc.thumbnail_block import Plane8, ThumbnailWriter, WantedThumbnail

_COLORSPACES: Final = {
    Matrix.BT601: Colorspace.ITU601,
    Matrix.BT709: Colorspace.ITU709,
    Matrix.BT2020: Colorspace.BT2020,
    Matrix.RGB: Colorspace.ITU601,  # not looked at
}
_JPEG_FORMAT: Final = "yuvj420p"
_EARLY_PART: Final = 32
"""Of an interval: at 30 fps and 200 ms, every sixth frame is due, and its stamp is now a little before, now behind."""


class _Offer(NamedTuple):
    frame_index: int
    at_ns: int
    picture: Picture


class ThumbnailFeed:
    """Publishes a thumbnail of the running frames once an interval, as long as somebody looks on.

    `offer` belongs to the process thread; `configure`, `take_notices` and `close` may be called from any other.

    Args:
        block: as the session made it for the stream server; closed by whoever attached it, after `close`.
        wanted: size and interval to begin with.
    """

    def __init__(self, block: SharedBlock, wanted: WantedThumbnail) -> None:
        self._writer = ThumbnailWriter(block)
        self._offers: deque[_Offer] = deque(maxlen=1)
        self._offered = threading.Semaphore(0)
        self._last_ns = NO_STAMP_NS
        self._closing = False
        self._notices: deque[str] = deque()
        self._scaler = ThumbnailScaler()
        # Wall time is read once: a clock that is set during the run must not look like jitter of the stream.
        self._unix_offset_ns = time.time_ns() - time.monotonic_ns()
        self.configure(wanted)
        self._thread = threading.Thread(target=self._run, name="thumbnails", daemon=True)
        self._thread.start()

    def configure(self, wanted: WantedThumbnail) -> None:
        """Change size and interval; from the next thumbnail on."""
        self._wanted = wanted
        self._interval_ns = wanted.interval_ms * NS_PER_MS
        self._writer.want(wanted)

    def offer(self, frame_index: int, at_ns: int, picture: Picture) -> None:
        """Consider a frame for a thumbnail; costs about a microsecond and never waits.

        The picture is kept until it has been copied, about a millisecond.

        Args:
            frame_index: position of the frame in what its source delivered, from 0.
            at_ns: when it was ready, CLOCK_MONOTONIC.
            picture: as decoded.
        """
        # A frame that comes a little before its time is taken: the next one would be a whole frame late.
        if at_ns - self._last_ns < self._interval_ns - self._interval_ns // _EARLY_PART or not self._writer.viewers:
            return
        # On a grid of intervals, so that a rate of thumbnails is kept whatever the rate of frames; anew after a gap.
        due_ns = self._last_ns + self._interval_ns
        self._last_ns = due_ns if at_ns - due_ns < self._interval_ns else at_ns
        self._offers.append(_Offer(frame_index, at_ns, picture))
        self._offered.release()

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call, a sentence each."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def close(self) -> None:
        """End the thread and let go of the shared memory; after the process thread has ended."""
        self._closing = True
        self._offered.release()
        self._thread.join()
        self._writer.close()

    def _run(self) -> None:
        try:
            while True:
                self._offered.acquire()
                if self._closing:
                    return
                if self._offers:
                    self._publish(self._offers.popleft())
        except Exception as error:  # noqa: BLE001 - thread boundary: the run goes on without thumbnails and says so
            text = f"the preview stream gets no more pictures ({type(error).__name__}: {error}); restart the run"
            self._notices.append(text)

    def _publish(self, offer: _Offer) -> None:
        wanted = self._wanted
        try:
            planes = self._scaler.scale(offer.picture, wanted.width, wanted.height)
        except FFmpegError as error:
            name = offer.picture.format.name
            self._notices.append(f"no thumbnail can be made of pixel format {name} ({error.strerror})")
            return
        self._writer.write(offer.frame_index, offer.at_ns, offer.at_ns + self._unix_offset_ns, planes)


class ThumbnailScaler:
    """Makes small upright JPEG-ready pictures (Y′CbCr 4:2:0, full range, BT.601); one thread only."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()
        self._copy: VideoFrame | None = None

    def scale(self, picture: Picture, width: int, height: int) -> tuple[Plane8, Plane8, Plane8]:
        """Return the planes of `picture` as it is seen (rotated, in square pixels), fitted into a box in px.

        Raises:
            FFmpegError: libswscale does not know the pixel format.
        """
        picture_format = picture.format
        across = picture_format.rotation_degrees in (90, 270)
        seen_width, seen_height = fitted_size(picture_format.display_size, (width, height))
        scaled = self._reformatter.reformat(
            self._copied(picture),
            width=seen_height if across else seen_width,
            height=seen_width if across else seen_height,
            format=_JPEG_FORMAT,
            src_colorspace=_COLORSPACES[picture_format.matrix],
            dst_colorspace=Colorspace.ITU601,
            src_color_range=ColorRange.JPEG if picture_format.full_range else ColorRange.MPEG,
            dst_color_range=ColorRange.JPEG,
            interpolation=Interpolation.AREA,
            threads=1,  # its own are as many as there are processors, and the present loop needs one
        )
        turns = -picture_format.rotation_degrees // 90
        luma, cb, cr = (np.rot90(_array_of(plane), turns) for plane in scaled.planes)
        return luma, cb, cr

    def _copied(self, picture: Picture) -> VideoFrame:
        """Return the picture in a frame of our own.

        libswscale writes the colours to be assumed into the frame it reads, and the encode branch may be reading the
        decoder's at the same time. The copy also gives the picture back at once.
        """
        copy = self._frame_for(picture.format)
        for plane, target in zip(picture.planes, copy.planes, strict=False):  # an alpha plane stays behind
            _copy_plane(plane, target)
        return copy

    def _frame_for(self, picture_format: PictureFormat) -> VideoFrame:
        copy = self._copy
        wanted = (picture_format.width, picture_format.height, picture_format.name)
        if copy is None or (copy.width, copy.height, copy.format.name) != wanted:
            self._copy = copy = VideoFrame(*wanted)
        return copy


def fitted_size(size: tuple[int, int], box: tuple[int, int]) -> tuple[int, int]:
    """Return the largest even width and height in px with the shape of `size` that fit into `box`; never enlarged."""
    ratio = min(1.0, box[0] / size[0], box[1] / size[1])
    width, height = (max(2, round(length * ratio / 2) * 2) for length in size)
    return width, height


def _copy_plane(plane: Plane, target: VideoPlane) -> None:
    source = np.frombuffer(memoryview(plane.data), np.uint8)
    row_bytes = min(plane.stride_bytes, target.line_size)
    # The last row of a plane may end early, so its rows are not simply a reshaped buffer.
    row_bytes = min(row_bytes, len(source) - (target.height - 1) * plane.stride_bytes)
    rows = np.lib.stride_tricks.as_strided(source, (target.height, row_bytes), (plane.stride_bytes, 1))
    np.copyto(np.frombuffer(memoryview(target), np.uint8).reshape(target.height, -1)[:, :row_bytes], rows)


def _array_of(plane: VideoPlane) -> Plane8:
    array: Plane8 = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)[:, : plane.width]
    return array
