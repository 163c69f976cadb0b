"""The anomaly rule marks what is strange and says what else moved; it promises nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.governors import Recapture, RecaptureWeights
from app.engine.governors.recapture import (
    Anomaly,
    GpuTimeWatch,
    Surroundings,
    anomaly_sentence,
    explain,
    is_anomaly,
    weigh_evidence,
)

RULE = Recapture()
WEIGHTS = RecaptureWeights()
MS = 1_000_000
TIMES = st.floats(0, 1e9)
ALL = Surroundings(1980.0, 7001.0, 0.4, 10e9)


def steady(count: int, gpu_ns: int = 4 * MS) -> list[int]:
    """GPU times with a deviation of 0.1 ms, as a real GPU has."""
    return [gpu_ns + (-1) ** number * MS // 10 for number in range(count)]


def marked(times_ns: list[int], rule: Recapture = RULE) -> list[int]:
    """Return the positions that are marked."""
    watch = GpuTimeWatch(rule)
    return [index for index, gpu_ns in enumerate(times_ns) if watch.add(gpu_ns) is not None]


@pytest.mark.parametrize(
    ("gpu_ms", "mean_ms", "sd_ms", "strange"),
    [
        (5.3, 4.0, 0.6, True),  # above 1.3 × 4.0 and 1.3 > 2 × 0.6
        (5.1, 4.0, 0.1, False),  # below 1.3 × the baseline
        (5.3, 4.0, 0.7, False),  # within 2 × 0.7 of the mean
        (5.3, 5.2, 0.1, False),  # the window has got used to it
        (5.3, 4.0, 0.0, True),  # no deviation at all: any distance is more
        (math.nan, 4.0, 0.1, False),
        (5.3, math.nan, math.nan, False),
    ],
)
def test_the_rule(gpu_ms: float, mean_ms: float, sd_ms: float, strange: bool) -> None:
    assert is_anomaly(RULE, gpu_ms, 4.0, mean_ms, sd_ms) is strange


@given(TIMES, TIMES, TIMES, TIMES, TIMES)
def test_what_is_slower_and_above_the_mean_stays_strange(
    gpu_ns: float, more_ns: float, baseline_ns: float, mean_ns: float, sd_ns: float
) -> None:
    if gpu_ns >= mean_ns and is_anomaly(RULE, gpu_ns, baseline_ns, mean_ns, sd_ns):
        assert is_anomaly(RULE, gpu_ns + more_ns, baseline_ns, mean_ns, sd_ns)


@pytest.mark.parametrize("window", [16, 64, 256])
def test_nothing_is_marked_in_the_warm_up_and_the_baseline_s_window(window: int) -> None:
    rule = Recapture(window=window)
    spikes = [100 * MS if index % 7 == 0 else 4 * MS for index in range(2 * window)]
    assert marked(spikes, rule) == []
    assert marked([*steady(2 * window), 9 * MS], rule) == [2 * window]


def test_the_baseline_is_the_median_of_the_window_after_the_warm_up() -> None:
    watch = GpuTimeWatch(RULE)
    for gpu_ns in [50 * MS] * 64 + steady(63) + [400 * MS]:
        assert math.isnan(watch.baseline_ns)
        watch.add(gpu_ns)
    assert watch.baseline_ns == pytest.approx(4 * MS, rel=0.05)


def test_a_spike_does_not_raise_its_own_threshold() -> None:
    """Of 16 samples none can lie more than 15 ÷ √16 = 3.75 deviations from a mean that it is part of itself."""
    assert marked([*steady(200), 6 * MS, *steady(100)], Recapture(window=16, sigma=6.0)) == [200]


def test_a_lasting_change_is_marked_until_the_window_has_got_used_to_it() -> None:
    found = marked([*steady(200), *steady(300, 8 * MS)])
    assert found[0] == 200
    assert 5 <= len(found) <= 64
    assert max(found) < 264


@given(st.lists(st.integers(0, 10**10), max_size=300))
def test_a_steady_gpu_is_never_marked_whatever_came_in_the_warm_up(warm_up: list[int]) -> None:
    assert [index for index in marked([*warm_up[:64], *steady(264 - len(warm_up[:64]))]) if index >= 128] == []


def test_evidence_names_what_moved_with_its_weight() -> None:
    text = explain(weigh_evidence(WEIGHTS, ALL, Surroundings(1410.0, 7001.0, None, 4e9)))
    assert text == (
        "shader clock fell from 1980 to 1410 MHz (weight 0.35); memory clock steady at 7001 MHz (weight 0.40); "
        "upload bandwidth fell from 10.00 to 4.00 GB/s (weight 0.25): evidence 0.60 of 1.00 that was measured"
    )


def test_what_is_not_measured_is_unknown_and_counts_neither_way() -> None:
    text = explain(weigh_evidence(WEIGHTS, Surroundings(1980.0), Surroundings(1410.0)))
    assert "memory clock unknown (weight 0.40); upload bandwidth unknown (weight 0.25)" in text
    assert text.endswith("evidence 0.35 of 0.35 that was measured")
    nothing = explain(weigh_evidence(WEIGHTS, Surroundings(), Surroundings()))
    assert nothing.endswith("nothing was measured that could explain it")


@pytest.mark.parametrize(("clock_mhz", "busy", "moved"), [(7001, 0.95, True), (5001, 0.1, True), (7001, 0.5, False)])
def test_memory_is_slow_by_its_clock_or_by_being_busy(clock_mhz: float, busy: float, moved: bool) -> None:
    memory = weigh_evidence(WEIGHTS, ALL, Surroundings(None, clock_mhz, busy, None))[1]
    assert memory.moved is moved
    assert f"memory {busy:.0%} busy" in memory.text


VALUES = st.one_of(st.none(), st.floats(0, 1e11))
SURROUNDINGS = st.builds(Surroundings, VALUES, VALUES, st.one_of(st.none(), st.floats(0, 2)), VALUES)


@given(SURROUNDINGS, SURROUNDINGS)
def test_any_surroundings_make_a_sentence(usual: Surroundings, now: Surroundings) -> None:
    evidence = weigh_evidence(WEIGHTS, usual, now)
    assert sum(each.weight for each in evidence) == pytest.approx(1)
    assert "nan" not in explain(evidence)


def test_the_sentence_tells_how_strange_it_was() -> None:
    text = anomaly_sentence(Anomaly(9 * MS, 4.0 * MS, 4.1 * MS, 0.2 * MS), 3, 300, 64)
    assert text == (
        "3 of 300 command buffers took strangely long, the slowest 9.00 ms of GPU time, 2.2 × the baseline of "
        "4.00 ms (mean of the 64 before 4.10 ± 0.20 ms)"
    )
