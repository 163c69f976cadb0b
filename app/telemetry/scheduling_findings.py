"""Findings about how threads of ours may be scheduled: real-time priority, niceness, and the control group's share."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from app.telemetry.cgroup import CpuGroup
from app.telemetry.finding import Finding, limited, ok
from app.telemetry.machine import Surroundings, read_text

_CAP_SYS_NICE: Final = 23
_HIGHEST_PRIORITY: Final = 99
_RTKIT: Final = "rtkit-daemon"
_RTKIT_SERVICE: Final = "usr/share/dbus-1/system-services/org.freedesktop.RealtimeKit1.service"
_DEFAULT_WEIGHTS: Final = {1: 1024, 2: 100}
_WEIGHT_NAMES: Final = {1: "cpu.shares", 2: "cpu.weight"}


class ResourceLimit(NamedTuple):
    """A limit of this process, soft and hard; −1 is unlimited."""

    soft: int
    hard: int

    def reaches(self, value: int) -> bool:
        """Tell whether the soft limit allows a value."""
        return self.soft < 0 or self.soft >= value


class SchedulingRights(NamedTuple):
    """What the system says about this process.

    Attributes:
        rtprio: RLIMIT_RTPRIO. nice: RLIMIT_NICE, 20 − the lowest niceness.
        refusal: what the kernel answered when a thread asked for SCHED_FIFO; "" when it granted it.
    """

    rtprio: ResourceLimit
    nice: ResourceLimit
    refusal: str


def read_scheduling_rights() -> SchedulingRights:
    """Return the rights of this process. They are tried, not only read: a container may refuse what limits allow."""
    if sys.platform != "linux":
        return SchedulingRights(ResourceLimit(0, 0), ResourceLimit(0, 0), "not Linux")
    process = psutil.Process()
    return SchedulingRights(
        ResourceLimit(*process.rlimit(psutil.RLIMIT_RTPRIO)),
        ResourceLimit(*process.rlimit(psutil.RLIMIT_NICE)),
        _try_real_time(),
    )


def find_real_time_rights(
    surroundings: Surroundings, rights: SchedulingRights, group: CpuGroup | None, processes: Iterable[str] = ()
) -> Finding:
    """Say whether the engine's present thread may run at real-time priority (`realtime.policy` fifo or rr).

    Args:
        group: our control group. processes: names of those that run, to see rtkit-daemon.
    """
    topic = "real-time priority"
    if sys.platform == "win32":
        return ok(topic, "set by priority class")
    source = _right(surroundings, rights.rtprio)
    rtkit = _rtkit(surroundings, processes)
    if not rights.refusal:
        return ok(topic, f"allowed ({source}){_throttle(surroundings)}; {rtkit}")
    if group is not None and group.refuses_real_time:
        cure = (
            f"give the group a budget as root: echo 950000 > {group.real_time_file}, from the group above it downwards"
        )
        return limited(topic, f"refused: cpu.rt_runtime_us of cgroup {group.path} is 0 ({source}); {rtkit}", cure)
    return limited(
        topic, f"refused ({source}; {rights.refusal}); {rtkit}", _real_time_cure(surroundings, rights.rtprio)
    )


def find_niceness(surroundings: Surroundings, limit: ResourceLimit) -> Finding:
    """Say how low `realtime.nice` may be set."""
    topic = "niceness"
    if sys.platform == "win32":
        return ok(topic, "not used on Windows")
    if has_capability(surroundings, _CAP_SYS_NICE):
        return ok(topic, "down to -20 (CAP_SYS_NICE)")
    lowest = -20 if limit.soft < 0 else min(19, 20 - limit.soft)
    if lowest < 0:
        return ok(topic, f"down to {lowest} ({_limit_text('RLIMIT_NICE', limit)})")
    cure = "allow it in /etc/security/limits.d (for example: @video - nice -10) and log in again"
    return limited(topic, f"may be raised but not lowered below 0 ({_limit_text('RLIMIT_NICE', limit)})", cure)


def find_processor_share(group: CpuGroup | None, processors: int) -> Finding:
    """Say what the control group leaves of the processors: a quota stops threads in the middle of a frame.

    Args:
        processors: logical processors of the machine.
    """
    topic = "processor share (cgroup)"
    if group is None:
        return ok(topic, "no control groups here")
    text = _group_text(group)
    if (quota := group.quota) is not None:
        where = "the container's --cpus, the service's CPUQuota=, or cpu.max" if group.version == 2 else "cfs_quota_us"
        stop = f"; one busy thread stands still for up to {quota.longest_stop_ms:.0f} ms a period"
        text += stop if quota.longest_stop_ms else "; all threads stand still together when it is used up"
        return limited(topic, text, f"lift the limit of {quota.group} while you measure: {where}")
    if group.cpus is not None and (granted := count_processors(group.cpus)) < processors:
        cure = f"nothing, if you meant it; else widen the cpuset: realtime.cpus can only choose among these {granted}"
        return limited(topic, f"{text}: {granted} of {processors} processors", cure)
    if group.weight is not None and group.weight < _DEFAULT_WEIGHTS[group.version]:
        name = _WEIGHT_NAMES[group.version]
        return limited(topic, text, f"raise {name} to {_DEFAULT_WEIGHTS[group.version]} or more: others come first now")
    return ok(topic, text)


def count_processors(text: str) -> int:
    """Return how many processors a kernel list names: `0-3,8` has five."""
    count = 0
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1
    return count


def has_capability(surroundings: Surroundings, bit: int) -> bool:
    """Tell whether this process, and so this interpreter as it was started, has a capability in force."""
    status = read_text(surroundings.roots.proc / "self/status") or ""
    effective = next((line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), "0")
    return bool(int(effective, 16) >> bit & 1)


def _try_real_time() -> str:
    """Ask for SCHED_FIFO in a thread that ends at once, and return the kernel's refusal, or ""."""
    refusal = []

    def ask() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        except OSError as error:
            refusal.append(error.strerror or str(error))

    thread = threading.Thread(target=ask, name="real-time-trial")
    thread.start()
    thread.join()
    return "".join(refusal)


