"""One source's part of the picture: its format, staging ring, plane sets and place in the grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from app.core.errors import SinkError
from app.engine.frame import Frame
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
from app.engine.vulkan.plane_book import PlaneBook
from app.engine.vulkan.plane_sets import PlaneSets
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


class Tile:
    """A tile, from `prepare` on with room for pictures of one format.

    `upload` belongs to the process thread of its source, all else to the present thread.
    """

    def __init__(self, device: Device, conversion: Conversion, index: int, tiles: int, frames_in_flight: int) -> None:
        self._device = device
        self._conversion = conversion
        self._index = index
        self._tiles = tiles
        self._frames_in_flight = frames_in_flight
        self._ring: StagingRing | None = None
        self._planes: PlaneSets | None = None
        self._book = PlaneBook(frames_in_flight)
        self._placements: dict[tuple[int, int], Placement] = {}

    @property
    def picture_format(self) -> PictureFormat | None:
        """Return the format prepared for, None before the first `prepare`."""
        return self._planes.picture_format if self._planes is not None else None

    @property
    def shown(self) -> int | None:
        """Return the plane set that the tile shows, None before its first picture."""
        return self._book.shown

    def prepare(self, picture_format: PictureFormat, slots: int) -> None:
        """Make staging ring and plane sets of a format in place of those before; the device must be idle."""
        self.close()
        self._book = PlaneBook(self._frames_in_flight)
        self._planes = PlaneSets(self._device, picture_format, self._conversion, self._book.made.stop)
        self._planes.grow(self._book.own.stop)
        self._ring = StagingRing(self._device, picture_format, slots)

    def grow(self, slots: int) -> None:
        """Have at least `slots` staging slots."""
        assert self._ring is not None, "prepare comes first"
        self._ring.grow(slots)

    def upload(self, picture: Picture, slot: int) -> int:
        """Copy a picture into a staging slot and return the bytes copied."""
        if self._ring is None:
            raise SinkError("A picture was uploaded before its format was prepared; this is a fault of VeoTuner.")
        return self._ring[slot].write(picture)

    def slot_revision(self, slot: int) -> int:
        """Return a number that changes when the buffer or the line strides of a staging slot change."""
        assert self._ring is not None, "prepare comes first"
        return self._ring[slot].revision

    def take(self, frame: Frame, serial: int) -> Load:
        """Let the tile show a frame from the picture `serial` on, and return what must be copied for it."""
        return Load(frame.slot, self._book.show_new(serial))

    def keep(self, serial: int) -> None:
        """Take note that picture `serial` shows what the tile has."""
        self._book.keep(serial)

    def forget_placements(self) -> None:
        """Drop the cached placements of target sizes that are gone."""
        self._placements.clear()

    def write_load(self, command_buffer: Handle, slot: int, plane_set: int) -> None:
        """Record the copy of a staging slot into a plane set."""
        assert self._planes is not None, "prepare comes first"
        assert self._ring is not None, "prepare comes first"
        staging = self._ring[slot]
        self._planes[plane_set].copy_from(self._device, command_buffer, staging.buffer, staging.regions)

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
