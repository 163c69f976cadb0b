"""Experiments that show what a key does: each takes a configuration and returns measurements by name.

Real parts throughout: the engine process, the encode branch with libx264, the governors fed with replayed curves, the
scheduling calls of the system, a WebSocket client.
"""

from __future__ import annotations

import base64
import io
import json
import math
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import av
import numpy as np
from websockets.sync.client import connect

from app.analysis.alerts import interval_bands
from app.analysis.encoding import delay_frames
from app.config.veoconfig import VeoConfig, config_from_object, config_to_object
from app.core.clock import NS_PER_MS, NS_PER_S
from app.core.encode_records import EncodeFate
from app.core.errors import VeoTunerError
from app.core.records import FLAG_INTERPOLATED
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.engine.encode.bitrate_control import BitrateControl
from app.engine.encode.branch import open_encode_branch
from app.engine.encode.encoder_options import encoder_options
from app.engine.frame import Frame
from app.engine.governors.governor_host import GovernorHost
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import ConfigApplied, EncodeRecords, GovernorDecision, GovernorReadings
from app.session.active_run import device_variables
from app.session.loss_watch import LossWatch
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, StreamRequest
from tests.engine.encode.pictures import INTERVAL_60_NS, moving_picture
from tests.engine.governors.settled_frames import settled_frame
from tests.support.engine_harness import EngineHarness, of_fate
from tests.support.waiting import wait_until

Measures = dict[str, Any]
Experiment = Callable[[VeoConfig], Measures]

TICK_NS = NS_PER_S // 4
EVEN = "synthetic:64x64@60"
FREE = "synthetic:64x64@0"
DISPLAY = "virtual:60,process=none"
TOKEN = "t"  # noqa: S105 - of a server that lives for a second


def preview(source: str = EVEN, sink: str = DISPLAY, frames: int = 90) -> Experiment:
    """A run of the engine on the simulated display."""

    def run(config: VeoConfig) -> Measures:
        with EngineHarness(source, sink, config_to_object(config)) as engine:
            engine.ready()
            engine.run_frames(frames)
            # A change of nothing but the name: its answer tells what the sink grants by now.
            engine.change(name="asked")
            engine.wait_for(ConfigApplied)
            records = engine.frames()
            counters = engine.counters()
            engine.finish()
        shown = of_fate(records, Fate.DISPLAYED)[12:]
        refresh_ns = NS_PER_S / 60
        return {
            "rate_hz": NS_PER_S / np.mean(np.diff(shown["displayed_ns"])),
            "behind_due": round(np.median(shown["displayed_ns"] - shown["due_ns"]) / refresh_ns),
            "latency": np.median(shown["displayed_ns"] - shown["arrive_ns"]) / refresh_ns,
            "in_display": np.median(shown["displayed_ns"] - shown["submit_ns"]) / refresh_ns,
            "queue_wait": np.median(shown["acquire_start_ns"] - shown["process_end_ns"]) / refresh_ns,
            "decode_queue": int(records["decode_queue_in"].max()),
            "frame_queue": int(records["frame_queue_in"].max()),
            "behind_grid_ms": np.median(shown["acquire_end_ns"] % (10 * NS_PER_MS)) / NS_PER_MS,
            "submit_cpu_us": np.median(shown["submit_cpu_ns"]) / 1000,
            "mode": int(shown["present_mode_granted"][-1]),
            "images": len(np.unique(shown["image_index"])),
            "overflowed": counters.lost[Fate.QUEUE_OVERFLOW] > 0,
            "decimated": counters.lost[Fate.DECIMATED] > 0,
            "encoded": any(isinstance(message, EncodeRecords) for message in engine.messages),
            "made_up": bool(np.any(records["flags"] & FLAG_INTERPOLATED)),
        }

    return run


def governed(curve: Callable[[float], GovernorReadings], source_hz: float = 60.0, seconds: int = 240) -> Experiment:
    """Two rises and falls of a measurement, replayed to the governors four times a second."""

    def run(config: VeoConfig) -> Measures:
        host = GovernorHost(config, [source_hz], None)
        rates = []
        for tick in range(4 * seconds):
            host.note_readings(curve(tick / 4))
            host.tick(tick * TICK_NS)
            rates.append(host.lanes[0].wanted_hz or source_hz)
        return rate_measures(np.array(rates), source_hz)

    return run


def rate_measures(rates_hz: np.ndarray[Any, Any], source_hz: float) -> Measures:
    braked = np.flatnonzero(rates_hz < rates_hz.max())
    return {
        "lowest_hz": rates_hz.min(),
        "highest_hz": rates_hz.max(),
        "brakes": rates_hz.min() < source_hz,
        "first_braked_s": braked[0] / 4 if len(braked) else math.inf,
        "last_braked_s": braked[-1] / 4 if len(braked) else math.inf,
        "moves": int(np.count_nonzero(np.diff(rates_hz))),
    }


