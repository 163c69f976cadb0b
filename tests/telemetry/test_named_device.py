"""A configuration's GPU and slice are there and used, or the run is refused with what is there; never replaced."""

from __future__ import annotations

import pytest

from app.config.sections import Device
from app.core.errors import InvalidInputError
from app.telemetry.machine import Roots
from app.telemetry.named_device import NO_VULKAN_ON_SLICES, NamedDevice, find_named_device
from app.telemetry.nvml import list_gpus
from tests.telemetry.fake_nvml import FakeGpu, InstallNvml

FIRST = "GPU-11111111-2222-3333-4444-555555555555"
SECOND = "GPU-99999999-2222-3333-4444-555555555555"
ABSENT = "GPU-00000000-2222-3333-4444-555555555555"
SLICES = tuple(f"MIG-{number}1111111-2222-3333-4444-555555555555" for number in range(3))
SLICED = FakeGpu(uuid=SECOND, mig=1, mig_uuids=(SLICES[0], "", SLICES[1]))


def refusal(device: Device, roots: Roots) -> str:
    with pytest.raises(InvalidInputError) as caught:
        find_named_device(device, roots)
    return str(caught.value)


def test_the_driver_is_left_alone_when_nothing_is_named_or_it_may_not_be_asked(
    install_nvml: InstallNvml, empty_roots: Roots
) -> None:
    fake = install_nvml()
    assert find_named_device(Device(), empty_roots) == NamedDevice("")
    named = find_named_device(Device(gpu_uuid=ABSENT), empty_roots, may_ask=False)
    assert (named.gpu_uuid, named.notices) == ("", (f"device {ABSENT} is not checked: no GPU is read",))
    assert not fake.calls


def test_a_named_gpu_is_found_among_several(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml(FakeGpu(), SLICED)
    assert find_named_device(Device(gpu_uuid=SECOND), empty_roots) == NamedDevice(SECOND)
    assert find_named_device(Device(gpu_uuid="GPU-" + SECOND[4:].upper()), empty_roots).gpu_uuid == SECOND


def test_an_unknown_gpu_is_refused_with_those_that_are_there(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml(FakeGpu(), FakeGpu(uuid=SECOND))
    text = refusal(Device(gpu_uuid=ABSENT), empty_roots)
    assert text.startswith(f"device.gpu_uuid: {ABSENT} is no GPU of this machine; GPUs here: ")
    assert FIRST in text
    assert SECOND in text


@pytest.mark.usefixtures("no_nvml")
def test_without_nvml_a_gpu_is_refused_and_a_slice_is_left_to_cuda(empty_roots: Roots) -> None:
    assert "cannot be found" in refusal(Device(gpu_uuid=FIRST), empty_roots)
    named = find_named_device(Device(mig_uuid=SLICES[0]), empty_roots)
    assert named.gpu_uuid == ""
    assert f"device.mig_uuid {SLICES[0]} cannot be checked here" in named.notices[0]
    assert named.notices[1] == NO_VULKAN_ON_SLICES


def test_slices_are_listed_with_holes_in_their_numbers(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml(FakeGpu(), SLICED)
    assert [gpu.mig_uuids for gpu in list_gpus(empty_roots)] == [(), (SLICES[0], SLICES[1])]


def test_a_slice_is_watched_through_its_gpu_and_said_to_have_no_vulkan(
    install_nvml: InstallNvml, empty_roots: Roots
) -> None:
    install_nvml(FakeGpu(), SLICED)
    for device in (Device(mig_uuid=SLICES[1]), Device(gpu_uuid=SECOND, mig_uuid=SLICES[1])):
        assert find_named_device(device, empty_roots) == NamedDevice(SECOND, (NO_VULKAN_ON_SLICES,))


def test_an_unknown_slice_and_one_of_another_gpu_are_refused(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml(FakeGpu(), SLICED)
    text = refusal(Device(mig_uuid=SLICES[2]), empty_roots)
    assert f"{SLICES[2]} is no slice of this machine; slices here: {SLICES[0]} of " in text
    assert f"is no slice of the GPU {FIRST}" in refusal(Device(gpu_uuid=FIRST, mig_uuid=SLICES[0]), empty_roots)


def test_a_gpu_without_slices_says_none(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml()
    assert "slices here: none" in refusal(Device(mig_uuid=SLICES[0]), empty_roots)


@pytest.mark.parametrize(
    ("device", "key"),
    [
        (Device(gpu_uuid="GPU-1"), "device.gpu_uuid: GPU-1 is no UUID of the form GPU-"),
        (Device(gpu_uuid="0"), "device.gpu_uuid: 0 is"),
        (Device(gpu_uuid=SLICES[0]), "device.gpu_uuid: MIG-"),
        (Device(mig_uuid=FIRST), "device.mig_uuid: GPU-"),
        (Device(mig_uuid="MIG-1g.5gb"), "device.mig_uuid: MIG-1g.5gb is no UUID of the form MIG-"),
    ],
)
def test_what_is_no_uuid_is_refused_before_any_driver_is_asked(
    install_nvml: InstallNvml, empty_roots: Roots, device: Device, key: str
) -> None:
    fake = install_nvml()
    assert key in refusal(device, empty_roots)
    assert not fake.calls


def test_every_wrong_name_is_told_at_once(empty_roots: Roots) -> None:
    assert len(refusal(Device(gpu_uuid="a", mig_uuid="b"), empty_roots).splitlines()) == 2
