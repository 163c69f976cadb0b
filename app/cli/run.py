"""`veotuner run`: one run without a window, with its results."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from app.cli.run_job import RunJob, perform_run
from app.cli.run_output import RunOutputs
from app.config.editing import apply_settings
from app.config.presets import find_preset
from app.config.source_text import redacted
from app.config.store import load_config
from app.config.veoconfig import VeoConfig
from app.ipc.stream_messages import LOOPBACK
from app.session.run_directory import default_run_directory
from app.session.session_state import RunRequest, StreamRequest

SOURCES: Final = typer.Argument(
    metavar="SOURCE",
    help="A file or address, with ?free and ?loop; v4l2:/dev/videoN; preview+ws://…; or synthetic:WxH@FPS[,…]. "
    "Up to nine are shown side by side.",
)
STREAM_TOKEN: Final = typer.Option(
    envvar="VEOTUNER_STREAM_TOKEN",
    help="Its bearer token; one is made when none is given. A command line can be read by others: rather set "
    "VEOTUNER_STREAM_TOKEN.",
)


def run(  # noqa: PLR0913, PLR0917 - one parameter an option, as typer reads them
    sources: Annotated[list[str], SOURCES],
    sink: Annotated[
        str, typer.Option(help="virtual:HZ[,…], headless[:WxH], x11[:WINDOW][,WxH] or wayland[:WxH].")
    ] = "virtual:60",
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
    encode_to: Annotated[
        str, typer.Option(metavar="FILE", help="Write the encoded video to a new .mp4, .ts or .mkv; turns encoder on.")
    ] = "",
    stream_host: Annotated[
        str, typer.Option(help="Address the preview stream listens on (enable_preview); loopback unless given.")
    ] = LOOPBACK,
    stream_port: Annotated[int, typer.Option(help="Its TCP port; 0 takes a free one.", min=0, max=65535)] = 0,
    stream_token: Annotated[str, STREAM_TOKEN] = "",
) -> None:
    """Run sources into a sink, and print what was measured."""
    settings = [*(["encoder.enabled=true"] if encode_to else []), *(setting or [])]
    chosen = chosen_config(config, preset, settings)
    if encode_to and not chosen.encoder.enabled:
        raise typer.BadParameter("--encode-to has nothing to write with encoder.enabled=false; leave one of them out")
    request = RunRequest(
        source=sources[0],
        more_sources=tuple(sources[1:]),
        sink=sink,
        config=chosen,
        recording_dir=out or default_run_directory(redacted(sources[0]), datetime.now().astimezone()),
        gpu=gpu,
        validation=validation,
        device=device,
        warmup_s=warmup,
        encode_to=encode_to,
        stream=StreamRequest(stream_host, stream_port, stream_token),
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
