"""The governors together: what they see moves the wanted rate, and each decision says by which numbers."""

from __future__ import annotations

import math
import sys
import threading
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.governors import BandwidthGuard, FrameCompensation, Recapture, ThermalGuard
from app.config.veoconfig import VeoConfig
from app.core.clock import NS_PER_MS, NS_PER_S
from app.core.vocabulary import Fate, Governor, LatencyMode
from app.engine.frame import Frame
from app.engine.governors.compensation import rate_of_delay
from app.engine.governors.governor_host import ANOMALIES_EVERY_NS, GovernorHost, no_effect_notice
from app.engine.sources.arrival_schedule import ArrivalSchedule
from app.ipc.messages import GovernorDecision, GovernorReadings
from tests.engine.governors.settled_frames import settled_frame

TICK_NS = NS_PER_S // 4
THERMAL = VeoConfig(thermal_guard=ThermalGuard(enabled=True))
COMPENSATION = VeoConfig(frame_compensation=FrameCompensation(enabled=True))
BANDWIDTH = VeoConfig(bandwidth_guard=BandwidthGuard(enabled=True))
AUTO = VeoConfig(preview_latency="auto", frame_queue_depth=64)


def readings(temperature_c: float | None = None, **others: Any) -> GovernorReadings:
    fields: dict[str, Any] = {
        "at_ns": 0,
        "gpu_clock_mhz": None,
        "memory_clock_mhz": None,
        "link_ratio": None,
        "link_name": "",
    }
    return GovernorReadings(gpu_temperature_c=temperature_c, **{**fields, **others})


def host_of(config: VeoConfig, *rates_hz: float | None, refresh_hz: float | None = None) -> GovernorHost:
    return GovernorHost(config, rates_hz or (60.0,), refresh_hz)


def arrivals(schedule: ArrivalSchedule, count: int, rate_hz: float = 60.0) -> list[Frame]:
    frames = []
    for number in range(count):
        frame = Frame(number)
        frame.pts_ns = round(number * NS_PER_S / rate_hz)
        frame.arrive_ns = 10**12 + schedule.next_ns()
        frames.append(frame)
    return frames


def show(host: GovernorHost, frames: list[Frame], lane_index: int = 0) -> None:
    for frame in frames:
        host.lanes[lane_index].observe_arrival(frame)


def late_frames(delay_ms: float, count: int = 256) -> list[Frame]:
    """Return frames of which every tenth is this late: a p95 of exactly that."""
    frames = arrivals(ArrivalSchedule(60.0), count)
    for frame in frames[::10]:
        frame.arrive_ns += round(delay_ms * NS_PER_MS)
    return frames


def test_without_governors_the_source_keeps_its_rate_and_nobody_speaks() -> None:
    host = host_of(VeoConfig())
    host.note_readings(readings(99.0, link_ratio=1.0))
    show(host, late_frames(300))
    assert host.tick(0) == []
    assert (host.lanes[0].wanted_hz, host.lanes[0].governor) == (0.0, Governor.NONE)
    assert host.extra_latency_ns == 0


def test_preview_fps_acts_at_once() -> None:
    host = host_of(VeoConfig(preview_fps=24.0))
    assert host.lanes[0].wanted == (24.0, Governor.PREVIEW_FPS)
    host.configure(VeoConfig(preview_fps=30.0))
    assert host.lanes[0].wanted == (30.0, Governor.PREVIEW_FPS)
    host.configure(VeoConfig())
    assert host.lanes[0].wanted == (0.0, Governor.NONE)


@pytest.mark.parametrize(("temperature_c", "rate_hz"), [(75, 0), (80, 48), (85, 36), (99, 36)])
def test_heat_lowers_the_rate(temperature_c: float, rate_hz: float) -> None:
    host = host_of(THERMAL)
    host.note_readings(readings(temperature_c))
    host.tick(0)
    assert host.lanes[0].wanted_hz == pytest.approx(rate_hz)


def test_a_thermal_decision_has_its_numbers() -> None:
    host = host_of(THERMAL)
    host.note_readings(readings(82.0))
    (decision,) = host.tick(5)
    assert (decision.governor, decision.at_ns, decision.action) == ("thermal", 5, "ceiling 43.2 fps")
    assert decision.rate_hz == pytest.approx(43.2)
    assert decision.reason == "GPU 82.0 °C: ceiling 72% of the full rate, 43.2 of 60 fps"
    host.note_readings(readings(60.0))
    assert host.tick(NS_PER_S) == []  # within the dwell time
    assert host.tick(10 * NS_PER_S) == [
        GovernorDecision("thermal", 10 * NS_PER_S, "no ceiling", None, "GPU 60.0 °C: no ceiling")
    ]


