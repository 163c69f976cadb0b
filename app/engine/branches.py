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

    An encoder that is opened or closed may take seconds, so changes during the run are carried out by a thread of their
    own, one after another; of those that come meanwhile the last one counts. The preview goes on, and the frames of
    that time are not coded.

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
        self._config = VeoConfig()
        self._lock = threading.Lock()  # guards what follows, for a few bytecodes at a time
        self._encode: EncodeBranch | None = None
        self._wants_change = False
        self._changing: threading.Thread | None = None
        self._closed = False
        self._opened = 0

    def open(self, config: VeoConfig) -> None:
        """Open what the configuration asks for, before the run begins.

        Raises:
            InvalidInputError, EngineError: the encoder cannot be opened as asked.
        """
        self._config = config
        self._configure_thumbnails(config)
        self._put_in(self._open_encoder(config) if config.encoder.enabled else None)

    def change(self, old: VeoConfig, new: VeoConfig) -> dict[str, str]:
        """Put a changed configuration into force; return when each key of the branches acts. Does not wait."""
        self._configure_thumbnails(new)
        of_encoder = [key for key in changed_options(old, new) if key.startswith(_ENCODER_KEYS)]
        reopens = bool(of_encoder) and (old.encoder.enabled or new.encoder.enabled)
        with self._lock:
            self._config = new
            if self._encode is not None and new.iframe_guard != old.iframe_guard:
                self._encode.set_iframe_guard(new.iframe_guard)
            if reopens:
                self._ask_for_change()
            self._connect()
        if not reopens:
            return {}
        effect = "opened anew" if new.encoder.enabled else "closed"
        return dict.fromkeys(of_encoder, f"the encoder is {effect}; the preview goes on")

    def report(self) -> None:
        """Send what the encoder has recorded since the last call; status thread."""
        branch = self._encode
        if branch is not None:
            self._send_records(branch)

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call."""
        return self._feed.take_notices() if self._feed is not None else []

    def close(self) -> None:
        """Code what waits and finish the file; at most some seconds."""
        with self._lock:
            self._closed = True
            changing = self._changing
            self._connect()
        if changing is not None:
            changing.join()
        self._put_in(None)
        if self._feed is not None:
            self._feed.close()
            self._feed = None

    def _configure_thumbnails(self, config: VeoConfig) -> None:
        if self._feed is not None:
            self._feed.configure(wanted_thumbnail(config))

    def _connect(self) -> None:
        """Let the pictures flow where the configuration in force wants them; under the lock."""
        taps: list[EncodeTap | ThumbnailTap] = []
        if self._encode is not None and not self._closed:
            taps.append(EncodeTap(self._encode))
        if self._feed is not None and self._config.enable_preview and not self._closed:
            taps.append(ThumbnailTap(self._feed))
        self._stages.branches = tuple(taps)

    def _put_in(self, branch: EncodeBranch | None) -> None:
        """Let another encoder (or none) take the place of the one that is there, which is closed."""
        with self._lock:
            old, self._encode = self._encode, branch
            if branch is not None:
                branch.set_iframe_guard(self._config.iframe_guard)
            self._connect()
        if old is not None:
            old.close()
            self._send_records(old)

    def _send_records(self, branch: EncodeBranch) -> None:
        rows = branch.take_records()
        if len(rows):
            self._outbox.post(EncodeRecords(base64.b64encode(rows.tobytes()).decode()))

    # --- changes while the run goes on --------------------------------------------------------------------------------

    def _ask_for_change(self) -> None:
        self._wants_change = True
        if self._changing is None and not self._closed:
            self._changing = threading.Thread(target=self._follow_wishes, name="encoder-change", daemon=True)
            self._changing.start()

    def _follow_wishes(self) -> None:
        while (config := self._next_wish()) is not None:
            try:
                self._reopen(config)
            except VeoTunerError as error:
                self._tell_off(str(error))
            except Exception as error:  # noqa: BLE001 - thread boundary: the preview goes on without an encoder
                self._tell_off(f"the encoder cannot be opened ({type(error).__name__}: {error})")

    def _next_wish(self) -> VeoConfig | None:
        """Return the configuration to follow; None, and the thread ends, where nothing has changed since."""
        with self._lock:
            if self._closed or not self._wants_change:
                self._changing = None
                return None
            self._wants_change = False
            return self._config

    def _reopen(self, config: VeoConfig) -> None:
        self._put_in(None)
        if config.encoder.enabled:
            self._put_in(self._open_encoder(config))
        else:
            self._tell_off("")

    def _tell_off(self, reason: str) -> None:
        self._outbox.post(EncoderState("", "off", None, "", reason))

    def _open_encoder(self, config: VeoConfig) -> EncodeBranch:
        branch = open_encode_branch(config, self._next_destination(), self._outbox.post)
        self._opened += 1
        return branch

    def _next_destination(self) -> str:
        """Return the file of the next encoder: another one each time, because none is written over."""
        if not self._destination or not self._opened:
            return self._destination
        first = Path(self._destination)
        return str(first.with_name(f"{first.stem}.take{self._opened + 1}{first.suffix}"))
