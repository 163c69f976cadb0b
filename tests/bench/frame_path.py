"""What single steps of the frame path cost: a submit with recorded and with new commands, the encoder, governors."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.config.editing import apply_settings
from app.config.veoconfig import VeoConfig
from app.core.vocabulary import Fate
from app.engine.encode.branch import open_encode_branch
from app.engine.governors.governor_host import GovernorHost
from tests.bench.rows import Row, take_turns
from tests.bench.veotuner_runs import RunCall, run_veotuner
from tests.engine.encode.pictures import INTERVAL_60_NS, moving_picture, yuv420p
from tests.engine.governors.settled_frames import settled_frame

SECONDS = 6.0
ROUNDS = 3
FRAMES = 600
FRAMES_A_LOOK = 15
"""Governors look four times a second."""

TARGET_SUBMIT_RATIO = 1.0
TARGET_OFFER_US = 50.0
TARGET_GOVERNORS_US = 25.0

EVERY_GOVERNOR = (
    "thermal_guard.enabled=true",
    "frame_compensation.enabled=true",
    "bandwidth_guard.enabled=true",
)


def measure(build: Path) -> list[Row]:
    """Measure each step with the part that the engine uses."""
    return [*_command_buffers(build), _offer(), _governors()]


def _command_buffers(build: Path) -> list[Row]:
    gpu_us: dict[str, list[float]] = {"reuse": [], "record": []}

    def submit_us(mode: str) -> float:
        call = RunCall("synthetic:1280x720@60", "virtual:60", SECONDS, (f"command_buffers={mode}",))
        with tempfile.TemporaryDirectory(dir=build) as folder:
            metrics: dict[str, Any] = run_veotuner(call, Path(folder))["metrics"]
        gpu_us[mode].append(metrics["gpu_us"]["p50"])
        return float(metrics["submit_cpu_us"]["p50"])

    turns = take_turns(lambda: submit_us("reuse"), lambda: submit_us("record"), ROUNDS)
    gpu = {mode: statistics.median(values) for mode, values in gpu_us.items()}
    return [
        Row(
            "processor time of a submit, commands recorded once (`command_buffers=reuse`) against anew (`record`)",
            f"{statistics.median(turns.ours):.0f} µs",
            f"{statistics.median(turns.reference):.0f} µs",
            f"{turns.ratio:.2f}",
            f"< {TARGET_SUBMIT_RATIO}",
            turns.ratio < TARGET_SUBMIT_RATIO,
            f"median of submit_cpu_us, 720p60 on the simulated display, lavapipe; {turns.spread}",
        ),
        Row(
            "GPU time of a picture in the same runs",
            f"{gpu['reuse']:.0f} µs",
            f"{gpu['record']:.0f} µs",
            f"{gpu['reuse'] / gpu['record']:.2f}",
            "none: the same commands",
            True,
            "median of gpu_us; software Vulkan, so processor time of the driver's threads",
        ),
    ]


def _offer() -> Row:
    config = apply_settings(VeoConfig(), ["encoder.enabled=true", "encoder.preset=p1"])
    branch = open_encode_branch(config, "", lambda _: None)
    pictures = [moving_picture(number, yuv420p(1280, 720)) for number in range(8)]

    def offer(number: int) -> None:
        pts_ns = number * INTERVAL_60_NS
        branch.offer(number, 0, 1, pts_ns, INTERVAL_60_NS, pictures[number % len(pictures)])

    try:
        costs_us = _costs_us(offer, pause_s=INTERVAL_60_NS / 1e9)
    finally:
        branch.close(10.0)
    return _cost_row("offering a 720p frame to a running libx264", costs_us, TARGET_OFFER_US, "60 a second")


def _governors() -> Row:
    host = GovernorHost(apply_settings(VeoConfig(), list(EVERY_GOVERNOR)), [60.0], 60.0)
    frames = [settled_frame(number) for number in range(FRAMES)]

    def frame_and_look(number: int) -> None:
        frame = frames[number]
        host.lanes[0].observe_arrival(frame)
        host.observe_settled(frame, Fate.DISPLAYED)
        if number % FRAMES_A_LOOK == 0:
            host.tick(frame.arrive_ns)

    costs_us = _costs_us(frame_and_look, clock=time.thread_time_ns)
    looks_us = costs_us[::FRAMES_A_LOOK]
    del costs_us[::FRAMES_A_LOOK]
    each_us, look_us = statistics.median(costs_us), statistics.median(looks_us)
    cost_us = each_us + (look_us - each_us) / FRAMES_A_LOOK
    return Row(
        "governors, for each frame, every one of them on",
        f"{cost_us:.1f} µs",
        "",
        f"{cost_us:.1f} µs",
        f"≤ {TARGET_GOVERNORS_US:.0f} µs",
        cost_us <= TARGET_GOVERNORS_US,
        f"processor time, medians of {FRAMES}: {each_us:.1f} µs in the frame path, {look_us:.0f} µs a look beside it, "
        "four looks a second",
    )


def _costs_us(
    step: Callable[[int], None], pause_s: float = 0.0, clock: Callable[[], int] = time.perf_counter_ns
) -> list[float]:
    costs = []
    for number in range(FRAMES):
        begin_ns = clock()
        step(number)
        costs.append((clock() - begin_ns) / 1000)
        time.sleep(pause_s)
    return costs


def _cost_row(what: str, costs_us: list[float], target_us: float, how: str) -> Row:
    median_us = statistics.median(costs_us)
    p99_us = statistics.quantiles(costs_us, n=100)[98]
    return Row(
        what,
        f"{median_us:.1f} µs",
        "",
        f"{median_us:.1f} µs",
        f"≤ {target_us:.0f} µs",
        median_us <= target_us,
        f"median of {len(costs_us)}, {how}; p99 {p99_us:.0f} µs",
    )
