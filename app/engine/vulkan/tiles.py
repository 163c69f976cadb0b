"""One source's part of the picture: its format, staging ring, plane sets and place in the grid."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from app.core.clock import NO_STAMP_NS
from app.core.errors import SinkError
from app.core.records import FLAG_INTERPOLATED
from app.engine.frame import Frame, Interpolation
from app.engine.picture import Picture, PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.convert import Conversion
from app.engine.vulkan.device import Device
from app.engine.vulkan.geometry import (
    PUSH_CONSTANT_FLOATS,
    Rectangle,
    grid_cells,
    is_exact,
    letterbox_in,
    push_constants,
)
from app.engine.vulkan.gpu_clock import GpuClock
from app.engine.vulkan.interpolation import InterpolationKind, Interpolator, interpolation_unavailable
from app.engine.vulkan.plane_book import PlaneBook
from app.engine.vulkan.plane_sets import PlaneSets
from app.engine.vulkan.results import VulkanError
from app.engine.vulkan.upload import StagingRing


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a picture format lies in targets of one size: its rectangle and the structs that say so.

    Attributes:
        exact: one picture pixel is one target pixel, so that nothing needs to be filtered.
    """

    rectangle: Rectangle
    exact: bool
    viewport: Struct
    scissor: Struct
    constants: Struct


def place(picture_format: PictureFormat, cell: Rectangle) -> Placement:
    """Return the letterboxed placement of a picture in a cell of the target."""
    rectangle = letterbox_in(picture_format.display_size, cell)
    x, y, width, height = rectangle
    constants = ffi.new("float[]", push_constants(picture_format, rectangle).tolist())
    return Placement(
        rectangle,
        is_exact(picture_format, rectangle),
        api.struct("VkViewport", x=x, y=y, width=width, height=height, maxDepth=1.0),
        api.struct("VkRect2D", offset={"x": x, "y": y}, extent={"width": width, "height": height}),
        constants,
    )


class Load(NamedTuple):
    """A picture to be copied from a staging slot into a plane set."""

    slot: int
    plane_set: int


class MadeUp(NamedTuple):
    """A picture to be made up from two plane sets and put into a third.

    Attributes:
        phase: place between the two, 0 at the earlier, 1 at the later.
    """

    earlier: int
    later: int
    phase: float
    kind: InterpolationKind
    plane_set: int


Change = tuple[Load | None, MadeUp | None]
"""What is to be done on the GPU so that a tile shows a new frame; None for what is not needed."""


