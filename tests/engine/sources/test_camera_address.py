"""A camera is asked for what the user wants, and what is wrong with it is said in a sentence. No camera is needed."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import av.error
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.source_text import CameraSpec, parse_source
from app.core.errors import SourceError
from app.engine.sources import camera_address
from app.engine.sources.camera_address import CameraAddress, formats_listed, offered_formats
from app.engine.sources.opening import open_source
from tests.engine.sources.test_media_opening import as_a_user


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


def refusal(device: str | Path, settings: str = "") -> str:
    with pytest.raises(SourceError) as caught:
        open_source(parse_source(f"v4l2:{device}{settings}"))
    text = str(caught.value)
    assert text.startswith(f"{device}: ")
    assert "; " in text, "an error ends with its cure"
    return text


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("v4l2:/dev/video0", {}),
        ("v4l2:/dev/video0,size=1280x720", {"video_size": "1280x720"}),
        ("v4l2:/dev/video0,fps=29.97,format=yuyv", {"framerate": "29.97", "input_format": "yuyv422"}),
    ],
)
def test_a_camera_is_asked_for_what_the_text_names_and_nothing_else(text: str, options: dict[str, str]) -> None:
    spec = parse_source(text)
    assert isinstance(spec, CameraSpec)
    assert CameraAddress(spec).options() == options


def test_a_missing_camera_is_answered_with_those_that_are_there(tmp_path: Path) -> None:
    text = refusal(tmp_path / "video7")
    assert "there is no such device; this machine has " in text


def test_a_file_is_no_camera(tmp_path: Path) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(b"x")
    assert "this is no device; this machine has " in refusal(path)


def test_another_device_captures_no_video() -> None:
    text = refusal("/dev/null")
    assert "this device captures no video (inappropriate ioctl for device); this machine has " in text


def test_a_camera_that_this_user_may_not_open_names_the_group_to_join() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        # Not a device, for want of one; so the check of the kind is left out.
        path = Path(folder) / "video0"
        path.write_bytes(b"")
        group = path.group()
        path.chmod(0)
        with as_a_user(), pytest.raises(SourceError) as caught:
            camera_address._check_access(path)
    assert f"join its group with: sudo usermod -aG {group} $USER, and log in again" in str(caught.value)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (errno.EBUSY, "another program is using this camera; find it with: fuser /dev/video0"),
        (errno.ENODEV, "this device captures no video (no such device); this machine has "),
        (errno.EINVAL, "the camera cannot do what is asked of it; leave size, fps and format out"),
        (errno.EIO, "cannot be opened (input/output error); this machine has "),
    ],
)
def test_the_faults_of_a_camera_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: int, sentence: str
) -> None:
    """Only a real camera fails in these ways, so FFmpeg's part is played."""

    def fail(*_: object, **__: object) -> None:
        av.error.err_check(-code)

    monkeypatch.setattr(camera_address, "open_container", fail)
    monkeypatch.setattr(camera_address, "_check_device", lambda _: None)
    monkeypatch.setattr(camera_address, "_cameras_here", lambda: "this machine has /dev/video1")
    assert sentence in refusal("/dev/video0", ",size=640x480")


# As libavdevice's v4l2.c writes it, each size in a message of its own.
LISTING = (
    "Raw       :     yuyv422 :           YUYV 4:2:2 : 640x480 1280x720\n"
    "Compressed:       mjpeg :          Motion-JPEG : 1920x1080\n"
    "Compressed: Unsupported : H.264 with Hdr: v2   :\n"
    "Raw       :        gray :     8-bit Greyscale  : {32-2592, 2}x{32-1944, 2}\n"
)


def test_the_list_of_formats_is_read() -> None:
    assert formats_listed(LISTING) == [
        "yuyv422 640x480 1280x720",
        "mjpeg 1920x1080",
        "Unsupported",
        "gray {32-2592, 2}x{32-1944, 2}",
    ]


@given(st.text())
def test_any_other_text_lists_nothing_or_something_and_breaks_nothing(text: str) -> None:
    assert all(isinstance(line, str) for line in formats_listed(text))


def test_a_device_without_a_list_offers_nothing() -> None:
    assert offered_formats("/dev/null") == []


def test_a_camera_that_gives_something_else_is_named() -> None:
    spec = CameraSpec("/dev/video0", size=(1280, 720), rate_hz=30.0)
    decoder = SimpleNamespace(width=640, height=480)
    stream: object = SimpleNamespace(codec_context=decoder, average_rate=15)
    told = CameraAddress(spec).shortcomings(stream)  # type: ignore[arg-type]  # what a driver would make of it
    assert told == [
        "/dev/video0: asked for 1280×720, the camera gives 640×480",
        "/dev/video0: asked for 30 fps, the camera gives 15",
    ]


def test_a_camera_that_gives_what_was_asked_for_is_no_news() -> None:
    spec = CameraSpec("/dev/video0", size=(640, 480), rate_hz=30.0)
    stream: object = SimpleNamespace(codec_context=SimpleNamespace(width=640, height=480), average_rate=30)
    assert CameraAddress(spec).shortcomings(stream) == []  # type: ignore[arg-type]  # what a driver would make of it
