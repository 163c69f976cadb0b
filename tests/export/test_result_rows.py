"""The table of a result: frames first, each number with unit, N and source, the headline ones even when missing."""

from __future__ import annotations

from typing import Any

import pytest

from app.export.result_rows import ResultRow, result_rows
from app.export.run_result import build_run_result
from tests.analysis.run_builder import (
    Made,
    made_decision,
    made_encoder,
    made_encodes,
    made_run,
    run_of_nothing,
    run_of_two_sources,
)


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return build_run_result(made_run(Made(seconds=6.0, jitter_ms=1.0, lost_every=20)))


def rows_of(result: dict[str, Any]) -> dict[str, ResultRow]:
    return {row.title: row for row in result_rows(result)}


def test_rows_name_the_unit_the_count_and_the_source(result: dict[str, Any]) -> None:
    rows = rows_of(result)
    latency = rows["Source to display"]
    assert " ms " in latency.value
    assert int(latency.n) == result["metrics"]["source_to_display_ms"]["n"]
    assert latency.source == "display time: virtual_display"
    assert rows["Jitter (standard deviation)"].n == str(result["metrics"]["display_interval_ms"]["n"])
    assert rows["Frames produced"].value == "360"


def test_titles_are_unique(result: dict[str, Any]) -> None:
    titles = [row.title for row in result_rows(result)]
    assert len(titles) == len(set(titles))


def test_a_headline_that_is_missing_is_shown_with_its_reason() -> None:
    rows = rows_of(build_run_result(run_of_nothing()))
    assert rows["Source to display"].value == "— (no frames)"
    assert rows["Refreshes repeated"].value.startswith("—")
    assert rows["Display time"].value == "none (none)"
    assert not {"GPU temperature", "Encoder", "Command buffers", "Governor decisions"} & set(rows)


def test_display_time_refresh_and_command_buffers_are_shown_with_what_they_are_worth(result: dict[str, Any]) -> None:
    rows = rows_of(result)
    assert rows["Display time"].value == "virtual_display (exact)"
    assert rows["Refresh"].value == "60 Hz"
    assert rows["Command buffers"].value == "reuse"


def test_what_was_not_decimated_takes_no_row(result: dict[str, Any]) -> None:
    rows = rows_of(result)
    assert rows["Decimated by preview_fps"].value == f"{result['frames']['lost']['decimated']} frames"
    assert "Decimated by the thermal guard" not in rows
    assert "Made-up pictures" not in rows


def test_decisions_and_encoder_are_shown_where_there_are_any() -> None:
    made = Made(seconds=2.0)
    run = made_run(
        made,
        decisions=(made_decision("thermal", 0.5), made_decision("bandwidth", 1.25)),
        encoder=made_encoder(),
        encodes=made_encodes(made, skipped_every=40),
    )
    rows = rows_of(build_run_result(run))
    assert rows["Governor decisions"].value == "2, last bandwidth: ceiling 45.0 fps at 1.2 s"
    assert rows["Encoder"] == ResultRow("Encoder", made_encoder().description, "120", "engine")
    assert rows["Skipped by the encoder"].value == "3 frames"


def test_further_sources_follow_with_their_own_numbers() -> None:
    rows = result_rows(build_run_result(run_of_two_sources()))
    second = {row.title: row for row in rows if row.title.startswith("Source 2")}
    assert second["Source 2"].value == "synthetic:1280x720@30"
    assert second["Source 2: frames"].value == "300 displayed, 0 lost"
    assert second["Source 2: Average frame rate"].value.startswith("30.")
    assert not [row for row in rows if row.title.startswith("Source 1")], "the first one's are the run's"
