"""`veotuner doctor`: what this machine can do, what is missing, and the cure."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import app
from app.cli.exit_codes import FAILED, OK
from app.telemetry.driver_findings import DRIVER_KINDS, driver_findings
from app.telemetry.finding import Finding, Status
from app.telemetry.machine import Surroundings
from app.telemetry.machine_findings import machine_findings

DOCTOR_SCHEMA: Final = "veotuner-doctor/1"

_MARKS: Final = {Status.OK: "✓", Status.LIMITED: "–", Status.FAILED: "✗"}
_PLAIN_MARKS: Final = {Status.OK: "+", Status.LIMITED: "-", Status.FAILED: "x"}
_STYLES: Final = {Status.OK: "green", Status.LIMITED: "yellow", Status.FAILED: "bold red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Show what this machine can do and what is missing, each with its cure.

    Exit code 0: the main job runs, if need be on the virtual display. 1: it cannot; the failed findings say why.
    """
    # The wait is shown on standard error, so that a table or JSON that goes into a file stays clean.
    with Console(stderr=True).status("Trying drivers and codecs…"):
        findings = collect_findings()
    if as_json:
        sys.stdout.write(json.dumps(doctor_report(findings), indent=2, ensure_ascii=False) + "\n")
    else:
        print_findings(findings, Console())
    raise typer.Exit(OK if main_job_runs(findings) else FAILED)


def collect_findings() -> list[Finding]:
    """Return every finding of this machine; the probes of the drivers run side by side, each in its own process."""
    with ThreadPoolExecutor(max_workers=len(DRIVER_KINDS)) as pool:
        drivers = pool.map(driver_findings, DRIVER_KINDS)
        machine = machine_findings(Surroundings())
        return [*machine, *(finding for findings in drivers for finding in findings)]


def main_job_runs(findings: Sequence[Finding]) -> bool:
    """Tell whether a video can be played, measured and written down on this machine, if need be without a display."""
    return all(finding.status is not Status.FAILED for finding in findings)


def doctor_report(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the JSON of `--json`.

    Returns:
        `schema`: `veotuner-doctor/1`. `version`: of VeoTuner. `main_job_runs`: as the exit code. `findings`: in the
        order of the table, each with `topic`, `status` (`ok`, `limited`, `failed`), `text`, and `cure` ("" when ok).
        Keys may be added under the same schema name; none changes its meaning.
    """
    return {
        "schema": DOCTOR_SCHEMA,
        "version": app.__version__,
        "main_job_runs": main_job_runs(findings),
        "findings": [{"topic": f.topic, "status": f.status.value, "text": f.text, "cure": f.cure} for f in findings],
    }


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print the table and, below it, the verdict in one sentence."""
    marks = _MARKS if _can_print(console, "✓–✗") else _PLAIN_MARKS
    table = Table(title="VeoTuner doctor", title_justify="left", show_lines=False, pad_edge=False)
    table.add_column("State", no_wrap=True)
    table.add_column("What", no_wrap=True)
    table.add_column("Found, and what to do", overflow="fold")
    for finding in findings:
        state = Text(f"{marks[finding.status]} {finding.status.value}", style=_STYLES[finding.status])
        table.add_row(state, finding.topic, _body(finding))
    console.print(table)
    console.print(_verdict(findings))


def _body(finding: Finding) -> Text:
    # Text, not markup: a driver's answer may hold square brackets.
    body = Text(finding.text)
    if finding.cure:
        body.append(f"\nCure: {finding.cure}", style="italic")
    return body


def _verdict(findings: Sequence[Finding]) -> Text:
    limited = sum(finding.status is Status.LIMITED for finding in findings)
    failed = [finding.topic for finding in findings if finding.status is Status.FAILED]
    if failed:
        return Text(f"The main job cannot run: cure {', '.join(failed)} first.", style="bold red")
    return Text(f"The main job runs. {len(findings) - limited} things are as they should be, {limited} are limited.")


def _can_print(console: Console, text: str) -> bool:
    try:
        text.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
