"""The counterpart of present.c on VeoTuner's Vulkan layer: `python -m tests.bench.present_cleared WIDTH HEIGHT FRAMES`.

Prints frames per second of an X11 window that is cleared and presented uncapped.
"""

from __future__ import annotations

import sys
import time

from app.config.sink_text import X11Spec
from app.core.vocabulary import PresentMode
from app.engine.sinks.sink import SinkRequest
from app.engine.sinks.swapchain import open_swapchain_sink

LIMIT_NS = 120_000_000_000


def presents_per_second(width: int, height: int, frames: int) -> float:
    """Return the rate at which `frames` cleared images are presented with IMMEDIATE."""
    request = SinkRequest(PresentMode.IMMEDIATE, 0)
    sink = open_swapchain_sink(X11Spec(None, width, height), request, validation=False, device="")
    try:
        started_ns = time.monotonic_ns()
        stamps = sink.present_cleared(frames, LIMIT_NS)
        return len(stamps) * 1e9 / (stamps[-1] - started_ns)
    finally:
        sink.close()


if __name__ == "__main__":
    print(f"{presents_per_second(*(int(text) for text in sys.argv[1:4])):.1f}")
