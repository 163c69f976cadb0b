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

_ELSEWHERE: Final = "veotuner run SOURCE --sink virtual:60 does the same job without a window"


def choose_platform(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what to add to the environment before Qt starts: X11 wherever there is one, XWayland included.

    The engine presents into a window of another process, which a Wayland surface does not allow.
    """
    if sys.platform == "linux" and environment.get("DISPLAY") and not environment.get("QT_QPA_PLATFORM"):
        return {"QT_QPA_PLATFORM": "xcb"}
    return {}


def display_problem(environment: Mapping[str, str]) -> str:
    """Return why no window can be opened, a sentence with a cure; "" when one can."""
    if sys.platform != "linux":
        return ""
    display = environment.get("DISPLAY", "")
    if not display:
        where = "Wayland alone is not enough" if environment.get("WAYLAND_DISPLAY") else "no display was found"
        return f"no window can be opened: {where}; start an X server or XWayland and set DISPLAY, or {_ELSEWHERE}"
    missing = [name for name in _XCB_LIBRARIES if not _loads(name)]
    if missing:
        return f"no window can be opened: Qt needs {', '.join(missing)}; run `make setup`, or {_ELSEWHERE}"
    if not _answers(display):
        return f"no window can be opened: the X server {display} does not answer; check DISPLAY, or {_ELSEWHERE}"
    return ""


def _loads(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _answers(display: str) -> bool:
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
