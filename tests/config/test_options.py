from __future__ import annotations

from typing import Annotated

import pytest

from app.config import options
from app.config.config_object import ConfigObject
from app.config.editing import option_value
from app.config.knob import Effect, Group, Knob, Section
from app.config.options import OPTIONS, SECTIONS, Kind, attribute_path, option
from app.config.veoconfig import VeoConfig

# What the format promises: key → (default, minimum, maximum, effect). A change here is a change of the format.
PROMISED = {
    "nvdec_queue_depth": (4, 1, 32, "pipeline"),
    "frame_queue_depth": (4, 1, 64, "live"),
    "nvenc_queue_depth": (4, 1, 32, "pipeline"),
    "overflow_policy": ("block", None, None, "live"),
    "render_latency_ms": (33.3, 0, 500, "live"),
    "latency_mode": ("LOW_JITTER", None, None, "live"),
    "batch_window_us": (0, 0, 100_000, "live"),
    "sync_mode": ("Immediate", None, None, "live"),
    "preview_latency": ("fixed", None, None, "live"),
    "preview_fps": (0, 0, 500, "live"),
    "present_mode": ("FIFO", None, None, "swapchain"),
    "min_image_count": (3, 2, 8, "swapchain"),
    "enable_preview": (False, None, None, "pipeline"),
    "preview_interval_ms": (1000, 200, 2000, "live"),
    "preview_resolution": ("320x180", None, None, "live"),
    "gpu_clock_lock_mhz": (None, 1, 10_000, "privileged"),
    "memory_clock_lock_mhz": (None, 1, 30_000, "privileged"),
    "memory_clock_offset_mhz": (None, -2000, 2000, "privileged"),
    "memory_timings": (None, 1, 255, "record"),
    "thermal_guard.enabled": (False, None, None, "live"),
    "thermal_guard.start_c": (75, 20, 120, "live"),
    "thermal_guard.span_c": (25, 1, 100, "live"),
    "thermal_guard.floor_ratio": (0.6, 0.05, 1, "live"),
    "thermal_guard.hysteresis_c": (3, 0, 30, "live"),
    "thermal_guard.dwell_s": (2, 0, 60, "live"),
    "frame_compensation.window": (256, 16, 4096, "live"),
    "frame_compensation.table": (((40, 60), (80, 45), (200, 30)), 0, 10_000, "live"),
    "frame_compensation.hysteresis_ms": (5, 0, 500, "live"),
    "frame_compensation.interpolation": ("none", None, None, "live"),
    "bandwidth_guard.threshold_ratio": (0.9, 0.1, 1, "live"),
    "bandwidth_guard.max_fps": (120, 1, 500, "live"),
    "bandwidth_guard.reduced_fps": (96, 1, 500, "live"),
    "iframe_guard.high_water": (0.8, 0.1, 1, "live"),
    "iframe_guard.decrease": (0.7, 0.1, 0.99, "live"),
    "iframe_guard.floor_ratio": (0.4, 0.05, 1, "live"),
    "iframe_guard.recover_step": (0.05, 0.001, 1, "live"),
    "recapture.ratio": (1.3, 1, 10, "live"),
    "recapture.sigma": (2, 0.5, 10, "live"),
    "recapture.window": (64, 16, 4096, "live"),
    "recapture.weights.sm": (0.35, 0, 1, "live"),
    "recapture.weights.memory": (0.4, 0, 1, "live"),
    "recapture.weights.copy": (0.25, 0, 1, "live"),
    "encoder.codec": ("auto", None, None, "pipeline"),
    "alerts.drop_warn_per_s": (3, 0, 500, "live"),
    "alerts.drop_window_s": (5, 0.5, 60, "live"),
    "alerts.drop_critical_in_1s": (15, 1, 500, "live"),
    "alerts.band_low_us": (500, 0, 1_000_000, "live"),
    "alerts.band_high_us": (2000, 0, 1_000_000, "live"),
    "realtime.policy": ("other", None, None, "pipeline"),
    "realtime.priority": (10, 1, 99, "pipeline"),
    "device.gpu_uuid": (None, None, None, "pipeline"),
}


