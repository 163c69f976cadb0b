"""What the encode thread does with a frame: code it, find its packets' frames again, write them, follow changes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, cast

import av
from av.packet import Packet

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.errors import EngineError
from app.engine.encode.admission import Offered
from app.engine.encode.bitrate_control import BitrateControl
from app.engine.encode.destination import Destination
from app.engine.encode.packet_file import PacketFile
from app.engine.encode.picture_input import coded_size
from app.engine.encode.timeline import EncodeTimeline
from app.engine.encode.video_encoder import RATE_WITHOUT_INTERVAL, CodedPacket, Encoder
from app.engine.picture import PictureFormat

OpenEncoder = Callable[[str, dict[str, str], PictureFormat, Fraction], Encoder]
"""Codec, options, picture format, rate → an open encoder; `VideoEncoder`, or a test's."""

Settle = Callable[[Offered, CodedPacket, int, int], None]
"""Takes a frame whose packet came out: frame, packet, delay in frames, encode_out_ns."""

_HELD_OVER_PACKETS: Final = 32
_FIRST_HELD_AFTER: Final = 8
_MOST_NOTICES: Final = 8
"""Notices kept; a stream that changes its size every second would pile them up."""

_COMMONEST_RATES: Final = 1001
"""Largest denominator of a frame rate told to an encoder: NTSC's 60000/1001 is exact, and noise is not kept."""


class CodingPlan(NamedTuple):
    """What is coded and where to; constant for a branch.

    Attributes:
        codec, options: the encoder. gop_frames: frames from key frame to key frame.
        destination: None when packets are only counted. first_file: its first part, made already.
        open_encoder: makes an encoder.
    """

    codec: str
    options: dict[str, str]
    gop_frames: int
    destination: Destination | None
    first_file: PacketFile | None
    open_encoder: OpenEncoder


class HoldMeter:
    """Measures how many frames an encoder holds when it gives one out, that one included.

    Attributes:
        held_frames: the most over the last packets, None before there are enough to tell.
    """

    def __init__(self) -> None:
        self._delays: deque[int] = deque(maxlen=_HELD_OVER_PACKETS)
        self._count = 0
        self.held_frames: int | None = None

    def note(self, delay_frames: int) -> bool:
        """Take a packet's delay; tell whether the finding changed."""
        self._delays.append(delay_frames)
        self._count += 1
        if self._count != _FIRST_HELD_AFTER and self._count % _HELD_OVER_PACKETS:
            return False
        before, self.held_frames = self.held_frames, max(self._delays) + 1
        return before != self.held_frames


