"""What the graphs ask of whoever has the data; the graphs pull, nobody pushes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from app.core.vocabulary import Fate
from widgets.decimation import FloatArray


class Curve(NamedTuple):
    """Kept history of one metric, in stored units.

    `x` is seconds since the run began, ascending; NaN in `y` is a gap. Both are views, valid until the next `pull`.
    """

    x: FloatArray
    y: FloatArray


class LossMarks(NamedTuple):
    """Lost frames: when (seconds since the run began, ascending) and which class (`Fate` values)."""

    x: FloatArray
    fate: npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class TimeEvent:
    """An instant worth a vertical line.

    Attributes:
        time_s: since the run began.
        text: what happened (`present_mode FIFO → MAILBOX`).
        kind: `config`, `governor` or `segment`; each has a colour and a line style of its own, the first two a text.
        reason: why, for the tool tip; "" for nothing to add.
    """

    time_s: float
    text: str
    kind: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GraphNote:
    """What a graph says beside its curves.

    Attributes:
        source: where the numbers come from, for the title.
        missing: why a curve or the whole graph is empty; "" when nothing is missing.
        simulated: which of the numbers come from a simulation (`GPU`); "" for none.
    """

    source: str = ""
    missing: str = ""
    simulated: str = ""


@dataclass(frozen=True, slots=True)
class FrameSample:
    """The frame under the cursor: its place in time and the value of every metric there (NaN: none)."""

    time_s: float
    frame_id: int
    fate: Fate
    values: Mapping[str, float] = field(default_factory=dict)


class GraphSource(Protocol):
    """The data behind the graphs. Called in the GUI thread only."""

    @property
    def newest_s(self) -> float:
        """Time of the newest data, seconds since the run began; 0 before any."""
        ...

    @property
    def nominal_ms(self) -> float:
        """Nominal frame interval; NaN when there is none."""
        ...

    def pull(self) -> bool:
        """Fetch everything since the last call and tell whether there was any."""
        ...

    def curve(self, metric_id: str) -> Curve:
        """Return the kept history of a metric; empty when there is none."""
        ...

    def losses(self) -> LossMarks:
        """Return the kept losses."""
        ...

    def events(self) -> Sequence[TimeEvent]:
        """Return the kept events, ascending."""
        ...

    def note(self, graph_id: str) -> GraphNote:
        """Return what a graph says beside its curves."""
        ...

    def interval_metric(self) -> str:
        """Return which interval is drawn: `display_interval_ms` with a display truth, else `present_interval_ms`."""
        ...

    def sample_at(self, time_s: float) -> FrameSample | None:
        """Return the frame nearest to a time; None when there is none."""
        ...
