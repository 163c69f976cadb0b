"""The text that names a sink: the simulated display, a headless surface, an X11 window, or a Wayland window.

Grammar:
    virtual:HZ[,images=K][,compositor=C][,process=gpu|none]
    headless[:WxH]
    x11[:WINDOW_ID][,WxH]
    wayland[:WxH]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.config.complaints import number_text
from app.config.spec_text import Bounds, SpecReader, refusal

SINKS_BUILT: Final = "virtual:60, headless, headless:1280x720, x11, x11:WINDOW_ID or wayland"

DEFAULT_WIDTH: Final = 1280
DEFAULT_HEIGHT: Final = 720

_VIRTUAL_FORM: Final = "virtual:HZ[,images=K][,compositor=REFRESHES][,process=gpu|none]"
_HEADLESS_FORM: Final = "headless[:WIDTHxHEIGHT]"
_X11_FORM: Final = "x11[:WINDOW_ID][,WIDTHxHEIGHT]"
_WAYLAND_FORM: Final = "wayland[:WIDTHxHEIGHT]"
_REFRESH: Final = Bounds(1, 1000, "Hz")
_IMAGES: Final = Bounds(2, 16, "images", whole=True)
_COMPOSITOR: Final = Bounds(0, 4, "refreshes", whole=True)
_WINDOW_ID: Final = re.compile(r"0[xX][0-9a-fA-F]{1,8}|[0-9]{1,10}")
_WINDOW_ID_MAXIMUM: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class VirtualSpec:
    """A simulated display that runs in real time.

    Attributes:
        refresh_hz: 1–1000.
        images: number of images that exist; None takes `min_image_count`.
        compositor: refreshes that a compositor adds, 0–4.
        process_on_gpu: frames are uploaded and converted off-screen; False skips both.
    """

    refresh_hz: float
    images: int | None = None
    compositor: int = 0
    process_on_gpu: bool = True


@dataclass(frozen=True, slots=True)
class HeadlessSpec:
    """A swapchain on a surface that nobody sees. Size in px."""

    width: int = DEFAULT_WIDTH
    height: int = DEFAULT_HEIGHT


@dataclass(frozen=True, slots=True)
class X11Spec:
    """A swapchain on an X11 window.

    Attributes:
        window_id: window of another process to present into; None opens a bare one.
        width, height: px; of the window that is opened, or until a foreign one tells its size.
    """

    window_id: int | None = None
    width: int = DEFAULT_WIDTH
    height: int = DEFAULT_HEIGHT


@dataclass(frozen=True, slots=True)
class WaylandSpec:
    """A swapchain on a window that the engine opens itself on the Wayland compositor of its environment.

    Attributes:
        width, height: px, where the compositor leaves the size to the window.
    """

    width: int = DEFAULT_WIDTH
    height: int = DEFAULT_HEIGHT


SurfaceSpec = HeadlessSpec | X11Spec | WaylandSpec
"""A sink that a swapchain presents to."""

SinkSpec = VirtualSpec | SurfaceSpec


def parse_sink(text: str) -> SinkSpec:
    """Return what a sink text names; no display is opened.

    Raises:
        InvalidInputError: the text fits no form, or names a kind of sink that this version cannot open.
    """
    head, comma, settings = text.partition(",")
    kind, colon, rest = head.partition(":")
    parts = settings.split(",") if comma else []
    match kind.lower():
        case "virtual":
            return _parse_virtual(text, rest, parts)
        case "headless":
            return _parse_headless(text, rest if colon else None, parts)
        case "x11":
            return _parse_x11(text, rest if colon else None, parts)
        case "wayland":
            return _parse_wayland(text, rest if colon else None, parts)
        case _:
            fault = "names a sink that this version cannot open" if text.strip() else "names no sink"
            raise refusal("sink", text, fault, f"give {SINKS_BUILT}")


def sink_text(spec: SinkSpec) -> str:
    """Return the text that `parse_sink` reads as this spec; what equals its default is left out."""
    if isinstance(spec, VirtualSpec):
        return _virtual_text(spec)
    size = "" if (spec.width, spec.height) == (DEFAULT_WIDTH, DEFAULT_HEIGHT) else f"{spec.width}x{spec.height}"
    if isinstance(spec, HeadlessSpec | WaylandSpec):
        kind = "headless" if isinstance(spec, HeadlessSpec) else "wayland"
        return f"{kind}:{size}" if size else kind
    window = f":{spec.window_id:#x}" if spec.window_id is not None else ""
    return f"x11{window},{size}" if size else f"x11{window}"


def _parse_virtual(text: str, rate: str, parts: list[str]) -> VirtualSpec:
    reader = SpecReader("sink", text, _VIRTUAL_FORM, "virtual:60,images=3")
    values = reader.settings(parts, ("images", "compositor", "process"))
    process = values.get("process", "gpu")
    if process not in ("gpu", "none"):
        raise reader.error(f"has process “{process}”, which is not gpu or none")
    return VirtualSpec(
        refresh_hz=reader.number("the refresh rate", rate, _REFRESH),
        images=reader.whole("images", values["images"], _IMAGES) if "images" in values else None,
        compositor=reader.whole("compositor", values.get("compositor", "0"), _COMPOSITOR),
        process_on_gpu=process == "gpu",
    )


def _parse_headless(text: str, size: str | None, parts: list[str]) -> HeadlessSpec:
    reader = SpecReader("sink", text, _HEADLESS_FORM, "headless:1280x720")
    return HeadlessSpec(*_size_alone(reader, size, parts))


def _parse_wayland(text: str, size: str | None, parts: list[str]) -> WaylandSpec:
    reader = SpecReader("sink", text, _WAYLAND_FORM, "wayland:1280x720")
    return WaylandSpec(*_size_alone(reader, size, parts))


def _size_alone(reader: SpecReader, size: str | None, parts: list[str]) -> tuple[int, int]:
    if parts:
        raise reader.error(f"has “{parts[0]}”, which it does not know")
    return (DEFAULT_WIDTH, DEFAULT_HEIGHT) if size is None else reader.size(size)


def _parse_x11(text: str, window: str | None, parts: list[str]) -> X11Spec:
    reader = SpecReader("sink", text, _X11_FORM, "x11:0x3a00007,1280x720")
    if len(parts) > 1:
        raise reader.error(f"has “{parts[1]}”, which it does not know")
    width, height = reader.size(parts[0]) if parts else (DEFAULT_WIDTH, DEFAULT_HEIGHT)
    return X11Spec(None if window is None else _window_id(reader, window), width, height)


def _window_id(reader: SpecReader, text: str) -> int:
    if not _WINDOW_ID.fullmatch(text):
        raise reader.error(f"has the window id “{text}”, which is not a decimal or 0x… number")
    window_id = int(text, 16) if text[:2].lower() == "0x" else int(text)
    if not 0 < window_id <= _WINDOW_ID_MAXIMUM:
        raise reader.error(f"has the window id {text}, which is outside 1–{_WINDOW_ID_MAXIMUM}")
    return window_id


def _virtual_text(spec: VirtualSpec) -> str:
    text = f"virtual:{number_text(spec.refresh_hz)}"
    if spec.images is not None:
        text += f",images={spec.images}"
    if spec.compositor:
        text += f",compositor={spec.compositor}"
    return text if spec.process_on_gpu else f"{text},process=none"
