"""The set-up says what it needs and stops, where it may not install; it never half-does anything."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "packaging" / "setup.sh"
PACKAGE_LIST = ROOT / "packaging" / "system-packages.txt"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Programs of a machine on which nothing is installed and the user may not change that; calls are written down."""
    programs = {
        "id": "echo 1000",
        "sudo": "exit 1",
        "dpkg-query": "exit 0",
        "apt-get": f"echo apt-get >>{tmp_path}/calls",
        "apt-cache": "exit 0",
    }
    for name, body in programs.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    return tmp_path


def set_up(machine: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{machine}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [str(SCRIPT), *arguments],
        env=os.environ | {"PATH": path} | environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("flags", [[], ["--test"], ["--bench"]], ids=["run", "test", "bench"])
def test_without_rights_it_prints_one_command_for_the_administrator_and_stops(machine: Path, flags: list[str]) -> None:
    result = set_up(machine, *flags)
    commands = [line for line in result.stderr.splitlines() if "sudo sh" in line]
    assert result.returncode == 1
    assert len(commands) == 1
    assert commands[0].split("sudo sh ")[1].split() == [str(SCRIPT), "--system-only", *flags]
    assert ("xvfb" in result.stderr) == bool(flags)
    assert not (machine / "calls").exists(), "it tried to install all the same"


def test_an_old_python_is_named_with_the_cure(machine: Path) -> None:
    (machine / "old-python").write_text("#!/bin/sh\nexit 1\n")
    (machine / "old-python").chmod(0o755)
    result = set_up(machine, PYTHON=str(machine / "old-python"))
    assert result.returncode == 1
    assert "not a Python of 3.11 or newer" in result.stderr


def test_an_unknown_argument_is_refused(machine: Path) -> None:
    assert set_up(machine, "--tests").returncode == 2


def test_each_line_of_the_package_list_has_a_group_names_and_a_reason() -> None:
    lines = [line for line in PACKAGE_LIST.read_text().splitlines() if line and not line.startswith("#")]
    for line in lines:
        assert re.fullmatch(r"(run|test|bench) +[a-z0-9.+-]+(\|[a-z0-9.+-]+)* +\S.*", line), line
    names = [name for line in lines for name in line.split()[1].split("|")]
    assert len(set(names)) == len(names)
