"""A run without a window: started, followed to its end, and turned into a table, JSON and a report."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from app.cli.exit_codes import FAILED, INTERRUPTED, OK
from app.cli.interruption import Interruption
from app.cli.run_output import RunOutputs
from app.core.clock import NS_PER_S
from app.core.errors import EngineError
from app.ipc.messages import EncoderState, EngineEvent, FromEngine, GovernorDecision
from app.session.run_stream import check_stream_address
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, SessionChange, SessionState

POLL_S: Final = 0.1
STREAM_WAIT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class RunJob:
    """What to run, for how long after it is ready (None: until the source ends), and what to make of it."""

    request: RunRequest
    seconds: float | None
    outputs: RunOutputs


def perform_run(job: RunJob) -> int:
    """Run, write the results, and return the exit code.

    Ctrl+C or SIGTERM end the run in order; its results are written all the same.

    Raises:
        VeoTunerError: nothing could run, or a result cannot be written.
    """
    job.outputs.check()
    if job.request.config.enable_preview:
        check_stream_address(job.request.stream)
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    with Interruption() as interruption, Session(job.request, _EventPrinter(console)) as session:
        session.start()
        _show_stream(session, console)
        _follow(session, job.seconds, interruption, console)
        session.stop()
        state = session.state
        if state.ready_ns is None:
            return _never_ready(state, interruption)
        with console.status("working out the results"):
            result = job.outputs.write_files(session.run_data(), state.recording_dir)
    job.outputs.print(result, state.recording_dir)
    if state.phase is Phase.FAILED:
        console.print(state.failure, style="red", markup=False)
        return FAILED
    return INTERRUPTED if interruption.requested else OK


def _show_stream(session: Session, console: Console) -> None:
    """Say once how a client opens the preview stream, token and all: on the terminal, and nowhere that is kept."""
    if not session.request.config.enable_preview or session.stream is None:
        return
    server = session.stream.server
    session.wait_for(lambda state: bool(server.url) or not state.phase.is_live, STREAM_WAIT_S)
    if server.url:
        console.print(f"preview stream: {server.url} (Authorization: Bearer {server.token})", markup=False)
        console.print(f"watch it with: veotuner run '{server.source_text}'", markup=False)


def _never_ready(state: SessionState, interruption: Interruption) -> int:
    if interruption.requested:
        return INTERRUPTED
    raise EngineError(state.failure or "the run ended before its first frame")


class _EventPrinter:
    """Prints what the engine thinks a person should know, as it happens, above the progress bar."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._encoder_notice = ""

    def __call__(self, message: FromEngine | SessionChange) -> None:
        if isinstance(message, GovernorDecision):
            self._console.print(f"{message.governor}: {message.action}: {message.reason}", markup=False)
        elif isinstance(message, EncoderState):
            self._print_encoder(message.notice)
        elif isinstance(message, EngineEvent) and message.severity != "info":
            style = "red" if message.severity == "error" else "yellow"
            self._console.print(f"{message.severity}: {message.text}", style=style, markup=False)

    def _print_encoder(self, notice: str) -> None:
        if notice and notice != self._encoder_notice:
            self._console.print(f"encoder: {notice}", style="yellow", markup=False)
        self._encoder_notice = notice


def _follow(session: Session, seconds: float | None, interruption: Interruption, console: Console) -> None:
    """Wait until the time is up, the run has ended by itself, or the user wants an end."""
    with _progress(console, seconds) as progress:
        task = progress.add_task("starting", total=seconds, frames="")
        while not interruption.requested:
            state = session.wait_for(lambda state: not state.phase.is_live, POLL_S)
            elapsed_s = 0.0 if state.ready_ns is None else (time.monotonic_ns() - state.ready_ns) / NS_PER_S
            progress.update(task, completed=elapsed_s, description=str(state.phase), frames=_frames_text(session))
            if not state.phase.is_live or (seconds is not None and elapsed_s >= seconds):
                return


def _progress(console: Console, seconds: float | None) -> Progress:
    bar = SpinnerColumn() if seconds is None else BarColumn(bar_width=20)
    columns = (TextColumn("{task.description}"), bar, TimeElapsedColumn(), TextColumn("{task.fields[frames]}"))
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _frames_text(session: Session) -> str:
    counters = session.counters()
    if counters is None:
        return ""
    return f"{counters.displayed} displayed, {sum(counters.lost.values())} lost"
