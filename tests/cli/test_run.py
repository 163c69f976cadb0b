"""The command line as a person meets it: a real process, its exit code, and what it says."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.cli import main as cli_main
from app.cli.exit_codes import CRASHED, FAILED, INTERRUPTED, OK, USAGE
from app.session.child_python import module_command, module_environment
from app.session.recording import open_recording

SOURCE = "synthetic:320x180@60"
SINK = "virtual:60,process=none"
SERVED = ("--set", "enable_preview=true")
QUICK = ("--sink", SINK, "--gpu", "none", "--warmup", "0", "--seconds", "1")


def veotuner(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        module_command("app", *arguments), env=module_environment(), cwd=cwd,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def one_line(text: str) -> str:
    """Return what was said without the frame and line breaks that a usage error is drawn with."""
    return " ".join(text.replace("│", " ").split())


BAD_INPUT: dict[str, tuple[list[str], int, str]] = {
    "missing file": (["missing.mp4"], FAILED, "missing.mp4"),
    "text file named .mp4": (["text.mp4"], FAILED, "text.mp4"),
    "folder as source": (["folder"], FAILED, "folder"),
    "synthetic source without height": (["synthetic:64x@60"], FAILED, "synthetic"),
    "sink without a number": ([SOURCE, "--sink", "virtual:sixty"], FAILED, "sixty"),
    "unknown sink": ([SOURCE, "--sink", "printer"], FAILED, "printer"),
    "unknown preset": ([SOURCE, "--preset", "balanced-6"], FAILED, "balanced-6"),
    "missing config": ([SOURCE, "--config", "none.json"], FAILED, "none.json"),
    "config that is no JSON": ([SOURCE, "--config", "broken.json"], FAILED, "broken.json"),
    "config out of range": ([SOURCE, "--config", "deep.json"], FAILED, "frame_queue_depth"),
    "setting out of range": ([SOURCE, "--set", "frame_queue_depth=0"], FAILED, "frame_queue_depth"),
    "setting of an unknown key": ([SOURCE, "--set", "frame_queue_dept=4"], FAILED, "frame_queue_depth"),
    "setting without a value": ([SOURCE, "--set", "frame_queue_depth"], FAILED, "frame_queue_depth"),
    "config and preset": ([SOURCE, "--config", "deep.json", "--preset", "b"], USAGE, "exclude each other"),
    "no time at all": ([SOURCE, "--seconds", "0"], USAGE, "--seconds"),
    "no source": ([], USAGE, "SOURCE"),
    "unknown GPU": ([SOURCE, "--gpu", "GPU-none-such"], FAILED, "GPU-none-such"),
    "recording over a file": ([SOURCE, "--out", "text.mp4"], FAILED, "text.mp4"),
    "recording where nobody may write": ([SOURCE, "--out", "/proc/run"], FAILED, "/proc/run"),
    "recording over a recording": ([SOURCE, "--out", "taken"], FAILED, "already holds a recording"),
    "result into a missing folder": ([SOURCE, "--json", "no/such/x.json"], FAILED, "--json"),
    "report over a folder": ([SOURCE, "--report", "folder"], FAILED, "--report"),
    "ten sources": ([SOURCE] * 10, FAILED, "10 is more than the 9 sources"),
    "one of two sources missing": ([SOURCE, "missing.mp4"], FAILED, "missing.mp4"),
    "video into a missing folder": ([SOURCE, *QUICK, "--encode-to", "no/such/x.mp4"], FAILED, "make the folder first"),
    "video over a file": ([SOURCE, *QUICK, "--encode-to", "text.mp4"], FAILED, "text.mp4 exists already"),
    "video of an unknown kind": ([SOURCE, *QUICK, "--encode-to", "x.avi"], FAILED, ".mp4, .ts and .mkv"),
    "video where nobody may write": ([SOURCE, *QUICK, "--encode-to", "/proc/x.ts"], FAILED, "choose another place"),
    "video without an encoder": (
        [SOURCE, *QUICK, "--encode-to", "x.ts", "--set", "encoder.enabled=false"], USAGE, "encoder.enabled"
    ),
    "preview stream on another machine's address": (
        [SOURCE, *QUICK, *SERVED, "--stream-host", "192.0.2.1"], FAILED, "choose an address of this machine"
    ),
    "preview stream on no address": ([SOURCE, *QUICK, *SERVED, "--stream-host", "no..host"], FAILED, "no..host"),
    "preview stream on no port": ([SOURCE, *QUICK, *SERVED, "--stream-port", "65536"], USAGE, "--stream-port"),
    "token that no header holds": ([SOURCE, *QUICK, *SERVED, "--stream-token", "a b"], FAILED, "token"),
}  # fmt: skip
"""What is wrong → arguments of `run`, exit code, and what the sentence must name."""


@pytest.fixture
def bad_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the table names, and a home for recordings in it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for folder in ("folder", "taken"):
        (tmp_path / folder).mkdir()
    (tmp_path / "taken" / "manifest.json").write_text("{}")
    (tmp_path / "text.mp4").write_text("not a video\n" * 100)
    (tmp_path / "broken.json").write_text('{"frame_queue_depth": 8,')
    (tmp_path / "deep.json").write_text('{"frame_queue_depth": 65}')
    return tmp_path


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_gets_a_sentence_and_a_code_and_leaves_no_recording(case: str, bad_files: Path) -> None:
    arguments, code, named = BAD_INPUT[case]
    ended = veotuner("run", *arguments, cwd=bad_files)
    said = one_line(ended.stderr)
    assert (ended.returncode, ended.stdout) == (code, ""), said
    assert named in said
    assert "Traceback" not in said
    assert not list((bad_files / "data").glob("veotuner/runs/*"))


def test_a_preview_stream_on_a_port_that_is_taken_is_refused_before_anything_runs(bad_files: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = veotuner("run", SOURCE, *QUICK, *SERVED, "--stream-port", port, cwd=bad_files)
    assert ended.returncode == FAILED
    assert f"127.0.0.1, port {port}" in one_line(ended.stderr)
    assert "choose a port that is free" in one_line(ended.stderr)
    assert not list((bad_files / "data").glob("veotuner/runs/*"))


def test_the_result_on_standard_output_is_json_and_nothing_else(tmp_path: Path) -> None:
    ended = veotuner(
        "run", SOURCE, *QUICK, "--json", "-", "--out", str(tmp_path / "run"), "--set", "frame_queue_depth=7"
    )
    assert ended.returncode == OK, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["schema"], result["config"]["frame_queue_depth"]) == ("veotuner-run/1", 7)
    assert_balanced(result["frames"])
    assert result["frames"]["displayed"] > 0


def test_a_run_writes_table_result_report_and_recording_and_says_where(tmp_path: Path) -> None:
    places = {"--out": tmp_path / "run", "--json": tmp_path / "result.json", "--report": tmp_path / "report.html"}
    ended = veotuner("run", SOURCE, *QUICK, *(text for option, path in places.items() for text in (option, str(path))))
    assert ended.returncode == OK, ended.stderr
    assert "Frames displayed" in ended.stdout
    assert all(str(path) in ended.stdout for path in places.values())
    assert_balanced(json.loads((tmp_path / "result.json").read_text())["frames"])
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    data = open_recording(tmp_path / "run")
    assert len(data.frames) == data.counters.produced - data.counters.in_flight
    assert not data.notices


def test_without_a_folder_the_recording_goes_to_the_users_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert veotuner("run", SOURCE, *QUICK).returncode == OK
    (recording,) = tmp_path.glob("veotuner/runs/*_synthetic-320x180-60_*")
    assert len(open_recording(recording).frames) > 0


def test_two_runs_that_start_in_the_same_second_record_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with ThreadPoolExecutor() as pool:
        ended = list(pool.map(lambda _: veotuner("run", SOURCE, *QUICK), range(2)))
    assert [each.returncode for each in ended] == [OK, OK], [each.stderr for each in ended]
    assert len(list(tmp_path.glob("veotuner/runs/*/frames.parquet"))) == 2


def test_a_source_that_ends_ends_the_run(tmp_path: Path, sample_video: Path) -> None:
    arguments = ["--sink", SINK, "--gpu", "none", "--json", "-", "--out", str(tmp_path / "run"), "--seconds", "100"]
    ended = veotuner("run", str(sample_video), *arguments)
    assert ended.returncode == OK, ended.stderr
    result = json.loads(ended.stdout)
    assert result["frames"]["produced"] == 60
    assert result["segments"][-1]["reason_ended"] == "end of source"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_run_in_order_and_prints_its_results(tmp_path: Path, number: signal.Signals) -> None:
    with endless_run(tmp_path) as process:
        process.send_signal(number)
        output, said = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED, said
    assert_balanced(json.loads(output)["frames"])
    assert "Traceback" not in said
    assert not open_recording(tmp_path / "run").notices


def test_an_engine_that_is_killed_fails_the_command_and_its_results_are_printed(tmp_path: Path) -> None:
    with endless_run(tmp_path) as process:
        (engine,) = psutil.Process(process.pid).children()
        engine.kill()
        output, said = process.communicate(timeout=60)
    assert process.returncode == FAILED
    assert "the engine ended by signal 9 (SIGKILL)" in one_line(said)
    assert json.loads(output)["schema"] == "veotuner-run/1"


def test_a_fault_of_the_program_is_a_sentence_and_a_crash_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def break_down(prog_name: str) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(cli_main, "cli", break_down)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        cli_main.main()
    said = one_line(capsys.readouterr().err)
    assert ended.value.code == CRASHED
    assert "Traceback" not in said
    (log,) = tmp_path.glob("veotuner/crashes/*.txt")
    assert str(log) in said.replace(" ", "")
    assert "ZeroDivisionError: a fault" in log.read_text()


def test_a_crash_log_holds_no_password_and_no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def break_down(prog_name: str) -> None:
        raise ValueError("rtsp://me:hunter2@camera/ was not foreseen")

    monkeypatch.setattr(cli_main, "cli", break_down)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    address, joined = "rtsp://me:hunter2@camera/", "--stream-token=hunter2"
    monkeypatch.setattr("sys.argv", ["veotuner", "run", address, "--stream-token", "hunter2", joined, "--warmup", "0"])
    with pytest.raises(SystemExit):
        cli_main.main()
    (log,) = tmp_path.glob("veotuner/crashes/*.txt")
    told = log.read_text()
    assert "hunter2" not in told
    assert "rtsp://***@camera/" in told
    assert "--warmup 0" in told
    assert "ValueError" in told


def test_the_version_is_told() -> None:
    assert veotuner("--version").stdout.startswith("veotuner 0.")


def test_help_names_every_command() -> None:
    said = veotuner("--help").stdout
    commands = ("gui", "run", "demo", "report", "check", "presets", "schema", "doctor")
    assert all(f" {name} " in said for name in commands)


def test_the_command_line_loads_neither_qt_nor_the_window_nor_vulkan() -> None:
    code = "import sys, app.cli.main; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], env=module_environment(), capture_output=True, text=True, check=True
    ).stdout.split()
    unwanted = ("PySide6", "shiboken6", "pyqtgraph", "qasync", "app.gui", "widgets", "vulkan", "app.engine")
    assert not [name for name in loaded if name in unwanted or name.startswith(tuple(f"{it}." for it in unwanted))]


def assert_balanced(frames: dict[str, Any]) -> None:
    assert frames["produced"] == frames["displayed"] + sum(frames["lost"].values()) + frames["in_flight"]


@contextlib.contextmanager
def endless_run(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A `veotuner run` without an end, recorded into `folder/run`, whose engine is ready; gone with the block."""
    command = module_command("app", "run", SOURCE, "--sink", SINK, "--gpu", "none", "--json", "-", "--out", "run")
    with subprocess.Popen(
        command, env=module_environment(), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for_entry(folder / "run" / "events.jsonl", "EngineReady", process)
            yield process
        finally:
            process.kill()


def wait_for_entry(journal: Path, name: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60.0  # bounds a broken engine; nothing is measured
    while not (journal.exists() and name in journal.read_text()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"no {name}"
        time.sleep(0.05)
