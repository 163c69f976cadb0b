from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.source_text import (
    CAMERA_FORMATS,
    FILM_PROTOCOLS,
    LIVE_PROTOCOLS,
    CameraSpec,
    MediaSpec,
    NetworkSpec,
    PreviewStreamSpec,
    SyntheticSpec,
    parse_source,
    redacted,
    source_text,
)
from app.core.errors import InvalidInputError


def decimals(maximum: int) -> st.SearchStrategy[float]:
    """Return numbers that a person can write: decimals of at most six digits after the point."""
    return st.integers(0, maximum * 10**6).map(lambda millionths: millionths / 10**6)


synthetic_specs = st.builds(
    SyntheticSpec,
    width=st.integers(1, 16_384),
    height=st.integers(1, 16_384),
    rate_hz=decimals(1000),
    decode_mean_ms=decimals(10_000),
    decode_sd_ms=decimals(10_000),
    arrival_jitter_ms=decimals(10_000),
    stall_probability=decimals(1),
    stall_ms=decimals(60_000),
    seed=st.integers(0, 2**31 - 1),
)

reserved_endings = st.sampled_from(["", "?free", "?loop", "?free&loop", "?free?", "?loop??", "?", "?token=1"])
locations = st.builds(
    "{}{}".format, st.text(st.characters(codec="utf-8", exclude_characters="\0:"), min_size=1), reserved_endings
).filter(lambda location: location.strip() and not location.startswith("?"))

hosts = st.sampled_from(["camera", "10.0.0.7", "[::1]", "user:pa%40ss@camera.example"])
paths = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="/.-_%&=?~"), max_size=20).map(
    lambda path: f"/{path}"
)
films = st.builds(
    NetworkSpec,
    st.builds("{}://{}{}{}".format, st.sampled_from(FILM_PROTOCOLS), hosts, paths, reserved_endings),
    free=st.booleans(),
    loop=st.booleans(),
)
live_streams = st.builds(
    NetworkSpec,
    st.builds("{}://{}:{}{}".format, st.sampled_from(LIVE_PROTOCOLS), hosts, st.integers(1, 65_535), paths),
)
cameras = st.builds(
    CameraSpec,
    st.sampled_from(["/dev/video0", "/dev/v4l/by-id/usb-Maker_Camera-video-index0", "/home/me/odd name"]),
    size=st.none() | st.tuples(st.integers(1, 16_384), st.integers(1, 16_384)),
    rate_hz=st.just(0.0) | decimals(1000).filter(lambda rate_hz: rate_hz >= 0.1),
    input_format=st.sampled_from(("", *CAMERA_FORMATS)),
)
tokens = st.just("") | st.from_regex(r"[A-Za-z0-9._~+/-]{1,40}={0,2}", fullmatch=True)
preview_streams = st.builds(
    PreviewStreamSpec,
    st.builds(
        "{}://{}{}/v1/preview/{}".format,
        st.sampled_from(["ws", "wss"]),
        st.sampled_from(["camera", "127.0.0.1:8765", "[::1]:80"]),
        st.sampled_from(["", "/behind/a/proxy"]),
        st.from_regex(r"[A-Za-z0-9._-]{1,20}(\?quality=[0-9])?", fullmatch=True),
    ),
    tokens,
)


