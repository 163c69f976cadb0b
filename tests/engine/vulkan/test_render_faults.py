"""Every Vulkan call of drawing fails in turn: a clean error, nothing left behind, no hang."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.core.errors import SinkError
from app.engine.vulkan.api import FunctionTable
from app.engine.vulkan.instance import Instance, open_instance
from app.engine.vulkan.offscreen import OffscreenRenderer
from app.engine.vulkan.results import DEVICE_LOST
from tests.engine.vulkan import reference
from tests.engine.vulkan.conftest import frame_in
from tests.engine.vulkan.test_tiles import MODES, SECOND_NS

FORM = reference.picture_format(32, 24)
PICTURE = reference.make_picture(FORM, reference.random_codes(FORM))
OUT_OF_HOST_MEMORY = -1
MAY_FAIL = ("vkGetQueryPoolResults", "vkDeviceWaitIdle")
"""Calls whose failure is no error always: a stamp is missing, or the device is lost and therefore idle."""

NOT_OF_THE_DRAWING = ("vkGetCalibratedTimestampsKHR", "vkGetCalibratedTimestampsEXT")
"""Calls of the GPU clock's own thread."""


class FaultyCalls:
    """Counts the device calls that have a result, and lets one of them fail without doing its work.

    Attributes:
        counts: function → calls so far. has_struck: the call that was to fail has been made; how often fences are
            asked depends on the GPU's speed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str = "", turn: int = 0, code: int = 0) -> None:
        self.counts: Counter[str] = Counter()
        self.has_struck = False
        self._fault = (name, turn, code)
        self._fetch: Callable[[FunctionTable, str], Any] = FunctionTable.__getattr__

        def get_attribute(table: FunctionTable, key: str) -> Any:
            return self._get(table, key)

        monkeypatch.setattr(FunctionTable, "__getattr__", get_attribute)

    def _get(self, table: FunctionTable, name: str) -> Any:
        function = self._fetch(table, name)
        if table._get_address != "vkGetDeviceProcAddr" or name in NOT_OF_THE_DRAWING:
            return function
        wrapped = self._wrap(function, name)
        setattr(table, name, wrapped)
        return wrapped

    def _wrap(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            wanted, turn, code = self._fault
            if name == wanted and self.counts[name] == turn:
                self.counts[name] += 1
                self.has_struck = True
                return code
            result = real(*arguments)
            if isinstance(result, int):
                self.counts[name] += 1
            return result

        return call


def draw_everything(instance: Instance, path: Path) -> None:
    """Open, prepare, draw in both modes, make a picture up, capture and close."""
    with closing(OffscreenRenderer(instance, 2, 64, 48, "", tiles=2)) as renderer:
        for tile in range(2):
            renderer.prepare(FORM, 2, tile)
            renderer.upload(PICTURE, 0, tile)
        for mode in MODES:
            renderer.set_command_buffers(mode)
            for tile in range(2):
                renderer.render([frame_in(0, tile)], tile)
            ticket = renderer.render([frame_in(1)], 0)
            renderer.gpu_times(ticket)
            assert renderer.wait(ticket, 10 * SECOND_NS)
        renderer.start_capture(0, path).finish()
        for notice in renderer.take_notices():
            raise SinkError(notice)  # told instead of raised: pictures are not made up, and the run goes on


def count_calls(path: Path) -> Counter[str]:
    """Return function → calls of a drawing without faults."""
    with pytest.MonkeyPatch.context() as patch:
        calls = FaultyCalls(patch)
        draw_everything(open_instance(validation=True), path)
    return calls.counts


@pytest.mark.parametrize("code", [OUT_OF_HOST_MEMORY, DEVICE_LOST], ids=["memory", "lost"])
def test_every_call_that_fails_is_a_clean_error_and_leaves_nothing_behind(tmp_path: Path, code: int) -> None:
    path = tmp_path / "drawn.png"
    counts = count_calls(path)
    assert counts["vkQueueSubmit"] > 6
    for name, count in counts.items():
        for turn in {0, count // 2, count - 1}:
            instance = open_instance(validation=True)
            error = None
            with pytest.MonkeyPatch.context() as patch:
                calls = FaultyCalls(patch, name, turn, code)
                try:
                    draw_everything(instance, path)
                except SinkError as raised:
                    error = raised
            assert name in MAY_FAIL or (error is not None) == calls.has_struck, (name, turn)
            assert instance.live_objects() == {}, (name, turn)
            assert instance.validation_messages() == [], (name, turn)
