from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from app.config.store import render_config
from app.config.veoconfig import MAX_PROBLEMS, MemoryTimings, VeoConfig, config_from_object, config_to_object
from app.core.errors import InvalidInputError
from app.core.vocabulary import LatencyMode, PresentMode
from tests.config.configurations import configurations


def test_the_empty_object_is_the_default_configuration() -> None:
    assert config_from_object({}) == VeoConfig()


def test_the_fragment_that_circulates_among_users_is_valid() -> None:
    config = config_from_object({"frame_queue_depth": 8, "render_latency_ms": 33})
    assert (config.frame_queue_depth, config.render_latency_ms) == (8, 33.0)
    assert config.present_mode is PresentMode.FIFO


@given(configurations)
def test_a_configuration_survives_the_way_through_its_object(config: VeoConfig) -> None:
    assert config_from_object(json.loads(json.dumps(config_to_object(config)))) == config


def test_values_have_the_types_of_the_vocabulary() -> None:
    config = config_from_object(
        {"latency_mode": "BALANCED", "memory_timings": {"tCL": 16, "tRCD": 18, "tRP": 18, "tRAS": 36}}
    )
    assert config.latency_mode is LatencyMode.BALANCED
    assert config.memory_timings == MemoryTimings(tCL=16, tRCD=18, tRP=18, tRAS=36)


def test_a_configuration_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError):
        VeoConfig().frame_queue_depth = 8


def test_a_whole_float_is_a_whole_number_as_json_has_it() -> None:
    assert config_from_object({"frame_queue_depth": 8.0}) == config_from_object({"frame_queue_depth": 8})


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_equal_configurations_are_written_alike(zero: float) -> None:
    written = {render_config(config_from_object({"render_latency_ms": zero, "x_note": zero}))}
    assert written == {render_config(config_from_object({"render_latency_ms": 0, "x_note": 0}))}


def test_own_keys_are_kept_at_every_level_and_written_last_by_name() -> None:
    obj = {"x_b": {"z": 1, "a": [1, None]}, "x_a": "text", "thermal_guard": {"x_why": "summer"}}
    config = config_from_object(obj)
    saved = config_to_object(config)
    assert list(saved)[-2:] == ["x_a", "x_b"]
    assert saved["x_b"] == obj["x_b"]
    assert saved["thermal_guard"]["x_why"] == "summer"
    assert config.thermal_guard.extensions == {"x_why": "summer"}


def test_the_order_of_own_keys_in_the_file_does_not_matter() -> None:
    one = config_from_object({"x_a": 1, "x_b": 2, "provenance": {"b": 1, "a": 2}})
    other = config_from_object({"provenance": {"a": 2, "b": 1}, "x_b": 2, "x_a": 1})
    assert one == other
    assert render_config(one) == render_config(other)


def test_the_object_that_is_given_is_not_changed() -> None:
    obj: dict[str, Any] = {"schema": "veoconfig/1", "nonsense": 1, "encoder": {"cq": 99, "x_a": 1}}
    before = json.dumps(obj)
    with pytest.raises(InvalidInputError):
        config_from_object(obj)
    assert json.dumps(obj) == before


def test_every_problem_is_reported_at_once_also_of_rules_behind_other_problems() -> None:
    with pytest.raises(InvalidInputError) as caught:
        config_from_object(
            {
                "frame_queue_depth": 0,
                "rendr_latency_ms": 5,
                "alerts": {"band_low_us": 3000, "drop_window_s": "long"},
                "gpu_clock_lock_mhz": [1800, 1500],
            }
        )
    assert {problem.path for problem in caught.value.problems} == {
        "frame_queue_depth",
        "rendr_latency_ms",
        "alerts.drop_window_s",
        "alerts.band_high_us",
        "gpu_clock_lock_mhz",
    }


def test_a_flood_of_problems_is_cut_with_their_number() -> None:
    with pytest.raises(InvalidInputError) as caught:
        config_from_object({f"nonsense_{number}": 1 for number in range(5000)})
    assert len(caught.value.problems) == MAX_PROBLEMS + 1
    assert caught.value.problems[-1].expected == f"and {5000 - MAX_PROBLEMS} more problems"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
@pytest.mark.parametrize("key", ["provenance", "x_note"])
def test_what_json_cannot_hold_is_refused_before_it_is_saved(key: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match="JSON cannot"):
        config_from_object({key: {"measured": value}})


def test_the_constructor_refuses_unknown_keys_and_bad_values() -> None:
    with pytest.raises(ValidationError, match="is not an option"):
        VeoConfig(frame_queue=8)  # type: ignore[call-arg]  # what is being tested
    with pytest.raises(ValidationError):
        VeoConfig(frame_queue_depth=0)
