"""Makes the source that a source text asked for."""

from __future__ import annotations

from typing import Final

from app.config.source_text import (
    FILM_PROTOCOLS,
    CameraSpec,
    MediaSpec,
    NetworkSpec,
    PreviewStreamSpec,
    SourceSpec,
    SyntheticSpec,
)
from app.core.errors import SourceError
from app.engine.sources.camera_address import CameraAddress
from app.engine.sources.file_address import FileAddress
from app.engine.sources.hardware_decoding import HardwareDecoding
from app.engine.sources.live_media import LiveMediaSource
from app.engine.sources.media_description import Playback
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.media_opening import OpenedMedia, open_media
from app.engine.sources.network_address import NetworkAddress
from app.engine.sources.packet_reading import PrefetchingReader
from app.engine.sources.preview_stream import PreviewStreamSource
from app.engine.sources.source import Source
from app.engine.sources.synthetic import SyntheticSource

_PLAYLISTS: Final = ("hls", "dash")


def open_source(spec: SourceSpec, decode_depth: int = 4) -> Source:
    """Open a source.

    Args:
        spec: what to open.
        decode_depth: pictures that the queue behind the decoder holds (`nvdec_queue_depth`).

    Raises:
        SourceError: it cannot be played; the text names the source, the fault and the cure.
    """
    hardware = HardwareDecoding(decode_depth)
    match spec:
        case SyntheticSpec():
            return SyntheticSource(spec)
        case MediaSpec():
            return MediaFileSource(FileAddress(spec.location), Playback(spec.free, spec.loop), hardware=hardware)
        case NetworkSpec():
            return open_network_source(NetworkAddress(spec), hardware)
        case CameraSpec():
            return LiveMediaSource(CameraAddress(spec), hardware=hardware)
        case PreviewStreamSpec():
            return PreviewStreamSource(spec)


def open_network_source(address: NetworkAddress, hardware: HardwareDecoding | None = None) -> Source:
    """Open what an address names, and play it as the film or the live stream that it turns out to be.

    Raises:
        SourceError: it cannot be played, or is live and was asked to loop or to run free.
    """
    spec = address.spec
    media = open_media(address, low_delay=not spec.free, hardware=hardware)
    if _is_film(spec, media):
        playback = Playback(spec.free, spec.loop)
        return MediaFileSource(address, playback, hardware=hardware, media=media, reader=PrefetchingReader)
    if spec.free or spec.loop:
        media.container.close()
        raise SourceError(f"{address.name}: is live, which can neither run free nor loop; leave ?free and ?loop out")
    return LiveMediaSource(address.as_live(), hardware=hardware, media=media)


def _is_film(spec: NetworkSpec, media: OpenedMedia) -> bool:
    """Tell whether a stream is paced by its timestamps. A playlist's parts come at once, so that it must be."""
    return spec.protocol in FILM_PROTOCOLS and (
        media.duration_s is not None or media.container.format.name in _PLAYLISTS
    )
