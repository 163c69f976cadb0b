from __future__ import annotations

import pytest

from app.config.former_names import FORMER_NAMES, read_former_names
from app.config.options import option
from app.config.veoconfig import config_from_object

FORMER = [(key, former) for key, names in FORMER_NAMES.items() for former in names]


@pytest.mark.parametrize(("key", "former"), FORMER)
def test_every_former_name_is_read_as_settings_that_exist(key: str, former: str) -> None:
    obj, notices = read_former_names({"encoder": {key: former}})
    config_from_object(obj)
    assert len(notices) == 1
    assert former in notices[0]


@pytest.mark.parametrize(("key", "former"), FORMER)
def test_no_former_name_is_a_present_one(key: str, former: str) -> None:
    assert former not in option(f"encoder.{key}").choices


def test_what_the_file_says_itself_is_never_overruled() -> None:
    obj, notices = read_former_names({"encoder": {"tune": "ull", "rc": "vbr_hq"}})
    assert obj == {"encoder": {"tune": "ull", "rc": "vbr", "multipass": "qres"}}
    assert notices == ("encoder.rc: the former name vbr_hq is read as rc vbr, multipass qres",)


def test_two_former_names_that_imply_the_same_setting_agree_on_the_first() -> None:
    obj, _ = read_former_names({"encoder": {"rc": "vbr_hq", "preset": "llhq"}})
    assert obj["encoder"] == {"rc": "vbr", "preset": "p7", "tune": "hq", "multipass": "qres"}


@pytest.mark.parametrize("obj", [{}, {"encoder": None}, {"encoder": {"rc": "vbr"}}, {"encoder": {"rc": ["vbr_hq"]}}])
def test_anything_else_is_left_as_it_is(obj: dict[str, object]) -> None:
    assert read_former_names(obj) == (obj, ())
