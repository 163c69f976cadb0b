"""The Wayland interfaces that libwayland-client does not bring: their messages, and the C tables made from them.

Written out from the protocols' XML as wayland-scanner would: requests and events in the order of their opcodes, an
argument a letter (i int, u uint, s string, o object, n new object, a array; ? may be null; a digit is the version that
brought the message).
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from app.engine.wayland.library import Library


class Message(NamedTuple):
    """A request or an event.

    Attributes:
        signature: argument letters. types: interface of each object argument in order, "" where this client never
            sends or gets one.
    """

    name: str
    signature: str = ""
    types: tuple[str, ...] = ()


class Interface(NamedTuple):
    """An interface. `version` is the newest that this client understands."""

    name: str
    version: int
    requests: tuple[Message, ...]
    events: tuple[Message, ...]


_DESTROY: Final = Message("destroy")

INTERFACES: Final = (
    Interface(
        "xdg_wm_base",
        6,
        (
            _DESTROY,
            Message("create_positioner", "n", ("",)),
            Message("get_xdg_surface", "no", ("xdg_surface", "wl_surface")),
            Message("pong", "u"),
        ),
        (Message("ping", "u"),),
    ),
    Interface(
        "xdg_surface",
        6,
        (
            _DESTROY,
            Message("get_toplevel", "n", ("xdg_toplevel",)),
            Message("get_popup", "n?oo", ("", "xdg_surface", "")),
            Message("set_window_geometry", "iiii"),
            Message("ack_configure", "u"),
        ),
        (Message("configure", "u"),),
    ),
    Interface(
        "xdg_toplevel",
        6,
        (
            _DESTROY,
            Message("set_parent", "?o", ("xdg_toplevel",)),
            Message("set_title", "s"),
            Message("set_app_id", "s"),
            Message("show_window_menu", "ouii", ("wl_seat",)),
            Message("move", "ou", ("wl_seat",)),
            Message("resize", "ouu", ("wl_seat",)),
            Message("set_max_size", "ii"),
            Message("set_min_size", "ii"),
            Message("set_maximized"),
            Message("unset_maximized"),
            Message("set_fullscreen", "?o", ("wl_output",)),
            Message("unset_fullscreen"),
            Message("set_minimized"),
        ),
        (
            Message("configure", "iia"),
            Message("close"),
            Message("configure_bounds", "4ii"),
            Message("wm_capabilities", "5a"),
        ),
    ),
    Interface(
        "zxdg_decoration_manager_v1",
        1,
        (
            _DESTROY,
            Message("get_toplevel_decoration", "no", ("zxdg_toplevel_decoration_v1", "xdg_toplevel")),
        ),
        (),
    ),
    Interface(
        "zxdg_toplevel_decoration_v1",
        1,
        (_DESTROY, Message("set_mode", "u"), Message("unset_mode")),
        (Message("configure", "u"),),
    ),
    Interface(
        "wp_presentation",
        2,
        (_DESTROY, Message("feedback", "on", ("wl_surface", "wp_presentation_feedback"))),
        (Message("clock_id", "u"),),
    ),
    Interface(
        "wp_presentation_feedback",
        2,
        (),
        (Message("sync_output", "o", ("wl_output",)), Message("presented", "uuuuuuu"), Message("discarded")),
    ),
)
"""xdg-shell (stable), xdg-decoration (unstable v1) and presentation-time (stable)."""

_CORE: Final = (
    "wl_display", "wl_registry", "wl_callback", "wl_compositor", "wl_surface", "wl_output", "wl_seat",
)  # fmt: skip

_NOT_AN_ARGUMENT: Final = re.compile(r"[?0-9]")
_OBJECTS: Final = "on"


def argument_letters(signature: str) -> str:
    """Return one letter an argument: the signature without its marks of version and nullability."""
    return _NOT_AN_ARGUMENT.sub("", signature)


class InterfaceTables:
    """`struct wl_interface` of every interface this client speaks, by name; alive as long as this object."""

    def __init__(self, library: Library) -> None:
        self._ffi = library.ffi
        self._kept: list[Any] = []
        self._tables: dict[str, Any] = {
            name: self._ffi.addressof(library.functions, f"{name}_interface") for name in _CORE
        }
        # Interfaces name each other, so all exist before the first is filled.
        self._tables |= {each.name: self._ffi.new("struct wl_interface *") for each in INTERFACES}
        for interface in INTERFACES:
            self._fill(interface)

    def __getitem__(self, name: str) -> Any:
        """Return the `struct wl_interface *` of a name."""
        return self._tables[name]

    def request(self, interface: str, name: str) -> tuple[int, str]:
        """Return opcode and signature of a request."""
        table = self._tables[interface]
        names = [self._text(table.methods[opcode].name) for opcode in range(table.method_count)]
        opcode = names.index(name)
        return opcode, self._text(table.methods[opcode].signature)

    def events(self, interface: str) -> list[tuple[str, str]]:
        """Return name and signature of every event in the order of their opcodes."""
        table = self._tables[interface]
        each = [table.events[opcode] for opcode in range(table.event_count)]
        return [(self._text(event.name), self._text(event.signature)) for event in each]

    def _fill(self, interface: Interface) -> None:
        table = self._tables[interface.name]
        table.name = self._c_text(interface.name)
        table.version = interface.version
        table.method_count, table.methods = len(interface.requests), self._messages(interface.requests)
        table.event_count, table.events = len(interface.events), self._messages(interface.events)

    def _messages(self, messages: tuple[Message, ...]) -> Any:
        entries = [(self._c_text(each.name), self._c_text(each.signature), self._types(each)) for each in messages]
        return self._keep(self._ffi.new("struct wl_message[]", entries))

    def _types(self, message: Message) -> Any:
        objects = iter(message.types)
        names = [next(objects) if letter in _OBJECTS else "" for letter in argument_letters(message.signature)]
        types = [self._tables[name] if name else self._ffi.NULL for name in names]
        return self._keep(self._ffi.new("struct wl_interface *[]", types or [self._ffi.NULL]))

    def _c_text(self, text: str) -> Any:
        return self._keep(self._ffi.new("char[]", text.encode()))

    def _keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    def _text(self, characters: Any) -> str:
        return str(self._ffi.string(characters).decode())
