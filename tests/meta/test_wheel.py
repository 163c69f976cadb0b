"""What is installed is complete: the wheel builds without a network, carries its data, and finds it again."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return next(folder.glob("veotuner-*.whl"))


@pytest.mark.parametrize("folder", ["presets", "assets"])
def test_the_wheel_carries_every_data_file(wheel: Path, folder: str) -> None:
    carried = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"app/data/{file.relative_to(ROOT)}" for file in (ROOT / folder).rglob("*") if file.is_file()}
    assert expected, f"{folder}/ is empty"
    assert expected <= carried


def test_the_wheel_carries_code_of_its_own_packages_only(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"app", "widgets"}


def test_an_installed_copy_finds_its_presets(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = (
        "import app.config.presets as p; print(p.__file__, *(preset.path for preset in p.list_presets()), sep='\\n')"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    module, *presets = result.stdout.split()
    assert Path(module).is_relative_to(tmp_path), "the source tree was imported instead"
    assert len(presets) >= 6
    assert all(Path(preset).is_relative_to(tmp_path) for preset in presets)
