"""The compiled shaders, beside their GLSL source in assets/shaders; `packaging/compile_shaders.sh` makes them."""

from __future__ import annotations

from pathlib import Path

import app
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import Device


def shader_folder() -> Path:
    """Return the folder of the shaders: in the installed package, else in the source tree."""
    package = Path(app.__file__).parent
    installed = package / "data" / "assets" / "shaders"
    return installed if installed.is_dir() else package.parent / "assets" / "shaders"


def create_shader_module(device: Device, name: str) -> Handle:
    """Return a `VkShaderModule` of a compiled shader (`convert.frag`)."""
    code = (shader_folder() / f"{name}.spv").read_bytes()
    words = ffi.new("uint32_t[]", len(code) // 4)
    ffi.memmove(words, code, len(code))
    return device.create("ShaderModule", api.struct("VkShaderModuleCreateInfo", codeSize=len(code), pCode=words))
