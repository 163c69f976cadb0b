"""A report stands alone, escapes what it is given, draws what there is and says why where there is nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from app.analysis.run_data import RunData, SinkAt
from app.analysis.run_sources import run_source
from app.analysis.run_statistics import summarise_run
from app.analysis.summary import Missing
from app.config.editing import replace_options
from app.config.veoconfig import VeoConfig
from app.core.metrics import METRICS, STAGES, MetricGroup
from app.core.vocabulary import DisplayTimeSource
from app.export.figures import ReportFigure, interval_figure, report_figures
from app.export.report import report_html, write_report
from app.export.svg import style
from tests.analysis.run_builder import (
    START_NS,
    Made,
    made_decision,
    made_encoder,
    made_encodes,
    made_frames,
    made_run,
    made_sink,
    made_telemetry,
    run_of_nothing,
    run_of_two_sources,
)

VOID = {"meta", "col", "br", "link", "img", "hr", "input", "path", "use", "rect"}


class Page(HTMLParser):
    """Collects ids, references and text, and refuses elements that are closed in the wrong order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src", "xlink:href"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def full_run() -> RunData:
    return made_run(
        Made(seconds=12.0, jitter_ms=2.5, lost_every=25, stall_after_s=6.0),
        telemetry=made_telemetry(12.0, gpu="nvml"),
        config=replace_options(VeoConfig(), {"render_latency_ms": 50, "frame_queue_depth": 8}),
    )


@pytest.fixture(scope="module")
def html(full_run: RunData) -> str:
    return report_html(full_run)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


@pytest.fixture(scope="module")
def figures(full_run: RunData) -> dict[str, ReportFigure]:
    return {figure.name: figure for figure in report_figures(full_run)}


