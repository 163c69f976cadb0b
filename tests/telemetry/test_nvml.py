"""NVML through the real pynvml on a fake driver library: units, isolation of faults, identity, loss and return."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import pynvml  # type: ignore[import-untyped]  # the package ships no types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_S
from app.telemetry.machine import Roots
from app.telemetry.nvml import NvmlProvider, NvmlUnavailableError, list_gpus, normalise_gpu_id
from app.telemetry.nvml_calls import FIELD_METRICS
from app.telemetry.nvml_errors import MEANINGS, Handling, meaning_of
from app.telemetry.provider import GPU_METRICS, Reading
from tests.telemetry.fake_nvml import FakeGpu, FakeNvml, InstallNvml
from tests.telemetry.trees import WSL2, plant

U32 = pynvml.NVML_VALUE_TYPE_UNSIGNED_INT
U64 = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
NOT_SUPPORTED = 3
UNKNOWN = 999

EVERY_CODE = [*sorted(MEANINGS), 31, 4711]
"""Every code of nvml.h, and two that no table knows."""

METRICS_OF_SYMBOL = {
    "nvmlDeviceGetTemperatureV": {"gpu_temperature_c"},
    "nvmlDeviceGetMarginTemperature": {"thermal_margin_c"},
    "nvmlDeviceGetClockInfo": {"gpu_clock_mhz", "memory_clock_mhz"},
    "nvmlDeviceGetMaxClockInfo": {"gpu_clock_max_mhz", "memory_clock_max_mhz"},
    "nvmlDeviceGetPowerUsage": {"power_w"},
    "nvmlDeviceGetEnforcedPowerLimit": {"power_limit_w"},
    "nvmlDeviceGetUtilizationRates": {"gpu_utilisation_ratio", "memory_utilisation_ratio"},
    "nvmlDeviceGetEncoderUtilization": {"encoder_utilisation_ratio"},
    "nvmlDeviceGetDecoderUtilization": {"decoder_utilisation_ratio"},
    "nvmlDeviceGetMemoryInfo": {"gpu_memory_used_bytes", "gpu_memory_total_bytes"},
    "nvmlDeviceGetCurrPcieLinkGeneration": {"pcie_link_generation", "pcie_limit_bytes_per_s"},
    "nvmlDeviceGetCurrPcieLinkWidth": {"pcie_link_width", "pcie_limit_bytes_per_s"},
    "nvmlDeviceGetMaxPcieLinkGeneration": {"pcie_link_generation_max"},
    "nvmlDeviceGetMaxPcieLinkWidth": {"pcie_link_width_max"},
    "nvmlDeviceGetFieldValues": set(FIELD_METRICS.values()),
}

PCIE_RATES = {"pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"}

IDENTITY_SYMBOLS = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetMigMode",
    "nvmlSystemGetDriverVersion",
)

OpenGpu = Callable[..., NvmlProvider]


@pytest.fixture
def open_gpu(empty_roots: Roots) -> OpenGpu:
    def open_at_zero(gpu_id: str = "", roots: Roots | None = None) -> NvmlProvider:
        return NvmlProvider(gpu_id, roots or empty_roots, now_ns=0, cost_clock=lambda: 0)

    return open_at_zero


def poll(provider: NvmlProvider, at_s: float) -> dict[str, Reading]:
    return {reading.metric: reading for reading in provider.poll(round(at_s * NS_PER_S))}


def test_every_reading_arrives_in_the_unit_its_id_names(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    provider = open_gpu()
    for number, added in {197: 5_000_000, 198: 80_000_000, 74: 7_000_000, 271: 30}.items():
        value, kind, code = fake.gpus[0].fields[number]
        fake.gpus[0].fields[number] = (value + added, kind, code)
    readings = poll(provider, 40)
    values = {metric: reading.value for metric, reading in readings.items()}
    assert values["gpu_temperature_c"] == 61
    assert values["memory_temperature_c"] == 74
    assert values["thermal_margin_c"] == 22
    assert (values["gpu_clock_mhz"], values["memory_clock_mhz"]) == (1800, 9501)
    assert (values["gpu_clock_max_mhz"], values["memory_clock_max_mhz"]) == (2520, 10501)
    assert values["power_w"] == pytest.approx(123.456)
    assert values["power_limit_w"] == 320
    assert (values["gpu_utilisation_ratio"], values["memory_utilisation_ratio"]) == (0.37, 0.12)
    assert (values["encoder_utilisation_ratio"], values["decoder_utilisation_ratio"]) == (0.05, 0.40)
    assert (values["gpu_memory_used_bytes"], values["gpu_memory_total_bytes"]) == (3 * 2**30, 16 * 2**30)
    assert (values["pcie_link_generation"], values["pcie_link_generation_max"]) == (1, 4)
    assert values["pcie_limit_bytes_per_s"] == 16 * 0.25e9
    assert (values["pcie_tx_bytes_per_s"], values["pcie_rx_bytes_per_s"]) == (125_000, 2_000_000)
    assert (values["throttle_ns.power"], values["throttle_ns.brake"], values["throttle_ns.sync"]) == (7_000_000, 30, 0)
    assert set(values) == set(GPU_METRICS)
    assert not any(provider.capabilities().values())
    provider.close()


def test_what_the_opening_read_comes_with_the_first_poll(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    install_nvml()
    provider = open_gpu()
    first = poll(provider, 0.01)
    assert set(first) == set(GPU_METRICS)
    assert first["power_limit_w"].at_ns == 0
    assert poll(provider, 0.02) == {}


def test_negative_temperatures_stay_negative(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    install_nvml(FakeGpu(temperature_c=-12, margin_c=-3))
    readings = poll(open_gpu(), 5)
    assert (readings["gpu_temperature_c"].value, readings["thermal_margin_c"].value) == (-12, -3)


@pytest.mark.parametrize("symbol", METRICS_OF_SYMBOL)
@pytest.mark.parametrize("handling", [Handling.GIVE_UP, Handling.RETRY, Handling.RETRY_NOW])
def test_a_failing_call_takes_only_its_own_metrics_with_it(
    install_nvml: InstallNvml, open_gpu: OpenGpu, symbol: str, handling: Handling
) -> None:
    for code in codes_of(handling):
        if (symbol, code) == ("nvmlDeviceGetTemperatureV", 13):
            continue  # has a fall-back of its own, tested below
        fake = install_nvml()
        fake.errors[symbol] = code
        provider = open_gpu()
        missing = {metric: why for metric, why in provider.capabilities().items() if why}
        assert set(missing) == lost_with(symbol, handling), f"code {code}"
        assert all(meaning_of(code, wsl2=False).text in why for why in missing.values()), f"code {code}"
        before = fake.calls[symbol]
        readings = poll(provider, 40)
        assert all(math.isnan(readings[metric].value) and readings[metric].reason for metric in missing)
        assert (fake.calls[symbol] > before) == (handling is not Handling.GIVE_UP), f"code {code}"
        del fake.errors[symbol]
        poll(provider, 80)
        recovered = {metric for metric in missing if not provider.capabilities()[metric]}
        assert recovered == (set() if handling is Handling.GIVE_UP else set(missing)), f"code {code}"
        provider.close()


def lost_with(symbol: str, handling: Handling) -> set[str]:
    # A driver that has no byte counters at all still has the 20 ms sample; one that stumbles is asked again.
    return METRICS_OF_SYMBOL.get(symbol, set()) - (PCIE_RATES if handling is Handling.GIVE_UP else set())


def codes_of(handling: Handling) -> list[int]:
    return [code for code in EVERY_CODE if meaning_of(code, wsl2=False).handling is handling]


@pytest.mark.parametrize("symbol", METRICS_OF_SYMBOL)
def test_a_gpu_that_goes_away_in_any_call_is_found_again_by_its_uuid(
    install_nvml: InstallNvml, open_gpu: OpenGpu, symbol: str
) -> None:
    for code in codes_of(Handling.REOPEN):
        fake = install_nvml(FakeGpu(), FakeGpu(uuid="GPU-99999999-2222-3333-4444-555555555555", temperature_c=20))
        provider = open_gpu(fake.gpus[0].uuid)
        fake.errors[symbol] = code
        readings = poll(provider, 40)
        assert set(readings) == set(GPU_METRICS), f"code {code}"
        assert all(meaning_of(code, wsl2=False).text in reading.reason for reading in readings.values())
        assert all(provider.capabilities().values())
        assert math.isnan(poll(provider, 40.5)["power_w"].value), "not looked for before its time"
        del fake.errors[symbol]
        fake.gpus.reverse()  # another index, as after a reboot of the driver
        assert poll(provider, 42)["gpu_temperature_c"].value == 61, f"code {code}"
        provider.close()


def test_looking_for_a_lost_gpu_backs_off(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    provider = open_gpu()
    fake.errors["nvmlDeviceGetPowerUsage"] = pynvml.NVML_ERROR_GPU_IS_LOST
    poll(provider, 2)
    fake.errors["nvmlDeviceGetHandleByUUID"] = pynvml.NVML_ERROR_GPU_IS_LOST
    fake.calls.clear()
    for half_seconds in range(4, 600):
        poll(provider, half_seconds / 2)
    assert fake.calls["nvmlInitWithFlags"] == 9, "1, 2, 4, 8, 16, 32, 64, 64, 64 s after one another"
    assert fake.calls["nvmlInitWithFlags"] == fake.calls["nvmlShutdown"], "no handle of the driver stays open"


def test_a_gpu_that_is_found_and_lost_again_at_once_backs_off_too(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    provider = open_gpu()
    fake.errors["nvmlDeviceGetPowerUsage"] = pynvml.NVML_ERROR_GPU_IS_LOST
    fake.calls.clear()
    for half_seconds in range(4, 600):
        poll(provider, half_seconds / 2)
    assert fake.calls["nvmlInitWithFlags"] <= 9


def test_the_driver_s_recovery_action_is_passed_on(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml(FakeGpu(fields={230: (2, U32, 0)}))
    provider = open_gpu()
    fake.errors["nvmlDeviceGetPowerUsage"] = pynvml.NVML_ERROR_RESET_REQUIRED
    assert "the driver recommends: reboot" in poll(provider, 2)["power_w"].reason


@pytest.mark.parametrize("symbol", IDENTITY_SYMBOLS)
def test_an_identity_that_the_driver_withholds_costs_no_reading(
    install_nvml: InstallNvml, open_gpu: OpenGpu, symbol: str
) -> None:
    for code in EVERY_CODE:
        fake = install_nvml()
        fake.errors[symbol] = code
        provider = open_gpu()
        assert not any(provider.capabilities().values()), f"code {code}"
        assert provider.label
        provider.close()


@pytest.mark.parametrize("symbol", ["nvmlInitWithFlags", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"])
def test_a_driver_that_cannot_be_opened_says_why(install_nvml: InstallNvml, open_gpu: OpenGpu, symbol: str) -> None:
    for code in EVERY_CODE:
        fake = install_nvml()
        fake.errors[symbol] = code
        with pytest.raises(NvmlUnavailableError) as caught:
            open_gpu()
        assert meaning_of(code, wsl2=False).text in str(caught.value)
        opened = fake.calls["nvmlInitWithFlags"] - (symbol == "nvmlInitWithFlags")
        assert opened == fake.calls["nvmlShutdown"], "a driver that was opened is closed again"


def test_a_version_mismatch_names_the_reboot(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    install_nvml().errors["nvmlInitWithFlags"] = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
    with pytest.raises(NvmlUnavailableError, match=r"updated without a reboot.*reboot"):
        open_gpu()


@pytest.mark.usefixtures("no_nvml")
def test_a_missing_library_names_the_driver_to_install(open_gpu: OpenGpu) -> None:
    with pytest.raises(NvmlUnavailableError, match=r"libnvidia-ml.so.1.*install the NVIDIA driver"):
        open_gpu()


@pytest.mark.parametrize("symbol", [*METRICS_OF_SYMBOL, *IDENTITY_SYMBOLS])
def test_an_old_driver_without_a_symbol_loses_only_that(
    install_nvml: InstallNvml, open_gpu: OpenGpu, symbol: str
) -> None:
    fake = install_nvml()
    fake.missing.add(symbol)
    provider = open_gpu()
    missing = {metric for metric, why in provider.capabilities().items() if why}
    assert missing == (set() if symbol == "nvmlDeviceGetTemperatureV" else lost_with(symbol, Handling.GIVE_UP))


def test_temperature_falls_back_on_the_old_call_and_stays_there(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    fake.errors["nvmlDeviceGetTemperatureV"] = pynvml.NVML_ERROR_FUNCTION_NOT_FOUND
    provider = open_gpu()
    assert poll(provider, 2)["gpu_temperature_c"].value == 61
    assert (fake.calls["nvmlDeviceGetTemperatureV"], fake.calls["nvmlDeviceGetTemperature"]) == (1, 2)


def test_unknown_is_final_under_wsl2_and_only_there(
    install_nvml: InstallNvml, open_gpu: OpenGpu, tmp_path: Path, empty_roots: Roots
) -> None:
    plant(tmp_path, WSL2)
    fake = install_nvml()
    fake.errors["nvmlDeviceGetUtilizationRates"] = UNKNOWN
    provider = open_gpu(roots=empty_roots)
    assert "WSL2" in provider.capabilities()["gpu_utilisation_ratio"]
    poll(provider, 40)
    assert fake.calls["nvmlDeviceGetUtilizationRates"] == 1


def test_mig_explains_why_there_is_no_busy_time(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml(FakeGpu(mig=1))
    provider = open_gpu()
    missing = {metric: why for metric, why in provider.capabilities().items() if why}
    assert set(missing) == {
        "gpu_utilisation_ratio",
        "memory_utilisation_ratio",
        "encoder_utilisation_ratio",
        "decoder_utilisation_ratio",
    }
    assert all("MIG" in why for why in missing.values())
    assert fake.calls["nvmlDeviceGetUtilizationRates"] == 0


@pytest.mark.parametrize("number", sorted(FIELD_METRICS))
def test_one_bad_field_leaves_the_batch_alone(install_nvml: InstallNvml, open_gpu: OpenGpu, number: int) -> None:
    install_nvml(FakeGpu(fields={number: (0, U64, NOT_SUPPORTED)}))
    provider = open_gpu()
    missing = {metric for metric, why in provider.capabilities().items() if why}
    assert missing == {FIELD_METRICS[number]} - PCIE_RATES


def test_a_batch_refused_as_a_whole_is_read_field_by_field(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    answer = fake._field_values
    fake._functions["nvmlDeviceGetFieldValues"] = fake._function(
        "nvmlDeviceGetFieldValues",
        fake._prototypes()["nvmlDeviceGetFieldValues"][0],
        lambda handle, count, out: pynvml.NVML_ERROR_INVALID_ARGUMENT if count > 1 else answer(handle, count, out),
    )
    assert not any(open_gpu().capabilities().values())


@pytest.mark.parametrize("refused", [197, 198])
def test_without_both_byte_counters_the_20_ms_sample_is_taken_seldom_and_in_bytes(
    install_nvml: InstallNvml, open_gpu: OpenGpu, refused: int
) -> None:
    fake = install_nvml(FakeGpu(fields={refused: (0, U64, NOT_SUPPORTED)}))
    provider = open_gpu()
    fake.calls.clear()
    readings = [reading for half_seconds in range(1, 41) for reading in provider.poll(half_seconds * NS_PER_S // 2)]
    rates = [reading.value for reading in readings if reading.metric == "pcie_rx_bytes_per_s"]
    assert rates == [250_000_000.0] * 5, "one at the opening"
    assert fake.calls["nvmlDeviceGetPcieThroughput"] == 8, "both directions, every five seconds"


def test_the_20_ms_of_the_sample_are_known_and_no_reason_to_back_off(
    install_nvml: InstallNvml, empty_roots: Roots
) -> None:
    install_nvml(FakeGpu(fields={197: (0, U64, NOT_SUPPORTED)}))
    ticks = iter(range(0, 10**15, 20_000_000))  # every call seems to take 20 ms
    provider = NvmlProvider("", empty_roots, now_ns=0, cost_clock=lambda: next(ticks))
    for second in range(1, 60):
        provider.poll(second * NS_PER_S)
    costs = {cost.name: cost for cost in provider.call_costs()}
    assert (costs["nvml.pcie_tx_sample"].period_s, costs["nvml.pcie_tx_sample"].count) == (5, 12)
    assert costs["nvml.pcie_tx_sample"].worst_us == 20_000


def test_an_answer_that_grew_while_it_was_read_is_asked_for_once_more_at_once(
    install_nvml: InstallNvml, open_gpu: OpenGpu
) -> None:
    fake = install_nvml()
    codes = iter([pynvml.NVML_ERROR_INSUFFICIENT_SIZE])
    arguments, answer = fake._prototypes()["nvmlDeviceGetPowerUsage"]
    fake._functions["nvmlDeviceGetPowerUsage"] = fake._function(
        "nvmlDeviceGetPowerUsage", arguments, lambda handle, out: next(codes, 0) or answer(handle, out)
    )
    assert open_gpu().capabilities()["power_w"] == ""
    assert fake.calls["nvmlDeviceGetPowerUsage"] == 2


def test_a_gpu_with_byte_counters_is_never_asked_for_the_sample(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    provider = open_gpu()
    poll(provider, 10)
    assert fake.calls["nvmlDeviceGetPcieThroughput"] == 0


def test_a_32_bit_byte_counter_is_refused_on_a_fast_link_and_used_on_a_slow_one(
    install_nvml: InstallNvml, open_gpu: OpenGpu
) -> None:
    narrow = {197: (2**32 - 1000, U32, 0), 198: (0, U32, 0)}
    fast = install_nvml(FakeGpu(fields=dict(narrow)))
    open_gpu()
    assert fast.calls["nvmlDeviceGetPcieThroughput"] == 2
    slow = install_nvml(FakeGpu(fields=dict(narrow), link_max=(1, 4)))
    provider = open_gpu()
    slow.gpus[0].fields[197] = (1000, U32, 0)
    assert poll(provider, 2)["pcie_tx_bytes_per_s"].value == 1000.0, "2 000 bytes over the wrap in two seconds"


def test_a_counter_that_goes_back_gives_no_number(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml(FakeGpu(fields={74: (10**12, U64, 0)}))
    provider = open_gpu()
    fake.gpus[0].fields[74] = (5, U64, 0)
    assert "jumped" in poll(provider, 1)["throttle_ns.power"].reason
    fake.gpus[0].fields[74] = (105, U64, 0)
    assert poll(provider, 2)["throttle_ns.power"].value == 100


@pytest.mark.parametrize(
    ("change", "metric"),
    [
        ({"busy_percent": (4_294_967_295, 0)}, "gpu_utilisation_ratio"),
        ({"power_mw": 4_294_967_295}, "power_w"),
        ({"temperature_c": 2_000_000}, "gpu_temperature_c"),
        ({"link": (0, 16)}, "pcie_link_generation"),
        ({"link": (0, 16)}, "pcie_limit_bytes_per_s"),
        ({"link": (9, 16)}, "pcie_link_generation"),
        ({"memory_bytes": (0, 0)}, "gpu_memory_used_bytes"),
        ({"clocks_mhz": {0: 4_000_000_000, 2: 9501}}, "gpu_clock_mhz"),
    ],
)
def test_an_impossible_answer_is_missing_with_the_answer_in_the_reason(
    install_nvml: InstallNvml, open_gpu: OpenGpu, change: dict[str, object], metric: str
) -> None:
    install_nvml(dataclasses.replace(FakeGpu(), **change))  # type: ignore[arg-type]  # keyword by keyword in the table
    reading = poll(open_gpu(), 40)[metric]
    assert math.isnan(reading.value)
    assert "the driver answers" in reading.reason


def test_a_sleeping_gpu_is_not_woken(
    install_nvml: InstallNvml, open_gpu: OpenGpu, empty_roots: Roots, tmp_path: Path
) -> None:
    plant(tmp_path, {"sys/bus/pci/devices/0000:01:00.0/power/runtime_status": "suspended\n"})
    fake = install_nvml()
    provider = open_gpu(roots=empty_roots)
    readings = poll(provider, 2)
    assert all("asleep" in reading.reason for reading in readings.values())
    assert all("asleep" in why for why in provider.capabilities().values())
    assert not any(fake.calls[symbol] for symbol in METRICS_OF_SYMBOL)
    plant(tmp_path, {"sys/bus/pci/devices/0000:01:00.0/power/runtime_status": "active\n"})
    assert poll(provider, 3)["power_w"].value == pytest.approx(123.456)


def test_calls_keep_their_pace_and_dear_ones_back_off(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    fake = install_nvml()
    ticks = iter(range(0, 10**15, 3_000_000))  # every call seems to take 3 ms
    provider = NvmlProvider("", empty_roots, now_ns=0, cost_clock=lambda: next(ticks))
    for half_seconds in range(1, 240):
        provider.poll(half_seconds * NS_PER_S // 2)
    costs = {cost.name: cost for cost in provider.call_costs()}
    assert costs["nvml.power"].period_s == 16
    assert costs["nvml.temperature"].period_s == 32
    assert costs["nvml.power"].worst_us == 3000
    assert fake.calls["nvmlDeviceGetPowerUsage"] < 12


def test_cheap_calls_keep_their_pace(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake = install_nvml()
    provider = open_gpu()
    fake.calls.clear()
    for half_seconds in range(1, 121):
        provider.poll(half_seconds * NS_PER_S // 2)
    assert fake.calls["nvmlDeviceGetPowerUsage"] == 60
    assert fake.calls["nvmlDeviceGetTemperatureV"] == 30
    assert fake.calls["nvmlDeviceGetFieldValues"] == 60
    assert fake.calls["nvmlDeviceGetMaxClockInfo"] == 12


def test_one_gpu_is_taken_and_shown_and_several_must_be_named(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    install_nvml()
    assert open_gpu().label == "NVIDIA Test 4000 (0000:01:00.0, GPU-11111111-2222-3333-4444-555555555555)"
    other = FakeGpu(uuid="GPU-99999999-2222-3333-4444-555555555555", bus_id="00000000:41:00.0", name="Other")
    install_nvml(FakeGpu(), other)
    with pytest.raises(NvmlUnavailableError, match=r"choose one by its UUID.*GPU-1111.*GPU-9999"):
        open_gpu()
    assert open_gpu(other.uuid).identity.name == "Other"
    assert open_gpu("00000000:41:00.0").identity.name == "Other"
    with pytest.raises(NvmlUnavailableError, match=r"no NVIDIA GPU has the id GPU-0.*GPU-9999"):
        open_gpu("GPU-00000000-0000-0000-0000-000000000000")


def test_one_blocked_gpu_does_not_hide_the_others(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    fake = install_nvml(FakeGpu(), FakeGpu(name="Second", uuid="GPU-99999999-2222-3333-4444-555555555555"))
    answer = fake._by_index
    fake._functions["nvmlDeviceGetHandleByIndex_v2"] = fake._function(
        "nvmlDeviceGetHandleByIndex_v2",
        fake._prototypes()["nvmlDeviceGetHandleByIndex_v2"][0],
        lambda index, out: pynvml.NVML_ERROR_OPERATING_SYSTEM if index == 0 else answer(index, out),
    )
    assert [gpu.name for gpu in list_gpus(empty_roots)] == ["Second"]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("GPU-11111111-2222-3333-4444-55555555ABCD", "GPU-11111111-2222-3333-4444-55555555abcd"),
        ("gpu-11111111-2222-3333-4444-555555555555", None),
        ("MIG-11111111-2222-3333-4444-555555555555", "MIG-11111111-2222-3333-4444-555555555555"),
        ("11111111222233334444555555555555", "GPU-11111111-2222-3333-4444-555555555555"),
        ("11111111-2222-3333-4444-555555555555", "GPU-11111111-2222-3333-4444-555555555555"),
        ("0000:01:00.0", "00000000:01:00.0"),
        ("01:00.0", "00000000:01:00.0"),
        ("00000000:C1:00.0", "00000000:c1:00.0"),
        ("0", None),
        ("", None),
        ("RTX 4090", None),
    ],
)
def test_ids_are_uuids_or_pci_addresses_and_never_an_index(text: str, normal: str | None) -> None:
    assert normalise_gpu_id(text) == normal


@given(st.text(max_size=60))
def test_any_text_is_an_id_or_none_and_normalising_twice_changes_nothing(text: str) -> None:
    normal = normalise_gpu_id(text)
    assert normal is None or normalise_gpu_id(normal) == normal


@pytest.mark.parametrize("code", EVERY_CODE)
def test_every_code_reads_as_a_sentence_without_the_library_s_help(code: int) -> None:
    meaning = meaning_of(code, wsl2=False)
    assert len(meaning.text) > 10
    assert not meaning.text.endswith(".")


def test_every_code_that_pynvml_knows_is_in_the_table() -> None:
    known = {getattr(pynvml, name) for name in dir(pynvml) if name.startswith("NVML_ERROR_")}
    assert known == set(MEANINGS)


def test_closing_shuts_the_driver_down_once(install_nvml: InstallNvml, open_gpu: OpenGpu) -> None:
    fake: FakeNvml = install_nvml()
    provider = open_gpu()
    provider.close()
    provider.close()
    assert (fake.calls["nvmlInitWithFlags"], fake.calls["nvmlShutdown"]) == (1, 1)
