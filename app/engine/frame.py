"""A frame on its way through the pipeline: mutable stamps, one owner at a time, recycled when its fate is known."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final

from app.core.clock import NO_STAMP_NS
from app.core.records import FRAME_DTYPE, FRAME_LAYOUT, empty_frames
from app.engine.picture import Picture

_C_TYPES: Final = {
    "Q": ctypes.c_uint64,
    "q": ctypes.c_int64,
    "I": ctypes.c_uint32,
    "i": ctypes.c_int32,
    "h": ctypes.c_int16,
    "B": ctypes.c_uint8,
    "b": ctypes.c_int8,
}
_STAMPS_BEFORE_PRESENT: Final = (
    "arrive_ns",
    "decode_start_ns",
    "decode_end_ns",
    "process_start_ns",
    "process_end_ns",
)


@dataclass(slots=True)
class Interpolation:
    """How a picture is made up in the place of a frame that was dropped on purpose.

    Attributes:
        kind: `blend` or `motion`.
        next_frame: the real frame that follows; its picture lies in its staging slot. The one before is the picture
            that the tile shows now.
        phase: place between the two, 0 at the earlier, 1 at the later.
    """

    kind: str
    next_frame: Frame
    phase: float


class Frame(ctypes.LittleEndianStructure):
    """A frame, which is its own record: the fields of `records.FRAME_DTYPE` lie in memory as the ring wants them.

    Writing the record is therefore one copy of 189 bytes: 5 µs after a sleep, where packing its fields from Python
    integers took 12 to 25. Setting a field costs 40 ns. Units and missing values are those of `FRAME_DTYPE`.

    Exactly one stage owns a frame at a time, so no field needs a lock.

    Attributes (beside the record's fields):
        picture: let go as soon as its bytes are uploaded.
        slot: staging slot that holds those bytes from then until the GPU has read them; -1 for none.
        playout_ns: due time before the render latency is added; `NO_STAMP_NS` until the frame has a segment.
        postponed_ns: how much time the stamps leave out already.
        present_number: position among the presents of the run; -1 before.
        interpolation: how to make its picture up; None for a frame that has its own.
        pinned_by: the newest frame whose interpolation reads this one's slot and is not settled; None without one.
        extra_slot: a slot that this frame has to give back besides its own, because it was the last to read it; -1.
        plane_set: where the renderer has put its picture already (for an interpolation before it); -1 otherwise.
        breaks_before: how often the source broke off before this frame; break_reason: why it last did, or "".
    """

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [(name, _C_TYPES[code]) for name, code in FRAME_LAYOUT]

    frame_id: int
    segment: int
    config_serial: int
    fate: int
    flags: int
    present_mode_requested: int
    present_mode_granted: int
    display_time_source: int
    governor: int
    image_index: int
    decode_queue_in: int
    decode_queue_out: int
    frame_queue_in: int
    frame_queue_out: int
    source_index: int
    refreshes: int
    source_interval_ns: int
    bytes_uploaded: int
    submit_cpu_ns: int
    interpolation_ns: int
    pts_ns: int
    arrive_ns: int
    decode_start_ns: int
    decode_end_ns: int
    process_start_ns: int
    process_end_ns: int
    due_ns: int
    acquire_start_ns: int
    acquire_end_ns: int
    submit_ns: int
    gpu_start_ns: int
    gpu_end_ns: int
    present_call_ns: int
    present_return_ns: int
    displayed_ns: int

    picture: Picture | None
    slot: int
    playout_ns: int
    postponed_ns: int
    present_number: int
    interpolation: Interpolation | None
    pinned_by: Frame | None
    extra_slot: int
    plane_set: int
    breaks_before: int
    break_reason: str

    def __init__(self, frame_id: int = 0) -> None:
        super().__init__()
        self.reset(frame_id)

    def put_off(self, by_ns: int, until_ns: int) -> None:
        """Leave out `by_ns` that had passed by `until_ns`: stamps taken before are moved, later ones are left.

        A frame that was decoded during the time left out has its stamps moved beyond `until_ns`; what really happened
        to it since counts as happening right behind, so that the order of the stages holds.
        """
        latest_ns = NO_STAMP_NS
        for name in _STAMPS_BEFORE_PRESENT:
            stamp_ns: int = getattr(self, name)
            if stamp_ns == NO_STAMP_NS:
                continue
            latest_ns = max(latest_ns, stamp_ns + by_ns if stamp_ns < until_ns else stamp_ns)
            setattr(self, name, latest_ns)
        self.postponed_ns += by_ns

    def reset(self, frame_id: int) -> None:
        """Make this object a new frame of which nothing is known yet."""
        ctypes.memmove(ctypes.byref(self), _BLANK, FRAME_DTYPE.itemsize)
        self.frame_id = frame_id
        self.picture = None
        self.slot = -1
        self.playout_ns = NO_STAMP_NS
        self.postponed_ns = 0
        self.present_number = -1
        self.interpolation = None
        self.pinned_by = None
        self.extra_slot = -1
        self.plane_set = -1
        self.breaks_before = 0
        self.break_reason = ""


_BLANK: Final = empty_frames(1).tobytes()

assert ctypes.sizeof(Frame) == FRAME_DTYPE.itemsize
