"""Rows of the metric table that frame records and counters give: intervals, jitter, latency, stages, rates, losses."""

from __future__ import annotations

from typing import Final

from app.core.metric import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SAMPLED,
    SINGLE,
    SKY_BLUE,
    VERMILLION,
    YELLOW,
    Metric,
    MetricGroup,
)
from app.core.vocabulary import LOSS_CLASSES

_NOT_DISPLAYED: Final = "the frame was not displayed or the stamp was not taken"
_TOO_FEW: Final = "fewer than two intervals in the window"

_INTERVALS: Final = (
    Metric(
        "present_interval_ms",
        "Present interval",
        "ms",
        "Difference of successive present calls within one segment.",
        SAMPLED,
        "first frame of a segment, or the frame was never presented",
        MetricGroup.INTERVAL,
        SKY_BLUE,
        "dashed",
    ),
    Metric(
        "display_interval_ms",
        "Display interval",
        "ms",
        "Difference of the display times of successive displayed frames of one segment, where both come from the same "
        "display-time source.",
        SAMPLED,
        "first displayed frame of a segment, or the display-time source changed in between",
        MetricGroup.INTERVAL,
        BLUE,
    ),
    Metric(
        "display_refreshes",
        "Refreshes shown",
        "",
        "Refreshes that each frame stayed on the screen; the histogram is the cadence.",
        SAMPLED,
        "the sink knows no refresh, or the frame was the last of its segment",
        MetricGroup.INTERVAL,
        GREEN,
    ),
)

_JITTER: Final = (
    Metric(
        "jitter_sd_ms",
        "Jitter (standard deviation)",
        "ms",
        "Standard deviation (N−1) of display_interval_ms in the window.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.JITTER,
        BLUE,
    ),
    Metric(
        "jitter_rms_ratio",
        "Jitter against nominal",
        "%",
        "RMS(interval − V) ÷ V, V the nominal interval; mpv's vsync-jitter.",
        SINGLE,
        "no nominal interval: the source runs free and the sink knows no refresh",
        MetricGroup.JITTER,
        ORANGE,
        "dashed",
        scale=100.0,
    ),
    Metric(
        "adaptive_sd_ms",
        "Adaptive deviation",
        "ms",
        "Root of the mean square of each display interval minus the mean of the intervals of the 500 ms before and "
        "including it: unevenness without slow drift (after CapFrameX's adaptive deviation, windowed by time).",
        SINGLE,
        _TOO_FEW,
        MetricGroup.JITTER,
        GREEN,
        "dotted",
    ),
    Metric(
        "arrival_jitter_ms",
        "Arrival jitter",
        "ms",
        "RFC 3550 section 6.4.1 over source arrivals: J += (|D| − J) ÷ 16, D the change of arrival − pts between "
        "frames in order of display; the last value of the latest segment. With B-frames their reordering counts as "
        "jitter.",
        SINGLE,
        "fewer than two frames with an arrival and a pts",
        MetricGroup.JITTER,
        PURPLE,
        "dash_dot",
    ),
)

_LATENCY: Final = (
    Metric(
        "source_to_display_ms",
        "Source to display",
        "ms",
        "Display time − arrival of the frame's data: the headline latency. What the named display-time source cannot "
        "see (compositor, panel) is not included.",
        SAMPLED,
        _NOT_DISPLAYED,
        MetricGroup.LATENCY,
        BLUE,
    ),
    Metric(
        "pacing_error_ms",
        "Pacing error",
        "ms",
        "Display time − due time; positive is late.",
        SAMPLED,
        "the frame was not displayed, or a free-running source gives no due times",
        MetricGroup.LATENCY,
        VERMILLION,
        "dashed",
    ),
    Metric(
        "frames_behind",
        "Frames behind",
        "frames",
        "source_to_display_ms ÷ nominal interval of the source.",
        SAMPLED,
        "the frame was not displayed, or the source has no nominal interval",
        MetricGroup.LATENCY,
        PURPLE,
        "dotted",
    ),
    Metric(
        "animation_error_ms",
        "Animation error",
        "ms",
        "(pts − pts of the previous displayed frame) − (display time − its display time): motion that the eye sees as "
        "uneven; PresentMon's MsAnimationError with the source's pts as simulation time.",
        SAMPLED,
        "first displayed frame of a segment, a frame without pts, or a change of display-time source; never 0",
        MetricGroup.LATENCY,
        ORANGE,
        "dash_dot",
    ),
)