def test_the_full_rate_is_the_one_that_would_be_shown_without_the_guard() -> None:
    """Someone who looks at 30 of 60 fps on a hot GPU is braked as well, not only above 36 fps."""
    host = host_of(THERMAL.model_copy(update={"preview_fps": 30.0}))
    host.note_readings(readings(90.0))
    host.tick(0)
    assert host.lanes[0].wanted_hz == pytest.approx(18.0)
    assert host.lanes[0].governor is Governor.THERMAL


def test_on_a_replayed_temperature_curve_the_rate_keeps_to_floor_and_dwell_time() -> None:
    host = host_of(THERMAL, refresh_hz=60.0)
    shown: list[tuple[int, float]] = []
    for tick in range(4 * 900):
        temperature_c = float(round(74 + 17 * math.sin(tick / 250) + 1.5 * math.sin(tick)))
        host.note_readings(readings(temperature_c if tick % 7 else None))
        host.tick(tick * TICK_NS)
        shown.append((tick * TICK_NS, host.lanes[0].wanted_hz or 60.0))
    assert min(rate_hz for _, rate_hz in shown) == pytest.approx(36.0)
    assert max(rate_hz for _, rate_hz in shown) == 60.0
    moved = [at_ns for (_, before), (at_ns, after) in pairwise(shown) if before != after]
    assert len(moved) > 10
    assert min(later - earlier for earlier, later in pairwise(moved)) >= 2 * NS_PER_S


@pytest.mark.parametrize(("delay_ms", "rate_hz"), [(30, 0), (60, 52.5), (80, 45), (140, 37.5), (200, 30), (290, 30)])
def test_a_late_source_is_braked_by_the_table(delay_ms: float, rate_hz: float) -> None:
    host = host_of(COMPENSATION)
    show(host, late_frames(delay_ms))
    host.tick(0)
    assert host.lanes[0].wanted_hz == pytest.approx(rate_hz)


def test_a_source_in_time_is_not_held_to_the_first_row_of_the_table() -> None:
    host = host_of(COMPENSATION, 120.0)
    show(host, arrivals(ArrivalSchedule(120.0, jitter_sd_ns=2_000_000), 256, 120.0))
    assert host.tick(0) == []
    assert host.lanes[0].wanted_hz == 0.0


def test_a_stalling_source_is_braked_and_let_go_when_the_stall_has_left_the_window() -> None:
    host = host_of(COMPENSATION)
    stalling = ArrivalSchedule(60.0, stall_probability=0.01, stall_ns=300 * NS_PER_MS, seed=5)
    show(host, arrivals(stalling, 256))
    (braked,) = host.tick(0)
    assert braked.governor == "compensation"
    assert braked.rate_hz is not None
    assert 30 <= braked.rate_hz < rate_of_delay(COMPENSATION.frame_compensation.table, 80.0)
    calm = arrivals(ArrivalSchedule(60.0), 256)
    show(host, calm)
    (released,) = host.tick(NS_PER_S)
    assert (released.action, released.rate_hz) == ("no ceiling", None)


def test_time_in_a_pause_is_no_delay() -> None:
    host = host_of(COMPENSATION)
    frames = arrivals(ArrivalSchedule(60.0), 256)
    for frame in frames[128:]:
        frame.arrive_ns += 5 * NS_PER_S
        frame.postponed_ns = 5 * NS_PER_S
    show(host, frames)
    assert host.tick(0) == []


def test_where_the_source_broke_off_its_delays_begin_anew() -> None:
    host = host_of(COMPENSATION)
    frames = arrivals(ArrivalSchedule(60.0), 256)
    for frame in frames[128:]:
        frame.arrive_ns += 5 * NS_PER_S
        frame.breaks_before = 1
    show(host, frames)
    assert host.tick(0) == []


