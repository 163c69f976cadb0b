"""The passes of frame interpolation: which shader runs over what, with which constants, in which order."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final, Literal, NamedTuple

from app.engine.picture import PictureFormat
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.interpolation_layout import SEARCH_RADIUS, InterpolationLayout, MadePlane
from app.engine.vulkan.interpolation_objects import Constant, create_compute_pipeline

InterpolationKind = Literal["blend", "motion"]

GROUP_SIDE: Final = 8
"""Invocations of a workgroup across and down, in every shader but the search: it has a workgroup for each block."""


class Pass(NamedTuple):
    """One dispatch: pipeline, push constants without the phase, workgroups across, down and deep."""

    pipeline: Handle
    constants: Struct
    groups: tuple[int, int, int]


Step = tuple[Pass, ...]
"""Passes that may run side by side; the next step needs what they write."""


class PassTable:
    """The pipelines of all passes, and the passes of each kind of interpolation in their order.

    Attributes:
        steps: kind → steps.
    """

    def __init__(
        self, device: Device, pipeline_layout: Handle, picture_format: PictureFormat, layout: InterpolationLayout
    ) -> None:
        self._device = device
        self._pipeline_layout = pipeline_layout
        self._format = picture_format
        self._layout = layout
        self._pipelines: list[Handle] = []
        with ExitStack() as stack:
            stack.callback(self._close_pipelines)
            self.steps: dict[InterpolationKind, tuple[Step, ...]] = {
                "blend": (self._plane_step("interpolation_blend.comp"),),
                "motion": (*self._motion_steps(), self._plane_step("interpolation_compensate.comp")),
            }
            self._parts = stack.pop_all()

    def close(self) -> None:
        """Free the pipelines; the GPU must be done with them."""
        self._parts.close()

    def _pipeline(self, shader: str, constants: dict[int, Constant]) -> Handle:
        pipeline = create_compute_pipeline(self._device, self._pipeline_layout, shader, constants)
        self._pipelines.append(pipeline)
        return pipeline

    def _close_pipelines(self) -> None:
        for pipeline in self._pipelines:
            self._device.destroy("Pipeline", pipeline)

    def _motion_steps(self) -> list[Step]:
        """Return the steps from the pictures to a vector a block: the pyramid upwards, the vectors downwards."""
        levels = self._layout.levels
        scale: dict[int, Constant] = {0: _luma_scale(self._format)}
        luma, trust = (self._pipeline(f"interpolation_{name}.comp", scale) for name in ("luma", "trust"))
        search = self._pipeline("interpolation_search.comp", {0: SEARCH_RADIUS})
        halve, refine, smooth, evidence = (
            self._pipeline(f"interpolation_{name}.comp", {}) for name in ("halve", "refine", "smooth", "evidence")
        )
        coarsest = len(levels) - 1
        passes = [self._level_pass(luma, 0, deep=2)]
        passes += [self._level_pass(halve, level, deep=2) for level in range(1, len(levels))]
        passes.append(Pass(search, self._level_constants(coarsest), (*levels[coarsest].blocks, 1)))
        passes.append(self._block_pass(smooth, coarsest))
        for level in reversed(range(coarsest)):
            passes += [self._block_pass(refine, level), self._block_pass(smooth, level)]
        passes.append(self._block_pass(trust, 0))
        passes += [self._block_pass(evidence, level) for level in range(self._layout.evidence_levels)]
        return [(each,) for each in passes]

    def _level_pass(self, pipeline: Handle, level: int, deep: int) -> Pass:
        """Return a pass with an invocation for every word of a level, `deep` times."""
        size = self._layout.levels[level]
        return Pass(pipeline, self._level_constants(level), (_groups(size.stride_words), _groups(size.height), deep))

    def _block_pass(self, pipeline: Handle, level: int) -> Pass:
        across, down = self._layout.levels[level].blocks
        return Pass(pipeline, self._level_constants(level), (_groups(across), _groups(down), 1))

    def _plane_step(self, shader: str) -> Step:
        """Return a pass for every plane of the made-up picture."""
        return tuple(
            Pass(
                self._pipeline(shader, _plane_constants(self._format, index, self._layout)),
                self._level_constants(0, plane),
                (_groups(plane.stride_words), _groups(plane.height), 1),
            )
            for index, plane in enumerate(self._layout.planes)
        )

    def _level_constants(self, level: int, plane: MadePlane | None = None) -> Struct:
        """Return the block `Pass` of assets/shaders/interpolation.glsl up to the phase, int32 words."""
        layout = self._layout
        here = layout.levels[level]
        finer, coarser = layout.levels[max(0, level - 1)], layout.levels[min(level + 1, len(layout.levels) - 1)]
        words = [
            here.width, here.height, *here.blocks, here.stride_words, here.first_word, here.first_vector,
            finer.stride_words, finer.width, finer.height, finer.first_word,
            coarser.first_vector, *coarser.blocks,
            layout.pyramid_words, layout.field_vectors,
            plane.first_word if plane else 0, plane.stride_words if plane else 0, level,
        ]  # fmt: skip
        return ffi.new("int32_t[]", words)


def _groups(invocations: int) -> int:
    return -(-invocations // GROUP_SIDE)


def _luma_scale(picture_format: PictureFormat) -> float:
    """Return the factor from a luma sample as a texture gives it to steps of 8 bits."""
    if picture_format.bit_depth == 8:
        return 255.0
    unused_bits = 8 if picture_format.high_aligned else picture_format.bit_depth - 8
    return float(65535 / (1 << unused_bits))


def _plane_constants(picture_format: PictureFormat, plane: int, layout: InterpolationLayout) -> dict[int, Constant]:
    """Return the specialisation constants of assets/shaders/interpolation_plane.glsl and of the compensation."""
    if picture_format.bit_depth == 8:
        top_code = 255.0
    else:
        top_code = 65535.0 if picture_format.high_aligned else float(2**picture_format.bit_depth - 1)
    constants: dict[int, Constant] = {
        0: plane,
        1: picture_format.components(plane),
        2: picture_format.bytes_per_sample,
        3: top_code,
        6: layout.evidence_levels,
    }
    if plane > 0:
        constants |= {4: picture_format.chroma_shift_x, 5: picture_format.chroma_shift_y}
    return constants
