"""Can a window be opened here? Asked before Qt is, because Qt ends the process when it cannot."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
from collections.abc import Mapping
from typing import Final

_XCB_LIBRARIES: Final = (
    "libxcb-cursor.so.0",
    "libxcb-icccm.so.4",
    "libxcb-image.so.0",
    "libxcb-keysyms.so.1",
    "libxcb-render-util.so.0",
    "libxkbcommon-x11.so.0",
)
"""What Qt's X11 plug-in links to and a bare system lacks."""

_WAYLAND_LIBRARIES: Final = (
    "libwayland-client.so.0",
    "libwayland-cursor.so.0",
    "libwayland-egl.so.1",
    "libxkbcommon.so.0",
)
"""What Qt's Wayland plug-in links to."""

_ELSEWHERE: Final = "veotuner run SOURCE --sink virtual:60 does the same job without a window"


def choose_platform(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what to add to the environment before Qt starts: X11 wherever there is one, XWayland included.

    On X11 the engine presents into this window; a Wayland surface is its own process's alone, so that there the
    preview is in a window of its own.
    """
    if sys.platform != "linux" or environment.get("QT_QPA_PLATFORM"):
        return {}
    if environment.get("DISPLAY"):
        return {"QT_QPA_PLATFORM": "xcb"}
    return {"QT_QPA_PLATFORM": "wayland"} if environment.get("WAYLAND_DISPLAY") else {}


def display_problem(environment: Mapping[str, str]) -> str:
    """Return why no window can be opened, a sentence with a cure; "" when one can."""
    if sys.platform != "linux":
        return ""
    platform = ({**environment, **choose_platform(environment)}).get("QT_QPA_PLATFORM", "")
    if platform.startswith("wayland"):
        return _wayland_problem(environment.get("WAYLAND_DISPLAY", ""))
    if platform and platform != "xcb":
        return ""  # the user's own choice (vnc, offscreen): Qt tells whether it can
    return _x11_problem(environment.get("DISPLAY", ""))


def _x11_problem(display: str) -> str:
    if not display:
        fault = "no display was found; start an X server or a Wayland compositor and set DISPLAY or WAYLAND_DISPLAY"
        return f"no window can be opened: {fault}, or {_ELSEWHERE}"
    missing = [name for name in _XCB_LIBRARIES if not _loads(name)]
    if missing:
        return f"no window can be opened: Qt needs {', '.join(missing)}; run `make setup`, or {_ELSEWHERE}"
    if not _x_server_answers(display):
        return f"no window can be opened: the X server {display} does not answer; check DISPLAY, or {_ELSEWHERE}"
    return ""


def _wayland_problem(display: str) -> str:
    missing = [name for name in _WAYLAND_LIBRARIES if not _loads(name)]
    if missing:
        return f"no window can be opened: Qt needs {', '.join(missing)}; run `make setup`, or {_ELSEWHERE}"
    if not display or not _compositor_answers(display):
        fault = f"the Wayland compositor {display} does not answer" if display else "WAYLAND_DISPLAY is not set"
        return f"no window can be opened: {fault}; check WAYLAND_DISPLAY and XDG_RUNTIME_DIR, or {_ELSEWHERE}"
    return ""


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _compositor_answers(display: str) -> bool:
    """Connect as Qt will and hang up."""
    wayland = ctypes.CDLL("libwayland-client.so.0")
    wayland.wl_display_connect.restype = ctypes.c_void_p
    wayland.wl_display_connect.argtypes = [ctypes.c_char_p]
    wayland.wl_display_disconnect.argtypes = [ctypes.c_void_p]
    connection = wayland.wl_display_connect(display.encode())
    if not connection:
        return False
    wayland.wl_display_disconnect(connection)
    return True


def _x_server_answers(display: str) -> bool:
    """Connect as Qt will, with the user's own authority, and hang up."""
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(display.encode(), None)
    failed = bool(xcb.xcb_connection_has_error(connection))
    xcb.xcb_disconnect(connection)
    return not failed
