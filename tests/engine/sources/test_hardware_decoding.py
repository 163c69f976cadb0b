"""NVDEC is found out by trying; where it cannot be had, software decodes and the reason is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import av
import pytest
from av.codec.hwaccel import HWAccel
from av.video.codeccontext import VideoCodecContext

from app.config.source_text import MediaSpec
from app.core.errors import SourceError
from app.engine.sources.file_address import FileAddress
from app.engine.sources.hardware_decoding import HardwareDecoding, NoHardwareError, nvdec_device_fault
from app.engine.sources.media_description import Playback
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.media_opening import open_media
from app.engine.sources.opening import open_source
from tests.engine.sources.videos import Video, write_video
from tests.engine.sources.virtual_pacer import VirtualPacer


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


def there_is_a_device() -> str:
    return ""


def another_device_type() -> HWAccel:
    """Return an accelerator that FFmpeg has and that no software machine's H.264 decoder can use."""
    return HWAccel("drm", allow_software_fallback=False)


def description(path: Path, hardware: HardwareDecoding) -> str:
    source = MediaFileSource(FileAddress(str(path)), Playback(), VirtualPacer(), hardware=hardware)
    assert source.next() is not None, "the file plays all the same"
    source.close()
    assert source.info.decoder == "software"
    return source.info.description


def test_this_machine_is_told_apart_by_trying(tmp_path: Path) -> None:
    """On a machine with a CUDA device this file decodes there, on any other in software with the reason."""
    source = open_source(MediaSpec(str(write_video(tmp_path / "a.mp4", Video(frames=3)))))
    info = source.info
    source.close()
    if fault := nvdec_device_fault():
        assert fault == "no CUDA device"
        assert (info.decoder, info.pixel_format) == ("software", "yuv420p")
        assert info.description.endswith(", software decoder (NVDEC: no CUDA device)")
    else:
        assert (info.decoder, info.pixel_format) == ("NVDEC", "nv12")
        assert info.description.endswith(", NVDEC decoder, downloaded as NV12")


def test_a_device_that_goes_away_between_trial_and_opening_leaves_software(tmp_path: Path) -> None:
    if not nvdec_device_fault():
        pytest.skip("this machine has a CUDA device, which does not go away")
    path = write_video(tmp_path / "a.mp4", Video(frames=3))
    hardware = HardwareDecoding(4, device_fault=there_is_a_device)
    assert "software decoder (NVDEC: no device (" in description(path, hardware)


def test_a_codec_that_the_device_does_not_decode_leaves_software(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=3))
    hardware = HardwareDecoding(4, device_fault=there_is_a_device, accelerator=another_device_type)
    assert description(path, hardware).endswith("software decoder (NVDEC: its decoder is software only)")


def test_the_fault_of_a_file_is_not_put_down_to_the_decoder(tmp_path: Path) -> None:
    path = tmp_path / "missing.mp4"
    hardware = HardwareDecoding(4, device_fault=there_is_a_device, accelerator=another_device_type)
    with pytest.raises(SourceError, match="there is no such file"):
        open_media(FileAddress(str(path)), low_delay=True, hardware=hardware)


class AcceleratedDecoder:
    """Stands for a decoder that FFmpeg put on the GPU."""

    is_hwaccel = True
    name = "h264"

    def __init__(self) -> None:
        self.options = {"threads": "1"}


@pytest.mark.parametrize("depth", [1, 4, 32])
def test_the_decoder_has_a_surface_for_each_picture_that_waits_and_for_the_one_in_hand(depth: int) -> None:
    decoder = AcceleratedDecoder()
    HardwareDecoding(depth).set_up(decoder)  # type: ignore[arg-type]  # what FFmpeg would make only with a GPU
    assert decoder.options == {"threads": "1", "extra_hw_frames": str(depth + 1)}


def test_ffmpeg_knows_the_option_by_this_name() -> None:
    decoder = av.CodecContext.create("h264", "r")
    assert isinstance(decoder, VideoCodecContext)
    assert "extra_hw_frames" in {option.name for option in decoder.supported_options.generic}


def test_a_decoder_left_in_software_is_no_hardware_decoder() -> None:
    decoder = av.CodecContext.create("ffv1", "r")
    assert isinstance(decoder, VideoCodecContext)
    with pytest.raises(NoHardwareError, match="ffv1 decodes in software only"):
        HardwareDecoding(4).set_up(decoder)


def test_where_hardware_is_not_wanted_no_reason_is_given(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=3))
    assert open_media(FileAddress(str(path)), low_delay=True).no_hardware == ""
