"""`veotuner report`: the HTML report of a recorded run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from app.core.errors import RecordingError
from app.export.report import write_report
from app.session.recording import open_recording


def report(
    run_directory: Annotated[Path, typer.Argument(metavar="RUNDIR", help="Folder that a run was recorded into.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="HTML file to write; RUNDIR/report.html without it.")
    ] = None,
) -> None:
    """Write the report of a recorded run: one HTML file with figures that needs nothing else.

    A recording that was cut off is recovered up to its last flush, and the report says so.
    """
    path = output if output is not None else run_directory / "report.html"
    if path.is_dir():
        raise RecordingError(f"{path} is a folder; name the HTML file to write, for example {path / 'report.html'}")
    data = open_recording(run_directory)
    for notice in data.notices:
        sys.stderr.write(f"{notice}\n")
    try:
        write_report(data, path)
    except OSError as error:
        raise RecordingError(
            f"{path} cannot be written ({error.strerror or error}); choose another place with -o"
        ) from error
    sys.stdout.write(f"report: {path}\n")
