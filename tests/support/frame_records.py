"""Frame records from plain numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.core.records import FRAME_DTYPE


def record_of(values: Sequence[int]) -> bytes:
    """Return one record whose fields have these values, in the order of `FRAME_DTYPE`."""
    return np.array([tuple(values)], FRAME_DTYPE).tobytes()
