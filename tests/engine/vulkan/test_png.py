from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.engine.vulkan.png import write_png
from tests.engine.vulkan.conftest import read_png


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (479, 853)], ids=str)
def test_another_reader_gets_the_same_pixels_back(tmp_path: Path, size: tuple[int, int]) -> None:
    rgb = np.random.default_rng(5).integers(0, 256, (*size, 3), np.uint8)
    write_png(tmp_path / "picture.png", rgb)
    assert np.array_equal(read_png(tmp_path / "picture.png"), rgb)
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]
