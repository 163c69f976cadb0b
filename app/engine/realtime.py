"""How the engine's threads are scheduled: policy and priority of the present thread, processors and niceness of all.

Linux schedules threads, so the present thread alone gets the real-time policy: a decoder or a software GPU under
SCHED_FIFO would starve the machine. Threads that it starts later begin anew as ordinary ones (SCHED_RESET_ON_FORK).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from app.config.sections import Realtime
from app.core.errors import EngineError

_OWN_TASKS: Final = Path("/proc/self/task")


class Standing(NamedTuple):
    """How the present thread is scheduled, as the system says.

    Attributes:
        policy: `other`, `fifo`, `rr`, or the system's number of another one. priority: 0 under `other`.
        cpus: processors it may run on. nice: its niceness.
    """

    policy: str
    priority: int
    cpus: tuple[int, ...]
    nice: int

    def sentence(self) -> str:
        """Return it for a person."""
        policy = self.policy if self.policy == "other" else f"{self.policy} {self.priority}"
        return f"present thread: policy {policy}, nice {self.nice}, CPUs {', '.join(map(str, self.cpus))}"


class RealtimeScheduling:
    """Puts `realtime` into force, and back; made and used in the present thread."""

    def __init__(self) -> None:
        self._as_started = read_standing()

    def apply(self, wanted: Realtime) -> Standing:
        """Put a scheduling into force and return how the present thread stands then.

        What equals the default (no processors named, niceness 0) is as the process was started.

        Raises:
            EngineError: the system refuses; the text names the right that is missing and what grants it. Nothing is
                done without silently.
        """
        nice = wanted.nice or self._as_started.nice
        cpus = wanted.cpus or self._as_started.cpus
        if sys.platform != "linux":
            return _apply_elsewhere(wanted, nice, cpus)
        now = read_standing()
        if cpus != now.cpus:
            _set_cpus(cpus, self._as_started.cpus)
        if nice != now.nice:
            _set_nice(nice)
        _set_policy(wanted)
        return read_standing()


def read_standing() -> Standing:
    """Return how the calling thread is scheduled now."""
    if sys.platform != "linux":
        process = psutil.Process()
        return Standing("other", 0, tuple(process.cpu_affinity() or ()), 0)
    names = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "fifo", os.SCHED_RR: "rr"}
    policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    priority = os.sched_getparam(0).sched_priority
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    return Standing(names.get(policy, str(policy)), priority, tuple(sorted(os.sched_getaffinity(0))), nice)


def _set_policy(wanted: Realtime) -> None:
    now = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    if wanted.policy == "other":
        if now in (os.SCHED_FIFO, os.SCHED_RR):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        return
    policy = {"fifo": os.SCHED_FIFO, "rr": os.SCHED_RR}[wanted.policy]
    try:
        os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, os.sched_param(wanted.priority))
    except PermissionError as error:
        raise EngineError(realtime_refusal(wanted, psutil.Process().rlimit(psutil.RLIMIT_RTPRIO)[0])) from error
    except OSError as error:
        raise EngineError(_refused("policy", wanted.policy, error)) from error


def realtime_refusal(wanted: Realtime, limit: int) -> str:
    """Return why a real-time policy was refused, and how it is granted.

    Args:
        limit: RLIMIT_RTPRIO, the highest priority this user may ask for; -1 for any.
    """
    interpreter = Path(sys.executable).resolve()
    if 0 <= limit < wanted.priority:
        why = f"RLIMIT_RTPRIO allows {f'priorities up to {limit}' if limit else 'none'}"
    else:
        why = "the system allows no real-time threads here (a container, or a cgroup without real-time budget)"
    return (
        f"realtime.policy {wanted.policy} with priority {wanted.priority} is refused: {why}. Allow it with "
        f"“@video - rtprio {wanted.priority}” in /etc/security/limits.d and log in again; or for this interpreter with "
        f"“sudo setcap cap_sys_nice+ep {interpreter}” (CAP_SYS_NICE); rtkit gives rights only to programs that ask it "
        "over D-Bus, which this one does not. Or set realtime.policy to other."
    )


def _set_nice(nice: int) -> None:
    try:
        _for_each_thread(lambda thread: os.setpriority(os.PRIO_PROCESS, thread, nice))
    except PermissionError as error:
        lowest = min(19, 20 - psutil.Process().rlimit(psutil.RLIMIT_NICE)[0])
        raise EngineError(
            f"realtime.nice {nice} is refused: RLIMIT_NICE allows {lowest} and above, and what is higher may not be "
            f"lowered. Allow it with “@video - nice {nice}” in /etc/security/limits.d and log in again, or set it to 0."
        ) from error


def _set_cpus(cpus: tuple[int, ...], usable: tuple[int, ...]) -> None:
    missing = sorted(set(cpus) - set(usable))
    if missing:
        raise EngineError(
            f"realtime.cpus names CPU {', '.join(map(str, missing))}, but the engine may use "
            f"{', '.join(map(str, usable))} here; name some of these, or leave it empty for all of them."
        )
    _for_each_thread(lambda thread: os.sched_setaffinity(thread, cpus))


def _for_each_thread(act: Callable[[int], object]) -> None:
    """Do something to each thread of this process; one that ended meanwhile is left out."""
    for thread in _threads():
        try:
            act(thread)
        except ProcessLookupError:
            continue


def _threads() -> Iterable[int]:
    return [int(task.name) for task in _OWN_TASKS.iterdir()]


def _apply_elsewhere(wanted: Realtime, nice: int, cpus: tuple[int, ...]) -> Standing:
    if wanted.policy != "other" or nice != read_standing().nice:
        raise EngineError(
            "realtime.policy and realtime.nice are Linux's; set policy to other and nice to 0 on this system."
        )
    if cpus:
        psutil.Process().cpu_affinity(list(cpus))
    return read_standing()


def _refused(key: str, value: str, error: OSError) -> str:
    return f"realtime.{key} {value} is refused by the system ({error.strerror}); set it to its default."