@pytest.mark.parametrize("key", PROMISED)
def test_an_option_has_the_default_bounds_and_effect_that_the_format_promises(key: str) -> None:
    row = option(key)
    assert (row.default, row.minimum, row.maximum, row.effect) == PROMISED[key]


def test_the_engine_obeys_every_option_but_the_recorded_and_the_privileged() -> None:
    kept = {row.key for row in OPTIONS if not row.acts}
    assert {row.effect for row in OPTIONS if not row.acts} == {Effect.RECORD, Effect.PRIVILEGED}
    assert kept >= {"name", "memory_timings", "gpu_clock_lock_mhz"}


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.key)
def test_the_default_of_the_table_is_the_default_of_the_model(row: options.Option) -> None:
    assert option_value(VeoConfig(), row.key) == row.default


def test_a_key_that_python_reserves_leads_to_its_attribute() -> None:
    assert attribute_path("recapture.weights.copy") == ("recapture", "weights", "copy_")


def test_sections_say_what_they_are_for() -> None:
    assert list(SECTIONS) == [
        "thermal_guard",
        "frame_compensation",
        "bandwidth_guard",
        "iframe_guard",
        "recapture",
        "recapture.weights",
        "encoder",
        "alerts",
        "realtime",
        "device",
    ]
    assert all(section.meaning.endswith(".") for section in SECTIONS.values())


def test_an_unknown_key_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        option("frame_queue_dept")


def _row(annotation: object, default: object) -> options.Option:
    """Return the row that a model with one knob `k` makes, checked."""
    model = type("OneKnob", (ConfigObject,), {"__annotations__": {"k": annotation}, "k": default})
    ((row, _),) = options._walk(model)
    assert isinstance(row, options.Option)
    options._check(row)
    return row


def test_a_sound_knob_becomes_a_row() -> None:
    knob = Knob(meaning="Does it.", group=Group.QUEUES, effect=Effect.LIVE, minimum=1, maximum=9, step=1)
    row = _row(Annotated[int | None, knob], 4)
    assert (row.key, row.kind, row.nullable, row.default) == ("k", Kind.INT, True, 4)


@pytest.mark.parametrize(
    ("annotation", "default", "fault"),
    [
        (Annotated[int, Knob(meaning="A.", minimum=1, maximum=9, step=1)], 4, "needs a group and an effect"),
        (int, 4, "needs a Knob or a Section"),
        (Annotated[set, Section(Group.QUEUES, Effect.LIVE, "A.")], 4, "has no attribute"),
    ],
)
def test_a_field_that_is_no_knob_is_refused_at_load(annotation: object, default: object, fault: str) -> None:
    with pytest.raises((TypeError, AttributeError), match=fault):
        _row(annotation, default)


def _knob(meaning: str = "Does it.", **fields: object) -> Knob:
    return Knob(meaning=meaning, group=Group.QUEUES, effect=Effect.LIVE, **fields)  # type: ignore[arg-type]  # any field


@pytest.mark.parametrize(
    ("annotation", "default", "fault"),
    [
        (Annotated[int, _knob(minimum=1, maximum=9, step=1)], 0, "default is outside"),
        (Annotated[int, _knob(minimum=1, maximum=9)], 4, "positive step"),
        (Annotated[int, _knob(step=1)], 4, "needs bounds"),
        (Annotated[bool, _knob(minimum=0, maximum=1)], False, "only numbers"),
        (Annotated[int, _knob("Does it", minimum=1, maximum=9, step=1)], 4, "no sentence"),
        (Annotated[int, _knob(minimum=1, maximum=9, step=1)], None, "not nullable"),
        (Annotated[options.Group, _knob()], "Nonsense", "default is outside"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused_at_load(annotation: object, default: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        _row(annotation, default)


def _leaves(obj: dict[str, object], prefix: str) -> list[str]:
    keys: list[str] = []
    for key, value in obj.items():
        path = f"{prefix}{key}"
        inside = isinstance(value, dict) and path != "provenance"
        keys += _leaves(value, f"{path}.") if inside and isinstance(value, dict) else [path]
    return keys
