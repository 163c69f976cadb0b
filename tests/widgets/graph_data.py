"""A graph source of made-up data that the tests of the graphs pull from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.core.vocabulary import Fate
from widgets.decimation import FloatArray
from widgets.graph_source import Curve, FrameSample, GraphNote, LossMarks, TimeEvent

EMPTY = Curve(np.empty(0), np.empty(0))


class MadeUpSource:
    """Holds arrays; counts how often each curve is asked for."""

    def __init__(self) -> None:
        self.curves: dict[str, Curve] = {}
        self.marks = LossMarks(np.empty(0), np.empty(0, np.uint8))
        self.lines: list[TimeEvent] = []
        self.notes: dict[str, GraphNote] = {}
        self.nominal_ms = 16.667
        self.fresh = True
        self.asked: list[str] = []

    @classmethod
    def sixty_fps(cls, seconds: float) -> MadeUpSource:
        source = cls()
        x: FloatArray = np.arange(round(seconds * 60)) / 60
        source.curves["display_interval_ms"] = Curve(x, np.full(x.size, 16.667))
        source.curves["jitter_sd_ms"] = Curve(x, np.full(x.size, 0.25))
        return source

    @property
    def newest_s(self) -> float:
        return max((float(curve.x[-1]) for curve in self.curves.values() if curve.x.size), default=0.0)

    def pull(self) -> bool:
        fresh, self.fresh = self.fresh, False
        return fresh

    def curve(self, metric_id: str) -> Curve:
        self.asked.append(metric_id)
        return self.curves.get(metric_id, EMPTY)

    def losses(self) -> LossMarks:
        return self.marks

    def events(self) -> Sequence[TimeEvent]:
        return self.lines

    def note(self, graph_id: str) -> GraphNote:
        return self.notes.get(graph_id, GraphNote())

    def interval_metric(self) -> str:
        return "display_interval_ms"

    def sample_at(self, time_s: float) -> FrameSample | None:
        x = self.curves.get("display_interval_ms", EMPTY).x
        if not x.size:
            return None
        index = int(np.argmin(np.abs(x - time_s)))
        values = {name: float(curve.y[min(index, curve.y.size - 1)]) for name, curve in self.curves.items()}
        return FrameSample(float(x[index]), index, Fate.DISPLAYED, values)
