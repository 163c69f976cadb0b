"""What the present loop asks of a sink, be it the simulated display or a swapchain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from app.config.model import CommandBuffers
from app.core.vocabulary import Fate, PresentMode
from app.engine.frame import Frame
from app.engine.picture import Picture, PictureFormat
from app.engine.vulkan.gpu_clock import ClockState
from app.ipc.messages import SinkInfo


class RefreshGrid(NamedTuple):
    """Times of the display's refreshes: `phase_ns + n·period_ns` for whole n, CLOCK_MONOTONIC ns.

    Attributes:
        phase_ns: time of refresh 0.
        period_ns: refresh period; a float, so that 60 Hz does not drift by 40 µs an hour.
        delay_ns: constant time from the refresh that takes a frame to its display (a compositor's refreshes).
    """

    phase_ns: int
    period_ns: float
    delay_ns: int = 0

    def index_at_or_after(self, time_ns: int) -> int:
        """Return the number of the first refresh at or after a time."""
        index = math.floor((time_ns - self.phase_ns) / self.period_ns) - 1
        while self.time_ns(index) < time_ns:
            index += 1
        return index

    def time_ns(self, index: int) -> int:
        """Return the time of refresh `index` in whole ns."""
        return self.phase_ns + round(index * self.period_ns)

    def next_after(self, time_ns: int) -> int:
        """Return the time of the first refresh strictly after a time."""
        return self.time_ns(self.index_at_or_after(time_ns + 1))

    def nearest(self, time_ns: int) -> int:
        """Return the time of the refresh nearest to a time; of two equally near, the later."""
        return self.time_ns(math.floor((time_ns - self.phase_ns) / self.period_ns + 0.5))


class Settled(NamedTuple):
    """A presented frame whose fate is known.

    For `Fate.DISPLAYED` the frame carries `displayed_ns` and `display_time_source`; `refreshes` is filled where the
    sink knows refreshes (so a frame settles when the next one replaces it, or at `drain`).
    """

    frame: Frame
    fate: Fate


class Capture(Protocol):
    """A picture on its way into a file.

    Attributes:
        path: the file. frame_id: the frame it shows. width, height: in pixels.
    """

    path: Path
    frame_id: int
    width: int
    height: int

    @property
    def done(self) -> bool:
        """Whether the file is written or the attempt has failed."""
        ...

    def finish(self) -> None:
        """Wait for the end.

        Raises:
            SinkError: the file could not be written, or the device was lost.
        """
        ...


class SinkRequest(NamedTuple):
    """What the configuration asks of a sink.

    Attributes:
        present_mode, min_image_count: a change is a rebuild, save where the mode is one of `SinkInfo.live_modes`.
        command_buffers: record the GPU's commands once an image and submit them again, or anew for each frame.
    """

    present_mode: PresentMode
    min_image_count: int
    command_buffers: CommandBuffers = "reuse"


class Sink(Protocol):
    """The end of the pipeline. All methods are called by the present thread only, save `upload` (process thread).

    The window shows one to nine tiles, one a source; `frame.source_index` is the tile of a frame.
    Cycle of one picture: `acquire` → `present` of what is new in it → (later) each frame comes back from `collect`.
    """

    @property
    def info(self) -> SinkInfo:
        """What was granted."""
        ...

    def grid(self) -> RefreshGrid | None:
        """Return the refresh grid where the sink knows it."""
        ...

    def prepare(self, picture_format: PictureFormat, slots: int, tile: int = 0) -> None:
        """Make room for `slots` pictures of this format in a tile's staging ring; a new format rebuilds its conversion.

        Called before the first upload, on a change of format (nothing of the old one is in flight then) and when
        `frame_queue_depth` grows.
        """
        ...

    def prepare_interpolation(self, tile: int = 0) -> None:
        """Make ready to make pictures up in a prepared tile; otherwise its first made-up frame pays for it (a second).

        A new format of the tile undoes it. Where pictures cannot be made up, `take_notices` says why.
        """
        ...

    def take_notices(self) -> list[str]:
        """Return what a person should know since the last call, a sentence each. A slow thread calls it."""
        ...

    def upload(self, picture: Picture, slot: int, tile: int = 0) -> int:
        """Copy a picture into a tile's staging slot and return the bytes copied; 0 when the sink processes nothing."""
        ...

    def acquire(self, deadline_ns: int) -> int | None:
        """Return the index of a free image, waiting at most until `deadline_ns`; None on time-out or zero extent.

        A sink that found itself out of date rebuilds here and goes on; `info` is another object then.

        Raises:
            SinkError: the device or surface is lost.
        """
        ...

    def present(self, frames: Sequence[Frame], image_index: int) -> None:
        """Draw all tiles into the image, with `frames` as what is new in them, and queue it for display.

        Stamps `submit_ns`, `present_call_ns`, `present_return_ns` of each frame; GPU times come with `collect`.

        Args:
            frames: at least one, at most one a tile. A tile without a new frame keeps showing the one it has.

        Raises:
            SinkError: the device or surface is lost.
        """
        ...

    def collect(self) -> Sequence[Settled]:
        """Return the presented frames that settled since the last call; never blocks. Their slots are free then."""
        ...

    def undisplayed(self) -> int:
        """Return how many presented pictures are not known to be displayed yet, after looking at the display."""
        ...

    def rebuild(self, request: SinkRequest) -> None:
        """Apply a request between two frames; where it takes a rebuild, frames in flight settle first."""
        ...

    def resize(self, width: int, height: int) -> None:
        """Follow the window, in device pixels; zero in either direction stops presenting until the next call."""
        ...

    def follow_screen(self, nominal_hz: float | None) -> None:
        """Learn the refresh anew: the window is on another screen, whose refresh by name is `nominal_hz`."""
        ...

    def drain(self, deadline_ns: int) -> Sequence[Settled]:
        """Settle what can be settled until `deadline_ns`, at the end of a segment or run."""
        ...

    def pending(self) -> Sequence[Frame]:
        """Return frames presented but not settled, for the balance at the end."""
        ...

    def repeated(self) -> int | None:
        """Return how many refreshes showed a previous frame again so far; None where refreshes are not known."""
        ...

    def start_capture(self, path: Path) -> Capture:
        """Begin to write the picture on the screen as PNG, and return at once; a thread of its own does the work.

        Raises:
            SinkError: there is no picture, or nothing is drawn (`process=none`).
        """
        ...

    @property
    def gpu_clock(self) -> ClockState | None:
        """How the GPU's clock stands to CLOCK_MONOTONIC; None without a GPU or without calibration. From any thread."""
        ...

    def validation_messages(self) -> list[str]:
        """Return what the Vulkan validation layer said so far; empty without it. From any thread."""
        ...

    def close(self) -> None:
        """Free everything; frames still pending are forgotten."""
        ...
