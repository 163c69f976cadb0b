"""A destination is a file whose name says its kind, or a sentence about what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.errors import InvalidInputError
from app.engine.encode.destination import check_codec, parse_destination


def test_no_name_means_that_packets_are_only_counted() -> None:
    assert parse_destination("") is None


@pytest.mark.parametrize(("name", "container"), [("a.mp4", "mp4"), ("a.TS", "mpegts"), ("a.b.mkv", "matroska")])
def test_the_name_says_the_container(tmp_path: Path, name: str, container: str) -> None:
    destination = parse_destination(str(tmp_path / name))
    assert destination is not None
    assert destination.container == container
    assert not destination.path.exists()


def test_later_parts_have_names_of_their_own_beside_the_first(tmp_path: Path) -> None:
    destination = parse_destination(str(tmp_path / "clip.b.mkv"))
    assert destination is not None
    assert [destination.part(number).name for number in (1, 2, 10)] == [
        "clip.b.mkv",
        "clip.b.part2.mkv",
        "clip.b.part10.mkv",
    ]


@pytest.mark.parametrize("name", ["clip.avi", "clip", "mp4", "clip.mp4.gz"])
def test_another_kind_of_file_is_refused_with_the_kinds_there_are(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"\.mp4, \.ts and \.mkv"):
        parse_destination(str(tmp_path / name))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"encode_to: .*folder that is not there \(.*none\)"):
        parse_destination(str(tmp_path / "none" / "clip.mp4"))


def test_a_codec_that_a_container_has_no_place_for_is_refused(tmp_path: Path) -> None:
    ts, mkv = (parse_destination(str(tmp_path / name)) for name in ("a.ts", "a.mkv"))
    assert ts is not None
    assert mkv is not None
    check_codec(mkv, "av1_nvenc")
    check_codec(ts, "hevc_nvenc")
    with pytest.raises(InvalidInputError, match=r"no place for av1_nvenc; use \.mkv or \.mp4"):
        check_codec(ts, "av1_nvenc")
