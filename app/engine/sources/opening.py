"""Makes the source that a source text asked for."""

from __future__ import annotations

from app.config.source_text import MediaSpec, SourceSpec, SyntheticSpec, redacted, source_text
from app.core.errors import SourceError
from app.engine.sources.file_address import FileAddress
from app.engine.sources.hardware_decoding import HardwareDecoding
from app.engine.sources.media_description import Playback
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.source import Source
from app.engine.sources.synthetic import SyntheticSource

DEFAULT_DECODE_DEPTH = 2


def open_source(spec: SourceSpec, decode_depth: int = DEFAULT_DECODE_DEPTH) -> Source:
    """Open a source.

    Args:
        spec: what to open.
        decode_depth: pictures that the queue behind the decoder holds (`nvdec_queue_depth`).

    Raises:
        SourceError: it cannot be played; the text names the file, the fault and the cure.
    """
    hardware = HardwareDecoding(decode_depth)
    match spec:
        case SyntheticSpec():
            return SyntheticSource(spec)
        case MediaSpec():
            return MediaFileSource(FileAddress(spec.location), Playback(spec.free, spec.loop), hardware=hardware)
        case _:
            raise SourceError(f"{redacted(source_text(spec))}: this version cannot open it; give a file")
