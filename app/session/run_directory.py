"""Where recordings go and what their files are called; an existing recording is never written over."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path
from typing import Final

import platformdirs

from app.core.errors import RecordingError

MANIFEST: Final = "manifest.json"
CONFIG: Final = "VeoConfig.json"
EVENTS: Final = "events.jsonl"
ENGINE_LOG: Final = "engine.log"
FRAME_STREAM: Final = "frames.arrows"
FRAME_TABLE: Final = "frames.parquet"
TELEMETRY_STREAM: Final = "telemetry.arrows"
TELEMETRY_TABLE: Final = "telemetry.parquet"
ENCODE_TABLE: Final = "encode.parquet"

RECORDING_FILES: Final = (
    MANIFEST, CONFIG, EVENTS, ENGINE_LOG,
    FRAME_STREAM, FRAME_TABLE, TELEMETRY_STREAM, TELEMETRY_TABLE, ENCODE_TABLE,
)  # fmt: skip


def runs_directory() -> Path:
    """Return where runs go unless the user says otherwise: `veotuner/runs` in the user's data folder."""
    return platformdirs.user_data_path("veotuner", appauthor=False) / "runs"


def default_run_directory(source: str, started: datetime) -> Path:
    """Return a free directory for a run that starts now: `runs/2026-11-30T06-12-33_synthetic-1280x720-60_4711`.

    The process id at its end keeps two runs apart that start in the same second.
    """
    name = f"{started:%Y-%m-%dT%H-%M-%S}_{_slug(source)}_{os.getpid()}"
    return free_directory(runs_directory() / name)


def free_directory(wanted: Path) -> Path:
    """Return `wanted`, or `wanted-2`, `wanted-3`, … where that holds a recording already."""
    candidate, number = wanted, 1
    while _held_files(candidate):
        number += 1
        candidate = wanted.with_name(f"{wanted.name}-{number}")
    return candidate


def create_run_directory(directory: Path) -> bool:
    """Make a directory ready to record into, and tell whether it was not there before.

    Raises:
        RecordingError: it holds a recording already, or cannot be made.
    """
    held = _held_files(directory)
    if held:
        raise RecordingError(
            f"{directory} already holds a recording ({held[0]}) and is not written over; "
            "choose another folder, or move that one away"
        )
    existed = directory.is_dir()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(
            f"the folder for the recording, {directory}, cannot be made: {error.strerror or error}; "
            "choose a folder you may write to with --out"
        ) from error
    return not existed


def _held_files(directory: Path) -> list[str]:
    return [name for name in RECORDING_FILES if (directory / name).exists()]


def _slug(source: str) -> str:
    """Return the telling part of a source text as part of a file name: the kind and size, or a file's stem."""
    scheme, _, rest = source.partition(":")
    text = f"{scheme}-{rest.split(',')[0]}" if scheme == "synthetic" else Path(source.split("?", maxsplit=1)[0]).stem
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.")[:60] or "run"
