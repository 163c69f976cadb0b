"""Pictures as a sink presents them, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.vocabulary import PresentMode
from app.engine.frame import Frame
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
