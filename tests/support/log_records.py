"""A warning in the log that no test expects is a fault that nobody has looked at yet, so it fails the test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

# Loggers whose warnings say something about the machine and nothing about VeoTuner.
_ABOUT_THE_MACHINE = {
    "matplotlib.font_manager",  # "building the font cache; this may take a moment", after five seconds of it
}


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name not in _ABOUT_THE_MACHINE:
            self.lines.append(
                f"{record.levelname} {record.name} ({record.pathname}:{record.lineno}): {record.getMessage()}"
            )


@pytest.fixture(autouse=True)
def no_unexpected_log_record(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail on a record of WARNING or above; a test that takes `caplog` answers for its records itself."""
    collector = _Collector()
    root = logging.getLogger()
    root.addHandler(collector)
    yield
    root.removeHandler(collector)
    if collector.lines and "caplog" not in request.fixturenames:
        pytest.fail("unexpected log records:\n" + "\n".join(collector.lines), pytrace=False)
