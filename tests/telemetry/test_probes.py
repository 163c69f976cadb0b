"""Probes run as real child processes; one that crashes, hangs or babbles is an answer, not an accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.telemetry.codec_probe import DECODERS, ENCODERS, TRIALS, try_decoder, try_encoder
from app.telemetry.driver_findings import (
    DRIVER_KINDS,
    codec_findings,
    driver_findings,
    nvml_findings,
    opengl_finding,
    try_codecs,
    vulkan_findings,
)
from app.telemetry.finding import Status
from app.telemetry.machine import Roots
from app.telemetry.nvml_probe import probe as probe_nvml
from app.telemetry.probe_process import ProbeAnswer, run_probe
from tests.telemetry.fake_nvml import FakeGpu, InstallNvml

SOFTWARE = {
    "name": "llvmpipe",
    "kind": "cpu",
    "is_software": True,
    "api_version": "1.4.305",
    "driver": "llvmpipe Mesa 25.0.7",
    "uuid": "6d657361-3235-2e30-2e37-2d327e627000",
    "pci_bus_id": "",
    "timestamp_valid_bits": 64,
    "timestamp_period_ns": 1.0,
    "extensions": ["VK_KHR_swapchain", "VK_EXT_swapchain_maintenance1", "VK_EXT_calibrated_timestamps"],
}
HARDWARE = SOFTWARE | {
    "name": "NVIDIA Test 4000",
    "kind": "discrete_gpu",
    "is_software": False,
    "pci_bus_id": "0000:01:00.0",
    "extensions": ["VK_KHR_swapchain", "VK_KHR_present_wait", "VK_KHR_present_id", "VK_KHR_calibrated_timestamps"],
}


@pytest.fixture
def write_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a probe module whose text the test gives through the environment."""
    (tmp_path / "scripted_probe.py").write_text("import os\nexec(os.environ['SCRIPT'])\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "scripted_probe"


def test_lines_that_are_no_json_are_passed_over(write_probe: str) -> None:
    script = "print('driver says hello'); print('{\"a\": 1}'); print('[1]'); print('{broken')"
    assert run_probe(write_probe, environment={"SCRIPT": script}) == ProbeAnswer(({"a": 1},), "")


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("os.kill(os.getpid(), 11)", "crashed (SIGSEGV)"),
        ("os.abort()", "crashed (SIGABRT)"),
        ("raise SystemExit(3)", "failed with exit code 3"),
        ("raise RuntimeError('no such driver')", "failed: RuntimeError: no such driver"),
    ],
)
def test_how_a_probe_ended_is_told_and_what_it_had_printed_is_kept(write_probe: str, script: str, fault: str) -> None:
    answer = run_probe(write_probe, environment={"SCRIPT": f"print('{{\"a\": 1}}', flush=True); {script}"})
    assert answer == ProbeAnswer(({"a": 1},), fault)


def test_a_probe_that_hangs_is_ended(write_probe: str) -> None:
    script = "print('{\"a\": 1}', flush=True); import time; time.sleep(600)"
    answer = run_probe(write_probe, environment={"SCRIPT": script}, timeout_s=1.0)
    assert answer == ProbeAnswer(({"a": 1},), "gave no answer within 1 s")


def test_a_folder_named_app_in_the_working_directory_does_not_get_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise RuntimeError('the wrong app')")
    monkeypatch.chdir(tmp_path)
    assert run_probe("app.telemetry.nvml_probe").fault == ""


@pytest.mark.parametrize("name", ["libx264"])
def test_a_software_encoder_really_encodes(name: str) -> None:
    assert try_encoder(name) == ""


@pytest.mark.parametrize("name", ["h264", "hevc", "libdav1d"])
def test_a_software_decoder_really_decodes(name: str) -> None:
    assert run_probe("app.telemetry.codec_probe", [f"decode:{name}"]).objects[-1]["fault"] == ""


def test_an_encoder_that_is_not_there_says_so() -> None:
    assert try_encoder("h264_no_such") == "this FFmpeg was built without it"
    assert try_decoder("h264+no_such_device") != ""


def test_every_trial_gets_a_finding() -> None:
    findings = {finding.topic: finding for finding in driver_findings("codecs")}
    assert set(findings) == {f"encoder {n}" for n in ENCODERS} | {f"decoder {n}" for n in DECODERS}
    assert findings["encoder libx264"].status is Status.OK
    assert findings["decoder h264"].status is Status.OK


def test_a_codec_that_takes_the_process_down_is_named_and_the_rest_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(module: str, trials: list[str]) -> ProbeAnswer:
        lines = []
        for trial in trials:
            lines.append({"schema": "veotuner-codec-probe/1", "begun": trial})
            if "nvenc" in trial:
                return ProbeAnswer(tuple(lines), "crashed (SIGSEGV)")
            lines.append({"schema": "veotuner-codec-probe/1", "trial": trial, "fault": ""})
        return ProbeAnswer(tuple(lines), "")

    monkeypatch.setattr("app.telemetry.driver_findings.run_probe", answer)
    results = try_codecs(TRIALS)
    assert set(results) == set(TRIALS)
    assert {trial for trial, fault in results.items() if fault} == {t for t in TRIALS if "nvenc" in t}


def test_a_codec_probe_that_cannot_even_start_blames_every_codec_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.telemetry.driver_findings.run_probe", lambda *_: ProbeAnswer((), "failed: no av"))
    findings = codec_findings(try_codecs(TRIALS))
    assert len(findings) == len(TRIALS)
    assert all(finding.text == "failed: no av" for finding in findings)


def test_without_software_h264_the_main_job_cannot_run_and_without_nvenc_it_can() -> None:
    findings = codec_findings({"decode:h264": "built without it", "encode:h264_nvenc": "Cannot load libcuda.so.1"})
    assert [finding.status for finding in findings] == [Status.FAILED, Status.LIMITED]


