"""`veotuner doctor`: every gap with its cure, in words, and an exit code that says whether the main job runs."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import app
from app.cli import doctor as doctor_module
from app.cli.doctor import doctor, doctor_report, print_findings
from app.telemetry.finding import Finding, failed, limited, ok

MIXED = [
    ok("system", "Debian GNU/Linux 13"),
    limited("OpenGL", "no EGL [driver]", "install libegl1"),
    failed("decoder h264", "built without it", "install the av wheel again"),
]


def printed(findings: list[Finding], encoding: str = "utf-8", width: int = 100) -> str:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding=encoding, errors="strict"), width=width)
    print_findings(findings, console)
    console.file.flush()
    return raw.getvalue().decode(encoding)


def run_doctor(monkeypatch: pytest.MonkeyPatch, findings: list[Finding], *arguments: str) -> tuple[int, str]:
    monkeypatch.setattr(doctor_module, "collect_findings", lambda: findings)
    program = typer.Typer()
    program.command()(doctor)
    result = CliRunner().invoke(program, list(arguments))
    return result.exit_code, result.stdout


def test_states_are_marks_and_words_and_every_gap_has_its_cure() -> None:
    text = printed(MIXED)
    assert "✓ ok" in text
    assert "– limited" in text
    assert "✗ failed" in text
    assert text.count("Cure: ") == 2
    assert "no EGL [driver]" in text, "a driver's brackets are no markup"
    assert "The main job cannot run: cure decoder h264 first." in text


def test_a_narrow_terminal_loses_no_words() -> None:
    words = printed(MIXED, width=60).split()
    assert {"install", "libegl1", "wheel"} <= set(words)


def test_a_terminal_without_the_signs_gets_plain_ones() -> None:
    text = printed(MIXED[:2], encoding="cp437")
    assert "+ ok" in text
    assert "- limited" in text


@pytest.mark.parametrize(("findings", "code"), [(MIXED[:2], 0), (MIXED, 1)])
def test_the_exit_code_says_whether_the_main_job_runs(
    monkeypatch: pytest.MonkeyPatch, findings: list[Finding], code: int
) -> None:
    assert run_doctor(monkeypatch, findings)[0] == code
    assert run_doctor(monkeypatch, findings, "--json")[0] == code


def test_json_keeps_to_its_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    _, output = run_doctor(monkeypatch, MIXED, "--json")
    report = json.loads(output)
    assert report == doctor_report(MIXED)
    assert (report["schema"], report["version"], report["main_job_runs"]) == (
        "veotuner-doctor/1",
        app.__version__,
        False,
    )
    assert report["findings"][1] == {
        "topic": "OpenGL",
        "status": "limited",
        "text": "no EGL [driver]",
        "cure": "install libegl1",
    }


def test_this_machine_can_run_the_main_job_and_the_report_is_plain_json() -> None:
    # A child process, as a user starts it: nothing but JSON may reach standard output, whatever drivers print.
    program = "import typer; from app.cli.doctor import doctor; typer.run(doctor)"
    child = subprocess.run([sys.executable, "-c", program, "--json"], capture_output=True, text=True, check=False)
    report = json.loads(child.stdout)
    assert child.returncode == 0, child.stderr
    assert report["main_job_runs"]
    topics = {finding["topic"] for finding in report["findings"]}
    assert {"system", "display server", "Vulkan device", "OpenGL", "GPU readings (NVML)", "encoder libx264"} <= topics
    assert all(bool(finding["cure"]) != (finding["status"] == "ok") for finding in report["findings"])