_STAGE_ROWS: Final = (
    ("decode", "Decode", "from the start of decoding to the decoded picture", BLUE, "solid"),
    (
        "decode_wait",
        "Decode wait",
        "waiting for the decoder (arrival to its start: a full decode queue pushes back) and in the decode queue after",
        BLUE,
        "dashed",
    ),
    ("process", "Process", "conversion set-up and upload into staging memory", GREEN, "solid"),
    (
        "queue_wait",
        "Queue wait",
        "in the frame queue, incl. the intended wait for the due time",
        YELLOW,
        "dashed",
    ),
    ("acquire_wait", "Acquire wait", "waiting for a free swapchain image", ORANGE, "dashed"),
    (
        "submit",
        "Submit",
        "from the image acquired to the start of the GPU's work (recording, submission)",
        PURPLE,
        "solid",
    ),
    ("gpu", "GPU", "GPU work, from its first to its last timestamp", VERMILLION, "solid"),
    (
        "present",
        "Present",
        "from the end of the GPU's work to the return of the present call; 0 where the call had returned before",
        GREY,
        "solid",
    ),
    ("display_wait", "Display wait", "from there to the display time", SKY_BLUE, "dashed"),
)

STAGES: Final[tuple[str, ...]] = tuple(f"stage_ms.{row[0]}" for row in _STAGE_ROWS)
"""Stage metrics in pipeline order; in whole ns they add up to source_to_display_ms exactly."""

_STAGES: Final = tuple(
    Metric(
        f"stage_ms.{name}",
        title,
        "ms",
        f"Share of source_to_display_ms: {what}.",
        SAMPLED,
        "a stamp at its end is missing; its time is then part of the next stage",
        MetricGroup.STAGE,
        colour,
        style,
    )
    for name, title, what, colour, style in _STAGE_ROWS
)

_RATES: Final = (
    Metric(
        "fps_average",
        "Average frame rate",
        "fps",
        "Number of display intervals ÷ their sum; never a mean of rates.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        BLUE,
    ),
    Metric(
        "fps_p1",
        "P1 frame rate",
        "fps",
        "1000 ÷ P99 of the display intervals in ms (linear percentile; PresentMon's 1st percentile).",
        SINGLE,
        "fewer than 100 intervals",
        MetricGroup.RATE,
        GREEN,
        "dashed",
    ),
    Metric(
        "fps_low_1pct_mean",
        "Low 1 % (mean)",
        "fps",
        "1000 ÷ mean of the slowest ceil(0.01·N) display intervals in ms; exactly that many, ties do not widen it.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        ORANGE,
        "dotted",
    ),
    Metric(
        "fps_low_1pct_time",
        "Low 1 % (time)",
        "fps",
        "Display intervals sorted downwards and added until 1 % of the total time is reached; 1000 ÷ the interval "
        "reached (Afterburner's integral variant).",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        VERMILLION,
        "dash_dot",
    ),
    Metric(
        "stutter_time_ratio",
        "Stutter time",
        "%",
        "Time in display intervals above 2.5 × the trailing mean ÷ total time. The mean covers the 500 ms before the "
        "interval, spikes left out, so that a spike raises neither its own threshold nor the next one's.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        PURPLE,
        scale=100.0,
    ),
)

_LOSS_LOOK: Final = {
    "source_late": ("Source late", "their data came too late to be of use", BLUE, "triangle_down"),
    "decode_overflow": ("Decode overflow", "the decode queue was full", SKY_BLUE, "square"),
    "queue_overflow": (
        "Queue overflow",
        "the frame queue was full and the overflow policy dropped them",
        ORANGE,
        "diamond",
    ),
    "deadline_missed": (
        "Deadline missed",
        "they were late beyond half a refresh and a newer one was ready",
        VERMILLION,
        "cross",
    ),
    "superseded": (
        "Superseded",
        "a newer frame replaced them before display (mailbox, low latency)",
        GREEN,
        "triangle_up",
    ),
    "decimated": ("Decimated", "a governor or preview_fps left them out on purpose", GREY, "circle"),
    "compositor_discarded": ("Compositor discarded", "the compositor never showed them", PURPLE, "plus"),
}

_LOSS: Final = (
    *(
        Metric(
            f"loss.{fate.label}",
            f"Lost: {_LOSS_LOOK[fate.label][0].lower()}",
            "frames",
            f"Frames that were not displayed because {_LOSS_LOOK[fate.label][1]}.",
            SINGLE,
            "the engine published no counters",
            MetricGroup.LOSS,
            _LOSS_LOOK[fate.label][2],
            marker=_LOSS_LOOK[fate.label][3],
        )
        for fate in LOSS_CLASSES
    ),
    Metric(
        "loss_ratio",
        "Lost",
        "%",
        "Lost frames of all classes ÷ produced frames.",
        SINGLE,
        "nothing was produced",
        MetricGroup.LOSS,
        VERMILLION,
        scale=100.0,
    ),
)

FRAME_METRICS: Final[tuple[Metric, ...]] = (*_INTERVALS, *_JITTER, *_LATENCY, *_STAGES, *_RATES, *_LOSS)
"""In the order in which reports list them."""
