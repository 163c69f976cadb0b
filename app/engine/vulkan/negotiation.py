"""What a surface offers against what the configuration asks: pure decisions, each with its reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from app.core.vocabulary import PresentMode

PRESENT_MODE_VALUES: Final[dict[PresentMode, int]] = {
    PresentMode.IMMEDIATE: 0,
    PresentMode.MAILBOX: 1,
    PresentMode.FIFO: 2,
    PresentMode.FIFO_RELAXED: 3,
    PresentMode.FIFO_LATEST_READY: 1000361000,
}
"""`VkPresentModeKHR`."""

FALLBACKS: Final[dict[PresentMode, tuple[PresentMode, ...]]] = {
    PresentMode.IMMEDIATE: (PresentMode.MAILBOX, PresentMode.FIFO),
    PresentMode.MAILBOX: (PresentMode.FIFO_LATEST_READY, PresentMode.FIFO),
    PresentMode.FIFO_LATEST_READY: (PresentMode.MAILBOX, PresentMode.FIFO),
    PresentMode.FIFO_RELAXED: (PresentMode.FIFO,),
    PresentMode.FIFO: (),
}
"""Nearest behaviour first; FIFO exists everywhere."""

IN_ORDER_MODES: Final = frozenset({PresentMode.FIFO, PresentMode.FIFO_RELAXED})
"""Modes that show every picture, in order, and hold the caller back when the queue is full."""

UNDEFINED_EXTENT: Final = 0xFFFFFFFF
"""A surface without a size of its own (Wayland, headless): the swapchain decides it."""


class Grant(NamedTuple):
    """A present mode and why it is not the one asked for; `reason` is "" when it is."""

    mode: PresentMode
    reason: str


def grant_mode(requested: PresentMode, available: Collection[PresentMode]) -> Grant:
    """Return the requested mode if the surface offers it, else the nearest it offers."""
    if requested in available:
        return Grant(requested, "")
    granted = next((mode for mode in FALLBACKS[requested] if mode in available), PresentMode.FIFO)
    return Grant(granted, f"this surface does not offer {requested}; {granted} is the nearest it has")


def grant_image_count(requested: int, least: int, most: int) -> int:
    """Return the count to ask the driver for.

    Args:
        least, most: the surface's limits; a `most` of 0 is no limit.
    """
    count = max(requested, least)
    return min(count, most) if most else count


def choose_live_modes(compatible: Mapping[PresentMode, int], count: int) -> tuple[PresentMode, ...]:
    """Return the present modes that a swapchain of `count` images can change to without being made anew.

    Args:
        compatible: modes that the driver lists as compatible with the one granted → least images of each.
    """
    return tuple(mode for mode in PresentMode if compatible.get(mode, count + 1) <= count)


def choose_extent(
    current: tuple[int, int], wanted: tuple[int, int], least: tuple[int, int], most: tuple[int, int]
) -> tuple[int, int]:
    """Return the size of the images: the surface's own, or the wanted one within limits where it has none.

    Zero in either direction means that there is nothing to present to.
    """
    if current[0] != UNDEFINED_EXTENT:
        return current
    if min(wanted) <= 0:
        return (0, 0)
    width, height = (max(low, min(high, size)) for size, low, high in zip(wanted, least, most, strict=True))
    return width, height


def choose_format(offered: Collection[tuple[int, int]]) -> tuple[int, int] | None:
    """Return `VkFormat` and `VkColorSpaceKHR` to present in, None when no offer fits.

    An 8-bit UNORM format: the picture is R′G′B′ already, so an sRGB format would encode it twice.
    """
    preferred = ((44, 0), (37, 0))  # B8G8R8A8_UNORM, R8G8B8A8_UNORM, both SRGB_NONLINEAR
    return next((choice for choice in preferred if choice in offered), None)
