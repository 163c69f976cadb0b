"""`manifest.json`: what a recording is, when and where it was made, and whether it is whole."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import app
from app.config.atomic_file import write_atomically
from app.core.errors import RecordingError
from app.core.records import FRAME_RECORD_VERSION
from app.session.run_directory import MANIFEST

SCHEMA: Final = "veotuner-recording/1"
FORMULA_VERSION: Final = 2
"""Rises when a definition in the metric table changes, so that two reports are not compared across it unawares."""


class RecordingState(StrEnum):
    """How far a recording got."""

    RECORDING = "recording"
    """Being written; or the writer was killed, and the next open recovers it."""
    FINISHED = "finished"
    RECOVERED = "recovered"
    """The writer was killed; everything up to its last flush was kept."""


class Manifest(BaseModel):
    """What `manifest.json` holds. Written at the start, and again, with what the run came to, at its end.

    `*_ns` are CLOCK_MONOTONIC; `started_at` is wall-clock time, ISO 8601 with zone. While the recording runs the
    fields from `ended_ns` on have their defaults: the journal beside it knows better.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_: Literal["veotuner-recording/1"] = Field(default=SCHEMA, alias="schema")
    state: RecordingState = RecordingState.RECORDING
    tool_version: str = app.__version__
    frame_record_version: int = FRAME_RECORD_VERSION
    formula_version: int = FORMULA_VERSION
    source_text: str
    more_source_texts: list[str] = []
    sink_text: str
    encode_to: str = ""
    gpu: str
    warmup_s: float
    started_at: str
    started_ns: int
    machine: dict[str, Any]
    ended_ns: int | None = None
    failure: str = ""
    recording_failure: str = ""
    source: dict[str, Any] | None = None
    sinks: list[dict[str, Any]] = []
    segments: list[dict[str, Any]] = []
    counters: dict[str, Any] = {}
    lapped_records: int = 0
    frame_rows: int | None = None
    telemetry_rows: int | None = None
    encode_rows: int | None = None
    notices: tuple[str, ...] = ()

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Return the manifest of a recording.

        Raises:
            RecordingError: the folder holds no recording, or one that this version cannot read.
        """
        try:
            text = (directory / MANIFEST).read_bytes()
        except OSError as error:
            raise RecordingError(_no_recording(directory, error)) from error
        try:
            manifest = cls.model_validate_json(text)
        except ValidationError as error:
            raise RecordingError(f"{directory / MANIFEST} cannot be read: {_first_fault(error)}") from error
        if manifest.frame_record_version != FRAME_RECORD_VERSION:
            raise RecordingError(
                f"{directory} was recorded with frame record version {manifest.frame_record_version}, this program "
                f"reads {FRAME_RECORD_VERSION}; open it with veotuner {manifest.tool_version}"
            )
        return manifest

    def write(self, directory: Path) -> None:
        """Replace the manifest of a recording, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        write_atomically(directory / MANIFEST, self.model_dump_json(indent=2, by_alias=True).encode() + b"\n")


def _no_recording(directory: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{directory} holds no recording ({MANIFEST} is not there); give the folder that a run has written"
    return f"{directory / MANIFEST} cannot be read: {error.strerror or error}"


def _first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where or 'the file'}: {fault['msg']}; it is no manifest of this program, or a newer version's"
