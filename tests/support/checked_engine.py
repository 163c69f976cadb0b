"""The engine process with an audit at the end of its run: `python -m tests.support.checked_engine`, as `app.engine`.

What only the process itself can see: that each staging slot is free or held by exactly one frame, and that no thread is
left. A run that fails the audit ends with `AUDIT_FAILED` and says why on stderr.

With `WITHOUT_COMPUTE` in its environment its device makes no pictures up.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from app.engine import engine_run
from app.engine.__main__ import main
from app.engine.frame import Frame
from app.engine.lane import Lane
from app.engine.present_loop import PresentLoop
from app.engine.vulkan import tiles

AUDIT_FAILED: Final = 9
WITHOUT_COMPUTE: Final = "VEOTUNER_TEST_WITHOUT_COMPUTE"
_ENGINE_OWN: Final = ("MainThread", "outbox", "inbox")


def slot_faults(loop: PresentLoop) -> list[str]:
    """Return what is wrong with the staging slots of each lane after its stages have stopped."""
    pending = loop._sink.pending()
    return [fault for lane in loop.lanes for fault in _faults_of(lane, [*pending])]


def _faults_of(lane: Lane, pending: list[Frame]) -> Iterator[str]:
    stages = lane.stages
    waiting = [lane.held] if lane.held is not None else []
    frames = [*waiting, *stages.frame_queue._frames, *(each for each in pending if each.source_index == lane.index)]
    held = [slot for frame in frames for slot in (frame.slot, frame.extra_slot) if slot >= 0]
    counts = Counter([*stages.slots._free, *held])
    for slot, count in counts.items():
        if count > 1:
            yield f"source {lane.index}: slot {slot} is there {count} times"
    lost = set(range(stages.slots.count)) - set(counts)
    if len(lost) > stages._stranded["process"]:
        yield f"source {lane.index}: slots {sorted(lost)} of {stages.slots.count} are lost"


def _audited(present: Callable[..., None], faults: list[str]) -> Callable[..., None]:
    @functools.wraps(present)
    def audited(status: Any, loop: PresentLoop, *others: Any) -> None:
        present(status, loop, *others)
        faults.extend(slot_faults(loop))

    return audited


def checked_main() -> int:
    """Run the engine and its audit; return the exit code."""
    faults: list[str] = []
    engine_run._present = _audited(engine_run._present, faults)
    if WITHOUT_COMPUTE in os.environ:
        vars(tiles)["interpolation_unavailable"] = lambda *_: "this device runs no compute shaders"
    code = main()
    left = [thread.name for thread in threading.enumerate() if not thread.name.startswith(_ENGINE_OWN)]
    faults += [f"thread {name} is left" for name in left]
    sys.stderr.write("".join(f"AUDIT: {fault}\n" for fault in faults))
    return AUDIT_FAILED if faults else code


if __name__ == "__main__":
    sys.exit(checked_main())
