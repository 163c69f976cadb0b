"""What every test stands on: a sandboxed home, a real X server, leak checks, and generators that repeat exactly.

The parts live in `tests/support`; this file only puts them together.
"""

from __future__ import annotations

import hypothesis
import pytest

pytest_plugins = [
    "tests.support.sandbox",
    "tests.support.leaks",  # before the modules that import it, or its asserts are not rewritten
    "tests.support.x_server",
    "tests.support.weston",
    "tests.support.scripted_compositor",
    "tests.support.log_records",
    "tests.support.media",
    "tests.telemetry.fake_nvml",
]

# The gate must give the same answer twice, so its examples are derived from the test itself, and a slow machine is no
# failure. To look for new faults: pytest --hypothesis-profile=explore.
hypothesis.settings.register_profile(
    "gate", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=2000, print_blob=True)
hypothesis.settings.load_profile("gate")


@pytest.fixture(scope="session")
def qapp_args(x_display: str) -> list[str]:
    """Arguments of pytest-qt's application. Asking for the X server here puts every Qt test on it.

    It stands in this file and not in a plugin, because only a conftest's fixture is sure to override pytest-qt's.
    """
    return ["veotuner-tests"]
