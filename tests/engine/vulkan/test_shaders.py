from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from app.engine.vulkan.shaders import shader_folder

ROOT = Path(__file__).resolve().parents[3]
STAGES = (".vert", ".frag", ".comp")
SOURCES = sorted(path for path in shader_folder().iterdir() if path.suffix in STAGES)
PARTS = sorted(shader_folder().glob("*.glsl"))


def test_there_are_shaders() -> None:
    assert {path.name for path in SOURCES} >= {"convert.frag", "convert.vert", "interpolation_blend.comp"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_compiled_shader_was_made_from_its_source(source: Path) -> None:
    recorded = dict(line.split()[::-1] for line in (shader_folder() / "SHA256SUMS").read_text().splitlines())
    for path in (source, source.with_name(f"{source.name}.spv"), *PARTS):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert recorded[path.name] == digest, "run packaging/compile_shaders.sh"


def test_the_sources_compile_and_give_what_is_shipped(tmp_path: Path) -> None:
    """Another compiler version may number things anew, so the words are compared only under the version recorded."""
    assert shutil.which("glslangValidator"), "install the package glslang-tools"
    subprocess.run([ROOT / "packaging" / "compile_shaders.sh", tmp_path], check=True)
    same_compiler = (tmp_path / "COMPILER").read_text() == (shader_folder() / "COMPILER").read_text()
    for source in SOURCES:
        made = (tmp_path / f"{source.name}.spv").read_bytes()
        assert made[:4] == b"\x03\x02\x23\x07"
        if same_compiler:
            assert made == (shader_folder() / f"{source.name}.spv").read_bytes()
