"""How often the graphs are drawn: as often as their cost leaves room for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

SHORTEST_S: Final = 1 / 30
LONGEST_S: Final = 0.5
_SMOOTHING: Final = 0.2


@dataclass(frozen=True, slots=True)
class RedrawBudget:
    """State of the redraw rate.

    Attributes:
        budget_ratio: share of one core that the drawing thread may use.
        cost_s: smoothed CPU time of the drawing thread per redraw.
    """

    budget_ratio: float = 0.3
    cost_s: float = 0.0

    @property
    def interval_s(self) -> float:
        """Time from one redraw to the next, between 1/30 s and 1/2 s."""
        return min(max(self.cost_s / self.budget_ratio, SHORTEST_S), LONGEST_S)


def after_redraw(budget: RedrawBudget, cost_s: float) -> RedrawBudget:
    """Return the state after a redraw period in which the drawing thread used `cost_s` of CPU time.

    A dearer redraw counts in full at once, a cheaper one slowly: a burst slows the graphs down, not the run.
    """
    weight = 0.5 if cost_s >= budget.cost_s else _SMOOTHING
    return replace(budget, cost_s=budget.cost_s + weight * (cost_s - budget.cost_s))
