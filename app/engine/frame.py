"""A frame on its way through the pipeline: mutable stamps, one owner at a time, recycled when its fate is known."""

from __future__ import annotations

from app.core.clock import NO_STAMP_NS
from app.core.records import MISSING_COUNT
from app.core.vocabulary import DisplayTimeSource
from app.engine.picture import Picture

_STAMPS_BEFORE_PRESENT = ("arrive_ns", "decode_start_ns", "decode_end_ns", "process_start_ns", "process_end_ns")


class Frame:
    """The frame record in the making. Field names and units are those of `records.FRAME_DTYPE`.

    Exactly one stage owns a frame at a time, so no field needs a lock. `picture` is let go as soon as its bytes are
    uploaded; `slot` is the staging slot that holds them from then until the GPU has read it (-1: none). `playout_ns`
    is the due time before the render latency is added; `discontinuity` says why a segment must begin here, or "";
    `present_number` counts the presents of a run; `postponed_ns` is how much time the stamps already leave out.
    """

    __slots__ = (
        "acquire_end_ns",
        "acquire_start_ns",
        "arrive_ns",
        "bytes_uploaded",
        "decode_end_ns",
        "decode_queue_in",
        "decode_queue_out",
        "decode_start_ns",
        "discontinuity",
        "display_time_source",
        "displayed_ns",
        "due_ns",
        "flags",
        "frame_id",
        "frame_queue_in",
        "frame_queue_out",
        "gpu_end_ns",
        "gpu_start_ns",
        "image_index",
        "picture",
        "playout_ns",
        "postponed_ns",
        "present_call_ns",
        "present_mode_granted",
        "present_mode_requested",
        "present_number",
        "present_return_ns",
        "process_end_ns",
        "process_start_ns",
        "pts_ns",
        "refreshes",
        "segment",
        "slot",
        "source_interval_ns",
        "submit_ns",
    )

    frame_id: int
    segment: int
    picture: Picture | None

    def __init__(self) -> None:
        self.reset(0)

    def put_off(self, by_ns: int) -> None:
        """Move the stamps of the stages passed so far, because that much time has passed which shall not count."""
        for name in _STAMPS_BEFORE_PRESENT:
            stamp_ns: int = getattr(self, name)
            if stamp_ns != NO_STAMP_NS:
                setattr(self, name, stamp_ns + by_ns)
        self.postponed_ns += by_ns

    def reset(self, frame_id: int) -> None:
        """Make this object a new frame of which nothing is known yet."""
        self.frame_id = frame_id
        self.segment = 0
        self.flags = 0
        self.present_mode_requested = 0
        self.present_mode_granted = 0
        self.display_time_source: int = DisplayTimeSource.NONE
        self.image_index = MISSING_COUNT
        self.decode_queue_in = MISSING_COUNT
        self.decode_queue_out = MISSING_COUNT
        self.frame_queue_in = MISSING_COUNT
        self.frame_queue_out = MISSING_COUNT
        self.refreshes = MISSING_COUNT
        self.source_interval_ns = NO_STAMP_NS
        self.bytes_uploaded = 0
        self.pts_ns = NO_STAMP_NS
        self.arrive_ns = NO_STAMP_NS
        self.decode_start_ns = NO_STAMP_NS
        self.decode_end_ns = NO_STAMP_NS
        self.process_start_ns = NO_STAMP_NS
        self.process_end_ns = NO_STAMP_NS
        self.due_ns = NO_STAMP_NS
        self.acquire_start_ns = NO_STAMP_NS
        self.acquire_end_ns = NO_STAMP_NS
        self.submit_ns = NO_STAMP_NS
        self.gpu_start_ns = NO_STAMP_NS
        self.gpu_end_ns = NO_STAMP_NS
        self.present_call_ns = NO_STAMP_NS
        self.present_return_ns = NO_STAMP_NS
        self.displayed_ns = NO_STAMP_NS
        self.playout_ns = NO_STAMP_NS
        self.postponed_ns = 0
        self.present_number = MISSING_COUNT
        self.discontinuity = ""
        self.picture = None
        self.slot = -1
