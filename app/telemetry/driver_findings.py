"""Findings about drivers, from the answers of the probes: Vulkan, OpenGL, NVML, encoders and decoders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from app.telemetry.codec_probe import PROBE_SCHEMA as CODEC_SCHEMA
from app.telemetry.codec_probe import TRIALS
from app.telemetry.finding import Finding, failed, limited, ok
from app.telemetry.opengl_probe import PROBE_ENVIRONMENT as OPENGL_ENVIRONMENT
from app.telemetry.probe_process import ProbeAnswer, run_probe

VULKAN_PROBE: Final = "app.engine.vulkan.probe"
"""Reached as a process: telemetry never imports the engine."""

_INSTALL_VULKAN: Final = (
    "install the driver of your GPU, or mesa-vulkan-drivers and libvulkan1 for software rendering; until then "
    "--sink virtual:60,process=none runs"
)
_UPDATE_DRIVER: Final = "update the GPU's driver (Mesa 26, NVIDIA 595); until then the next best source is used"

_DISPLAY_TIMES: Final = (
    ("VK_EXT_present_timing", "present_timing: true display times"),
    ("VK_KHR_present_wait2", "present_wait2: display times by waiting"),
    ("VK_KHR_present_wait", "present_wait: display times by waiting"),
)
"""Extensions whose display times are true, best first; below them a lower bound is all there is."""

_PRESENT_FENCES: Final = ("VK_KHR_swapchain_maintenance1", "VK_EXT_swapchain_maintenance1")
_CALIBRATED: Final = ("VK_KHR_calibrated_timestamps", "VK_EXT_calibrated_timestamps")

_CODEC_CURES: Final = {
    "nvenc": "needs an NVIDIA GPU with an encoder (A100 and H100 have none) and its driver; libx264 encodes without",
    "cuda": "needs an NVIDIA GPU and its driver (libcuda.so.1); software decodes without",
    "": "install the av wheel from your package index again: it brings FFmpeg with this codec",
}


def driver_findings(kind: str) -> list[Finding]:
    """Run one probe and return its findings.

    Args:
        kind: `vulkan`, `opengl`, `nvml` or `codecs`.
    """
    if kind == "vulkan":
        return vulkan_findings(run_probe(VULKAN_PROBE))
    if kind == "opengl":
        return [opengl_finding(run_probe("app.telemetry.opengl_probe", environment=OPENGL_ENVIRONMENT))]
    if kind == "nvml":
        return nvml_findings(run_probe("app.telemetry.nvml_probe"))
    return codec_findings(try_codecs(TRIALS))


DRIVER_KINDS: Final = ("vulkan", "opengl", "nvml", "codecs")


def vulkan_findings(answer: ProbeAnswer) -> list[Finding]:
    """Return findings on devices, surfaces, display times and GPU stamps."""
    told = _last(answer)
    fault = answer.fault or told.get("fault", "")
    devices: list[dict[str, Any]] = told.get("devices", [])
    if not devices:
        return [limited("Vulkan", fault or "no device", _INSTALL_VULKAN)]
    best = devices[0]
    return [
        *(_device_finding(device) for device in devices),
        *([limited("Vulkan driver", fault, _INSTALL_VULKAN)] if fault else []),
        _headless_finding(told.get("instance_extensions", [])),
        _display_time_finding(best),
        _live_mode_finding(best),
        _stamp_finding(best),
    ]


def opengl_finding(answer: ProbeAnswer) -> Finding:
    """Return the finding on OpenGL without a display."""
    told = _last(answer)
    fault = answer.fault or told.get("fault", "")
    if fault:
        cure = "install libegl1 and libgl1-mesa-dri, or the GPU's driver; the preview uses Vulkan and runs without it"
        return limited("OpenGL", fault, cure)
    return ok("OpenGL", f"{told['renderer']}, {told['version']} (EGL {told['platform']})")


def nvml_findings(answer: ProbeAnswer) -> list[Finding]:
    """Return a finding for each NVIDIA GPU, or why there is none."""
    told = _last(answer)
    fault = answer.fault or told.get("fault", "")
    gpus: list[dict[str, Any]] = told.get("gpus", [])
    if fault or not gpus:
        cure = "install the NVIDIA driver where there is such a GPU; readings of the host and the simulated GPU remain"
        return [limited("GPU readings (NVML)", fault or "no NVIDIA GPU", cure)]
    return [_gpu_finding(gpu) for gpu in gpus]


def try_codecs(trials: Sequence[str]) -> dict[str, str]:
    """Try codecs in a child process; one that takes the child down is named, and the rest tried in a new one.

    Returns:
        Trial → "" when it works, else why not.
    """
    results: dict[str, str] = {}
    remaining = list(trials)
    while remaining:
        answer = run_probe("app.telemetry.codec_probe", remaining)
        told = [line for line in answer.objects if line.get("schema") == CODEC_SCHEMA]
        results |= {line["trial"]: line["fault"] for line in told if "trial" in line}
        if answer.fault:
            begun = [line["begun"] for line in told if "begun" in line]
            guilty = begun[-1] if begun and begun[-1] not in results else remaining[0]
            results.setdefault(guilty, answer.fault)
        remaining = [trial for trial in remaining if trial not in results] if answer.fault else []
    return results


def codec_findings(results: dict[str, str]) -> list[Finding]:
    """Return a finding for each trial of `try_codecs`."""
    return [_codec_finding(trial, fault) for trial, fault in results.items()]


def _last(answer: ProbeAnswer) -> dict[str, Any]:
    return answer.objects[-1] if answer.objects else {}


def _device_finding(device: dict[str, Any]) -> Finding:
    text = f"{device['name']}, Vulkan {device['api_version']}, {device['driver']}"
    if device["is_software"]:
        cure = "its times say nothing about a GPU: install the driver of your GPU, if there is one"
        return limited("Vulkan device", f"{text}: software, on the processor", cure)
    where = device["pci_bus_id"] or device["uuid"]
    return ok("Vulkan device", f"{text}, {where}")


def _headless_finding(extensions: Sequence[str]) -> Finding:
    if "VK_EXT_headless_surface" in extensions:
        return ok("headless surface", "offered (--sink headless)")
    cure = "install Mesa 25 or later (Debian 12: mesa-vulkan-drivers of bookworm-backports)"
    return limited("headless surface", "not offered by the Vulkan loader's drivers", cure)


def _display_time_finding(device: dict[str, Any]) -> Finding:
    best = next((text for name, text in _DISPLAY_TIMES if name in device["extensions"]), "")
    if best:
        return ok("display times", best)
    fences = any(name in device["extensions"] for name in _PRESENT_FENCES)
    text = "present fences only: a lower bound of the display time" if fences else "return of the present call only"
    return limited("display times", text, _UPDATE_DRIVER)


def _live_mode_finding(device: dict[str, Any]) -> Finding:
    if any(name in device["extensions"] for name in _PRESENT_FENCES):
        return ok("swapchain maintenance", "offered: resources are released by fence, without waiting for the device")
    cure = "update the GPU's driver; until then rebuilding the swapchain waits for the whole device"
    return limited("swapchain maintenance", "not offered", cure)


def _stamp_finding(device: dict[str, Any]) -> Finding:
    bits = device["timestamp_valid_bits"]
    calibrated = any(name in device["extensions"] for name in _CALIBRATED)
    if bits and calibrated:
        return ok(
            "GPU timestamps", f"{bits} bits, {device['timestamp_period_ns']:g} ns a tick, calibrated to the CPU's clock"
        )
    text = "no calibration to the CPU's clock" if bits else "the queue takes none (timestampValidBits is 0)"
    return limited("GPU timestamps", text, "update the GPU's driver; until then stage times of the GPU are missing")


def _gpu_finding(gpu: dict[str, Any]) -> Finding:
    identity = f"{gpu['name']}, {gpu['pci_address']}, {gpu['uuid']}, driver {gpu['driver_version']}"
    if gpu["mig_enabled"]:
        identity += f", in MIG slices: {', '.join(gpu['mig_uuids']) or 'none made yet'}"
    missing = {metric: reason for metric, reason in gpu["capabilities"].items() if reason}
    present = len(gpu["capabilities"]) - len(missing)
    if gpu["fault"]:
        return limited("GPU readings (NVML)", f"{identity}: {gpu['fault']}", "cure what the text names, then run again")
    text = f"{identity}: {present} of {len(gpu['capabilities'])} metrics"
    if not missing:
        return ok("GPU readings (NVML)", text)
    listed = "; ".join(f"{metric}: {reason}" for metric, reason in missing.items())
    cure = "nothing to do where this GPU has no such sensor; else update its driver"
    return limited("GPU readings (NVML)", f"{text}; missing: {listed}", cure)


def _codec_finding(trial: str, fault: str) -> Finding:
    kind, _, name = trial.partition(":")
    topic = f"{kind}r {name}"
    if not fault:
        return ok(topic, "works (tried)")
    cure = next(cure for part, cure in _CODEC_CURES.items() if part in name)
    # Without a software H.264 decoder no file can be played at all.
    return failed(topic, fault, cure) if trial == "decode:h264" else limited(topic, fault, cure)
