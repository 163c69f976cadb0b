"""A small RTSP server (RFC 2326): one stream, sent within the RTSP connection, with RTP packets made by ffmpeg."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

SDP = """v=0
o=- 0 0 IN IP4 127.0.0.1
s=test
c=IN IP4 0.0.0.0
t=0 0
m=video 0 RTP/AVP 96
a=rtpmap:96 H264/90000
a=fmtp:96 packetization-mode=1
a=control:track0
""".replace("\n", "\r\n")


class RtspServer:
    """Serves one client after the other.

    Args:
        clip: what is sent over and over.
        user: `name:password` that the client must give in Base64 ("Basic"), "" for none.
    """

    def __init__(self, clip: Path, authorization: str = "") -> None:
        self._clip = clip
        self._authorization = authorization
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, name="rtsp server")
        self._thread.start()

    def close(self) -> None:
        """Hang up and listen no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._connection, _ = self._listener.accept()
                with self._connection, contextlib.suppress(ConnectionError):
                    self._answer(self._connection)

    def _answer(self, connection: socket.socket) -> None:
        lines = connection.makefile("rb")
        while request := _read_request(lines):
            method, headers = request
            if self._authorization and headers.get("authorization") != self._authorization:
                _reply(connection, headers, "401 Unauthorized", ['WWW-Authenticate: Basic realm="test"'])
                continue
            match method:
                case "DESCRIBE":
                    _reply(connection, headers, "200 OK", ["Content-Type: application/sdp"], SDP)
                case "SETUP":
                    _reply(connection, headers, "200 OK", [f"Transport: {headers['transport']}", "Session: 1"])
                case "PLAY":
                    _reply(connection, headers, "200 OK", ["Session: 1"])
                    _send(self._clip, connection)
                    return
                case _:
                    _reply(connection, headers, "200 OK", ["Public: DESCRIBE, SETUP, PLAY, TEARDOWN"])


@contextlib.contextmanager
def rtsp_server(clip: Path, authorization: str = "") -> Iterator[int]:
    """Serve a clip; yields the port."""
    server = RtspServer(clip, authorization)
    try:
        yield server.port
    finally:
        server.close()


def _read_request(lines: BufferedReader) -> tuple[str, dict[str, str]] | None:
    read = iter(lines.readline, b"\r\n")
    text = []
    for line in read:
        if not line:
            return None
        text.append(line.decode())
    first, *rest = text
    pairs = [line.partition(":") for line in rest]
    return first.split()[0], {key.strip().lower(): value.strip() for key, _, value in pairs}


def _reply(connection: socket.socket, headers: dict[str, str], status: str, more: list[str], body: str = "") -> None:
    lines = [f"RTSP/1.0 {status}", f"CSeq: {headers['cseq']}", *more, f"Content-Length: {len(body)}", "", body]
    connection.sendall("\r\n".join(lines).encode())


def _send(clip: Path, connection: socket.socket) -> None:
    """Pass on what ffmpeg sends as datagrams, framed as RFC 2326, 10.12 has it, until the client hangs up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        datagrams.settimeout(5.0)
        url = f"rtp://127.0.0.1:{datagrams.getsockname()[1]}?pkt_size=1300"
        command = [
            "ffmpeg",
            "-v",
            "quiet",
            "-re",
            "-stream_loop",
            "-1",
            "-i",
            str(clip),
            "-c",
            "copy",
            "-f",
            "rtp",
            url,
        ]
        sender = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            while True:
                packet = datagrams.recv(2048)
                connection.sendall(struct.pack(">cBH", b"$", 0, len(packet)) + packet)
        except OSError:
            pass  # the client, or the server's `close`, has hung up
        finally:
            sender.kill()
            sender.wait()
