"""How much of FFmpeg's decoding speed is left when every frame passes the whole pipeline and gets a record."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from tests.bench.rows import Row, take_turns
from tests.bench.veotuner_runs import RunCall, run_program, run_veotuner

FRAMES = 3600
"""Long enough that starting either program does not count."""

TARGET_RATIO = 0.7
TARGET_RECORD_US = 25.0
ROUNDS = 5


def measure(build: Path) -> list[Row]:
    """Free-run one H.264 file through VeoTuner and through `ffmpeg -f null`, in turns."""
    video = _video(build / "bench-720p.mp4")
    record_costs_us: list[float] = []

    def ours() -> float:
        call = RunCall(f"{video}?free", "virtual:60,process=none", settings=("present_mode=IMMEDIATE",))
        with tempfile.TemporaryDirectory(dir=build) as folder:
            result = run_veotuner(call, Path(folder))
        record_costs_us.append(result["self"]["record_cost_us"]["mean"])
        return float(result["metrics"]["fps_average"]["value"])

    turns = take_turns(ours, lambda: _ffmpeg_rate(video), ROUNDS)
    cost_us = statistics.median(record_costs_us)
    return [
        Row(
            "decode 1280×720 H.264 as fast as it goes, `process=none`, IMMEDIATE, against `ffmpeg -f null`",
            f"{statistics.median(turns.ours):.0f} fps",
            f"{statistics.median(turns.reference):.0f} fps",
            f"{turns.ratio:.2f}",
            f"≥ {TARGET_RATIO}",
            turns.ratio >= TARGET_RATIO,
            f"{FRAMES} frames a turn; {turns.spread}",
        ),
        Row(
            "cost of one frame record in the loop",
            f"{cost_us:.1f} µs",
            "",
            f"{cost_us:.1f} µs",
            f"≤ {TARGET_RECORD_US:.0f} µs",
            cost_us <= TARGET_RECORD_US,
            f"median of {len(record_costs_us)} runs' means, highest {max(record_costs_us):.1f} µs; same runs",
        ),
    ]


def _video(path: Path) -> Path:
    if not path.exists():
        part = path.with_suffix(".part.mp4")
        pattern = f"testsrc2=size=1280x720:rate=60:duration={FRAMES / 60}"
        coding = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "60"]
        run_program(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", pattern, *coding, str(part)])
        part.rename(path)
    return path


def _ffmpeg_rate(video: Path) -> float:
    start = time.monotonic()
    run_program(["ffmpeg", "-v", "error", "-nostdin", "-i", str(video), "-f", "null", "-"])
    return FRAMES / (time.monotonic() - start)
