"""The fake NVML library as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pynvml  # type: ignore[import-untyped]  # the package ships no types
import pytest

from app.telemetry.machine import Roots
from tests.telemetry.fake_nvml import FakeGpu, FakeNvml, InstallNvml


@pytest.fixture
def install_nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[InstallNvml]:
    """Return a function that puts a driver with these GPUs in place; without any, one `FakeGpu`."""

    def install(*gpus: FakeGpu) -> FakeNvml:
        fake = FakeNvml(*(gpus or (FakeGpu(),)))
        pynvml._nvmlGetFunctionPointer_cache.clear()
        monkeypatch.setattr(pynvml, "nvmlLib", fake)
        return fake

    pynvml._nvmlGetFunctionPointer_cache.clear()
    yield install
    pynvml._nvmlGetFunctionPointer_cache.clear()


@pytest.fixture
def no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the NVIDIA driver, also where the tests run on one that has it."""

    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    pynvml._nvmlGetFunctionPointer_cache.clear()
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", refuse)


@pytest.fixture
def empty_roots(tmp_path: Path) -> Roots:
    """Kernel file systems with nothing in them."""
    return Roots(**{name: tmp_path / name for name in ("sys", "proc", "dev", "run", "etc", "top")})
