"""`veotuner schema`: writes the JSON Schema of VeoConfig.json."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.config.atomic_file import write_atomically
from app.config.file_errors import unwritable
from app.config.json_schema import render_json_schema


def schema(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write; without it, standard output.")
    ] = None,
) -> None:
    """Write the JSON Schema of VeoConfig.json, with every key, its range, unit and meaning.

    Raises:
        InvalidInputError: the file cannot be written; the text says why and what to do.
    """
    if output is None:
        typer.echo(render_json_schema(), nl=False)
        return
    try:
        write_atomically(output, render_json_schema().encode())
    except OSError as error:
        raise unwritable(output, error) from error
