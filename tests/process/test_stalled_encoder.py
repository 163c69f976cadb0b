"""A real encoder that stands still in a real engine: the preview goes on as if it were not there."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from app.analysis.frame_intervals import display_intervals
from app.config.editing import apply_settings
from app.config.veoconfig import VeoConfig
from app.core.encode_records import ENCODE_DTYPE, EncodeFate
from app.core.records import FrameArray
from app.ipc.messages import EncodeRecords, FromEngine
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, SessionChange
from tests.support.disturbance import again_if_disturbed
from tests.support.stopped_threads import stopped, thread_ids
from tests.support.waiting import wait_until

SOURCE = "synthetic:640x360@60"
SECONDS = 3.5
WITHOUT = VeoConfig(render_latency_ms=60, frame_queue_depth=8)
WITH = apply_settings(WITHOUT, ["encoder.enabled=true"])
ALIVE_FRAMES = 10
TRIES = 20


class Encoded:
    """The encode records of a run, as they come in."""

    def __init__(self) -> None:
        self.fates: list[int] = []
        self._lock = threading.Lock()

    def __call__(self, message: FromEngine | SessionChange) -> None:
        if isinstance(message, EncodeRecords):
            rows = np.frombuffer(base64.b64decode(message.data), ENCODE_DTYPE)
            with self._lock:
                self.fates += rows["fate"].tolist()

    def count(self, fate: EncodeFate) -> int:
        with self._lock:
            return self.fates.count(fate)


@contextlib.contextmanager
def running(encoded: Encoded) -> Iterator[Session]:
    with Session(RunRequest(SOURCE, "virtual:60,process=none", WITHOUT, gpu="none", warmup_s=0), encoded) as session:
        session.start()
        state = session.wait_for(lambda state: state.phase is not Phase.STARTING, 30)
        assert state.phase is Phase.RUNNING, state.failure
        yield session


def displayed(session: Session) -> int:
    counters = session.counters()
    return 0 if counters is None else counters.displayed


def wait_for(session: Session, frames: int, timeout_s: float) -> bool:
    """Wait for this many more frames on the display, and tell whether they came."""
    wanted, deadline = displayed(session) + frames, time.monotonic() + timeout_s
    while displayed(session) < wanted:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


@contextlib.contextmanager
def stalled_encoder(session: Session, encoded: Encoded) -> Iterator[None]:
    """Turn the encoder on, and stop every thread that it brought.

    A thread that is stopped in the moments in which it holds the interpreter's lock stops everything; no encoder stalls
    there, because all of FFmpeg's calls let go of the lock. Then it is tried again.
    """
    engine = session.state.engine_pid
    assert engine is not None
    assert wait_for(session, 60, 30)  # every thread of its start is there
    before = thread_ids(engine)
    session.set_config(WITH)
    wait_until(lambda: encoded.count(EncodeFate.ENCODED) > 0, 30)
    brought = thread_ids(engine) - before
    assert brought
    for _ in range(TRIES):
        with stopped(brought):
            if wait_for(session, ALIVE_FRAMES, 1.0):
                yield
                return
        wait_for(session, ALIVE_FRAMES, 30)
    raise AssertionError("the preview stood still each time the encoder did")


def p99_interval_ms(frames: FrameArray, since_ns: int, until_ns: int) -> float:
    shown = frames[(frames["displayed_ns"] >= since_ns) & (frames["displayed_ns"] < until_ns)]
    return float(np.percentile(display_intervals(shown).interval_ms, 99))


@pytest.mark.slow
@again_if_disturbed
def test_a_stalled_encoder_leaves_the_previews_p99_interval_as_it_was_and_skips_frames() -> None:
    encoded = Encoded()
    with running(encoded) as session:
        time.sleep(1.0)
        alone_ns = time.monotonic_ns()
        time.sleep(SECONDS)
        alone_end_ns = time.monotonic_ns()
        with stalled_encoder(session, encoded):
            stalled_ns = time.monotonic_ns()
            time.sleep(SECONDS)
            stalled_end_ns = time.monotonic_ns()
        coded = encoded.count(EncodeFate.ENCODED)
        wait_for(session, 60, 30)
        assert encoded.count(EncodeFate.ENCODED) > coded, "it goes on when it can"
        frames = session.run_data().frames
        session.stop()
    assert session.state.phase is Phase.FINISHED
    assert encoded.count(EncodeFate.SKIPPED) >= SECONDS * 60 / 2
    alone_ms = p99_interval_ms(frames, alone_ns, alone_end_ns)
    stalled_ms = p99_interval_ms(frames, stalled_ns, stalled_end_ns)
    assert stalled_ms <= alone_ms + 1.0
