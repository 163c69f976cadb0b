from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.advice import Advice, config_advice, even_rates, is_even_rate
from app.config.editing import replace_options
from app.config.veoconfig import VeoConfig
from app.core.vocabulary import PresentMode
from tests.config.configurations import configurations


def advice(settings: dict[str, Any], **surroundings: Any) -> tuple[Advice, ...]:
    return config_advice(replace_options(VeoConfig(), settings), **surroundings)


def keys(settings: dict[str, Any], **surroundings: Any) -> list[str]:
    return [piece.key for piece in advice(settings, **surroundings)]


def test_the_defaults_are_in_order_on_a_60_hz_display() -> None:
    assert config_advice(VeoConfig(), source_rate_hz=60, refresh_hz=60, available_modes=["FIFO"], image_count=3) == ()


@given(configurations)
def test_what_is_unknown_gives_no_advice(config: VeoConfig) -> None:
    assert config_advice(config) == ()


@given(configurations, st.floats(0.1, 1000), st.floats(1, 1000))
def test_any_configuration_on_any_display_gets_sentences(config: VeoConfig, rate: float, refresh: float) -> None:
    for piece in config_advice(config, source_rate_hz=rate, refresh_hz=refresh, available_modes=[], image_count=3):
        assert piece.text.endswith(".")


def test_a_queue_too_shallow_for_the_latency_shows_its_arithmetic() -> None:
    (piece,) = advice({"render_latency_ms": 90, "frame_queue_depth": 4}, source_rate_hz=60)
    assert piece == Advice(
        "frame_queue_depth",
        "render_latency_ms 90 ms at 60 fps is 90 ÷ 16.7 = 5.4 frames waiting at once, but frame_queue_depth 4 holds "
        "66.7 ms of them; raise it to 6 or lower render_latency_ms to 66.6 ms.",
    )


@pytest.mark.parametrize(("depth", "advised"), [(5, ["frame_queue_depth"]), (6, [])])
def test_the_depth_that_is_advised_is_enough_and_one_less_is_not(depth: int, advised: list[str]) -> None:
    assert keys({"render_latency_ms": 90, "frame_queue_depth": depth}, source_rate_hz=60) == advised


def test_a_latency_of_exactly_the_depth_fits() -> None:
    assert keys({"render_latency_ms": 100, "frame_queue_depth": 6}, source_rate_hz=60) == []


def test_low_latency_ignores_render_latency_and_so_does_the_advice() -> None:
    settings = {"render_latency_ms": 0, "frame_queue_depth": 1, "latency_mode": "LOW_LATENCY"}
    assert keys(settings, source_rate_hz=60, refresh_hz=60) == []


def test_a_batch_window_beyond_the_refresh_shows_its_arithmetic() -> None:
    (piece,) = advice({"batch_window_us": 20_000}, refresh_hz=60)
    assert piece == Advice(
        "batch_window_us",
        "batch_window_us 20000 µs is longer than a refresh (1 000 000 ÷ 60 Hz = 16667 µs): at most 50 of 60 "
        "refreshes a second can show a new frame; use 16666 µs or less.",
    )
    assert keys({"batch_window_us": 16_666}, refresh_hz=60) == []
    assert keys({"batch_window_us": 10_000}, refresh_hz=100) == []


def test_an_uneven_rate_names_the_nearest_even_ones() -> None:
    (piece,) = advice({"preview_fps": 45}, refresh_hz=60)
    assert piece == Advice(
        "preview_fps",
        "preview_fps 45 fps on 60 Hz is 60 ÷ 45 = 1.333 refreshes a frame: frames stay 1 or 2 refreshes in turn, "
        "which is seen as judder; the nearest even rates are 30 or 60 fps.",
    )


def test_a_rate_above_the_refresh_says_what_is_never_displayed() -> None:
    (piece,) = advice({"preview_fps": 100}, refresh_hz=60)
    assert "40 frames a second can never be displayed; the nearest even rates are 60 fps" in piece.text


def test_the_sources_own_rate_counts_while_preview_fps_is_0() -> None:
    (piece,) = advice({}, source_rate_hz=24, refresh_hz=60)
    assert piece.text.startswith("the source's own rate 24 fps on 60 Hz")


@pytest.mark.parametrize(
    ("rate", "refresh", "even"),
    [
        (72, 72, True),
        (72, 144, True),
        (72, 60, False),
        (72, 120, False),
        (60, 60, True),
        (59.94, 60, True),
        (29.97, 60, True),
        (23.976, 60, False),
        (24, 120, True),
        (60, 59.94, True),
        (120, 60, False),
        (0.5, 60, True),
    ],
)
def test_a_rate_is_even_where_it_divides_the_refresh(rate: float, refresh: float, even: bool) -> None:
    assert is_even_rate(rate, refresh) is even


@given(st.floats(1, 1000), st.floats(1, 1000))
def test_the_nearest_even_rates_are_even_and_on_either_side(rate: float, refresh: float) -> None:
    found = even_rates(rate, refresh)
    assert found
    assert all(is_even_rate(even, refresh) for even in found)
    assert len(found) < 2 or found[0] <= rate * (1 + 1e-9) <= found[1] * (1 + 2e-9)


def test_a_saturated_fifo_slower_than_the_latency_shows_its_arithmetic() -> None:
    (piece,) = advice({"min_image_count": 4, "render_latency_ms": 33.3}, refresh_hz=60)
    assert piece == Advice(
        "min_image_count",
        "a saturated FIFO with 4 images delays a frame by (4 − 1) × 16.67 ms = 50 ms, more than render_latency_ms "
        "33.3 ms: frames will be late; raise render_latency_ms to 50 ms, ask for fewer images, or use MAILBOX.",
    )


def test_the_images_that_really_exist_count_not_those_asked_for() -> None:
    assert keys({"min_image_count": 3}, refresh_hz=60, image_count=5) == ["min_image_count"]
    assert keys({"min_image_count": 5}, refresh_hz=60, image_count=3) == []


def test_only_modes_that_queue_are_warned_of_their_queue() -> None:
    warned = [mode for mode in PresentMode if keys({"present_mode": mode, "render_latency_ms": 0}, refresh_hz=60)]
    assert warned == [PresentMode.FIFO, PresentMode.FIFO_RELAXED]


def test_a_mode_that_the_surface_lacks_is_named_with_those_it_has() -> None:
    (piece,) = advice({"present_mode": "MAILBOX"}, available_modes=["FIFO", "IMMEDIATE"])
    assert piece == Advice(
        "present_mode",
        "MAILBOX is not offered by this surface (it offers FIFO, IMMEDIATE); another mode will be granted.",
    )
