"""The Vulkan instance: layers, instance extensions, and the messages of the validation layer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from app.core.errors import SinkError
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi, lib
from app.engine.vulkan.census import ObjectCensus
from app.engine.vulkan.results import INCOMPLETE, SUCCESS, VulkanError, check

API_VERSION: Final = (1 << 22) | (3 << 12)
"""Vulkan 1.3: dynamic rendering in core, on every driver since 2022."""

VALIDATION_LAYER: Final = "VK_LAYER_KHRONOS_validation"

OPTIONAL_EXTENSIONS: Final = (
    "VK_KHR_surface",
    "VK_EXT_headless_surface",
    "VK_KHR_xcb_surface",
    "VK_KHR_wayland_surface",
    "VK_KHR_get_surface_capabilities2",
    "VK_EXT_surface_maintenance1",
)

EXTENT_MESSAGES: Final = (
    "VUID-VkSwapchainCreateInfoKHR-pNext-07781",
    "VUID-VkSwapchainCreateInfoKHR-imageExtent-01274",
)
"""The image extent is outside what the surface allows: the same rule before and after swapchain_maintenance1."""

NO_DRIVER_CURE: Final = (
    "install the driver of your GPU or, for software rendering, the package mesa-vulkan-drivers (Debian, Ubuntu); "
    "`veotuner doctor` shows what is found. The virtual display runs without Vulkan: --sink virtual:60,process=none"
)


class Instance:
    """A Vulkan 1.3 instance.

    Attributes:
        handle: the `VkInstance`. functions: its functions.
        extensions: names of the enabled instance extensions.
        census: counts the objects of this instance and its device.
    """

    def __init__(self, validation: bool) -> None:
        self.census = ObjectCensus()
        self._messages: list[str] = []
        self._messages_lock = threading.Lock()
        self._racing = False
        self._messenger: Handle = None
        self._callback = ffi.callback("PFN_vkDebugUtilsMessengerCallbackEXT", self._on_message)
        available = _extension_names()
        wanted: list[str] = [name for name in OPTIONAL_EXTENSIONS if name in available]
        self.extensions = frozenset(wanted)
        messenger_info = self._messenger_info() if validation else None
        self.handle = _create_instance(wanted, messenger_info)
        self.census.born("Instance")
        self.functions = api.FunctionTable("vkGetInstanceProcAddr", self.handle)
        if messenger_info is not None:
            self._messenger = self._create_messenger(messenger_info)

    def validation_messages(self) -> list[str]:
        """Return the validation layer's warnings and errors so far; always empty without the layer."""
        with self._messages_lock:
            return list(self._messages)

    @contextmanager
    def racing_extent(self) -> Iterator[None]:
        """While a swapchain is made with the size the surface has just told, let it change its size.

        The layer asks the surface anew and complains when the window's owner has resized it in between, which no
        program can prevent (present scaling would allow it; Mesa 25 on X11 has none, and elsewhere it may cost the
        flip). The driver then answers OUT_OF_DATE at the next acquire. Such complaints are not kept.
        """
        self._racing = True
        try:
            yield
        finally:
            self._racing = False

    def live_objects(self) -> dict[str, int]:
        """Return kind → number of Vulkan objects alive under this instance."""
        return self.census.live_objects()

    def close(self) -> None:
        """Destroy the instance; its device and surfaces must be gone. A second call does nothing."""
        if self.handle is None:
            return
        if self._messenger is not None:
            self.functions.vkDestroyDebugUtilsMessengerEXT(self.handle, self._messenger, ffi.NULL)
            self.census.died("DebugUtilsMessengerEXT")
            self._messenger = None
        lib.vkDestroyInstance(self.handle, ffi.NULL)
        self.census.died("Instance")
        self.handle = None

    def _messenger_info(self) -> Struct:
        vk = api.vk
        return api.struct(
            "VkDebugUtilsMessengerCreateInfoEXT",
            messageSeverity=vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT
            | vk.VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
            messageType=vk.VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT
            | vk.VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
            pfnUserCallback=self._callback,
        )

    def _create_messenger(self, info: Struct) -> Handle:
        handle = ffi.new("VkDebugUtilsMessengerEXT *")
        check(
            self.functions.vkCreateDebugUtilsMessengerEXT(self.handle, info, ffi.NULL, handle),
            "vkCreateDebugUtilsMessengerEXT",
        )
        self.census.born("DebugUtilsMessengerEXT")
        return handle[0]

    def _on_message(self, _severity: int, _kinds: int, data: Any, _user: Any) -> int:
        # Runs on whichever thread made the faulty call. Returning 0 lets the call go on.
        message = api.text(data.pMessage)
        if self._racing and any(known in message for known in EXTENT_MESSAGES):
            return 0
        with self._messages_lock:
            self._messages.append(message)
        return 0


