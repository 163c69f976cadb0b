"""Says what Vulkan offers on this machine, as JSON: `python -m app.engine.vulkan.probe`.

`veotuner doctor` runs it as a child, so that a driver that crashes or hangs takes nothing with it. It opens Vulkan in
the same way as the engine, so that both see the same devices.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Final

from app.core.errors import SinkError
from app.engine.vulkan.instance import Instance, open_instance
from app.engine.vulkan.physical_device import PhysicalDevice, list_physical_devices
from app.engine.vulkan.results import VulkanError

PROBE_SCHEMA: Final = "veotuner-vulkan-probe/1"

PRESENT_EXTENSIONS: Final = (
    "VK_KHR_swapchain",
    "VK_EXT_present_timing",
    "VK_KHR_present_wait2",
    "VK_KHR_present_id2",
    "VK_KHR_present_wait",
    "VK_KHR_present_id",
    "VK_KHR_swapchain_maintenance1",
    "VK_EXT_swapchain_maintenance1",
    "VK_KHR_present_mode_fifo_latest_ready",
    "VK_EXT_present_mode_fifo_latest_ready",
    "VK_KHR_calibrated_timestamps",
    "VK_EXT_calibrated_timestamps",
    "VK_NV_low_latency2",
)
"""Device extensions on which display times, live present modes and GPU stamps rest."""


def probe() -> dict[str, Any]:
    """Return the probe's answer.

    Returns:
        `schema`; `fault`, why Vulkan cannot be used, or ""; `instance_extensions`, the surface-related ones; and
        `devices`, best first.
    """
    try:
        instance = open_instance(validation=False)
    except SinkError as error:
        return {"schema": PROBE_SCHEMA, "fault": str(error), "instance_extensions": [], "devices": []}
    try:
        return _answer(instance)
    finally:
        instance.close()


def main() -> int:
    """Print the answer as one line of JSON; return 0 also when there is no Vulkan, which is an answer too."""
    sys.stdout.write(json.dumps(probe()) + "\n")
    return 0


def _answer(instance: Instance) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "schema": PROBE_SCHEMA,
        "fault": "",
        "instance_extensions": sorted(instance.extensions),
        "devices": [],
    }
    try:
        answer["devices"] = [_describe(device) for device in list_physical_devices(instance)]
    except VulkanError as error:
        answer["fault"] = f"the Vulkan driver failed: {error}"
    return answer


def _describe(device: PhysicalDevice) -> dict[str, Any]:
    graphics = [family for family in device.queue_families if family.graphics]
    return {
        "name": device.name,
        "kind": device.kind.name.lower(),
        "is_software": device.is_software,
        "api_version": _version(device.api_version),
        "driver": device.driver,
        "uuid": device.uuid,
        "pci_bus_id": device.pci_bus_id,
        "timestamp_valid_bits": max((family.timestamp_bits for family in graphics), default=0),
        "timestamp_period_ns": device.timestamp_period_ns,
        "extensions": [name for name in PRESENT_EXTENSIONS if name in device.extensions],
    }


def _version(packed: int) -> str:
    return f"{packed >> 22 & 0x7F}.{packed >> 12 & 0x3FF}.{packed & 0xFFF}"


if __name__ == "__main__":
    sys.exit(main())
