"""The command line that makes a run again."""

from __future__ import annotations

import json
import shlex
from typing import Any

from app.analysis.run_data import RunData
from app.config.editing import changed_options
from app.config.veoconfig import VeoConfig


def differences_from_default(config: VeoConfig) -> dict[str, tuple[Any, Any]]:
    """Return key → (default, value) of every option that differs from its default, in option order."""
    return changed_options(VeoConfig(), config)


def run_command(data: RunData) -> str:
    """Return the `veotuner run` command of a run, quoted for a POSIX shell; "" when its source or sink is unknown."""
    if not (data.source_text and data.sink_text):
        return ""
    seconds = max(1, round(data.duration_s))
    words = [
        "veotuner",
        "run",
        data.source_text,
        *data.more_source_texts,
        "--sink",
        data.sink_text,
        "--seconds",
        str(seconds),
    ]
    if data.encode_to:
        words += ["--encode-to", data.encode_to]
    words += ["--warmup", f"{data.warmup_s:g}"]
    for key, (_, value) in differences_from_default(data.config).items():
        words += ["--set", f"{key}={setting_text(value)}"]
    return shlex.join(words)


def setting_text(value: Any) -> str:
    """Return a value as `--set key=value` takes it: text as it is, a whole number without a point, the rest as JSON."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
