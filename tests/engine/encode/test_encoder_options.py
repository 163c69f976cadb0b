"""Every key of `encoder` reaches the encoder, or a sentence says why not."""

from __future__ import annotations

from typing import Any, get_args

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.options import OPTIONS
from app.config.sections import Encoder, EncoderCodec
from app.engine.encode.encoder_options import (
    LIBX264,
    VBV_MS,
    encoder_options,
    expected_held_frames,
    option_notices,
    target_bitrate_bits_per_s,
)
from tests.engine.encode.pictures import config_of

NVENC = [codec for codec in get_args(EncoderCodec) if codec.endswith("_nvenc")]
CODECS = [LIBX264, *NVENC]

NOT_AN_OPTION = {
    "enabled": "decides whether there is a branch at all",
    "codec": "decides which encoder the options are for",
}

CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "preset": ({"preset": "p1"}, {"preset": "p6"}),
    "tune": ({"tune": "hq"}, {"tune": "ull"}),
    "rc": ({"rc": "vbr"}, {"rc": "constqp"}),
    "bitrate_kbps": ({}, {"bitrate_kbps": 4000}),
    "max_rate_kbps": ({"rc": "vbr", "bitrate_kbps": 4000}, {"rc": "vbr", "bitrate_kbps": 4000, "max_rate_kbps": 6000}),
    "cq": ({"rc": "vbr"}, {"rc": "vbr", "cq": 30}),
    "gop_frames": ({}, {"gop_frames": 30}),
    "b_frames": ({}, {"b_frames": 2}),
    "lookahead": ({}, {"lookahead": 16}),
    "multipass": ({}, {"multipass": "fullres"}),
}


def test_every_key_of_the_encoder_has_a_row() -> None:
    assert set(CHANGES) | set(NOT_AN_OPTION) == set(Encoder.model_fields)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("key", CHANGES)
def test_a_key_changes_the_options_or_a_notice_says_why_not(key: str, codec: str) -> None:
    before, after = (config_of(**keys) for keys in CHANGES[key])
    assert encoder_options(before, codec) != encoder_options(after, codec) or any(
        key in notice for notice in option_notices(after, codec)
    )


@pytest.mark.parametrize("codec", NVENC)
def test_the_queue_depth_sets_the_surfaces_of_nvenc(codec: str) -> None:
    assert encoder_options(config_of(depth=7), codec)["surfaces"] == "7"
    assert encoder_options(config_of(depth=7, tune="hq"), codec)["delay"] == "6"


@pytest.mark.parametrize("codec", CODECS)
def test_ffmpeg_knows_every_option_by_name(codec: str) -> None:
    supported = av.CodecContext.create(codec, "w").supported_options
    known = {entry.name for entry in (*supported.generic, *supported.private)}
    for keys in [keys for pair in CHANGES.values() for keys in pair] + [{"tune": "ll"}]:
        assert set(encoder_options(config_of(**keys), codec)) <= known


@pytest.mark.parametrize("codec", NVENC)
@pytest.mark.parametrize("key", ["preset", "tune", "rc", "multipass"])
def test_nvenc_has_every_choice_that_the_table_offers(key: str, codec: str) -> None:
    option = next(entry for entry in av.CodecContext.create(codec, "w").supported_options.private if entry.name == key)
    offered = next(entry for entry in OPTIONS if entry.key == f"encoder.{key}").choices
    assert set(offered or ()) <= {choice.name for choice in option.choices}


