"""The channel between two real processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from app.ipc.channel import Channel, ChannelClosedError, ParentEnd
from app.ipc.messages import EngineEvent, SetPaused
from app.ipc.shared_block import SharedBlock

ECHO = """
import sys
from app.ipc.channel import ChannelClosedError, connect_child
from app.ipc.messages import EngineEvent, SetPaused
channel = connect_child(sys.argv[1])
try:
    while True:
        message = channel.receive()
        if message.paused:
            channel.send(EngineEvent("info", "echo", "paused", 1))
        else:
            sys.exit(0)
except ChannelClosedError:
    sys.exit(7)
"""


def spawn_echo() -> tuple[subprocess.Popen[bytes], Channel]:
    end = ParentEnd()
    child = subprocess.Popen([sys.executable, "-c", ECHO, end.handle], pass_fds=end.inherited)
    return child, end.connect()


def test_messages_go_both_ways_between_processes() -> None:
    child, channel = spawn_echo()
    channel.send(SetPaused(True))
    assert channel.receive(20) == EngineEvent("info", "echo", "paused", 1)
    channel.send(SetPaused(False))
    assert child.wait(20) == 0
    channel.close()


def test_the_child_notices_that_the_parent_closed() -> None:
    child, channel = spawn_echo()
    channel.close()
    assert child.wait(20) == 7


def test_the_parent_notices_that_the_child_was_killed() -> None:
    child, channel = spawn_echo()
    child.kill()
    child.wait(20)
    with pytest.raises(ChannelClosedError):
        channel.receive(20)
    with pytest.raises(ChannelClosedError):
        channel.send(SetPaused(True))
    channel.close()


def test_a_time_out_is_no_message() -> None:
    child, channel = spawn_echo()
    assert channel.receive(0.01) is None
    channel.close()
    child.wait(20)


def test_a_block_is_shared_with_a_child_and_has_no_name_to_be_left_behind() -> None:
    code = (
        "import sys; from app.ipc.shared_block import SharedBlock\n"
        "with SharedBlock.attach(sys.argv[1]) as block: block.memory[5] = 77"
    )
    with SharedBlock.create(4096) as block:
        assert block.descriptor is not None
        subprocess.run([sys.executable, "-c", code, block.handle], pass_fds=[block.descriptor], check=True)
        assert block.memory[5] == 77
