"""Real-time rights, niceness and the control group's share: each gap with the cure that fits it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.telemetry.cgroup import CpuGroup, CpuQuota
from app.telemetry.finding import Status
from app.telemetry.machine import Roots, Surroundings
from app.telemetry.scheduling_findings import (
    ResourceLimit,
    SchedulingRights,
    count_processors,
    find_niceness,
    find_processor_share,
    find_real_time_rights,
    read_scheduling_rights,
)
from tests.telemetry.trees import plant

NOTHING = ResourceLimit(0, 0)
DENIED = "Operation not permitted"
CAPABLE = "000001ffffffffff"
WITHOUT = "000001ffff7fffff"
"""All capabilities but number 23, CAP_SYS_NICE."""


@pytest.fixture
def around(empty_roots: Roots) -> Surroundings:
    return Surroundings(empty_roots, {})


def rights(rtprio: ResourceLimit = NOTHING, nice: ResourceLimit = NOTHING, refusal: str = DENIED) -> SchedulingRights:
    return SchedulingRights(rtprio, nice, refusal)


def plant_capabilities(folder: Path, capabilities: str) -> None:
    plant(folder, {"proc/self/status": f"Name:\tpython\nCapEff:\t{capabilities}\n"})


@pytest.mark.parametrize(
    ("capabilities", "limit", "source"),
    [
        (WITHOUT, ResourceLimit(20, 20), "RLIMIT_RTPRIO soft 20, hard 20"),
        (WITHOUT, ResourceLimit(-1, -1), "RLIMIT_RTPRIO soft unlimited, hard unlimited"),
        ("0000000000800000", NOTHING, "CAP_SYS_NICE"),
        (CAPABLE, NOTHING, "CAP_SYS_NICE"),
    ],
)
def test_what_the_kernel_grants_is_named_with_the_right_it_comes_from(
    around: Surroundings, tmp_path: Path, capabilities: str, limit: ResourceLimit, source: str
) -> None:
    plant_capabilities(tmp_path, capabilities)
    finding = find_real_time_rights(around, rights(limit, refusal=""), None)
    assert finding.status is Status.OK
    assert f"allowed ({source})" in finding.text


@pytest.mark.parametrize(
    ("capabilities", "limit", "cure"),
    [
        (WITHOUT, NOTHING, "sudo setcap cap_sys_nice+ep"),
        (WITHOUT, NOTHING, "@video - rtprio 20"),
        (WITHOUT, ResourceLimit(0, 40), "ulimit -S -r 40"),
        (WITHOUT, ResourceLimit(0, -1), "ulimit -S -r 99"),
        (WITHOUT, ResourceLimit(20, 20), "--cap-add SYS_NICE"),
        (CAPABLE, NOTHING, "--cap-add SYS_NICE"),
    ],
)
def test_a_refusal_has_the_cure_that_fits_what_is_missing(
    around: Surroundings, tmp_path: Path, capabilities: str, limit: ResourceLimit, cure: str
) -> None:
    plant_capabilities(tmp_path, capabilities)
    finding = find_real_time_rights(around, rights(limit), None)
    assert finding.status is Status.LIMITED
    assert DENIED in finding.text
    assert cure in finding.cure


def test_a_group_without_real_time_budget_is_what_refuses(around: Surroundings) -> None:
    file = Path("/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us")
    group = CpuGroup(1, "/a", real_time_us=0, real_time_file=file)
    finding = find_real_time_rights(around, rights(ResourceLimit(99, 99)), group)
    assert finding.status is Status.LIMITED
    assert "cpu.rt_runtime_us of cgroup /a is 0" in finding.text
    assert f"echo 950000 > {file}" in finding.cure


def test_the_time_kept_back_from_real_time_threads_is_told(around: Surroundings, tmp_path: Path) -> None:
    plant(tmp_path, {"proc/sys/kernel/sched_rt_runtime_us": "950000\n"})
    plant(tmp_path, {"proc/sys/kernel/sched_rt_period_us": "1000000\n"})
    assert "95% of each 1 s" in find_real_time_rights(around, rights(refusal=""), None).text


def test_rtkit_is_seen_running_or_installed_and_said_not_to_help(around: Surroundings, tmp_path: Path) -> None:
    assert "no rtkit-daemon" in find_real_time_rights(around, rights(), None, ["bash"]).text
    assert "rtkit-daemon runs" in find_real_time_rights(around, rights(), None, ["bash", "rtkit-daemon"]).text
    plant(tmp_path, {"top/usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service": ""})
    assert "installed and not used" in find_real_time_rights(around, rights(), None).text


@pytest.mark.parametrize(
    ("capabilities", "limit", "status", "text"),
    [
        (WITHOUT, ResourceLimit(0, 0), Status.LIMITED, "below 0"),
        (WITHOUT, ResourceLimit(30, 40), Status.OK, "down to -10"),
        (WITHOUT, ResourceLimit(-1, -1), Status.OK, "down to -20"),
        (CAPABLE, ResourceLimit(0, 0), Status.OK, "CAP_SYS_NICE"),
    ],
)
def test_niceness(
    around: Surroundings, tmp_path: Path, capabilities: str, limit: ResourceLimit, status: Status, text: str
) -> None:
    plant_capabilities(tmp_path, capabilities)
    finding = find_niceness(around, limit)
    assert (finding.status, text in finding.text) == (status, True), finding


@pytest.mark.parametrize(
    ("group", "status", "texts"),
    [
        (None, Status.OK, ["no control groups"]),
        (CpuGroup(2, "/a", 100, None, "0-3"), Status.OK, ["cpu.weight 100", "CPUs 0-3", "no real-time knobs"]),
        (CpuGroup(2, "/a", 100, CpuQuota(50_000, 100_000, "/a")), Status.LIMITED, ["0.5 processors", "up to 50 ms"]),
        (CpuGroup(2, "/a/b", 100, CpuQuota(250_000, 100_000, "/a")), Status.LIMITED, ["2.5 processors at most by /a"]),
        (CpuGroup(2, "/a", 100, None, "0-1"), Status.LIMITED, ["2 of 4 processors"]),
        (CpuGroup(2, "/a", 20), Status.LIMITED, ["cpu.weight 20"]),
        (CpuGroup(1, "/", 1024, real_time_us=950_000), Status.OK, ["real-time budget 950000 µs"]),
        (CpuGroup(1, "/", 512), Status.LIMITED, ["cpu.shares 512", "no real-time budget a group"]),
        (CpuGroup(2, "/"), Status.OK, ["no limits of its own"]),
    ],
)
def test_the_share_of_the_processors(group: CpuGroup | None, status: Status, texts: list[str]) -> None:
    finding = find_processor_share(group, 4)
    assert finding.status is status, finding
    assert all(text in finding.text for text in texts), finding


def test_kernel_lists_are_counted() -> None:
    assert [count_processors(text) for text in ("0", "0-3,8", "", "0-1,4-5")] == [1, 5, 0, 4]


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can give its rights up for a test")
def test_a_process_without_rights_finds_out_by_trying() -> None:
    script = (
        "import os, resource; from app.telemetry.scheduling_findings import read_scheduling_rights\n"
        "resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.setgid(65534); os.setuid(65534)\n"
        "print(read_scheduling_rights().refusal)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == DENIED


def test_trying_leaves_this_thread_as_it_was() -> None:
    before = os.sched_getscheduler(0)
    read_scheduling_rights()
    assert os.sched_getscheduler(0) == before
