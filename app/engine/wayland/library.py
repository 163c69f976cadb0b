"""The system's libwayland-client through cffi: the one that Mesa and the vendors' drivers use too.

A Wayland surface is only worth something on the connection that made it, and a driver is handed both as pointers. So
the binding must be of the very library that the driver is linked with; a Python package that brings its own copy hands
the driver pointers of another layout (seen: a segmentation fault in vkGetPhysicalDeviceSurfaceCapabilitiesKHR).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types

from app.core.errors import SinkError

Proxy = Any
"""A `struct wl_proxy *`: the client's end of an object that lives in the compositor."""

_DECLARATIONS: Final = """
struct wl_display; struct wl_event_queue; struct wl_proxy;
struct wl_array { size_t size; size_t alloc; void *data; };
struct wl_message { const char *name; const char *signature; const struct wl_interface **types; };
struct wl_interface { const char *name; int version; int method_count; const struct wl_message *methods;
    int event_count; const struct wl_message *events; };
union wl_argument { int32_t i; uint32_t u; int32_t f; const char *s; struct wl_proxy *o; uint32_t n;
    struct wl_array *a; int32_t h; };

extern struct wl_interface wl_display_interface;
extern struct wl_interface wl_registry_interface;
extern struct wl_interface wl_callback_interface;
extern struct wl_interface wl_compositor_interface;
extern struct wl_interface wl_surface_interface;
extern struct wl_interface wl_output_interface;
extern struct wl_interface wl_seat_interface;

struct wl_display *wl_display_connect(const char *name);
void wl_display_disconnect(struct wl_display *display);
int wl_display_get_fd(struct wl_display *display);
int wl_display_flush(struct wl_display *display);
int wl_display_get_error(struct wl_display *display);
uint32_t wl_display_get_protocol_error(struct wl_display *display, const struct wl_interface **interface,
    uint32_t *id);
int wl_display_dispatch_queue(struct wl_display *display, struct wl_event_queue *queue);
struct wl_event_queue *wl_display_create_queue(struct wl_display *display);
void wl_event_queue_destroy(struct wl_event_queue *queue);
void *wl_proxy_create_wrapper(void *proxy);
void wl_proxy_wrapper_destroy(void *wrapper);
void wl_proxy_set_queue(struct wl_proxy *proxy, struct wl_event_queue *queue);
uint32_t wl_proxy_get_version(struct wl_proxy *proxy);
int wl_proxy_add_listener(struct wl_proxy *proxy, void (**implementation)(void), void *data);
void wl_proxy_destroy(struct wl_proxy *proxy);
struct wl_proxy *wl_proxy_marshal_array_flags(struct wl_proxy *proxy, uint32_t opcode,
    const struct wl_interface *interface, uint32_t version, uint32_t flags, union wl_argument *args);
"""

_OLDEST_FUNCTION: Final = "wl_proxy_marshal_array_flags"
"""The youngest function used: libwayland 1.20 (2021)."""


class Library(NamedTuple):
    """libwayland-client. `ffi` makes its types, `functions` holds its functions and core interfaces."""

    ffi: Any
    functions: Any


@lru_cache(maxsize=1)
def open_library() -> Library:
    """Return the system's libwayland-client.

    Raises:
        SinkError: it is not installed, or older than 1.20.
    """
    ffi = FFI()
    ffi.cdef(_DECLARATIONS)
    try:
        functions = ffi.dlopen("libwayland-client.so.0")
    except OSError as error:
        raise SinkError(
            f"libwayland-client is missing ({error}); install the package libwayland-client0, or use --sink x11."
        ) from error
    if not hasattr(functions, _OLDEST_FUNCTION):
        raise SinkError("libwayland-client is older than 1.20; update the package libwayland-client0, or use x11.")
    return Library(ffi, functions)
