"""A process of its own that holds a session, so that a test can kill the holder. Prints the engine's process id.

Run as `session_holder.py RECORDING_DIR SCRIPT`; an empty SCRIPT means the real engine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from app.ipc.shared_block import SharedBlock
from app.session.engine_process import EngineProcess
from app.session.session import Session
from app.session.session_state import Phase, RunRequest

SCRIPTED_ENGINE = Path(__file__).parents[1] / "session" / "scripted_engine.py"


def main() -> None:
    directory, script = sys.argv[1:]
    request = RunRequest("synthetic:320x180@100", "virtual:100,process=none", recording_dir=Path(directory), gpu="none")

    def spawn(log_path: Path | None, *, thumbnails: SharedBlock, variables: Mapping[str, str]) -> EngineProcess:
        del thumbnails  # the scripted engine makes none
        return EngineProcess.spawn(log_path, _command(script), variables=variables)

    session = Session(request, spawn=spawn)
    session.start()
    state = session.wait_for(lambda state: state.phase not in (Phase.STARTING, Phase.IDLE), 30.0)
    while (counters := session.counters()) is None or counters.produced < 150:
        time.sleep(0.05)
    print(state.engine_pid, counters.produced, flush=True)  # noqa: T201 - what the test reads
    time.sleep(60)


def _command(script: str) -> list[str] | None:
    return [sys.executable, str(SCRIPTED_ENGINE), script] if script else None


if __name__ == "__main__":
    main()
