"""Makes the source that a source text asked for."""

from __future__ import annotations

from app.config.source_text import MediaSpec, SyntheticSpec
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.synthetic import SyntheticSource


def open_source(spec: SyntheticSpec | MediaSpec) -> SyntheticSource | MediaFileSource:
    """Open a source.

    Raises:
        SourceError: it cannot be played; the text names the file, the fault and the cure.
    """
    return SyntheticSource(spec) if isinstance(spec, SyntheticSpec) else MediaFileSource(spec)
