"""The encoder in use is the one asked for, or the first that really encodes, and the reason is told."""

from __future__ import annotations

import pytest

from app.core.errors import EngineError, InvalidInputError
from app.engine.encode.codec_choice import choose_codec, try_encoder
from app.engine.encode.encoder_options import encoder_options
from tests.engine.encode.pictures import config_of


def encodes(_codec: str, _options: dict[str, str]) -> str:
    return ""


def broken(_codec: str, _options: dict[str, str]) -> str:
    return "broken"


def without_nvenc(codec: str, _options: dict[str, str]) -> str:
    return "" if codec == "libx264" else "no encode device"


def test_libx264_encodes_here_with_every_tune() -> None:
    for tune in ("hq", "ll", "ull"):
        assert try_encoder("libx264", encoder_options(config_of(tune=tune, bitrate_kbps=4000), "libx264")) == ""


def test_a_trial_says_in_ffmpeg_s_words_why_not_and_says_so_again() -> None:
    options = encoder_options(config_of(), "libx264") | {"preset": "warp"}
    faults = [try_encoder("libx264", options) for _ in range(2)]
    assert faults[0] == faults[1]
    assert "warp" in faults[0]


def test_a_trial_names_an_option_that_this_ffmpeg_does_not_know() -> None:
    assert "flux_capacitor" in try_encoder("libx264", {"flux_capacitor": "1"})


def test_auto_takes_nvenc_where_it_encodes_and_else_libx264_with_the_reason() -> None:
    config = config_of(codec="auto")
    assert choose_codec(config, encodes) == ("h264_nvenc", "")
    choice = choose_codec(config, without_nvenc)
    assert choice.codec == "libx264"
    assert "h264_nvenc is not usable here (no encode device)" in choice.reason


def test_an_encoder_that_was_asked_for_is_never_replaced() -> None:
    with pytest.raises(InvalidInputError, match=r"hevc_nvenc does not encode here \(no encode device\); use auto"):
        choose_codec(config_of(codec="hevc_nvenc"), without_nvenc)


def test_where_nothing_encodes_the_error_says_what_was_tried_and_what_to_do() -> None:
    with pytest.raises(EngineError, match=r"h264_nvenc .*libx264 .*encoder\.enabled false"):
        choose_codec(config_of(codec="auto"), broken)


def test_the_real_choice_of_auto_encodes() -> None:
    choice = choose_codec(config_of(codec="auto"))
    assert choice.codec in ("h264_nvenc", "libx264")
    assert bool(choice.reason) == (choice.codec == "libx264")
