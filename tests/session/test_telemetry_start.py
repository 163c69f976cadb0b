"""What a run is told about the GPU it names before its engine starts, and what that engine finds in its environment."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.config.sections import Device
from app.config.veoconfig import VeoConfig
from app.core.errors import InvalidInputError
from app.session.active_run import device_variables
from app.session.engine_process import EngineProcess
from app.session.session import Session
from app.session.session_state import Phase, RunRequest
from app.session.telemetry_start import StartedTelemetry, start_telemetry
from tests.telemetry.fake_nvml import FakeGpu, InstallNvml

FIRST = "GPU-11111111-2222-3333-4444-555555555555"
SECOND = "GPU-99999999-2222-3333-4444-555555555555"
ABSENT = "GPU-00000000-2222-3333-4444-555555555555"
SLICE = "MIG-11111111-2222-3333-4444-555555555555"


@contextlib.contextmanager
def started(gpu: str, device: Device) -> Iterator[StartedTelemetry]:
    telemetry = start_telemetry(gpu, device)
    yield telemetry
    telemetry.sampler.stop()


def test_auto_reads_the_gpu_that_the_configuration_names(install_nvml: InstallNvml) -> None:
    install_nvml(FakeGpu(), FakeGpu(uuid=SECOND))
    with started("auto", Device(gpu_uuid=SECOND)) as telemetry:
        assert SECOND in telemetry.gpu
        assert telemetry.notices == ()


def test_an_unknown_gpu_is_never_replaced_by_the_one_that_is_there(install_nvml: InstallNvml) -> None:
    install_nvml()
    for choice in ("auto", FIRST):
        with pytest.raises(InvalidInputError, match=r"device\.gpu_uuid: GPU-00000000.* GPUs here: .*GPU-11111111"):
            start_telemetry(choice, Device(gpu_uuid=ABSENT))


def test_a_gpu_chosen_for_this_run_is_read_instead_of_the_configured_one(install_nvml: InstallNvml) -> None:
    install_nvml(FakeGpu(), FakeGpu(uuid=SECOND))
    with started(FIRST, Device(gpu_uuid=SECOND)) as telemetry:
        assert FIRST in telemetry.gpu


def test_a_slice_is_a_warning_about_vulkan(install_nvml: InstallNvml) -> None:
    install_nvml(FakeGpu(mig=1, mig_uuids=(SLICE,)))
    with started("auto", Device(mig_uuid=SLICE)) as telemetry:
        assert [(notice.severity, notice.kind) for notice in telemetry.notices] == [("warning", "device")]
        assert "no Vulkan graphics" in telemetry.notices[0].text
        assert FIRST in telemetry.gpu


def test_a_run_that_reads_no_gpu_says_that_the_name_was_not_checked() -> None:
    with started("none", Device(gpu_uuid=ABSENT)) as telemetry:
        assert "is not checked" in telemetry.notices[0].text


@pytest.mark.usefixtures("no_nvml")
def test_a_session_with_an_unknown_gpu_refuses_before_anything_is_made(tmp_path: Path) -> None:
    config = VeoConfig(device=Device(gpu_uuid=ABSENT))
    request = RunRequest("synthetic:64x64@60", "virtual:60", config, recording_dir=tmp_path / "run")
    with Session(request) as session:
        with pytest.raises(InvalidInputError, match=r"device\.gpu_uuid"):
            session.start()
        assert session.state.phase is Phase.IDLE
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("device", "seen"),
    [
        (Device(), None),
        (Device(gpu_uuid=FIRST), FIRST),
        (Device(mig_uuid=SLICE), SLICE),
        (Device(gpu_uuid=FIRST, mig_uuid=SLICE), SLICE),
    ],
)
def test_the_engines_process_sees_the_named_device_alone(
    device: Device, seen: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    say = "import os, sys; sys.stderr.write(repr(os.environ.get('CUDA_VISIBLE_DEVICES')))"
    engine = EngineProcess.spawn(command=[sys.executable, "-c", say], variables=device_variables(device))
    assert engine.end(10) == 0
    engine.log.join(1.0)
    assert list(engine.log.last_lines()) == [repr(seen)]
    engine.close()


def test_two_engines_side_by_side_see_a_device_each() -> None:
    say = "import os, sys; sys.stderr.write(os.environ['CUDA_VISIBLE_DEVICES'])"
    engines = [
        EngineProcess.spawn(command=[sys.executable, "-c", say], variables=device_variables(Device(gpu_uuid=uuid)))
        for uuid in (FIRST, SECOND)
    ]
    for engine, uuid in zip(engines, (FIRST, SECOND), strict=True):
        assert engine.end(10) == 0
        engine.log.join(1.0)
        assert list(engine.log.last_lines()) == [uuid]
        engine.close()


def test_an_unknown_vulkan_device_fails_the_run_and_lists_what_is_there() -> None:
    config = VeoConfig(device=Device(vulkan_device="no such card"))
    with Session(RunRequest("synthetic:64x64@60", "virtual:60", config, gpu="none")) as session:
        session.start()
        state = session.wait_for(lambda state: not state.phase.is_live, 30)
    assert state.phase is Phase.FAILED
    assert "No Vulkan device answers to 'no such card'; choose one of: " in state.failure
    assert "llvmpipe" in state.failure
