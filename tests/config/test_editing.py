from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.editing import apply_settings, changed_options, option_value, replace_option, replace_options
from app.config.options import OPTIONS, option
from app.config.veoconfig import VeoConfig, config_from_object, config_to_object
from app.core.errors import InvalidInputError
from app.core.vocabulary import PresentMode
from tests.config.configurations import configurations, option_settings


@given(configurations, st.data())
def test_replacing_an_option_by_its_own_value_changes_nothing(config: VeoConfig, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from([row.key for row in OPTIONS]))
    assert replace_option(config, key, option_value(config, key)) == config


@given(configurations, option_settings)
def test_the_difference_applied_to_the_old_gives_the_new(old: VeoConfig, values: dict[str, Any]) -> None:
    new = replace_options(old, values)
    changes = changed_options(old, new)
    assert replace_options(old, {key: after for key, (_, after) in changes.items()}) == new
    assert changed_options(new, old) == {key: (after, before) for key, (before, after) in changes.items()}


@given(configurations)
def test_a_configuration_does_not_differ_from_itself(config: VeoConfig) -> None:
    assert changed_options(config, config_from_object(config_to_object(config))) == {}


def test_changes_stand_in_option_order_with_both_values() -> None:
    new = apply_settings(VeoConfig(), ["min_image_count=4", "frame_queue_depth=8", "thermal_guard.enabled=true"])
    assert list(changed_options(VeoConfig(), new).items()) == [
        ("frame_queue_depth", (4, 8)),
        ("min_image_count", (3, 4)),
        ("thermal_guard.enabled", (False, True)),
    ]


def test_own_keys_survive_an_edit() -> None:
    config = config_from_object({"x_note": "mine", "encoder": {"x_why": 1}})
    edited = replace_option(config, "encoder.preset", "p1")
    assert edited.extensions == {"x_note": "mine"}
    assert edited.encoder.extensions == {"x_why": 1}


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("frame_queue_depth=8", "frame_queue_depth", 8),
        ("render_latency_ms = 45.5", "render_latency_ms", 45.5),
        ("present_mode=MAILBOX", "present_mode", PresentMode.MAILBOX),
        ('present_mode="MAILBOX"', "present_mode", PresentMode.MAILBOX),
        ("name=3", "name", "3"),
        ("name=a=b", "name", "a=b"),
        ("device.gpu_uuid=GPU-1", "device.gpu_uuid", "GPU-1"),
        ("device.gpu_uuid=null", "device.gpu_uuid", None),
        ("gpu_clock_lock_mhz=[1500, 1800]", "gpu_clock_lock_mhz", (1500, 1800)),
        ("realtime.cpus=[2,3]", "realtime.cpus", (2, 3)),
        ("enable_preview=true", "enable_preview", True),
    ],
)
def test_a_setting_is_read_as_its_option_means_it(setting: str, key: str, value: object) -> None:
    assert option_value(apply_settings(VeoConfig(), [setting]), key) == value


def test_the_last_setting_of_a_key_counts_and_rules_hold_at_the_end_only() -> None:
    config = apply_settings(VeoConfig(), ["encoder.cq=20", "encoder.bitrate_kbps=5000", "encoder.cq=null"])
    assert (config.encoder.cq, config.encoder.bitrate_kbps) == (None, 5000)


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("frame_queue_depth", '"frame_queue_depth" has no =; write KEY=VALUE, such as frame_queue_depth=8'),
        ("frame_queue_dept=8", "frame_queue_dept: is not an option; did you mean frame_queue_depth?"),
        ("zzz=8", "zzz: is not an option; see `veotuner schema` for all keys"),
        ("=8", "(no key): is not an option; see `veotuner schema` for all keys"),
        (
            "device=1",
            "device: is a group of options; set one of device.gpu_uuid, device.mig_uuid, device.vulkan_device",
        ),
        ("frame_queue_depth=0", "frame_queue_depth: 0 is outside 1–64 frames; use 1 or more"),
        (
            "frame_queue_depth=many",
            'frame_queue_depth: "many" is not a whole number in 1–64 frames; write a number, such as 4',
        ),
        (
            "frame_queue_depth=NaN",
            'frame_queue_depth: "NaN" is not a whole number in 1–64 frames; write a number, such as 4',
        ),
        ("render_latency_ms=1e999", "render_latency_ms: Infinity is outside 0–500 ms; use 500 or less"),
        (
            "latency_mode=LOW_LATENC",
            'latency_mode: "LOW_LATENC" is not one of LOW_JITTER, BALANCED, LOW_LATENCY; did you mean LOW_LATENCY?',
        ),
    ],
)
def test_a_bad_setting_gets_one_sentence_with_a_cure(setting: str, sentence: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        apply_settings(VeoConfig(), [setting])
    assert str(caught.value) == sentence


def test_all_bad_settings_are_reported_at_once() -> None:
    with pytest.raises(InvalidInputError) as caught:
        apply_settings(VeoConfig(), ["frame_queue_depth=0", "nonsense", "present_mode=VSYNC"])
    assert len(caught.value.problems) == 3


def test_an_edit_of_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match="did you mean min_image_count"):
        replace_option(VeoConfig(), "min_images_count", 3)


@pytest.mark.parametrize("row", [row for row in OPTIONS if row.minimum is not None], ids=lambda row: row.key)
def test_a_number_beyond_either_bound_is_refused(row: Any) -> None:
    below, above = row.minimum - 1, row.maximum + 1
    for value in (below, above):
        wrapped = {"range": [value, value], "int_list": [value], "table": [[value, 60]]}.get(row.kind, value)
        if row.kind == "fields":
            wrapped = dict.fromkeys(row.fields, value)
        with pytest.raises(InvalidInputError, match="is outside"):
            replace_option(VeoConfig(), row.key, wrapped)


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.key)
def test_only_a_nullable_option_takes_null(row: Any) -> None:
    if row.nullable:
        assert option_value(replace_option(VeoConfig(), row.key, None), row.key) is None
    else:
        with pytest.raises(InvalidInputError, match="null is not"):
            replace_option(VeoConfig(), row.key, None)


def test_option_values_are_plain_data() -> None:
    config = replace_option(VeoConfig(), "memory_timings", dict.fromkeys(option("memory_timings").fields, 16))
    assert option_value(config, "memory_timings") == {"tCL": 16, "tRCD": 16, "tRP": 16, "tRAS": 16}
