from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from app.core.clock import NO_STAMP_NS
from app.core.errors import SinkError
from app.engine.vulkan.offscreen import TICKETS_KEPT, open_offscreen_renderer
from tests.engine.vulkan import reference
from tests.engine.vulkan.conftest import OpenRenderer, draw, frame_in, read_png
from tests.support.flat_resources import assert_resources_stay_flat

FORM = reference.picture_format(64, 48)
PICTURE = reference.make_picture(FORM, reference.random_codes(FORM))
SECOND_NS = 1_000_000_000


def test_gpu_times_lie_between_submission_and_the_end_of_the_wait(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(64, 48)
    renderer.prepare(FORM, 1)
    renderer.upload(PICTURE, 0)
    for _ in range(20):
        before_ns = time.monotonic_ns()
        ticket = renderer.render([frame_in(0)], 0)
        assert renderer.wait(ticket, 10 * SECOND_NS)
        after_ns = time.monotonic_ns()
        times = renderer.gpu_times(ticket)
        assert times is not None
        # Software Vulkan reads its stamps from this very clock, so nothing but the fit's microseconds lies between.
        assert before_ns - 50_000 <= times[0] <= times[1] <= after_ns + 50_000


def test_gpu_times_are_known_for_every_recent_ticket_and_for_no_older_one(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(64, 48)
    renderer.prepare(FORM, 1)
    renderer.upload(PICTURE, 0)
    tickets = [renderer.render([frame_in(0)], 0) for _ in range(TICKETS_KEPT + 10)]
    assert renderer.wait(tickets[-1], 10 * SECOND_NS)
    starts = []
    for ticket in tickets[10:]:
        times = renderer.gpu_times(ticket)
        assert times is not None
        assert NO_STAMP_NS < times[0] <= times[1]
        starts.append(times[0])
    assert starts == sorted(starts)
    with pytest.raises(KeyError):
        renderer.gpu_times(tickets[9])


def test_upload_reports_the_bytes_it_copied(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(64, 48)
    renderer.prepare(FORM, 2)
    assert renderer.upload(PICTURE, 1) == 64 * 48 * 3 // 2
    padded = reference.make_picture(FORM, reference.random_codes(FORM), padding=8)
    assert renderer.upload(padded, 0) == (72 * 47 + 64) + 2 * (40 * 23 + 32)


def test_a_slot_grows_when_lines_come_with_more_padding_than_expected(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    codes = reference.random_codes(FORM)
    renderer = open_renderer(64, 48)
    for padding in (0, 300, 0):
        drawn = draw(renderer, reference.make_picture(FORM, codes, padding), tmp_path / "drawn.png")
        assert np.abs(drawn - reference.convert(FORM, codes)).max() <= 3


def test_slots_can_be_added_while_frames_are_in_flight(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(64, 48)
    renderer.prepare(FORM, 1)
    renderer.upload(PICTURE, 0)
    ticket = renderer.render([frame_in(0)], 0)
    renderer.prepare(FORM, 5)
    renderer.upload(PICTURE, 4)
    assert renderer.wait(renderer.render([frame_in(4)], 1), 10 * SECOND_NS)
    assert renderer.wait(ticket, 0)


def test_images_that_stay_over_a_rebuild_keep_their_picture(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    renderer = open_renderer(64, 48, images=2)
    before = draw(renderer, PICTURE, tmp_path / "before.png")
    renderer.rebuild(5)
    renderer.start_capture(0, tmp_path / "after.png").finish()
    assert np.array_equal(read_png(tmp_path / "after.png"), before)
    renderer.rebuild(1)
    assert renderer.live_objects()["Image"] == 1 + 3 * 4  # one target, three planes a set


def test_a_capture_that_cannot_be_written_is_an_error_with_its_path(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    renderer = open_renderer(64, 48)
    draw(renderer, PICTURE, tmp_path / "good.png")
    with pytest.raises(SinkError, match="nowhere"):
        renderer.start_capture(0, tmp_path / "nowhere" / "bad.png").finish()


def test_closing_twice_is_harmless_and_closing_leaves_nothing() -> None:
    renderer = open_offscreen_renderer(2, 16, 16, validation=True, device="")
    renderer.close()
    renderer.close()
    assert renderer.live_objects() == {}
    assert renderer.validation_messages() == []


def test_fifty_reopenings_leave_memory_handles_and_threads_flat() -> None:
    def reopen(_turn: int) -> None:
        renderer = open_offscreen_renderer(2, 64, 48, validation=False, device="")
        renderer.prepare(FORM, 2)
        renderer.upload(PICTURE, 0)
        assert renderer.wait(renderer.render([frame_in(0)], 0), 10 * SECOND_NS)
        renderer.close()
        assert renderer.live_objects() == {}

    assert_resources_stay_flat(reopen)
