"""The result of a run as rows of text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from app.core.metrics import METRICS, MetricGroup, metric, number_text, value_text

_ALWAYS_SHOWN: Final = (
    "source_to_display_ms",
    "display_interval_ms",
    "jitter_sd_ms",
    "fps_average",
    "fps_low_1pct_mean",
    "stutter_time_ratio",
    "loss_ratio",
)
_SHOWN_OF_EACH_SOURCE: Final = (
    "source_to_display_ms",
    "display_interval_ms",
    "jitter_sd_ms",
    "fps_average",
    "loss_ratio",
)
_COUNTED_ABOVE: Final = "loss."
"""Metrics that the rows of frame counts show."""


class ResultRow(NamedTuple):
    """One row of the result table, as text: what, how much with its unit, of how many samples, and where from."""

    title: str
    value: str
    n: str
    source: str


def result_rows(result: Mapping[str, Any]) -> list[ResultRow]:
    """Return the rows of a result's table.

    Frames come first, then what the run was made with, every metric measured, the headline ones in any case, and the
    further sources.
    """
    return [*_frame_rows(result), *_setting_rows(result), *_metric_rows(result), *_source_rows(result)]


def _frame_rows(result: Mapping[str, Any]) -> Iterator[ResultRow]:
    frames, governors = result["frames"], result["governors"]
    lost = {metric(f"loss.{name}").title: count for name, count in frames["lost"].items() if count}
    repeated = "— (the sink knows no refresh)" if frames["repeated"] is None else str(frames["repeated"])
    counts = {
        "Frames produced": str(frames["produced"]),
        "Frames displayed": str(frames["displayed"]),
        **{title: str(count) for title, count in lost.items()},
        "In flight at the end": str(frames["in_flight"]),
        "Refreshes repeated": repeated,
    }
    whose = "engine counters, all sources" if len(result["sources"]) > 1 else "engine counters"
    yield from (ResultRow(title, text, "", whose) for title, text in counts.items())
    if governors["decisions"]:
        last = governors["decisions"][-1]
        text = f"{len(governors['decisions'])}, last {last['governor']}: {last['action']} at {last['at_s']:.1f} s"
        yield ResultRow("Governor decisions", text, "", "engine")


def _setting_rows(result: Mapping[str, Any]) -> Iterator[ResultRow]:
    display, encoder = result["display_time"], result["encoder"]
    pictures = sum(each["pictures"] for each in display["observed"])
    yield ResultRow("Display time", f"{display['source']} ({display['quality']})", str(pictures), "frame records")
    if display["refresh_hz"] is not None:
        refresh = f"{number_text(display['refresh_hz'])} Hz"
        yield ResultRow("Refresh", refresh, "", display["refresh_source"] or "sink")
    if "missing" not in result["metrics"]["submit_cpu_us"]:
        yield ResultRow("Command buffers", " → ".join(result["command_buffers"]["by_mode"]), "", "configuration")
    if encoder.get("description"):
        yield ResultRow("Encoder", encoder["description"], str(encoder["frames"]["offered"]), "engine")


def _metric_rows(result: Mapping[str, Any]) -> Iterator[ResultRow]:
    for metric_id, entry in result["metrics"].items():
        if metric_id not in METRICS or metric_id.startswith(_COUNTED_ABOVE):
            continue
        if metric_id in _ALWAYS_SHOWN or not (_is_zero_count(metric_id, entry) or "missing" in entry):
            yield _metric_row(
                metric_id, entry, result["metric_sources"].get(metric_id, ""), result["metric_samples"].get(metric_id)
            )


def _source_rows(result: Mapping[str, Any]) -> Iterator[ResultRow]:
    """Return the main metrics of every source but the first, whose metrics stand above."""
    for source in result["sources"][1:]:
        title = f"Source {source['index'] + 1}"
        frames = source["frames"]
        yield ResultRow(title, source["text"], "", "")
        lost = sum(frames["lost"].values())
        yield ResultRow(f"{title}: frames", f"{frames['displayed']} displayed, {lost} lost", "", "frame records")
        for metric_id in _SHOWN_OF_EACH_SOURCE:
            row = _metric_row(
                metric_id, source["metrics"][metric_id], "frame records", source["metric_samples"].get(metric_id)
            )
            yield row._replace(title=f"{title}: {row.title}")


def _is_zero_count(metric_id: str, entry: Mapping[str, Any]) -> bool:
    return METRICS[metric_id].group is MetricGroup.LOSS and entry.get("value") == 0


def _metric_row(metric_id: str, entry: Mapping[str, Any], source: str, samples: int | None) -> ResultRow:
    row = metric(metric_id)
    if "missing" in entry:
        return ResultRow(row.title, f"— ({entry['missing']})", "", source)
    if "value" in entry:
        return ResultRow(
            row.title, value_text(metric_id, entry["value"]), "" if samples is None else str(samples), source
        )
    spread = [
        f"{name} {number_text(row.shown(entry[name]))}" for name in ("p95", "p99", "max") if entry[name] is not None
    ]
    text = f"{value_text(metric_id, entry['p50'])} (mean {number_text(row.shown(entry['mean']))}, {', '.join(spread)})"
    return ResultRow(row.title, text, str(samples), source)
