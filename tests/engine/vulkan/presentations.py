"""Pictures as a sink presents them, without a GPU, and a source of display times that is told what to say."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource, PresentMode
from app.engine.frame import Frame
from app.engine.vulkan.display_time import DisplayTimes, Shown
from app.engine.vulkan.presentation import Presentation


def presentation(
    serial: int,
    call_ns: int = 0,
    return_ns: int | None = None,
    mode: PresentMode = PresentMode.FIFO,
    tiles: Sequence[int] = (0,),
) -> Presentation:
    """Return a picture with a new frame in each of these tiles, presented at `call_ns`."""
    frames = [Frame(serial) for _ in tiles]
    for tile, frame in zip(tiles, frames, strict=True):
        frame.source_index = tile
    made = Presentation(
        frames,
        None,  # type: ignore[arg-type]  # no GPU work belongs to it
        mode,
        serial=serial,
        present_id=serial,
        fence=None,
    )
    made.note_call(call_ns, call_ns, call_ns if return_ns is None else return_ns)
    return made


class Played(DisplayTimes):
    """A source that says what the test lets it say."""

    def __init__(self, source: DisplayTimeSource, *, needs_proof: bool = False) -> None:
        self.source = source
        self.needs_proof = needs_proof
        self.given: list[Presentation] = []
        self.said: list[Shown] = []
        self.gave_up = 0

    def presented(self, presentation: Presentation) -> None:
        self.given.append(presentation)

    def collect(self) -> Sequence[Shown]:
        said, self.said = self.said, []
        return said

    def give_up(self) -> None:
        self.gave_up += 1

    def abandon(self) -> None:
        self.said += [Shown(each, NO_STAMP_NS) for each in self.given if each.is_open]
