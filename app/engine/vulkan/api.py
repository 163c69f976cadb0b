"""The one door to the `vulkan` package: its cffi objects, and structs that keep what they point to alive.

The package's wrappers are not used: they raise on success codes (SUBOPTIMAL loses the acquired image index), raise
KeyError on codes their table lacks, and their constructors drop false keyword values and cost 10–18 µs a struct.
Raw calls release the GIL while they run. cffi objects have no static types, so they are `Any` here and are wrapped in
typed classes one level up.
"""

from __future__ import annotations

import importlib
import re
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

Handle = Any
"""A Vulkan handle (`VkImage`, `VkDevice`): a cffi pointer."""

Struct = Any
"""A cffi pointer to a Vulkan struct that owns its memory; fields are read and set by attribute."""

vk: Any
LOADER_FAULT: str
"""Why Vulkan cannot be used at all, or "" ; `instance.open_instance` turns it into an error with a cure."""

try:
    # Importing the package opens the Vulkan loader. A machine without one still runs the engine on the virtual
    # display, so the fault is kept for whoever asks for an instance.
    vk = importlib.import_module("vulkan")
    LOADER_FAULT = ""
except OSError as error:
    vk = None
    LOADER_FAULT = str(error)

ffi: Any = vk.ffi if vk is not None else None
lib: Any = vk.lib if vk is not None else None

_kept: weakref.WeakKeyDictionary[Any, tuple[object, ...]] = weakref.WeakKeyDictionary()

_STRUCTURE_TYPES: Final = {
    "VkPhysicalDeviceIDProperties": 1000071004,
    "VkPhysicalDevicePCIBusInfoPropertiesEXT": 1000212000,
    "VkPhysicalDeviceVulkan13Features": 53,
    # The package computes 1000543000 from the KHR extension's number; drivers and layers keep the EXT value.
    "VkCalibratedTimestampInfoKHR": 1000184000,
}
"""`sType` of structs whose constant does not follow from their name, or is wrong in the package."""


def struct(name: str, **fields: object) -> Struct:
    """Return a new Vulkan struct with `sType` set, zero where no field is given.

    Whatever the fields point to lives at least as long as the struct: a struct built inside a list loses its own
    members otherwise (seen in 298 of 300 tries).
    """
    pointer = ffi.new(f"{name} *", fields)
    structure_type = _structure_type(name)
    if structure_type is not None:
        pointer.sType = structure_type
    _kept[pointer] = tuple(fields.values())
    return pointer


def array(name: str, items: Sequence[Any]) -> Struct:
    """Return a C array of a struct or handle type; structs are given by pointer, copied and kept alive."""
    values = [item[0] if _is_struct_pointer(item) else item for item in items]
    result = ffi.new(f"{name}[]", values)
    _kept[result] = tuple(items)
    return result


def strings(texts: Sequence[str]) -> Struct:
    """Return a `char*[]` of the texts, which it keeps alive."""
    items = [ffi.new("char[]", text.encode()) for text in texts]
    result = ffi.new("char *[]", items)
    _kept[result] = tuple(items)
    return result


def text(characters: Any) -> str:
    """Return a C string as text."""
    return str(ffi.string(characters).decode("utf-8", "replace"))


def _is_struct_pointer(item: object) -> bool:
    if not isinstance(item, ffi.CData):
        return False
    kind = ffi.typeof(item)
    return kind.kind == "pointer" and kind.item.kind == "struct" and bool(getattr(kind.item, "fields", None))


@lru_cache(maxsize=256)
def _structure_type(name: str) -> int | None:
    """Return the `sType` of a struct, None for one without that member."""
    fields = ffi.typeof(name).fields
    if not fields or fields[0][0] != "sType":
        return None
    if name in _STRUCTURE_TYPES:
        return _STRUCTURE_TYPES[name]
    words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z])", "_", name.removeprefix("Vk")).upper()
    return int(getattr(vk, f"VK_STRUCTURE_TYPE_{words}"))


class FunctionTable:
    """Vulkan functions by name, fetched once: from the device where there is one, which skips the loader's dispatch.

    Raises:
        AttributeError: the driver has no such function.
    """

    def __init__(self, get_address: str, owner: Handle) -> None:
        self._get_address = get_address
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        address = getattr(lib, self._get_address)(self._owner, name.encode())
        if address == ffi.NULL:
            raise AttributeError(f"the Vulkan driver has no {name}")
        function = ffi.cast(f"PFN_{name}", address)
        setattr(self, name, function)
        return function
