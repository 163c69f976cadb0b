"""The report of a run: one HTML file that stands alone, for a screen, light or dark, and for paper.

It holds figures as vector graphics and no script; nothing in it is fetched from anywhere. The same run gives the same
bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from app.analysis.run_data import RunData
from app.analysis.run_sources import run_source, source_count
from app.analysis.run_statistics import summarise_run
from app.config.atomic_file import write_atomically
from app.config.veoconfig import config_to_object
from app.export import report_sections, report_tables
from app.export.display_truth import display_quality, display_time_label
from app.export.figures import ReportFigure, report_figures
from app.export.metric_sources import metric_sources, simulated_metrics
from app.export.reproduction import run_command
from app.export.run_warnings import run_advice, run_warnings

_TEMPLATE: Final = "report.html.j2"


def write_report(data: RunData, path: Path) -> None:
    """Write the report of a run to `path`, whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    write_atomically(path, report_html(data).encode())


def report_html(data: RunData) -> str:
    """Return the report of a run as one HTML document."""
    environment = Environment(
        loader=PackageLoader("app.export"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["inline"] = _inline
    return environment.get_template(_TEMPLATE).render(_context(data)) + "\n"


def _inline(figure: ReportFigure) -> Markup:
    return Markup(figure.svg)  # noqa: S704 - our own SVG; texts in it are escaped by matplotlib


def _context(data: RunData) -> dict[str, Any]:
    measured, sources, simulated = summarise_run(data), metric_sources(data), simulated_metrics(data)
    first = run_source(data)
    return {
        "heading": " + ".join((data.source_text or "unknown source", *data.more_source_texts)),
        "source_count": source_count(data),
        "sink_text": data.sink_text or "unknown sink",
        "started": data.started_at.replace("T", " ") or "unknown",
        "duration": f"{data.duration_s:.1f} s",
        "warmup": f"{data.warmup_s:g} s",
        "measured_count": len(first.measured),
        "tool_version": data.tool_version,
        "badges": _badges(data, simulated),
        "headlines": report_tables.headlines(measured, sources),
        "warnings": run_warnings(data),
        "advice": run_advice(data),
        "figures": report_figures(data),
        "source_sections": report_sections.source_sections(data),
        "display": report_sections.display_section(data),
        "governors": report_sections.governor_section(data),
        "encoder": report_sections.encoder_section(data, measured, sources),
        "stages": report_tables.stage_table(measured, sources),
        "losses": report_tables.loss_table(data),
        "loss_sentence": report_tables.loss_sentence(measured["loss_ratio"]),
        "repeated": data.counters.repeated,
        "law": report_tables.law_sentence(first),
        "tables": report_tables.metric_tables(measured, sources, simulated),
        "statistics": report_tables.STATISTICS,
        "differences": report_tables.option_differences(data),
        "option_count": report_tables.option_count(),
        "config": json.dumps(config_to_object(data.config), indent=2, ensure_ascii=False),
        "changes": report_tables.change_lines(data),
        "events": report_tables.event_lines(data),
        "facts": {
            "Source": report_tables.source_facts_of(first),
            "Sink": report_tables.sink_facts(data, display_time_label(data)),
            "Machine": report_tables.machine_facts(data),
        },
        "own_cost": report_tables.own_cost(data),
        "command": run_command(data),
    }


def _badges(data: RunData, simulated: frozenset[str]) -> list[tuple[str, str]]:
    """Return (kind, text) of the labels beside the heading; kind `warn` is for what is not what it seems."""
    quality = display_quality(data)
    kind = "warn" if quality == "bound" else "plain"
    badges = [(kind, f"display time: {display_time_label(data)} ({quality})")]
    if simulated:
        badges.append(("warn", "SIMULATED GPU"))
    if data.sink and data.sink.device_is_software:
        badges.append(("warn", "software Vulkan"))
    if data.sink and data.sink.kind == "virtual":
        badges.append(("plain", "virtual display"))
    return badges
