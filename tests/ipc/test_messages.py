"""Control messages survive the wire; what is no message is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ipc.message_codec import MAX_MESSAGE_BYTES
from app.ipc.messages import (
    ENGINE_MESSAGES,
    ConfigApplied,
    EngineReady,
    EngineStatus,
    Message,
    RunFinished,
    SinkChanged,
    SinkInfo,
    SourceInfo,
    StartRun,
    StopRun,
)

SOURCE = SourceInfo("h264", 1280, 720, 60.0, False, True, "yuv420p", "bt709", "limited", 0, "software", None)
SINK = SinkInfo(
    "virtual", 60.0, "FIFO", "FIFO", "", ["FIFO"], 3, "virtual_display", True, "llvmpipe", True, "", "", 1280, 720
)


@pytest.mark.parametrize(
    "message",
    [
        StartRun({"present_mode": "FIFO"}, 1, ["synthetic:64x64@60"], "virtual:60"),
        EngineReady(SOURCE, SINK),
        SinkChanged(SINK, "window resized"),
        ConfigApplied(2, 5, {"frame_queue_depth": [4, 8]}, {"frame_queue_depth": "next frame"}),
        EngineStatus(1, 0.5, 0.1, 1 << 30, 0, 1, 99, None),
        RunFinished("stopped", {"sink": 1}),
        StopRun(),
    ],
    ids=lambda message: type(message).__name__,
)
def test_a_message_survives_the_wire(message: Message) -> None:
    assert ENGINE_MESSAGES.decode(ENGINE_MESSAGES.encode(message)) == message


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.integers(), st.text(max_size=5), st.none()), max_size=4))
def test_a_configuration_travels_unchanged(config: dict[str, Any]) -> None:
    message = StartRun(config, 1, ["s"], "v")
    assert ENGINE_MESSAGES.decode(ENGINE_MESSAGES.encode(message)) == message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"{}",
        b'{"type": 3}',
        b'{"type": "Shutdown"}',
        b'{"type": "StopRun", "now": true}',
        b'{"type": "SetPaused"}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any refusal will do: the peer is then taken as gone
        ENGINE_MESSAGES.decode(data)


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_being_refused(data: bytes) -> None:
    try:
        ENGINE_MESSAGES.decode(data)
    except ValueError:
        return


def test_an_oversized_message_is_refused_at_both_ends() -> None:
    with pytest.raises(ValueError, match="more than"):
        ENGINE_MESSAGES.encode(StartRun({"x": "y" * MAX_MESSAGE_BYTES}, 1, ["s"], "v"))
    with pytest.raises(ValueError, match="longer than"):
        ENGINE_MESSAGES.decode(json.dumps({"type": "StopRun", "x": "y" * MAX_MESSAGE_BYTES}).encode())
