"""A history keeps the newest rows, in order, in memory that never grows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.history import History

DTYPE = np.dtype([("n", "i8")])


def rows(start: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    result = np.zeros(count, DTYPE)
    result["n"] = np.arange(start, start + count)
    return result


@given(capacity=st.integers(1, 40), sizes=st.lists(st.integers(0, 100), max_size=30))
def test_the_newest_rows_are_kept_in_order(capacity: int, sizes: list[int]) -> None:
    history = History(DTYPE, capacity)
    total = 0
    for size in sizes:
        history.append(rows(total, size))
        total += size
        assert history.rows["n"].tolist() == list(range(max(0, total - capacity), total))


def test_thirty_minutes_take_the_memory_of_three() -> None:
    history = History(DTYPE, 10_000)
    buffer = history.rows.base
    assert buffer is not None
    for start in range(0, 108_000, 60):
        history.append(rows(start, 60))
    assert history.rows.base is buffer
    assert history.rows.size == 10_000


def test_a_cleared_history_is_empty_and_begins_anew() -> None:
    history = History(DTYPE, 5)
    history.append(rows(0, 4))
    history.clear()
    assert history.rows.size == 0
    history.append(rows(7, 2))
    assert history.rows["n"].tolist() == [7, 8]


def test_a_history_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        History(DTYPE, 0)
