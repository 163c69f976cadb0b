"""Upload bandwidth is bytes over time, in windows that are complete."""

from __future__ import annotations

import numpy as np
import pytest

from app.analysis.bandwidth import upload_bandwidth
from tests.analysis.run_builder import PICTURE_BYTES, Made, made_frames

EXPECTED = PICTURE_BYTES * 60


def test_a_steady_source_has_steady_bandwidth() -> None:
    series = upload_bandwidth(made_frames(Made(seconds=10.0)))
    assert len(series.at_ns) == 19
    np.testing.assert_allclose(series.bytes_per_s, EXPECTED, rtol=0.04)
    assert series.bytes_per_s.mean() == pytest.approx(EXPECTED, rel=0.005)


def test_a_window_without_frames_is_zero_and_not_missing() -> None:
    series = upload_bandwidth(made_frames(Made(seconds=4.0, stall_after_s=2.0)))
    assert np.count_nonzero(series.bytes_per_s == 0) >= 3


def test_nothing_uploaded_has_no_bandwidth_rather_than_zero() -> None:
    frames = made_frames(Made(seconds=2.0))
    frames["bytes_uploaded"] = 0
    assert len(upload_bandwidth(frames).at_ns) == 0
