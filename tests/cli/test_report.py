"""`veotuner report` on real run directories, and what it says of everything that is none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from app.cli.report import report
from app.core.errors import RecordingError
from tests.session.test_recorder import Recorded


def recorded_run(directory: Path) -> Path:
    recorded = Recorded(directory, 1024)
    recorded.write(0, 40)
    recorded.finish()
    recorded.close()
    return directory


def cut_run(tmp_path: Path) -> Path:
    """Return a recording as SIGKILL leaves it: a copy of one that is being written."""
    recorded = Recorded(tmp_path / "live", 1024)
    recorded.write(0, 40)
    recorded.recorder.flush()
    shutil.copytree(tmp_path / "live", tmp_path / "cut")
    recorded.finish()
    recorded.close()
    return tmp_path / "cut"


def test_a_recorded_run_becomes_one_html_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(recorded_run(tmp_path / "run"), tmp_path / "out.html")
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert capsys.readouterr().out == f"report: {tmp_path / 'out.html'}\n"


def test_without_a_name_the_report_lies_in_the_run_directory(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    report(run, None)
    assert (run / "report.html").is_file()


def test_a_recording_that_was_cut_off_is_recovered_and_the_report_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(cut_run(tmp_path), tmp_path / "out.html")
    assert "recovered" in capsys.readouterr().err
    assert "recovered: its writer was ended in the middle" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_named_with_a_cure(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    with pytest.raises(RecordingError, match="choose another place with -o"):
        report(run, tmp_path / "missing" / "out.html")


def test_a_folder_without_a_recording_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=tmp_path.name):
        report(tmp_path, tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_run_directory(tmp_path: Path) -> None:
    file = tmp_path / "film.mp4"
    file.write_bytes(b"no recording")
    with pytest.raises(RecordingError, match=r"film\.mp4"):
        report(file, None)


def test_a_folder_cannot_be_the_report(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is a folder; name the HTML file"):
        report(tmp_path, tmp_path)
