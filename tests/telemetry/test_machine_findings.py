"""Findings about the machine, from recorded trees and environments, and from the machine the tests run on."""

from __future__ import annotations

import os
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from app.telemetry.finding import Finding, Status
from app.telemetry.machine import Roots, Surroundings, container_name
from app.telemetry.machine_findings import (
    find_cache,
    find_display_server,
    find_folder,
    find_governor,
    find_isolation,
    find_link_power,
    find_memory,
    find_other_monitors,
    find_power_source,
    find_processor,
    find_render_nodes,
    find_system,
    machine_findings,
)
from tests.telemetry.trees import DESKTOP, LAPTOP_ON_BATTERY, WSL2, plant


@pytest.fixture
def around(tmp_path: Path, empty_roots: Roots) -> Surroundings:
    return Surroundings(empty_roots, {})


def test_a_finding_has_a_cure_exactly_when_it_is_not_ok() -> None:
    with pytest.raises(ValueError, match="cure"):
        Finding("x", Status.LIMITED, "missing")
    with pytest.raises(ValueError, match="cure"):
        Finding("x", Status.OK, "there", "do something")


def test_the_system_is_named(around: Surroundings, tmp_path: Path) -> None:
    plant(tmp_path, DESKTOP)
    finding = find_system(around)
    assert "Debian GNU/Linux 13 (trixie), kernel 6.12.48-amd64" in finding.text
    assert finding.status is Status.OK


def test_wsl2_is_recognised(around: Surroundings, tmp_path: Path) -> None:
    plant(tmp_path, WSL2)
    assert "WSL2" in find_isolation(around).text


