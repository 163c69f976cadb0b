"""`veotuner presets`: lists the presets, or prints one."""

from __future__ import annotations

import json
from typing import Annotated, Final

import typer

from app.config.presets import Preset, find_preset, list_presets
from app.config.store import render_config

PRESETS_SCHEMA: Final = "veotuner-presets/1"


def presets(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print the file of this preset.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the list as one JSON object.")] = False,
) -> None:
    """List the presets that come with VeoTuner: name, purpose and where; or print one, ready to save.

    Raises:
        InvalidInputError: no preset has this name; the text says which is nearest.
    """
    chosen = list_presets() if name is None else (find_preset(name),)
    if json_output:
        listed = [_as_object(preset) for preset in chosen]
        typer.echo(json.dumps({"schema": PRESETS_SCHEMA, "presets": listed}, indent=2))
    elif name is None:
        typer.echo("\n".join(_lines(chosen)))
    else:
        typer.echo(render_config(chosen[0].config).decode(), nl=False)


def _lines(listed: tuple[Preset, ...]) -> list[str]:
    width = max((len(preset.name) for preset in listed), default=0)
    return [f"{preset.name:<{width}}  {preset.description}\n{'':<{width}}  {preset.path}" for preset in listed]


def _as_object(preset: Preset) -> dict[str, str]:
    return {"name": preset.name, "description": preset.description, "path": str(preset.path)}
