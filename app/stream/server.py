"""The WebSocket server of the preview stream: one request, its clients, and the thumbnails they are sent."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Final

import psutil
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from app.ipc.stream_address import address_refused, listen
from app.ipc.stream_messages import FromStream, StartStream, StreamFailed, StreamReady, StreamStatus
from app.ipc.thumbnail_block import ThumbnailReader
from app.stream.admission import preview_path, refusal_of
from app.stream.jpeg import JpegEncoder, preview_message
from app.stream.tasks import run_until_one_ends
from app.stream.viewer import MAX_MESSAGE_BYTES, STALL_S, BoundedConnection, Tally, Viewer

POLL_S: Final = 0.005
"""How often the shared memory is looked at while somebody watches: about 1 % of a core, and a thumbnail is at most
that much older when it leaves. The engine could ring a bell, but ringing is a system call in its process."""

STATUS_PERIOD_S: Final = 1.0

_SEND_BUFFER_BYTES: Final = 256 << 10
"""In the kernel, for each client. Left to itself it grows to megabytes, and a slow client then sees minutes-old
pictures instead of losing them."""

_WRITE_LIMIT_BYTES: Final = 64 << 10
_OPEN_TIMEOUT_S: Final = 5.0
_CLOSE_TIMEOUT_S: Final = 1.0
_KEEPALIVE_S: Final = 10.0
_WILDCARDS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised, not bound


class StreamServer:
    """Serves the thumbnails of one block to the clients of one request.

    Args:
        start: what to serve, and where.
        reader: of the engine's thumbnails.
        report: told everything the session should know; must return soon.
        stall_s: how long a client may not read before it is cut off.
    """

    def __init__(
        self,
        start: StartStream,
        reader: ThumbnailReader,
        report: Callable[[FromStream], None],
        stall_s: float = STALL_S,
    ) -> None:
        self._start = start
        self._reader = reader
        self._report = report
        self._stall_s = stall_s
        self._tally = Tally()
        self._viewers: set[Viewer] = set()
        self._watched = asyncio.Event()
        self._jpeg = JpegEncoder()

    async def run(self, stop: asyncio.Event) -> bool:
        """Serve until `stop` is set; False when the address cannot be listened on, which is reported."""
        self._reader.set_viewers(0)  # a server before this one may have died with some
        start = self._start
        try:
            listener = listen(start.host, start.port)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)  # accepted sockets inherit it
        except OSError as error:
            self._report(StreamFailed(address_refused(start.host, start.port, error)))
            return False
        serving = serve(
            self._watch,
            sock=listener,
            process_request=self._process_request,
            create_connection=BoundedConnection,
            compression=None,  # JPEG does not shrink, and memory for it is a client's to ask for
            open_timeout=_OPEN_TIMEOUT_S,
            close_timeout=_CLOSE_TIMEOUT_S,
            ping_interval=_KEEPALIVE_S,
            ping_timeout=_KEEPALIVE_S,
            max_size=MAX_MESSAGE_BYTES,
            max_queue=4,
            write_limit=_WRITE_LIMIT_BYTES,
            server_header=None,
        )
        async with serving:
            port: int = listener.getsockname()[1]
            self._report(StreamReady(port, stream_url(start.host, port, start.request_id)))
            await run_until_one_ends(self._publish_thumbnails(), self._report_status(), _until(stop))
        return True

    # --- clients ------------------------------------------------------------------------------------------------------

    def _process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        refusal = refusal_of(
            request.path,
            request.headers.get_all("Authorization"),
            request_id=self._start.request_id,
            token=self._start.token,
            # Nothing waits between this and `_watch`, so many at once cannot all find the same place free.
            clients=len(self._viewers),
        )
        if refusal is not None:
            self._tally.refused += 1
            response = connection.respond(refusal.status, refusal.text)
            if refusal.status == 401:
                response.headers["WWW-Authenticate"] = 'Bearer realm="preview"'
            return response
        return None

    async def _watch(self, connection: ServerConnection) -> None:
        viewer = Viewer(connection, self._tally, self._stall_s)
        self._viewers.add(viewer)
        self._count_viewers()
        try:
            await viewer.serve()
        finally:
            self._viewers.discard(viewer)
            self._count_viewers()
        if isinstance(connection, BoundedConnection) and connection.was_cut:
            self._tally.cut += 1

    def _count_viewers(self) -> None:
        self._reader.set_viewers(len(self._viewers))
        if self._viewers:
            self._watched.set()
        else:
            self._watched.clear()

    # --- thumbnails ---------------------------------------------------------------------------------------------------

    async def _publish_thumbnails(self) -> None:
        last = self._reader.published
        while True:
            if not self._watched.is_set():
                await self._watched.wait()
                last = self._reader.published  # one from before the first viewer came is old
            thumbnail = self._reader.newest(last)
            if thumbnail is not None:
                last = thumbnail.serial
                message = preview_message(thumbnail, self._jpeg.encode(thumbnail))
                for viewer in self._viewers:
                    viewer.offer(message)
            await asyncio.sleep(POLL_S)

    async def _report_status(self) -> None:
        process = psutil.Process()
        before_ns, before_cpu_ns = time.monotonic_ns(), time.process_time_ns()
        while True:
            await asyncio.sleep(STATUS_PERIOD_S)
            now_ns, cpu_ns = time.monotonic_ns(), time.process_time_ns()
            status = StreamStatus(
                at_ns=now_ns,
                clients=len(self._viewers),
                sent=self._tally.sent,
                dropped=self._tally.dropped,
                refused=self._tally.refused,
                cut=self._tally.cut,
                torn=self._reader.torn,
                cpu_ratio=(cpu_ns - before_cpu_ns) / max(1, now_ns - before_ns),
                resident_bytes=process.memory_info().rss,
            )
            before_ns, before_cpu_ns = now_ns, cpu_ns
            self._report(status)


def stream_url(host: str, port: int, request_id: str) -> str:
    """Return the address of a preview stream; a server that listens everywhere is named by the loopback address."""
    host = _WILDCARDS.get(host, host)
    return f"ws://{f'[{host}]' if ':' in host else host}:{port}{preview_path(request_id)}"


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()
