"""Boundaries that the import contracts of pyproject.toml cannot state: what is really loaded, and what is forgotten.

The contracts themselves are held by `lint-imports`, a step of `make test`.
"""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
import app.core

ROOT = Path(__file__).resolve().parents[2]
QT_MODULES = {"PySide6", "shiboken6", "pyqtgraph", "qasync"}
PACKAGES = {f"app.{module.name}" for module in pkgutil.iter_modules(app.__path__) if module.ispkg} | {"widgets"}

IMPORT_ALL = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def roots_loaded_with(package: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after importing everything in `package`."""
    command = [sys.executable, "-W", "error", "-c", IMPORT_ALL, package]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.mark.parametrize("package", sorted(PACKAGES - {"app.gui", "widgets"}))
def test_nothing_but_the_window_loads_qt(package: str) -> None:
    assert not roots_loaded_with(package) & QT_MODULES


def test_the_engine_loads_no_driver_library_of_telemetry() -> None:
    assert "pynvml" not in roots_loaded_with("app.engine")


def test_core_imports_numpy_and_the_standard_library_only() -> None:
    allowed = sys.stdlib_module_names | {"numpy"}
    foreign = {
        (file.name, name)
        for file in Path(app.core.__path__[0]).rglob("*.py")
        for name in imported_names(file)
        if name.partition(".")[0] not in allowed and not name.startswith("app.core")
    }
    assert not foreign


@pytest.mark.parametrize(
    ("contract", "exempt"),
    [
        ("Qt only in the window", {"app.gui", "widgets"}),
        ("the engine is reached by process, Vulkan by the engine alone", {"app.engine"}),
        ("NVML only in telemetry", {"app.telemetry", "app.hardware"}),
    ],
)
def test_a_contract_forgets_no_package(contract: str, exempt: set[str]) -> None:
    assert set(contracts()[contract]["source_modules"]) == PACKAGES - exempt


def test_widgets_may_import_core_and_config_alone() -> None:
    forbidden = set(contracts()["widgets know facts and options, never a run"]["forbidden_modules"])
    assert forbidden == PACKAGES - {"widgets", "app.core", "app.config"}


def contracts() -> dict[str, dict[str, list[str]]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {contract["name"]: contract for contract in settings["contracts"]}


def imported_names(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            yield node.module or ""
