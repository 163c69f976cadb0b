"""`veotuner run`: one run without a window, with its results."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from app.cli.run_job import RunJob, perform_run
from app.cli.run_output import RunOutputs
from app.config.editing import apply_settings
from app.config.presets import find_preset
from app.config.store import load_config
from app.config.veoconfig import VeoConfig
from app.session.run_directory import default_run_directory
from app.session.session_state import RunRequest


def run(  # noqa: PLR0913, PLR0917 - one parameter an option, as typer reads them
    source: Annotated[str, typer.Argument(help="A file, with ?free and ?loop; or synthetic:WxH@FPS[,…].")],
    sink: Annotated[str, typer.Option(help="virtual:HZ[,…], headless[:WxH] or x11[:WINDOW][,WxH].")] = "virtual:60",
    seconds: Annotated[
        float | None, typer.Option(help="End after so many seconds; without it, with the source.", min=0.1)
    ] = None,
    config: Annotated[Path | None, typer.Option(help="VeoConfig.json to run with.")] = None,
    preset: Annotated[str | None, typer.Option(help="Preset to run with; `veotuner presets` lists them.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One option on top; may be repeated.")
    ] = None,
    warmup: Annotated[float, typer.Option(help="Seconds at the start that statistics leave out.", min=0)] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Folder for the recording; default: in the user's data.")] = None,
    json: Annotated[str | None, typer.Option(help="Write the result as JSON to a file, or - for the output.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None,
    gpu: Annotated[str, typer.Option(help="GPU telemetry: auto, none, simulated or a UUID.")] = "auto",
    validation: Annotated[bool, typer.Option("--validation", help="Load the Vulkan validation layer.")] = False,
    device: Annotated[str, typer.Option(help="Part of the name of the Vulkan device to use.")] = "",
) -> None:
    """Run a source into a sink, and print what was measured."""
    request = RunRequest(
        source=source,
        sink=sink,
        config=chosen_config(config, preset, setting or []),
        recording_dir=out or default_run_directory(source, datetime.now().astimezone()),
        gpu=gpu,
        validation=validation,
        device=device,
        warmup_s=warmup,
    )
    raise typer.Exit(perform_run(RunJob(request, seconds, RunOutputs(json, report))))


def chosen_config(file: Path | None, preset: str | None, settings: list[str]) -> VeoConfig:
    """Return the configuration that the options name: a file or a preset, and settings on top.

    Raises:
        InvalidInputError: the file, the preset's name or a setting is wrong.
        BadParameter: both a file and a preset are named.
    """
    if file is not None and preset is not None:
        raise typer.BadParameter("--config and --preset exclude each other; give one, and --set on top of it")
    if file is not None:
        loaded = load_config(file)
        for notice in loaded.notices:
            typer.echo(f"{file}: {notice}", err=True)
        base = loaded.config
    else:
        base = VeoConfig() if preset is None else find_preset(preset).config
    return apply_settings(base, settings)
