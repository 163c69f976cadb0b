from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from app.config.editing import replace_option
from app.config.migrations import SchemaHistory
from app.config.store import LoadedConfig, load_config, migration_backup_path, parse_config, render_config, save_config
from app.config.veoconfig import VeoConfig, config_from_object, config_to_object
from app.core.errors import InvalidInputError
from tests.config.configurations import configurations


@given(configurations)
def test_a_configuration_survives_its_file(config: VeoConfig) -> None:
    data = render_config(config)
    assert parse_config(data).config == config
    assert render_config(parse_config(data).config) == data


@given(configurations)
def test_the_saved_form_is_what_any_json_tool_writes(config: VeoConfig) -> None:
    data = render_config(config)
    assert data.endswith(b"}\n")
    assert json.dumps(json.loads(data), indent=2, ensure_ascii=False).encode() + b"\n" == data


def test_saving_then_loading_gives_the_same(tmp_path: Path) -> None:
    config = replace_option(VeoConfig(), "frame_queue_depth", 8)
    path = tmp_path / "a.VeoConfig.json"
    save_config(config, path)
    assert load_config(path) == LoadedConfig(config, (), path, 1)


def test_the_previous_version_stays_as_backup(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    first, second = VeoConfig(name="first"), VeoConfig(name="second")
    save_config(first, path)
    save_config(second, path)
    assert load_config(tmp_path / "a.json.bak").config == first
    assert load_config(path).config == second


def test_saving_what_the_file_already_holds_leaves_the_backup_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for name in ("first", "second", "second"):
        save_config(VeoConfig(name=name), path)
    assert load_config(tmp_path / "a.json.bak").config.name == "first"


@pytest.mark.parametrize("own", [{"x_deep": None}, {"x_long": "a" * (1 << 20)}])
def test_what_could_not_be_read_again_is_not_saved(tmp_path: Path, own: dict[str, Any]) -> None:
    deep: list[Any] = []
    for _ in range(20):
        deep = [deep]
    config = config_from_object({key: deep if value is None else value for key, value in own.items()})
    path = tmp_path / "a.json"
    save_config(VeoConfig(), path)
    with pytest.raises(InvalidInputError, match=r"nesting is deeper|larger than 1 MiB"):
        save_config(config, path)
    assert load_config(path).config == VeoConfig()


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(InvalidInputError) as caught:
        load_config(path)
    assert str(caught.value) == (
        f"{path}: cannot be read: no such file or directory; "
        "check the path, or list the presets that come with VeoTuner with `veotuner presets`"
    )


def test_a_folder_in_place_of_a_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read: is a directory; name a file in it"):
        load_config(tmp_path)
    with pytest.raises(InvalidInputError, match="cannot be written: is a directory; name a file in it"):
        save_config(VeoConfig(), tmp_path)


def test_a_missing_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be written: no such file or directory; make its folder first"):
        save_config(VeoConfig(), tmp_path / "none" / "a.json")


def test_a_name_with_a_zero_byte_is_refused_not_a_traceback() -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_config(Path("a\0b"))
    with pytest.raises(InvalidInputError, match="cannot be written"):
        save_config(VeoConfig(), Path("a\0b"))


def test_an_endless_file_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="larger than 1 MiB"):
        load_config(Path("/dev/zero"))


HISTORY = SchemaHistory(
    version=3,
    migrations={
        1: lambda obj: {key.replace("queue_size", "frame_queue_depth"): value for key, value in obj.items()},
        2: lambda obj: obj | {"frame_queue_depth": obj["frame_queue_depth"] * 2},
    },
)


def test_an_older_file_is_migrated_step_by_step_with_a_notice(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"queue_size": 3}')
    loaded = load_config(path, history=HISTORY)
    assert loaded.config.frame_queue_depth == 6
    assert loaded.schema_version == 1
    assert loaded.notices == ("written as veoconfig/1, read as veoconfig/3",)
    assert path.read_text() == '{"queue_size": 3}', "reading never writes"


def test_saving_over_an_older_file_keeps_the_original_for_good(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    original = '{"queue_size": 3}'
    path.write_text(original)
    config = load_config(path, history=HISTORY).config
    save_config(config, path, history=HISTORY)
    save_config(replace_option(config, "name", "later"), path, history=HISTORY)
    assert migration_backup_path(path, 1).read_text() == original


def test_a_version_between_is_migrated_from_there(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text('{"schema": "veoconfig/2", "frame_queue_depth": 5}')
    assert load_config(path, history=HISTORY).config.frame_queue_depth == 10


def test_former_encoder_names_are_read_with_a_notice() -> None:
    loaded = parse_config(b'{"encoder": {"rc": "vbr_hq", "preset": "llhq"}}')
    assert (loaded.config.encoder.rc, loaded.config.encoder.preset) == ("vbr", "p7")
    assert loaded.notices == (
        "encoder.rc: the former name vbr_hq is read as rc vbr, tune hq, multipass qres",
        "encoder.preset: the former name llhq is read as preset p7",
    )


def test_a_problem_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('{\n  "frame_queue_depth": 0\n}')
    with pytest.raises(InvalidInputError) as caught:
        load_config(path)
    assert str(caught.value) == (
        f"{path}: frame_queue_depth: 0 is outside 1–64 frames (line 2, column 24); use 1 or more"
    )


@pytest.fixture
def folder_seen_by_all() -> Iterator[Path]:
    """A folder that another identity can reach, which pytest's own temporary folders are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextlib.contextmanager
def without_root() -> Iterator[None]:
    """Act as nobody where the tests run as root, whom no permission stops."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_folder_gets_a_clear_error_and_keeps_the_file(folder_seen_by_all: Path) -> None:
    path = folder_seen_by_all / "a.json"
    save_config(VeoConfig(name="kept"), path)
    folder_seen_by_all.chmod(0o555)
    with without_root(), pytest.raises(InvalidInputError) as caught:
        save_config(VeoConfig(name="new"), path)
    assert str(caught.value) == (
        f"{path}: cannot be written: permission denied; choose another path, or make the file and its folder writable"
    )
    assert load_config(path).config.name == "kept"


def test_a_file_that_may_not_be_read_says_so(folder_seen_by_all: Path) -> None:
    path = folder_seen_by_all / "a.json"
    save_config(VeoConfig(), path)
    path.chmod(0o000)
    with without_root(), pytest.raises(InvalidInputError) as caught:
        load_config(path)
    assert str(caught.value) == f"{path}: cannot be read: permission denied; ask its owner for the right to read it"


def test_the_saved_default_holds_every_key_in_file_order() -> None:
    assert list(json.loads(render_config(VeoConfig()))) == list(config_to_object(VeoConfig()))
