"""The encode branch in the status line: which encoder, what it holds, and whether it still gives anything out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.gui.status_item import StatusItem
from app.ipc.messages import EncoderState

SILENT_AFTER_S: Final = 2.0
"""An encoder that gave out no packet for so long while the run goes on is said to be silent."""

_TIP: Final = "The encode branch forks off behind processing; what happens in it never holds up the preview."


@dataclass(frozen=True, slots=True)
class EncoderFacts:
    """The branch as it said last, and how long it has been silent while the run went on (s; 0 when it is not)."""

    state: EncoderState
    silent_s: float = 0.0


def encoder_item(facts: EncoderFacts) -> StatusItem:
    """Return the entry; a notice and silence make it a warning."""
    state = facts.state
    where = f"Writes {state.destination}" if state.destination else "Packets are counted and thrown away"
    tip = "\n".join(filter(None, (state.description, where if state.codec else "", state.notice, _TIP)))
    silent = facts.silent_s >= SILENT_AFTER_S and bool(state.codec)
    text = _text(facts, silent=silent)
    return StatusItem("encoder", text, tip, bool(state.notice) or silent, short=text.partition(" · ")[0])


def _text(facts: EncoderFacts, *, silent: bool) -> str:
    state = facts.state
    if not state.codec:
        return "✖ encoder ended" if state.notice else "encoder off"
    sign = "⚠ " if state.notice or silent else ""
    if silent:
        return f"{sign}{state.codec} · gave nothing out for {facts.silent_s:.0f} s"
    return f"{sign}{state.codec} · {held_text(state.holds_frames)}"


def held_text(holds_frames: int | None) -> str:
    """Return how many frames an encoder keeps before it gives one out."""
    if holds_frames is None:
        return "not measured yet"
    return "gives each frame out at once" if holds_frames <= 1 else f"encoder holds {holds_frames} frames"
