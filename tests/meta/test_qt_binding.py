"""The pinned pair of PySide6 and pyqtgraph does not lose references to True and None.

PySide6 6.12.0 on CPython 3.11 over-releases both in calls that a curve update makes, and the interpreter aborts after
about a thousand updates ("deallocating None"). A gain, by contrast, costs nothing: the pair pinned now gains one
reference to None with each update. From Python 3.12 on both are immortal and their counts do not move.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

UPDATES = 2000

COUNT_REFERENCES = f"""
import json, sys
import numpy as np
import pyqtgraph as pg
app = pg.mkQApp()
plot = pg.PlotWidget()
curve = plot.plot()
plot.show()
x = np.arange(500.0)

def update(times):
    for number in range(times):
        curve.setData(x, np.sin(x + number))
        app.processEvents()

update(100)  # caches fill
before = {{str(value): sys.getrefcount(value) for value in (True, False, None)}}
update({UPDATES})
after = {{str(value): sys.getrefcount(value) for value in (True, False, None)}}
print(json.dumps({{name: after[name] - before[name] for name in before}}))
"""


def test_two_thousand_curve_updates_lose_no_reference_to_true_or_none(x_display: str) -> None:
    environment = os.environ | {"DISPLAY": x_display, "QT_QPA_PLATFORM": "xcb"}
    command = [sys.executable, "-c", COUNT_REFERENCES]
    result = subprocess.run(
        command, cwd=Path(__file__).parent, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    drift = json.loads(result.stdout)
    assert min(drift.values()) > -UPDATES // 20, drift