def open_instance(*, validation: bool) -> Instance:
    """Return a Vulkan instance.

    Args:
        validation: load the Khronos validation layer and collect what it says.

    Raises:
        SinkError: no Vulkan loader, no driver, or no validation layer; the text says what to install.
    """
    if api.LOADER_FAULT:
        raise SinkError(f"Vulkan is not installed ({api.LOADER_FAULT}); install libvulkan1 and then {NO_DRIVER_CURE}.")
    if validation and VALIDATION_LAYER not in _layer_names():
        raise SinkError(
            "The Vulkan validation layer is not installed; install the package vulkan-validationlayers "
            "(vulkan-validationlayers-dev on Debian 12) or run without validation."
        )
    try:
        return Instance(validation)
    except VulkanError as error:
        raise SinkError(f"No Vulkan driver answers ({error.call}: code {error.code}); {NO_DRIVER_CURE}.") from error


def _create_instance(extensions: list[str], messenger_info: Struct | None) -> Handle:
    names = [*extensions, "VK_EXT_debug_utils"] if messenger_info is not None else extensions
    layers = [VALIDATION_LAYER] if messenger_info is not None else []
    application = api.struct(
        "VkApplicationInfo", pApplicationName=ffi.new("char[]", b"veotuner"), apiVersion=API_VERSION
    )
    fields = {
        "pApplicationInfo": application,
        "enabledExtensionCount": len(names),
        "ppEnabledExtensionNames": api.strings(names),
        "enabledLayerCount": len(layers),
        "ppEnabledLayerNames": api.strings(layers),
    }
    if messenger_info is not None:
        fields["pNext"] = messenger_info
    info = api.struct("VkInstanceCreateInfo", **fields)
    handle = ffi.new("VkInstance *")
    check(lib.vkCreateInstance(info, ffi.NULL, handle), "vkCreateInstance")
    return handle[0]


def _extension_names() -> set[str]:
    items = enumerate_items(
        "VkExtensionProperties",
        lambda count, out: lib.vkEnumerateInstanceExtensionProperties(ffi.NULL, count, out),
        "vkEnumerateInstanceExtensionProperties",
    )
    return {api.text(item.extensionName) for item in items}


def _layer_names() -> set[str]:
    items = enumerate_items(
        "VkLayerProperties",
        lib.vkEnumerateInstanceLayerProperties,
        "vkEnumerateInstanceLayerProperties",
    )
    return {api.text(item.layerName) for item in items}


def enumerate_items(name: str, call: Any, what: str) -> list[Any]:
    """Return the items of a Vulkan two-call enumeration, structs as pointers to copies of their own.

    Args:
        name: C type of an item. call: takes a count pointer and an array (or NULL). what: the function, for errors.
    """
    count = ffi.new("uint32_t *")
    while True:
        check(call(count, ffi.NULL) or SUCCESS, what)
        items = ffi.new(f"{name}[]", max(1, count[0]))
        code = call(count, items) or SUCCESS
        if code != INCOMPLETE:
            check(code, what)
            is_struct = ffi.typeof(items).item.kind == "struct"
            # An element of a cffi array does not keep the array alive, so structs are copied out.
            return [ffi.new(f"{name} *", items[i]) if is_struct else items[i] for i in range(count[0])]