@given(synthetic_specs)
def test_a_synthetic_source_survives_its_text(spec: SyntheticSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(st.builds(MediaSpec, locations, free=st.booleans(), loop=st.booleans()))
def test_a_file_survives_its_text_whatever_its_name(spec: MediaSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(films | live_streams)
def test_an_address_survives_its_text(spec: NetworkSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(cameras)
def test_a_camera_survives_its_text(spec: CameraSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(preview_streams)
def test_a_preview_stream_survives_its_text(spec: PreviewStreamSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(
    st.text(max_size=30)
    | st.from_regex(r"(v4l2:/dev/|rtsp://|http://|preview\+ws://)[0-9a-z@,.=:?#/*\[\]%]{0,40}", fullmatch=True)
    | st.from_regex(r"synthetic:[0-9x@,.=:a-z_±]{0,40}", fullmatch=True)
)
def test_any_text_is_a_source_or_gets_a_sentence(text: str) -> None:
    try:
        spec = parse_source(text)
    except InvalidInputError as error:
        complaint = str(error)
    else:
        complaint = ""
        assert parse_source(source_text(spec)) == spec
    assert complaint == "" or complaint.startswith("source: ")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("synthetic:1280x720@60", SyntheticSpec(1280, 720, 60.0)),
        ("synthetic:1280×720@59.94", SyntheticSpec(1280, 720, 59.94)),
        ("Synthetic:64X48@0", SyntheticSpec(64, 48, 0.0)),
        (
            "synthetic:1x1@1000,decode_ms=4±1.5,arrival_jitter_ms=2,stall=0.01:200,seed=7",
            SyntheticSpec(1, 1, 1000.0, 4.0, 1.5, 2.0, 0.01, 200.0, 7),
        ),
        ("synthetic:1x1@60,decode_ms=4+-1", SyntheticSpec(1, 1, 60.0, 4.0, 1.0)),
        ("synthetic:1x1@60,decode_ms=4", SyntheticSpec(1, 1, 60.0, 4.0, 0.0)),
    ],
)
def test_a_synthetic_text_means(text: str, spec: SyntheticSpec) -> None:
    assert parse_source(text) == spec


def test_only_rate_0_is_free() -> None:
    assert SyntheticSpec(1, 1, 0.0).free
    assert not SyntheticSpec(1, 1, 0.001).free


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("clip.mp4", MediaSpec("clip.mp4")),
        ("clip.mp4?free", MediaSpec("clip.mp4", free=True)),
        ("clip.mp4?loop", MediaSpec("clip.mp4", loop=True)),
        ("clip.mp4?free&loop", MediaSpec("clip.mp4", free=True, loop=True)),
        ("clip.mp4?loop&free", MediaSpec("clip.mp4", free=True, loop=True)),
        ("clip.mp4?fast", MediaSpec("clip.mp4?fast")),
        ("clip?free?", MediaSpec("clip?free")),
        ("what?", MediaSpec("what?")),
        (r"C:\video\x.mp4", MediaSpec(r"C:\video\x.mp4")),
        (r"C:\video\x.mp4?loop", MediaSpec(r"C:\video\x.mp4", loop=True)),
        ("C:/video/x.mp4", MediaSpec("C:/video/x.mp4")),
        ("D:x.mp4", MediaSpec("D:x.mp4")),
        ("C://video/x.mp4", MediaSpec("C://video/x.mp4")),
        ("./synthetic:64x64@60", MediaSpec("./synthetic:64x64@60")),
        ("/tmp/v4l2:clip", MediaSpec("/tmp/v4l2:clip")),
        ("12:30 talk.mp4", MediaSpec("12:30 talk.mp4")),
        (" leading space.mp4", MediaSpec(" leading space.mp4")),
        ("file:///home/a%20b.mp4?loop", MediaSpec("/home/a b.mp4", loop=True)),
    ],
)
def test_a_file_text_means(text: str, spec: MediaSpec) -> None:
    assert parse_source(text) == spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("RTSP://camera/Path", NetworkSpec("rtsp://camera/Path")),
        ("http://host/clip.mp4?loop", NetworkSpec("http://host/clip.mp4", loop=True)),
        ("http://host/clip.mp4?loop?", NetworkSpec("http://host/clip.mp4?loop")),
        ("http://host/clip.mp4?v=2?free", NetworkSpec("http://host/clip.mp4?v=2", free=True)),
        ("udp://@:1234", NetworkSpec("udp://@:1234")),
        ("srt://:9000?mode=listener", NetworkSpec("srt://:9000?mode=listener")),
        ("v4l2:/dev/video0", CameraSpec("/dev/video0")),
        (
            "V4L2:/dev/video2,format=YUYV,size=640x480,fps=29.97",
            CameraSpec("/dev/video2", (640, 480), 29.97, "yuyv422"),
        ),
        ("preview+ws://127.0.0.1:8000/v1/preview/7", PreviewStreamSpec("ws://127.0.0.1:8000/v1/preview/7")),
        ("preview+wss://h/v1/preview/7?token=a.b", PreviewStreamSpec("wss://h/v1/preview/7", "a.b")),
        ("preview+wss://h/v1/preview/7#token=a%2Bb%3D", PreviewStreamSpec("wss://h/v1/preview/7", "a+b=")),
        ("preview+wss://h/v1/preview/7?q=1&token=a", PreviewStreamSpec("wss://h/v1/preview/7?q=1", "a")),
    ],
)
def test_an_address_text_means(text: str, spec: NetworkSpec | CameraSpec | PreviewStreamSpec) -> None:
    assert parse_source(text) == spec


def test_a_preview_stream_knows_its_request() -> None:
    assert PreviewStreamSpec("ws://h:1/v1/preview/caf%C3%A9?q=1").request_id == "café"


# --- secrets ----------------------------------------------------------------------------------------------------------

