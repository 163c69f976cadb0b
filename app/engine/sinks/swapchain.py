"""The swapchain sink: presents into an X11 or Wayland window or a headless surface through Vulkan."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from app.config.sink_text import SurfaceSpec
from app.core.clock import NS_PER_MS, NS_PER_S
from app.core.errors import SinkError
from app.engine.frame import Frame
from app.engine.picture import Picture, PictureFormat
from app.engine.sinks.display_ladder import DisplayLadder
from app.engine.sinks.display_refresh import RefreshTracker
from app.engine.sinks.display_sources import list_display_sources
from app.engine.sinks.fifo_pacing import FifoPacing
from app.engine.sinks.pictures_in_flight import PicturesInFlight
from app.engine.sinks.sink import RefreshGrid, Settled, SinkRequest
from app.engine.vulkan.capture import Captures, PendingCapture, capture_last_picture
from app.engine.vulkan.clearing import ClearLoop
from app.engine.vulkan.device import SWAPCHAIN_MAINTENANCE, Device
from app.engine.vulkan.gpu_clock import ClockState, GpuClock
from app.engine.vulkan.instance import Instance, open_instance
from app.engine.vulkan.negotiation import IN_ORDER_MODES, grant_mode
from app.engine.vulkan.physical_device import choose_physical_device
from app.engine.vulkan.present_fences import PresentFences
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.render import Renderer
from app.engine.vulkan.results import NOT_READY, OUT_OF_DATE, SUBOPTIMAL, SUCCESS, TIMEOUT, check
from app.engine.vulkan.surface import Surface, open_surface
from app.engine.vulkan.swapchain import SurfaceOffer, SurfaceReader, Swapchain
from app.ipc.messages import SinkInfo

FRAMES_IN_FLIGHT: Final = 3

_SETTLE_NS: Final = 300 * NS_PER_MS
"""How long a rebuild waits for display times before it gives them up."""

_HIDDEN_WAIT_NS: Final = 20 * NS_PER_MS
_OPENED: Final = "opened"


class SwapchainSink:
    """Implements `Sink` on a Vulkan swapchain. Everything but `upload` belongs to the present thread.

    It owns the instance it is given, also when it cannot be made.
    """

    def __init__(
        self,
        instance: Instance,
        spec: SurfaceSpec,
        request: SinkRequest,
        device: str,
        without: Collection[str] = (),
        tiles: int = 1,
    ) -> None:
        self._instance = instance
        self._tiles = tiles
        self._request = request
        self._swapchain: Swapchain | None = None
        self._held: int | None = None
        self._last: Presentation | None = None
        self._stale = ""
        self._suboptimal_is_final = False
        self._info_due = False
        self._rebuilds = -1
        self._pacing = FifoPacing()
        self._refreshes = RefreshTracker()
        with ExitStack() as stack:
            stack.callback(instance.close)
            self._open(spec, device, without, stack)
            self._build(_OPENED)
            self._parts = stack.pop_all()

    def _open(self, spec: SurfaceSpec, device: str, without: Collection[str], stack: ExitStack) -> None:
        """Open surface, device and what lives as long as they do; `stack` closes them in the opposite order."""
        instance = self._instance
        self._surface: Surface = open_surface(instance, spec)
        stack.callback(self._surface.close)
        self._followed = self._surface.follow()
        physical, family = choose_physical_device(instance, self._surface.handle, device)
        self._device = Device(instance, physical, family, presents=True, without=without)
        stack.callback(self._device.close)
        surface = self._surface
        self._reader = SurfaceReader(instance, self._device, surface.handle, surface.frame_callbacks)
        self._clock = GpuClock(self._device, instance)
        stack.callback(self._clock.close)
        target_format = self._reader.surface_format[0]
        self._renderer = Renderer(self._device, self._clock, target_format, FRAMES_IN_FLIGHT, self._tiles)
        self._renderer.set_command_buffers(self._request.command_buffers)
        stack.callback(self._renderer.close)
        fences = PresentFences(self._device) if SWAPCHAIN_MAINTENANCE in self._device.extensions else None
        if fences is not None:
            stack.callback(fences.close)
        self._captures = Captures()
        stack.callback(self._close_swapchain)
        stack.callback(self._captures.close)
        self._ladder = DisplayLadder(list_display_sources(self._device, self._surface), self._refreshes)
        stack.callback(self._ladder.close)
        self._pictures = PicturesInFlight(self._renderer, self._ladder, fences, self._tiles)

    @property
    def info(self) -> SinkInfo:
        """What was granted; another object after every rebuild."""
        return self._info

    @property
    def window_id(self) -> int | None:
        """Return the id of the window presented into, None without one."""
        return self._surface.window_id

    @property
    def gpu_clock(self) -> ClockState | None:
        """Return how the GPU's clock stands to CLOCK_MONOTONIC, None without calibration. From any thread."""
        return self._clock.state

    def grid(self) -> RefreshGrid | None:
        """Return the refreshes as display times tell them; None while no source tells them well enough.

        It is measured anew twice a second, so whoever aims at refreshes asks again that often.
        """
        return self._refreshes.grid()

    def follow_screen(self, nominal_hz: float | None) -> None:
        """Learn the refreshes anew: the window is on another screen, whose refresh by name is `nominal_hz`."""
        self._refreshes.follow_screen(NS_PER_S / nominal_hz if nominal_hz else None)
        self._refresh_info()

    def prepare(self, picture_format: PictureFormat, slots: int, tile: int = 0) -> None:
        """Make room for `slots` pictures of a format; a new format rebuilds the conversion."""
        if picture_format != self._renderer.format_of(tile):
            self._last = None
        self._renderer.prepare(picture_format, slots, tile)

    def prepare_interpolation(self, tile: int = 0) -> None:
        """Make ready to make pictures up in a prepared tile."""
        self._renderer.prepare_interpolation(tile)

    def upload(self, picture: Picture, slot: int, tile: int = 0) -> int:
        """Copy a picture into a tile's staging slot and return the bytes copied."""
        return self._renderer.upload(picture, slot, tile)

    def acquire(self, deadline_ns: int) -> int | None:
        """Return a free image; None at the deadline, or when there is nothing to present to.

        An image acquired earlier and never presented is returned again.

        Raises:
            SinkError: device or surface lost, or the window closed.
        """
        while True:
            self._follow()
            if self._stale:
                self._build(self._stale)
            if self._swapchain is None or min(self._followed) <= 0:
                _wait_hidden(deadline_ns)
                return None
            if self._held is not None:
                return self._held
            if self._try_acquire(self._swapchain, deadline_ns):
                return self._held
            if not self._stale or time.monotonic_ns() >= deadline_ns:
                return None

    def present(self, frames: Sequence[Frame], image_index: int) -> None:
        """Record, submit and queue a picture for display; never waits for the GPU.

        Raises:
            SinkError: device or surface lost.
        """
        swapchain, renderer = self._swapchain, self._renderer
        assert swapchain is not None, "acquire comes first"
        context = renderer.next_context()
        renderer.record(context, frames, swapchain.targets[image_index])
        submit_ns = time.monotonic_ns()
        submission = renderer.queue(context, swapchain.present_semaphores[image_index])
        self._held = None
        presentation = self._pictures.begin(frames, submission, swapchain.mode, swapchain.presents + 1)
        self._ladder.before_present(presentation)
        call_ns = time.monotonic_ns()
        presentation.call_ns = call_ns
        code = swapchain.present(image_index, presentation.fence)
        presentation.note_call(submit_ns, call_ns, time.monotonic_ns())
        self._take_present_result(presentation, code)

    def collect(self) -> Sequence[Settled]:
        """Return the frames whose fate became known.

        Raises:
            SinkError: the device was lost.
        """
        self._pictures.settle(ending=False)
        if self._info_due or self._has_changed():
            self._refresh_info()
        return self._pictures.take_settled()

    def undisplayed(self) -> int:
        """Return how many presented pictures are not known to be displayed yet."""
        return self._pictures.undisplayed()

    def rebuild(self, request: SinkRequest) -> None:
        """Apply a request: live where the swapchain can do it, else by a rebuild, before which frames settle."""
        before, self._request = self._request, request
        self._renderer.set_command_buffers(request.command_buffers)
        if request == before._replace(command_buffers=request.command_buffers):
            return
        swapchain = self._swapchain
        if swapchain is None or self._stale or not self._change_mode(swapchain, before):
            self._build("configuration")

    def resize(self, width: int, height: int) -> None:
        """Follow the window; zero in either direction stops presenting until the next call."""
        self._surface.resize(width, height)

    def drain(self, deadline_ns: int) -> Sequence[Settled]:
        """Wait for frames in flight to settle, until the deadline at most."""
        self._pictures.await_end(deadline_ns, ending=True)
        self._info_due |= self._refreshes.publish(time.monotonic_ns())
        return self._pictures.take_settled()

    def pending(self) -> Sequence[Frame]:
        """Return frames presented but not settled."""
        return self._pictures.frames()

    def repeated(self) -> int | None:
        """Return None: refreshes are not known here."""
        return None

    def start_capture(self, path: Path) -> PendingCapture:
        """Begin to write the last presented picture as PNG, at the size it has on the screen.

        It returns as soon as the GPU has its orders; a thread waits for it and writes the file.

        Raises:
            SinkError: nothing was presented yet, or the device is lost.
        """
        if self._last is None or self._swapchain is None:
            raise SinkError("No picture has been presented yet; capture again when the preview runs.")
        submission, frame_id = self._last.submission, self._last.frame_id
        capture = capture_last_picture(self._renderer, submission, self._swapchain.extent, path, frame_id)
        self._captures.add(capture)
        return capture

    def present_cleared(self, count: int, limit_ns: int) -> list[int]:
        """Present black images as fast as the driver takes them, for the bench; return when each call returned, ns."""
        assert self._swapchain is not None, "there is nothing to present to"
        return ClearLoop(self._renderer, self._swapchain).run(count, limit_ns)

    def validation_messages(self) -> list[str]:
        """Return what the validation layer said so far."""
        return self._instance.validation_messages()

    def live_objects(self) -> dict[str, int]:
        """Return kind → number of Vulkan objects alive."""
        return self._instance.live_objects()

    def close(self) -> None:
        """Free everything. A second call does nothing."""
        self._parts.close()
        self._pictures.forget()

    def take_notices(self) -> list[str]:
        """Look back on what was shown, and return what a person should know since the last call.

        A slow thread calls this twice a second: it measures the refreshes, which is too much for the present thread.
        """
        notices = [*self._ladder.take_notices(), *self._renderer.take_notices()]
        swapchain = self._swapchain
        outrun = self._pacing.watch(swapchain, self._refreshes.rate_hz) if swapchain is not None else ""
        if outrun:
            notices.append(outrun)
        if self._refreshes.review(time.monotonic_ns()) or outrun:
            self._info_due = True
        return notices

    def _follow(self) -> None:
        size = self._surface.follow()
        if size != self._followed:
            self._followed = size
            if min(size) > 0 and (self._swapchain is None or size != self._swapchain.extent):
                self._stale = "the window changed its size"

    def _try_acquire(self, swapchain: Swapchain, deadline_ns: int) -> bool:
        """Acquire once; False on time-out or when the swapchain turned out stale."""
        context = self._renderer.next_context()
        if not self._renderer.wait_free(context, deadline_ns):
            return False
        called_ns = time.monotonic_ns()
        code, image_index = swapchain.acquire(context.acquire_semaphore, max(0, deadline_ns - called_ns))
        if code in (SUCCESS, SUBOPTIMAL):
            # SUBOPTIMAL is a success: the image is ours and must be presented; the rebuild comes after it.
            self._held = image_index
            self._note_suboptimal(code)
            self._ladder.acquired(called_ns, time.monotonic_ns())
            return True
        if code == OUT_OF_DATE:
            self._stale = "the window changed"
        elif code not in (TIMEOUT, NOT_READY):
            check(code, "vkAcquireNextImageKHR")
        return False

    def _take_present_result(self, presentation: Presentation, code: int) -> None:
        if code not in (SUCCESS, SUBOPTIMAL):
            presentation.note_refused()
            if code != OUT_OF_DATE:
                presentation.fence = None  # nothing will signal it any more
                check(code, "vkQueuePresentKHR")
            self._stale = "the window changed"
            return
        self._note_suboptimal(code)
        self._last = presentation
        self._pacing.note(presentation.return_ns)
        self._ladder.presented(presentation)

    def _note_suboptimal(self, code: int) -> None:
        if code == SUBOPTIMAL and not self._suboptimal_is_final:
            self._stale = "the window changed"

    def _build(self, reason: str) -> None:
        """Make the swapchain anew from what surface and configuration say now."""
        started_ns = time.monotonic_ns()
        self._rebuilds += 1
        self._stale = ""
        self._settle_in_flight()
        offer = self._reader.read(self._request.present_mode, self._followed)
        if min(offer.extent) > 0:
            before = (self._swapchain.extent, self._swapchain.mode) if self._swapchain is not None else None
            if self._pacing.wants_probe(self._request, offer):
                self._probe_pacing(offer)
            swapchain = self._replace_swapchain(offer)
            # The same size and mode again: SUBOPTIMAL is what this surface is, not something that a rebuild cures.
            self._suboptimal_is_final = before == (swapchain.extent, swapchain.mode)
            self._take_over(swapchain)
        else:
            self._close_swapchain()
        cost_ms = None if reason == _OPENED else (time.monotonic_ns() - started_ns) / NS_PER_MS
        self._info = self._describe(offer, cost_ms)

    def _replace_swapchain(self, offer: SurfaceOffer) -> Swapchain:
        old = self._swapchain
        request = self._request
        swapchain = Swapchain(self._reader, offer, request.present_mode, request.min_image_count, old)
        self._swapchain = swapchain
        if old is not None:
            old.close()
        self._renderer.forget_targets()
        return swapchain

    def _settle_in_flight(self) -> None:
        """Bring everything in flight to an end, so that the old swapchain can go."""
        if self._held is not None:
            self._held = None
            self._renderer.discard_acquired(self._renderer.next_context())
        self._pictures.await_end(time.monotonic_ns() + _SETTLE_NS, ending=False)
        self._pictures.abandon()

    def _close_swapchain(self) -> None:
        """End all work of the device and drop the swapchain, also when ending it fails."""
        with ExitStack() as stack:
            stack.callback(self._drop_swapchain)
            stack.callback(self._device.wait_idle)
            if self._held is not None:
                self._held = None
                self._renderer.discard_acquired(self._renderer.next_context())

    def _drop_swapchain(self) -> None:
        if self._swapchain is not None:
            self._swapchain.close()
            self._swapchain = None

    def _probe_pacing(self, offer: SurfaceOffer) -> None:
        """Find out once whether FIFO paces here; `self._swapchain` is then the one to replace."""
        probe = self._pacing.probe(self._renderer, self._reader, self._followed, self._request, self._swapchain)
        try:
            self._pacing.finding = probe.run(grant_mode(self._request.present_mode, offer.modes).mode)
        finally:
            self._swapchain = probe.swapchain

    def _take_over(self, swapchain: Swapchain) -> None:
        """Begin to present with a swapchain, or in another mode of it."""
        swapchain.paces = self._pacing.paces
        self._pacing.restart()
        self._ladder.rebuilt(swapchain)

    def _change_mode(self, swapchain: Swapchain, before: SinkRequest) -> bool:
        """Change the present mode without a rebuild; False where the swapchain cannot, or more is asked for."""
        request = self._request
        grant = grant_mode(request.present_mode, swapchain.offer.modes)
        unprobed = self._pacing.wants_probe(request, swapchain.offer)
        if request.min_image_count != before.min_image_count or unprobed:
            return False
        if grant.mode is not swapchain.mode and grant.mode not in swapchain.live_modes:
            return False
        swapchain.change_mode(grant.mode, grant.reason)
        self._take_over(swapchain)
        self._info = self._describe(swapchain.offer, self._info.rebuild_ms)
        return True

    def _has_changed(self) -> bool:
        """Tell whether display times come from another source, or the refresh rate is another, than `info` says."""
        return (self._ladder.source, self._refreshes.rate_hz) != self._told

    def _refresh_info(self) -> None:
        """Describe the sink anew where what is known of the display has changed; the grant stays."""
        if self._swapchain is not None:
            self._info = self._describe(self._swapchain.offer, self._info.rebuild_ms)
        self._info_due = False

    def _describe(self, offer: SurfaceOffer, rebuild_ms: float | None) -> SinkInfo:
        physical, swapchain, pacing = self._device.physical, self._swapchain, self._pacing
        granted = swapchain.mode if swapchain is not None else self._request.present_mode
        self._told = (self._ladder.source, self._refreshes.rate_hz)
        return SinkInfo(
            kind=self._surface.kind,
            refresh_hz=self._refreshes.rate_hz,
            present_mode_requested=str(self._request.present_mode),
            present_mode_granted=str(granted),
            grant_reason=swapchain.grant_reason if swapchain is not None else "the window has no area",
            available_modes=[str(mode) for mode in offer.modes],
            image_count=len(swapchain.targets) if swapchain is not None else 0,
            display_time_source=self._ladder.source.label,
            paces_fifo=pacing.paces if pacing.finding is not None and granted in IN_ORDER_MODES else None,
            device=physical.name,
            device_is_software=physical.is_software,
            device_uuid=physical.uuid,
            pci_bus_id=physical.pci_bus_id,
            width=offer.extent[0],
            height=offer.extent[1],
            rebuild_ms=rebuild_ms,
            rebuilds=self._rebuilds,
            refresh_source=self._refreshes.source_text,
            display_time_quality=self._ladder.source.quality,
            live_modes=[str(mode) for mode in swapchain.live_modes] if swapchain is not None else [],
            settings=self._settings(offer),
        )

    def _settings(self, offer: SurfaceOffer) -> dict[str, str]:
        most = str(offer.most_images) if offer.most_images else "no limit"
        settings = {
            "driver": self._device.physical.driver,
            "images": f"{offer.least_images} to {most}",
            "frames in flight": str(FRAMES_IN_FLIGHT),
            "GPU times": self._clock.unavailable or "calibrated to CLOCK_MONOTONIC",
            "display times": self._ladder.source.label,
        }
        if self._pacing.finding is not None:
            settings["FIFO interval at opening"] = f"{self._pacing.finding.interval_ns / NS_PER_MS:.2f} ms"
        return settings


def open_swapchain_sink(
    spec: SurfaceSpec,
    request: SinkRequest,
    *,
    validation: bool,
    device: str,
    without: Collection[str] = (),
    tiles: int = 1,
) -> SwapchainSink:
    """Return a sink that presents to the surface `spec` names.

    Args:
        request: present mode and image count to ask for.
        validation: load the validation layer; its messages are in `validation_messages`.
        device: part of a device name or a uuid to prefer; "" for the best that can present there.
        without: optional device extensions to leave off, to go round a driver's fault or to see what it costs.
        tiles: how many sources share the window, 1–9.

    Raises:
        SinkError: no Vulkan, no X server, no such window, no device that fits; the text says what to do.
    """
    return SwapchainSink(open_instance(validation=validation), spec, request, device, without, tiles)


def _wait_hidden(deadline_ns: int) -> None:
    """Wait a little while nothing can be presented, so that the caller does not spin."""
    remaining_ns = min(deadline_ns - time.monotonic_ns(), _HIDDEN_WAIT_NS)
    if remaining_ns > 0:
        time.sleep(remaining_ns / NS_PER_S)
