"""Small real videos, coded by the real encoder once a session."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest

SAMPLE_WIDTH, SAMPLE_HEIGHT, SAMPLE_RATE_HZ, SAMPLE_FRAMES = 640, 360, 30, 60


@pytest.fixture(scope="session")
def sample_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds of 640×360 H.264 in 4:2:0 at 30 fps, in an MP4: a bar that moves over a grey ramp."""
    path = tmp_path_factory.mktemp("media") / "sample.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=SAMPLE_RATE_HZ, options={"preset": "ultrafast", "threads": "1"})
        stream.width, stream.height, stream.pix_fmt = SAMPLE_WIDTH, SAMPLE_HEIGHT, "yuv420p"
        stream.time_base = Fraction(1, SAMPLE_RATE_HZ)
        for number in range(SAMPLE_FRAMES):
            frame = av.VideoFrame.from_ndarray(_picture(number), format="gray8").reformat(format="yuv420p")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def _picture(number: int) -> npt.NDArray[np.uint8]:
    ramp = np.linspace(32, 200, SAMPLE_WIDTH, dtype=np.uint8)
    picture = np.tile(ramp, (SAMPLE_HEIGHT, 1))
    left = number * (SAMPLE_WIDTH - 40) // SAMPLE_FRAMES
    picture[:, left : left + 40] = 235
    return picture
