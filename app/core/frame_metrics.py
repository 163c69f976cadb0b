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
from app.core.vocabulary import LOSS_CLASSES, Governor

_NOT_DISPLAYED: Final = "the frame was not displayed or the stamp was not taken"
_TOO_FEW: Final = "fewer than two intervals in the window"
_NO_LATENCY_OF_ITS_OWN: Final = " A picture made up in a frame's place shows no data that arrived and is not counted."

_INTERVALS: Final = (
    Metric(
        "present_interval_ms",
        "Present interval",
        "ms",
        "Difference of successive present calls within one segment; made-up pictures are presented too.",
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
        "Difference of the display times of successive pictures of one segment, where both come from the same "
        "display-time source. A picture made up by interpolation in the place of a decimated frame is a picture on the "
        "screen and counts here and in everything built on these intervals.",
        SAMPLED,
        "first displayed frame of a segment, or the display-time source changed in between",
        MetricGroup.INTERVAL,
        BLUE,
    ),
    Metric(
        "display_refreshes",
        "Refreshes shown",
        "",
        "Refreshes that each picture stayed on the screen, made-up ones included; the histogram is the cadence.",
        SAMPLED,
        "the sink knows no refresh, or the frame was the last of its segment",
        MetricGroup.INTERVAL,
        GREEN,
    ),
    *(
        Metric(
            f"interval_band_ratio.{name}",
            title,
            "%",
            f"Share of display intervals whose distance from the nominal one is {words}; the three bands add up to 1.",
            SINGLE,
            "no nominal interval, or fewer than two display intervals",
            MetricGroup.INTERVAL,
            colour,
            style,
            scale=100.0,
        )
        for name, title, words, colour, style in (
            ("low", "Intervals near the nominal", "below alerts.band_low_us", GREEN, "solid"),
            ("middle", "Intervals off the nominal", "from band_low_us to below alerts.band_high_us", YELLOW, "dashed"),
            ("high", "Intervals far off the nominal", "alerts.band_high_us or more", VERMILLION, "dotted"),
        )
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
        f"see (compositor, panel) is not included.{_NO_LATENCY_OF_ITS_OWN}",
        SAMPLED,
        _NOT_DISPLAYED,
        MetricGroup.LATENCY,
        BLUE,
    ),
    Metric(
        "pacing_error_ms",
        "Pacing error",
        "ms",
        f"Display time − due time; positive is late.{_NO_LATENCY_OF_ITS_OWN}",
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
        "(pts − pts of the previous picture) − (display time − its display time): motion that the eye sees as uneven; "
        "PresentMon's MsAnimationError with the source's pts as simulation time. A made-up picture counts with the pts "
        "of its frame.",
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
    *(
        Metric(
            f"decimated.{governor.label}",
            f"Decimated by {words}",
            "frames",
            f"Frames left out on purpose because {words} asked for a lower rate; a part of loss.decimated, by record.",
            SINGLE,
            "no frame record was kept",
            MetricGroup.LOSS,
            colour,
        )
        for governor, words, colour in (
            (Governor.PREVIEW_FPS, "preview_fps", GREY),
            (Governor.THERMAL, "the thermal guard", VERMILLION),
            (Governor.COMPENSATION, "frame compensation", BLUE),
            (Governor.BANDWIDTH, "the bandwidth guard", ORANGE),
        )
    ),
    Metric(
        "made_up_pictures",
        "Made-up pictures",
        "pictures",
        "Pictures made up by interpolation that were on the screen in the place of decimated frames. These frames "
        "stay lost: they are counted in loss.decimated all the same.",
        SINGLE,
        "no frame record was kept",
        MetricGroup.LOSS,
        SKY_BLUE,
    ),
)

_GPU: Final = (
    Metric(
        "submit_cpu_us",
        "CPU time of a submit",
        "µs",
        "CPU time of the present thread from the beginning of recording to the end of vkQueueSubmit, for each picture "
        "submitted, made-up ones included. The option command_buffers says whether commands are recorded for it.",
        SAMPLED,
        "nothing was submitted to a GPU",
        MetricGroup.GPU,
        PURPLE,
    ),
    Metric(
        "gpu_us",
        "GPU time of a picture",
        "µs",
        "From the first to the last GPU timestamp of each picture, made-up ones included.",
        SAMPLED,
        "the GPU stamped nothing: it has no timestamps, or nothing was submitted",
        MetricGroup.GPU,
        VERMILLION,
    ),
    Metric(
        "interpolation_ms",
        "Interpolation",
        "ms",
        "GPU time of the passes that made a picture up in the place of a decimated frame.",
        SAMPLED,
        "no picture was made up",
        MetricGroup.GPU,
        SKY_BLUE,
        "dashed",
    ),
)

FRAME_METRICS: Final[tuple[Metric, ...]] = (
    *_INTERVALS,
    *_JITTER,
    *_LATENCY,
    *_STAGES,
    *_RATES,
    *_LOSS,
    *_GPU,
)
"""In the order in which reports list them."""
