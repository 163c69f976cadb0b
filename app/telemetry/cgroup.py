"""What control groups leave this process of the processors: share, quota, processors and, in version 1, real time.

Version 2 has `cpu.weight`, `cpu.max` and `cpuset.cpus.effective` and no real-time knobs at all; version 1 has
`cpu.shares`, `cpu.cfs_quota_us` and `cpu.rt_runtime_us`, whose 0 means that no thread of the group may be real-time
(kernel documentation, admin-guide/cgroup-v2.rst and scheduler/sched-rt-group.rst).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.telemetry.machine import Roots, read_text

_MOUNT: Final = "fs/cgroup"
_US_PER_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class CpuQuota:
    """Processor time that a group may use in each period; then its threads stand still until the next one begins.

    Attributes:
        quota_us: processor time, of all threads together. period_us: how long a period is.
        group: whose quota it is, ours or one above.
    """

    quota_us: int
    period_us: int
    group: str

    @property
    def processors(self) -> float:
        """Return how many processors that is on average."""
        return self.quota_us / self.period_us

    @property
    def longest_stop_ms(self) -> float:
        """Return how long one busy thread stands still when the quota is used up; 0 when it never is by one."""
        return max(0, self.period_us - self.quota_us) / _US_PER_MS


@dataclass(frozen=True, slots=True)
class CpuGroup:
    """What the control group of this process grants. Each is None where the group, or the kernel, does not say.

    Attributes:
        version: 2 or 1, of the hierarchy that holds the processor controller.
        path: of our group, as the kernel names it.
        weight: `cpu.weight` (1–10000, default 100) or, in version 1, `cpu.shares` (default 1024).
        quota: the tightest one of our group and those above it.
        cpus: `cpuset.cpus.effective`, for example `0-3,8`.
        real_time_us: `cpu.rt_runtime_us` of version 1; 0 refuses real-time threads. Version 2 has none.
        real_time_file: where that stands.
    """

    version: int
    path: str
    weight: int | None = None
    quota: CpuQuota | None = None
    cpus: str | None = None
    real_time_us: int | None = None
    real_time_file: Path | None = None

    @property
    def refuses_real_time(self) -> bool:
        """Tell whether the group has no real-time budget."""
        return self.real_time_us == 0


def read_cpu_group(roots: Roots) -> CpuGroup | None:
    """Return what the control groups of this process grant; None where there are none (not Linux, no /proc)."""
    paths = _group_paths(read_text(roots.proc / "self/cgroup") or "")
    mount = roots.sys / _MOUNT
    if "cpu" in paths:
        return _read_v1(mount, paths["cpu"], paths.get("cpuset", "/"))
    if "" in paths:
        unified = mount / "unified"
        return _read_v2(unified if unified.is_dir() else mount, paths[""])
    return None


def _group_paths(text: str) -> dict[str, str]:
    """Return controller → path of our group; that of version 2 stands under the empty name."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths |= dict.fromkeys(controllers.split(","), path)
    return paths


def _read_v2(mount: Path, path: str) -> CpuGroup:
    folders = _folders(mount, path)
    quotas = (_quota_v2(folder, mount) for folder in folders)
    return CpuGroup(
        version=2,
        path=path,
        weight=_number(folders[0] / "cpu.weight"),
        quota=_tightest(quotas),
        cpus=read_text(folders[0] / "cpuset.cpus.effective") or None,
    )


def _read_v1(mount: Path, path: str, cpuset_path: str) -> CpuGroup:
    folders = _folders(mount / "cpu", path)
    real_time_file = folders[0] / "cpu.rt_runtime_us"
    return CpuGroup(
        version=1,
        path=path,
        weight=_number(folders[0] / "cpu.shares"),
        quota=_tightest(_quota_v1(folder, mount / "cpu") for folder in folders),
        cpus=read_text(_folders(mount / "cpuset", cpuset_path)[0] / "cpuset.effective_cpus") or None,
        real_time_us=_number(real_time_file),
        real_time_file=real_time_file,
    )


def _folders(mount: Path, path: str) -> list[Path]:
    """Return the folder of a group and of those above it.

    A container may see its own group mounted as the root while the kernel names the host's path; the root is ours then.
    """
    folder = mount / path.lstrip("/")
    if ".." in folder.parts or not folder.is_dir():
        return [mount]
    return [folder, *(above for above in folder.parents if above.is_relative_to(mount))]


def _quota_v2(folder: Path, mount: Path) -> CpuQuota | None:
    quota, _, period = (read_text(folder / "cpu.max") or "max").partition(" ")
    if not quota.isdecimal() or not period.isdecimal() or not int(period):
        return None
    return CpuQuota(int(quota), int(period), _name(folder, mount))


def _quota_v1(folder: Path, mount: Path) -> CpuQuota | None:
    quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    if not quota or not period or quota < 0:
        return None
    return CpuQuota(quota, period, _name(folder, mount))


def _tightest(quotas: Iterable[CpuQuota | None]) -> CpuQuota | None:
    return min(filter(None, quotas), key=lambda quota: quota.processors, default=None)


def _name(folder: Path, mount: Path) -> str:
    return f"/{folder.relative_to(mount)}" if folder != mount else "/"


def _number(path: Path) -> int | None:
    text = read_text(path)
    try:
        return int(text) if text else None
    except ValueError:
        return None
