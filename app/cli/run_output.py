"""What becomes of a run on the command line: a table, a JSON file or standard output, a report."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from app.analysis.run_data import RunData
from app.config.atomic_file import write_atomically
from app.core.errors import RecordingError
from app.export.report import write_report
from app.export.result_rows import result_rows
from app.export.run_result import build_run_result, result_json

STANDARD_OUTPUT: Final = "-"
PIPE_WIDTH: Final = 160
"""Columns of a table that no terminal is there to bound."""


@dataclass(frozen=True, slots=True)
class RunOutputs:
    """Where results go.

    Attributes:
        json: a file, `-` for standard output instead of the table, or None.
        report: the HTML report, or None.
    """

    json: str | None = None
    report: Path | None = None

    def check(self) -> None:
        """Find out before the run what would lose its results after it.

        Raises:
            RecordingError: an output cannot be written.
        """
        for option, path in (("--json", self._json_file), ("--report", self.report)):
            fault = "" if path is None else _fault(path)
            if fault:
                raise RecordingError(f"{option} {path} cannot be written: {fault}")

    def write_files(self, data: RunData, recording_dir: Path | None) -> dict[str, Any]:
        """Write the files that are asked for, and return the result object.

        Raises:
            RecordingError: one cannot be written; the text says where the recording is kept.
        """
        result = build_run_result(data)
        try:
            if self._json_file is not None:
                write_atomically(self._json_file, result_json(result).encode())
            if self.report is not None:
                write_report(data, self.report)
        except OSError as error:
            kept = f"; the recording is kept in {recording_dir}" if recording_dir else ""
            raise RecordingError(f"the results cannot be written: {error}{kept}") from error
        return result

    def print(self, result: Mapping[str, Any], recording_dir: Path | None) -> None:
        """Print the table and where everything is; with `--json -` the JSON and nothing else."""
        if self.json == STANDARD_OUTPUT:
            sys.stdout.write(result_json(result))
            return
        print_result(result)
        for name, path in {"recording": recording_dir, "result": self._json_file, "report": self.report}.items():
            if path is not None:
                sys.stdout.write(f"{name}: {path}\n")

    @property
    def _json_file(self) -> Path | None:
        return None if self.json in (None, STANDARD_OUTPUT) else Path(str(self.json))


def print_result(result: Mapping[str, Any]) -> None:
    """Print a result as a table on standard output, with everything a reader should know before believing it."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=PIPE_WIDTH)
    table = Table(
        "Metric", "Value (median where there are samples)", "N", "Source",
        title=_title(result), title_justify="left", box=SIMPLE_HEAD, pad_edge=False,
    )  # fmt: skip
    for row in result_rows(result):
        table.add_row(*row)
    console.print(table)
    for warning in result["warnings"]:
        console.print(f"warning: {warning}", style="yellow", markup=False, soft_wrap=True)
    for item in result["advice"]:
        console.print(f"advice: {item['key']}: {item['text']}", markup=False, soft_wrap=True)


def _title(result: Mapping[str, Any]) -> str:
    sink = result["sink"]
    granted = f"{sink['present_mode_granted']} × {sink['image_count']} images"
    more = len(result["sources"]) - 1
    source = result["source"]["text"] + (f" and {more} more (metrics of the first, counts of all)" if more else "")
    return f"{source} → {sink['kind']}, {granted}, {result['duration_s']:.1f} s"


def _fault(path: Path) -> str:
    if path.is_dir():
        return "it is a folder; name a file in it"
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"the folder {folder} is not there; make it, or name another"
    if not _is_writable(folder):
        return f"the folder {folder} may not be written; name another"
    return ""


def _is_writable(folder: Path) -> bool:
    probe = folder / f".veotuner-{id(folder):x}"
    try:
        probe.open("xb").close()
        probe.unlink()
    except OSError:
        return False
    return True
