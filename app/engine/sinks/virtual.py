"""The virtual display as a sink: the simulated display run in real time, with the real GPU work where there is any."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from app.config.sink_text import VirtualSpec
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S, Clock
from app.core.errors import SinkError
from app.core.vocabulary import DisplayTimeSource, PresentMode
from app.engine.frame import Frame
from app.engine.picture import Picture, PictureFormat
from app.engine.sinks.sink import Capture, RefreshGrid, Settled, SinkRequest
from app.engine.sinks.virtual_display import VirtualDisplay
from app.engine.vulkan.gpu_clock import ClockState
from app.engine.vulkan.offscreen import OffscreenRenderer
from app.ipc.messages import SinkInfo

_GPU_POLL_NS: Final = NS_PER_MS // 4
"""How often unfinished GPU work is looked at while something waits for it; finished work is stamped by the GPU."""


class _Rendering(NamedTuple):
    frames: Sequence[Frame]
    image: int
    ticket: int


class VirtualSink:
    """`virtual:HZ[,images=K][,compositor=C][,process=gpu|none]`.

    Display times are those of the simulated display and exact; everything before them is real. With a renderer, an
    image is ready when the GPU says so; without one, at the present call.
    """

    def __init__(
        self, spec: VirtualSpec, request: SinkRequest, clock: Clock, renderer: OffscreenRenderer | None = None
    ) -> None:
        self._spec = spec
        self._clock = clock
        self._renderer = renderer
        self._request = request
        self._rebuilds = 0
        period_ns = NS_PER_S / spec.refresh_hz
        now_ns = clock.now_ns()
        self._grid = RefreshGrid(now_ns, period_ns, round(spec.compositor * period_ns))
        self._display = VirtualDisplay(self._grid, self._granted_images(), request.present_mode, now_ns)
        self._rendering: deque[_Rendering] = deque()
        self._make_room()
        self._info = self._describe(rebuild_ms=None)

    @property
    def info(self) -> SinkInfo:
        """What was granted."""
        return self._info

    def grid(self) -> RefreshGrid:
        """Return the refresh grid, which never changes."""
        return self._grid

    def prepare(self, picture_format: PictureFormat, slots: int, tile: int = 0) -> None:
        """Make room for pictures on the GPU; nothing to do without one."""
        if self._renderer is not None:
            self._renderer.prepare(picture_format, slots, tile)

    def prepare_interpolation(self, tile: int = 0) -> None:
        """Make ready to make pictures up on the GPU; nothing to do without one."""
        if self._renderer is not None:
            self._renderer.prepare_interpolation(tile)

    def take_notices(self) -> list[str]:
        """Return why pictures are not made up, once."""
        return self._renderer.take_notices() if self._renderer is not None else []

    def upload(self, picture: Picture, slot: int, tile: int = 0) -> int:
        """Copy a picture into its staging slot; 0 bytes without a renderer."""
        return self._renderer.upload(picture, slot, tile) if self._renderer is not None else 0

    def acquire(self, deadline_ns: int) -> int | None:
        """Return a free image, waiting for the refresh that frees one; None at the deadline."""
        while True:
            now_ns = self._catch_up()
            image = self._display.take_image()
            if image is not None or now_ns >= deadline_ns:
                return image
            wake_ns = now_ns + _GPU_POLL_NS if self._rendering else self._display.next_refresh_ns()
            self._clock.sleep_until_ns(min(wake_ns, deadline_ns))

    def present(self, frames: Sequence[Frame], image_index: int) -> None:
        """Submit the conversion (with a renderer) and queue the image."""
        submit_ns = self._clock.now_ns()
        ticket = self._renderer.render(frames, image_index) if self._renderer is not None else None
        call_ns = self._catch_up()
        self._display.present(image_index, frames, call_ns if ticket is None else None)
        if ticket is not None:
            self._rendering.append(_Rendering(frames, image_index, ticket))
        return_ns = self._clock.now_ns()
        for frame in frames:
            frame.submit_ns, frame.present_call_ns, frame.present_return_ns = submit_ns, call_ns, return_ns

    def collect(self) -> Sequence[Settled]:
        """Return frames that settled, after replaying the display up to now."""
        self._catch_up()
        return self._display.take_settled() if self._display.has_settled() else ()

    def undisplayed(self) -> int:
        """Return how many presented pictures wait for the screen."""
        self._catch_up()
        return self._display.queue_length()

    def rebuild(self, request: SinkRequest) -> None:
        """Change present mode and image count; frames queued keep their place."""
        started_ns = self._catch_up()
        changed = request._replace(command_buffers=self._request.command_buffers) != self._request
        self._request = request
        if not changed:
            return
        self._rebuilds += 1
        self._display.reconfigure(request.present_mode, self._granted_images())
        self._make_room()
        self._info = self._describe(rebuild_ms=(self._clock.now_ns() - started_ns) / NS_PER_MS)

    def resize(self, width: int, height: int) -> None:
        """A simulated display has no window: nothing to follow."""

    def follow_screen(self, nominal_hz: float | None) -> None:
        """A simulated display is the only screen there is."""

    def drain(self, deadline_ns: int) -> Sequence[Settled]:
        """Let the queue flow out until the deadline, then settle the frame on the screen too."""
        settled: list[Settled] = []
        while True:
            settled += self.collect()
            event_ns = self._next_event_ns()
            if event_ns is None or self._clock.now_ns() >= deadline_ns:
                break
            self._clock.sleep_until_ns(min(event_ns, deadline_ns))
        self._display.settle_shown()
        return [*settled, *self._display.take_settled()]

    def pending(self) -> Sequence[Frame]:
        """Return frames queued or on the screen."""
        return self._display.pending()

    def repeated(self) -> int | None:
        """Return the refreshes that showed a frame again; None under IMMEDIATE, which ignores refreshes."""
        return None if self._request.present_mode is PresentMode.IMMEDIATE else self._display.repeated

    def start_capture(self, path: Path) -> Capture:
        """Begin to write the image on the screen as PNG.

        Raises:
            SinkError: nothing is drawn or nothing is shown yet.
        """
        if self._renderer is None:
            raise SinkError("this virtual display draws nothing (process=none): use process=gpu to capture a frame")
        self._catch_up()
        image, frame = self._display.shown_image, self._display.shown_frame
        if image is None or frame is None:
            raise SinkError("no frame is on the screen yet: try again when the preview runs")
        capture = self._renderer.start_capture(image, path)
        capture.frame_id = frame.frame_id
        return capture

    @property
    def gpu_clock(self) -> ClockState | None:
        """How the GPU's clock stands to CLOCK_MONOTONIC; None without a renderer."""
        return self._renderer.gpu_clock if self._renderer is not None else None

    def validation_messages(self) -> list[str]:
        """Return what the validation layer said so far."""
        return self._renderer.validation_messages() if self._renderer is not None else []

    def close(self) -> None:
        """Free the GPU's share."""
        if self._renderer is not None:
            self._renderer.close()

    def _next_event_ns(self) -> int | None:
        """Return the next refresh while something is queued, sooner while the GPU works."""
        if not self._display.queue_length():
            return None
        if self._rendering:
            return self._clock.now_ns() + _GPU_POLL_NS
        return self._display.next_refresh_ns()

    def _catch_up(self) -> int:
        """Take in finished GPU work, then replay the display up to now, in that order; return now."""
        now_ns = self._clock.now_ns()
        while self._rendering and self._take_finished(self._rendering[0], now_ns):
            self._rendering.popleft()
        self._display.advance(now_ns)
        return now_ns

    def _take_finished(self, rendering: _Rendering, now_ns: int) -> bool:
        assert self._renderer is not None
        times = self._renderer.gpu_times(rendering.ticket)
        if times is None:
            return False
        for frame in rendering.frames:
            frame.gpu_start_ns, frame.gpu_end_ns = times
        done_ns = now_ns if times[1] == NO_STAMP_NS else times[1]
        self._display.set_ready(rendering.image, max(done_ns, rendering.frames[0].present_call_ns))
        return True

    def _granted_images(self) -> int:
        return self._spec.images if self._spec.images is not None else self._request.min_image_count

    def _make_room(self) -> None:
        if self._renderer is not None:
            self._renderer.set_command_buffers(self._request.command_buffers)
            self._renderer.rebuild(self._display.highest_image + 1)

    def _describe(self, rebuild_ms: float | None) -> SinkInfo:
        mode = self._request.present_mode
        renderer = self._renderer
        return SinkInfo(
            kind="virtual",
            refresh_hz=self._spec.refresh_hz,
            present_mode_requested=mode,
            present_mode_granted=mode,
            grant_reason="",
            available_modes=[str(each) for each in PresentMode],
            image_count=self._display.image_count,
            display_time_source=DisplayTimeSource.VIRTUAL_DISPLAY.label,
            paces_fifo=True,
            device=renderer.device_name if renderer else "",
            device_is_software=renderer.device_is_software if renderer else False,
            device_uuid=renderer.device_uuid if renderer else "",
            pci_bus_id=renderer.pci_bus_id if renderer else "",
            width=renderer.width if renderer else 0,
            height=renderer.height if renderer else 0,
            rebuild_ms=rebuild_ms,
            rebuilds=self._rebuilds,
            refresh_source="nominal",
            display_time_quality=DisplayTimeSource.VIRTUAL_DISPLAY.quality,
            live_modes=[str(each) for each in PresentMode],
        )
