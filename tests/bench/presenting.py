"""What Python costs in the present loop: uncapped presents of a cleared window against a C program's same calls."""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

from tests.bench.rows import Row, take_turns
from tests.bench.veotuner_runs import run_program
from tests.support.sandbox import software_drivers
from tests.support.x_server import XServer

WIDTH, HEIGHT, FRAMES = 960, 540, 3000
ROUNDS = 7
TARGET_RATIO = 0.8


def measure(build: Path) -> list[Row]:
    """Present cleared images on an X server as fast as software Vulkan takes them, in turns with present.c."""
    program = _compile(Path(__file__).with_name("present.c"), build / "present")
    size = [str(WIDTH), str(HEIGHT), str(FRAMES)]
    server = XServer()
    try:
        environment = os.environ | {"DISPLAY": server.display, "VK_DRIVER_FILES": str(software_drivers()[0])}

        def rate(*command: str) -> float:
            return float(run_program([*command, *size], environment))

        turns = take_turns(
            lambda: rate(sys.executable, "-m", "tests.bench.present_cleared"), lambda: rate(str(program)), ROUNDS
        )
    finally:
        server.close()
    return [
        Row(
            f"uncapped IMMEDIATE presents of a cleared {WIDTH}×{HEIGHT} X11 window, against present.c",
            f"{statistics.median(turns.ours):.0f} fps",
            f"{statistics.median(turns.reference):.0f} fps",
            f"{turns.ratio:.2f}",
            f"≥ {TARGET_RATIO}",
            turns.ratio >= TARGET_RATIO,
            f"{FRAMES} presents a turn, lavapipe on Xvfb; {turns.spread}",
        )
    ]


def _compile(source: Path, program: Path) -> Path:
    run_program(["gcc", "-O2", "-Wall", str(source), "-o", str(program), "-lvulkan", "-lxcb"])
    return program
