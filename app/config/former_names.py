"""Former names of encoder settings, as old files and FFmpeg guides have them, read as what replaced them.

FFmpeg and NVENC replaced the single quality preset (`llhq`) and the `_hq` rate controls by three separate settings:
speed (p1–p7), tune and multipass. The pairs follow FFmpeg's own aliases. Lossless presets have no counterpart here
and stay an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

FORMER_NAMES: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "rc": {
        "vbr_hq": {"rc": "vbr", "tune": "hq", "multipass": "qres"},
        "cbr_hq": {"rc": "cbr", "tune": "hq", "multipass": "qres"},
        "cbr_ld_hq": {"rc": "cbr", "tune": "ll", "multipass": "qres"},
        "ll_2pass_quality": {"rc": "cbr", "tune": "ll", "multipass": "fullres"},
        "ll_2pass_size": {"rc": "cbr", "tune": "ll", "multipass": "fullres"},
        "vbr_2pass": {"rc": "vbr", "multipass": "fullres"},
        "vbr_minqp": {"rc": "vbr"},
    },
    "preset": {
        "default": {"preset": "p4"},
        "slow": {"preset": "p7", "tune": "hq", "multipass": "fullres"},
        "medium": {"preset": "p4", "tune": "hq"},
        "fast": {"preset": "p1", "tune": "hq"},
        "hp": {"preset": "p1", "tune": "hq"},
        "hq": {"preset": "p7", "tune": "hq"},
        "bd": {"preset": "p5", "tune": "hq"},
        "ll": {"preset": "p4", "tune": "ll"},
        "llhp": {"preset": "p1", "tune": "ll"},
        "llhq": {"preset": "p7", "tune": "ll"},
    },
    "codec": {
        "nvenc": {"codec": "h264_nvenc"},
        "nvenc_h264": {"codec": "h264_nvenc"},
        "nvenc_hevc": {"codec": "hevc_nvenc"},
        "h264": {"codec": "auto"},
        "x264": {"codec": "libx264"},
    },
}
"""Key in `encoder` → former value → the settings that replace it."""


def read_former_names(obj: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the object with former encoder names replaced, and a notice for each.

    A setting that the file itself gives, other than the former name, is never overruled.
    """
    encoder = obj.get("encoder")
    if not isinstance(encoder, dict):
        return obj, ()
    given = {key: value for key, value in encoder.items() if not _replacement(key, value)}
    notices: list[str] = []
    implied: dict[str, str] = {}
    for key, value in encoder.items():
        replacement = _replacement(key, value)
        if replacement:
            news = {name: new for name, new in replacement.items() if name not in given and name not in implied}
            implied |= news
            words = ", ".join(f"{name} {new}" for name, new in news.items())
            notices.append(f"encoder.{key}: the former name {value} is read as {words}")
    if not notices:
        return obj, ()
    # The file's own order of keys stays; only what a name implies beyond its own key is added at the end.
    renamed = {key: implied.get(key, value) for key, value in encoder.items()}
    return {**obj, "encoder": {**renamed, **implied}}, tuple(notices)


def _replacement(key: str, value: Any) -> Mapping[str, str]:
    return FORMER_NAMES.get(key, {}).get(value, {}) if isinstance(value, str) else {}
