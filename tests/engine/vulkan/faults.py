"""Vulkan functions that answer otherwise than the driver would, at a call of the test's choice."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any, Final

import pytest

from app.engine.vulkan import api, device, instance, physical_device, plane_sets, swapchain
from app.engine.vulkan.api import FunctionTable
from app.engine.vulkan.present_timing_abi import TIMING_QUEUE_FULL
from app.engine.vulkan.results import (
    DEVICE_LOST,
    NOT_READY,
    OUT_OF_DATE,
    OUT_OF_HOST_MEMORY,
    SUBOPTIMAL,
    SURFACE_LOST,
    TIMEOUT,
)

VulkanFunction = Callable[..., Any]

_STATIC_CALLERS: Final[tuple[ModuleType, ...]] = (device, instance, physical_device, plane_sets, swapchain)
"""Modules that call functions of the loader itself, as `lib.vk…`."""

_STILL_DONE: Final = {
    # A present that fails for these has waited for its semaphore all the same, and its fence will signal.
    "vkQueuePresentKHR": {OUT_OF_DATE, SURFACE_LOST, SUBOPTIMAL},
    "vkAcquireNextImageKHR": {SUBOPTIMAL},
    # A lost device is idle; this one must become so before its objects go.
    "vkDeviceWaitIdle": {DEVICE_LOST},
    "vkWaitForFences": {DEVICE_LOST},
}
"""Function → codes with which it does its work and answers otherwise; else a function that fails does nothing."""

NAMES: Final = {
    OUT_OF_HOST_MEMORY: "OUT_OF_HOST_MEMORY", DEVICE_LOST: "DEVICE_LOST", SURFACE_LOST: "SURFACE_LOST",
    OUT_OF_DATE: "OUT_OF_DATE", SUBOPTIMAL: "SUBOPTIMAL", TIMEOUT: "TIMEOUT", NOT_READY: "NOT_READY",
    TIMING_QUEUE_FULL: "TIMING_QUEUE_FULL",
}  # fmt: skip
"""Result codes that are injected."""

LOSES_DEVICE: Final = (
    "vkAcquireNextImageKHR", "vkAllocateMemory", "vkCreateSwapchainKHR", "vkDeviceWaitIdle", "vkGetFenceStatus",
    "vkGetQueryPoolResults", "vkMapMemory", "vkQueuePresentKHR", "vkQueueSubmit", "vkResetFences", "vkWaitForFences",
)  # fmt: skip
"""Functions that may answer DEVICE_LOST."""

_HANG_S: Final = 25


@contextmanager
def replaced(functions: FunctionTable, name: str, make: Callable[[VulkanFunction], VulkanFunction]) -> Iterator[None]:
    """Within the block, `functions.name` is what `make` returns for the real function."""
    real = getattr(functions, name)
    setattr(functions, name, make(real))
    try:
        yield
    finally:
        setattr(functions, name, real)


def answering(code: int) -> Callable[[VulkanFunction], VulkanFunction]:
    """Make a function do its work and answer `code` all the same."""

    def make(real: VulkanFunction) -> VulkanFunction:
        def call(*arguments: Any) -> int:
            real(*arguments)
            return code

        return call

    return make


class FaultyDriver:
    """Stands between the engine and every Vulkan function that returns a VkResult.

    Attributes:
        calls: function → how often it was called. struck: the fault has happened.
    """

    def __init__(self, name: str = "", code: int = 0, at: int = 1) -> None:
        """Answer `code` at call number `at` (from 1) of a function; without a name, only count."""
        self._name = name
        self._code = code
        self._at = at
        self.calls: Counter[str] = Counter()
        self.struck = False

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the driver for everything that is opened from now on."""
        fetch = FunctionTable.__getattr__

        def fetch_wrapped(table: FunctionTable, name: str) -> Any:
            function = self._wrap(name, fetch(table, name))
            setattr(table, name, function)
            return function

        patch.setattr(FunctionTable, "__getattr__", fetch_wrapped)
        for module in _STATIC_CALLERS:
            patch.setattr(module, "lib", _FaultyLibrary(self))

    def _wrap(self, name: str, function: VulkanFunction) -> VulkanFunction:
        if not api.ffi.typeof(function).result.cname.endswith("VkResult"):
            return function

        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            code = self._fault_of(name)
            is_done = code == 0 or code in _STILL_DONE.get(name, ())
            answer = function(*arguments) if is_done else code
            return code or answer

        return call

    def _fault_of(self, name: str) -> int:
        if name == self._name and self.calls[name] == self._at:
            self.struck = True
            return self._code
        # A device that is lost stays lost, for every function of it.
        is_lost = self.struck and self._code == DEVICE_LOST and not name.startswith(_OF_INSTANCE)
        return DEVICE_LOST if is_lost else 0


_OF_INSTANCE: Final = (
    "vkCreateInstance", "vkCreateDevice", "vkEnumerate", "vkGetPhysicalDevice", "vkCreateHeadlessSurface",
    "vkCreateXcbSurface",
)  # fmt: skip


class _FaultyLibrary:
    """The loader's own functions behind a `FaultyDriver`."""

    def __init__(self, driver: FaultyDriver) -> None:
        self._driver = driver

    def __getattr__(self, name: str) -> Any:
        function = self._driver._wrap(name, getattr(api.lib, name))
        setattr(self, name, function)
        return function


@contextmanager
def no_hang(what: str) -> Iterator[None]:
    """Fail when the block takes longer than any finite wait of the engine; main thread only."""

    def on_alarm(_signal: int, _frame: FrameType | None) -> None:
        pytest.fail(f"{what}: hangs")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(_HANG_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def strikes(name: str, count: int) -> list[int]:
    """Return the calls, of `count`, at which a fault of a function strikes in turn.

    The first, the second, a middle one and the last; every call of a wait, as each may be for something else that is
    then still in use.
    """
    assert count, f"the engine does not use {name} any more: its row goes"
    every = range(1, count + 1)
    return list(every) if name == "vkWaitForFences" else sorted({1, 2, (count + 1) // 2, count} & set(every))
