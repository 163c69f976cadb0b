from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.sink_text import HeadlessSpec, SinkSpec, VirtualSpec, WaylandSpec, X11Spec, parse_sink, sink_text
from app.core.errors import InvalidInputError

pixels = st.integers(1, 16_384)

sink_specs = (
    st.builds(
        VirtualSpec,
        refresh_hz=st.integers(10**6, 1000 * 10**6).map(lambda millionths: millionths / 10**6),
        images=st.none() | st.integers(2, 16),
        compositor=st.integers(0, 4),
        process_on_gpu=st.booleans(),
    )
    | st.builds(HeadlessSpec, pixels, pixels)
    | st.builds(WaylandSpec, pixels, pixels)
    | st.builds(X11Spec, st.none() | st.integers(1, 2**32 - 1), pixels, pixels)
)


@given(sink_specs)
def test_a_sink_survives_its_text(spec: SinkSpec) -> None:
    assert parse_sink(sink_text(spec)) == spec


@given(st.text(max_size=30) | st.from_regex(r"(virtual|headless|x11|wayland)[:,0-9a-z=x.]{0,30}", fullmatch=True))
def test_any_text_is_a_sink_or_gets_a_sentence(text: str) -> None:
    try:
        spec = parse_sink(text)
    except InvalidInputError as error:
        complaint = str(error)
    else:
        complaint = ""
        assert parse_sink(sink_text(spec)) == spec
    assert complaint == "" or complaint.startswith("sink: ")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("virtual:60", VirtualSpec(60.0)),
        ("virtual:59.94,images=3,compositor=1,process=none", VirtualSpec(59.94, 3, 1, process_on_gpu=False)),
        ("virtual:60,process=gpu", VirtualSpec(60.0)),
        ("headless", HeadlessSpec(1280, 720)),
        ("headless:64x48", HeadlessSpec(64, 48)),
        ("x11", X11Spec(None, 1280, 720)),
        ("X11", X11Spec(None, 1280, 720)),
        ("x11,640x480", X11Spec(None, 640, 480)),
        ("x11:0x3A00007", X11Spec(0x3A00007, 1280, 720)),
        ("x11:123,640x480", X11Spec(123, 640, 480)),
        ("wayland", WaylandSpec(1280, 720)),
        ("wayland:640x360", WaylandSpec(640, 360)),
    ],
)
def test_a_sink_text_means(text: str, spec: SinkSpec) -> None:
    assert parse_sink(text) == spec


VIRTUAL = "write it as virtual:HZ[,images=K][,compositor=REFRESHES][,process=gpu|none], for example virtual:60,images=3"
HEADLESS = "write it as headless[:WIDTHxHEIGHT], for example headless:1280x720"
X11 = "write it as x11[:WINDOW_ID][,WIDTHxHEIGHT], for example x11:0x3a00007,1280x720"
WAYLAND = "write it as wayland[:WIDTHxHEIGHT], for example wayland:1280x720"
BUILT = "give virtual:60, headless, headless:1280x720, x11, x11:WINDOW_ID or wayland"

GOLDEN = {
    "virtual": f"has the refresh rate “”, which is not a number in 1–1000 Hz; {VIRTUAL}",
    "virtual:0.5": f"has the refresh rate 0.5, which is outside 1–1000 Hz; {VIRTUAL}",
    "virtual:1001": f"has the refresh rate 1001, which is outside 1–1000 Hz; {VIRTUAL}",
    "virtual:60,images=1": f"has images 1, which is outside 2–16 images; {VIRTUAL}",
    "virtual:60,images=17": f"has images 17, which is outside 2–16 images; {VIRTUAL}",
    "virtual:60,compositor=5": f"has compositor 5, which is outside 0–4 refreshes; {VIRTUAL}",
    "virtual:60,process=cpu": f"has process “cpu”, which is not gpu or none; {VIRTUAL}",
    "virtual:60,image=3": f"has “image=3”, did you mean images=…; {VIRTUAL}",
    "virtual:60,images=3,images=4": f"gives images twice; {VIRTUAL}",
    "headless:": f"has the size “”, which is not WIDTHxHEIGHT; {HEADLESS}",
    "headless:0x5": f"has the width 0, which is outside 1–16384 px; {HEADLESS}",
    "headless:5x5,images=3": f"has “images=3”, which it does not know; {HEADLESS}",
    "x11:": f"has the window id “”, which is not a decimal or 0x… number; {X11}",
    "x11:window": f"has the window id “window”, which is not a decimal or 0x… number; {X11}",
    "x11:0": f"has the window id 0, which is outside 1–4294967295; {X11}",
    "x11:4294967296": f"has the window id 4294967296, which is outside 1–4294967295; {X11}",
    "x11:1,5x5,6x6": f"has “6x6”, which it does not know; {X11}",
    "wayland:": f"has the size “”, which is not WIDTHxHEIGHT; {WAYLAND}",
    "wayland:64x0": f"has the height 0, which is outside 1–16384 px; {WAYLAND}",
    "wayland:64x48,images=3": f"has “images=3”, which it does not know; {WAYLAND}",
    "waylan": f"names a sink that this version cannot open; {BUILT}",
    "": f"names no sink; {BUILT}",
}


@pytest.mark.parametrize("text", GOLDEN)
def test_a_bad_text_is_answered_with_the_form_and_an_example(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_sink(text)
    assert str(caught.value) == f"sink: “{text}” {GOLDEN[text]}"
