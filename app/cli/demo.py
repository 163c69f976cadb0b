"""`veotuner demo`: the main job on a sample video, in the window where there is a display, else without one."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import platformdirs
import typer
from rich.console import Console
from rich.progress import Progress

from app.cli.display_probe import has_display
from app.cli.gui import become_gui
from app.cli.run_job import RunJob, perform_run
from app.cli.run_output import RunOutputs
from app.config.presets import find_preset
from app.session.run_directory import CONFIG, default_run_directory
from app.session.sample_video import ensure_sample
from app.session.session_state import RunRequest

DEMO_PRESET: Final = "balanced-60"
DEMO_SINK: Final = "virtual:60"
DEMO_SECONDS: Final = 10.0


def demo() -> None:
    """Play a ten-second sample: opens the window, or without a display runs on a virtual one and prints the result."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("making the sample video", total=1.0)
        sample = ensure_sample(
            platformdirs.user_cache_path("veotuner", appauthor=False),
            lambda done_ratio: progress.update(task, completed=done_ratio),
        )
    source = f"{sample}?loop"
    if has_display():
        become_gui("--source", source)
    console.print("No display was found: the same job runs on a virtual 60 Hz display for ten seconds.")
    raise typer.Exit(_run_headless(source))


def _run_headless(source: str) -> int:
    directory = default_run_directory(source, datetime.now().astimezone())
    directory.parent.mkdir(parents=True, exist_ok=True)
    report = directory.with_name(f"{directory.name}.html")
    request = RunRequest(source, DEMO_SINK, find_preset(DEMO_PRESET).config, directory)
    code = perform_run(RunJob(request, DEMO_SECONDS, RunOutputs(report=report)))
    typer.echo(f"preset: {directory / CONFIG}")
    return code
