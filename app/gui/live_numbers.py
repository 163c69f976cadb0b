"""The number tiles: statistics of the newest frames, in words with unit, N and definition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.analysis.frame_intervals import present_intervals
from app.analysis.frame_statistics import frame_statistics, interval_statistics
from app.analysis.summary import Measured, Missing, Summary, Value, summarise
from app.core.metrics import metric, value_text
from app.core.records import FrameArray
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.gui.source_series import SourceSeries
from app.ipc.frame_ring import FrameCounters
from widgets.number_tile import TileText

WINDOW_S: Final = 10.0
"""Stretch of the newest frames that the tiles speak of."""


@dataclass(frozen=True, slots=True)
class TileSpec:
    """One tile: a metric and which of its statistics."""

    id: str
    metric_id: str
    statistic: str
    title: str


TILES: Final = (
    TileSpec("p50", "interval", "p50", "Interval p50"),
    TileSpec("p99", "interval", "p99", "Interval p99"),
    TileSpec("jitter", "jitter_sd_ms", "value", "Jitter sd"),
    TileSpec("low", "fps_low_1pct_mean", "value", "Low 1 %"),
    TileSpec("latency", "source_to_display_ms", "p50", "Latency p50"),
)


@dataclass(frozen=True, slots=True)
class LostFrames:
    """What the tile of losses says.

    Attributes:
        by_class: lost frames by class, every class. total: frames that they are a part of.
        basis: which frames these are, in words. repeated: refreshes that showed a frame again; None where unknown.
    """

    by_class: Mapping[Fate, int]
    total: int
    basis: str
    repeated: int | None


def lost_of_run(counters: FrameCounters | None) -> LostFrames | None:
    """Return the losses of a run of one source; None before the engine has counted."""
    if counters is None:
        return None
    basis = f"produced since the run began, {counters.in_flight} in flight"
    return LostFrames(counters.lost, counters.produced, basis, counters.repeated)


def lost_of_source(series: SourceSeries) -> LostFrames:
    """Return the losses of one of several sources, whose totals the engine does not count each by itself."""
    lost = series.lost
    total = int(series.counts[Fate.DISPLAYED]) + sum(lost.values())
    return LostFrames(lost, total, "records of this source since the run began", None)


def live_tiles(
    frames: FrameArray, interval_metric: str, nominal_ms: float, lost: LostFrames | None, source: str
) -> dict[str, TileText]:
    """Return every tile by id.

    Args:
        frames: records of the newest `WINDOW_S`.
        interval_metric: `display_interval_ms`, or `present_interval_ms` where there is no display time.
        nominal_ms: NaN when there is none.
        lost: what was lost of which frames; None before anybody counted.
        source: where the display times come from, in words.
    """
    measured = _measure(frames, interval_metric, nominal_ms)
    tiles = {spec.id: _tile(spec, measured, interval_metric, source) for spec in TILES}
    return {**tiles, "lost": _lost_tile(lost)}


def _measure(frames: FrameArray, interval_metric: str, nominal_ms: float) -> Mapping[str, Measured]:
    measured = frame_statistics(frames, nominal_ms)
    if interval_metric == "display_interval_ms":
        return measured
    # Without a display truth the interval, jitter and low speak of present calls, and their titles say so.
    calls = present_intervals(frames)
    row = metric(interval_metric)
    return {**measured, **interval_statistics(calls, nominal_ms), row.id: summarise(calls.interval_ms, row.missing)}


def _tile(spec: TileSpec, measured: Mapping[str, Measured], interval_metric: str, source: str) -> TileText:
    metric_id = interval_metric if spec.metric_id == "interval" else spec.metric_id
    row = metric(metric_id)
    value, n, reason = _number(measured.get(metric_id, Missing(row.missing)), spec.statistic)
    of_calls = interval_metric == "present_interval_ms" and spec.metric_id != "source_to_display_ms"
    calls_note = "Computed from present calls: there is no display time here." if of_calls else ""
    heading = f"{row.title} ({row.id}, {spec.statistic})"
    tip = "\n".join(filter(None, (heading, row.definition, calls_note, _basis(n, source), reason)))
    if math.isnan(value):
        return TileText(spec.title, "—", "", reason, tip)
    basis = f"N {n} calls" if of_calls else f"N {n}"
    return TileText(spec.title, value_text(metric_id, value), basis, "", tip, basis_short=f"N {n}")


def _number(measured: Measured, statistic: str) -> tuple[float, int, str]:
    """Return value (NaN when missing), N and the reason."""
    if isinstance(measured, Missing):
        return math.nan, 0, measured.reason
    if isinstance(measured, Value):
        return measured.value, measured.n or 0, ""
    assert isinstance(measured, Summary)
    return getattr(measured, statistic), measured.n, measured.missing_statistics().get(statistic, "")


def _basis(n: int, source: str) -> str:
    return f"N = {n}, the last {WINDOW_S:.0f} s" + (f"; {source}" if source else "")


def _lost_tile(lost: LostFrames | None) -> TileText:
    row = metric("loss_ratio")
    if lost is None or not lost.total:
        reason = "the engine published no counters yet" if lost is None else row.missing
        return TileText("Lost", "—", "", reason, f"{row.definition}\n{reason}")
    count = sum(lost.by_class.values())
    by_class = [f"{fate.label}: {lost.by_class[fate]}" for fate in LOSS_CLASSES if lost.by_class[fate]]
    tip = "\n".join((
        row.definition,
        f"{count} of {lost.total} {lost.basis}",
        *(by_class or ["no class has any"]),
        f"repeated refreshes (no loss): {'—' if lost.repeated is None else lost.repeated}",
    ))  # fmt: skip
    return TileText(
        "Lost", f"{count} frame{'' if count == 1 else 's'}", value_text(row.id, count / lost.total), "", tip
    )
