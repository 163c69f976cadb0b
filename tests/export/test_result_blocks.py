"""The blocks of a result beside its metrics."""

from __future__ import annotations

import numpy as np

from app.analysis.run_data import SinkAt
from app.core.encode_records import EncodeFate
from app.core.vocabulary import DisplayTimeSource
from app.export.result_blocks import (
    command_buffers_block,
    display_time_block,
    encoder_block,
    governors_block,
    sources_block,
)
from tests.analysis.run_builder import (
    START_NS,
    Made,
    made_decision,
    made_encoder,
    made_encodes,
    made_frames,
    made_run,
    made_sink,
    run_of_nothing,
    run_of_two_sources,
)


def test_decisions_are_told_in_order_with_time_action_rate_and_reason() -> None:
    run = made_run(Made(seconds=3.0), decisions=(made_decision("thermal", 1.0), made_decision("iframe", 2.5, None)))
    assert governors_block(run)["decisions"] == [
        {
            "at_s": 1.0, "governor": "thermal", "action": "ceiling 45.0 fps", "rate_hz": 45.0,
            "reason": "thermal measured <enough>",
        },
        {
            "at_s": 2.5, "governor": "iframe", "action": "ceiling None fps", "rate_hz": None,
            "reason": "iframe measured <enough>",
        },
    ]  # fmt: skip


def test_decimated_frames_are_counted_by_governor_over_all_sources() -> None:
    first, second = Made(decimate_every=4, makes_up=True), Made(rate_hz=30.0, decimate_every=3)
    block = governors_block(run_of_two_sources(first, second))
    assert block["decimated"] == {"preview_fps": 0, "thermal": 0, "compensation": 250, "bandwidth": 0}
    assert block["made_up_pictures"] == 150


def test_frames_decimated_by_nobody_named_are_not_hidden() -> None:
    run = made_run(Made(seconds=2.0, decimate_every=4))
    run.frames["governor"] = 0
    assert governors_block(run)["decimated"]["none"] == 30


def test_every_frame_offered_to_the_encoder_is_accounted_for() -> None:
    made = Made(seconds=2.0)
    rows = made_encodes(made, skipped_every=10)
    rows["fate"][-2] = EncodeFate.LOST
    block = encoder_block(made_run(made, encodes=rows, encoder=made_encoder()))
    frames = block["frames"]
    assert frames["offered"] == frames["encoded"] + frames["encoder_skipped"] + frames["encoder_lost"] == 120
    assert (frames["encoder_skipped"], frames["encoder_lost"], frames["key_frames"]) == (12, 1, 2)
    assert block["bytes_out"] == int(rows["bytes_out"].sum())
    assert (block["codec"], block["holds_frames"], block["destination"]) == ("libx264", 1, "out.mp4")


def test_a_run_without_an_encoder_says_so() -> None:
    assert encoder_block(made_run(Made(seconds=1.0))) == {"missing": "the run has no encode branch"}


def test_an_encoder_that_coded_nothing_is_an_encoder_all_the_same() -> None:
    block = encoder_block(made_run(Made(seconds=1.0), encoder=made_encoder(holds_frames=None)))
    assert block["frames"]["offered"] == 0
    assert block["holds_frames"] is None


def test_a_bound_is_called_one_with_its_meaning() -> None:
    frames = made_frames(Made(seconds=2.0))
    frames["display_time_source"][:100] = DisplayTimeSource.CALL_RETURN
    sink = made_sink(refresh_source="nominal", paces_fifo=False)
    block = display_time_block(made_run(frames=frames, sink_history=(SinkAt(START_NS, sink),)))
    assert (block["source"], block["quality"]) == ("call_return, virtual_display", "bound")
    assert "lower bounds" in block["meaning"]
    assert block["observed"] == [
        {"source": "call_return", "quality": "bound", "pictures": 100},
        {"source": "virtual_display", "quality": "exact", "pictures": 20},
    ]
    assert (block["refresh_hz"], block["refresh_source"], block["paces_fifo"]) == (60.0, "nominal", False)


def test_the_cost_of_a_submit_stands_beside_the_mode_it_belongs_to() -> None:
    block = command_buffers_block(made_run(Made(seconds=3.0)))
    assert block["mode"] == "reuse"
    cost = block["by_mode"]["reuse"]["submit_cpu_us"]
    assert cost["n"] == 120, "the warm-up of a second is left out"
    assert 14.0 <= cost["p50"] <= 17.0


def test_sources_are_told_apart_by_text_kind_and_counts() -> None:
    first, second = sources_block(run_of_two_sources(Made(lost_every=10), Made(rate_hz=30.0)))
    assert (first["index"], first["text"]) == (0, "synthetic:1280x720@60")
    assert (second["index"], second["text"], second["info"]["rate_hz"]) == (1, "synthetic:1280x720@30", 30.0)
    assert (first["frames"]["settled"], first["frames"]["displayed"]) == (600, 540)
    assert (second["frames"]["settled"], second["frames"]["displayed"]) == (300, 300)
    assert (list(first["cadence"]), list(second["cadence"])) == (["1"], ["2"])
    assert first["littles_law"]["holds"]
    assert second["littles_law"]["holds"]
    assert second["metric_samples"]["loss_ratio"] == 300


def test_blocks_of_a_run_that_never_began_say_so() -> None:
    nothing = run_of_nothing()
    assert display_time_block(nothing)["quality"] == "none"
    assert governors_block(nothing)["decisions"] == []
    assert command_buffers_block(nothing)["by_mode"] == {}
    (source,) = sources_block(nothing)
    assert source["info"] is None
    assert not np.any([source["frames"]["displayed"], source["frames"]["settled"]])