def test_elements_are_closed_in_order_and_ids_are_unique(page: Page) -> None:
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_nothing_is_fetched_from_anywhere(html: str, page: Page) -> None:
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\((?!#)", html)
    assert not {"script", "link", "img", "iframe", "object"} & page.tags
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)


def test_clip_paths_and_hatches_point_into_the_page(html: str, page: Page) -> None:
    assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(page.ids)


def test_the_same_run_gives_the_same_bytes(full_run: RunData, html: str) -> None:
    assert report_html(full_run) == html


def test_every_figure_is_drawn_where_there_is_data(figures: dict[str, ReportFigure]) -> None:
    assert set(figures) == {"interval", "histogram", "latency", "jitter", "bandwidth", "thermal", "cadence"}
    assert all(figure.svg.startswith("<svg") and not figure.missing for figure in figures.values())


def test_texts_in_figures_are_texts(figures: dict[str, ReportFigure]) -> None:
    svg = figures["interval"].svg
    assert "nominal 16.67 ms" in svg
    assert "render_latency_ms 33.3 → 50.0" in svg
    assert "deadline missed (" in svg


def test_figures_take_their_ink_from_the_page(figures: dict[str, ReportFigure]) -> None:
    for figure in figures.values():
        assert "var(--ink)" in figure.svg, figure.name
        assert not re.search(r"#0[1-9]0[1-9]0[1-9]|#000000|#ffffff", figure.svg), figure.name


def test_every_metric_measured_stands_in_the_report_with_its_definition(full_run: RunData, page: Page) -> None:
    for metric_id, measured in summarise_run(full_run).items():
        if not isinstance(measured, Missing):
            assert " ".join(METRICS[metric_id].definition.split()) in page.text, metric_id


def test_every_metric_missing_is_named_with_its_reason(full_run: RunData, page: Page) -> None:
    missing = {key: value for key, value in summarise_run(full_run).items() if isinstance(value, Missing)}
    assert "dram_bandwidth_ratio" in missing
    for metric_id, measured in missing.items():
        if METRICS[metric_id].group is MetricGroup.ENCODE:
            assert "The run has no encode branch" in page.text
        else:
            assert METRICS[metric_id].title in page.text
            assert measured.reason in page.text


def test_stages_and_losses_have_their_tables(page: Page) -> None:
    for stage in STAGES:
        assert METRICS[stage].title in page.text
    assert "Lost: superseded" in page.text
    assert "add up to its source-to-display time exactly" in page.text


def test_differences_from_the_defaults_and_the_command_are_there(page: Page) -> None:
    assert "2 of" in page.text
    assert "--set frame_queue_depth=8" in page.text
    assert "render_latency_ms: 33.3 → 50" in page.text


def test_a_run_of_nothing_has_a_report_that_says_so() -> None:
    page = Page(report_html(run_of_nothing()))
    assert "The engine never got ready" in page.text
    assert "svg" not in page.tags
    assert page.text.count("Nothing to draw:") == 7


def test_what_the_user_named_is_escaped() -> None:
    evil = '<script>alert("x")</script> $\\frac{1}$ & "quotes"'
    run = made_run(
        Made(seconds=2.0),
        source_text=evil,
        sink_text=evil,
        machine={"<b>cpu</b>": evil},
        notices=(evil,),
        config=replace_options(VeoConfig(), {"name": evil}),
    )
    page = Page(report_html(run))
    assert not {"script", "b>cpu"} & page.tags
    assert evil in page.text


def test_a_changed_text_option_cannot_break_a_figure() -> None:
    run = made_run(Made(seconds=4.0))
    change = run.config_history[0]
    strange = type(change)(2, change.applied_ns, {"name": ["$x_{", "日本語 <b>"]}, {"name": "next frame"})
    svg = report_figures(made_run(Made(seconds=4.0), config_history=(strange,)))[0].svg
    assert "name $x_{ → …" in svg


def test_a_simulated_gpu_is_called_simulated_wherever_it_shows() -> None:
    page = Page(report_html(made_run(Made(seconds=3.0), telemetry=made_telemetry(3.0, gpu="simulated"))))
    assert "Temperature and clocks — SIMULATED GPU" in page.text
    assert "GPU clock (SIMULATED)" in page.text
    assert "Host temperature (SIMULATED)" not in page.text


def test_a_lower_bound_is_labelled_as_one_beside_the_heading() -> None:
    frames = made_frames(Made(seconds=3.0))
    frames["display_time_source"] = DisplayTimeSource.CALL_RETURN
    html = report_html(made_run(frames=frames, sink_history=(SinkAt(START_NS, made_sink(kind="x11")),)))
    assert '<span class="badge warn">display time: call_return (bound)</span>' in html


def test_a_report_without_gpu_says_why_there_are_no_clocks() -> None:
    page = Page(report_html(made_run(Made(seconds=3.0))))
    assert "No clocks: no GPU driver on this machine reports it." in page.text


@pytest.mark.slow
def test_half_an_hour_at_120_fps_fits_in_three_megabytes_and_keeps_its_spike() -> None:
    made = Made(seconds=1800.0, rate_hz=120.0, refresh_hz=120.0, jitter_ms=1.0, lost_every=50)
    frames = made_frames(made)
    frames["displayed_ns"][100_000:] += 70_000_000
    html = report_html(made_run(made, frames=frames))
    assert len(html.encode()) < 3_000_000
    assert re.search(r"greatest (78|86)\.\d\d ms", html)


def test_the_file_is_written_whole(full_run: RunData, html: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report(full_run, path)
    assert path.read_text(encoding="utf-8") == html
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


GOVERNORS = ("thermal", "compensation", "bandwidth", "iframe", "recapture", "latency", "unheard_of")


@pytest.fixture(scope="module")
def governed_run() -> RunData:
    made = Made(seconds=8.0, decimate_every=5, makes_up=True)
    return run_of_two_sources(
        made,
        Made(seconds=8.0, rate_hz=30.0, lost_every=9, seed=2),
        decisions=tuple(made_decision(governor, 1.0 + at) for at, governor in enumerate(GOVERNORS)),
        encoder=made_encoder(),
        encodes=made_encodes(made, skipped_every=30),
    )


@pytest.fixture(scope="module")
def governed_html(governed_run: RunData) -> str:
    return report_html(governed_run)


def test_decisions_of_governors_are_listed_and_marked_on_the_interval_figure_with_a_legend(governed_html: str) -> None:
    page = Page(governed_html)
    for governor in GOVERNORS:
        assert f">{governor} (1)<" in governed_html
        assert f"{governor} measured <enough>" in page.text
    assert ", 96 by compensation. 96 made-up pictures were shown in their place." in page.text


@pytest.mark.parametrize("count", range(len(GOVERNORS) + 1))
def test_no_text_of_a_figure_with_decisions_is_cut_off(count: int, governed_run: RunData) -> None:
    run = replace(governed_run, decisions=governed_run.decisions[:count])
    with style():
        svg = interval_figure(run, run_source(run)).svg
    tops = [float(y) for y in re.findall(r'<text[^>]* y="(-?[\d.]+)"', svg)]
    assert len(tops) >= count + 2
    assert min(tops) > 8, "a letter is about 8 units high"


def test_each_source_has_a_section_and_figures_of_its_own(governed_html: str) -> None:
    page = Page(governed_html)
    assert "2 sources ran side by side" in page.text
    assert "Source 1: synthetic:1280x720@60" in page.text
    assert "Source 2: synthetic:1280x720@30" in page.text
    assert {"interval", "interval-2", "latency-2"} <= set(re.findall(r'<svg[^>]* class="([^"]+)"', governed_html))
    assert "Cadence, refreshes × pictures: 2 × " in page.text
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))


def test_a_run_of_one_source_does_not_speak_of_several(page: Page) -> None:
    assert "side by side" not in page.text
    assert "sources" not in page.ids


def test_the_encoder_has_a_section_with_its_counts_and_metrics(governed_html: str) -> None:
    page = Page(governed_html)
    assert "gives each frame out at once" in page.text
    assert METRICS["encode_ms"].definition in page.text
    assert 'class="encode"' in governed_html
    assert re.search(r"Skipped by the encoder 16\b", page.text)


def test_what_display_times_are_worth_has_a_section(governed_html: str, page: Page) -> None:
    for each in (page, Page(governed_html)):
        assert "exact : the display itself says when each picture was shown." in each.text
    frames = made_frames(Made(seconds=3.0))
    frames["display_time_source"] = DisplayTimeSource.ACQUIRE_RETURN
    bound = Page(report_html(made_run(frames=frames)))
    assert "bound : taken before the picture reached the screen" in bound.text
