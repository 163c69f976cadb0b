#!/bin/sh
# Compiles every shader of assets/shaders to SPIR-V beside it (`.glsl` files are parts of others), and records which
# compiler made it (COMPILER) and the checksums of sources and results (SHA256SUMS). With a folder as argument
# everything goes there instead: a test compares that with what is committed.
set -eu
sources=$(CDPATH='' cd -- "$(dirname -- "$0")/../assets/shaders" && pwd)
target=${1:-$sources}
if ! command -v glslangValidator >/dev/null; then
    echo "glslangValidator is missing; install the package glslang-tools" >&2
    exit 1
fi
for source in "$sources"/*.vert "$sources"/*.frag "$sources"/*.comp; do
    glslangValidator --quiet -V --target-env vulkan1.1 -o "$target/$(basename "$source").spv" "$source"
done
glslangValidator --version | head -n 1 >"$target/COMPILER"
if [ "$target" = "$sources" ]; then
    cd "$sources" && sha256sum -- *.vert *.frag *.comp *.glsl *.spv >SHA256SUMS
fi
