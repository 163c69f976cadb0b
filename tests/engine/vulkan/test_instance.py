from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.core.errors import SinkError
from app.engine.vulkan import api
from app.engine.vulkan.device import Device
from app.engine.vulkan.instance import open_instance
from app.engine.vulkan.offscreen import open_offscreen_renderer
from app.engine.vulkan.physical_device import DeviceKind, choose_physical_device, list_physical_devices

OPEN = """
from app.core.errors import SinkError
from app.engine.vulkan.offscreen import open_offscreen_renderer
try:
    open_offscreen_renderer(2, 8, 8, validation=False, device="").close()
    print("opened")
except SinkError as error:
    print(error)
"""


def run_with(environment: dict[str, str], program: str = OPEN) -> str:
    result = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return result.stdout


def test_a_machine_without_a_driver_is_told_what_to_install() -> None:
    said = run_with({"VK_DRIVER_FILES": "/nowhere.json", "VK_ICD_FILENAMES": "/nowhere.json"})
    assert "mesa-vulkan-drivers" in said
    assert "virtual:60" in said


def test_a_machine_without_a_vulkan_loader_is_told_so_and_the_engine_still_loads() -> None:
    hidden = """
import importlib, sys
real = importlib.import_module
def without_vulkan(name, package=None):
    if name == "vulkan":
        raise OSError("Cannot find Vulkan SDK version")
    return real(name, package)
importlib.import_module = without_vulkan
"""
    said = run_with({}, hidden + OPEN)
    assert "Vulkan is not installed" in said
    assert "libvulkan1" in said


def test_a_missing_validation_layer_is_named() -> None:
    program = OPEN.replace("validation=False", "validation=True")
    said = run_with({"XDG_DATA_DIRS": "/nowhere", "VK_LAYER_PATH": "/nowhere"}, program)
    assert "vulkan-validationlayers" in said


def test_the_validation_layer_s_messages_are_collected() -> None:
    renderer = open_offscreen_renderer(1, 8, 8, validation=True, device="")
    instance = open_instance(validation=True)
    try:
        device = Device(instance, *choose_physical_device(instance, None), presents=False)
        faulty = api.struct("VkFenceCreateInfo")
        faulty.sType = 0
        device.destroy("Fence", device.create("Fence", faulty))
        device.close()
        assert any("VkFenceCreateInfo" in message for message in instance.validation_messages())
        assert renderer.validation_messages() == [], "one instance's messages are not another's"
    finally:
        renderer.close()
        instance.close()
    assert instance.live_objects() == {}


def test_devices_are_described_and_found_by_name_and_uuid() -> None:
    instance = open_instance(validation=False)
    try:
        devices = list_physical_devices(instance)
        ranks = [device.kind is DeviceKind.CPU for device in devices]
        assert ranks == sorted(ranks), "hardware comes before software"
        software = next(device for device in devices if device.is_software)
        for preference in ("LLVMpipe", software.uuid, f"GPU-{software.uuid}", software.uuid.upper()):
            found, family = choose_physical_device(instance, None, preference)
            assert found.uuid == software.uuid
            assert family.graphics
        with pytest.raises(SinkError, match="answers to 'Riva TNT'"):
            choose_physical_device(instance, None, "Riva TNT")
    finally:
        instance.close()