def test_a_frame_compensation_decision_has_its_numbers_and_what_holds_instead() -> None:
    host = host_of(COMPENSATION, refresh_hz=60.0)
    show(host, late_frames(140))
    (decision,) = host.tick(0)
    assert decision == GovernorDecision(
        "compensation",
        0,
        "ceiling 37.5 fps",
        30.0,
        "p95 of the source's I/O delay 140.0 ms over 256 frames: ceiling 37.5 fps; 30 fps is taken, which is even on "
        "60 Hz",
    )
    slower = host_of(COMPENSATION.model_copy(update={"preview_fps": 24.0}))
    show(slower, late_frames(140))
    (decision,) = slower.tick(0)
    assert decision.rate_hz == 24.0
    assert decision.reason.endswith("ceiling 37.5 fps; preview_fps keeps it at 24 fps")


def test_a_table_above_the_source_s_rate_brakes_nothing_and_says_nothing() -> None:
    host = host_of(COMPENSATION, 24.0)
    show(host, late_frames(100))
    assert host.tick(0) == []
    assert host.lanes[0].wanted_hz == 0.0


def test_a_busy_link_lowers_the_rate_of_a_fast_source_only() -> None:
    host = host_of(BANDWIDTH, 120.0, 60.0)
    host.note_readings(readings(link_ratio=0.95, link_name="PCIe receive"))
    (decision,) = host.tick(0)
    assert decision.reason == "PCIe receive at 95% of its limit, above 90%: ceiling 96 fps"
    assert decision.rate_hz == 96.0
    assert host.lanes[0].wanted == (96.0, Governor.BANDWIDTH)
    assert host.lanes[1].wanted == (0.0, Governor.NONE)
    slow = host_of(BANDWIDTH, 60.0)
    slow.note_readings(readings(link_ratio=0.95))
    assert slow.tick(0) == []


def test_max_fps_holds_below_the_threshold() -> None:
    assert host_of(BANDWIDTH, 240.0).lanes[0].wanted == (120.0, Governor.BANDWIDTH)


def test_the_lowest_of_several_governors_rules() -> None:
    config = VeoConfig(
        thermal_guard=THERMAL.thermal_guard,
        frame_compensation=COMPENSATION.frame_compensation,
        bandwidth_guard=BandwidthGuard(enabled=True, max_fps=50.0, reduced_fps=20.0),
    )
    host = host_of(config)
    show(host, late_frames(80))
    host.note_readings(readings(80.0, link_ratio=0.5))
    host.tick(0)
    assert host.lanes[0].wanted == (45.0, Governor.COMPENSATION)
    host.note_readings(readings(90.0, link_ratio=0.5))
    host.tick(10 * NS_PER_S)
    assert host.lanes[0].governor is Governor.THERMAL
    host.note_readings(readings(90.0, link_ratio=0.99))
    host.tick(20 * NS_PER_S)
    assert host.lanes[0].wanted == (20.0, Governor.BANDWIDTH)


def test_several_sources_share_the_heat_and_have_their_own_delays() -> None:
    config = THERMAL.model_copy(update={"frame_compensation": COMPENSATION.frame_compensation})
    host = host_of(config, 60.0, 30.0, 60.0)
    host.note_readings(readings(80.0))
    show(host, late_frames(200), lane_index=2)
    thermal, compensation = host.tick(0)
    assert thermal.reason == "GPU 80.0 °C: ceiling 80% of the full rate, 48 of 60 and 24 of 30 fps"
    assert compensation.reason.startswith("source 3: p95 of the source's I/O delay 200.0 ms")
    assert [lane.wanted_hz for lane in host.lanes] == pytest.approx([48, 24, 30])


@pytest.mark.parametrize(
    ("config", "key"),
    [(THERMAL, "thermal_guard"), (COMPENSATION, "frame_compensation"), (BANDWIDTH, "bandwidth_guard")],
)
def test_a_governor_that_is_switched_off_lets_go_at_once_and_says_so(config: VeoConfig, key: str) -> None:
    host = host_of(config, 240.0)
    host.note_readings(readings(90.0, link_ratio=1.0))
    show(host, late_frames(300))
    host.tick(0)
    assert host.lanes[0].wanted_hz > 0
    host.configure(VeoConfig())
    assert host.lanes[0].wanted_hz == 0
    (decision,) = host.tick(TICK_NS)
    assert (decision.action, decision.rate_hz) == ("no ceiling", None)
    assert decision.reason == f"{key} was switched off: no ceiling"
    assert host.tick(2 * TICK_NS) == []


