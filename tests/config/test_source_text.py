from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.source_text import MediaSpec, SyntheticSpec, parse_source, source_text
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


@given(synthetic_specs)
def test_a_synthetic_source_survives_its_text(spec: SyntheticSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(st.builds(MediaSpec, locations, free=st.booleans(), loop=st.booleans()))
def test_a_file_survives_its_text_whatever_its_name(spec: MediaSpec) -> None:
    assert parse_source(source_text(spec)) == spec


@given(st.text(max_size=30) | st.from_regex(r"synthetic:[0-9x@,.=:a-z_±]{0,40}", fullmatch=True))
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


FORM = (
    "write it as synthetic:WIDTHxHEIGHT@FPS[,decode_ms=MEAN±SD][,arrival_jitter_ms=SD][,stall=PROBABILITY:MS][,seed=N]"
    ", for example synthetic:1280x720@60,decode_ms=4±1,stall=0.01:200"
)
BUILT = "give a video file (clip.mp4, clip.mp4?free, clip.mp4?loop) or synthetic:1280x720@60"

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
    "v4l2:/dev/video0": f"names a camera (v4l2), which this version cannot open; {BUILT}",
    "preview+ws://localhost:8000/v1/preview/1": "names the network or device address preview+ws://, "
    f"which this version cannot open; {BUILT}",
    "wss://localhost/": f"names the network or device address wss://, which this version cannot open; {BUILT}",
    "rtsp://camera/": f"names the network or device address rtsp://, which this version cannot open; {BUILT}",
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
