"""Random walks: whatever a session asks of a running engine in whatever order, its records stay true and complete.

To look further than the gate does: `VEOTUNER_WALKS=50 pytest tests/process/test_random_walk.py`.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path
from typing import Any

import av
import pytest

from app.ipc.messages import SetPaused
from tests.engine.sources.videos import Video, write_video
from tests.support.engine_harness import EngineHarness
from tests.support.random_walk import Walk, walk_faults

AUDITED = "tests.support.checked_engine"
SECONDS = 3.0
WALKS = int(os.environ.get("VEOTUNER_WALKS", "2"))
SYNTHETIC = (
    "synthetic:160x96@60,arrival_jitter_ms=4",
    "synthetic:128x72@60,stall=0.03:250",
    "synthetic:96x64@50,stall=0.01:1300",
    "synthetic:320x180@120,decode_ms=3±2",
    "synthetic:96x64@0",
)
SINKS = ("virtual:60", "virtual:144", "virtual:60,images=2", "virtual:30,compositor=1")


@pytest.fixture(scope="session")
def films(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """A film that loops, one that ends, one that changes its size on the way, one that runs free."""
    folder = tmp_path_factory.mktemp("films")
    first = write_video(folder / "first.ts", Video(width=192, height=108, frames=60))
    second = write_video(folder / "second.ts", Video(width=160, height=96, frames=30))
    changing = folder / "changing.ts"
    with changing.open("wb") as joined:
        for path in (first, second, first):
            with path.open("rb") as part:
                shutil.copyfileobj(part, joined)
    return f"{first}?loop", str(first), f"{changing}?loop", f"{second}?free&loop"


def begun(seed: int, films: tuple[str, ...]) -> tuple[list[str], str, dict[str, Any]]:
    """Return what a walk begins with: sources, sink, configuration."""
    draw = random.Random(seed)
    sources = [draw.choice(SYNTHETIC + films) for _ in range(draw.choice((1, 1, 2, 3, 4)))]
    config: dict[str, Any] = {
        "frame_queue_depth": draw.choice((1, 2, 3, 8)),
        "overflow_policy": draw.choice(("block", "drop_oldest", "drop_newest")),
        "frame_compensation": {
            "enabled": True,
            "window": 16,
            "table": [[0.001, 30]],
            "interpolation": draw.choice(("none", "blend", "motion")),
        },
    }
    return sources, draw.choice(SINKS), config


@pytest.mark.slow
@pytest.mark.parametrize("process", ["none", "gpu"])
def test_records_are_true_and_complete_after_a_random_walk(
    process: str, films: tuple[str, ...], tmp_path: Path
) -> None:
    first = 0 if process == "none" else 1000
    for seed in range(first, first + WALKS):
        sources, sink, config = begun(seed, films)
        captures = tmp_path if process == "gpu" else None
        encode_to = tmp_path / f"{seed}.ts"
        with EngineHarness(
            sources, f"{sink},process={process}", config, validation=True, encode_to=str(encode_to), module=AUDITED
        ) as engine:
            engine.ready()
            walk = Walk(engine, seed, captures)
            walk.go(SECONDS)
            finished = engine.finish()
            faults = walk_faults(engine.frames(), engine.messages, finished)
        assert faults == [], f"seed {seed}: {sources} into {sink}; {walk.log[-20:]}"
        assert_playable(list(tmp_path.glob(f"{seed}*.ts")))


def assert_playable(files: list[Path]) -> None:
    for path in files:
        with av.open(str(path), format="mpegts") as container:  # one frame is too short to be recognised
            assert sum(1 for _ in container.decode(video=0)) > 0


def test_stages_keep_their_order_over_pauses_of_every_length(films: tuple[str, ...]) -> None:
    """Sources go on decoding in a pause, until the queues are full; what they did then counts as done behind it."""
    sources = [films[0], films[3], "synthetic:128x72@120,stall=0.05:100", "synthetic:64x64@60,decode_ms=5±3"]
    config = {"frame_queue_depth": 16, "nvdec_queue_depth": 8, "render_latency_ms": 30}
    with EngineHarness(sources, "virtual:60,process=none", config, module=AUDITED) as engine:
        engine.ready()
        for length_s in (0.001, 0.02, 0.05, 0.2, 0.4, 0.01, 0.1, 0.3):
            engine.run_frames(20)
            engine.send(SetPaused(True))
            time.sleep(length_s)
            engine.send(SetPaused(False))
        engine.run_frames(60)
        finished = engine.finish()
        assert walk_faults(engine.frames(), engine.messages, finished) == []
