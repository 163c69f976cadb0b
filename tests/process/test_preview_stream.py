"""The preview stream beside a real engine: it costs the run nothing, and another run can be fed with it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

from app.analysis.frame_intervals import display_intervals
from app.config.veoconfig import VeoConfig
from app.core.records import FrameArray
from app.core.vocabulary import Fate
from app.ipc.stream_messages import StreamStatus
from app.session.session import Session
from app.session.session_state import Phase, RunRequest
from app.session.stream_process import StreamProcess
from tests.process.preview_clients import READING
from tests.support.disturbance import again_if_disturbed
from tests.support.waiting import wait_until

CLIENTS = Path(__file__).with_name("preview_clients.py")
SECONDS = 3.5
SERVING = VeoConfig(
    enable_preview=True,
    preview_interval_ms=200,
    preview_resolution="960x540",
    render_latency_ms=60,
    frame_queue_depth=8,
)


@contextmanager
def running(source: str, config: VeoConfig) -> Iterator[Session]:
    with Session(RunRequest(source, "virtual:60,process=none", config, gpu="none", warmup_s=0)) as session:
        session.start()
        state = session.wait_for(lambda state: state.phase is not Phase.STARTING, 30)
        assert state.phase is Phase.RUNNING, state.failure
        yield session


def server_of(session: Session) -> StreamProcess:
    assert session.stream is not None
    server = session.stream.server
    wait_until(lambda: server.url != "")
    return server


def p99_interval_ms(frames: FrameArray, since_ns: int, until_ns: int) -> float:
    shown = frames[(frames["displayed_ns"] >= since_ns) & (frames["displayed_ns"] < until_ns)]
    return float(np.percentile(display_intervals(shown).interval_ms, 99))


@again_if_disturbed
def test_sixteen_clients_of_which_one_stalls_leave_the_engines_p99_interval_as_it_was() -> None:
    with running("synthetic:1280x720@60", SERVING) as session:
        server = server_of(session)
        time.sleep(1.0)
        alone_ns = time.monotonic_ns()
        time.sleep(SECONDS)
        watched_ns = time.monotonic_ns()
        clients = subprocess.run(
            [sys.executable, CLIENTS, server.url, server.token, str(SECONDS)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        end_ns = time.monotonic_ns()
        status = server.status
        frames = session.run_data().frames
    assert isinstance(status, StreamStatus)
    pictures = json.loads(clients.stdout)
    assert len(pictures) == READING
    assert min(pictures) >= 3
    assert status.dropped + status.cut > 0  # the one that stalled
    alone_ms, watched_ms = p99_interval_ms(frames, alone_ns, watched_ns), p99_interval_ms(frames, watched_ns, end_ns)
    assert watched_ms <= alone_ms + 1.0


def test_a_run_fed_by_the_preview_stream_of_another_goes_on_in_a_new_segment_when_that_server_died() -> None:
    with ExitStack() as stack:
        shown = stack.enter_context(running("synthetic:640x360@30", SERVING))
        server = server_of(shown)
        follower = stack.enter_context(running(server.source_text, VeoConfig()))

        def displayed() -> int:
            counters = follower.counters()
            return 0 if counters is None else counters.displayed

        wait_until(lambda: displayed() >= 3)
        assert server._server is not None
        server._server.process.kill()
        before = displayed()
        wait_until(lambda: displayed() >= before + 3)
        assert follower.state.phase is Phase.RUNNING
        spans = follower.state.segments
        frames = follower.run_data().frames
        assert shown.state.phase is Phase.RUNNING
    assert [span.reason_started.partition(" after ")[0] for span in spans] == ["start", "the preview stream came back"]
    assert (frames["fate"] == Fate.DISPLAYED).sum() >= 5
    assert set(frames["segment"]) == {1, 2}
