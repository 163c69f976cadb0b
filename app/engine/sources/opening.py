"""Makes the source that a source text asked for."""

from __future__ import annotations

from app.config.source_text import MediaSpec, SourceSpec, SyntheticSpec, redacted, source_text
from app.core.errors import SourceError
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.synthetic import SyntheticSource


def open_source(spec: SourceSpec) -> SyntheticSource | MediaFileSource:
    """Open a source.

    Raises:
        SourceError: it cannot be played; the text names the file, the fault and the cure.
    """
    match spec:
        case SyntheticSpec():
            return SyntheticSource(spec)
        case MediaSpec():
            return MediaFileSource(spec)
        case _:
            raise SourceError(f"{redacted(source_text(spec))}: this version cannot open it; give a file")
