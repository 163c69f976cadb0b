"""Graphs are drawn as often as their cost allows."""

from __future__ import annotations

import pytest

from widgets.redraw_budget import LONGEST_S, SHORTEST_S, RedrawBudget, after_redraw


def settled(cost_s: float) -> RedrawBudget:
    budget = RedrawBudget()
    for _ in range(50):
        budget = after_redraw(budget, cost_s)
    return budget


def test_a_cheap_redraw_happens_thirty_times_a_second_and_no_more() -> None:
    assert settled(0.001).interval_s == SHORTEST_S


def test_a_dear_redraw_stays_within_its_share_of_a_core() -> None:
    budget = settled(0.03)
    assert 0.03 / budget.interval_s == pytest.approx(budget.budget_ratio, rel=0.01)


def test_the_graphs_never_stand_still() -> None:
    assert settled(5.0).interval_s == LONGEST_S


def test_one_dear_redraw_counts_at_once_and_is_forgotten_slowly() -> None:
    spike = after_redraw(settled(0.005), 0.1)
    assert spike.interval_s > 4 * settled(0.005).interval_s
    after = after_redraw(spike, 0.005)
    assert settled(0.005).interval_s < after.interval_s < spike.interval_s
