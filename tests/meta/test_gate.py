"""The gate itself can fail: each kind of thing left behind, and each kind of message, fails the test that made it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FAULTS = {
    "thread": ("def test_it(): threading.Thread(target=time.sleep, args=(20,), name='forgotten').start()", "forgotten"),
    "process": ("def test_it(): keep.append(subprocess.Popen(['sleep', '20']))", "sleep 20"),
    "nameless shared memory": ("def test_it(): keep.append(SharedBlock.create(4096))", "/memfd:veotuner"),
    "named shared memory": (
        "def test_it(): keep.append(shared_memory.SharedMemory(create=True, size=64))",
        "/dev/shm/psm_",
    ),
    "log record": ("def test_it(): logging.getLogger('app.engine').warning('lost a frame')", "lost a frame"),
    "warning": ("def test_it(): warnings.warn('old', DeprecationWarning)", "DeprecationWarning"),
    "widget": ("def test_it(qapp): keep.append(QWidget()); keep[-1].setWindowTitle('lost')", "lost"),
    "timer": ("def test_it(qapp): keep.append(QTimer()); keep[-1].start(1000)", "QTimer"),
    "Qt message": ("def test_it(qapp): qWarning('no such property')", "no such property"),
}

HEADER = """
import logging, subprocess, threading, time, warnings
from multiprocessing import shared_memory
from PySide6.QtCore import QTimer, qWarning
from PySide6.QtWidgets import QWidget
from app.ipc.shared_block import SharedBlock
keep = []
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_test_that_leaves_something_behind_fails_and_says_what(fault: str) -> None:
    body, named = FAULTS[fault]
    result = run_gate(body)
    assert result.returncode == 1, result.stdout
    assert named in result.stdout


def test_a_test_that_cleans_up_passes() -> None:
    result = run_gate(
        """
        def test_it(qtbot, sample_video, caplog):
            thread = threading.Thread(target=time.sleep, args=(0.05,))
            thread.start()
            subprocess.run(["true"], check=True)
            with SharedBlock.create(4096):
                pass
            logging.getLogger("app").warning("expected by caplog")
            widget = QWidget()
            qtbot.addWidget(widget)
            timer = QTimer(widget)
            timer.start(1000)
            widget.show()
        """
    )
    assert result.returncode == 0, result.stdout


def run_gate(body: str) -> subprocess.CompletedProcess[str]:
    """Run one test in a folder of the tree that is removed afterwards, under the real conftest and configuration."""
    file = ROOT / "tests" / "meta" / f"gate_sample_{abs(hash(body))}.py"
    file.write_text(HEADER + textwrap.dedent(body))
    try:
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
            cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    finally:
        file.unlink()