@pytest.mark.parametrize(
    ("tree", "name"),
    [
        ({"top/.dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"proc/1/environ": "PATH=/bin\0container=lxc\0TERM=linux\0"}, "lxc"),
        ({"proc/1/environ": "PATH=/bin\0"}, ""),
        ({}, ""),
    ],
)
def test_containers_are_recognised(around: Surroundings, tmp_path: Path, tree: dict[str, str], name: str) -> None:
    plant(tmp_path, tree)
    assert container_name(around.roots) == name
    assert find_isolation(around).status is (Status.LIMITED if name else Status.OK)


def test_few_cores_and_little_memory_are_limits() -> None:
    assert find_processor(1, "").status is Status.LIMITED
    assert find_processor(2, "AMD EPYC").text == "AMD EPYC, 2 logical cores"
    assert find_memory(2**30).status is Status.LIMITED
    assert find_memory(8 * 2**30).text == "8.0 GiB available"


@pytest.mark.parametrize(
    ("environ", "status", "text"),
    [
        ({}, Status.LIMITED, "neither DISPLAY nor WAYLAND_DISPLAY"),
        ({"DISPLAY": ":7"}, Status.OK, "X11 at DISPLAY=:7"),
        ({"DISPLAY": ":7.0", "XDG_SESSION_TYPE": "x11"}, Status.OK, "session type: x11"),
        ({"DISPLAY": ":8"}, Status.LIMITED, "nothing listens at"),
        ({"DISPLAY": "far.example:0"}, Status.OK, "far.example:0"),
        ({"DISPLAY": ":7", "WAYLAND_DISPLAY": "wayland-0"}, Status.OK, "X11 at DISPLAY=:7 and Wayland"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, Status.LIMITED, "Wayland at"),
        ({"DISPLAY": ":7", "WAYLAND_DISPLAY": "wayland-9"}, Status.LIMITED, "wayland-9"),
    ],
)
def test_a_display_counts_only_when_something_listens(
    tmp_path: Path, empty_roots: Roots, environ: dict[str, str], status: Status, text: str
) -> None:
    plant(tmp_path, {"top/tmp/.X11-unix/X7": "", "runtime/wayland-0": ""})
    finding = find_display_server(Surroundings(empty_roots, environ | {"XDG_RUNTIME_DIR": str(tmp_path / "runtime")}))
    assert (finding.status, text in finding.text) == (status, True), finding


@pytest.mark.parametrize(
    ("tree", "status", "text"),
    [
        (DESKTOP, Status.LIMITED, "governor powersave on 2 cores"),
        (LAPTOP_ON_BATTERY, Status.OK, "governor performance on 1 cores"),
        ({}, Status.LIMITED, "no governor to see"),
    ],
)
def test_governors(around: Surroundings, tmp_path: Path, tree: dict[str, str], status: Status, text: str) -> None:
    plant(tmp_path, tree)
    assert (find_governor(around).status, find_governor(around).text[: len(text)]) == (status, text)


@pytest.mark.parametrize(
    ("tree", "status", "text"),
    [
        (DESKTOP, Status.LIMITED, "ASPM policy powersave"),
        (LAPTOP_ON_BATTERY, Status.OK, "ASPM policy default"),
        ({}, Status.OK, "no ASPM policy on this machine"),
    ],
)
def test_link_power(around: Surroundings, tmp_path: Path, tree: dict[str, str], status: Status, text: str) -> None:
    plant(tmp_path, tree)
    assert (find_link_power(around).status, find_link_power(around).text) == (status, text)


def test_a_laptop_on_its_battery_is_told_to_be_plugged_in(around: Surroundings, tmp_path: Path) -> None:
    assert find_power_source(around).text == "no battery seen"
    plant(tmp_path, LAPTOP_ON_BATTERY)
    assert find_power_source(around).status is Status.LIMITED
    plant(tmp_path, LAPTOP_ON_BATTERY | {"sys/class/power_supply/AC/online": "1\n"})
    assert find_power_source(around).text == "mains"


def test_render_nodes_must_exist_and_be_open_to_us(around: Surroundings, tmp_path: Path) -> None:
    assert "software" in find_render_nodes(around).text
    plant(tmp_path, {"dev/dri/renderD128": "", "dev/nvidia0": "", "dev/nvidiactl": ""})
    assert find_render_nodes(around).status is Status.OK
    refused = find_render_nodes(around, may_use=lambda path: path.name != "renderD128")
    assert refused.status is Status.LIMITED
    assert "renderD128" in refused.text
    assert "usermod -aG render" in refused.cure


def test_other_monitors_and_overlays_are_named(empty_roots: Roots) -> None:
    plain = Surroundings(empty_roots, {})
    assert find_other_monitors(["bash", "python3", "Xorg"], plain).status is Status.OK
    finding = find_other_monitors(["nvtop", "lactd", "bash", "nvtop"], Surroundings(empty_roots, {"MANGOHUD": "1"}))
    assert finding.text == "lactd, nvtop, MANGOHUD=1"
    assert finding.status is Status.LIMITED


def test_a_folder_that_does_not_exist_yet_is_fine(tmp_path: Path) -> None:
    finding = find_folder("recordings folder", tmp_path / "not" / "there" / "yet")
    assert finding.status is Status.OK
    assert not (tmp_path / "not").exists(), "looking makes nothing"


def test_a_folder_without_the_right_to_write_stops_the_main_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, as whom tests may run, may write anywhere
    finding = find_folder("recordings folder", tmp_path / "runs")
    assert finding.status is Status.FAILED
    assert str(tmp_path) in finding.text
    assert find_cache(tmp_path).status is Status.FAILED


def test_a_full_disk_stops_the_main_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")  # noqa: PYI024  # shutil's own answer is such a tuple
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 10 * 2**20))
    assert find_folder("recordings folder", tmp_path).status is Status.FAILED


def test_the_cache_says_what_it_holds(tmp_path: Path) -> None:
    assert "empty, filled at the first run" in find_cache(tmp_path).text
    (tmp_path / "sample.mp4").write_bytes(b"x" * 3 * 2**20)
    assert "1 files, 3.0 MiB" in find_cache(tmp_path).text


def test_this_machine_is_examined_for_real() -> None:
    findings = machine_findings(Surroundings())
    assert len({finding.topic for finding in findings}) == len(findings) == 16
    assert all(finding.text for finding in findings)
