#!/bin/sh
# Compiles every GLSL file of assets/shaders to SPIR-V beside it. With a folder as argument the SPIR-V goes there
# instead: a test compares that with what is committed.
set -eu
sources=$(CDPATH='' cd -- "$(dirname -- "$0")/../assets/shaders" && pwd)
target=${1:-$sources}
if ! command -v glslangValidator >/dev/null; then
    echo "glslangValidator is missing; install the package glslang-tools" >&2
    exit 1
fi
for source in "$sources"/*.vert "$sources"/*.frag; do
    glslangValidator --quiet -V --target-env vulkan1.1 -o "$target/$(basename "$source").spv" "$source"
done
