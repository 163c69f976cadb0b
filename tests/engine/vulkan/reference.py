"""The conversion as one would write it down from the standards, in float64, without a GPU: what the shader must match.

It shares no code with app.engine.vulkan.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.engine.picture import ChromaLocation, Matrix, Picture, PictureFormat, Plane

Codes = npt.NDArray[np.uint16]
Rgb = npt.NDArray[np.float64]

_KR_KB = {Matrix.BT601: (0.299, 0.114), Matrix.BT709: (0.2126, 0.0722), Matrix.BT2020: (0.2627, 0.0593)}


def picture_format(
    width: int,
    height: int,
    *,
    planes: int = 3,
    shift: tuple[int, int] = (1, 1),
    depth: int = 8,
    high_aligned: bool = False,
    matrix: Matrix = Matrix.BT709,
    full_range: bool = False,
    location: ChromaLocation = ChromaLocation.LEFT,
    rotation: int = 0,
    aspect: tuple[int, int] = (1, 1),
) -> PictureFormat:
    return PictureFormat(
        width, height, planes, *shift, depth, high_aligned, matrix, full_range, location, rotation, aspect
    )


def random_codes(form: PictureFormat, seed: int = 1) -> list[Codes]:
    """Return one array of code values a component: noise over the whole code range, so that clipping is met too."""
    random = np.random.default_rng(seed)
    components = 1 if form.plane_count == 1 else 3
    sizes = [form.plane_size(0), *[form.plane_size(1)] * (components - 1)]
    return [random.integers(0, 2**form.bit_depth, (height, width), np.uint16) for width, height in sizes]


def make_picture(form: PictureFormat, codes: list[Codes], padding: int = 0) -> Picture:
    """Return the code values as a decoder would lay them out, each line followed by `padding` foreign samples."""
    arrays = codes if form.plane_count != 2 else [codes[0], np.stack(codes[1:], axis=-1).reshape(codes[1].shape[0], -1)]
    return Picture(form, tuple(_plane(form, array, padding) for array in arrays))


def convert(form: PictureFormat, codes: list[Codes]) -> Rgb:
    """Return R′G′B′ in 0…255, shape (height, width, 3), unrotated and at the picture's own size."""
    y, x = np.mgrid[0 : form.height, 0 : form.width].astype(np.float64)
    cosited_x = form.chroma_location in (ChromaLocation.LEFT, ChromaLocation.TOP_LEFT)
    chroma_x = _chroma_index(x, form.chroma_shift_x, cosited_x)
    chroma_y = _chroma_index(y, form.chroma_shift_y, form.chroma_location is ChromaLocation.TOP_LEFT)
    components = [codes[0].astype(np.float64)]
    components += [_bilinear(plane.astype(np.float64), chroma_x, chroma_y) for plane in codes[1:]]
    return np.clip(_to_rgb(form, components), 0, 1) * 255


def _chroma_index(luma_index: Rgb, shift: int, cosited: bool) -> Rgb:
    """Return which chroma sample (fractional) lies at a luma sample: n·f when co-sited, n·f + (f−1)/2 when centred."""
    factor = 2**shift
    return np.asarray(luma_index / factor if cosited else (luma_index - (factor - 1) / 2) / factor)


def _bilinear(plane: Rgb, x: Rgb, y: Rgb) -> Rgb:
    height, width = plane.shape
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = x - x0, y - y0

    def at(column: npt.NDArray[np.int_], row: npt.NDArray[np.int_]) -> Rgb:
        return plane[np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]

    top = at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx
    bottom = at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx
    return np.asarray(top * (1 - fy) + bottom * fy)


def _to_rgb(form: PictureFormat, components: list[Rgb]) -> Rgb:
    unit = 2.0 ** (form.bit_depth - 8)
    top = 2.0**form.bit_depth - 1
    low, span, chroma_span = (0.0, top, top) if form.full_range else (16 * unit, 219 * unit, 224 * unit)
    if form.plane_count == 1:
        grey = (components[0] - low) / span
        return np.stack([grey, grey, grey], axis=-1)
    if form.matrix is Matrix.RGB:
        green, blue, red = ((component - low) / span for component in components)
        return np.stack([red, green, blue], axis=-1)
    kr, kb = _KR_KB[form.matrix]
    luma = (components[0] - low) / span
    cb, cr = ((component - 128 * unit) / chroma_span for component in components[1:])
    red = luma + 2 * (1 - kr) * cr
    blue = luma + 2 * (1 - kb) * cb
    green = (luma - kr * red - kb * blue) / (1 - kr - kb)
    return np.stack([red, green, blue], axis=-1)


def _plane(form: PictureFormat, array: Codes, padding: int) -> Plane:
    height, width = array.shape
    shift = 16 - form.bit_depth if form.high_aligned and form.bit_depth > 8 else 0
    kind = np.uint8 if form.bit_depth == 8 else np.dtype("<u2")
    padded = np.full((height, width + padding), 77, kind)
    padded[:, :width] = array << shift
    data = padded.tobytes()
    tail = padding * padded.itemsize  # the last line may end early
    return Plane(data[: len(data) - tail], padded.strides[0])