def test_another_rule_acts_on_the_next_reading_whatever_dwell_and_hysteresis_say() -> None:
    host = host_of(THERMAL)
    host.note_readings(readings(85.0))
    host.tick(0)
    host.configure(VeoConfig(thermal_guard=ThermalGuard(enabled=True, floor_ratio=0.9)))
    assert host.lanes[0].wanted_hz == pytest.approx(54.0)
    host.configure(VeoConfig(thermal_guard=ThermalGuard(enabled=True, start_c=83.0)))
    host.tick(TICK_NS)
    assert host.lanes[0].wanted_hz == pytest.approx(60 * 0.92)


def test_a_source_that_runs_free_cannot_be_braked_and_is_not_said_to_be() -> None:
    config = THERMAL.model_copy(update={"frame_compensation": COMPENSATION.frame_compensation})
    host = host_of(config, None)
    host.note_readings(readings(99.0))
    show(host, late_frames(300))
    assert host.tick(0) == []
    assert host.lanes[0].wanted_hz == 0
    notice = no_effect_notice(config, [None])
    assert notice.startswith("thermal_guard, frame_compensation: no effect on a source that runs free")
    assert no_effect_notice(config, [None, 60.0]) == no_effect_notice(VeoConfig(), [None]) == ""


def test_of_several_sources_the_decision_shows_one_that_it_concerns() -> None:
    hot = host_of(THERMAL, None, 60.0)
    hot.note_readings(readings(80.0))
    (decision,) = hot.tick(0)
    assert (decision.action, decision.rate_hz) == ("ceiling 48 fps", 48.0)
    busy = host_of(BANDWIDTH, 60.0, 240.0)
    busy.note_readings(readings(link_ratio=0.95))
    (decision,) = busy.tick(0)
    assert (decision.action, decision.rate_hz) == ("ceiling 96 fps", 96.0)


def test_a_source_whose_rate_changes_is_followed() -> None:
    host = host_of(THERMAL, 60.0)
    host.note_readings(readings(80.0))
    host.tick(0)
    host.set_source_rate(0, 30.0)
    assert host.lanes[0].wanted_hz == pytest.approx(24.0)
    host.set_source_rate(0, None)
    assert host.lanes[0].wanted_hz == 0
    host.set_source_rate(0, 120.0)
    host.set_refresh(60.0)
    assert host.lanes[0].wanted_hz == pytest.approx(96.0)


def run_frames(host: GovernorHost, gpu_ms: list[float], fate: Fate = Fate.DISPLAYED, first: int = 0) -> None:
    for number, each_ms in enumerate(gpu_ms, first):
        host.observe_settled(settled_frame(number, gpu_ms=each_ms), fate)


def test_anomalies_are_told_together_with_what_moved() -> None:
    host = host_of(VeoConfig())
    host.note_readings(readings(gpu_clock_mhz=1980.0, memory_clock_mhz=7001.0))
    run_frames(host, [4.0] * 200)
    host.note_readings(readings(gpu_clock_mhz=1200.0, memory_clock_mhz=7001.0, link_ratio=0.97, link_name="memory"))
    run_frames(host, [9.0, 10.0], first=200)
    (decision,) = host.tick(0)
    assert (decision.governor, decision.action, decision.rate_hz) == ("recapture", "marked as anomaly", None)
    assert decision.reason.startswith("2 of 202 command buffers took strangely long, the slowest 10.10 ms of GPU time")
    assert "shader clock fell from 1980 to 1200 MHz (weight 0.35)" in decision.reason
    assert "memory clock steady at 7001 MHz, memory 97% busy (weight 0.40)" in decision.reason
    assert decision.reason.endswith("evidence 0.75 of 1.00 that was measured")
    run_frames(host, [4.0] * 64 + [12.0], first=300)
    assert host.tick(TICK_NS) == []
    (later,) = host.tick(ANOMALIES_EVERY_NS)
    assert later.reason.startswith("1 of 65 command buffers")


def test_another_topology_is_learnt_anew() -> None:
    host = host_of(VeoConfig())
    run_frames(host, [4.0] * 200)
    host.note_topology()
    run_frames(host, [20.0] * 200, first=200)
    assert host.tick(0) == []


def test_late_frames_lengthen_the_playout_delay_under_auto_only() -> None:
    for config, expected_ns in ((AUTO, 16_666_667), (VeoConfig(), 0)):
        host = host_of(config, refresh_hz=60.0)
        host.tick(0)
        run_frames(host, [4.0] * 4, Fate.DEADLINE_MISSED)
        told = host.tick(NS_PER_S)
        assert host.extra_latency_ns == expected_ns
        assert [(each.governor, each.action) for each in told] == (
            [("latency", "playout delay 50.0 ms")] if expected_ns else []
        )


