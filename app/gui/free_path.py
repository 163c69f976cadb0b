"""Names of files that are not there yet: nothing that somebody made is written over."""

from __future__ import annotations

from pathlib import Path


def free_path(wanted: Path) -> Path:
    """Return `wanted`, or `wanted-2`, `wanted-3`, … where that exists already."""
    candidate, number = wanted, 1
    while candidate.exists():
        number += 1
        candidate = wanted.with_stem(f"{wanted.stem}-{number}")
    return candidate
