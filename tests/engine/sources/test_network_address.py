"""What cannot be reached is refused with a sentence that says why and what to do, without the password in it."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.config.source_text import LIVE_PROTOCOLS, NetworkSpec, parse_source
from app.core.errors import SourceError
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.network_address import NetworkAddress
from app.engine.sources.opening import open_network_source, open_source
from app.engine.sources.source import Delivery, Source
from tests.engine.sources.rtsp_server import rtsp_server
from tests.engine.sources.stream_servers import broadcast, free_port, silent_server, web_server
from tests.engine.sources.test_live_media import are_consecutive, numbers, play
from tests.engine.sources.videos import Video, write_video


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


def refusal(url: str, timeout_s: float = 5.0) -> str:
    spec = parse_source(url)
    assert isinstance(spec, NetworkSpec)
    with pytest.raises(SourceError) as caught:
        open_network_source(NetworkAddress(spec, open_timeout_s=timeout_s, read_timeout_s=timeout_s))
    text = str(caught.value)
    assert text.startswith(f"{spec.redacted}: ")
    assert "; " in text, "an error ends with its cure"
    return text


@pytest.mark.parametrize("protocol", ["http", "tcp", "rtsp", "rtmp"])
def test_a_port_where_nobody_listens(protocol: str) -> None:
    assert "nobody listens there (connection refused); start the sender" in refusal(
        f"{protocol}://127.0.0.1:{free_port()}/live"
    )


def test_a_host_that_does_not_exist() -> None:
    # The ending is reserved for names that never exist (RFC 6761).
    assert "the host nowhere.invalid is not known; check its name" in refusal("tcp://nowhere.invalid:80")


@pytest.mark.parametrize("protocol", ["http", "rtsp", "tcp"])
def test_a_server_that_does_not_answer_is_given_up_within_the_timeout(protocol: str) -> None:
    with silent_server() as port:
        asked_s = time.monotonic()
        assert "no answer within 0.5 s; check host and port" in refusal(f"{protocol}://127.0.0.1:{port}/", 0.5)
    assert time.monotonic() - asked_s < 10


def test_datagrams_that_nobody_sends() -> None:
    text = refusal(f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}", 0.5)
    assert "nothing came in within 0.5 s; see that the sender runs and sends to this machine and port" in text


def test_a_path_that_the_server_does_not_have(tmp_path: Path) -> None:
    with web_server(tmp_path) as port:
        assert "the server has nothing at this path (404); check the path" in refusal(f"http://127.0.0.1:{port}/a.mp4")


def test_a_page_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<html>" + "hello " * 1000)
    with web_server(tmp_path) as port:
        assert "what comes is no video that FFmpeg can read" in refusal(f"http://127.0.0.1:{port}/")


def test_a_protocol_that_ffmpeg_is_built_without_is_named() -> None:
    text = refusal(f"srt://127.0.0.1:{free_port()}", 0.5)
    assert "this FFmpeg is built without srt; have the stream sent by another protocol" in text or "no answer" in text


def test_a_password_is_in_no_sentence() -> None:
    text = refusal(f"http://me:hunter2@127.0.0.1:{free_port()}/?token=hunter2")
    assert "hunter2" not in text
    assert "http://***@127.0.0.1:" in text


def test_a_playlist_from_the_network_does_not_open_files_of_this_machine(tmp_path: Path) -> None:
    private = write_video(tmp_path / "private.ts", Video(frames=10))
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "list.m3u8").write_text(
        f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.3,\nfile://{private}\n#EXT-X-ENDLIST\n"
    )
    with web_server(tmp_path / "www") as port:
        refusal(f"http://127.0.0.1:{port}/list.m3u8")


@pytest.mark.parametrize("protocol", LIVE_PROTOCOLS)
def test_a_live_stream_is_read_without_a_buffer_that_would_make_it_late(protocol: str) -> None:
    assert NetworkAddress(NetworkSpec(f"{protocol}://host:1")).options()["fflags"] == "nobuffer"


def test_a_film_keeps_what_was_read_to_learn_its_format() -> None:
    address = NetworkAddress(NetworkSpec("http://host/"))
    assert "fflags" not in address.options()
    assert address.as_live().options()["fflags"] == "nobuffer"


# --- RTSP -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return broadcast(tmp_path_factory.mktemp("broadcast") / "clip.ts")


def test_an_rtsp_camera_is_shown_frame_by_frame(clip: Path) -> None:
    with rtsp_server(clip) as port:
        source = open_source(parse_source(f"rtsp://127.0.0.1:{port}/live"))
        frames = play(source, 30)
        source.close()
    assert are_consecutive(numbers(frames))
    assert source.info.live


def test_an_rtsp_camera_that_asks_for_a_password_gets_it(clip: Path) -> None:
    authorization = "Basic " + base64.b64encode(b"me:hunter2").decode()
    with rtsp_server(clip, authorization) as port:
        for user in ("", "me:wrong@"):
            text = refusal(f"rtsp://{user}127.0.0.1:{port}/live")
            assert "the server wants a user, or another one (401); give USER:PASSWORD@ before the host" in text
            assert "wrong" not in text
        source = open_source(parse_source(f"rtsp://me:hunter2@127.0.0.1:{port}/live"))
        play(source, 3)
        source.close()
    assert "hunter2" not in source.info.description
    assert source.take_notices() == []


# --- films on a server ------------------------------------------------------------------------------------------------


def film(folder: Path, name: str = "film.mkv") -> Path:
    return write_video(folder / name, Video(frames=20, options={"bf": "0"}))


def played(source: Source) -> list[Delivery]:
    frames = []
    while (delivery := source.next()) is not None:
        frames.append(delivery)
    source.close()
    return frames


def test_a_film_on_a_server_is_played_by_its_timestamps_like_a_file(tmp_path: Path) -> None:
    film(tmp_path)
    with web_server(tmp_path) as port:
        source = open_source(parse_source(f"http://127.0.0.1:{port}/film.mkv"))
        assert isinstance(source, MediaFileSource)
        frames = played(source)
    assert numbers(frames) == list(range(20))
    arrivals = [frame.arrive_ns - frames[0].arrive_ns for frame in frames]
    assert arrivals == [frame.pts_ns for frame in frames]
    assert source.info.duration_s == pytest.approx(20 / 30, abs=0.05)
    assert source.take_notices() == []


def test_a_film_on_a_server_loops_and_runs_free(tmp_path: Path) -> None:
    film(tmp_path)
    with web_server(tmp_path) as port:
        source = open_source(parse_source(f"http://127.0.0.1:{port}/film.mkv?free&loop"))
        frames = play(source, 50)
        source.interrupt()
        assert source.next() is None
        source.close()
    assert numbers(frames) == [*range(20), *range(20), *range(10)]
    assert source.info.free_running


def test_a_playlist_is_a_film_in_parts(tmp_path: Path) -> None:
    film(tmp_path, "part.ts")
    (tmp_path / "list.m3u8").write_text(
        "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.666,\npart.ts\n#EXT-X-ENDLIST\n"
    )
    with web_server(tmp_path) as port:
        source = open_source(parse_source(f"http://127.0.0.1:{port}/list.m3u8?free"))
        assert isinstance(source, MediaFileSource)
        assert numbers(played(source)) == list(range(20))


def test_a_film_that_the_server_cuts_off_plays_up_to_there_and_says_so(tmp_path: Path) -> None:
    data = film(tmp_path).read_bytes()
    greeting = f"HTTP/1.0 200 OK\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data[: len(data) // 2]
    with silent_server(greeting) as port:
        spec = NetworkSpec(f"http://127.0.0.1:{port}/film.mkv", free=True)
        source = open_network_source(NetworkAddress(spec, open_timeout_s=1.0, read_timeout_s=0.5))
        frames = played(source)
    found = numbers(frames)
    assert 2 < len(found) < 20
    assert found == list(range(len(found)))
    assert any(
        "cut short or damaged (no data came in time); played up to there" in one for one in source.take_notices()
    )
