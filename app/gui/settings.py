"""What the window remembers between two starts: an INI file in the user's configuration folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import platformdirs
from PySide6.QtCore import QSettings

RECENT_COUNT: Final = 8


class GuiSettings:
    """Typed access to the file. Anything unreadable in it counts as absent; the window starts with its defaults.

    Args:
        path: the INI file; made on the first write.
    """

    def __init__(self, path: Path) -> None:
        self.store = QSettings(str(path), QSettings.Format.IniFormat)

    def recent(self, kind: str) -> list[str]:
        """Return the newest entries of a kind (`source`, `preset`), newest first."""
        return self.texts(f"recent/{kind}", [])

    def remember(self, kind: str, text: str) -> None:
        """Put an entry at the top of a kind."""
        others = [other for other in self.recent(kind) if other != text]
        self.store.setValue(f"recent/{kind}", [text, *others][:RECENT_COUNT])

    def forget(self, kind: str, text: str) -> None:
        """Remove an entry that led nowhere."""
        self.store.setValue(f"recent/{kind}", [other for other in self.recent(kind) if other != text])

    def texts(self, key: str, default: list[str]) -> list[str]:
        """Return a list of texts."""
        value = self.store.value(key, default)
        texts = [value] if isinstance(value, str) else value
        return [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []

    def set_texts(self, key: str, texts: list[str]) -> None:
        """Write a list of texts."""
        self.store.setValue(key, texts)

    def text(self, key: str, default: str) -> str:
        """Return a text."""
        value = self.store.value(key, default)
        return value if isinstance(value, str) else default

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a yes or no."""
        return self.text(key, "true" if default else "false").lower() == "true"

    def set(self, key: str, value: str | bool) -> None:
        """Write a text or a yes or no."""
        self.store.setValue(key, ("true" if value else "false") if isinstance(value, bool) else value)


def settings_path() -> Path:
    """Return where the window's memory lies: `veotuner/window.ini` in the user's configuration folder."""
    return platformdirs.user_config_path("veotuner", appauthor=False) / "window.ini"
