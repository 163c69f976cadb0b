"""The stream server as a child process: it serves, it dies without harm, and it never outlives its session."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app.config.source_text import PreviewStreamSpec, parse_source
from app.core.errors import EngineError
from app.ipc.channel import ParentEnd
from app.ipc.shared_block import SharedBlock
from app.ipc.stream_messages import FromStream, StreamFailed, StreamReady, StreamStatus
from app.ipc.thumbnail_block import ThumbnailWriter, thumbnail_block_bytes
from app.session import stream_process
from app.session.child_python import inherited_descriptors, module_command, start_child
from app.session.stream_process import StreamProcess
from tests.support.waiting import wait_until

WAIT_S = 20.0


class Stream:
    """A stream process, what it told, and the engine's end of its memory."""

    def __init__(self, **arguments: Any) -> None:
        self.told: list[FromStream] = []
        self.process = StreamProcess(listener=self.told.append, **arguments)
        self.writer = ThumbnailWriter(self.process.block)
        self.written = 0

    def start(self) -> None:
        self.process.start()
        wait_until(lambda: bool(self.process.url))

    def write(self) -> int:
        luma = np.zeros((36, 64), np.uint8)
        self.writer.write(self.written, 0, 0, (luma, luma[::2, ::2], luma[::2, ::2]))
        self.written += 1
        return self.written - 1

    def connect(self) -> ClientConnection:
        return connect(
            self.process.url, additional_headers={"Authorization": f"Bearer {self.process.token}"}, proxy=None
        )

    def server(self) -> psutil.Process:
        assert self.process.pid is not None
        return psutil.Process(self.process.pid)

    def told_of(self, kind: type[FromStream]) -> list[FromStream]:
        return [message for message in self.told if isinstance(message, kind)]

    def close(self) -> None:
        self.writer.close()
        self.process.close()


@pytest.fixture
def stream() -> Iterator[Stream]:
    stream = Stream()
    yield stream
    stream.close()


def next_index(client: ClientConnection) -> int:
    index: int = json.loads(client.recv(WAIT_S))["frame_index"]
    return index


def watched(stream: Stream, viewers: int = 1) -> None:
    wait_until(lambda: stream.writer.viewers == viewers)


def test_what_the_engine_writes_reaches_a_client_and_the_end_is_said_in_order(stream: Stream) -> None:
    stream.start()
    with stream.connect() as client:
        watched(stream)
        assert next_index_after_write(stream, client) == 0
        wait_until(lambda: stream.process.status is not None)
        assert isinstance(stream.process.status, StreamStatus)
        assert stream.process.status.clients == 1
        stream.process.stop()
        with pytest.raises(ConnectionClosed) as caught:
            client.recv(WAIT_S)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.code == 1001
    assert stream.told_of(StreamFailed) == []


def next_index_after_write(stream: Stream, client: ClientConnection) -> int:
    stream.write()
    return next_index(client)


def test_the_source_text_is_what_another_veotuner_opens_it_with(stream: Stream) -> None:
    assert (stream.process.url, stream.process.source_text) == ("", "")
    stream.start()
    expected = PreviewStreamSpec(stream.process.url, stream.process.token)
    assert parse_source(stream.process.source_text) == expected
    assert stream.process.url.endswith(f"/v1/preview/{stream.process.request_id}")


def test_the_token_is_on_no_command_line_and_in_no_environment(stream: Stream) -> None:
    stream.start()
    server = stream.server()
    assert stream.process.token not in " ".join(server.cmdline())
    assert stream.process.token not in str(server.environ())
    assert stream.process.token not in repr(stream.process._start)


def test_ctrl_c_in_the_terminal_does_not_reach_it_and_the_present_loop_goes_first(stream: Stream) -> None:
    stream.start()
    server = stream.server()
    assert os.getsid(server.pid) == server.pid != os.getsid(0)
    assert server.nice() > psutil.Process().nice()


def test_a_server_that_is_killed_is_told_and_another_serves_the_same_address_while_the_engine_writes_on(
    stream: Stream,
) -> None:
    stream.start()
    url, first = stream.process.url, stream.server()
    with stream.connect() as client:
        watched(stream)
        first.kill()
        with pytest.raises(ConnectionClosed):
            client.recv(WAIT_S)
    watched(stream, viewers=0)  # the engine works for nobody while there is no server
    stream.write()
    wait_until(lambda: len(stream.told_of(StreamReady)) == 2)
    (failure,) = stream.told_of(StreamFailed)
    assert failure == StreamFailed("the preview stream's server ended by signal 9 (SIGKILL); it is started again")
    assert stream.process.url == url
    with stream.connect() as client:
        watched(stream)
        assert next_index_after_write(stream, client) == 1