@pytest.mark.parametrize("change", [{"preview_latency": "fixed"}, {"latency_mode": LatencyMode.LOW_LATENCY}])
def test_where_there_is_no_delay_to_adjust_none_is_added(change: dict[str, Any]) -> None:
    host = host_of(AUTO)
    host.tick(0)
    run_frames(host, [4.0] * 9, Fate.DEADLINE_MISSED)
    host.tick(NS_PER_S)
    assert host.extra_latency_ns > 0
    host.configure(AUTO.model_copy(update=change))
    assert host.extra_latency_ns == 0
    run_frames(host, [4.0] * 9, Fate.DEADLINE_MISSED)
    host.tick(3 * NS_PER_S)
    assert host.extra_latency_ns == 0


CONFIGS = st.builds(
    VeoConfig,
    preview_fps=st.sampled_from([0.0, 10.0, 24.0, 100.0]),
    preview_latency=st.sampled_from(["fixed", "auto"]),
    thermal_guard=st.builds(ThermalGuard, enabled=st.booleans(), floor_ratio=st.sampled_from([0.05, 0.6, 1.0])),
    frame_compensation=st.builds(FrameCompensation, enabled=st.booleans(), window=st.sampled_from([16, 256])),
    bandwidth_guard=st.builds(BandwidthGuard, enabled=st.booleans()),
    recapture=st.builds(Recapture, window=st.sampled_from([16, 64])),
)
RATES = st.one_of(st.none(), st.sampled_from([24.0, 60.0, 120.0, 240.0]))
STEPS = st.lists(
    st.tuples(
        st.integers(0, 3 * NS_PER_S),
        st.one_of(st.none(), CONFIGS),
        st.one_of(st.none(), st.floats(20, 110)),
        st.one_of(st.none(), st.floats(0, 1.2)),
        st.floats(0, 500),
    ),
    max_size=12,
)


@given(CONFIGS, st.lists(RATES, min_size=1, max_size=3), RATES, STEPS)
def test_whatever_happens_the_wants_stay_in_bounds_and_every_decision_can_be_sent(
    config: VeoConfig, rates_hz: list[float | None], refresh_hz: float | None, steps: list[Any]
) -> None:
    host = GovernorHost(config, rates_hz, refresh_hz)
    now_ns = 0
    for step_ns, changed, temperature_c, link_ratio, delay_ms in steps:
        now_ns += step_ns
        if changed is not None:
            config = changed
            host.configure(config)
        host.note_readings(readings(temperature_c, link_ratio=link_ratio))
        show(host, late_frames(delay_ms, 20))
        run_frames(host, [delay_ms] * 3, Fate.SOURCE_LATE)
        for decision in host.tick(now_ns):
            assert decision.reason
            assert "nan" not in decision.reason
            assert "inf" not in decision.reason
            assert decision.rate_hz is None or 0 < decision.rate_hz <= 240
        for lane, rate_hz in zip(host.lanes, rates_hz, strict=True):
            assert lane.wanted_hz == 0 if rate_hz is None else 0 <= lane.wanted_hz <= rate_hz
            assert (lane.wanted_hz == 0) == (lane.governor is Governor.NONE)
        assert 0 <= host.extra_latency_ns <= 50 * NS_PER_MS


def test_frames_may_come_while_another_thread_looks_and_a_third_configures() -> None:
    """No lock on the frame path: whatever is seen half-way changes a number, never breaks anything."""
    host = host_of(COMPENSATION)
    failures: list[BaseException] = []
    ended = threading.Event()

    def hammer(work: Any) -> None:
        try:
            while not ended.is_set():
                work()
        except BaseException as failure:  # noqa: BLE001 - thread boundary of a test: raised below
            failures.append(failure)

    def configure() -> None:
        host.configure(VeoConfig(recapture=Recapture(window=16)))
        host.configure(COMPENSATION)

    works = [
        lambda: show(host, late_frames(100, 50)),
        lambda: host.tick(0),
        configure,
        lambda: run_frames(host, [4.0] * 20 + [9.0]),
    ]
    threads = [threading.Thread(target=hammer, args=(work,)) for work in works]
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in threads:
        thread.start()
    ended.wait(0.5)
    ended.set()
    for thread in threads:
        thread.join()
    sys.setswitchinterval(before_s)
    assert failures == []
