"""The Vulkan probe sees what the engine sees, and no Vulkan is an answer too."""

from __future__ import annotations

import json

import pytest

from app.core.errors import SinkError
from app.engine.vulkan import probe as probe_module
from app.engine.vulkan.probe import PRESENT_EXTENSIONS, PROBE_SCHEMA, main, probe


def test_it_describes_every_device_with_what_display_times_rest_on() -> None:
    answer = probe()
    assert answer["schema"] == PROBE_SCHEMA
    assert answer["fault"] == ""
    assert "VK_KHR_surface" in answer["instance_extensions"]
    for device in answer["devices"]:
        assert device["name"]
        assert device["api_version"].count(".") == 2
        assert set(device["extensions"]) <= set(PRESENT_EXTENSIONS)
        assert device["timestamp_period_ns"] > 0
    assert any(device["is_software"] == (device["kind"] == "cpu") for device in answer["devices"])


def test_it_prints_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert json.loads(lines[0])["schema"] == PROBE_SCHEMA


def test_a_machine_without_vulkan_gets_the_reason_and_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*, validation: bool) -> None:
        raise SinkError("Vulkan is not installed; install libvulkan1.")

    monkeypatch.setattr(probe_module, "open_instance", refuse)
    assert probe() == {
        "schema": PROBE_SCHEMA,
        "fault": "Vulkan is not installed; install libvulkan1.",
        "instance_extensions": [],
        "devices": [],
    }