class Coding:
    """The encoder, its file and the frames inside; encode thread only.

    Args:
        plan: what to do. bitrate: None where no bitrate is aimed at.
        settle: called for every frame whose packet came out. changed: called when `description`, `held_frames`,
            `path_text` or `notices` are others than before.

    Attributes:
        description: size and pixel format of what is coded, "" before the first picture.
        inside: frames given to the encoder whose packets have not come out, by timestamp.
        notices: what the user should know, one sentence each, the latest few.
    """

    def __init__(
        self, plan: CodingPlan, bitrate: BitrateControl | None, settle: Settle, changed: Callable[[], None]
    ) -> None:
        self._plan = plan
        self._options = plan.options
        self._bitrate = bitrate
        self._bits_per_s = 0
        self._settle = settle
        self._changed = changed
        self._file = plan.first_file
        self._part = 1
        self._timeline = EncodeTimeline()
        self._encoder: Encoder | None = None
        self._format: PictureFormat | None = None
        self._rate = RATE_WITHOUT_INTERVAL
        self._meter = HoldMeter()
        self._sent = 0
        self._last_key = 0
        self.description = ""
        self.inside: dict[int, Offered] = {}
        self.notices: deque[str] = deque(maxlen=_MOST_NOTICES)

    @property
    def held_frames(self) -> int | None:
        """Return how many frames the encoder holds, as measured; None until known."""
        return self._meter.held_frames

    @property
    def path_text(self) -> str:
        """Return the file that is written now, "" when packets are only counted."""
        return str(self._file.path) if self._file else ""

    def code(self, offered: Offered) -> None:
        """Give a frame to the encoder and take what comes out.

        Raises:
            EngineError: encoder or file broke off; the text is a sentence.
        """
        picture = offered.picture
        assert picture is not None
        encoder = self._encoder_for(picture.format, offered.source_interval_ns)
        pts = self._timeline.place(
            offered.breaks_before, offered.pts_ns, offered.source_interval_ns, offered.encode_in_ns
        )
        offered.number = self._sent
        self._sent += 1
        self.inside[pts] = offered
        offered.encode_start_ns = time.monotonic_ns()
        try:
            encoder.load(picture, pts)
            offered.picture = picture = None
            packets = encoder.encode()
        except av.FFmpegError as error:
            raise self._broken(error) from error
        self._take(packets, steady=True)

    def finish(self) -> None:
        """Take out what the encoder still holds and close the file.

        Raises:
            EngineError: encoder or file broke off.
        """
        try:
            self._flush()
        finally:
            self._close_file()

    def give_up(self) -> None:
        """Close the file after a failure, whatever it holds; a second failure has nothing to add."""
        try:
            self._close_file()
        except EngineError:
            return

    # --- encoder ------------------------------------------------------------------------------------------------------

    def _encoder_for(self, picture_format: PictureFormat, interval_ns: int) -> Encoder:
        if self._encoder is None or picture_format != self._format:
            return self._begin(picture_format, interval_ns)
        if self._bitrate is not None and self._bitrate.wanted_bits_per_s != self._bits_per_s:
            self._follow_bitrate(self._encoder, self._bitrate.wanted_bits_per_s)
        return self._encoder

    def _begin(self, picture_format: PictureFormat, interval_ns: int) -> Encoder:
        """Open the first encoder, or another one and the next part of the file for another kind of picture."""
        again = self._encoder is not None
        if again:
            self._flush()
        self._format = picture_format
        self._options = self._plan.options
        self._bits_per_s = int(self._options.get("b", "0"))
        if interval_ns != NO_STAMP_NS:
            self._rate = Fraction(NS_PER_S, interval_ns).limit_denominator(_COMMONEST_RATES)
        encoder = self._open()
        if again:
            self._next_file()
        if self._file is not None:
            self._file.begin(self._plan.codec, self._rate, *coded_size(picture_format, self._plan.codec))
        self.notices.extend(_picture_notices(picture_format, self._plan.codec))
        self._changed()
        return encoder

    def _open(self) -> Encoder:
        assert self._format is not None
        try:
            self._encoder = self._plan.open_encoder(self._plan.codec, self._options, self._format, self._rate)
        except EngineError as error:
            raise EngineError(f"{error}; the preview goes on without it") from error
        self.description = self._encoder.description
        self._meter = HoldMeter()
        self._last_key = self._sent
        return self._encoder

    def _follow_bitrate(self, encoder: Encoder, bits_per_s: int) -> None:
        """Change the bitrate at once, or with another encoder where the next frame begins a group anyway."""
        if not encoder.set_bitrate(bits_per_s):
            if self._sent - self._last_key < self._plan.gop_frames:
                return
            self._flush()
            self._options = {**self._options, "b": str(bits_per_s)}
            self._encoder = self._open()
        self._bits_per_s = bits_per_s

    def _flush(self) -> None:
        encoder, self._encoder = self._encoder, None
        if encoder is None:
            return
        try:
            packets = encoder.flush()
        except av.FFmpegError as error:
            raise self._broken(error) from error
        self._take(packets, steady=False)

    def _take(self, packets: Sequence[CodedPacket], *, steady: bool) -> None:
        out_ns = time.monotonic_ns()
        for packet in packets:
            offered = self.inside.pop(packet.pts if packet.pts is not None else -1, None)
            if offered is None:
                continue  # given up meanwhile, and settled by whoever did
            delay_frames = self._sent - 1 - offered.number
            self._settle(offered, packet, delay_frames, out_ns)
            if packet.is_keyframe:
                self._last_key = offered.number
            if self._bitrate is not None:
                self._bitrate.note_packet(packet.size, packet.is_keyframe, self._gop_ns, out_ns)
            self._write(packet)
            if steady and self._meter.note(delay_frames):
                self._changed()

    @property
    def _gop_ns(self) -> int:
        return round(self._plan.gop_frames * NS_PER_S / self._rate)

    def _broken(self, error: av.FFmpegError) -> EngineError:
        return EngineError(f"{self._plan.codec} broke off ({error.strerror or error}); the preview goes on without it")

    # --- file ---------------------------------------------------------------------------------------------------------

    def _write(self, packet: CodedPacket) -> None:
        if self._file is None:
            return
        try:
            self._file.write(cast("Packet[av.VideoStream]", packet))
        except (OSError, av.FFmpegError) as error:
            raise self._unwritable(error) from error

    def _next_file(self) -> None:
        if self._plan.destination is None or self._file is None:
            self.notices.append(f"the picture changed: goes on as {self.description}")
            return
        self._close_file()
        self._part += 1
        self._file = PacketFile(self._plan.destination, self._part)
        self.notices.append(f"the picture changed: goes on in {self._file.path} as {self.description}")

    def _close_file(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except (OSError, av.FFmpegError) as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> EngineError:
        reason = getattr(error, "strerror", None) or str(error)
        return EngineError(
            f"{self.path_text}: writing the encoded video broke off ({reason}); what was written until then plays, and "
            "the preview goes on"
        )


def _picture_notices(picture_format: PictureFormat, codec: str) -> list[str]:
    notices = []
    width, height = coded_size(picture_format, codec)
    if (width, height) != (picture_format.width, picture_format.height):
        notices.append(
            f"{codec} codes {width}×{height} of {picture_format.width}×{picture_format.height}: its colour grid has no "
            "place for an odd last column or row"
        )
    if picture_format.rotation_degrees:
        notices.append(f"the picture is coded as it lies, without its rotation of {picture_format.rotation_degrees}°")
    return notices
