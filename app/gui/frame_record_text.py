"""One frame's record in words: the table behind a pinned frame."""

from __future__ import annotations

import math
from typing import Final

from app.core.clock import NO_STAMP_NS, ns_to_ms
from app.core.metrics import number_text
from app.core.records import FLAG_KEY_FRAME, FLAG_LATE_SHOWN, MISSING_COUNT, STAMP_FIELDS, FrameArray
from app.core.vocabulary import PRESENT_MODE_BY_CODE, DisplayTimeSource, Fate

HEADINGS: Final = ("Field", "Value", "Since the stamp before")
_COUNTS: Final = {
    "image_index": "",
    "decode_queue_in": " frames",
    "decode_queue_out": " frames",
    "frame_queue_in": " frames",
    "frame_queue_out": " frames",
    "refreshes": " refreshes",
}


def frame_record_rows(frames: FrameArray, origin_ns: int) -> list[tuple[str, str, str]]:
    """Return the rows of a record, given as an array of one.

    Args:
        origin_ns: when the run began; stamps are shown in ms since the frame's arrival, the arrival since the run's
            begin.
    """
    record = frames[0]
    rows = [
        ("frame", str(record["frame_id"]), ""),
        ("fate", Fate(int(record["fate"])).label, ""),
        ("flags", _flags(int(record["flags"])), ""),
        ("segment", str(record["segment"]), ""),
        ("config", f"serial {record['config_serial']}", ""),
        ("present mode", _modes(int(record["present_mode_requested"]), int(record["present_mode_granted"])), ""),
        ("display time", DisplayTimeSource(int(record["display_time_source"])).label, ""),
        ("uploaded", f"{int(record['bytes_uploaded']) / 1e6:.3f} MB", ""),
        ("pts", _ms(int(record["pts_ns"])), ""),
        *((name, _count(int(record[name]), unit), "") for name, unit in _COUNTS.items()),
    ]
    return rows + _stamps({name: int(record[name]) for name in STAMP_FIELDS}, origin_ns)


def _stamps(stamps: dict[str, int], origin_ns: int) -> list[tuple[str, str, str]]:
    arrive_ns = stamps["arrive_ns"]
    rows = [("arrive", f"{_ms(arrive_ns, origin_ns)} of the run", "")]
    before_ns = arrive_ns
    for name, stamp_ns in list(stamps.items())[1:]:
        step = "" if NO_STAMP_NS in {stamp_ns, before_ns} or name == "due_ns" else f"+{_ms(stamp_ns, before_ns)}"
        rows.append((name.removesuffix("_ns"), _ms(stamp_ns, arrive_ns), step))
        if stamp_ns != NO_STAMP_NS and name != "due_ns":
            before_ns = stamp_ns
    return rows


def _ms(stamp_ns: int, since_ns: int = 0) -> str:
    if NO_STAMP_NS in {stamp_ns, since_ns}:
        return "—"
    value = ns_to_ms(stamp_ns - since_ns)
    return "—" if math.isnan(value) else f"{number_text(round(value, 3))} ms"


def _count(value: int, unit: str) -> str:
    return "—" if value == MISSING_COUNT else f"{value}{unit}"


def _flags(flags: int) -> str:
    names = [name for bit, name in ((FLAG_LATE_SHOWN, "late_shown"), (FLAG_KEY_FRAME, "key frame")) if flags & bit]
    return ", ".join(names) or "none"


def _modes(requested: int, granted: int) -> str:
    names = [str(PRESENT_MODE_BY_CODE.get(code, "never presented")) for code in (requested, granted)]
    return names[0] if names[0] == names[1] else f"{names[0]} requested, {names[1]} granted"
