"""JSON Schema of VeoConfig.json, made from the model, for editors that check while one types."""

from __future__ import annotations

import json
from typing import Any, Final

from app.config.veoconfig import SCHEMA_KEY, SCHEMA_NAME, SCHEMA_VERSION, VeoConfig

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def veoconfig_json_schema() -> dict[str, Any]:
    """Return the schema of the present version.

    It accepts what `load_config` accepts, save rules between values (a rising table, `bitrate_kbps` beside `cq`)
    and the former encoder names, which JSON Schema cannot tell or need not know.
    """
    schema = VeoConfig.model_json_schema()
    properties = {
        SCHEMA_KEY: {
            "const": f"{SCHEMA_NAME}/{SCHEMA_VERSION}",
            "default": f"{SCHEMA_NAME}/{SCHEMA_VERSION}",
            "description": "Version of this format; a missing one means 1.",
        },
        **schema.pop("properties"),
    }
    return {
        "$schema": DIALECT,
        **schema,
        "description": "One configuration of a live GPU preview, as VeoTuner saves it.",
        "properties": properties,
    }


def render_json_schema() -> str:
    """Return the schema as the text of `assets/veoconfig.schema.json`."""
    return json.dumps(veoconfig_json_schema(), indent=2, ensure_ascii=False) + "\n"
