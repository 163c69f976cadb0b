from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from app.cli.main import cli
from app.config.store import save_config
from app.config.veoconfig import VeoConfig


def check(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["check", *arguments])
    return result.exit_code, result.output


def test_a_valid_file_exits_0(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save_config(VeoConfig(), path)
    assert check(str(path)) == (0, f"{path}: valid\n")


def test_every_error_of_every_file_gets_one_line_and_exits_1(tmp_path: Path) -> None:
    bad, good, gone = tmp_path / "bad.json", tmp_path / "good.json", tmp_path / "gone.json"
    bad.write_text('{"frame_queue_depth": 0,\n"present_mode": "VSYNC"}')
    good.write_text("{}")
    code, output = check(str(bad), str(good), str(gone))
    assert code == 1
    lines = output.splitlines()
    assert lines[0] == f"{bad}: frame_queue_depth: 0 is outside 1–64 frames (line 1, column 23); use 1 or more"
    assert lines[1].startswith(f'{bad}: present_mode: "VSYNC" is not one of FIFO')
    assert lines[2] == f"{good}: valid"
    assert lines[3].startswith(f"{gone}: cannot be read: no such file or directory")
    assert len(lines) == 4


def test_a_value_with_line_breaks_stays_on_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{"a\\nb\\u2028": 1, "present_mode": "x\\ny\\u2028\\u0085z"}')
    code, output = check(str(path))
    assert code == 1
    assert len(output.splitlines()) == 2


def test_a_notice_is_printed_and_does_not_fail(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"encoder": {"rc": "vbr_hq"}}')
    code, output = check(str(path))
    assert code == 0
    assert f"{path}: notice: encoder.rc: the former name vbr_hq" in output


def test_json_gives_every_field_of_every_problem(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_text('{"frame_queue_depth": 0}')
    good.write_text('{"encoder": {"preset": "llhq"}}')
    code, output = check("--json", str(bad), str(good))
    assert code == 1
    assert json.loads(output) == {
        "schema": "veotuner-check/1",
        "files": [
            {
                "file": str(bad),
                "valid": False,
                "notices": [],
                "problems": [
                    {
                        "path": "frame_queue_depth",
                        "value": "0",
                        "expected": "is outside 1–64 frames",
                        "hint": "use 1 or more",
                        "line": 1,
                        "column": 23,
                        "sentence": "frame_queue_depth: 0 is outside 1–64 frames (line 1, column 23); use 1 or more",
                    }
                ],
            },
            {
                "file": str(good),
                "valid": True,
                "notices": ["encoder.preset: the former name llhq is read as preset p7, tune ll"],
                "problems": [],
            },
        ],
    }


def test_no_file_is_a_usage_error() -> None:
    assert check()[0] == 2
