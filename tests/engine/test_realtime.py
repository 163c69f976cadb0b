"""Real-time scheduling: what is asked for is really in force, a refusal names the right and the cure, and it goes back.

The system calls are real; each case has a process of its own, because a process cannot take back what it gave up.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from app.config.sections import Realtime
from app.engine.realtime import RealtimeScheduling, read_standing, realtime_refusal

IS_ROOT = sys.platform == "linux" and os.geteuid() == 0
ASK = """
import os, resource, threading, time
from app.config.sections import Realtime
from app.core.errors import EngineError
from app.engine.realtime import RealtimeScheduling, read_standing
{before}
threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
scheduling = RealtimeScheduling()
try:
    print(scheduling.apply({wanted}).sentence())
    {after}
except EngineError as error:
    print("refused:", error)
"""
AS_NOBODY = "resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0)); os.setgid(65534); os.setuid(65534)"


def ask(wanted: str, before: str = "", after: str = "") -> str:
    script = ASK.format(wanted=wanted, before=before, after=after)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_the_default_changes_nothing() -> None:
    before = read_standing()
    assert RealtimeScheduling().apply(Realtime()) == before


def test_named_processors_hold_for_every_thread() -> None:
    first = min(os.sched_getaffinity(0))
    each = "print([sorted(os.sched_getaffinity(int(thread))) for thread in os.listdir('/proc/self/task')])"
    assert ask(f"Realtime(cpus=({first},))", after=each).splitlines()[-1] == str([[first], [first]])


def test_a_processor_that_is_not_there_is_named_with_those_that_are() -> None:
    said = ask("Realtime(cpus=(0, 4000))")
    assert said.startswith("refused:")
    assert "CPU 4000" in said
    assert "the engine may use" in said


def test_a_higher_niceness_needs_no_right() -> None:
    assert "nice 5" in ask("Realtime(nice=5)")


def test_a_setting_taken_back_is_as_it_was() -> None:
    first = min(os.sched_getaffinity(0))
    after = "print(scheduling.apply(Realtime()) == scheduling._as_started)"
    assert ask(f"Realtime(cpus=({first},))", after=after).splitlines()[-1] == "True"


@pytest.mark.skipif(not IS_ROOT, reason="only the administrator may become another user")
@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_without_the_right_a_policy_is_refused_with_what_grants_it(policy: str) -> None:
    said = ask(f"Realtime(policy={policy!r}, priority=20)", AS_NOBODY)
    assert said.startswith("refused:")
    for word in ("RLIMIT_RTPRIO", "rtprio 20", "CAP_SYS_NICE", "setcap", "rtkit", "limits.d"):
        assert word in said


@pytest.mark.skipif(not IS_ROOT, reason="only the administrator may become another user")
def test_without_the_right_a_lower_niceness_is_refused_with_what_grants_it() -> None:
    said = ask("Realtime(nice=-5)", AS_NOBODY)
    assert said.startswith("refused:")
    assert "RLIMIT_NICE" in said


def test_the_present_thread_alone_runs_under_a_real_time_policy_where_that_is_allowed() -> None:
    each = "print(sorted({os.sched_getscheduler(int(thread)) & 3 for thread in os.listdir('/proc/self/task')}))"
    said = ask("Realtime(policy='fifo', priority=7)", after=each)
    if said.startswith("refused:"):
        assert "realtime.policy fifo" in said
    else:
        assert said.splitlines() == [read_fifo_standing(), str([os.SCHED_OTHER, os.SCHED_FIFO])]


def read_fifo_standing() -> str:
    return read_standing()._replace(policy="fifo", priority=7).sentence()


def test_a_refusal_in_a_container_does_not_blame_the_limit() -> None:
    said = realtime_refusal(Realtime(policy="fifo", priority=10), limit=-1)
    assert "container" in said
    assert "RLIMIT_RTPRIO allows" not in said
