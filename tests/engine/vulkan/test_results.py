from __future__ import annotations

import re

import pytest

from app.engine.vulkan import api
from app.engine.vulkan.results import DEVICE_LOST, RESULTS, SURFACE_LOST, SurfaceLostError, VulkanError, check

FOREIGN = re.compile("VIDEO|IMAGE_USAGE|THREAD|DEFERRED|SHADER_BINARY|DRM_FORMAT")
"""Codes of calls that are never made here."""


def test_every_result_of_the_headers_has_its_name() -> None:
    """The package's own table has wrong signs and gaps; this one is held against the enumeration itself."""
    headers = {
        value: name.removeprefix("VK_")
        for value, name in api.ffi.typeof("VkResult").elements.items()
        if not name.endswith("_MAX_ENUM")
    }
    ours = {code: name for code, (name, _) in RESULTS.items()}
    missing = [name for code, name in headers.items() if code not in ours and not FOREIGN.search(name)]
    assert missing == []
    wrong = {code: (ours[code], name) for code, name in headers.items() if code in ours and ours[code] not in name}
    assert wrong == {}


def test_an_error_names_the_call_the_code_and_a_cure() -> None:
    with pytest.raises(VulkanError, match=r"vkQueueSubmit.*DEVICE_LOST; restart the engine") as caught:
        check(DEVICE_LOST, "vkQueueSubmit")
    assert caught.value.is_device_lost


def test_a_lost_surface_is_told_apart() -> None:
    with pytest.raises(SurfaceLostError):
        check(SURFACE_LOST, "vkAcquireNextImageKHR")


def test_a_code_nobody_knows_is_an_error_and_not_a_key_error() -> None:
    with pytest.raises(VulkanError, match="-77"):
        check(-77, "vkNewThing")
