"""Kernel file systems of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.telemetry.machine import Roots


@pytest.fixture
def empty_roots(tmp_path: Path) -> Roots:
    """Kernel file systems with nothing in them."""
    return Roots(**{name: tmp_path / name for name in ("sys", "proc", "dev", "run", "etc", "top")})
