from __future__ import annotations

import pytest

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource
from app.engine.frame import Frame
from app.engine.vulkan.display_time import AcquireReturns, Presentation

REFRESH_NS = 16_666_667


def presentation(present_return_ns: int) -> Presentation:
    frame = Frame()
    frame.present_return_ns = present_return_ns
    return Presentation(frame, None, None, 0, None)  # type: ignore[arg-type]  # no GPU work belongs to it


@pytest.mark.parametrize("images", [2, 3, 4, 6])
def test_in_a_saturated_fifo_an_acquire_that_waited_proves_the_flip_of_the_frame_images_minus_one_before(
    images: int,
) -> None:
    """Frame n is acquired at refresh n and flips at refresh n + K − 1, which is the law the virtual display keeps."""
    returns = AcquireReturns(images)
    frames = []
    for refresh in range(images, 40):
        acquired_ns = refresh * REFRESH_NS
        returns.acquired(acquired_ns - 10_000_000, acquired_ns)
        frames.append((refresh, presentation(acquired_ns + 100)))
        returns.presented(frames[-1][1])
    for refresh, each in frames[: -(images - 1)]:
        assert each.source is DisplayTimeSource.ACQUIRE_RETURN
        assert each.displayed_ns == (refresh + images - 1) * REFRESH_NS


def test_an_acquire_that_found_an_image_at_once_proves_nothing() -> None:
    returns = AcquireReturns(3)
    shown = [presentation(1_000 * n) for n in range(4)]
    for n, each in enumerate(shown):
        returns.acquired(10_000 * n, 10_000 * n + 20)
        returns.presented(each)
    returns.acquired(90_000, 90_020)
    assert [each.source for each in shown[:3]] == [DisplayTimeSource.CALL_RETURN] * 3
    assert shown[2].displayed_ns == 2_000
    assert shown[3].displayed_ns == NO_STAMP_NS
    returns.give_up()
    assert shown[3].displayed_ns == 3_000
