"""The branches beside the preview: the encoder and the thumbnails, opened, changed and closed as the options say."""

from __future__ import annotations

import base64
import threading
from pathlib import Path

from app.config.editing import changed_options
from app.config.veoconfig import VeoConfig
from app.core.errors import VeoTunerError
from app.engine.encode.branch import EncodeBranch, open_encode_branch
from app.engine.frame import Frame
from app.engine.outbox import Outbox
from app.engine.picture import Picture
from app.engine.stages import Stages
from app.engine.thumbnails import ThumbnailFeed
from app.ipc.messages import EncodeRecords, EncoderState
from app.ipc.thumbnail_block import WantedThumbnail

_ENCODER_KEYS = ("encoder.", "nvenc_queue_depth")


def wanted_thumbnail(config: VeoConfig) -> WantedThumbnail:
    """Return what a configuration asks of the preview stream's pictures."""
    width, height = (int(side) for side in config.preview_resolution.split("x"))
    return WantedThumbnail(width, height, config.preview_interval_ms)


class EncodeTap:
    """Offers processed pictures to an encode branch."""

    def __init__(self, branch: EncodeBranch) -> None:
        self.branch = branch

    def offer(self, frame: Frame, picture: Picture) -> None:
        """Offer a picture; the branch takes or skips it."""
        self.branch.offer(
            frame.frame_id,
            frame.source_index,
            frame.breaks_before,
            frame.pts_ns,
            frame.source_interval_ns,
            picture,
        )


class ThumbnailTap:
    """Offers processed pictures to the preview stream."""

    def __init__(self, feed: ThumbnailFeed) -> None:
        self.feed = feed

    def offer(self, frame: Frame, picture: Picture) -> None:
        """Offer a picture; one in an interval is taken."""
        self.feed.offer(frame.frame_id, frame.process_end_ns, picture)


class Branches:
    """The branches of the first source: of several sources, the encoder and the preview stream follow the first.

    An encoder that is opened or closed may take seconds, so a change during the run is carried out by a thread of its
    own; the preview goes on meanwhile, and the frames of that time are not coded.

    Args:
        stages: of the first source.
        destination: file of the encoder, "" to count its packets.
        feed: makes the thumbnails; None where no preview stream can be served.
    """

    def __init__(self, stages: Stages, destination: str, feed: ThumbnailFeed | None, outbox: Outbox) -> None:
        self._stages = stages
        self._destination = destination
        self._feed = feed
        self._outbox = outbox
        self._encode: EncodeBranch | None = None
        self._lock = threading.Lock()  # held by whoever opens or closes the encoder
        self._changing: threading.Thread | None = None
        self._opened = 0

    def open(self, config: VeoConfig) -> None:
        """Open what the configuration asks for, before the run begins.

        Raises:
            InvalidInputError, EngineError: the encoder cannot be opened as asked.
        """
        self._configure_thumbnails(config)
        if config.encoder.enabled:
            self._open_encoder(config)
        self._connect(config)

    def change(self, old: VeoConfig, new: VeoConfig) -> dict[str, str]:
        """Put a changed configuration into force; return when each key of the branches acts. Does not wait."""
        self._configure_thumbnails(new)
        effects = {}
        changed = changed_options(old, new)
        if self._encode is not None and new.iframe_guard != old.iframe_guard:
            self._encode.set_iframe_guard(new.iframe_guard)
        of_encoder = [key for key in changed if key.startswith(_ENCODER_KEYS)]
        if of_encoder and (old.encoder.enabled or new.encoder.enabled):
            self._changing = threading.Thread(target=self._reopen, args=(new,), name="encoder-change", daemon=True)
            self._changing.start()
            effects = dict.fromkeys(of_encoder, "the encoder is opened anew; the preview goes on")
        else:
            self._connect(new)
        return effects

    def report(self) -> None:
        """Send what the encoder has recorded since the last call; status thread."""
        branch = self._encode
        if branch is None:
            return
        rows = branch.take_records()
        if len(rows):
            self._outbox.post(EncodeRecords(base64.b64encode(rows.tobytes()).decode()))

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call."""
        return self._feed.take_notices() if self._feed is not None else []

    def close(self) -> None:
        """Code what waits and finish the file; at most some seconds."""
        self._stages.branches = ()
        if self._changing is not None:
            self._changing.join()
        with self._lock:
            self._close_encoder()
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    def _configure_thumbnails(self, config: VeoConfig) -> None:
        if self._feed is not None:
            self._feed.configure(wanted_thumbnail(config))

    def _connect(self, config: VeoConfig) -> None:
        taps: list[EncodeTap | ThumbnailTap] = []
        if self._encode is not None:
            taps.append(EncodeTap(self._encode))
        if self._feed is not None and config.enable_preview:
            taps.append(ThumbnailTap(self._feed))
        self._stages.branches = tuple(taps)

    def _reopen(self, config: VeoConfig) -> None:
        with self._lock:
            self._stages.branches = tuple(tap for tap in self._stages.branches if not isinstance(tap, EncodeTap))
            self._close_encoder()
            try:
                if config.encoder.enabled:
                    self._open_encoder(config)
                else:
                    self._outbox.post(EncoderState("", "off", None, "", ""))
            except VeoTunerError as error:
                self._outbox.post(EncoderState("", "off", None, "", str(error)))
            self._connect(config)

    def _open_encoder(self, config: VeoConfig) -> None:
        self._encode = open_encode_branch(config, self._next_destination(), self._outbox.post)
        self._opened += 1

    def _next_destination(self) -> str:
        """Return the file of the next encoder: another one each time, because none is written over."""
        if not self._destination or not self._opened:
            return self._destination
        first = Path(self._destination)
        return str(first.with_name(f"{first.stem}.take{self._opened + 1}{first.suffix}"))

    def _close_encoder(self) -> None:
        if self._encode is not None:
            self._encode.close()
            self.report()
            self._encode = None
