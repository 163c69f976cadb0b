"""What the control group grants is read as the kernel writes it, in version 2, version 1 and a container's view."""

from __future__ import annotations

from pathlib import Path

from app.telemetry.cgroup import CpuQuota, read_cpu_group
from app.telemetry.machine import Roots
from tests.telemetry.trees import plant

SLICE = "sys/fs/cgroup/user.slice/user-1000.slice"
DESKTOP_V2 = {
    "proc/self/cgroup": "0::/user.slice/user-1000.slice/session-2.scope\n",
    f"{SLICE}/session-2.scope/cpu.weight": "100\n",
    f"{SLICE}/session-2.scope/cpu.max": "max 100000\n",
    f"{SLICE}/session-2.scope/cpuset.cpus.effective": "0-3,8\n",
}
OLD_V1 = {
    "proc/self/cgroup": "5:cpuset:/a\n4:memory:/\n3:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/\n",
    "sys/fs/cgroup/cpu/a/b/cpu.shares": "512\n",
    "sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us": "0\n",
    "sys/fs/cgroup/cpuset/a/cpuset.effective_cpus": "0-1\n",
    "sys/fs/cgroup/unified/cgroup.controllers": "\n",
}


def test_version_2_is_read_from_our_own_group(tmp_path: Path, empty_roots: Roots) -> None:
    plant(tmp_path, DESKTOP_V2)
    group = read_cpu_group(empty_roots)
    assert group is not None
    assert (group.version, group.path) == (2, "/user.slice/user-1000.slice/session-2.scope")
    assert (group.weight, group.quota, group.cpus) == (100, None, "0-3,8")
    assert group.real_time_us is None
    assert not group.refuses_real_time


def test_the_tightest_quota_of_the_groups_above_counts(tmp_path: Path, empty_roots: Roots) -> None:
    quotas = {f"{SLICE}/session-2.scope/cpu.max": "200000 100000\n", f"{SLICE}/cpu.max": "50000 100000\n"}
    plant(tmp_path, DESKTOP_V2 | quotas)
    group = read_cpu_group(empty_roots)
    assert group is not None
    assert group.quota == CpuQuota(50_000, 100_000, "/user.slice/user-1000.slice")
    assert (group.quota.processors, group.quota.longest_stop_ms) == (0.5, 50.0)


def test_version_1_holds_the_processor_controller_of_a_mixed_machine(tmp_path: Path, empty_roots: Roots) -> None:
    plant(tmp_path, OLD_V1)
    group = read_cpu_group(empty_roots)
    assert group is not None
    assert (group.version, group.path, group.weight, group.quota, group.cpus) == (1, "/a/b", 512, None, "0-1")
    assert group.refuses_real_time
    assert group.real_time_file == tmp_path / "sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us"


def test_a_quota_of_version_1_is_read_from_its_two_files(tmp_path: Path, empty_roots: Roots) -> None:
    plant(tmp_path, OLD_V1 | {"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "150000\n"})
    plant(tmp_path, {"sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n"})
    group = read_cpu_group(empty_roots)
    assert group is not None
    assert group.quota == CpuQuota(150_000, 100_000, "/a")


def test_a_container_that_sees_its_group_as_the_root_is_read_there(tmp_path: Path, empty_roots: Roots) -> None:
    plant(tmp_path, {"proc/self/cgroup": "0::/../../docker/1234\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"})
    group = read_cpu_group(empty_roots)
    assert group is not None
    assert group.quota == CpuQuota(50_000, 100_000, "/")


def test_what_cannot_be_read_is_missing_and_never_a_number(tmp_path: Path, empty_roots: Roots) -> None:
    assert read_cpu_group(empty_roots) is None
    plant(tmp_path, {"proc/self/cgroup": "0::/x\n", "sys/fs/cgroup/x/cpu.weight": "many\n"})
    plant(tmp_path, {"sys/fs/cgroup/x/cpu.max": "soon 0\n"})
    group = read_cpu_group(empty_roots)
    assert group is not None
    assert (group.weight, group.quota, group.cpus) == (None, None, None)