@given(
    st.sampled_from(CODECS),
    st.sampled_from(["hq", "ll", "ull"]),
    st.sampled_from(["cbr", "vbr", "constqp"]),
    st.one_of(st.none(), st.integers(100, 400_000)),
    st.one_of(st.none(), st.integers(400_000, 800_000)),
    st.one_of(st.none(), st.integers(0, 51)),
)
def test_the_rate_is_governed_by_one_rule_only(
    codec: str, tune: str, rc: str, bitrate: int | None, ceiling: int | None, cq: int | None
) -> None:
    quality = None if bitrate is not None else cq
    config = config_of(tune=tune, rc=rc, bitrate_kbps=bitrate, max_rate_kbps=ceiling, cq=quality)
    options = encoder_options(config, codec)
    rules = {"qp", "crf", "cq"} & options.keys()
    aims_at_bitrate = options.get("b", "0") != "0"
    assert len(rules) + aims_at_bitrate <= 1
    assert len(rules) + aims_at_bitrate == 1 or codec != LIBX264
    assert ("maxrate" not in options) or ("bufsize" in options)
    assert (target_bitrate_bits_per_s(config) is not None) == aims_at_bitrate


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("tune", ["hq", "ll", "ull"])
def test_the_rate_control_buffer_is_shorter_where_delay_matters_more(codec: str, tune: str) -> None:
    options = encoder_options(config_of(tune=tune, bitrate_kbps=4000), codec)
    assert int(options["bufsize"]) == 4_000_000 * VBV_MS[tune] // 1000


@pytest.mark.parametrize("codec", NVENC)
@pytest.mark.parametrize("tune", ["ll", "ull"])
def test_the_low_latency_tunes_take_nvenc_s_three_frames_away(codec: str, tune: str) -> None:
    assert expected_held_frames({}) == 3
    assert expected_held_frames(encoder_options(config_of(tune="hq"), codec)) == 3
    assert expected_held_frames(encoder_options(config_of(tune=tune), codec)) == 1


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({"surfaces": "0", "delay": "0"}, 1),
        ({"surfaces": "8"}, 7),
        ({"surfaces": "8", "delay": "2"}, 2),
        ({"surfaces": "1"}, 1),
        ({"bf": "2"}, 11),
        ({"bf": "2", "delay": "0"}, 3),
        ({"bf": "2", "surfaces": "4"}, 11),
        ({"rc-lookahead": "20"}, 25),
        ({"rc-lookahead": "20", "delay": "0"}, 21),
        ({"rc-lookahead": "64"}, 65),
    ],
)
def test_what_nvenc_holds_follows_ffmpeg_s_arithmetic(options: dict[str, str], held: int) -> None:
    assert expected_held_frames(options) == held


@given(st.integers(0, 64), st.integers(0, 64), st.integers(0, 4), st.integers(0, 64))
def test_nvenc_never_holds_fewer_for_a_longer_delay_or_more_lookahead(
    surfaces: int, delay: int, b_frames: int, lookahead: int
) -> None:
    def held(delay: int, lookahead: int) -> int:
        options = {"surfaces": surfaces, "delay": delay, "bf": b_frames, "rc-lookahead": lookahead}
        return expected_held_frames({name: str(value) for name, value in options.items()})

    assert 1 <= held(delay, lookahead) <= held(delay + 1, lookahead)
    assert held(delay, lookahead) <= held(delay, lookahead + 1)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"rc": "constqp", "bitrate_kbps": 4000}, "bitrate_kbps"),
        ({"rc": "cbr", "cq": 20}, "rc cbr"),
        ({"rc": "cbr"}, "rc cbr"),
        ({"rc": "cbr", "bitrate_kbps": 4000, "max_rate_kbps": 5000}, "max_rate_kbps"),
        ({"rc": "constqp", "max_rate_kbps": 5000}, "max_rate_kbps"),
        ({"multipass": "qres"}, "multipass"),
        ({"tune": "ull", "b_frames": 1}, "tune ull"),
    ],
)
def test_what_libx264_cannot_do_as_asked_is_said_once(keys: dict[str, Any], key: str) -> None:
    asked = config_of(**{"bitrate_kbps": None, **keys})
    assert sum(key in notice for notice in option_notices(asked, LIBX264)) == 1


def test_what_can_be_done_is_no_notice() -> None:
    assert option_notices(config_of(bitrate_kbps=4000), LIBX264) == ()
    assert option_notices(config_of(tune="hq", rc="vbr", bitrate_kbps=4000, max_rate_kbps=6000), "h264_nvenc") == ()
