"""What a stranger relies on when they clone: pins that fit, reasons given, and no trace of where it was written."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNTIME = [Requirement(text) for text in PROJECT["dependencies"]]
REQUIREMENTS = RUNTIME + [Requirement(text) for text in PROJECT["optional-dependencies"]["dev"]]

# Written in pieces, so that this file does not find itself.
ADDRESSES = ["pypi" + ".org", "python" + "hosted", "deb.debian" + ".org", "archive.ubuntu" + ".com", "npm" + "js.org"]
PLACES = [".." + "/shared", "/work" + "/shared", "/work" + "/main", "/tmp" + "/brief"]


def pins() -> dict[str, Version]:
    lines = (ROOT / "packaging" / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def tracked_files() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_a_dependency_is_pinned_within_its_range(requirement: Requirement) -> None:
    assert pins()[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize("requirement", RUNTIME, ids=lambda requirement: requirement.name)
def test_a_dependency_is_used(requirement: Requirement) -> None:
    files = distribution(requirement.name).files or []
    modules = {file.parts[0].partition(".")[0] for file in files if file.suffix in {".py", ".so"}}
    imports = re.compile(
        rf"^\s*(?:from|import)\s+(?:{'|'.join(modules)})\b|import_module\(\"(?:{'|'.join(modules)})\b", re.MULTILINE
    )
    sources = [file for folder in ("app", "widgets") for file in (ROOT / folder).rglob("*.py")]
    assert any(imports.search(file.read_text()) for file in sources), f"nothing imports {sorted(modules)}"


def test_the_pins_are_names_and_versions_only() -> None:
    for line in (ROOT / "packaging" / "constraints.txt").read_text().splitlines():
        assert line.startswith("#") or "://" not in line
        assert line.startswith("#") or "@" not in line


@pytest.mark.parametrize("requirement", RUNTIME, ids=lambda requirement: requirement.name)
def test_the_readme_says_why_a_dependency_is_there(requirement: Requirement) -> None:
    readme = (ROOT / "README.md").read_text()
    rows = [line for line in readme.splitlines() if line.startswith("|") and requirement.name.lower() in line.lower()]
    assert any(len(row.split("|")[2].split()) >= 5 for row in rows), f"no row with a reason for {requirement.name}"


@pytest.mark.parametrize("text", ADDRESSES + PLACES)
def test_no_file_names_a_package_registry_or_the_place_where_it_was_written(text: str) -> None:
    assert [file for file in tracked_files() if text.encode() in file.read_bytes()] == []


def test_the_packaging_folder_does_not_shadow_the_library_of_its_name() -> None:
    assert not list((ROOT / "packaging").rglob("__init__.py"))


def test_every_make_target_is_listed_by_help() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = next(line for line in makefile.splitlines() if line.startswith(".PHONY:")).split()[1:]
    listed = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split("\t")[0] for line in listed.splitlines()} == set(phony)
