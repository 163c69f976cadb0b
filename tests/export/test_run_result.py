"""The result JSON has the keys that others rely on, holds no NaN, and says the same as the run."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from app.core.metrics import METRICS
from app.core.records import MISSING_COUNT
from app.core.vocabulary import LOSS_CLASSES
from app.export.run_result import build_run_result, result_json
from tests.analysis.run_builder import Made, made_frames, made_run, made_telemetry, run_of_nothing


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return build_run_result(made_run(Made(seconds=6.0, jitter_ms=1.0, lost_every=20)))


def empty_result() -> dict[str, Any]:
    return build_run_result(run_of_nothing())


def no_constant(name: str) -> object:
    raise AssertionError(f"{name} is no JSON")


def test_the_schema_is_named(result: dict[str, Any]) -> None:
    assert result["schema"] == "veotuner-run/1"


def test_the_keys_that_others_rely_on_are_there(result: dict[str, Any]) -> None:
    assert {"config", "source", "sink", "frames", "metrics", "self", "duration_s", "warmup_s"} <= set(result)
    assert {"sources", "display_time", "command_buffers", "governors", "encoder"} <= set(result)
    assert set(result["sink"]) == {
        "kind",
        "refresh_hz",
        "present_mode_requested",
        "present_mode_granted",
        "image_count",
        "display_time_source",
    }
    assert set(result["frames"]) == {"produced", "displayed", "lost", "repeated", "in_flight"}
    assert set(result["frames"]["lost"]) == {fate.label for fate in LOSS_CLASSES}
    assert list(result["metrics"]) == list(METRICS)


def test_frames_are_conserved(result: dict[str, Any]) -> None:
    frames = result["frames"]
    assert frames["produced"] == frames["displayed"] + sum(frames["lost"].values()) + frames["in_flight"]
    assert result["records"]["unaccounted"] == 0


def test_each_metric_is_a_summary_a_value_or_missing(result: dict[str, Any]) -> None:
    summary = {"n", "mean", "sd", "p50", "p95", "p99", "max"}
    for metric_id, entry in result["metrics"].items():
        assert set(entry) - {"missing_statistics"} in (summary, {"value"}, {"missing"}), metric_id


@pytest.mark.parametrize("make", [lambda: build_run_result(made_run(Made(seconds=1.5))), empty_result])
def test_the_json_holds_no_nan_and_reads_back_as_it_was(make: Any) -> None:
    result = make()
    text = result_json(result)
    assert json.loads(text, parse_constant=no_constant) == result
    assert result_json(json.loads(text)) == text


def test_the_same_run_gives_the_same_bytes() -> None:
    made = Made(seconds=2.0, jitter_ms=2.0, lost_every=9)
    assert result_json(build_run_result(made_run(made))) == result_json(build_run_result(made_run(made)))


def test_a_percentile_of_too_few_samples_is_null_with_a_reason() -> None:
    entry = build_run_result(made_run(Made(seconds=1.0), warmup_s=0.0))["metrics"]["display_interval_ms"]
    assert entry["p99"] is None
    assert entry["missing_statistics"]["p99"] == "needs 100 samples, there are 59"


def test_a_run_that_never_got_ready_says_so() -> None:
    result = empty_result()
    assert result["sink"]["kind"] is None
    assert any("never got ready" in warning for warning in result["warnings"])
    assert result["frames"]["repeated"] is None
    assert "missing" in result["metrics"]["source_to_display_ms"]


def test_facts_about_the_machine_that_json_cannot_hold_become_text_or_null() -> None:
    run = made_run(Made(seconds=1.0), machine={"load": math.nan, "where": ("a", 1), 3: {"x": np.float64(2.0)}})
    assert build_run_result(run)["machine"] == {"load": None, "where": ["a", 1], "3": {"x": 2.0}}


def test_littles_law_is_reported_with_its_figures(result: dict[str, Any]) -> None:
    law = result["littles_law"]
    assert law["holds"] is True
    assert law["product"] == pytest.approx(law["frames_in_system"], rel=0.05)


def test_simulated_readings_are_called_simulated() -> None:
    result = build_run_result(made_run(Made(seconds=3.0), telemetry=made_telemetry(3.0, gpu="simulated")))
    assert result["metric_sources"]["gpu_temperature_c"] == "SIMULATED GPU"
    assert result["metric_sources"]["host_cpu_ratio"] == "host"
    assert any(warning.startswith("SIMULATED") for warning in result["warnings"])


def test_a_result_can_be_made_of_a_run_without_refreshes() -> None:
    frames = made_frames(Made(seconds=2.0))
    frames["refreshes"] = MISSING_COUNT
    result = build_run_result(made_run(frames=frames))
    assert result["cadence"] == {}
    assert "missing" in result["metrics"]["display_refreshes"]
