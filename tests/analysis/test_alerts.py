"""Alerts are given when a limit is passed, once, and never for what was asked for; band edges belong upwards."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.alerts import (
    AlertSeverity,
    AlertState,
    DropAlert,
    IntervalBands,
    LossSample,
    alarming_losses,
    band_of,
    drop_alert,
    interval_bands,
)
from app.config.sections import Alerts
from app.core.clock import NS_PER_S
from app.core.records import empty_frames
from app.core.vocabulary import LOSS_CLASSES, Fate
from tests.analysis.run_builder import counters_of

RULE = Alerts()
TICK_NS = NS_PER_S // 4
LOSSES = st.lists(st.integers(0, 6), max_size=120)


def alerts_of(lost_each_tick: list[int], rule: Alerts = RULE) -> list[tuple[int, DropAlert]]:
    """Count so many losses in each quarter of a second; return (number of the tick, alert) of those given."""
    samples, state, found = [LossSample(0, 0)], AlertState(), []
    for tick, lost in enumerate(lost_each_tick, 1):
        samples.append(LossSample(tick * TICK_NS, samples[-1].lost_total + lost))
        state, alert = drop_alert(rule, state, samples)
        if alert is not None:
            found.append((tick, alert))
    return found


def severities(lost_each_tick: list[int], rule: Alerts = RULE) -> list[AlertSeverity]:
    return [alert.severity for _, alert in alerts_of(lost_each_tick, rule)]


def test_more_than_three_a_second_over_five_seconds_warn() -> None:
    assert alerts_of([1, 1, 1, 0] * 20) == []  # exactly three a second
    (tick, alert), *others = alerts_of([1, 1, 1, 0] * 4 + [1, 1, 1, 1])
    assert others == []
    assert tick == 20  # sixteen within five seconds
    assert alert == DropAlert(
        AlertSeverity.WARNING,
        "16 frames lost in 5 s, 3.2 a second; more than 3 a second are worth a warning (alerts.drop_warn_per_s)",
    )


def test_fifteen_within_a_second_are_critical() -> None:
    assert severities([0, 0, 14, 0]) == []
    assert alerts_of([0, 0, 15]) == [
        (
            3,
            DropAlert(
                AlertSeverity.CRITICAL, "15 frames lost within a second; 15 are critical (alerts.drop_critical_in_1s)"
            ),
        )
    ]
    assert severities([4, 4, 4, 3]) == [AlertSeverity.CRITICAL]


def test_fifteen_in_more_than_a_second_are_not_critical() -> None:
    assert AlertSeverity.CRITICAL not in severities([3, 3, 3, 3, 3])


def test_an_alert_is_not_repeated_while_it_lasts() -> None:
    assert severities([2] * 400) == [AlertSeverity.WARNING]
    assert severities([6] * 400) == [AlertSeverity.CRITICAL]


def test_it_grows_worse_once_and_is_armed_again_after_a_window_without() -> None:
    assert severities([2] * 40 + [20] * 40) == [AlertSeverity.WARNING, AlertSeverity.CRITICAL]
    warning, again = alerts_of([2] * 40 + [0] * 60 + [2] * 40)
    assert (warning[1].severity, again[1].severity) == (AlertSeverity.WARNING, AlertSeverity.WARNING)


def test_a_rate_that_swings_about_the_limit_is_told_once() -> None:
    assert severities(([1, 1, 1, 0] * 6 + [1, 1, 1, 1] * 2) * 8) == [AlertSeverity.WARNING]


@given(LOSSES)
def test_between_two_alerts_of_a_kind_the_limit_was_not_passed_for_a_window(lost_each_tick: list[int]) -> None:
    found = alerts_of(lost_each_tick)
    for severity in AlertSeverity:
        ticks = [tick for tick, alert in found if alert.severity is severity]
        assert all(later - earlier > RULE.drop_window_s * 4 for earlier, later in pairwise(ticks))


@given(LOSSES)
def test_there_is_an_alert_exactly_if_a_limit_was_ever_passed(lost_each_tick: list[int]) -> None:
    critical = any(sum(lost_each_tick[max(0, end - 4) : end]) >= 15 for end in range(len(lost_each_tick) + 1))
    warned = any(sum(lost_each_tick[max(0, end - 20) : end]) > 15 for end in range(len(lost_each_tick) + 1))
    found = severities(lost_each_tick)
    assert (AlertSeverity.CRITICAL in found) == critical
    assert bool(found) == (critical or warned)


@given(LOSSES, st.integers(0, 4))
def test_more_losses_never_mean_less_alarm(lost_each_tick: list[int], more: int) -> None:
    worse = [lost + more for lost in lost_each_tick]
    for severity in AlertSeverity:
        if severity in severities(lost_each_tick):
            assert severities(worse)


def test_a_coarse_counter_never_alerts_wrongly() -> None:
    """A hundred losses between two samples that are a minute apart may all lie far apart."""
    samples = [LossSample(0, 0), LossSample(60 * NS_PER_S, 100)]
    assert drop_alert(RULE, AlertState(), samples).alert is None


def test_no_sample_no_alert() -> None:
    assert drop_alert(RULE, AlertState(), []) == (AlertState(), None)


def test_a_limit_of_0_warns_of_every_loss() -> None:
    assert severities([0, 0, 1], replace_rule(drop_warn_per_s=0.0)) == [AlertSeverity.WARNING]
    assert severities([0] * 40, replace_rule(drop_warn_per_s=0.0)) == []


def replace_rule(**changes: float) -> Alerts:
    return RULE.model_copy(update=changes)


def test_frames_that_were_meant_to_be_dropped_alarm_nobody() -> None:
    counters = counters_of(empty_frames(0))
    each = replace(counters, lost=dict.fromkeys(LOSS_CLASSES, 1))
    assert alarming_losses(each) == len(LOSS_CLASSES) - 2
    asked_for = replace(counters, lost=dict.fromkeys(LOSS_CLASSES, 0) | {Fate.DECIMATED: 9, Fate.SUPERSEDED: 9})
    assert alarming_losses(asked_for) == 0


NOMINAL_MS = 1000 / 60


@pytest.mark.parametrize(
    ("off_us", "band"), [(0, 0), (499, 0), (500, 1), (501, 1), (1999, 1), (2000, 2), (2001, 2), (9e5, 2)]
)
@pytest.mark.parametrize("nominal_ms", [NOMINAL_MS, 1000 / 59.94, 6.944, 1000 / 144])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_edges_belong_to_the_upper_band(off_us: float, band: int, nominal_ms: float, sign: int) -> None:
    assert band_of(np.array([nominal_ms + sign * off_us / 1000]), nominal_ms, RULE).tolist() == [band]


INTERVALS = st.lists(st.one_of(st.just(math.nan), st.floats(0, 1000)), max_size=100).map(np.array)


@given(INTERVALS, st.floats(0.5, 100), st.integers(0, 10_000), st.integers(0, 10_000))
def test_every_interval_is_in_exactly_one_band(
    interval_ms: np.ndarray, nominal_ms: float, one_us: int, other_us: int
) -> None:
    low_us, high_us = sorted((one_us, other_us))
    bands = interval_bands(interval_ms, nominal_ms, Alerts(band_low_us=low_us, band_high_us=high_us))
    known = int(np.count_nonzero(~np.isnan(interval_ms)))
    assert bands.n == known
    if known < 2:
        assert all(math.isnan(share) for share in bands[:3])
    else:
        assert bands.low + bands.middle + bands.high == pytest.approx(1)
        assert low_us < high_us or bands.middle == 0


def test_shares_of_a_run() -> None:
    interval_ms = NOMINAL_MS + np.array([0, 0.4, -0.4, 0.5, 1.9, -2.0, 16.7, math.nan])
    assert interval_bands(interval_ms, NOMINAL_MS, RULE) == IntervalBands(3 / 7, 2 / 7, 2 / 7, 7)


def test_without_a_nominal_interval_nothing_is_known() -> None:
    bands = interval_bands(np.array([16.7, 16.7]), math.nan, RULE)
    assert math.isnan(bands.low)
    assert bands.n == 0
