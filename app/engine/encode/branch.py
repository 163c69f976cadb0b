"""The encode branch: takes frames from the process thread without ever holding it up, and codes them in its own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from app.config.governors import IframeGuard
from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS
from app.core.encode_records import ENCODE_DTYPE, EncodeArray, EncodeFate
from app.core.errors import VeoTunerError
from app.core.records import MISSING_COUNT
from app.engine.encode.admission import Admission, Offered
from app.engine.encode.bitrate_control import BitrateControl
from app.engine.encode.codec_choice import CodecChoice, Trial, choose_codec, try_encoder
from app.engine.encode.coding import Coding, CodingPlan, OpenEncoder
from app.engine.encode.destination import Destination, check_codec, parse_destination
from app.engine.encode.encoder_options import (
    LIBX264,
    VBV_MS,
    encoder_options,
    expected_held_frames,
    option_notices,
    target_bitrate_bits_per_s,
)
from app.engine.encode.packet_file import PacketFile
from app.engine.encode.record_ring import EncodeRow, RecordRing
from app.engine.encode.video_encoder import CodedPacket, VideoEncoder
from app.engine.picture import Picture
from app.ipc.messages import EncoderState, GovernorDecision

CLOSE_TIMEOUT_S: Final = 3.0
"""How long an ending run waits for the encoder to give out what it holds."""

Post = Callable[[EncoderState | GovernorDecision], None]


class EncodeEnd(NamedTuple):
    """What a branch came to. `hung`: its encoder did not come back in time and was left behind."""

    encoded: int
    skipped: int
    lost: int
    hung: bool


def open_encode_branch(config: VeoConfig, destination: str, post: Post, trial: Trial = try_encoder) -> EncodeBranch:
    """Choose an encoder by trying it, make the file, and start the branch.

    Args:
        config: `encoder.*`, `nvenc_queue_depth` and `iframe_guard.*` are read.
        destination: a file ending in .mp4, .ts or .mkv, or "" to count packets only.
        post: takes the branch's messages, from the encode thread; must not block.
        trial: how an encoder is tried.

    Raises:
        InvalidInputError: destination or codec cannot be used.
        EngineError: nothing encodes here, or the file cannot be made.
    """
    target = parse_destination(destination)
    choice = choose_codec(config, trial)
    if target is not None:
        check_codec(target, choice.codec)
    return EncodeBranch(config, choice, target, post)


class EncodeBranch:
    """Offered frames are coded in order in a thread of the branch's own; a full branch skips them.

    `offer` is for one thread (the process thread), the rest for any.

    Raises:
        EngineError, InvalidInputError: the file cannot be made.
    """

    def __init__(
        self,
        config: VeoConfig,
        choice: CodecChoice,
        destination: Destination | None,
        post: Post,
        open_encoder: OpenEncoder = VideoEncoder,
    ) -> None:
        self._config = config
        self._choice = choice
        self._post = post
        self._notices = [text for text in (choice.reason, *option_notices(config, choice.codec)) if text]
        self._bitrate = _bitrate_control(config, post)
        if config.iframe_guard.enabled and self._bitrate is None:
            self._notices.append("iframe_guard acts on a bitrate: set encoder.bitrate_kbps, with rc cbr or vbr")
        self._admission = Admission(config.nvenc_queue_depth)
        options = encoder_options(config, choice.codec)
        self._expected_held = None if choice.codec == LIBX264 else expected_held_frames(options)
        plan = CodingPlan(
            choice.codec,
            options,
            config.encoder.gop_frames,
            destination,
            PacketFile(destination) if destination else None,
            open_encoder,
        )
        self._coding = Coding(plan, self._bitrate, self._settle_encoded, self._tell)
        self._encoded_rows, self._skipped_rows = RecordRing(), RecordRing()
        self._lost_rows: deque[EncodeRow] = deque()  # any thread may find that a frame is lost
        self._encoded = self._skipped = 0
        self._taking = threading.Lock()  # between those who take records; nobody else asks for it
        self._failure = ""
        self._accepts = True
        self._ended = threading.Event()
        self._abandoned = False
        self._thread = threading.Thread(target=self._run, name="encode", daemon=True)
        self._thread.start()

    # --- process thread -----------------------------------------------------------------------------------------------

    def offer(
        self,
        frame_id: int,
        source_index: int,
        breaks_before: int,
        pts_ns: int,
        source_interval_ns: int,
        picture: Picture,
    ) -> bool:
        """Hand a frame to the encoder if there is room; never waits, makes no copy and costs microseconds.

        The picture is kept by reference until the encode thread has copied it.

        Returns:
            Whether the frame will be coded. False: the branch is full (recorded as skipped), or it has ended.
        """
        if not self._accepts:
            return False
        offered = Offered(frame_id, source_index, breaks_before, pts_ns, source_interval_ns, picture)
        if self._admission.offer(offered):
            if self._ended.is_set():  # while it was offered: nobody will come for it
                self._lose_what_is_left()
            return True
        self._skipped += 1
        self._skipped_rows.append(_row(offered, EncodeFate.SKIPPED))
        return False

    # --- any thread ---------------------------------------------------------------------------------------------------

    @property
    def state(self) -> EncoderState:
        """Return what the branch is; the same as the last message about it."""
        coding = self._coding
        notices = [self._failure] if self._failure else [*self._notices, *coding.notices]
        return EncoderState(
            self._choice.codec, self._description(), coding.held_frames, coding.path_text, "; ".join(notices)
        )

    @property
    def in_flight(self) -> int:
        """Return how many frames wait for or are inside the encoder."""
        return 0 if self._ended.is_set() else self._admission.in_flight

    def set_iframe_guard(self, rule: IframeGuard) -> None:
        """Put another rule into force, with the next packet."""
        if self._bitrate is not None:
            self._bitrate.rule = rule

    def set_bitrate(self, kbps: int) -> bool:
        """Change the target bitrate; False where the encoder aims at none.

        It acts with the next frame where the encoder follows a change while it runs, else with the next key frame.
        """
        if self._bitrate is None:
            return False
        self._bitrate.full_bits_per_s = kbps * 1000
        return True

    def take_records(self) -> EncodeArray:
        """Return the rows of `ENCODE_DTYPE` since the last call, in the order in which the frames were offered."""
        with self._taking:
            lost = [self._lost_rows.popleft() for _ in range(len(self._lost_rows))]
            rows = np.concatenate([self._encoded_rows.take(), self._skipped_rows.take(), np.array(lost, ENCODE_DTYPE)])
        in_order: EncodeArray = rows[np.argsort(rows["encode_in_ns"], kind="stable")]
        return in_order

    def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> EncodeEnd:
        """Code what waits, take out what the encoder holds, finish the file, and end the thread.

        Returns within `timeout_s` even when the encoder never comes back: its frames are lost then, and the state says
        so. Rows may be taken once more afterwards. Without effect when closed already.
        """
        self._accepts = False
        self._admission.close()
        self._thread.join(timeout_s)
        hung = self._thread.is_alive()
        if hung:
            self._abandoned = True
            self._fail(f"{self._choice.codec} did not end within {timeout_s:g} s and was left behind")
        return EncodeEnd(self._encoded, self._skipped, self._admission.admitted - self._encoded, hung)

    # --- encode thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        # The thread keeps the preview's own niceness. A nicer one (5 and 10 were tried on a busy two-core machine) left
        # the preview's intervals as they were: pushed aside, it holds the interpreter for longer.
        try:
            self._tell()
            while not self._abandoned and (offered := self._admission.next()) is not None:
                self._coding.code(offered)
            if self._abandoned:
                self._coding.give_up()
                return
            self._coding.finish()
            self._ended.set()
            self._lose_what_is_left()
        except VeoTunerError as error:
            self._end_badly(str(error))
        except Exception as error:  # noqa: BLE001 - thread boundary: the branch ends, and the preview goes on
            self._end_badly(f"the encode branch met an error of its own ({type(error).__name__}: {error})")

    def _settle_encoded(self, offered: Offered, packet: CodedPacket, delay_frames: int, out_ns: int) -> None:
        self._encoded += 1
        self._encoded_rows.append(
            _row(offered, EncodeFate.ENCODED, packet.is_keyframe, delay_frames, out_ns, packet.size)
        )
        self._admission.settle()

    def _end_badly(self, text: str) -> None:
        if not self._abandoned:
            self._fail(text)
        self._coding.give_up()

    # --- ending -------------------------------------------------------------------------------------------------------

    def _fail(self, text: str) -> None:
        self._accepts = False
        self._ended.set()
        self._failure = text
        self._lose_what_is_left()
        self._tell()

    def _lose_what_is_left(self) -> None:
        """Settle what waits or is inside as lost.

        Taking a frame out of the dictionary or the queue is atomic, so each is settled once, though a hung encode
        thread may wake at any moment.
        """
        inside = self._coding.inside
        left = [offered for pts in list(inside) if (offered := inside.pop(pts, None)) is not None]
        for offered in (*left, *self._admission.drain()):
            offered.picture = None
            self._lost_rows.append(_row(offered, EncodeFate.LOST))

    def _tell(self) -> None:
        self._post(self.state)

    def _description(self) -> str:
        encoder = self._config.encoder
        parts = [self._choice.codec, self._coding.description, f"preset {encoder.preset}, tune {encoder.tune}"]
        if self._bitrate is not None:
            parts.append(f"{encoder.rc} {self._bitrate.full_bits_per_s / 1000:.0f} kbit/s")
        held = self._coding.held_frames
        if held is not None:
            parts.append(_held_text(held, self._config))
        elif self._expected_held is not None:
            parts.append(f"by its settings {_held_text(self._expected_held, self._config)}")
        return ", ".join(part for part in parts if part)


def _bitrate_control(config: VeoConfig, post: Post) -> BitrateControl | None:
    bits_per_s = target_bitrate_bits_per_s(config)
    if bits_per_s is None:
        return None
    return BitrateControl(bits_per_s, VBV_MS[config.encoder.tune], config.iframe_guard, post)


def _held_text(held: int, config: VeoConfig) -> str:
    if held == 1:
        return "gives each frame out at once"
    text = f"holds {held} frames ({held - 1} × the frame interval of delay"
    if held > config.nvenc_queue_depth:
        text += f", more than nvenc_queue_depth {config.nvenc_queue_depth}, so it is fed beyond it"
    if config.encoder.tune == "hq":
        text += "; tune ll or ull without b_frames and lookahead takes it away"
    return f"{text})"


def _row(
    offered: Offered,
    fate: EncodeFate,
    key_frame: bool = False,
    delay_frames: int = MISSING_COUNT,
    out_ns: int = NO_STAMP_NS,
    bytes_out: int = 0,
) -> EncodeRow:
    return (
        offered.frame_id,
        offered.source_index,
        offered.breaks_before,
        fate,
        key_frame,
        offered.queue_in,
        delay_frames,
        offered.encode_in_ns,
        offered.encode_start_ns,
        out_ns,
        bytes_out,
    )
