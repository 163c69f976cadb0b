"""The `veotuner` command: what exists under it, and what a person sees when something goes wrong."""

from __future__ import annotations

import inspect
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import platformdirs
import typer
from rich.console import Console

import app as veotuner
from app.cli import check, demo, doctor, gui, presets, report, run, schema
from app.cli.exit_codes import CRASHED, FAILED, INTERRUPTED
from app.config.source_text import HIDDEN, redacted
from app.core.errors import VeoTunerError

_HIDDEN_OPTION: Final = "--stream-token"
"""Its value is shown to nobody."""

cli: Final = typer.Typer(
    name="veotuner",
    help="A workbench on which an engineer tunes a live GPU preview.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback goes to the crash log, never to a person
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"veotuner {veotuner.__version__}")
        raise typer.Exit


@cli.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _help(command: Callable[..., None]) -> str:
    """Return what a docstring says to the person at the terminal; its list of errors is for programmers."""
    return (inspect.getdoc(command) or "").partition("\n\nRaises:")[0]


cli.command("gui", help=_help(gui.gui), context_settings=gui.PASS_EVERYTHING_ON)(gui.gui)
for _command in (run.run, demo.demo, report.report, check.check, presets.presets, schema.schema, doctor.doctor):
    cli.command(_command.__name__, help=_help(_command))(_command)


def main() -> None:
    """Run the command line and exit: one sentence and a code for whatever goes wrong, never a traceback."""
    try:
        cli(prog_name="veotuner")
    except VeoTunerError as error:
        _say(str(error))
        sys.exit(FAILED)
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - process boundary: the trace goes to a file, the person gets a sentence
        _say(_crash_sentence(error))
        sys.exit(CRASHED)


def _say(text: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(text, style="red", markup=False)


def _crash_sentence(error: Exception) -> str:
    what = f"veotuner met a fault of its own ({type(error).__name__}: {error})"
    try:
        return f"{what}; the details, for a bug report, are in {_write_crash_log(error)}"
    except OSError as unwritable:
        return f"{what}; its details could not be written ({unwritable.strerror or unwritable})"


def _write_crash_log(error: Exception) -> Path:
    folder = platformdirs.user_cache_path("veotuner", appauthor=False) / "crashes"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now().astimezone():%Y-%m-%dT%H-%M-%S-%f}.txt"
    head = f"veotuner {veotuner.__version__}, Python {sys.version}\ncommand: {_without_secrets(sys.argv[1:])}\n\n"
    trace = "".join(traceback.format_exception(error)).splitlines()
    path.write_text(head + "".join(f"{redacted(line)}\n" for line in trace), encoding="utf-8")
    return path


def _without_secrets(arguments: Sequence[str]) -> str:
    """Return a command line that may be sent with a bug report: without the passwords and tokens in it."""
    told, option_before = [], ""
    for argument in arguments:
        option, is_joined, _ = argument.partition("=")
        if option_before == _HIDDEN_OPTION:
            told.append(HIDDEN)
        elif option == _HIDDEN_OPTION and is_joined:
            told.append(f"{option}={HIDDEN}")
        else:
            told.append(redacted(argument))
        option_before = argument
    return shlex.join(told)