def test_the_engine_is_not_held_up_by_a_server_that_stands_still(stream: Stream) -> None:
    stream.start()
    with stream.connect() as client:
        watched(stream)
        server = stream.server()
        server.suspend()
        try:
            for _ in range(1000):
                stream.write()  # returns: that is the claim
        finally:
            server.resume()
        indexes = [next_index(client)]
        while indexes[-1] != 999:
            indexes.append(next_index(client))
    assert len(indexes) <= 2


def test_a_server_that_cannot_live_is_given_up_after_some_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_process, "RESTART_DELAYS_S", (0.01, 0.02))
    code = "import sys; sys.stderr.write('no such codec\\n'); sys.exit(3)"
    stream = Stream(command=[sys.executable, "-c", code])
    stream.process.start()
    wait_until(lambda: len(stream.told) == 3)
    stream.close()
    texts = [failure.text for failure in stream.told if isinstance(failure, StreamFailed)]
    died = "the preview stream's server ended with exit code 3; its last words: no such codec; it is "
    assert texts == [f"{died}started again"] * 2 + [f"{died}given up; restart the run to have it back"]
    assert stream.process.pid is None


def test_a_port_that_is_taken_is_told_once_and_not_tried_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        stream = Stream(port=taken.getsockname()[1])
        stream.process.start()
        wait_until(lambda: bool(stream.told) and stream.process.pid is None)
        stream.close()
    (failure,) = stream.told
    assert isinstance(failure, StreamFailed)
    assert "choose a port that is free" in failure.text


def test_a_server_that_does_not_stop_is_killed(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_process, "STOP_GRACE_S", 0.2)
    stream.start()
    server = stream.server()
    server.suspend()
    stream.process.stop()
    assert not server.is_running()


SESSION = """
import sys, time
from app.session.stream_process import StreamProcess
stream = StreamProcess()
stream.start()
while not stream.url:
    time.sleep(0.01)
print(stream.pid, flush=True)
time.sleep(600)
"""


def test_a_server_ends_with_its_session_however_that_came() -> None:
    session = subprocess.Popen([sys.executable, "-c", SESSION], stdout=subprocess.PIPE)
    assert session.stdout is not None
    server = psutil.Process(int(session.stdout.readline()))
    session.send_signal(signal.SIGKILL)
    session.wait(WAIT_S)
    session.stdout.close()
    wait_until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)


def test_a_server_that_gets_no_job_says_so_and_ends() -> None:
    end = ParentEnd()
    with SharedBlock.create(thumbnail_block_bytes()) as block:
        command = module_command("app.stream", "--channel", end.handle, "--thumbnails", block.handle)
        server = start_child(command, (*end.inherited, *inherited_descriptors(block)))
        end.connection().close()
        _, words = server.communicate(timeout=WAIT_S)
    assert (server.returncode, words) == (2, b"the stream server was started without a job\n")


@pytest.mark.parametrize(("request_id", "token"), [("a/b", ""), ("x" * 65, ""), ("", "two words"), ("", "Schlüssel")])
def test_what_cannot_stand_in_an_address_or_a_header_is_refused(request_id: str, token: str) -> None:
    with pytest.raises(EngineError, match="use letters, digits"):
        StreamProcess(request_id, token)


def test_a_stream_that_was_stopped_can_be_started_again_at_the_same_address(stream: Stream) -> None:
    stream.start()
    url = stream.process.url
    stream.process.stop()
    assert (stream.process.url, stream.process.status, stream.process.pid) == ("", None, None)
    stream.start()
    assert stream.process.url == url


def test_a_stream_that_was_closed_is_not_started_again() -> None:
    process = StreamProcess()
    process.close()
    with pytest.raises(EngineError, match="ended with its run"):
        process.start()


def test_a_program_that_does_not_exist_is_an_error_and_leaves_nothing_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    process = StreamProcess(command=["/no/such/program"])
    with pytest.raises(EngineError, match="could not be started"):
        process.start()
    process.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
