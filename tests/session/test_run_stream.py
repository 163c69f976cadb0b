"""A run serves its preview stream while the option says so, to a real client, and tells where without the token."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from websockets.sync.client import connect

from app.config.editing import replace_option
from app.config.veoconfig import VeoConfig
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, StreamRequest

TOKEN = "s3cret"  # noqa: S105 - that it stays out of the events is what is tested
SERVING = VeoConfig(enable_preview=True, preview_interval_ms=200)


def wait(is_reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not is_reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def start(config: VeoConfig) -> Session:
    request = RunRequest(
        "synthetic:320x180@30", "virtual:60,process=none", config, gpu="none", stream=StreamRequest(token=TOKEN)
    )
    session = Session(request)
    session.start()
    assert session.wait_for(lambda state: state.phase is not Phase.STARTING, 30).phase is Phase.RUNNING
    return session


def url_of(session: Session) -> str:
    assert session.stream is not None
    return session.stream.server.url


def test_a_client_sees_the_frames_of_the_run_and_no_event_holds_the_token() -> None:
    with start(SERVING) as session:
        wait(lambda: url_of(session) != "")
        with connect(url_of(session), additional_headers={"Authorization": f"Bearer {TOKEN}"}) as client:
            indexes = [json.loads(client.recv(timeout=30))["frame_index"] for _ in range(3)]
        events = session.state.events
    assert indexes == sorted(set(indexes))
    assert any(event.kind == "preview_stream" and "ws://127.0.0.1:" in event.text for event in events)
    assert not any(TOKEN in event.text for event in events)


def test_the_stream_is_switched_on_and_off_while_the_run_goes_on() -> None:
    with start(VeoConfig()) as session:
        assert url_of(session) == ""
        session.set_config(SERVING)
        wait(lambda: url_of(session) != "")
        session.set_config(replace_option(SERVING, "enable_preview", False))
        wait(lambda: url_of(session) == "")
        assert session.state.phase is Phase.RUNNING
