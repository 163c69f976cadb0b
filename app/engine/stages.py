"""The stages before presentation: a decode thread and a process thread, joined by two bounded queues.

Both spend their time in C (decoder, wait, copy) with the interpreter lock released; the Python between is a few dozen
bytecodes a frame.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.errors import SourceError
from app.core.records import FLAG_INTERPOLATED, FLAG_KEY_FRAME
from app.core.vocabulary import Fate, Governor, OverflowPolicy
from app.engine.decimation import Decimator
from app.engine.doorbell import Doorbell
from app.engine.frame import Frame
from app.engine.frame_queue import FrameQueue, SlotPool
from app.engine.ledger import FramePool, Ledger
from app.engine.picture import Picture, PictureFormat
from app.engine.segments import BreakWatch
from app.engine.sinks.sink import Settled, Sink
from app.engine.sources.source import Delivery, Source

_CLOSE_CHECK_S = 0.2
"""How often a wait looks whether the run has ended, so that no order of ask and close can hang it."""


_EXTRA_SLOTS: Final = 5
"""Staging slots beside queue and images: one being filled, one in the scheduler's hand, one held for an interpolation,
two of slack."""


class FormatHandshake:
    """Lets the process thread ask the present thread to make the sink ready for another picture format.

    The present thread answers when every frame of the old format is out of the frame queue and the sink.

    Attributes:
        wanted: the format asked for; None when nothing is asked.
        asked_ns: when it was asked for, CLOCK_MONOTONIC.
    """

    def __init__(self) -> None:
        self._answered = threading.Event()
        self.wanted: PictureFormat | None = None
        self.asked_ns = 0
        self._closed = threading.Event()

    def ask(self, picture_format: PictureFormat, doorbell: Doorbell) -> None:
        """Process thread: wait until the sink takes this format (or the run stops)."""
        if self._closed.is_set():
            return
        self._answered.clear()
        self.asked_ns = time.monotonic_ns()
        self.wanted = picture_format
        doorbell.ring()
        while not self._closed.is_set() and not self._answered.wait(_CLOSE_CHECK_S):
            pass

    def answer(self) -> None:
        """Present thread: the sink is ready."""
        self.wanted = None
        self._answered.set()

    def close(self) -> None:
        """Present thread: the sink will not be needed any more."""
        self._closed.set()
        self._answered.set()


class Rate(NamedTuple):
    """How many of a source's frames are let through.

    Attributes:
        hz: wanted rate; 0 for the source's own.
        governor: who wants it.
        interpolation: `none`, or how pictures are made up in the place of the frames left out (`blend`, `motion`).
    """

    hz: float = 0.0
    governor: Governor = Governor.NONE
    interpolation: str = "none"


class Branch(Protocol):
    """What is offered every processed picture beside the preview: the encoder, the thumbnails."""

    def offer(self, frame: Frame, picture: Picture) -> None:
        """Take the picture or leave it, in microseconds; process thread. It may keep `picture`, never `frame`."""
        ...


class Stages:
    """Decode and process threads with their queues; everything the present loop draws from.

    Args:
        index: number of the source.
        decode_depth: depth of the decode queue.

    Attributes:
        decode_queue, frame_queue: the queues, for configuring and for their lengths.
        aside: frames lost in these stages, settled by the present thread, which alone writes records.
        picture_format: format that the sink is ready for; None before the first picture.
        rate: how many frames are let through; replaced whole, at any time, by any thread.
        extra_latency_ns: what governors and interpolation add to the latency; any thread.
        branches: offered every processed picture; replaced whole.
        observe_arrival: shown each frame as it arrives, also those lost later.
        fault: what ended one of the two threads against its will, raised anew by the present loop; None normally.
        source_failure: text of the error that ended the source, or "".
    """

    def __init__(self, index: int, source: Source, sink: Sink, doorbell: Doorbell, decode_depth: int) -> None:
        self._index = index
        self._source = source
        self._sink = sink
        self._doorbell = doorbell
        self.decode_queue = FrameQueue(decode_depth)
        self.frame_queue = FrameQueue(1)
        self._frame_depth = 1
        self.slots = SlotPool()
        self.pool = FramePool()
        self.ledger = Ledger()
        self.handshake = FormatHandshake()
        self.aside: deque[Settled] = deque()
        self.rate = Rate()
        self.extra_latency_ns = 0
        self.branches: tuple[Branch, ...] = ()
        self.observe_arrival: Callable[[Frame], None] | None = None
        self.source_failure = ""
        self.fault: Exception | None = None
        self._stopping = False
        self._stranded: dict[str, int] = {"decode": 0, "process": 0}
        self._decimator = Decimator()
        self._break_watch = BreakWatch()
        self.picture_format: PictureFormat | None = None
        self._next_pts_ns = 0
        self._threads = [
            threading.Thread(target=self._decode, name=f"decode-{index}", daemon=True),
            threading.Thread(target=self._process, name=f"process-{index}", daemon=True),
        ]

    def start(self) -> None:
        """Start both threads."""
        for thread in self._threads:
            thread.start()

    def make_slots(self, image_count: int) -> None:
        """Have so many staging slots that no stage ever waits for one in normal running; present thread."""
        self.slots.grow(self._frame_depth + image_count + _EXTRA_SLOTS)

    def grow_slots(self, image_count: int) -> None:
        """Make more staging slots where a deeper queue or more images need them; present thread."""
        needed = self._frame_depth + image_count + _EXTRA_SLOTS
        if self.picture_format is not None and needed > self.slots.count:
            self._sink.prepare(self.picture_format, needed, self._index)
            self.slots.grow(needed)

    def configure_queues(self, decode_depth: int, frame_depth: int, policy: OverflowPolicy) -> None:
        """Set depths and policy of the queues; at once."""
        self._frame_depth = frame_depth
        self.decode_queue.configure(decode_depth)
        self.frame_queue.configure(frame_depth, policy)

    def stop(self) -> dict[str, int]:
        """Stop both threads and return how many frames are left in each place."""
        self._stopping = True
        self._source.interrupt()
        self.decode_queue.close()
        self.frame_queue.close()
        self.slots.close()
        self.handshake.close()
        for thread in self._threads:
            thread.join(timeout=2.0)
        return {
            **self._stranded,
            "decode_queue": len(self.decode_queue),
            "frame_queue": len(self.frame_queue),
        }

    # --- decode thread ------------------------------------------------------------------------------------------------

    def _decode(self) -> None:
        try:
            while not self._stopping:
                delivery = self._source.next()
                if delivery is None:
                    break
                self._pass_on(self._frame_of(delivery), delivery)
        except SourceError as error:
            self.source_failure = str(error)
        except Exception as error:  # noqa: BLE001 - thread boundary: the present loop raises it where it is seen
            self.fault = error
        finally:
            self.decode_queue.finish()
            self._doorbell.ring()

    def _frame_of(self, delivery: Delivery) -> Frame:
        frame = self.pool.take(self.ledger.produce())
        frame.source_index = self._index
        info = self._source.info
        interval_ns = round(NS_PER_S / info.rate_hz) if info.rate_hz else NO_STAMP_NS
        frame.source_interval_ns = interval_ns
        frame.pts_ns = delivery.pts_ns if delivery.pts_ns != NO_STAMP_NS else self._next_pts_ns
        self._next_pts_ns = frame.pts_ns + (interval_ns if interval_ns != NO_STAMP_NS else 0)
        frame.postponed_ns = self._source.postponed_ns
        _stamp_decoding(frame, delivery)
        self._break_watch.mark(frame, delivery.discontinuity)
        if self.observe_arrival is not None:
            self.observe_arrival(frame)
        frame.flags = FLAG_KEY_FRAME if delivery.key_frame else 0
        frame.picture = delivery.picture
        return frame

    def _pass_on(self, frame: Frame, delivery: Delivery) -> None:
        if delivery.picture is None:
            self._lose(frame, Fate.DECODE_OVERFLOW)
            return
        rate = self.rate
        given_hz = None if self._source.info.free_running else self._source.info.rate_hz
        if not self._decimator.keep(given_hz, rate.hz):
            frame.governor = rate.governor
            if rate.interpolation == "none":
                self._lose(frame, Fate.DECIMATED)
                return
            frame.flags |= FLAG_INTERPOLATED  # goes on without its picture, to keep its place for one made up
            frame.picture = None
        frame.decode_queue_in = len(self.decode_queue)
        if not self.decode_queue.put(frame).accepted:
            self._stranded["decode"] += 1

    def _lose(self, frame: Frame, fate: Fate) -> None:
        frame.picture = None
        self.aside.append(Settled(frame, fate))

    # --- process thread -----------------------------------------------------------------------------------------------

    def _process(self) -> None:
        try:
            while (frame := self.decode_queue.get()) is not None:
                frame.decode_queue_out = len(self.decode_queue)
                if not self._upload(frame):
                    self._stranded["process"] += 1
                    break
                self._queue(frame)
        except Exception as error:  # noqa: BLE001 - thread boundary: the present loop raises it where it is seen
            self.fault = error
        finally:
            self.frame_queue.finish()
            self._doorbell.ring()

    def _upload(self, frame: Frame) -> bool:
        """Copy the picture into a staging slot; False when the run stops meanwhile."""
        picture = frame.picture
        if picture is None:  # its place will be taken by a picture made up on the GPU
            frame.process_start_ns = frame.process_end_ns = max(time.monotonic_ns(), frame.decode_end_ns)
            return True
        if picture.format != self.picture_format:
            self.handshake.ask(picture.format, self._doorbell)
            self.picture_format = picture.format
        slot = self.slots.take()
        if slot is None:
            return False
        frame.slot = slot
        frame.process_start_ns = max(time.monotonic_ns(), frame.decode_end_ns)
        frame.bytes_uploaded = self._sink.upload(picture, slot, self._index)
        frame.process_end_ns = max(time.monotonic_ns(), frame.process_start_ns)
        for branch in self.branches:
            branch.offer(frame, picture)
        frame.picture = None
        return True

    def _queue(self, frame: Frame) -> None:
        frame.frame_queue_in = len(self.frame_queue)
        admission = self.frame_queue.put(frame)
        if admission.dropped is not None:
            self._lose(admission.dropped, Fate.QUEUE_OVERFLOW)
        elif not admission.accepted:
            self._stranded["process"] += 1
        self._doorbell.ring()


def _stamp_decoding(frame: Frame, delivery: Delivery) -> None:
    """Take over the stamps of a delivery in their order.

    A picture that came or was decoded during a pause has its stamps moved behind the pause, some of them beyond the
    moment at which the next stage really gets it: what happens to it since counts as happening right behind.
    """
    frame.arrive_ns = delivery.arrive_ns
    if delivery.picture is not None:
        frame.decode_start_ns = max(delivery.decode_start_ns, delivery.arrive_ns)
        frame.decode_end_ns = max(delivery.decode_end_ns, frame.decode_start_ns)