class Tile:
    """A tile, from `prepare` on with room for pictures of one format.

    `upload` belongs to the process thread of its source, all else to the present thread.
    """

    def __init__(
        self, device: Device, clock: GpuClock, conversion: Conversion, cell: tuple[int, int], frames_in_flight: int
    ) -> None:
        """Have nothing yet.

        Args:
            cell: index of the tile, and how many tiles there are.
        """
        self._device = device
        self._clock = clock
        self._conversion = conversion
        self._index, self._tiles = cell
        self._frames_in_flight = frames_in_flight
        self._ring: StagingRing | None = None
        self._planes: PlaneSets | None = None
        self._book = PlaneBook(frames_in_flight)
        self._placements: dict[tuple[int, int], Placement] = {}
        self._ahead: Frame | None = None
        self._interpolator: Interpolator | None = None
        self._interpolation_failed = False
        self._notices: deque[str] = deque()

    @property
    def picture_format(self) -> PictureFormat | None:
        """Return the format prepared for, None before the first `prepare`."""
        return self._planes.picture_format if self._planes is not None else None

    def prepare(self, picture_format: PictureFormat, slots: int) -> None:
        """Make staging ring and plane sets of a format in place of those before; the device must be idle."""
        self.close()
        self._book = PlaneBook(self._frames_in_flight)
        self._planes = PlaneSets(self._device, picture_format, self._conversion, self._book.made.stop)
        self._planes.grow(self._book.own.stop)
        self._ring = StagingRing(self._device, picture_format)
        self._ring.grow(slots)

    def grow(self, slots: int) -> None:
        """Have at least `slots` staging slots."""
        assert self._ring is not None, "prepare comes first"
        self._ring.grow(slots)

    def upload(self, picture: Picture, slot: int) -> int:
        """Copy a picture into a staging slot and return the bytes copied.

        Raises:
            SinkError: `prepare` was not called.
        """
        if self._ring is None:
            raise SinkError("A picture was uploaded before its format was prepared; this is a fault of VeoTuner.")
        return self._ring[slot].write(picture)

    def slot_revision(self, slot: int) -> int:
        """Return a number that changes when the buffer or the line strides of a staging slot change."""
        assert self._ring is not None, "prepare comes first"
        return self._ring[slot].revision

    def take(self, frame: Frame, serial: int) -> Change:
        """Let the tile show a frame from picture `serial` on, and return what that takes.

        A frame that cannot be made up leaves the tile as it is and loses its mark.
        """
        if frame.interpolation is not None:
            return self._take_interpolated(frame, frame.interpolation, serial)
        if self._ahead is None:
            return Load(frame.slot, self._book.show_new(serial)), None
        is_loaded, self._ahead = self._is_loaded(frame), None
        if is_loaded:
            self._book.show_later(serial)
            return None, None
        return Load(frame.slot, self._book.show_new(serial)), None

    def take_notice(self) -> str:
        """Return why pictures are not made up, once for each format, else "". From any thread."""
        return self._notices.popleft() if self._notices else ""

    def make_interpolator(self) -> Interpolator | None:
        """Return what makes pictures up; None where that cannot be, for which there is a notice.

        The first time it is made, with a plane set more for each picture in flight: on software Vulkan in a second.
        """
        if self._interpolator is None and not self._interpolation_failed:
            assert self._planes is not None, "prepare comes first"
            reason = interpolation_unavailable(self._device, self._planes.picture_format)
            try:
                if not reason:
                    self._interpolator = self._new_interpolator(self._planes)
            except VulkanError as error:
                if error.is_device_lost:
                    raise
                reason = str(error)
            self._interpolation_failed = self._interpolator is None
            if self._interpolation_failed:
                self._notices.append(f"pictures are not made up, the one before is shown again: {reason}")
        return self._interpolator

    def keep(self, serial: int) -> int | None:
        """Return the plane set that picture `serial` shows, None before the tile's first; it is in use until then."""
        return self._book.keep(serial)

    def forget_placements(self) -> None:
        """Drop the cached placements of target sizes that are gone."""
        self._placements.clear()

    def write_load(self, command_buffer: Handle, slot: int, plane_set: int) -> None:
        """Record the copy of a staging slot into a plane set."""
        assert self._planes is not None, "prepare comes first"
        assert self._ring is not None, "prepare comes first"
        staging = self._ring[slot]
        self._planes[plane_set].copy_from(self._device, command_buffer, staging.buffer, staging.regions)

    def write_made(self, command_buffer: Handle, frame_in_flight: int, made: MadeUp) -> None:
        """Record making a picture up and putting it into its plane set."""
        assert self._planes is not None, "prepare comes first"
        assert self._interpolator is not None, "take made it"
        pair = (made.earlier, made.later)
        self._interpolator.record(command_buffer, frame_in_flight, pair, made.phase, made.kind)
        # Later pictures write the plane sets that the passes read: the passes' last barrier holds all transfers back.
        buffer, regions = self._interpolator.made
        self._planes[made.plane_set].copy_from(self._device, command_buffer, buffer, regions)

    def interpolation_ns(self, frame_in_flight: int) -> int:
        """Return the GPU time of the passes last recorded there, `NO_STAMP_NS` where the device cannot say."""
        return NO_STAMP_NS if self._interpolator is None else self._interpolator.gpu_time_ns(frame_in_flight)

    def write_draw(self, command_buffer: Handle, plane_set: int, size: tuple[int, int]) -> None:
        """Record drawing a plane set into the tile's cell of a target of this size, while rendering."""
        assert self._planes is not None, "prepare comes first"
        vk, functions, layout = api.vk, self._device.functions, self._conversion.layout
        placement, planes = self._placement(size), self._planes[plane_set]
        pipeline = self._conversion.pipeline(self._planes.picture_format.plane_count)
        functions.vkCmdBindPipeline(command_buffer, vk.VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline)
        functions.vkCmdSetViewport(command_buffer, 0, 1, placement.viewport)
        functions.vkCmdSetScissor(command_buffer, 0, 1, placement.scissor)
        functions.vkCmdPushConstants(
            command_buffer, layout, vk.VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4 * PUSH_CONSTANT_FLOATS, placement.constants
        )
        functions.vkCmdBindDescriptorSets(
            command_buffer, vk.VK_PIPELINE_BIND_POINT_GRAPHICS, layout, 0, 1,
            planes.exact if placement.exact else planes.smooth, 0, ffi.NULL,
        )  # fmt: skip
        functions.vkCmdDraw(command_buffer, 3, 1, 0, 0)

    def close(self) -> None:
        """Free everything; the device must be idle."""
        self._placements.clear()
        self._ahead = None
        self._interpolation_failed = False
        if self._interpolator is not None:
            self._interpolator.close()
            self._interpolator = None
        if self._ring is not None:
            self._ring.close()
            self._ring = None
        if self._planes is not None:
            self._planes.close()
            self._planes = None

    def _placement(self, size: tuple[int, int]) -> Placement:
        """Return where the picture lies in targets of this size; computed once a size and format."""
        placement = self._placements.get(size)
        if placement is None:
            assert self._planes is not None, "prepare comes first"
            cell = grid_cells(self._tiles, *size)[self._index]
            placement = self._placements[size] = place(self._planes.picture_format, cell)
        return placement

    def _is_loaded(self, frame: Frame) -> bool:
        """Tell whether the frame's picture lies in the plane set `later`; a frame object is another when used again."""
        return frame is self._ahead and frame.plane_set == self._book.later

    def _take_interpolated(self, frame: Frame, order: Interpolation, serial: int) -> Change:
        if self.make_interpolator() is None:
            frame.flags &= ~FLAG_INTERPOLATED
            return None, None
        load, book, later = None, self._book, order.next_frame
        if not self._is_loaded(later):
            load = Load(later.slot, book.load_later(serial))
            later.plane_set, self._ahead = load.plane_set, later
        if book.earlier is None or book.later is None:
            frame.flags &= ~FLAG_INTERPOLATED
            book.show_early(serial)
            return load, None
        pair = (book.earlier, book.later)
        kind: InterpolationKind = "motion" if order.kind == "motion" else "blend"
        return load, MadeUp(*pair, order.phase, kind, book.show_made(serial))

    def _new_interpolator(self, planes: PlaneSets) -> Interpolator:
        book = self._book
        planes.grow(book.made.stop)
        pictures = [planes[index].images for index in book.own]
        return Interpolator(self._device, self._clock, planes.picture_format, pictures, self._frames_in_flight)
