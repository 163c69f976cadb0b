"""Which value an option had under each configuration of a run, so that a frame's record can be read later."""

from __future__ import annotations

from typing import Any

from app.config.editing import option_value
from app.config.veoconfig import VeoConfig
from app.ipc.messages import ConfigApplied


class ConfigLog:
    """The changes of a run by option, each with the serial that records carry."""

    def __init__(self) -> None:
        self._changes: dict[str, list[tuple[int, Any, Any]]] = {}

    def clear(self) -> None:
        """Forget the last run."""
        self._changes.clear()

    def add(self, applied: ConfigApplied) -> None:
        """Note what changed; serials rise."""
        for key, (old, new) in applied.changes.items():
            self._changes.setdefault(key, []).append((applied.config_serial, old, new))

    def value(self, key: str, config_serial: int, current: VeoConfig) -> Any:
        """Return the value under a serial.

        Args:
            current: the configuration in force now; it tells the value of what never changed.
        """
        changes = self._changes.get(key, [])
        if not changes:
            return option_value(current, key)
        held = [new for serial, _, new in changes if serial <= config_serial]
        return held[-1] if held else changes[0][1]