def _right(surroundings: Surroundings, limit: ResourceLimit) -> str:
    return "CAP_SYS_NICE" if has_capability(surroundings, _CAP_SYS_NICE) else _limit_text("RLIMIT_RTPRIO", limit)


def _limit_text(name: str, limit: ResourceLimit) -> str:
    soft, hard = ("unlimited" if value < 0 else str(value) for value in limit)
    return f"{name} soft {soft}, hard {hard}"


def _throttle(surroundings: Surroundings) -> str:
    """Return what the kernel keeps back for others, so that a runaway real-time thread cannot hang the machine."""
    kernel = surroundings.roots.proc / "sys/kernel"
    runtime, period = (read_text(kernel / f"sched_rt_{name}_us") or "" for name in ("runtime", "period"))
    if not runtime.isdecimal() or not period.isdecimal() or not int(period):
        return ""
    return f", {int(runtime) / int(period):.0%} of each {int(period) / 1e6:g} s"


def _rtkit(surroundings: Surroundings, processes: Iterable[str]) -> str:
    # A process name is cut to 15 characters by the kernel; this one has 12.
    if _RTKIT in processes:
        return "rtkit-daemon runs, but grants only what programs ask over D-Bus, which VeoTuner does not"
    installed = (surroundings.roots.top / _RTKIT_SERVICE).exists()
    return "rtkit-daemon is installed and not used" if installed else "no rtkit-daemon, and none is needed"


def _real_time_cure(surroundings: Surroundings, limit: ResourceLimit) -> str:
    if limit.reaches(1) or has_capability(surroundings, _CAP_SYS_NICE):
        return "let the container or sandbox allow it too: --cap-add SYS_NICE --ulimit rtprio=99"
    if limit.hard != 0:
        highest = _HIGHEST_PRIORITY if limit.hard < 0 else limit.hard
        return f"raise the soft limit yourself in the shell that starts VeoTuner: ulimit -S -r {highest}"
    interpreter = Path(sys.executable).resolve()
    return (
        "allow it in /etc/security/limits.d (for example: @video - rtprio 20) and log in again; or for this "
        f"interpreter: sudo setcap cap_sys_nice+ep {interpreter}"
    )


def _group_text(group: CpuGroup) -> str:
    parts = []
    if group.weight is not None:
        parts.append(f"{_WEIGHT_NAMES[group.version]} {group.weight}")
    if group.quota is not None:
        of = "" if group.quota.group == group.path else f" by {group.quota.group}"
        parts.append(
            f"{group.quota.processors:g} processors at most{of}, in periods of {group.quota.period_us / 1e3:g} ms"
        )
    if group.cpus is not None:
        parts.append(f"CPUs {group.cpus}")
    told = ", ".join(parts) or "no limits of its own"
    return f"cgroup v{group.version} {group.path}: {told}; {_real_time_text(group)}"


def _real_time_text(group: CpuGroup) -> str:
    if group.version == 2:
        return "version 2 has no real-time knobs, the rights above decide"
    if group.real_time_us is None:
        return "this kernel has no real-time budget a group"
    return f"real-time budget {group.real_time_us} µs"
