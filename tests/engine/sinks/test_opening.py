"""What becomes of a virtual display's GPU work when there is no device for it."""

from __future__ import annotations

import pytest

from app.core.errors import SinkError
from app.core.vocabulary import PresentMode
from app.engine.sinks.opening import open_sink
from app.engine.sinks.sink import SinkRequest

REQUEST = SinkRequest(PresentMode.FIFO, 3)


def test_a_device_asked_for_by_name_is_not_quietly_done_without() -> None:
    with pytest.raises(SinkError, match="nosuch"):
        open_sink("virtual:60", REQUEST, validation=False, device="nosuch")


def test_no_device_is_needed_where_nothing_is_drawn() -> None:
    sink, notice = open_sink("virtual:60,process=none", REQUEST, validation=False, device="nosuch")
    sink.close()
    assert (notice, sink.info.device) == ("", "")
