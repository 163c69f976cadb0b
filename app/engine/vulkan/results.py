"""Vulkan result codes as errors a person can act on."""

from __future__ import annotations

from typing import Final

from app.core.errors import SinkError

SUCCESS: Final = 0
NOT_READY: Final = 1
TIMEOUT: Final = 2
SUBOPTIMAL: Final = 1000001003
OUT_OF_DATE: Final = -1000001004
SURFACE_LOST: Final = -1000000000
DEVICE_LOST: Final = -4
OUT_OF_HOST_MEMORY: Final = -1
INCOMPLETE: Final = 5

MAX_WAIT_NS: Final = 10_000_000_000
"""Longest wait for GPU work that must end, before the GPU is called hung; a pipeline may compile at its first draw."""

RESULTS: Final[dict[int, tuple[str, str]]] = {
    SUCCESS: ("SUCCESS", ""),
    NOT_READY: ("NOT_READY", "try again"),
    TIMEOUT: ("TIMEOUT", "try again"),
    3: ("EVENT_SET", ""),
    4: ("EVENT_RESET", ""),
    INCOMPLETE: ("INCOMPLETE", ""),
    SUBOPTIMAL: ("SUBOPTIMAL_KHR", ""),
    OUT_OF_HOST_MEMORY: ("ERROR_OUT_OF_HOST_MEMORY", "close other programs"),
    -2: ("ERROR_OUT_OF_DEVICE_MEMORY", "lower frame_queue_depth or the picture size, or close other GPU programs"),
    -3: ("ERROR_INITIALIZATION_FAILED", "check the GPU driver with `veotuner doctor`"),
    DEVICE_LOST: ("ERROR_DEVICE_LOST", "restart the engine; if it happens again, look into the kernel log"),
    -5: ("ERROR_MEMORY_MAP_FAILED", "close other programs"),
    -6: ("ERROR_LAYER_NOT_PRESENT", "install the Vulkan validation layer or run without it"),
    -7: ("ERROR_EXTENSION_NOT_PRESENT", "update the GPU driver"),
    -8: ("ERROR_FEATURE_NOT_PRESENT", "update the GPU driver"),
    -9: ("ERROR_INCOMPATIBLE_DRIVER", "install a Vulkan driver for this GPU, or Mesa's software driver"),
    -10: ("ERROR_TOO_MANY_OBJECTS", "restart the engine"),
    -11: ("ERROR_FORMAT_NOT_SUPPORTED", "use another device or pixel format"),
    -12: ("ERROR_FRAGMENTED_POOL", "restart the engine"),
    -13: ("ERROR_UNKNOWN", "check the GPU driver with `veotuner doctor`"),
    SURFACE_LOST: ("ERROR_SURFACE_LOST_KHR", "the window is gone; open the preview again"),
    -1000000001: ("ERROR_NATIVE_WINDOW_IN_USE_KHR", "another program presents into this window; close it"),
    OUT_OF_DATE: ("ERROR_OUT_OF_DATE_KHR", "the window changed"),
    -1000003001: ("ERROR_INCOMPATIBLE_DISPLAY_KHR", "use another display"),
    -1000011001: ("ERROR_VALIDATION_FAILED_EXT", "report this with the validation messages"),
    -1000012000: ("ERROR_INVALID_SHADER_NV", "report this"),
    -1000069000: ("ERROR_OUT_OF_POOL_MEMORY", "restart the engine"),
    -1000072003: ("ERROR_INVALID_EXTERNAL_HANDLE", "restart the engine"),
    -1000161000: ("ERROR_FRAGMENTATION", "restart the engine"),
    -1000174001: ("ERROR_NOT_PERMITTED_KHR", "this needs more rights"),
    -1000255000: ("ERROR_FULL_SCREEN_EXCLUSIVE_MODE_LOST_EXT", "leave full screen and come back"),
    -1000257000: ("ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS", "restart the engine"),
    1000297000: ("PIPELINE_COMPILE_REQUIRED", ""),
    -1000338000: ("ERROR_COMPRESSION_EXHAUSTED_EXT", "close other GPU programs"),
}
"""Every code of the headers except those of video, deferred operations, shader objects and DRM formats, with a cure."""


class VulkanError(SinkError):
    """A Vulkan call failed.

    Attributes:
        code: the `VkResult`. call: the function.
    """

    def __init__(self, code: int, call: str) -> None:
        self.code = code
        self.call = call
        name, cure = RESULTS.get(code, (f"code {code}", "report this"))
        super().__init__(f"Vulkan: {call} answered {name}; {cure or 'report this'}.")

    @property
    def is_device_lost(self) -> bool:
        """Tell whether every object of the device is dead."""
        return self.code == DEVICE_LOST


class DeviceHungError(SinkError):
    """The GPU does not finish what it was given."""

    def __init__(self) -> None:
        super().__init__(
            f"The GPU has not finished a frame for {MAX_WAIT_NS // 1_000_000_000} seconds; restart the engine."
        )


class SurfaceLostError(VulkanError):
    """The window under the surface is gone."""


def check(code: int, call: str) -> None:
    """Return when `code` is exactly SUCCESS.

    Raises:
        SurfaceLostError: SURFACE_LOST.
        VulkanError: any other code; calls that have more than one good result read it themselves.
    """
    if code == SUCCESS:
        return
    raise (SurfaceLostError if code == SURFACE_LOST else VulkanError)(code, call)
