"""A real run on the command line with several sources, an encoder and made-up pictures says all of it in its result."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from app.analysis.run_data import RunData
from app.cli.exit_codes import INTERRUPTED
from app.core.vocabulary import LOSS_CLASSES, Governor
from app.export.report import report_html
from app.session.child_python import module_command, module_environment
from app.session.recording import open_recording

FIRST, SECOND = "synthetic:320x180@60,arrival_jitter_ms=1", "synthetic:64x64@30"
HALF_SECONDS_GOVERNED = 5
OPTIONS = (
    "frame_compensation.enabled=true",
    "frame_compensation.window=16",
    "frame_compensation.table=[[0.001, 30]]",
    "frame_compensation.interpolation=blend",
    "command_buffers=record",
    "encoder.tune=hq",
    "encoder.b_frames=2",
)


class Ran(NamedTuple):
    """A run that is over: its result as printed, its recording opened again, and where that lies."""

    result: dict[str, Any]
    data: RunData
    folder: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The run goes on until it has shown what the tests speak of, however slow the machine; then it is interrupted."""
    folder = tmp_path_factory.mktemp("run")
    settings = [word for option in OPTIONS for word in ("--set", option)]
    command = module_command(
        "app", "run", FIRST, SECOND, "--sink", "virtual:60", "--gpu", "none", "--warmup", "0", *settings,
        "--encode-to", str(folder / "coded.ts"), "--json", "-", "--out", str(folder / "recording"),
    )  # fmt: skip
    with subprocess.Popen(
        command, env=module_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until_governed(folder / "recording" / "events.jsonl", process)
            process.send_signal(signal.SIGINT)
            output, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == INTERRUPTED, said
    return Ran(json.loads(output), open_recording(folder / "recording"), folder / "recording")


def wait_until_governed(journal: Path, process: subprocess.Popen[str]) -> None:
    """Wait for a decision of frame compensation and, behind it, some seconds of encode records."""
    deadline = time.monotonic() + 120.0  # bounds a broken engine; nothing is measured
    while True:
        text = journal.read_text() if journal.exists() else ""
        _, decided, behind = text.partition('"governor": "compensation"')
        if decided and behind.count('"EncodeRecords"') >= HALF_SECONDS_GOVERNED:
            return
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, text[-2000:]
        time.sleep(0.1)


def test_each_source_has_its_own_numbers_and_their_counts_add_up_to_the_runs(ran: Ran) -> None:
    sources, frames = ran.result["sources"], ran.result["frames"]
    assert [source["text"] for source in sources] == [FIRST, SECOND]
    assert [source["info"]["rate_hz"] for source in sources] == [60.0, 30.0]
    assert sum(source["frames"]["displayed"] for source in sources) == frames["displayed"]
    for fate in LOSS_CLASSES:
        assert sum(source["frames"]["lost"][fate.label] for source in sources) == frames["lost"][fate.label]
    assert all(source["metrics"]["display_interval_ms"]["n"] > 0 and source["cadence"] for source in sources)


def test_the_headline_is_the_first_source(ran: Ran) -> None:
    first = ran.result["sources"][0]
    for metric_id in ("source_to_display_ms", "display_interval_ms", "fps_average"):
        assert ran.result["metrics"][metric_id] == first["metrics"][metric_id]
        assert ran.result["metric_sources"][metric_id].endswith("source 1")
    assert ran.result["metric_sources"]["loss_ratio"] == "engine counters, all sources"


def test_the_encoder_accounts_for_every_frame_offered_and_its_delay_has_a_cure(ran: Ran) -> None:
    encoder = ran.result["encoder"]
    frames = encoder["frames"]
    assert frames["offered"] == frames["encoded"] + frames["encoder_skipped"] + frames["encoder_lost"] > 0
    assert encoder["destination"].endswith("coded.ts")
    assert encoder["bytes_out"] > 0
    assert ran.result["metrics"]["encode_ms"]["n"] > 0
    assert encoder["holds_frames"] > 1
    (cure,) = [text for text in ran.result["warnings"] if text.startswith("The encoder holds")]
    assert f"The encoder holds {encoder['holds_frames']} frames" in cure
    assert "encoder.tune=ull with encoder.b_frames=0 remove it" in cure


def test_encode_records_are_a_table_beside_the_frames(ran: Ran) -> None:
    table = ran.folder / "encode.parquet"
    assert pq.read_metadata(table).num_rows == ran.result["encoder"]["frames"]["offered"] == len(ran.data.encodes)
    recorded = ran.data.frames["frame_id"][ran.data.frames["source_index"] == 0]
    without_record = set(ran.data.encodes["frame_id"]) - set(recorded)
    assert len(without_record) <= ran.result["frames"]["in_flight"], "only frames without a fate have no frame record"


def test_decisions_are_listed_and_decimated_frames_are_named_by_who_left_them_out(ran: Ran) -> None:
    governors = ran.result["governors"]
    compensation = [each for each in governors["decisions"] if each["governor"] == "compensation"]
    assert compensation
    assert all(0 <= each["at_s"] <= ran.result["duration_s"] and each["reason"] for each in compensation)
    assert governors["decimated"][Governor.COMPENSATION.label] > 0
    assert sum(governors["decimated"].values()) == ran.result["frames"]["lost"]["decimated"]
    assert any("by frame compensation (frame_compensation)" in text for text in ran.result["warnings"])


def test_made_up_pictures_have_a_cost_and_are_no_displayed_frames(ran: Ran) -> None:
    made_up = ran.result["governors"]["made_up_pictures"]
    assert 0 < made_up <= ran.result["governors"]["decimated"]["compensation"]
    metrics, frames = ran.result["metrics"], ran.result["sources"][0]["frames"]
    assert metrics["interpolation_ms"]["n"] <= made_up
    assert metrics["source_to_display_ms"]["n"] <= frames["displayed"]
    assert metrics["display_interval_ms"]["n"] > metrics["source_to_display_ms"]["n"]


def test_command_buffers_are_named_with_what_they_cost(ran: Ran) -> None:
    buffers = ran.result["command_buffers"]
    assert (buffers["mode"], list(buffers["by_mode"])) == ("record", ["record"])
    assert buffers["by_mode"]["record"]["submit_cpu_us"]["p50"] > 0
    assert buffers["by_mode"]["record"]["submit_cpu_us"] == ran.result["metrics"]["submit_cpu_us"]


def test_display_times_say_what_they_are_worth_and_the_refresh_where_it_is_from(ran: Ran) -> None:
    display = ran.result["display_time"]
    assert (display["source"], display["quality"]) == ("virtual_display", "exact")
    assert (display["refresh_hz"], display["refresh_source"]) == (60.0, "nominal")
    pictures = ran.result["frames"]["displayed"] + ran.result["governors"]["made_up_pictures"]
    assert [each["pictures"] for each in display["observed"]] == [pictures]


def test_the_report_of_its_recording_has_a_section_for_all_of_it(ran: Ran) -> None:
    html = report_html(ran.data)
    assert all(f"<h2>{title}</h2>" in html for title in ("Governors", "Encoder", "What the display times are worth"))
    assert f"Source 2: {SECOND}" in html
    assert 'class="interval-2"' in html
    assert "compensation (" in html
