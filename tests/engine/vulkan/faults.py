"""Vulkan functions that answer otherwise than the driver would, at a call of the test's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from app.engine.vulkan.api import FunctionTable

VulkanFunction = Callable[..., Any]


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
