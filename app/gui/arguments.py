"""Command line of the window."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GuiArguments:
    """What the window was started with; None where nothing was given."""

    sources: tuple[str, ...] = ()
    encode_to: Path | None = None
    config: Path | None = None
    run_for_s: float | None = None
    screenshot: Path | None = None
    export_report: Path | None = None
    json: Path | None = None
    gpu: str = "auto"
    device: str = ""
    validation: bool = False
    record: bool = True
    theme: str = ""

    @property
    def is_unattended(self) -> bool:
        """Tell whether the window closes by itself and nobody is there to answer a question."""
        return self.run_for_s is not None


def parse_arguments(arguments: Sequence[str]) -> GuiArguments:
    """Return the arguments; ends the process with a message and code 2 when they cannot be understood."""
    parser = argparse.ArgumentParser("veotuner gui", description="Tune a live GPU preview in a window.")
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        dest="sources",
        help="what to play: a file, with ?free and ?loop, an address, or synthetic:WxH@FPS; up to 9 times",
    )
    parser.add_argument("--encode-to", type=Path, metavar="FILE", help="encode the first source to .mp4, .mkv or .ts")
    parser.add_argument("--config", type=Path, metavar="FILE", help="VeoConfig.json to start with")
    parser.add_argument("--run-for", type=_seconds, metavar="SECONDS", dest="run_for_s", help="close by itself")
    parser.add_argument("--screenshot", type=Path, metavar="PNG", help="picture of the window, before it closes")
    parser.add_argument("--export-report", type=Path, metavar="HTML", help="report of the run, before it closes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="result of the run, as JSON, before it closes")
    parser.add_argument("--gpu", default="auto", help="GPU telemetry: auto, none, simulated or a UUID")
    parser.add_argument("--device", default="", help="part of the name of the Vulkan device to prefer")
    parser.add_argument("--validation", action="store_true", help="load the Vulkan validation layer")
    parser.add_argument("--no-record", action="store_false", dest="record", help="do not record the run to a folder")
    parser.add_argument("--theme", choices=("system", "light", "dark"), default="", help="colours for now")
    values = vars(parser.parse_args(arguments))
    result = GuiArguments(**{**values, "sources": tuple(values["sources"])})
    if not result.is_unattended and (result.screenshot or result.export_report or result.json):
        parser.error("--screenshot, --export-report and --json need --run-for SECONDS")
    return result


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no positive number of seconds")
    return value
