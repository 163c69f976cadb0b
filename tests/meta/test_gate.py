"""The gate itself can fail: each kind of thing left behind, and each kind of message, fails the test that made it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

FAULTS = {
    "thread": "thread 'forgotten', now in",
    "process": "sleep 6",
    "nameless_shared_memory": "/memfd:veotuner",
    "named_shared_memory": "shared memory /dev/shm/psm_",
    "log_record": "lost a frame",
    "warning": "an old call",
    "widget": "title 'lost window'",
    "timer": "running timer",
    "qt_message": "no such property",
}
"""Name of a test in SAMPLE that must fail → what its failure must name."""

SAMPLE = """
import logging, subprocess, threading, time, warnings
from multiprocessing import shared_memory
from PySide6.QtCore import QTimer, qWarning
from PySide6.QtWidgets import QWidget
from app.ipc.shared_block import SharedBlock

keep = []

def test_thread():
    threading.Thread(target=time.sleep, args=(6,), name="forgotten", daemon=True).start()

def test_process():
    keep.append(subprocess.Popen(["sleep", "6"]))

def test_nameless_shared_memory():
    keep.append(SharedBlock.create(4096))

def test_named_shared_memory():
    keep.append(shared_memory.SharedMemory(create=True, size=64))

def test_log_record():
    logging.getLogger("app.engine").warning("lost a frame")

def test_warning():
    warnings.warn("an old call", DeprecationWarning)

def test_widget(qapp):
    keep.append(QWidget())
    keep[-1].setWindowTitle("lost window")

def test_timer(qapp):
    keep.append(QTimer())
    keep[-1].start(1000)

def test_qt_message(qapp):
    qWarning("no such property")

def test_that_cleans_up(qtbot, sample_video, caplog):
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


@pytest.fixture(scope="module")
def gate_output(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says about SAMPLE under the real conftest and configuration, in a process of its own."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "conftest.py").write_text("from tests.conftest import *")
    (folder / "test_sample.py").write_text(SAMPLE)
    command = [sys.executable, "-m", "pytest", "-v", "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider"]
    command += ["--rootdir", str(folder), str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False).stdout


@pytest.mark.parametrize("fault", FAULTS)
def test_a_test_that_leaves_something_behind_fails_and_says_what(gate_output: str, fault: str) -> None:
    heading = rf"^_+ (?:ERROR at teardown of )?test_{fault} _+$"
    section = re.search(heading + r"(.*?)^[_=]{3,}", gate_output, re.MULTILINE | re.DOTALL)
    assert section, gate_output
    assert FAULTS[fault] in section[1]


def test_a_test_that_cleans_up_passes(gate_output: str) -> None:
    assert re.search(r"::test_that_cleans_up PASSED", gate_output), gate_output