HIDING = {
    "rtsp://admin:hunter2@camera/stream": "rtsp://***@camera/stream",
    "rtsp://admin:hun/ter2@camera/stream": "rtsp://***@camera/stream",
    "rtsp://admin:hun@ter2@camera/stream": "rtsp://***@camera/stream",
    "https://hunter2@host/": "https://***@host/",
    "https://host:80/@someone/film.mp4": "https://host:80/@someone/film.mp4",
    "https://host/film.mp4?Token=hunter2&quality=3": "https://host/film.mp4?Token=***&quality=3",
    "srt://host:9000?mode=caller&passphrase=hunter2": "srt://host:9000?mode=caller&passphrase=***",
    "preview+wss://host/v1/preview/1#token=hunter2": "preview+wss://host/v1/preview/1#token=***",
    "clip.mp4?token=1": "clip.mp4?token=1",
    "tried rtsp://a:hunter2@b/ and https://c/?key=hunter2": "tried rtsp://***@b/ and https://c/?key=***",
    "udp://@:1234": "udp://@:1234",
}


@pytest.mark.parametrize("text", HIDING)
def test_an_address_is_shown_without_its_secrets(text: str) -> None:
    assert redacted(text) == HIDING[text]
    assert redacted(redacted(text)) == redacted(text)


@pytest.mark.parametrize("text", [text for text in HIDING if "hunter2" in text and " " not in text])
def test_neither_a_complaint_nor_a_representation_shows_a_secret(text: str) -> None:
    try:
        shown = repr(parse_source(text))
    except InvalidInputError as error:
        shown = f"{error} {error.problems}"
    assert "hunter2" not in shown


@given(tokens.filter(lambda token: len(token) > 5))
def test_no_token_of_a_preview_stream_is_shown(token: str) -> None:
    spec = PreviewStreamSpec("ws://h/v1/preview/1", token)
    assert redacted(source_text(spec)) == spec.redacted == "preview+ws://h/v1/preview/1#token=***"
    assert f"{spec} {spec!r}".count(token) == 0


@pytest.mark.parametrize("token", ["", "a%20b", "a%0D%0AX-Injected:%201", "schlüssel", "a&b"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(InvalidInputError, match="token that is empty or holds characters"):
        parse_source(f"preview+ws://h/v1/preview/1#token={token}")


@pytest.mark.parametrize("text", ["?token=a#token=b", "?token=a&token=b"])
def test_a_token_given_twice_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="gives a token twice"):
        parse_source(f"preview+ws://h/v1/preview/1{text}")


def test_a_user_name_before_a_preview_stream_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="has a user before the host"):
        parse_source("preview+ws://me:hunter2@h/v1/preview/1")


# --- complaints -------------------------------------------------------------------------------------------------------

FORM = (
    "write it as synthetic:WIDTHxHEIGHT@FPS[,decode_ms=MEAN±SD][,arrival_jitter_ms=SD][,stall=PROBABILITY:MS][,seed=N]"
    ", for example synthetic:1280x720@60,decode_ms=4±1,stall=0.01:200"
)
BUILT = (
    "give a video file (clip.mp4, clip.mp4?free, clip.mp4?loop), a stream (rtsp://HOST/PATH, https://HOST/PATH), "
    "a camera (v4l2:/dev/video0), a preview stream (preview+wss://HOST/v1/preview/ID#token=TOKEN) "
    "or synthetic:1280x720@60"
)
CAMERA = (
    "write it as v4l2:DEVICE[,size=WIDTHxHEIGHT][,fps=FPS][,format=NAME]"
    ", for example v4l2:/dev/video0,size=1280x720,fps=30,format=mjpeg"
)
PREVIEW = (
    "write it as preview+ws://HOST[:PORT]/v1/preview/ID[#token=TOKEN]"
    ", for example preview+wss://example.org/v1/preview/42#token=TOKEN"
)

