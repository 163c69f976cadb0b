"""One frame's record in words: the table behind a pinned frame."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.core.clock import NO_STAMP_NS, ns_to_ms
from app.core.metrics import number_text
from app.core.records import (
    FLAG_INTERPOLATED,
    FLAG_KEY_FRAME,
    FLAG_LATE_SHOWN,
    MISSING_COUNT,
    STAMP_FIELDS,
    FrameArray,
)
from app.core.vocabulary import PRESENT_MODE_BY_CODE, DisplayTimeSource, Fate, Governor

HEADINGS: Final = ("Field", "Value", "Since the stamp before")
_FLAG_NAMES: Final = (
    (FLAG_LATE_SHOWN, "late_shown"),
    (FLAG_KEY_FRAME, "key frame"),
    (FLAG_INTERPOLATED, "interpolated"),
)
_COUNTS: Final = {
    "image_index": "",
    "decode_queue_in": " frames",
    "decode_queue_out": " frames",
    "frame_queue_in": " frames",
    "frame_queue_out": " frames",
    "refreshes": " refreshes",
}


def frame_record_rows(frames: FrameArray, origin_ns: int, interpolation: str = "") -> list[tuple[str, str, str]]:
    """Return the rows of a record, given as an array of one.

    Args:
        origin_ns: when the run began; stamps are shown in ms since the frame's arrival, the arrival since the run's
            begin.
        interpolation: how pictures were made up when the frame's fate was decided (`motion`).
    """
    record = frames[0]
    rows = [
        ("frame", str(record["frame_id"]), ""),
        ("source", str(int(record["source_index"]) + 1), ""),
        ("fate", _fate(record), ""),
        ("picture", _picture(record, interpolation), ""),
        ("flags", _flags(int(record["flags"])), ""),
        ("segment", str(record["segment"]), ""),
        ("config", f"serial {record['config_serial']}", ""),
        ("present mode", _modes(int(record["present_mode_requested"]), int(record["present_mode_granted"])), ""),
        ("display time", _display_time(DisplayTimeSource(int(record["display_time_source"]))), ""),
        ("uploaded", f"{int(record['bytes_uploaded']) / 1e6:.3f} MB", ""),
        ("submit CPU time", _us(int(record["submit_cpu_ns"])), ""),
        ("pts", _ms(int(record["pts_ns"])), ""),
        *((name, _count(int(record[name]), unit), "") for name, unit in _COUNTS.items()),
    ]
    return rows + _stamps({name: int(record[name]) for name in STAMP_FIELDS}, origin_ns)


def _fate(record: np.void) -> str:
    governor = Governor(int(record["governor"]))
    who = "" if governor is Governor.NONE else f" by {governor.label}"
    return f"{Fate(int(record['fate'])).label}{who}"


def _picture(record: np.void, interpolation: str) -> str:
    """Return whose picture was shown: the frame's own, none, or one made up, with how and at which GPU time."""
    if int(record["flags"]) & FLAG_INTERPOLATED:
        cost_ns = int(record["interpolation_ns"])
        cost = "GPU time not measured" if cost_ns == NO_STAMP_NS else f"{ns_to_ms(cost_ns):.1f} ms"
        return f"made up ({', '.join(filter(None, (interpolation, cost)))})"
    return "its own" if int(record["present_call_ns"]) != NO_STAMP_NS else "never presented"


def _display_time(source: DisplayTimeSource) -> str:
    return source.label if source is DisplayTimeSource.NONE else f"{source.label} ({source.quality})"


def _us(duration_ns: int) -> str:
    return "—" if duration_ns == NO_STAMP_NS else f"{number_text(duration_ns / 1e3)} µs"


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
    names = [name for bit, name in _FLAG_NAMES if flags & bit]
    return ", ".join(names) or "none"


def _modes(requested: int, granted: int) -> str:
    names = [str(PRESENT_MODE_BY_CODE.get(code, "never presented")) for code in (requested, granted)]
    return names[0] if names[0] == names[1] else f"{names[0]} requested, {names[1]} granted"
