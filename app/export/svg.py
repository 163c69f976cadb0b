"""Matplotlib figures as inline SVG that follows the page: its ink, its light or dark scheme, its fonts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

INK: Final = "#010203"
"""Stands for the colour of text and frames until the page's own takes its place."""

FAINT: Final = "#040506"
"""Stands for the colour of grids and secondary marks."""

PAPER: Final = "#070809"
"""Stands for the page's background (edges between bands)."""

_PAGE_COLOURS: Final = {INK: "var(--ink)", FAINT: "var(--faint)", PAPER: "var(--paper)"}

_STYLE: Final[dict[RcKeyType, Any]] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, copied and read aloud, and the file is smaller
    "svg.hashsalt": "veotuner",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlesize": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "path.simplify": False,  # the curves are decimated already, by a rule that keeps spikes
}

_WIDTH_IN: Final = 10.0
_LEFT_IN: Final = 1.75
_RIGHT_IN: Final = 0.15
_BOTTOM_IN: Final = 0.5
_LEGEND_ROW_IN: Final = 0.22


def make_figure(heights_in: Sequence[float], *, legend_rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure and its axes from top to bottom, of these heights.

    The margins are the same in every figure, so that their time axes lie one under the other on the page. Above each
    axes there is room for a legend.
    """
    legend_in = 0.08 + _LEGEND_ROW_IN * legend_rows
    height_in = sum(heights_in) + legend_in * len(heights_in) + _BOTTOM_IN
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH_IN, height_in))
        FigureCanvasSVG(figure)
        axes: list[Axes] = []
        top_in = height_in
        for each_in in heights_in:
            top_in -= legend_in + each_in
            box = (_LEFT_IN, top_in, _WIDTH_IN - _LEFT_IN - _RIGHT_IN, each_in)
            sides = (_WIDTH_IN, height_in, _WIDTH_IN, height_in)
            left, bottom, width, height = (part / side for part, side in zip(box, sides, strict=True))
            axes.append(figure.add_axes((left, bottom, width, height), sharex=axes[0] if axes else None))
            axes[-1].grid(True)
        for each in axes[:-1]:
            each.tick_params(labelbottom=False)
        return figure, axes


def svg_text(figure: Figure, name: str, description: str) -> str:
    """Return the figure as an `<svg>` element for inlining; the same figure gives the same bytes.

    Args:
        name: unique in the page; every id inside begins with it.
        description: what a reader who cannot see it is told.
    """
    with mpl.rc_context(_STYLE):
        stream = StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return _inlined(stream.getvalue(), name, description)


def style() -> Any:
    """Return a context in which artists are made in the report's style."""
    return mpl.rc_context(_STYLE)


def _inlined(document: str, name: str, description: str) -> str:
    text = document[document.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)  # an HTML page needs no namespaces, and so holds no address
    text = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', _opening_tag(name, description), text, count=1)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", text)
    for stand_in, variable in _PAGE_COLOURS.items():
        text = text.replace(stand_in, variable)
    return re.sub(r"\n\s*", "\n", text).strip()


def _opening_tag(name: str, description: str) -> str:
    escaped = description.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace("\\", r"\\")
    return rf'<svg viewBox="\1" role="img" class="{name}" aria-label="{escaped}">'