def swing(low: float, high: float, at_s: float, period_s: float = 120.0) -> float:
    """Return a value that rises from low to high and falls again, once a period."""
    return low + (high - low) * (0.5 - 0.5 * math.cos(2 * math.pi * at_s / period_s))


def heat(at_s: float) -> GovernorReadings:
    return GovernorReadings(0, round(swing(60, 100, at_s)), None, None, None, "")


def mild_heat(at_s: float) -> GovernorReadings:
    return GovernorReadings(0, round(swing(60, 82, at_s)), None, None, None, "")


def traffic(at_s: float) -> GovernorReadings:
    return GovernorReadings(0, None, None, None, swing(0.1, 1.0, at_s), "PCIe to the GPU")


def compensated(config: VeoConfig) -> Measures:
    """A source that delivers later and later, and recovers."""
    host = GovernorHost(config, [60.0], None)
    random = np.random.default_rng(1)
    rates = []
    for number in range(60 * 120):
        frame = Frame(number)
        frame.pts_ns = number * INTERVAL_60_NS
        late_ms = swing(0, 160, number / 60) if random.random() < 0.1 else 0.0
        frame.arrive_ns = 10**12 + frame.pts_ns + round(late_ms * NS_PER_MS)
        host.lanes[0].observe_arrival(frame)
        if number % 15 == 0:
            host.tick(number // 15 * TICK_NS)
            rates.append(host.lanes[0].wanted_hz or 60.0)
    return rate_measures(np.array(rates), 60.0)


def anomalous(config: VeoConfig) -> Measures:
    """GPU times with a spread of their own, and a few that stand out more and more."""
    host = GovernorHost(config, [60.0], 60.0)
    told: list[GovernorDecision] = []
    random = np.random.default_rng(2)
    latency_ns = []
    for number in range(3000):
        outlier = 1.0 + number / 3000 if number % 50 == 0 else 1.0
        gpu_ms = 4.0 * outlier * random.normal(1.0, 0.1)
        fate = Fate.SOURCE_LATE if number % 4 == 0 else Fate.DISPLAYED
        host.observe_settled(settled_frame(number, gpu_ms=max(0.1, gpu_ms)), fate)
        if number % 15 == 0:
            host.note_readings(GovernorReadings(0, None, 1500.0 - number / 10, 7000.0 - number, None, ""))
            told += host.tick(number // 15 * TICK_NS)
            latency_ns.append(host.extra_latency_ns)
    reasons = [decision.reason for decision in told if decision.governor == "recapture"]
    return {
        "anomalies": len(reasons),
        "first_at_s": next((told.at_ns / NS_PER_S for told in told if told.governor == "recapture"), math.inf),
        "evidence": reasons[-1].partition(";")[2] if reasons else "",
        "extra_latency_ms": max(latency_ns) / NS_PER_MS,
        "rate_hz": host.lanes[0].wanted_hz,
    }


def bursting(config: VeoConfig) -> Measures:
    """Key frames that grow and shrink again, against the I-frame guard."""
    decisions: list[GovernorDecision] = []
    control = BitrateControl(4_000_000, 250, config.iframe_guard, decisions.append)
    ratios = []
    for number in range(60 * 120):
        key_frame = number % 60 == 0
        size = round(swing(20_000, 180_000, number / 60)) if key_frame else 3000
        control.note_packet(size, key_frame, NS_PER_S, number * INTERVAL_60_NS)
        ratios.append(control.wanted_bits_per_s / 4_000_000)
    lowered = np.flatnonzero(np.array(ratios) < 1.0)
    return {
        "lowest": min(ratios),
        "first_ratio": next((ratio for ratio in ratios if ratio < 1.0), 1.0),
        "first_lowered_s": round(lowered[0] / 60) if len(lowered) else math.inf,
        "last_lowered_s": round(lowered[-1] / 60) if len(lowered) else math.inf,
        "full_at_start": ratios[0],
    }


def encoded(config: VeoConfig) -> Measures:
    """Sixty frames through the encode branch; what NVENC would be told where it is not here."""
    nvenc = encoder_options(config, "h264_nvenc")
    measures: Measures = {"nvenc": nvenc, "nvenc_gop": nvenc["g"], "nvenc_depth": nvenc["surfaces"]}
    try:
        branch = open_encode_branch(config, "", lambda _: None)
    except VeoTunerError as error:
        return {**measures, "codec": f"refused: {error}", "offered": 0}
    for number in range(60):
        picture = moving_picture(number, noisy=True)
        wait_until(lambda: branch._admission.in_flight < 2 or branch._admission._idle)
        branch.offer(number, 0, 1, number * INTERVAL_60_NS, INTERVAL_60_NS, picture)
    branch.close()
    rows = branch.take_records()
    coded = rows[rows["fate"] == EncodeFate.ENCODED]
    return {
        **measures,
        "codec": branch.state.codec,
        "offered": len(rows),
        "bytes": int(coded["bytes_out"].sum()),
        "largest": int(coded["bytes_out"].max()),
        "key_frames": int(coded["key_frame"].sum()),
        "held": float(np.median(delay_frames(coded))),
    }


def losing(config: VeoConfig) -> Measures:
    """A loss rate that rises second by second, and intervals that spread more and more."""
    watch = LossWatch()
    told: deque[tuple[float, str]] = deque()
    lost = 0.0
    for tenth in range(600):
        lost += tenth / 10 * 0.05
        losses = dict.fromkeys(LOSS_CLASSES, 0) | {Fate.DEADLINE_MISSED: round(lost)}
        event = watch.look(FrameCounters(9999, 999, losses, None, 0, 0), config.alerts, tenth * NS_PER_S // 10)
        if event is not None:
            told.append((tenth / 10, event.severity))
    deviation_ms = np.linspace(0, 5, 1001)
    bands = interval_bands(16.667 + deviation_ms, 16.667, config.alerts)
    return {
        "warned_s": next((at_s for at_s, severity in told if severity == "warning"), math.inf),
        "critical_s": next((at_s for at_s, severity in told if severity == "error"), math.inf),
        "low_band": round(bands.low, 2),
        "high_band": round(bands.high, 2),
    }


def streamed(config: VeoConfig) -> Measures:
    """A client of the preview stream, for four thumbnails."""
    request = RunRequest(
        EVEN.replace("64x64", "1280x720"), DISPLAY, config, gpu="none", stream=StreamRequest(token=TOKEN)
    )
    with Session(request) as session:
        session.start()
        phase = session.wait_for(lambda state: state.phase is not Phase.STARTING, 30).phase
        assert phase is Phase.RUNNING, session.state.failure
        assert session.stream is not None
        server = session.stream.server
        measures: Measures = {"phase": phase, "served": False, "source": session.state.source}
        if not config.enable_preview:
            return measures
        wait_until(lambda: bool(server.url))
        with connect(server.url, additional_headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            messages = [json.loads(client.recv(timeout=30)) for _ in range(4)]
    width = _jpeg_width(messages[-1]["data"])
    interval_ms = np.median(np.diff([message["timestamp_ms"] for message in messages]))
    return {**measures, "served": True, "width": width, "interval_ms": interval_ms}


def _jpeg_width(data: str) -> int:
    with av.open(io.BytesIO(base64.b64decode(data)), format="jpeg_pipe") as container:
        return container.streams.video[0].width


_SCHEDULE = """
import json, sys, threading, time
from app.config.sections import Realtime
from app.core.errors import EngineError
from app.engine.realtime import RealtimeScheduling
threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
try:
    print(json.dumps(RealtimeScheduling().apply(Realtime(**json.loads(sys.argv[1])))._asdict()))
except EngineError as error:
    print(json.dumps({"policy": str(error), "priority": str(error), "nice": str(error), "cpus": str(error)}))
"""


def scheduled(config: VeoConfig) -> Measures:
    """The present thread of a process that asks the system, or the refusal."""
    wanted = json.dumps(config_to_object(config)["realtime"])
    done = subprocess.run([sys.executable, "-c", _SCHEDULE, wanted], capture_output=True, text=True, check=True)
    measures: Measures = json.loads(done.stdout)
    return measures


def devices(config: VeoConfig) -> Measures:
    """Which devices the engine is given."""
    visible = device_variables(config.device).get("CUDA_VISIBLE_DEVICES", "all")
    return {"cuda": visible, "vulkan": config.device.vulkan_device}


def device_opened(config: VeoConfig) -> Measures:
    """What becomes of a run on the Vulkan device that is named."""
    request = RunRequest(EVEN, "virtual:60", config, gpu="none")
    with Session(request) as session:
        session.start()
        state = session.wait_for(lambda state: state.phase is not Phase.STARTING, 30)
        time.sleep(0.1)
        return {"failure": state.failure.partition(";")[0], "source": EVEN}


def changed(base: Mapping[str, Any], key: str, value: Any) -> VeoConfig:
    """Return the default configuration with a base and one key changed."""
    fields = config_to_object(VeoConfig())
    for name, each in {**base, key: value}.items():
        target = fields
        *parents, last = name.split(".")
        for parent in parents:
            target = target[parent]
        target[last] = each
    return config_from_object(fields)