def test_vulkan_answers_for_real() -> None:
    answer = run_probe("app.engine.vulkan.probe")
    assert answer.fault == ""
    assert answer.objects[-1]["schema"] == "veotuner-vulkan-probe/1"
    topics = [finding.topic for finding in vulkan_findings(answer)]
    assert {"Vulkan device", "headless surface", "display times", "GPU timestamps"} <= set(topics)


def test_opengl_answers_for_real() -> None:
    finding = driver_findings("opengl")[0]
    assert finding.status is Status.OK, finding
    assert "EGL" in finding.text


def test_a_machine_without_any_vulkan_driver_is_limited_and_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "none.json"))
    findings = driver_findings("vulkan")
    assert [finding.status for finding in findings] == [Status.LIMITED]
    assert "mesa-vulkan-drivers" in findings[0].cure


def test_software_and_hardware_devices_are_told_apart() -> None:
    answer = ProbeAnswer(({"fault": "", "instance_extensions": [], "devices": [HARDWARE, SOFTWARE]},), "")
    findings = vulkan_findings(answer)
    assert [f.status for f in findings if f.topic == "Vulkan device"] == [Status.OK, Status.LIMITED]
    by_topic = {finding.topic: finding for finding in findings}
    assert by_topic["display times"].text == "present_wait: display times by waiting"
    assert by_topic["headless surface"].status is Status.LIMITED
    assert by_topic["swapchain maintenance"].status is Status.LIMITED
    assert by_topic["GPU timestamps"].status is Status.OK


@pytest.mark.parametrize(
    ("extensions", "status", "text"),
    [
        (["VK_EXT_present_timing", "VK_KHR_present_wait"], Status.OK, "present_timing"),
        (["VK_KHR_present_wait2"], Status.OK, "present_wait2"),
        (["VK_EXT_swapchain_maintenance1"], Status.LIMITED, "present fences only"),
        ([], Status.LIMITED, "return of the present call"),
    ],
)
def test_the_best_source_of_display_times_is_named(extensions: list[str], status: Status, text: str) -> None:
    device = SOFTWARE | {"extensions": extensions}
    answer = ProbeAnswer(({"fault": "", "instance_extensions": [], "devices": [device]},), "")
    finding = next(finding for finding in vulkan_findings(answer) if finding.topic == "display times")
    assert (finding.status, text in finding.text) == (status, True)


@pytest.mark.parametrize(
    ("bits", "extensions", "text"),
    [
        (0, ["VK_EXT_calibrated_timestamps"], "the queue takes none"),
        (36, [], "no calibration"),
    ],
)
def test_gpu_stamps_need_bits_and_calibration(bits: int, extensions: list[str], text: str) -> None:
    device = SOFTWARE | {"timestamp_valid_bits": bits, "extensions": extensions}
    answer = ProbeAnswer(({"fault": "", "instance_extensions": [], "devices": [device]},), "")
    finding = next(finding for finding in vulkan_findings(answer) if finding.topic == "GPU timestamps")
    assert text in finding.text


@pytest.mark.parametrize("answer", [ProbeAnswer((), "crashed (SIGSEGV)"), ProbeAnswer(({"fault": "no EGL"},), "")])
def test_a_driver_that_fails_is_limited_and_never_an_exception(answer: ProbeAnswer) -> None:
    for findings in (vulkan_findings(answer), [opengl_finding(answer)], nvml_findings(answer)):
        assert [finding.status for finding in findings] == [Status.LIMITED]
        assert (answer.fault or "no EGL") in findings[0].text


def test_nvml_names_each_gpu_with_what_it_lacks(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    fake = install_nvml(FakeGpu(), FakeGpu(uuid="GPU-99999999-2222-3333-4444-555555555555", name="Second"))
    fake.errors["nvmlDeviceGetMarginTemperature"] = 3
    told = json.loads(json.dumps(probe_nvml(empty_roots)))
    findings = nvml_findings(ProbeAnswer((told,), ""))
    assert [finding.status for finding in findings] == [Status.LIMITED] * 2
    assert "27 of 28 metrics; missing: thermal_margin_c: not supported" in findings[1].text
    assert "Second, 0000:01:00.0, GPU-9999" in findings[1].text
    assert fake.calls["nvmlInitWithFlags"] == fake.calls["nvmlShutdown"]


@pytest.mark.parametrize(
    ("slices", "text"),
    [
        (("MIG-11111111-2222-3333-4444-555555555555", ""), "in MIG slices: MIG-11111111-2222-3333-4444-555555555555:"),
        ((), "in MIG slices: none made yet:"),
    ],
)
def test_a_gpu_in_slices_lists_the_names_that_a_configuration_may_use(
    install_nvml: InstallNvml, empty_roots: Roots, slices: tuple[str, ...], text: str
) -> None:
    install_nvml(FakeGpu(mig=1, mig_uuids=slices))
    told = json.loads(json.dumps(probe_nvml(empty_roots)))
    assert text in nvml_findings(ProbeAnswer((told,), ""))[0].text


def test_a_complete_gpu_is_ok(install_nvml: InstallNvml, empty_roots: Roots) -> None:
    install_nvml()
    assert nvml_findings(ProbeAnswer((probe_nvml(empty_roots),), ""))[0].status is Status.OK


@pytest.mark.usefixtures("no_nvml")
def test_nvml_without_a_library_tells_the_cure(empty_roots: Roots) -> None:
    told = probe_nvml(empty_roots)
    assert told["gpus"] == []
    assert "no GPU on the PCI bus" in told["fault"]


def test_every_driver_kind_gives_findings() -> None:
    assert all(driver_findings(kind) for kind in DRIVER_KINDS)