GOLDEN = {
    "synthetic:": f"has no @FPS; {FORM}",
    "synthetic:64x64": f"has no @FPS; {FORM}",
    "synthetic:64@60": f"has the size “64”, which is not WIDTHxHEIGHT; {FORM}",
    "synthetic:0x64@60": f"has the width 0, which is outside 1–16384 px; {FORM}",
    "synthetic:64x16385@60": f"has the height 16385, which is outside 1–16384 px; {FORM}",
    "synthetic:64x64@": f"has the rate “”, which is not a number in 0–1000 fps; {FORM}",
    "synthetic:64x64@-1": f"has the rate “-1”, which is not a number in 0–1000 fps; {FORM}",
    "synthetic:64x64@nan": f"has the rate “nan”, which is not a number in 0–1000 fps; {FORM}",
    "synthetic:64x64@1e3": f"has the rate “1e3”, which is not a number in 0–1000 fps; {FORM}",
    "synthetic:64x64@٦٠": f"has the rate “٦٠”, which is not a number in 0–1000 fps; {FORM}",
    "synthetic:64x64@1001": f"has the rate 1001, which is outside 0–1000 fps; {FORM}",
    "synthetic:64x64@60,": f"has “”, which it does not know; {FORM}",
    "synthetic:64x64@60,decod_ms=4": f"has “decod_ms=4”, did you mean decode_ms=…; {FORM}",
    "synthetic:64x64@60,seed": f"has “seed”, did you mean seed=…; {FORM}",
    "synthetic:64x64@60,seed=1,seed=2": f"gives seed twice; {FORM}",
    "synthetic:64x64@60,seed=1.5": f"has seed “1.5”, which is not a whole number in 0–2147483647; {FORM}",
    "synthetic:64x64@60,decode_ms=4±-1": f"has decode_ms ± “-1”, which is not a number in 0–10000 ms; {FORM}",
    "synthetic:64x64@60,stall=0.1": f"has stall “0.1”, which is not PROBABILITY:MS; {FORM}",
    "synthetic:64x64@60,stall=2:100": f"has stall probability 2, which is outside 0–1; {FORM}",
    "v4l2:0": f"has the device “0”, which is no path; {CAMERA}",
    "v4l2:": f"has the device “”, which is no path; {CAMERA}",
    "v4l2:/dev/video0,fps=0": f"has fps 0, which is outside 0.1–1000 fps; {CAMERA}",
    "v4l2:/dev/video0,size=640": f"has the size “640”, which is not WIDTHxHEIGHT; {CAMERA}",
    "v4l2:/dev/video0,formt=mjpeg": f"has “formt=mjpeg”, did you mean format=…; {CAMERA}",
    "v4l2:/dev/video0,format=mpg": "has format “mpg”, which is none of mjpeg, h264, yuyv422, uyvy422, nv12, yuv420p, "
    f"yuv422p, gray, rgb24, bgr24; {CAMERA}",
    "preview+ws://localhost:8000/v2/1": f"has the path “/v2/1”, which does not end with /v1/preview/ID; {PREVIEW}",
    "preview+ws:///v1/preview/1": "names no host; write preview+ws://HOST/PATH",
    "preview+ws://h/v1/preview/1#x": f"has something else than a token behind the #; {PREVIEW}",
    "wss://localhost/": "is a WebSocket address; for a preview stream write "
    "preview+ws://HOST[:PORT]/v1/preview/ID[#token=TOKEN]",
    "ftp://host/clip.mp4": "has the protocol ftp://, which is not opened; use one of rtsp://, rtsps://, rtmp://, "
    "rtmps://, srt://, udp://, rtp://, tcp://, http://, https://",
    "rtsp:///path": "names no host; write rtsp://HOST/PATH",
    "udp://239.0.0.1": "names no port; write udp://HOST:PORT",
    "rtsp://camera/?loop": "is live (rtsp://), which can neither run free nor loop; leave ?free and ?loop out",
    "http://camera/a b": "has a blank or a control character in its address; write a blank as %20",
    "http://camera:99999/": "has no valid host, or a port outside 0–65535; write PROTOCOL://HOST:PORT/PATH, "
    "and /, ?, #, : and @ of a password as %2F, %3F, %23, %3A and %40",
    "rtsp://***@camera/": "holds *** for a password or token that was hidden when it was shown; "
    "give the address in full",
    "concat:a.ts|b.ts": "uses FFmpeg's concat: protocol, which is no source; for a file of that name write ./concat:…",
    "Data:text/plain,x": "uses FFmpeg's data: protocol, which is no source; for a file of that name write ./data:…",
    "subfile:,,start,9,end,0,,:x": "uses FFmpeg's subfile: protocol, which is no source; "
    "for a file of that name write ./subfile:…",
    "": f"names no source; {BUILT}",
    "  ": f"names no source; {BUILT}",
    "?free": f"names no file; {BUILT}",
}


@pytest.mark.parametrize("text", GOLDEN)
def test_a_bad_text_is_answered_with_the_form_and_an_example(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_source(text)
    assert str(caught.value) == f"source: “{text}” {GOLDEN[text]}"


def test_a_zero_byte_is_refused_visibly() -> None:
    with pytest.raises(InvalidInputError, match="a␀b"):
        parse_source("a\0b")
