"""Which GPU is read, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.clock import NS_PER_S
from app.core.metrics import METRICS
from app.telemetry.gpus import choose_gpu_provider, cycling_load, explain_no_gpu
from app.telemetry.machine import PciDisplay, Roots, pci_displays
from app.telemetry.provider import FACTS, GPU_METRICS, HOST_METRICS
from tests.telemetry.fake_nvml import FakeGpu, InstallNvml
from tests.telemetry.trees import DESKTOP, WSL2, plant

FIRST = "GPU-11111111-2222-3333-4444-555555555555"
SECOND = "GPU-99999999-2222-3333-4444-555555555555"


@pytest.mark.usefixtures("no_nvml")
def test_auto_never_takes_the_simulated_gpu(empty_roots: Roots) -> None:
    provider, why = choose_gpu_provider("auto", roots=empty_roots)
    assert provider is None
    assert "no GPU on the PCI bus" in why
    assert "--gpu simulated" in why


def test_simulated_is_taken_when_asked_for_and_says_so() -> None:
    provider, why = choose_gpu_provider("simulated")
    assert provider is not None
    assert why == ""
    assert (provider.name, provider.label) == ("simulated", "Simulated GPU")


def test_auto_takes_the_only_gpu_and_shows_which(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml()
    provider, why = choose_gpu_provider("auto", roots=empty_roots)
    assert provider is not None
    assert why == ""
    assert FIRST in provider.label
    assert "0000:01:00.0" in provider.label
    assert provider.name == "nvml"
    assert dict(provider.capabilities()) == dict.fromkeys(GPU_METRICS, "")
    provider.close()


def test_several_gpus_without_a_choice_are_listed_and_none_is_taken(
    install_nvml: InstallNvml, empty_roots: Roots, tmp_path: Path
) -> None:
    plant(tmp_path, DESKTOP)
    install_nvml(FakeGpu(), FakeGpu(uuid=SECOND))
    provider, why = choose_gpu_provider("auto", roots=empty_roots)
    assert provider is None
    assert FIRST in why
    assert SECOND in why


@pytest.mark.parametrize("choice", ["0", "first", "GPU-1234", "", "rtx 4090"])
def test_what_is_no_id_is_refused_with_the_ways_to_say_it(choice: str) -> None:
    provider, why = choose_gpu_provider(choice)
    assert provider is None
    assert "give auto, none, simulated, a UUID" in why


def test_none_means_none(install_nvml: InstallNvml) -> None:
    fake = install_nvml()
    assert choose_gpu_provider("none") == (None, "GPU telemetry is switched off (--gpu none)")
    assert not fake.calls, "the driver is left alone"


def test_the_provider_names_what_one_gpu_lacks(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml().errors["nvmlDeviceGetMarginTemperature"] = 3
    provider, _ = choose_gpu_provider(FIRST, roots=empty_roots)
    assert provider is not None
    missing = {metric: reason for metric, reason in provider.capabilities().items() if reason}
    assert missing == {"thermal_margin_c": "not supported by this GPU or driver"}


@pytest.mark.usefixtures("no_nvml")
def test_an_nvidia_card_without_a_driver_is_named_with_the_cure(empty_roots: Roots, tmp_path: Path) -> None:
    plant(tmp_path, DESKTOP)
    provider, why = choose_gpu_provider("auto", roots=empty_roots)
    assert provider is None
    assert "0000:01:00.0" in why
    assert "install the NVIDIA driver" in why


@pytest.mark.usefixtures("no_nvml")
def test_wsl2_is_told_where_its_driver_belongs(empty_roots: Roots, tmp_path: Path) -> None:
    plant(tmp_path, WSL2)
    assert "in Windows" in choose_gpu_provider("auto", roots=empty_roots)[1]


def test_other_vendors_are_named() -> None:
    displays = [PciDisplay("0000:03:00.0", 0x1002, "amdgpu"), PciDisplay("0000:00:02.0", 0x8086, "i915")]
    assert "AMD and Intel" in explain_no_gpu(displays, "no library", wsl2=False)
    assert PciDisplay("0000:00:01.0", 0xBEEF, "").vendor == "vendor 0xbeef"


def test_display_controllers_are_found_and_sound_cards_are_not(empty_roots: Roots, tmp_path: Path) -> None:
    plant(tmp_path, DESKTOP | {"sys/bus/pci/devices/0000:02:00.0/class": "garbage\n"})
    driver = tmp_path / "sys/bus/pci/drivers/nouveau"
    driver.mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0000:01:00.0/driver").symlink_to(driver)
    assert pci_displays(empty_roots) == [
        PciDisplay("0000:00:02.0", 0x8086, ""),
        PciDisplay("0000:01:00.0", 0x10DE, "nouveau"),
    ]


def test_the_undriven_simulated_gpu_warms_up_and_cools_down() -> None:
    now = [0]
    load = cycling_load(lambda: now[0])
    loads = []
    for second in range(130):
        now[0] = second * NS_PER_S
        loads.append(load())
    assert loads == ([1.0] * 40 + [0.0] * 20) * 2 + [1.0] * 10


def test_every_reading_has_a_row_in_the_metric_table_or_is_a_fact_with_a_definition() -> None:
    for metric in (*GPU_METRICS, *HOST_METRICS):
        assert metric in METRICS or metric in FACTS, metric
    assert set(FACTS) <= {*GPU_METRICS, *HOST_METRICS}
